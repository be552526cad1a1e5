"""Compiled kernels as a library of C functions: read from the cache or compiled, then loaded without numba.

The file of a library is named by a digest of everything that determines its content: the kernels' sources, the versions
of the compiler, the processor and its features. So no outdated code can be loaded. A child process compiles, which
keeps numba's memory and a crash of LLVM out of this process. Any thread may call `load`.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import re
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from desdaemon.protocol.system import files, folders, platform
from desdaemon.protocol.system.logs import message
from desdaemon.protocol.system.threads import begun

from . import INTERPRETED, interpreted, notice

if TYPE_CHECKING:
    from .target import CompileTarget

_MAGIC = b"desdaemon object 1\n"
_DIGEST_BYTES = 32
_KEEP_DAYS = 30
_LOOK_S = 0.1
_OWN_PACKAGE = "desdaemon"
_OWN_FOLDER = Path(__file__).resolve().parents[2]
SHIPPED = Path(__file__).resolve().parent / "shipped"
"""The folder of code that came with the program: one file for each library and each target of `target.SHIPPED`."""
_EACH_TIME = "each start makes it again (DESDAEMON_CACHE_DIR names another folder)"

OnProgress = Callable[[str], None]

# A start from the cache does not need subprocess and tempfile: they are imported in functions.


def not_kept(folder: Path, error: OSError) -> None:
    """Report, once, that ``folder`` cannot be written, so that each start has to compile kernels or expand weights."""
    notice.say_once(f"what is compiled cannot be kept in {folder}: {error.strerror}: {_EACH_TIME}")


class LibraryError(Exception):
    """The kernels could not be compiled or loaded; the message says why."""


class Spec(NamedTuple):
    """The definition of a library.

    ``exports`` names the module that has this definition as its ``SPEC``. ``modules`` have the kernels that Python
    calls; ``entries`` maps the names of these kernels to signatures. ``quick`` maps further names to entries that
    take microseconds. A function called by such a name keeps the GIL: while other threads run, getting it back would
    take longer than the call.
    """

    name: str
    exports: str
    modules: tuple[str, ...]
    entries: Mapping[str, str]
    quick: Mapping[str, str] = {}


_C_TYPES: dict[str, Any] = {"i64": ctypes.c_int64, "u64": ctypes.c_uint64, "void": None}


def _prototype(signature: str, *, quick: bool = False) -> Any:
    returns, _, arguments = signature.replace(" ", "").rstrip(")").partition("(")
    kind = ctypes.PYFUNCTYPE if quick else ctypes.CFUNCTYPE
    return kind(_C_TYPES[returns], *(_C_TYPES[a] for a in arguments.split(",") if a))


_IMPORTS = re.compile(r"^(?:from +([\w.]+) +import +(?:\(([^)]*)\)|([^\n#]*))|import +([\w., ]+))", re.MULTILINE)


def imported_sources(modules: Iterable[str]) -> list[Path]:
    """Return the source files of ``modules`` and of all modules that these import from desdaemon or from their own top
    package, ordered by name.

    Only import statements outside functions count. The files are read as text, which is fast: a start waits for this.
    """
    found: dict[str, Path] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in found or (path := _module_file(name)) is None:
            continue
        found[name] = path
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        own = (_OWN_PACKAGE, name.partition(".")[0])
        for source, several, single, plain in _IMPORTS.findall(path.read_text(encoding="utf-8")):
            if plain:
                waiting += [word.split()[0] for word in plain.split(",") if word.split()[0].startswith(own)]
                continue
            base = _absolute(source, package)
            if base.partition(".")[0] not in own:
                continue
            waiting.append(base)
            if base not in found and (file := _module_file(base)) is not None and file.name == "__init__.py":
                names = (word.split()[0] for word in (several or single).split(",") if word.strip())
                waiting += [f"{base}.{each}" for each in names]
    return [found[name] for name in sorted(found)]


def _absolute(source: str, package: str) -> str:
    dots = len(source) - len(source.lstrip("."))
    if not dots:
        return source
    above = package.split(".")[: len(package.split(".")) - dots + 1]
    return ".".join([*above, *filter(None, [source.lstrip(".")])])


def _module_file(name: str) -> Path | None:
    """Return the file of a module without importing it; None if there is no such module."""
    top, *parts = name.split(".")
    if top == _OWN_PACKAGE:
        folders = [_OWN_FOLDER]
    else:
        spec = importlib.util.find_spec(top)
        folders = [Path(folder) for folder in spec.submodule_search_locations or ()] if spec else []
    for folder in folders:
        place = folder.joinpath(*parts)
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                return path
    return None


def _numba_version() -> bytes:
    numba_spec = importlib.util.find_spec("numba")
    if numba_spec is None or not numba_spec.submodule_search_locations:
        return b"none"
    try:
        # As text: the line ends differ between the wheels of one release.
        return (Path(numba_spec.submodule_search_locations[0]) / "_version.py").read_text(encoding="utf-8").encode()
    except OSError:
        return b"unknown"


def digest(spec: Spec, target: CompileTarget | None = None) -> str:
    """Return a digest of sources, compiler, processor and entries, which names this library's file.

    For a ``target`` it names code that comes with the program: whichever compiler made it, any Python loads it.
    """
    state = hashlib.blake2b(digest_size=16)
    for source in imported_sources([*spec.modules, f"{_OWN_PACKAGE}.engine.compiler.jit"]):
        content = source.read_bytes()
        state.update(f"{source.name} {len(content)}\n".encode())
        state.update(content)
    entries = sorted(spec.entries.items())
    if target:
        state.update(repr((target, entries)).encode())
        return state.hexdigest()
    import llvmlite

    from .target import host_target

    state.update(_numba_version())
    state.update(repr((llvmlite.__version__, sys.version_info[:2], host_target(), entries)).encode())
    return state.hexdigest()


def cache_folder() -> Path | None:
    """Return the folder of compiled code, private to this user and created if missing.

    A folder that another user owns or can write to is reported and not used. Returns None, and reports it once, if no
    folder can be used.
    """
    for folder in map(Path, folders.caches()):
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            status = folder.stat()
            if not platform.is_ours(status) or platform.open_to_others(status, 0o022):
                notice.say_once(f"the cache folder {folder} can be written by others: not used")
                continue
            if os.access(folder, os.W_OK | os.X_OK):
                return folder
        except OSError:
            continue
    notice.say_once(f"there is no folder to keep what is compiled in: {_EACH_TIME}")
    return None


def seal(code: bytes) -> bytes:
    """Return object code as it is kept in a file, with what tells damage."""
    return _MAGIC + hashlib.blake2b(code, digest_size=_DIGEST_BYTES).digest() + code


def _unseal(content: bytes) -> bytes | None:
    head = len(_MAGIC) + _DIGEST_BYTES
    code = content[head:]
    if not content.startswith(_MAGIC) or seal(code)[:head] != content[:head]:
        return None
    return code


def cached_path(spec: Spec) -> Path | None:
    """Return the path of this library's file, which may not exist; None without a cache folder."""
    folder = cache_folder()
    return folder / f"{spec.name}-{digest(spec)}.o" if folder else None


