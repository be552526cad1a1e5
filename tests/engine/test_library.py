"""From kernels to a library: what is refused, what is kept, what is compiled again."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from checkout import IMPORT
from waits import until

from desdaemon.engine import warmup
from desdaemon.engine.compiler import library, notice, target
from desdaemon.engine.compiler.library import LibraryError, Spec

pytestmark = pytest.mark.compiled

# ------------------------------------------------------------------------------------------------ the compiler


class Compiler:
    """`jit` with a register of kernels of its own."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        from desdaemon.engine.compiler import jit

        self.jit = jit
        patch.setattr(jit, "_registry", {})

    def add(self, signature: str, source: str, module: str = "a_module", **names: Any) -> Any:
        """Register the kernel that ``source`` defines."""
        namespace: dict[str, Any] = {"__name__": module, **names}
        exec(textwrap.dedent(source), namespace)
        function = next(value for name, value in namespace.items() if name.startswith("k_"))
        return self.jit.kernel(signature)(function)

    def load(self, entries: Mapping[str, str]) -> library.Library:
        return library.Library(self.jit.build([], entries), entries)

    def refuses(self, message: str, entries: Mapping[str, str]) -> None:
        with pytest.raises(self.jit.KernelError, match=message):
            self.jit.build([], entries)


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """A compiler that knows no kernels."""
    return Compiler(monkeypatch)


def test_kernels_call_each_other(compiler: Compiler) -> None:
    """Whichever was written first, and themselves."""
    below = compiler.add("i64(i64,i64)", "def k_below(a, b):\n    return a - b")
    again = compiler.add("i64(i64)", "def k_again(a):\n    return a")
    compiler.add(
        "i64(i64)", "def k_again(a):\n    return 1 if a <= 1 else a * again(below(a, 1))", again=again, below=below
    )
    compiler.add("void(i64)", "def k_nothing(a):\n    below(a, 1)", below=below)
    loaded = compiler.load({"k_again": "i64(i64)", "k_nothing": "void(i64)"})
    assert loaded.k_again(20) == 2432902008176640000
    assert loaded.k_nothing(3) is None


def test_signed_results_keep_their_sign(compiler: Compiler) -> None:
    compiler.add("i64(i64,i64)", "def k_minus(a, b):\n    return a - b")
    loaded = compiler.load({"k_minus": "i64(i64, i64)"})
    assert loaded.k_minus(3, 5) == -2
    assert loaded.k_minus(-(1 << 63), 0) == -(1 << 63)
    with pytest.raises(AttributeError, match="the library has no entry k_plus"):
        _ = loaded.k_plus


def test_a_missing_entry_is_refused(compiler: Compiler) -> None:
    compiler.refuses("no kernel is called k_none", {"k_none": "i64()"})


def test_an_entry_of_another_signature_is_refused(compiler: Compiler) -> None:
    compiler.add("i64(i64)", "def k_same(a):\n    return a")
    compiler.refuses(r"k_same is i64\(i64\), not u64\(i64\)", {"k_same": "u64(i64)"})


@pytest.mark.parametrize("expression", ["a * 0.5", "a / b", "a ** -b"])
def test_floating_point_is_refused(compiler: Compiler, expression: str) -> None:
    compiler.add("i64(i64,i64)", f"def k_float(a, b):\n    return 1 if {expression} > 3 else 0")
    compiler.refuses("floating point in a kernel|from outside", {"k_float": "i64(i64,i64)"})


def test_a_kernel_that_raises_is_refused(compiler: Compiler) -> None:
    with pytest.raises(compiler.jit.KernelError, match="k_raises raises, which a kernel cannot"):
        compiler.add("i64(i64)", "def k_raises(a):\n    if a > 3:\n        raise ValueError\n    return a")


def test_names_from_outside_are_refused(compiler: Compiler) -> None:
    compiler.add("i64(i64)", "def k_outside(a):\n    print(a)\n    return a")
    compiler.refuses(r"a kernel needs \w+ from outside", {"k_outside": "i64(i64)"})


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("i64", "not of the form"),
        ("i64(u64", "not of the form"),
        ("f64(u64)", "unknown type 'f64'"),
        ("i64(u64,i32)", "unknown type 'i32'"),
    ],
)
def test_wrong_signatures_are_refused(compiler: Compiler, signature: str, message: str) -> None:
    with pytest.raises(compiler.jit.KernelError, match=message):
        compiler.add(signature, "def k_any(a, b):\n    return a")


