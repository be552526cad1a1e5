"""The kernel compiler: typed Python functions in, one relocatable object file out.

numba lowers each kernel by itself to unoptimised LLVM code, in which a call of another kernel is a plain C call of an
external symbol; so kernels may call each other in any order and recursively. Then all are linked, everything but the
library's entries is made internal, and LLVM optimises the whole once. That is several times faster than numba's own
way, which optimises each callee again inside each caller, and gives one object file that `library` loads without numba.

Only the compiling process imports this module, because it imports numba.
"""

from __future__ import annotations

import dis
import importlib
import re
import time
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import compiler, types, typing
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from . import INTERPRETED, interpreted
from .target import host_target, target_machine

_TYPES = {"i64": types.int64, "u64": types.uint64, "void": types.void}
_I64 = ir.IntType(64)

_registry: dict[str, Kernel] = {}


class KernelError(Exception):
    """A kernel that cannot be compiled; the message says why."""


def _parse(signature: str) -> tuple[Any, tuple[Any, ...]]:
    match = re.fullmatch(r"(\w+)\(([\w,\s]*)\)", signature)
    if match is None:
        raise KernelError(f"signature {signature!r} is not of the form ret(arg,...)")
    names = [name.strip() for name in match[2].split(",") if name.strip()]
    try:
        return _TYPES[match[1]], tuple(_TYPES[name] for name in names)
    except KeyError as unknown:
        raise KernelError(f"signature {signature!r}: unknown type {unknown}") from None


class Kernel:
    """A kernel: its Python function, its signature, and the symbol by which other kernels call it.

    Raises `KernelError` for an unknown signature or a function with a ``raise``.
    """

    def __init__(self, function: FunctionType, signature: str, inline: bool) -> None:
        self.function = function
        self.signature = signature.replace(" ", "")
        self.inline = inline
        self.symbol = f"desdaemon_{function.__name__}"
        self.returns, self.arguments = _parse(signature)
        # Callers ignore the status by which numba's calling convention reports an exception.
        if any(step.opname == "RAISE_VARARGS" for step in dis.get_instructions(function)):
            raise KernelError(f"{function.__name__} raises, which a kernel cannot")

    def declare(self, module: ir.Module) -> ir.Function:
        """Return the declaration of this kernel in ``module``, for calls from that module; it is added if missing."""
        declared = module.globals.get(self.symbol)
        if declared is not None:
            return declared
        result = ir.VoidType() if self.returns == types.void else _I64
        return ir.Function(module, ir.FunctionType(result, [_I64] * len(self.arguments)), name=self.symbol)

    def lower(self) -> tuple[str, str]:
        """Return numba's unoptimised LLVM module of this kernel as text, and the function's name in it.

        Raises `KernelError` if the function returns another type than its signature says.
        """
        flags = compiler.Flags()
        flags.no_compile = True
        flags.no_cpython_wrapper = True
        flags.no_cfunc_wrapper = True
        flags.nrt = False
        flags.enable_pyobject = False
        flags.error_model = "numpy"
        target_context = cpu_target.target_context
        library = target_context.codegen().create_library(self.symbol)
        result = compiler.compile_extra(
            cpu_target.typing_context,
            target_context,
            self.function,
            self.arguments,
            self.returns,
            flags,
            {},
            library=library,
        )
        if result.signature.return_type != self.returns:
            raise KernelError(f"{self.function.__name__} returns {result.signature.return_type}")
        return str(library._final_module), result.fndesc.llvm_func_name

    def wrapper(self, mangled: str) -> str:
        """Return LLVM text of a C function that calls numba's function ``mangled`` and returns its result. numba's
        function takes the address for its result and returns a status, which the C function ignores.
        """
        arguments = ", ".join(f"i64 %a{k}" for k in range(len(self.arguments)))
        attributes = "alwaysinline " if self.inline else ""
        # numba stores a null pointer as the result of a function that returns nothing.
        slot, result = ("ptr", "void") if self.returns == types.void else ("i64", "i64")
        leave = "ret void" if self.returns == types.void else "%v = load i64, ptr %r\n  ret i64 %v"
        return f"""
declare i32 @"{mangled}"(ptr, ptr{", i64" * len(self.arguments)})
define {result} @{self.symbol}({arguments}) {attributes}{{
  %r = alloca {slot}
  %e = alloca ptr
  %s = call i32 @"{mangled}"(ptr %r, ptr %e{", " if arguments else ""}{arguments})
  {leave}
}}
"""


def _callable(kernel: Kernel) -> Any:
    signature = typing.signature(kernel.returns, *kernel.arguments)
    count = len(kernel.arguments)
    names = ", ".join(f"a{k}" for k in range(count))

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        value = builder.call(kernel.declare(builder.module), arguments)
        return context.get_dummy_value() if kernel.returns == types.void else value

    namespace: dict[str, Any] = {"answer": (signature, generate)}
    # numba reads the number of an intrinsic's parameters from its Python signature.
    exec(f"def {kernel.function.__name__}(context, {names}):\n    return answer", namespace)
    template = intrinsic(namespace[kernel.function.__name__])
    template.kernel = kernel
    return template


