"""Makes the checkout importable as `desdaemon`, and the helpers of `tests/support`; finds the optional shared data."""

import contextlib
import ctypes
import gc
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))

import windows_failures
from checkout import SHARED

# Tests take helpers from tests in other folders, whichever of them are run.
sys.path.extend(sorted({str(path.parent) for path in Path(__file__).resolve().parent.rglob("test_*.py")}))

# A shell lets what it runs in the background ignore interrupts, and that is inherited: tests that send some would wait.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is slow: no example has to be done in a given time.
settings.register_profile("desdaemon", deadline=None)
settings.load_profile("desdaemon")


_FOLDERS = ("cluster", "clients", "server", "training", "book", "web", "project", "engine", "core", "dialogue")
"""Folders whose files take long come first, so that two processes, which take whole files, end together."""


def pytest_configure(config: pytest.Config) -> None:
    """Have xdist give out files in the order of their tests here, and not those with most tests first."""
    config.option.loadscopereorder = False


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Do not even import the files that are marked as a whole as needing POSIX or a satellite that is not here: they
    import it.
    """
    if collection_path.suffix != ".py":
        return None
    marks = "".join(re.findall(r"^pytestmark = .*", collection_path.read_text("utf-8"), re.MULTILINE))
    posix = sys.platform == "win32" and "mark.posix" in marks
    return posix or any(map(_missing, re.findall(r"mark\.needs\(\"([\w.]+)\"\)", marks))) or None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Have each process begin with other folders: in a new checkout it then finds compiled what others began with."""
    report = yield
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")[2:]
    if worker and collector.path == Path(__file__).parent and isinstance(collector, pytest.Dir):
        begin = len(report.result) * int(worker) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        report.result = [*report.result[begin:], *report.result[:begin]]
    return report


def _missing(satellite: str) -> bool:
    return find_spec(f"desdaemon.{satellite}") is None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first; leave out what is about compiled code, or too slow without it, where kernels run as
    Python.
    """
    from desdaemon.engine.compiler import INTERPRETED

    if sys.platform == "win32":
        strict = windows_failures.under_wine()
        for item in items:
            if item.get_closest_marker("posix"):
                item.add_marker(pytest.mark.skip(reason="needs POSIX"))
            elif reason := windows_failures.reason(item.nodeid):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=strict))
    for item in items:
        for mark in item.iter_markers("needs"):
            if _missing(mark.args[0]):
                item.add_marker(pytest.mark.skip(reason=f"needs {mark.args[0]}"))
    tests = Path(__file__).parent
    ranks = {name: rank for rank, name in enumerate(_FOLDERS)}
    places = {path: path.relative_to(tests) for path in {item.path for item in items}}
    items.sort(key=lambda item: (ranks.get(places[item.path].parts[0], len(ranks)), places[item.path]))
    if INTERPRETED:
        from interpreted import RECURSION

        # Hypothesis refuses a limit that changes within an example, as it does with the first kernel that is called.
        sys.setrecursionlimit(RECURSION)
        told = threading.excepthook
        # The end of a thread whose test was broken off.
        threading.excepthook = lambda args: None if args.exc_type is SystemExit else told(args)
        cases: dict[str, int] = {}
        for item in items:
            function = item.nodeid.partition("[")[0]
            cases[function] = cases.get(function, 0) + 1
            if item.get_closest_marker("compiled"):
                item.add_marker(pytest.mark.skip(reason="about compiled kernels, or too slow without them"))
            elif cases[function] > _CASES and {"engine", "book"} & set(item.path.parts):
                item.add_marker(pytest.mark.skip(reason="a further case, with kernels run as Python"))


_CASES = 3
"""Where kernels run as Python, the tests of engine and book run so many of their cases."""

_BUDGET_S = float(os.environ.get("DESDAEMON_TEST_BUDGET", "20"))
"""Seconds of processor time that a test may take where kernels run as Python; then it is broken off and skipped."""


@contextlib.contextmanager
def _within_budget() -> Iterator[None]:
    """Skip what takes longer than the budget, where kernels run as Python: a failure before counts, and so do the
    lines it has reached. Processor time, so that a busy machine runs the same tests.
    """
    from desdaemon.engine.compiler import INTERPRETED

    if not INTERPRETED or sys.platform == "win32":
        yield
        return

    before = set(threading.enumerate())
    broken_off = False
    reason = f"more than {_BUDGET_S:g} s of processor time, with kernels run as Python"

    def break_off(*_: object) -> None:
        nonlocal broken_off
        broken_off = True
        pytest.skip(reason)

    others = signal.signal(signal.SIGPROF, break_off)
    # Again and again: within a callback of C code the first one would be lost.
    signal.setitimer(signal.ITIMER_PROF, _BUDGET_S, 1.0)
    try:
        yield
    except Exception:
        if not broken_off:
            raise
        # Hypothesis takes an example that was broken off for one that behaves in two ways.
        pytest.skip(reason)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, others)
        if broken_off:
            _end_threads(set(threading.enumerate()) - before)


def _end_threads(threads: set[threading.Thread]) -> None:
    """End the threads that a test has left: a search that goes on would use up the budgets of all tests that follow.

    Not those of an executor, which waits for them and would wait for ever.
    """
    for thread in threads:
        # What `desdaemon.protocol.system.threads.begin` started cannot be joined, and ends by the exception alone.
        if not isinstance(thread, threading._DummyThread):
            thread.join(1.0)
        if thread.is_alive() and thread.ident is not None and not thread.name.startswith("ThreadPoolExecutor"):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Fixtures have a budget where kernels run as Python."""
    with _within_budget():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Tests have a budget where kernels run as Python."""
    with _within_budget():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what running daemons have logged with a test that fails."""
    report = yield
    if report.failed and "served" in sys.modules:
        for served in sys.modules["served"].running:
            report.sections.append((f"{served.log}", served.log.read_text(errors="replace")[-_SHOWN:]))
    return report