def test_two_kernels_of_one_name_are_refused(compiler: Compiler) -> None:
    compiler.add("i64(i64)", "def k_same(a):\n    return a", module="one")
    compiler.add("i64(i64)", "def k_same(a):\n    return a", module="one")
    with pytest.raises(compiler.jit.KernelError, match="two kernels are called k_same"):
        compiler.add("i64(i64)", "def k_same(a):\n    return a", module="another")


# ------------------------------------------------------------------------------------------------ the cache

_ENTRIES = """
from desdaemon.engine.compiler.library import Spec
MODULES = ("{package}.kernels.only",)
SPEC = Spec("{package}", __name__, MODULES, {{"{package}_answer": "i64(i64)"}})
"""
_ENTRY = """
from desdaemon.engine.compiler.jit import kernel
from .below import {package}_below
@kernel("i64(i64)")
def {package}_answer(x):
    return {package}_below(x)
"""
_BELOW = """
from desdaemon.engine.compiler.jit import kernel
@kernel("i64(i64)")
def {package}_below(x):
    return x + {answer}
"""


class Small:
    """A library of one entry, whose kernel calls one of another file, which adds a number; in packages and a cache
    folder of its own.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.package = folder / name
        (self.package / "kernels").mkdir(parents=True)
        for path in (self.package, self.package / "kernels"):
            (path / "__init__.py").touch()
        (self.package / "exports.py").write_text(_ENTRIES.format(package=name))
        self.below = self.package / "kernels" / "below.py"
        (self.package / "kernels" / "only.py").write_text(_ENTRY.format(package=name))
        self.write(5)
        self.spec = Spec(name, f"{name}.exports", (f"{name}.kernels.only",), {f"{name}_answer": "i64(i64)"})

    def write(self, answer: int) -> None:
        self.below.write_text(_BELOW.format(package=self.name, answer=answer))
        # Bytecode of a text of the same second and size would be taken for that of this one.
        shutil.rmtree(self.below.parent / "__pycache__", ignore_errors=True)

    def answer(self) -> int:
        """Of a fresh start."""
        library._loaded.pop(self.name, None)
        return int(getattr(library.load(self.spec), f"{self.name}_answer")(0))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("DESDAEMON_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def small(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Small:
    """A small library, not compiled yet."""
    name = "small_" + re.sub(r"\W", "", tmp_path.name)
    monkeypatch.setattr(library, "_loaded", {})
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return Small(tmp_path, name)


class Compilations(list[str]):
    """The libraries that have been compiled."""


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> Compilations:
    """What `library.load` has compiled."""
    made = Compilations()
    compile_library = library.compile_library

    def watched(spec: Spec, on_progress: library.OnProgress | None = None) -> bytes:
        made.append(spec.name)
        return compile_library(spec, on_progress)

    monkeypatch.setattr(library, "compile_library", watched)
    return made


def test_the_compiler_does_not_import_from_the_current_folder(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child runs in the user's folder, which may have files of any name."""
    folder = tmp_path / "users"
    folder.mkdir()
    for name in (*sys.stdlib_module_names, "numba", "llvmlite", "numpy", "daemon", "desdaemon"):
        (folder / f"{name}.py").write_text("raise SystemExit('imported from the current folder')\n")
    monkeypatch.chdir(folder)
    assert small.answer() == 5


