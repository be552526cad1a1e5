"""Names that stand for one thing: classes of the product, and constants that kernels use."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def literal(node: ast.expr) -> object:
    """The value of a literal or of ``U(literal)``; None for anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "U" and len(node.args) == 1:
        node = node.args[0]
    try:
        found = ast.literal_eval(node)
    except ValueError:
        return None
    return found if isinstance(found, int | tuple) else None


def constants(source: str) -> dict[str, object]:
    """The names in upper case that a module binds to literals; an underscore before a name does not count."""
    found: dict[str, object] = {}
    for statement in ast.parse(source).body:
        if not isinstance(statement, ast.Assign):
            continue
        for target in statement.targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            several = isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple)
            values = statement.value.elts if several else [statement.value] * len(names)
            for name, value in zip(names, values, strict=False):
                if isinstance(name, ast.Name) and name.id.isupper() and literal(value) is not None:
                    found[name.id.lstrip("_")] = literal(value)
    return found


def test_constants_of_kernels_are_found() -> None:
    source = "A, _B = 1, U(2)\nC = (3, 4)\nd = 5\nE = A + 1\nF = 'text'\n"
    assert constants(source) == {"A": 1, "B": 2, "C": (3, 4)}


def test_no_constant_of_kernels_is_written_twice() -> None:
    places: dict[tuple[str, object], list[str]] = defaultdict(list)
    for folder in ("engine", "book", "protocol", "daemon"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for constant in constants(path.read_text(encoding="utf-8")).items():
                places[constant].append(path.relative_to(ROOT).as_posix())
    twice = {
        f"{name} = {value}": files
        for (name, value), files in places.items()
        if len(files) > 1 and any("/kernels/" in file or file.endswith("layout.py") for file in files)
    }
    assert not twice


def test_no_name_of_a_kernel_is_used_twice() -> None:
    """Kernels run as Python, of the engine and the book in one process, are found by their names."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in ROOT.glob("*/kernels/*.py"):
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            decorators = statement.decorator_list if isinstance(statement, ast.FunctionDef) else []
            if isinstance(statement, ast.FunctionDef) and any("kernel(" in ast.unparse(each) for each in decorators):
                places[statement.name].append(path.relative_to(ROOT).as_posix())
    assert len(places) > 250
    assert not {name: files for name, files in places.items() if len(files) > 1}