def _read(path: Path) -> bytes | None:
    """Return the object code in a file; None if there is none. Damaged code is reported and counts as none."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    code = _unseal(content)
    if code is None:
        message(f"{path} is damaged: compiling again")
    return code


def read_cached(spec: Spec) -> bytes | None:
    """Return the cached object code; None if there is none."""
    path = cached_path(spec)
    return _read(path) if path else None


def read_shipped(spec: Spec) -> bytes | None:
    """Return code that came with the program, for the best of its targets that this processor runs; None without."""
    if not SHIPPED.is_dir():
        return None
    from .target import SHIPPED as TARGETS
    from .target import host_target

    for target in TARGETS:
        path = SHIPPED / f"{spec.name}-{digest(spec, target)}.o"
        if host_target().runs(target) and path.is_file():
            return _read(path)
    return None


def read_ready(spec: Spec) -> bytes | None:
    """Return code that needs no compiling: compiled here for this very processor, else what came with the program."""
    return read_cached(spec) or read_shipped(spec)


def forget_old(keep: Path, *patterns: str) -> None:
    """Remove the files beside ``keep`` that match ``patterns`` and are over 30 days old. Files that cannot be removed
    stay, as does ``keep``.
    """
    import time

    oldest = time.time() - _KEEP_DAYS * 86400
    for path in (path for pattern in patterns for path in keep.parent.glob(pattern)):
        try:
            if path != keep and path.stat().st_mtime < oldest:
                path.unlink()
        except OSError:
            continue


def compile_library(spec: Spec, on_progress: OnProgress | None = None) -> bytes:
    """Compile in a child process and return the object code, which is also written to the cache if there is one.

    ``on_progress`` is called on another thread with a line of progress for each kernel; without it `notice` shows
    progress. Raises `LibraryError` if the child fails.
    """
    if on_progress is None:
        with notice.Compiling(spec.name) as progress:
            return _compile(spec, progress)
    return _compile(spec, on_progress)


def _compile(spec: Spec, on_progress: OnProgress) -> bytes:
    import subprocess

    process = subprocess.Popen(
        # -P: the user's current folder must not be searched for modules.
        [sys.executable, "-P", "-c", _CHILD, str(ROOT), spec.exports],
        # The pipe is held open: it closes, and the child ends, when the parent is killed.
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        # Ctrl-C must not reach the child: it may mean a search.
        **platform.own_group(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    last: list[str] = []

    def follow() -> None:
        assert process.stderr is not None
        for raw in process.stderr:
            line = raw.decode(errors="replace").rstrip()
            last.append(line)
            if line.startswith("kernel "):
                on_progress(line.removeprefix("kernel "))

    follower = threading.Thread(target=follow, daemon=True)
    with process:
        follower.start()
        try:
            content = process.stdout.read()
        except BaseException:
            process.kill()
            raise
        status = process.wait()
        follower.join()
    code = _unseal(content)
    if status != 0 or code is None:
        reason = next((line for line in reversed(last) if line.strip()), "no message")
        raise LibraryError(f"compiling {spec.name} failed (status {status}): {reason}")
    path = cached_path(spec)
    if path is not None:
        try:
            files.replace(path, content, mode=files.PRIVATE)
            forget_old(path, f"{spec.name}-*.o", f".{spec.name}-*")
        except OSError as error:
            not_kept(path.parent, error)
    return code


ROOT = Path(__file__).resolve().parents[2]
"""The folder of the running packages, installed or not: the first argument of a child that begins with `OURSELVES`."""

OURSELVES = """
import importlib, os, sys
root = sys.argv.pop(1)
if os.path.isdir(os.path.join(root, "daemon")):
    sys.path.insert(0, root)
    top = importlib.import_module("daemon")
    top.__path__.append(root)
    sys.modules["desdaemon"] = top