@pytest.mark.posix
def test_the_compiler_ends_with_its_parent(tmp_path: Path) -> None:
    """Killed, a program leaves no compiler at work."""
    code = IMPORT + (
        "from desdaemon.engine.compiler import library; from desdaemon.engine.exports import SPEC\n"
        "library.compile_library(SPEC, lambda line: print(line, flush=True))"
    )
    environment = {**os.environ, "DESDAEMON_CACHE_DIR": str(tmp_path)}
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=environment)
    assert parent.stdout
    parent.stdout.readline()
    [child] = map(int, Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    end = time.monotonic() + 60
    while Path(f"/proc/{child}").exists() and "Z" not in Path(f"/proc/{child}/stat").read_text().split()[2]:
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.posix
def test_a_library_is_compiled_once(small: Small, cache: Path, compilations: Compilations) -> None:
    assert small.answer() == 5
    assert small.answer() == 5
    assert compilations == [small.name]
    [kept] = cache.iterdir()
    assert kept == library.cached_path(small.spec)
    assert cache.stat().st_mode & 0o077 == 0
    # An edited source is another library; the first comes back with its source.
    small.write(8)
    assert small.answer() == 8
    small.write(5)
    assert small.answer() == 5
    assert compilations == [small.name] * 2
    assert len(list(cache.iterdir())) == 2


def test_code_that_came_with_the_program_needs_no_compiling(
    small: Small,
    tmp_path: Path,
    compilations: Compilations,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The best of what this processor runs; what was compiled here for it alone goes before, and nothing damaged."""
    monkeypatch.setattr(library, "SHIPPED", tmp_path / "shipped")
    library.SHIPPED.mkdir()
    plain, _, best = reversed(target.SHIPPED)
    for number, shipped in ((3, plain), (7, best)):
        small.write(number)
        code = library.compile_library(small.spec, lambda _line: None)
        small.write(5)
        (library.SHIPPED / f"{small.name}-{library.digest(small.spec, shipped)}.o").write_bytes(library.seal(code))
    compilations.clear()
    monkeypatch.setattr(target, "host_target", lambda: best)
    assert small.answer() == 7
    monkeypatch.setattr(target, "host_target", lambda: plain)
    assert small.answer() == 3
    monkeypatch.setattr(target, "host_target", lambda: target.CompileTarget("older", "+sse2"))
    assert library.read_ready(small.spec) is None
    small.write(6)
    monkeypatch.setattr(target, "host_target", lambda: best)
    assert library.read_ready(small.spec) is None, "compiled from other sources"
    small.write(5)
    path = library.SHIPPED / f"{small.name}-{library.digest(small.spec, best)}.o"
    path.write_bytes(path.read_bytes()[:-1])
    assert library.read_ready(small.spec) is None
    assert f"{path} is damaged" in capsys.readouterr().err
    assert compilations == []


def test_code_that_came_with_the_program_is_for_any_python_and_compiler(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loading it asks neither of them; code that is compiled here may depend on both."""
    small.write(5)
    here, came = library.digest(small.spec), library.digest(small.spec, target.SHIPPED[0])
    with monkeypatch.context() as patch:
        patch.setattr(library, "_numba_version", lambda: b"another")
        assert library.digest(small.spec) != here
        assert library.digest(small.spec, target.SHIPPED[0]) == came
        assert library.digest(small.spec, target.SHIPPED[1]) != came
    small.write(6)
    assert library.digest(small.spec, target.SHIPPED[0]) != came


def test_a_processor_gets_the_targets_that_it_runs() -> None:
    best, avx2, plain = target.SHIPPED
    assert best.runs(avx2)
    assert avx2.runs(plain)
    assert not avx2.runs(best)
    zen2 = target.CompileTarget("znver2", f"{avx2.features},-avx512f")
    assert zen2.runs(plain)
    assert not zen2.runs(avx2), "its PEXT is slow"


def test_damaged_object_files_are_compiled_again(
    small: Small, cache: Path, compilations: Compilations, capsys: pytest.CaptureFixture[str]
) -> None:
    assert small.answer() == 5
    [path] = cache.iterdir()
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    for number, content in enumerate((bytes(damaged), whole[:-1], whole[:30], b"", b"\x7fELF" + whole)):
        path.write_bytes(content)
        capsys.readouterr()
        assert library.read_cached(small.spec) is None
        assert f"{path} is damaged" in capsys.readouterr().err
        if number == 0:
            assert small.answer() == 5
            assert path.read_bytes() == whole or library.read_cached(small.spec) is not None
    assert len(compilations) == 2


def test_a_failing_compiler_is_told_in_a_line(small: Small, cache: Path) -> None:
    small.below.write_text(small.below.read_text().replace("x + 5", "x / 2"))
    with pytest.raises(LibraryError, match=rf"^compiling {small.name} failed \(status 1\): .*floating point"):
        library.load(small.spec)
    assert not list(cache.glob("*"))
    small.write(5)
    assert small.answer() == 5


def test_a_wait_for_a_compilation_can_be_given_up(small: Small, compilations: Compilations) -> None:
    """The compilation goes on."""

    class Enough(Exception):
        pass

    def look() -> None:
        raise Enough

    with pytest.raises(Enough):
        library.wait(small.spec, look)
    library.wait(small.spec, lambda: None)
    library.wait(small.spec, look)
    assert small.name in library._loaded
    assert compilations == [small.name]


def test_a_library_is_loaded_while_another_one_is_compiled(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code of the book is in the cache, the engine's is missing: the book waits for no compiler."""
    (tmp_path / "other").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path / "other"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), str(tmp_path / "other"))))
    slow = Small(tmp_path / "other", f"slow_{small.name}")
    assert small.answer() == 5
    compile_library, begun, go_on = library.compile_library, threading.Event(), threading.Event()

    def endless(spec: Spec, on_progress: library.OnProgress | None = None) -> bytes:
        begun.set()
        assert go_on.wait(60)
        return compile_library(spec, on_progress)

    monkeypatch.setattr(library, "compile_library", endless)
    compiling = threading.Thread(target=slow.answer)
    compiling.start()
    try:
        assert begun.wait(60)
        loading = threading.Thread(target=small.answer)
        loading.start()
        loading.join(30)
        assert not loading.is_alive()
    finally:
        go_on.set()
        compiling.join()


