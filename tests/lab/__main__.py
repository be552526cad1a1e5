"""`python tests/lab NAME ...`: run an experiment. Without a name, list them."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

EXPERIMENTS = {
    "draws": ("lab.draws", "docstrings, test names and sentences of documents to read, drawn at random"),
    "book_looks": ("lab.book_looks", "what a look-up takes while a large book is worked on"),
    "games": ("lab.games", "positions a second that `games.get` answers"),
    "growth": ("lab.growth", "the memory of a daemon while a client stores lines in its book"),
    "harness": ("lab.harness", "record what a program says and makes, compare two recordings"),
    "hostile": ("lab.hostile", "lying workers, killed backups, failing TLS and locks"),
    "journeys": ("lab.journeys", "follow requests through the daemon: its modules and calls"),
    "large_book": ("lab.large_book", "the time and memory of every operation on a large book"),
    "levels": ("lab.levels", "count the nodes of levels on fixed positions"),
    "moves": ("lab.moves", "judge the moves of searches by positions whose every move is scored exactly"),
    "packed_book": ("lab.packed_book", "the size of a packed book, and what opening and look-ups take"),
    "page": ("lab.page", "measure the board in the browser and its gateway"),
    "peer": ("lab.peer", "solve problems beside another program"),
    "peers": ("lab.peers", "the peers that `storm` starts to attack a server"),
    "pictures": ("lab.pictures", "make the pictures of the board, for the documents or to be looked at"),
    "predicted": ("lab.predicted", "how many moves of people the policy guesses"),
    "programs": ("lab.programs", "the programs that `storm` runs among packed bombs, hostile servers and pipes"),
    "reasons": ("lab.reasons", "fit the weights of reasons why a move loses, and show reasons"),
    "restarts": ("lab.restarts", "kill a server while clients work"),
    "satellites": ("lab.satellites", "delete satellites, and run the core's tests in what is left"),
    "scheduler": ("lab.scheduler", "simulate how searches share the threads"),
    "selectivity": ("lab.selectivity", "how often selective searches are right"),
    "serving": ("lab.serving", "measure how a server shares its threads, and what its loop waits for"),
    "slips": ("lab.slips", "wipe-outs and corners given away, by strengths and by people"),
    "stops": ("lab.stops", "from a stop to the end of the search"),
    "storm": ("lab.storm", "attack a server while clients check its answers"),
    "strengths": ("lab.strengths", "the Elo of people as the policy plays them, and of levels"),
    "stress": ("lab.stress", "check exact solves by many threads"),
    "tables": ("lab.tables", "the tables that engines publish: problems solved, moves right by depth"),
    "virtual_threads": ("lab.virtual_threads", "what many threads are worth, on any machine"),
    "weak_memory": ("lab.weak_scenarios", "threads that share words without a lock, over a memory with weak order"),
}
"""For each experiment its module and a line of help. The module's ``main`` takes the arguments after the name and
returns the exit status.
"""


def main(arguments: list[str]) -> int:
    """Run the experiment that the first argument names; returns its exit status, 2 where there is none."""
    if not arguments or arguments[0] not in EXPERIMENTS:
        rows = "".join(f"  {name:16} {text}\n" for name, (_, text) in sorted(EXPERIMENTS.items()))
        sys.stderr.write(f"usage: python tests/lab NAME ...  (NAME --help tells its options)\n\n{rows}")
        return 0 if arguments in ([], ["--help"], ["-h"]) else 2
    from desdaemon.protocol.errors import BadInput

    name, *others = arguments
    module = import_module(EXPERIMENTS[name][0])
    try:
        status: int = module.main(others)
    except (BadInput, FileNotFoundError, NotADirectoryError) as error:
        sys.stderr.write(f"lab {name}: {error}\n")
        return 1
    return status


if __name__ == "__main__":
    # In place of this folder, whose modules belong to the package `lab`.
    sys.path[0] = str(Path(__file__).resolve().parents[1] / "support")
    import_module("checkout")
    sys.exit(main(sys.argv[1:]))
