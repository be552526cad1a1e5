"""Kernels run as plain Python functions: for breakpoints, bounds checks, coverage, and comparison.

With ``DESDAEMON_KERNELS=python`` in the environment, and this folder on the path, `library.load` of
`desdaemon.engine.compiler` returns an `InterpretedLibrary` instead of compiled code. The same kernels then run
unchanged on:

- `U64`, a 64-bit unsigned integer that wraps around and refuses arithmetic with plain integers, which represent
  int64 here: compiled, such a mixture would be a floating-point number;
- memory by real addresses, every access to which is checked: `stack_buf` buffers and `Block` memory have bounds, all
  other addresses (arrays of the caller) have to be mapped;
- intrinsics by the Python body that each of them has beside its LLVM code.

About a thousand times slower than compiled code. Safe on several threads, which the interpreter runs one at a time.
"""

from __future__ import annotations

import bisect
import ctypes
import importlib
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn, cast

MASK = (1 << 64) - 1
_STACK_BYTES = 1 << 22
_REDZONE = 64
_POISON = 0xA5
RECURSION = 20_000
"""Depth of calls that a search may need when kernels run as Python."""


class MixedIntegers(TypeError):
    """Arithmetic of `U64` with a plain integer."""


class OutOfBounds(IndexError):
    """An access to memory that does not belong to any buffer."""


# Calls of the class, and its operators within its operators, would take most of the time of interpreted kernels.
_new = int.__new__
_left, _right, _exclusive_or = int.__lshift__, int.__rshift__, int.__xor__


def _wrapping(name: str) -> Callable[[U64, Any], U64]:
    operation = getattr(int, name)

    def compute(self: U64, other: Any) -> U64:
        if type(other) is not U64:
            raise MixedIntegers(f"{name.strip('_')} of U64 and {type(other).__name__}")
        return _new(U64, operation(self, other) & MASK)

    return compute


def _bitwise(name: str) -> Callable[[U64, Any], U64]:
    operation = getattr(int, name)

    def compute(self: U64, other: Any) -> U64:
        return _new(U64, operation(self, other if type(other) is U64 else other & MASK))

    return compute


class U64(int):
    """An unsigned 64-bit integer; arithmetic wraps around, a shift by 64 or more is refused."""

    def __new__(cls, value: Any = 0) -> U64:
        return _new(cls, int(value) & MASK)

    __add__, __radd__ = _wrapping("__add__"), _wrapping("__radd__")
    __sub__, __rsub__ = _wrapping("__sub__"), _wrapping("__rsub__")
    __mul__, __rmul__ = _wrapping("__mul__"), _wrapping("__rmul__")
    __floordiv__, __rfloordiv__ = _wrapping("__floordiv__"), _wrapping("__rfloordiv__")
    __mod__, __rmod__ = _wrapping("__mod__"), _wrapping("__rmod__")
    __and__, __rand__ = _bitwise("__and__"), _bitwise("__rand__")
    __or__, __ror__ = _bitwise("__or__"), _bitwise("__ror__")
    __xor__, __rxor__ = _bitwise("__xor__"), _bitwise("__rxor__")

    def __lshift__(self, other: int) -> U64:
        return _new(U64, _left(self, other) & MASK) if 0 <= other < 64 else _refuse_shift(other)

    def __rshift__(self, other: int) -> U64:
        return _new(U64, _right(self, other)) if 0 <= other < 64 else _refuse_shift(other)

    def __invert__(self) -> U64:
        return _new(U64, _exclusive_or(self, MASK))

    def __neg__(self) -> U64:
        raise MixedIntegers("the negative of a U64 is a signed number")

    def __truediv__(self, other: Any) -> Any:
        raise MixedIntegers("a quotient would be a floating-point number")


def _refuse_shift(count: int) -> NoReturn:
    raise OverflowError(f"a shift by {int(count)}: expected 0 to 63")