def test_a_failed_compilation_ends_the_wait(small: Small) -> None:
    small.below.write_text("a mistake")
    with pytest.raises(LibraryError, match=f"^compiling {small.name} failed"):
        library.wait(small.spec, lambda: None)


def test_compiling_tells_its_progress_and_removes_old_files(small: Small, cache: Path) -> None:
    cache.mkdir(mode=0o700)
    old, recent, other = (cache / f"{name}.o" for name in (f"{small.name}-1", f"{small.name}-2", "other-3"))
    for path, age in ((old, 40), (recent, 1), (other, 40)):
        path.touch()
        then = path.stat().st_mtime - 86400 * age
        os.utime(path, (then, then))
    told: list[str] = []
    library.load(small.spec, told.append)
    assert re.fullmatch(rf"1/3 {small.name}_below \d+\.\d\d s", told[0])
    assert re.fullmatch(r"3/3 the whole library \d+\.\d\d s", told[2])
    assert not old.exists()
    assert recent.exists()
    assert other.exists()


@pytest.mark.posix
def test_the_cache_folder_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DESDAEMON_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    assert library.cache_folder() == tmp_path / "temporary" / f"desdaemon-{user}"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    if sys.platform != "darwin":
        assert library.cache_folder() == tmp_path / "home" / ".cache" / "desdaemon"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert library.cache_folder() == tmp_path / "caches" / "desdaemon"
    monkeypatch.setenv("DESDAEMON_CACHE_DIR", str(tmp_path / "mine"))
    assert library.cache_folder() == tmp_path / "mine"
    (tmp_path / "file").touch()
    monkeypatch.setenv("DESDAEMON_CACHE_DIR", str(tmp_path / "file" / "below"))
    assert library.cache_folder() is None


@pytest.mark.posix
def test_folders_that_others_can_write_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("DESDAEMON_CACHE_DIR", str(shared))
    monkeypatch.setattr(notice, "_said", set())
    for _ in range(3):
        assert library.cache_folder() is None
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert f"{shared} can be written by others" in said[0]
    assert "no folder to keep what is compiled in" in said[1]


@pytest.mark.posix
def test_code_is_compiled_without_a_cache_folder(small: Small, tmp_path: Path, compilations: Compilations) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DESDAEMON_CACHE_DIR", "/dev/null/none")
        assert small.answer() == 5
    assert compilations == [small.name]


