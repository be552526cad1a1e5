"""`desdaemon doctor`: the command line and the report."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from desdaemon.protocol.command_line import Parser
from desdaemon.protocol.system.terminal import ElapsedTime, columns

from . import FAULT, WARNING, Finding, shown

if TYPE_CHECKING:
    import argparse

_WIDTH = 15


def command_line() -> Parser:
    """Return the parser of `desdaemon doctor`."""
    parser = Parser(
        prog="desdaemon doctor",
        description="Check this installation: what works, what is missing, and how to mend it. It changes "
        "nothing. The exit status is 1 if something does not work. Put the output into bug reports.",
    )
    add = parser.add_argument
    add("--json", action="store_true", help="one JSON object")
    add("--quick", action="store_true", help="compile nothing and start no search")
    add("--bind", action="append", default=[], metavar="ENDPOINT", help="an endpoint such as tcp://127.0.0.1:6464")
    add("--eval-file", metavar="FILE", help="the weights, if not those of the configuration")
    add("--book", metavar="FILE", help="the book, if not that of the configuration")
    return parser


def main(arguments: list[str]) -> int:
    """Check and report. Returns 0, 1 if something does not work, 2 for a bad command line."""
    named = command_line().parse_args(arguments)
    findings = []
    with ElapsedTime("checking") as elapsed:
        for finding in _findings(named):
            findings.append(finding)
            if not named.json:
                elapsed.pause()
                sys.stdout.write(_text(finding))
                sys.stdout.flush()
    status = int(any(finding.state == FAULT for finding in findings))
    if named.json:
        content = [{name: shown(value) for name, value in finding._asdict().items()} for finding in findings]
        sys.stdout.write(json.dumps({"status": status, "findings": content}, indent=1, ensure_ascii=False) + "\n")
    else:
        counted = {state: sum(each.state == state for each in findings) for state in (FAULT, WARNING)}
        faults, warnings = (f"{count} {state}{'s' * (count != 1)}" for state, count in counted.items())
        sys.stdout.write(f"{faults}, {warnings}\n")
    return status


def _findings(named: argparse.Namespace) -> Iterator[Finding]:
    from . import connections, installation

    yield from installation.program()
    libraries = list(installation.libraries())
    yield from libraries
    missing = any(library.state == FAULT for library in libraries)
    if not missing:
        yield from installation.processor()
    settled, eval_file, book_file = installation.configuration()
    yield from settled
    if not missing:
        from . import engine

        yield from engine.cache()
        if not named.quick:
            yield engine.compiler()
        yield from engine.compiled(search=not named.quick)
        yield engine.weights(named.eval_file or eval_file)
        yield engine.book(named.book or book_file)
    yield connections.runtime()
    yield connections.daemon()
    if not missing:
        yield connections.keys()
        yield from connections.ports(named.bind)
    yield installation.terminal()


def _text(finding: Finding) -> str:
    text = f"{finding.text}\n-> {finding.mend}" if finding.mend else finding.text
    # Broken where somebody reads it; a report of a fault has whole lines.
    width = max(40, columns() - 1) - 10 - _WIDTH if sys.stdout.isatty() else 10**6
    lines = [part for line in text.split("\n") for part in textwrap.wrap(shown(line), width, break_on_hyphens=False)]
    heads = [f"{finding.state:<8} {finding.check:<{_WIDTH}} ", *[" " * (10 + _WIDTH)] * len(lines)]
    return "".join(f"{head}{line}\n" for head, line in zip(heads, lines, strict=False))