def kernel(signature: str, *, inline: bool = False) -> Callable[[Any], Any]:
    """Return a decorator that registers a kernel of ``signature``, such as "i64(u64,u64)" (types i64, u64, void), and
    makes it callable by other kernels.

    ``inline`` copies its code into every caller. The function may use scalars, the intrinsics of
    `desdaemon.engine.kernels.bits` and other kernels; no arrays, no exceptions, no floating point. A mixed ``uint64 +
    int64`` would become floating point: the build refuses it.

    The decorator raises `KernelError` as `Kernel` does, and for the name of a kernel of another module.
    """

    def register(function: FunctionType) -> Any:
        name = function.__name__
        other = _registry.get(name)
        if other is not None and other.function.__module__ != function.__module__:
            raise KernelError(f"two kernels are called {name}")
        made = Kernel(function, signature, inline)
        _registry[name] = made
        return interpreted.kernel(function, made.signature) if INTERPRETED else _callable(made)

    return register


Report = Callable[[str, float, int, int], None]
"""Called with (kernel, seconds, done, total) after each step of a build."""


def _check(text: str) -> None:
    for line in text.splitlines():
        if line.startswith(("define", "  ")):
            if re.search(r"\b(?:double|float)\b", line):
                raise KernelError(f"floating point in a kernel (uint64 mixed with int64?): {line.strip()}")
        elif line.startswith("declare"):
            name = re.search(r"@\"?([\w.]+)", line)
            if name and not name[1].startswith(("llvm.", "mem")):
                raise KernelError(f"a kernel needs {name[1]} from outside")


def kernels() -> dict[str, Kernel]:
    """Return the kernels of all modules that have been imported, by name."""
    return dict(_registry)


def reached(entries: Iterable[str]) -> list[str]:
    """Return the names of ``entries`` and of the kernels that they call, directly or not, in the order of their
    registration.
    """
    waiting, found = [*entries], set[str]()
    while waiting:
        name = waiting.pop()
        if name in _registry and name not in found:
            found.add(name)
            function = _registry[name].function
            used = (getattr(function.__globals__.get(word), "kernel", None) for word in function.__code__.co_names)
            waiting += [called.function.__name__ for called in used if isinstance(called, Kernel)]
    return [name for name in _registry if name in found]


def link(modules: Iterable[str], entries: Mapping[str, str], report: Report | None = None) -> Any:
    """Import ``modules`` and compile ``entries``, and what they call, for `host_target` into one optimised LLVM module
    that exports them.

    ``entries`` maps names of kernels to signatures; the symbol of a kernel is ``desdaemon_<name>``. Raises
    `KernelError` if an entry is missing or has another signature, or if a kernel calls something from outside or uses
    floating point.
    """
    for module in modules:
        importlib.import_module(module)
    for name, signature in entries.items():
        if name not in _registry:
            raise KernelError(f"no kernel is called {name}")
        if _registry[name].signature != signature.replace(" ", ""):
            raise KernelError(f"{name} is {_registry[name].signature}, not {signature}")
    machine = target_machine(host_target())
    linked: Any = None
    names = reached(entries)
    total = len(names) + 1
    with global_compiler_lock:
        for done, name in enumerate(names):
            item = _registry[name]
            begun = time.perf_counter()
            text, mangled = item.lower()
            for part in (text, item.wrapper(mangled)):
                module = llvm.parse_assembly(part)
                if linked is None:
                    linked = module
                else:
                    linked.link_in(module)
            if report:
                report(name, time.perf_counter() - begun, done + 1, total)
        begun = time.perf_counter()
        exported = {_registry[name].symbol for name in entries}
        for symbol in (*linked.functions, *linked.global_variables):
            if not symbol.is_declaration and symbol.name not in exported:
                symbol.linkage = "internal"
        linked.triple = machine.triple
        linked.data_layout = str(machine.target_data)
        linked.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        pass_builder = llvm.create_pass_builder(machine, options)
        pass_builder.getModulePassManager().run(linked, pass_builder)
        _check(str(linked))
        if report:
            report("the whole library", time.perf_counter() - begun, total, total)
    return linked


def assembly(linked: Any) -> str:
    """Return the assembly of a linked module for `host_target`."""
    return str(target_machine(host_target()).emit_assembly(linked))


def build(modules: Iterable[str], entries: Mapping[str, str], report: Report | None = None) -> bytes:
    """Return the object file of the module that `link` makes of the same arguments; raises `KernelError` as it does."""
    linked = link(modules, entries, report)
    return bytes(target_machine(host_target()).emit_object(linked))