def test_a_cache_that_cannot_be_written_is_done_without(
    small: Small, cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(path: Path, content: bytes, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(library.files, "replace", full)
    monkeypatch.setattr(notice, "_said", set())
    assert small.answer() == 5
    assert small.answer() == 5
    said = [line for line in capsys.readouterr().err.splitlines() if "kept" in line]
    assert len(said) == 1
    assert f"cannot be kept in {cache}: No space left on device" in said[0]


def test_long_compilations_are_told_of(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before they have taken a while, then how far they are, then that they are over."""
    monkeypatch.setattr(notice, "AFTER_S", 0.05)
    monkeypatch.setattr(notice, "EVERY_S", 0.05)
    shown = ""

    def told() -> bool:
        nonlocal shown
        shown += capsys.readouterr().err
        return ": 3 of 7" in shown

    with notice.Compiling("small") as tell:
        tell("3/7 kernel 0.1 s")
        until(told)
    first, *middle, last = (shown + capsys.readouterr().err).splitlines()
    assert first.startswith("desdaemon: compiling the small for this machine")
    assert middle
    assert all(re.fullmatch(r"desdaemon: compiling the small: (starting|3 of 7), \d+ s", line) for line in middle)
    assert re.fullmatch(r"desdaemon: compiled the small in \d+ s", last)
    monkeypatch.setattr(notice, "AFTER_S", 60)
    with notice.Compiling("small") as tell:
        tell("1/7 kernel 0.1 s")
    assert capsys.readouterr().err == ""


def test_warmup_tells_how_far_the_library_at_hand_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of many takes most of the time."""
    monkeypatch.setattr(notice, "AFTER_S", 0.05)
    monkeypatch.setattr(notice, "EVERY_S", 0.05)
    monkeypatch.setattr(library, "read_cached", lambda spec: None)
    monkeypatch.setattr(warmup.Weights, "load", lambda: None)
    shown = ""

    def told() -> bool:
        nonlocal shown
        shown += capsys.readouterr().err
        return "desdaemon: compiling the libraries of kernels: 0 of 2, the engine at 3 of 7, " in shown

    def compiled(spec: Spec, report: Callable[[str], None]) -> None:
        report("3/7 kernel 0.1 s")
        until(told)

    monkeypatch.setattr(library, "compile_library", compiled)
    monkeypatch.setattr(warmup, "processors", lambda: 1)
    assert warmup.main([], [Spec(name, "", (), {}) for name in ("engine", "book")]) == 0


@pytest.fixture
def in_dialogue(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test says of a dialogue is forgotten."""
    monkeypatch.setattr(notice, "AFTER_S", 0.0)
    monkeypatch.setattr(notice, "REWRITE_S", 0.001)
    monkeypatch.setattr(notice, "_sparse", False)
    monkeypatch.setattr(notice, "_free", None)
    yield
    assert notice._line is None or not notice._line._shown


@pytest.mark.usefixtures("in_dialogue")
def test_progress_at_a_terminal_keeps_off_lines_that_are_typed_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, rewritten only while the terminal is free, and gone before anything else is written."""
    monkeypatch.setattr("desdaemon.protocol.system.terminal.watched", lambda: True)
    monkeypatch.setattr("desdaemon.protocol.system.platform.escapes", lambda descriptor: True)
    free = threading.Event()
    notice.in_dialogue(free.is_set)
    with notice.Compiling("small") as tell:
        tell("3/7 kernel 0.1 s")
        time.sleep(0.1)
        assert "\r" not in capsys.readouterr().err
        free.set()
        shown = ""
        due = time.monotonic() + 60
        while "\r\x1b[Kcompiling the small: 3 of 7" not in shown:
            assert time.monotonic() < due
            shown += capsys.readouterr().err
            time.sleep(0.01)
        free.clear()
        notice.wipe()
        assert capsys.readouterr().err.endswith("\r\x1b[K")
        time.sleep(0.1)
        assert capsys.readouterr().err == ""
    assert capsys.readouterr().err.startswith("desdaemon: compiled the small")


@pytest.mark.posix
def test_ctrl_c_ends_a_compilation_without_a_traceback(tmp_path: Path) -> None:
    """And the compiler with it."""
    environment = {**os.environ, "DESDAEMON_CACHE_DIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "desdaemon", "warmup"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=tmp_path,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stderr
    told = process.stderr.readline()
    assert told.startswith(b"desdaemon: compiling the libraries of kernels for this machine")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert list(tmp_path.glob("*.o")) == []