else:
    sys.path.insert(0, os.path.dirname(root))
"""
"""The first lines of a child's program, with which it imports the same packages as its parent, installed or not."""

_CHILD = f"""{OURSELVES}
import threading
exports = sys.argv[1]
out = os.dup(1)
os.dup2(2, 1)
from desdaemon.protocol.system import platform
# Games may be going on meanwhile, with moves that take no engine.
platform.lower_process(5)
from desdaemon.engine.compiler import jit
from desdaemon.engine.compiler.library import seal
spec = importlib.import_module(exports).SPEC
# Not before: on Windows a library that looks at standard input while it is loaded waits for the end of a read.
def follow_parent():
    os.read(0, 1)
    os._exit(1)
threading.Thread(target=follow_parent, daemon=True).start()
def report(kernel, seconds, done, total):
    print(f"kernel {{done}}/{{total}} {{kernel}} {{seconds:.2f}} s", file=sys.stderr, flush=True)
content = seal(jit.build(spec.modules, spec.entries, report))
view = memoryview(content)
while view:
    view = view[os.write(out, view):]
"""


class Library:
    """Loaded machine code. Each name in ``entries`` and ``quick`` is an attribute, a C function. Those in ``quick``
    keep the GIL, the others release it. The library must outlive every use of its functions.

    Raises `LibraryError` if ``code`` lacks an entry.
    """

    def __init__(self, code: bytes, entries: Mapping[str, str], quick: Mapping[str, str] | None = None) -> None:
        import llvmlite.binding as llvm

        from .target import host_target, target_machine

        machine = target_machine(host_target())
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        for name, signature in entries.items():
            address = self._engine.get_function_address(f"desdaemon_{name}")
            if not address:
                raise LibraryError(f"the compiled library lacks {name}")
            setattr(self, name, _prototype(signature)(address))
        for name, entry in (quick or {}).items():
            address = self._engine.get_function_address(f"desdaemon_{entry}")
            setattr(self, name, _prototype(entries[entry], quick=True)(address))
        if os.environ.get("DESDAEMON_PERF_MAP"):
            from .perf_map import append

            symbol = f"desdaemon_{next(iter(entries))}"
            append(code, symbol, self._engine.get_function_address(symbol))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the library has no entry {name}")


_loaded: dict[str, Library] = {}
_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
"""A lock for each library: one that is being compiled for a minute keeps nobody from another one."""


def load(spec: Spec, on_progress: OnProgress | None = None) -> Library:
    """Return the library from memory, else what `read_ready` finds, else compiled now, which takes up to a minute.
    ``on_progress`` is called with lines of progress, as by `compile_library`.

    Any thread may call it. Raises `LibraryError` if compiling fails or the compiled code lacks an entry.
    """
    if spec.name in _loaded:
        return _loaded[spec.name]
    with _locks[spec.name]:
        library = _loaded.get(spec.name)
        if library is None and INTERPRETED:
            library = _loaded[spec.name] = interpreted.load_library(spec.modules, spec.entries, spec.quick)
        if library is None:
            code = read_ready(spec)
            if code is None:
                code = compile_library(spec, on_progress)
            library = _loaded[spec.name] = Library(code, spec.entries, spec.quick)
        return library


def wait(spec: Spec, look: Callable[[], None]) -> None:
    """Wait until `load` can return the library at once. Another thread loads it; ``look`` is called at intervals
    meanwhile, and ends the wait by raising: the other thread goes on.

    Raises what ``look`` raises, and `LibraryError` as `load` does.
    """
    if spec.name in _loaded:
        return
    failures: list[Exception] = []

    def work() -> None:
        try:
            load(spec)
        except Exception as error:
            # Without memory the compiler's own library is not found.
            failures.append(error)

    loaded = begun(work, "loading")
    while not loaded.wait(_LOOK_S):
        look()
    if failures:
        raise failures[0]
