"""`desdaemon` with the engine that pretends: the command line of a real one, run as a script by the tests."""

import os
import sys
from typing import Any

import checkout  # noqa: F401


def build(config: object) -> object:
    """The pretended engine, after the wait that DELAY asks for.

    With ENDLESS the search after so many never ends, and writes the file: ``12:/tmp/file``.
    """
    import itertools
    import time
    from pathlib import Path

    from fake_engine import FakeSearcher, build_fake

    from desdaemon.core.search.loader import EngineFailure

    if os.environ.get("COMPILES"):
        from desdaemon.protocol.system import logs

        logs.message(f"compiling {os.environ['COMPILES']}")
    time.sleep(float(os.environ.get("DELAY", "0")))
    if os.environ.get("FAIL"):
        raise EngineFailure("no engine today")
    searches, _, told = os.environ.get("ENDLESS", "").partition(":")
    if searches:
        search = FakeSearcher.search
        # One count for all searchers: which of them takes a position is chance.
        numbers = itertools.count()

        def endless(self: FakeSearcher, *arguments: Any, **options: Any) -> Any:
            if next(numbers) >= int(searches):
                Path(told).touch()
                time.sleep(1000)
            return search(self, *arguments, **options)

        FakeSearcher.search = endless  # type: ignore[method-assign]
    return build_fake(config)  # type: ignore[arg-type]


def main() -> None:
    """Run it; with MODULES set, name the loaded modules on standard error when the first prompt is out.

    GRACE_S: so long may searches go on after the end of the input or of the other end, instead of a second or two.
    FINISH_S: so long may requests in flight go on after a shutdown, instead of a second.
    """
    import desdaemon.core.search.loader as loader
    from desdaemon.cli.main import program

    loader.build_engine = build  # type: ignore[assignment]
    loader.SHORT_SEARCHES = False
    if os.environ.get("MODULES"):
        from desdaemon.dialogue.session import Session

        def tell(session: Session, on_failure: object) -> None:
            sys.stderr.write(" ".join(sys.modules) + "\n")

        Session.prepare = tell  # type: ignore[method-assign,assignment]
    if os.environ.get("GRACE_S"):
        from desdaemon.dialogue import interrupt

        for name in ("UNBOUNDED_GRACE_S", "ABSENT_GRACE_S", "INTERACTIVE_AFTER_S"):
            setattr(interrupt, name, float(os.environ["GRACE_S"]))
    if os.environ.get("FINISH_S"):
        from desdaemon.server import server

        server.FINISH_S = float(os.environ["FINISH_S"])
    program()


if __name__ == "__main__":
    main()
