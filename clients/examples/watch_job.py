"""Has the daemon learn the opening, and shows how far it is; an interrupt cancels the job, a second one just leaves.

python watch_job.py 2 4           as `book deviate 2 4` would
python watch_job.py --follow 3    watches job 3, which somebody else has started
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse

from desdaemon.clients import Client, DaemonError, connect


def run(client: Client, relative: int, absolute: int) -> None:
    """Start a job and watch it by its own replies."""
    job = client.book("deviate", relative=relative, absolute=absolute)
    try:
        for progress in job:
            print(f"{progress.phase}: {progress.done} of {progress.total}, {progress.positions} positions", flush=True)
    except KeyboardInterrupt:
        job.cancel()
    done = job.result()
    print(f"{done.added} positions added in {done.time_s} s, {done.positions} in all")


def follow(client: Client, number: int) -> None:
    """Watch a job by its events, which every client can hear."""
    for _, data in client.events(f"job.{number}"):
        print(data, flush=True)
        if all(job["job"] != number or job["state"] not in ("queued", "running") for job in client.jobs()):
            return


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("relative", type=int, nargs="?", default=2)
    parser.add_argument("absolute", type=int, nargs="?", default=4)
    parser.add_argument("--follow", type=int)
    parser.add_argument("--endpoint")
    parser.add_argument("--key")
    named = parser.parse_args()
    try:
        with connect(named.endpoint, key=named.key) as client:
            if named.follow is None:
                run(client, named.relative, named.absolute)
            else:
                follow(client, named.follow)
    except DaemonError as error:
        raise SystemExit(str(error)) from None


main()