_SHOWN = 4000
"""Characters of a log that are shown."""


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Record in `build/durations.json` how many seconds each test of this run took, the slowest first."""
    if _durations:
        path = session.config.rootpath / "build" / "durations.json"
        path.parent.mkdir(exist_ok=True)
        slowest = sorted(_durations.items(), key=lambda duration: -duration[1])
        path.write_text(json.dumps({name: round(seconds, 2) for name, seconds in slowest}, indent=0) + "\n")


_durations: dict[str, float] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what a test and its fixtures take."""
    _durations[report.nodeid] = _durations.get(report.nodeid, 0.0) + report.duration


_LEAK_S = 20.0
"""What a test has ended may need so long to be gone."""


def _held() -> dict[str, int]:
    """What this process holds and a module of tests should not leave behind: sockets, files, threads."""
    held: dict[str, int] = {}
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except OSError:
            continue
        kind = "sockets" if target.startswith("socket:") else "temporary files" if "pytest-of-" in target else ""
        if kind:
            held[kind] = held.get(kind, 0) + 1
    held["threads"] = sum(not thread.daemon for thread in threading.enumerate())
    return held


_CHECKED = {"core", "dialogue", "protocol"}
"""Folders whose modules have to leave nothing behind."""


@pytest.fixture(autouse=True, scope="module")
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a module that leaves open sockets, files of its temporary folders, or threads that nobody waits for."""
    if not sys.platform.startswith("linux") or request.path.parent.name not in _CHECKED:
        yield
        return
    before = _held()
    yield
    if "operated" in sys.modules:
        sys.modules["operated"].close_all()
    due = time.monotonic() + _LEAK_S
    while grown := {name: number for name, number in _held().items() if number > before.get(name, 0)}:
        gc.collect()
        if time.monotonic() > due:
            pytest.fail(f"left behind: {grown}, before: {before}")
        time.sleep(0.05)


@pytest.fixture
def shared_data() -> Path:
    """The optional folder of reference data; tests that need it are skipped without it."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip("the optional reference data is not here")
    return folder
