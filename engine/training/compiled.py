"""Decorators for numba functions over arrays, which run without the GIL, and a thread pool for parts of a range."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Return ``function`` compiled by numba at its first call. It runs without the GIL."""
    return cast(Function, numba.njit(nogil=True, error_model="numpy")(function))


def inlined(function: Function) -> Function:
    """Return ``function``, a small helper, for numba to compile into each compiled function that calls it."""
    return cast(Function, numba.njit(nogil=True, error_model="numpy", inline="always")(function))


def spread(work: Callable[[int, int], Any], total: int, threads: int) -> list[Any]:
    """Divide range(total) into at most ``threads`` parts and call work(begin, end) for each, on threads of a pool; a
    single part is done on the caller's thread. Return the results in order.

    The parts depend on the arguments alone, so that sums over them are reproducible. A ``total`` of 0 calls work(0, 0).
    """
    count = max(1, min(total, threads))
    bounds = [total * k // count for k in range(count + 1)]
    if count == 1:
        return [work(0, total)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, bounds[:-1], bounds[1:]))
