"""What is built and what is declared agree with the tree."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT

from desdaemon.extras.completions import FILES

DIRECTORIES = ("daemon", "engine", "book", "protocol", "clients")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def installed_name(directory: Path) -> str:
    parts = directory.relative_to(ROOT).parts
    return ".".join(["desdaemon", *(parts[1:] if parts[0] == "daemon" else parts)])


def tree() -> dict[str, str]:
    """The installed name of every package in the tree, and its directory."""
    markers = [marker for top in DIRECTORIES for marker in (ROOT / top).rglob("__init__.py")]
    return {installed_name(path.parent): path.parent.relative_to(ROOT).as_posix() for path in markers}


def version() -> str:
    found = re.search(r'^__version__ = "(.+)"$', (ROOT / "protocol/version.py").read_text("utf-8"), re.MULTILINE)
    assert found
    return found[1]


def test_the_package_tables_are_the_tree(project: dict[str, Any]) -> None:
    tables = project["tool"]["setuptools"]
    assert sorted(tables["packages"]) == sorted(tree())
    assert tables["package-dir"] == tree()


def test_no_module_hides_a_package() -> None:
    assert not {path.stem for path in (ROOT / "daemon").iterdir()} & set(DIRECTORIES)


def test_data_files_are_declared(project: dict[str, Any]) -> None:
    declared = project["tool"]["setuptools"]["package-data"]
    directories = tree()
    for name, directory in directories.items():
        patterns = declared.get(name, [])
        for path in (ROOT / directory).rglob("*"):
            nested = any(part in path.parts for part in ("__pycache__", ".ruff_cache", "examples"))
            relative = path.relative_to(ROOT / directory).as_posix()
            inner = any(
                other != directory and other.startswith(directory) and path.is_relative_to(ROOT / other)
                for other in directories.values()
            )
            if path.is_file() and path.suffix not in (".py", ".md") and not nested and not inner:
                assert any(fnmatch(relative, pattern) for pattern in patterns), f"{path} would not be installed"


def test_the_lock_pins_every_requirement_and_nothing_but_releases(project: dict[str, Any]) -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+( ; .+)?", pin) for pin in pins)
    pinned = {re.sub(r"[-_.]+", "-", pin.split("==")[0]).lower() for pin in pins}
    extras = project["project"].get("optional-dependencies", {}).values()
    wanted = [*project["project"]["dependencies"], *(one for extra in extras for one in extra)]
    for requirement in [*wanted, *project["build-system"]["requires"]]:
        name = re.split(r"[^\w.-]", requirement)[0]
        assert re.sub(r"[-_.]+", "-", name).lower() in pinned, f"{name} is not in requirements.lock"


def test_the_licence_is_the_declared_one(project: dict[str, Any]) -> None:
    assert project["project"]["license"] == "MIT"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")


def test_the_changelog_knows_this_version() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[0] in ("Unreleased", version())
    assert version() in headings


def test_the_wheel_owns_one_name_and_holds_every_module(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    source = tmp_path / "source"
    junk = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__", "tests", "pictures")
    shutil.copytree(ROOT, source, ignore=junk)
    build = f"from setuptools import build_meta; print(build_meta.build_wheel({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"desdaemon-{version()}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    own = f"desdaemon-{version()}"
    assert {name.split("/")[0] for name in names} == {"desdaemon", f"{own}.data", f"{own}.dist-info"}
    shared = {name.removeprefix(f"{own}.data/data/") for name in names if name.startswith(f"{own}.data/")}
    assert shared == set(FILES.values())
    for package, directory in tree().items():
        for path in (ROOT / directory).iterdir():
            if path.suffix == ".py":
                assert f"{package.replace('.', '/')}/{path.name}" in names
    for folder in ("engine/data", "book/data"):
        for path in (ROOT / folder).glob("*"):
            assert f"desdaemon/{folder}/{path.name}" in names


@pytest.mark.posix
@pytest.mark.slow
def test_archives_are_the_same_bytes_wherever_and_whenever_they_are_made(tmp_path: Path) -> None:
    """From a copy with other times and permissions, in another folder."""
    junk = shutil.ignore_patterns(".git", ".venv", ".*_cache", "build", "dist", "*.egg-info", "__pycache__", "pictures")
    copy = tmp_path / "copy"
    shutil.copytree(ROOT, copy, ignore=junk, copy_function=shutil.copy)
    (copy / "daemon/cli/main.py").chmod(0o600)
    made = []
    for number, source in enumerate((ROOT, copy)):
        folder = tmp_path / str(number)
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "TZ": ("UTC", "Asia/Tokyo")[number]}
        subprocess.run([sys.executable, source / ".ci/dist.py", folder], check=True, env=environment)
        made.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert made[0].keys() == made[1].keys()
    assert len(made[0]) == 3
    assert made[0] == made[1]
    [materials] = (json.loads(content) for name, content in made[0].items() if name.endswith(".cdx.json"))
    assert materials["metadata"]["component"]["version"] == version()
    libraries = {each["name"]: each for each in materials["components"]}
    assert {"llvmlite", "msgpack", "numba", "numpy", "pyzmq"} <= libraries.keys()
    assert all(each["licenses"][0]["license"] for each in libraries.values())


def test_the_classifiers_are_those_of_the_forge_and_of_python(project: dict[str, Any]) -> None:
    classifiers = project["project"]["classifiers"]
    minors = {text.rpartition(".")[2] for text in classifiers if re.search(r":: 3\.\d+$", text)}
    assert f">=3.{min(map(int, minors))}" == project["project"]["requires-python"]
    assert "Operating System :: POSIX :: Linux" in classifiers
    assert not [text for text in classifiers if "Windows" in text or "MacOS" in text], "it has not run there"


@pytest.fixture(scope="module")
def module() -> Any:
    """What makes the archives that need nothing."""
    specification = importlib.util.spec_from_file_location("standalone", ROOT / ".ci/standalone.py")
    assert specification
    assert specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_archives_that_need_nothing_say_what_is_of_others(module: Any, tmp_path: Path) -> None:
    site = tmp_path / "python/site"
    for name, licence in (("desdaemon-1", "MIT"), ("one-2.0", "BSD-3-Clause"), ("two-3.1", "")):
        about = site / f"{name}.dist-info"
        (about / "licenses").mkdir(parents=True)
        (about / "licenses/LICENSE").write_text("text")
        given = f"License-Expression: {licence}\n" if licence else ""
        (about / "METADATA").write_text("Name: {}\nVersion: {}\n".format(*name.split("-")) + given)
    parts = module.installed(site)
    module.tell_third_parties(tmp_path, [module.Part("CPython", "PSF-2.0", []), *parts])
    told = (tmp_path / "THIRD-PARTY.txt").read_text().split("\n\n")[1:]
    assert told == [
        "CPython\n  PSF-2.0",
        "one 2.0\n  BSD-3-Clause\n  python/site/one-2.0.dist-info/licenses/LICENSE",
        "two 3.1\n  see its text\n  python/site/two-3.1.dist-info/licenses/LICENSE\n",
    ]


def test_an_archive_without_the_text_of_a_licence_is_not_made(module: Any, tmp_path: Path) -> None:
    about = tmp_path / "one-2.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: one\nVersion: 2.0\nLicense-Expression: MIT\n")
    with pytest.raises(SystemExit, match=r"one-2\.0"):
        module.installed(tmp_path)


def test_a_wheel_with_code_is_for_one_system(module: Any, tmp_path: Path) -> None:
    given = tmp_path / "desdaemon-1-py3-none-any.whl"
    about = "desdaemon-1.dist-info"
    with zipfile.ZipFile(given, "w") as archive:
        archive.writestr("desdaemon/one.py", "1")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    (tmp_path / "code").mkdir()
    (tmp_path / "code/engine-1.o").write_bytes(b"code")
    made = module.wheel_with_code(given, tmp_path / "code", "win_amd64", tmp_path)
    assert made.name == "desdaemon-1-py3-none-win_amd64.whl"
    with zipfile.ZipFile(made) as archive:
        assert archive.read("desdaemon/engine/compiler/shipped/engine-1.o") == b"code"
        assert archive.read(f"{about}/WHEEL").endswith(b"Root-Is-Purelib: false\nTag: py3-none-win_amd64\n")
        *lines, own = archive.read(f"{about}/RECORD").decode().splitlines()
        assert own == f"{about}/RECORD,,"
        assert [line.split(",")[::2] for line in lines] == [
            [name, str(len(archive.read(name)))] for name in archive.namelist()[:-1]
        ]
    assert lines[0] == "desdaemon/one.py,sha256=a4ayc_80_OGda4BO_1o_V0etpOqiLx1JwB5S3beHW0s,1"


def test_archives_that_need_nothing_have_the_libraries(module: Any, project: dict[str, Any]) -> None:
    """Those that desdaemon and its board need on the system, in the locked releases."""
    declared = project["project"]
    needed = [*declared["dependencies"], *declared["optional-dependencies"]["web"]]
    everywhere = {re.split(r"[^\w-]", each)[0] for each in needed if ";" not in each}
    there = {re.split(r"[^\w-]", each)[0] for each in needed}
    for name, libraries in (("windows", there), ("linux", everywhere)):
        wanted = {each.split("==")[0] for each in module.wanted(module.SYSTEMS[name])}
        assert libraries <= wanted
