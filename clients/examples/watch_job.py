"""Shows the progress of the daemon's jobs: work on the book, and batches of positions.

python watch_job.py                    watches running jobs of all clients
python watch_job.py --follow 3         watches job 3
python watch_job.py --deviate 2 4      adds to the daemon's book as `book deviate 2 4` would, and watches that;
                                       an interrupt cancels it, a second one just leaves
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse

from desdaemon.clients import Client, DaemonError, connect

RUNNING = ("queued", "running")


def deviate(client: Client, relative: int, absolute: int) -> None:
    """Start `book deviate` with its arguments ``relative`` and ``absolute`` (discs) and watch the job by its own
    replies; an interrupt cancels it.
    """
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
        if all(job["job"] != number or job["state"] not in RUNNING for job in client.jobs()):
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--follow", type=int, metavar="JOB")
    parser.add_argument("--deviate", type=int, nargs=2, metavar=("RELATIVE", "ABSOLUTE"))
    parser.add_argument("--endpoint")
    parser.add_argument("--key")
    named = parser.parse_args()
    try:
        with connect(named.endpoint, key=named.key) as client:
            if named.deviate is not None:
                deviate(client, *named.deviate)
                return
            jobs = client.jobs()
            running = [job["job"] for job in jobs if job["state"] in RUNNING]
            for job in jobs:
                print(f"{job['job']}: {job['op']} of {job['client']}, {job['state']}, {job['done']} of {job['total']}")
            number = named.follow if named.follow is not None else running[0] if running else None
            if number is None:
                print("no job is running")
            else:
                follow(client, number)
    except DaemonError as error:
        raise SystemExit(str(error)) from None


main()