class _Stack(threading.local):
    """The stack of one thread: buffers in the order in which their kernels were entered."""

    def __init__(self) -> None:
        self._memory = ctypes.create_string_buffer(_STACK_BYTES + 64)
        self.base = -(-ctypes.addressof(self._memory) // 64) * 64
        self.limit = self.base + _STACK_BYTES
        self.top = self.base + _REDZONE
        self.starts: list[int] = []
        self.ends: list[int] = []

    def allocate(self, size: int) -> int:
        """Return the address of ``size`` poisoned bytes, aligned to 64, valid until the running kernel returns."""
        start = self.top
        self.top = -(-(start + size) // 64) * 64 + _REDZONE
        if self.top > self.limit:
            raise MemoryError("the kernels' stack is full")
        ctypes.memset(start, _POISON, size)
        self.starts.append(start)
        self.ends.append(start + size)
        return start

    def release(self, count: int, top: int) -> None:
        """Free all buffers but the ``count`` oldest."""
        del self.starts[count:], self.ends[count:]
        self.top = top


_stack = _Stack()


class _Regions:
    """Memory with known bounds, and the other mapped ranges of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._mapped: tuple[list[int], list[int]] = ([], [])

    def add(self, start: int, size: int) -> None:
        with self._lock:
            place = bisect.bisect(self._starts, start)
            self._starts.insert(place, start)
            self._ends.insert(place, start + size)

    def remove(self, start: int) -> None:
        with self._lock:
            place = bisect.bisect(self._starts, start) - 1
            if place >= 0 and self._starts[place] == start:
                del self._starts[place], self._ends[place]

    def check(self, address: int, size: int) -> None:
        """Raise `OutOfBounds` unless a kernel may access ``size`` bytes at ``address``."""
        place = bisect.bisect(self._starts, address) - 1
        if place >= 0 and address < self._ends[place]:
            if address + size > self._ends[place]:
                raise OutOfBounds(f"{size} bytes at {address:#x}: {address + size - self._ends[place]} beyond a block")
            return
        if self._is_mapped(address, size):
            return
        self._mapped = _read_mappings()
        if not self._is_mapped(address, size):
            raise OutOfBounds(f"{size} bytes at {address:#x}: no memory is there")

    def _is_mapped(self, address: int, size: int) -> bool:
        starts, ends = self._mapped
        place = bisect.bisect(starts, address) - 1
        return place >= 0 and address + size <= ends[place]


_ANY_ADDRESS = [1 << 16], [1 << 64]
"""The address space without its beginning, where no system maps anything."""


def _read_mappings() -> tuple[list[int], list[int]]:
    """Return the mapped ranges of addresses; `_ANY_ADDRESS` if the system does not list them."""
    # Under Wine the file is there, and is that of its server.
    if sys.platform == "win32":
        return _ANY_ADDRESS
    try:
        lines = Path("/proc/self/maps").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return _ANY_ADDRESS
    starts: list[int] = []
    ends: list[int] = []
    for line in lines:
        match = re.match(r"([0-9a-f]+)-([0-9a-f]+) r", line)
        if match:
            start, end = int(match[1], 16), int(match[2], 16)
            if ends and ends[-1] == start:
                ends[-1] = end
            else:
                starts.append(start)
                ends.append(end)
    return starts, ends


_regions = _Regions()
add_region = _regions.add
"""(address, size): register memory with bounds to check."""
remove_region = _regions.remove
"""(address): unregister that memory."""


def check(address: int, size: int) -> None:
    """Raise `OutOfBounds` unless a kernel may access ``size`` bytes at ``address``."""
    stack = _stack
    if stack.base <= address < stack.limit:
        place = bisect.bisect(stack.starts, address) - 1
        if place < 0 or address + size > stack.ends[place]:
            raise OutOfBounds(f"{size} bytes at {address:#x}: outside the buffers of the running kernels")
        return
    _regions.check(address, size)


_KINDS: dict[tuple[int, bool], Any] = {
    (8, False): ctypes.c_uint64,
    (8, True): ctypes.c_int64,
    (4, False): ctypes.c_uint32,
    (4, True): ctypes.c_int32,
    (2, False): ctypes.c_uint16,
    (2, True): ctypes.c_int16,
    (1, False): ctypes.c_uint8,
    (1, True): ctypes.c_int8,
}


def load(address: int, size: int, signed: bool) -> int:
    """The number of ``size`` bytes at ``address``."""
    check(address, size)
    value: int = _KINDS[size, signed].from_address(address).value
    return value


def store(address: int, size: int, value: int) -> None:
    """Write the low ``size`` bytes of ``value`` at ``address``."""
    check(address, size)
    _KINDS[size, False].from_address(address).value = value & ((1 << (8 * size)) - 1)


_constants: dict[str, Any] = {}


def constant(name: str, values: Sequence[int], width: int) -> int:
    """Return the address of a constant array with ``width`` bits an element, made once for each name."""
    if name not in _constants:
        size = width // 8
        content = b"".join((value & ((1 << width) - 1)).to_bytes(size, sys.byteorder) for value in values)
        _constants[name] = ctypes.create_string_buffer(content, len(content))
        add_region(ctypes.addressof(_constants[name]), len(content))
    return ctypes.addressof(_constants[name])


def poll(address: int) -> int:
    """Read the 64-bit number at ``address``, which other threads write; not ordered with other numbers."""
    return load(address, 8, signed=False)


def agreed(address: int) -> int:
    """Read the 64-bit number at ``address`` with acquire order: everything written before it is visible."""
    return load(address, 8, signed=False)


def post(address: int, value: int) -> None:
    """Write the 64-bit number at ``address`` for other threads; not ordered with other numbers."""
    store(address, 8, value)


_adding = threading.Lock()


def add(address: int, value: int) -> int:
    """Add to the 64-bit number at ``address`` atomically. Returns the number before."""
    with _adding:
        before = load(address, 8, signed=False)
        store(address, 8, before + int(value))
        return before


def exchange(address: int, value: int) -> int:
    """Write the 64-bit number at ``address`` atomically. Returns the number before."""
    with _adding:
        before = load(address, 8, signed=False)
        store(address, 8, int(value))
        return before


_HOOK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)


def call_hook(function: int, reason: int, thread: int) -> int:
    """Call the C function at that address."""
    return int(_HOOK(function)(reason, thread))


def stack_buf(size: int) -> U64:
    """The Python body of `desdaemon.engine.kernels.bits.stack_buf`."""
    return U64(_stack.allocate(size))


def read_signature(signature: str) -> tuple[str, tuple[str, ...]]:
    """Split a signature such as "i64(u64,u64)" into the result and the arguments."""
    returns, _, arguments = signature.replace(" ", "").rstrip(")").partition("(")
    return returns, tuple(name for name in arguments.split(",") if name)


def _signed(value: int) -> int:
    if not -(1 << 63) <= value < 1 << 63:
        raise OverflowError(f"{value} does not fit 64 bits")
    return int(value)


_CONVERSIONS = {"u64": "U64({})", "i64": "signed({})", "void": "{}"}


def _generated(name: str, arguments: tuple[str, ...], body: str, **namespace: Any) -> Callable[..., Any]:
    """Return a function that checks its arguments before ``body``, code that may use ``values``."""
    names = [f"a{place}" for place in range(len(arguments))]
    lines = [f"def {name}({', '.join(names)}):"]
    for place, kind in enumerate(arguments):
        wrong = f"type(a{place}) is not U64" if kind == "u64" else f"type(a{place}) is U64"
        lines.append(f"    if {wrong}: refuse({place}, a{place})")
    lines += [f"    {line}" for line in body.splitlines()]

    def refuse(place: int, value: object) -> None:
        kind = arguments[place]
        raise MixedIntegers(f"{name}: argument {place} is {type(value).__name__}, expected {kind}")

    namespace |= {"U64": U64, "signed": _signed, "refuse": refuse, "stack": _stack}
    exec("\n".join(lines), namespace)
    return cast("Callable[..., Any]", namespace[name])


def intrinsic(python: Callable[..., Any], name: str, signature: str) -> Callable[..., Any]:
    """Return an intrinsic that calls ``python``, a function on plain integers, with checked arguments and a wrapped
    result.
    """
    returns, arguments = read_signature(signature)
    values = ", ".join(f"int(a{place})" if kind == "u64" else f"a{place}" for place, kind in enumerate(arguments))
    return _generated(name, arguments, f"return {_CONVERSIONS[returns].format(f'python({values})')}", python=python)


_kernels: dict[str, Callable[..., Any]] = {}


def kernel(function: FunctionType, signature: str) -> Callable[..., Any]:
    """Wrap ``function`` as a kernel run as Python: arguments and result are checked, and its stack buffers are freed
    when it returns.
    """
    name = function.__name__
    returns, arguments = read_signature(signature)
    values = ", ".join(f"a{place}" for place in range(len(arguments)))
    body = f"""count, top = len(stack.starts), stack.top
try:
    result = function({values})
finally:
    stack.release(count, top)
return {_CONVERSIONS[returns].format("result")}"""
    made = _kernels[name] = _generated(name, arguments, body, function=function)
    made.__doc__ = function.__doc__
    made.__wrapped__ = function  # type: ignore[attr-defined]
    return made


class InterpretedLibrary:
    """The entries of a library as Python functions of plain integers, like those of a compiled `Library`."""

    def __init__(self, entries: Mapping[str, str], quick: Mapping[str, str]) -> None:
        for name, signature in entries.items():
            setattr(self, name, _entry(_kernels[name], read_signature(signature)[1]))
        for name, entry in quick.items():
            setattr(self, name, getattr(self, entry))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the library has no entry {name}")


def _entry(kernel: Callable[..., Any], arguments: tuple[str, ...]) -> Callable[..., int | None]:
    def call(*values: int) -> int | None:
        wrapped = [
            U64(value) if kind == "u64" else (int(value) + (1 << 63)) % (1 << 64) - (1 << 63)
            for kind, value in zip(arguments, values, strict=True)
        ]
        result = kernel(*wrapped)
        return None if result is None else int(result)

    return call


def load_library(modules: Iterable[str], entries: Mapping[str, str], quick: Mapping[str, str]) -> InterpretedLibrary:
    """Import the kernels of ``modules`` and return the entries."""
    sys.setrecursionlimit(max(RECURSION, sys.getrecursionlimit()))
    for module in modules:
        importlib.import_module(module)
    return InterpretedLibrary(entries, quick)
