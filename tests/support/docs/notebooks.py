"""Runs a notebook without Jupyter: its code cells in order, in one namespace, with what each prints and shows."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import json
from pathlib import Path
from typing import Any


def run(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The outputs of each code cell, as a notebook keeps them: what is printed, and the last expression's value."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    found = []
    number = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            found.append(_outputs("".join(cell["source"]), namespace, number))
    return found


def _outputs(source: str, namespace: dict[str, Any], number: int) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        _evaluated(tree, "exec", namespace, number)
        if isinstance(last, ast.Expr):
            value = _evaluated(ast.Expression(last.value), "eval", namespace, number)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        picture = getattr(value, "_repr_svg_", None)
        if picture:
            data["image/svg+xml"] = _lines(picture())
        outputs.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data})
    return outputs


def _evaluated(tree: ast.AST, mode: str, namespace: dict[str, Any], number: int) -> Any:
    """The value of a cell's code, which may await."""
    code = compile(tree, f"<cell {number}>", mode, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)  # type: ignore[call-overload]
    value = eval(code, namespace)
    return asyncio.run(value) if code.co_flags & inspect.CO_COROUTINE else value


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def write(path: Path, notebook: dict[str, Any]) -> None:
    """Write a notebook with the outputs that its cells have now."""
    outputs = iter(run(notebook))
    for number, cell in enumerate((cell for cell in notebook["cells"] if cell["cell_type"] == "code"), 1):
        cell["outputs"], cell["execution_count"] = next(outputs), number
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
