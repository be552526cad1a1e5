"""The source archive and the wheel, the same bytes from the same commit, checked, with a list of what they need.

`make dist` runs it: ``python .ci/dist.py FOLDER``. Times in the archives are SOURCE_DATE_EPOCH, or the commit's. It
builds the archive, the wheel from the archive and, to compare, from the tree, and writes an SBOM (CycloneDX) of the
program with the libraries that are installed here beside it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import uuid
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = (".*", "build", "dist", "*.egg-info", "__pycache__", "tests", "pictures")
LICENCES = re.compile(r"License :: OSI Approved :: (.*)")


def epoch() -> int:
    """The time that everything in the archives has."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    told = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return int(told.stdout) if told.returncode == 0 else int(time.time())


def build(source: Path, folder: Path, what: str) -> Path:
    """What setuptools builds of a tree; ``what`` is ``sdist`` or ``wheel``."""
    folder.mkdir(parents=True, exist_ok=True)
    program = f"from setuptools import build_meta; print(build_meta.build_{what}({str(folder)!r}))"
    # Permissions in the archives must not follow whoever builds.
    for path in [source, *source.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch()), "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return folder / done.stdout.splitlines()[-1]


def normalised(archive: Path) -> None:
    """Let a source archive depend on its content alone: setuptools keeps times, owners and the order of the folder."""
    with tarfile.open(archive) as given:
        members = sorted(given.getmembers(), key=lambda member: member.name)
        contents = [given.extractfile(member).read() if member.isfile() else None for member in members]  # type: ignore[union-attr]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as made:
        for member, content in zip(members, contents, strict=True):
            plain = tarfile.TarInfo(member.name)
            plain.type, plain.size, plain.mtime = member.type, member.size, epoch()
            plain.mode = 0o755 if member.isdir() else 0o644
            made.addfile(plain, io.BytesIO(content) if content is not None else None)
    archive.write_bytes(gzip.compress(out.getvalue(), 9, mtime=epoch()))


def make(folder: Path) -> tuple[Path, Path]:
    """The source archive and the wheel made from it. Raises SystemExit where the wheel of the tree is another one."""
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
        archive = build(tree, folder, "sdist")
        normalised(archive)
        with tarfile.open(archive) as given:
            given.extractall(place, filter="data")
        unpacked = Path(place) / archive.name.removesuffix(".tar.gz")
        wheel = build(unpacked, folder, "wheel")
        shutil.rmtree(tree)
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_OUT))
        other = build(tree, Path(place) / "other", "wheel")
        if other.read_bytes() != wheel.read_bytes():
            raise SystemExit("the wheel of the source archive and that of the tree differ")
    return archive, wheel


def needed(name: str, found: dict[str, metadata.Distribution]) -> dict[str, metadata.Distribution]:
    """A library and all that it needs to run, by name."""
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return found
    if distribution.name not in found:
        found[distribution.name] = distribution
        for requirement in distribution.requires or []:
            if ";" not in requirement:
                needed(re.split(r"[^\w.-]", requirement, maxsplit=1)[0], found)
    return found


def licence(distribution: metadata.Distribution) -> dict[str, dict[str, str]]:
    """As CycloneDX has it: an expression of SPDX, or a name."""
    about = distribution.metadata
    expression = about.get("License-Expression")
    classified = [match[1] for each in about.get_all("Classifier") or [] if (match := LICENCES.match(each))]
    if expression:
        return {"license": {"name": expression}} if " " in expression else {"license": {"id": expression}}
    return {"license": {"name": classified[0] if classified else (about.get("License") or "unknown").splitlines()[0]}}


def sbom(version: str, files: list[Path]) -> str:
    """A bill of materials: the program, its files and the libraries that it needs, in the versions installed here."""
    libraries: dict[str, metadata.Distribution] = {}
    for requirement in metadata.requires("desdaemon") or []:
        if ";" not in requirement:
            needed(re.split(r"[^\w.-]", requirement, maxsplit=1)[0], libraries)
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name.lower()}@{found.version}",
            "name": name,
            "version": found.version,
            "purl": f"pkg:pypi/{name.lower()}@{found.version}",
            "licenses": [licence(found)],
        }
        for name, found in sorted(libraries.items())
    ]
    digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]
    content = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, ''.join(digests))}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch())),
            "component": {
                "type": "application",
                "bom-ref": f"pkg:pypi/desdaemon@{version}",
                "name": "desdaemon",
                "version": version,
                "purl": f"pkg:pypi/desdaemon@{version}",
                "licenses": [{"license": {"id": "MIT"}}],
                "components": [
                    {"type": "file", "name": path.name, "hashes": [{"alg": "SHA-256", "content": digest}]}
                    for path, digest in zip(files, digests, strict=True)
                ],
            },
        },
        "components": components,
        "dependencies": [
            {"ref": f"pkg:pypi/desdaemon@{version}", "dependsOn": [str(each["bom-ref"]) for each in components]}
        ],
    }
    return json.dumps(content, indent=1) + "\n"


def main(folder: Path) -> None:
    """Make everything in a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    archive, wheel = make(folder)
    version = wheel.name.split("-")[1]
    (folder / f"desdaemon-{version}.cdx.json").write_text(sbom(version, [archive, wheel]), encoding="utf-8")
    for path in sorted(folder.iterdir()):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        sys.stdout.write(f"{digest}  {path.name}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
