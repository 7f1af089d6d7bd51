"""Small things that the manual names under `utils`."""

from __future__ import annotations

import functools
import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from easydata import _native
from easydata.sources.data_files import expand_data_files
from easydata.sources.remote_files import RemoteFileSystem

if TYPE_CHECKING:
    import datasets

P = ParamSpec("P")
R = TypeVar("R")

__all__ = [
    "align_columns_intersection",
    "get_cached_filesystem",
    "glob_files",
    "infer_builder_from_ext",
    "is_streaming",
    "warn_deprecated",
    "with_retry",
    "wrap_format_callback",
]


def with_retry(
    max_retries: int = 3,
    initial_delay: float = 0.1,
    max_delay: float = 10.0,
    backoff_factor: float = 2.0,
    retryable: tuple[type[BaseException], ...] = (IOError, OSError, TimeoutError),
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator that calls a function again when it fails with one of `retryable`.

    Args:
        max_retries: Calls after the first one.
        initial_delay: Seconds before the second call.
        max_delay: The longest pause, in seconds.
        backoff_factor: By how much each pause is longer than the one before.
        retryable: What is worth another try; the last failure is raised.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            delay = initial_delay
            for _ in range(max_retries):
                try:
                    return function(*args, **kwargs)
                except retryable:
                    time.sleep(min(delay, max_delay))
                    delay *= backoff_factor
            return function(*args, **kwargs)

        return call

    return decorate


_filesystems: dict[str, RemoteFileSystem] = {}


def get_cached_filesystem(
    path: str | os.PathLike[str] = "", storage_options: Mapping[str, Any] | None = None
) -> RemoteFileSystem:
    """The file system that reaches `path` by these options; the same one for the same options.

    The scheme of `path` need not be said: one file system knows s3, gs, http(s) and local files.
    """
    key = json.dumps([dict(storage_options or {})], sort_keys=True, default=repr)
    return _filesystems.setdefault(key, RemoteFileSystem(storage_options))


def is_streaming(dataset: object) -> bool:
    """Whether a dataset of `datasets` can only be read one row after the other."""
    return hasattr(dataset, "_ex_iterable")


def infer_builder_from_ext(path: str | os.PathLike[str]) -> str | None:
    """The name of the `datasets` builder for a file, by its name; None where it tells none."""
    found = _native.find_format(_native.format_of_name(os.fspath(path)))
    return None if found is None else found.builder or None


def glob_files(pattern: str | os.PathLike[str]) -> list[str]:
    """The files that a path, pattern or folder stands for; see `expand_data_files`."""
    return expand_data_files(pattern)


def wrap_format_callback(
    callback: Callable[[dict[str, Any]], Any], key: str
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Makes a callback return a row: None stands for its input, what is no dict for {key: it}."""

    @functools.wraps(callback)
    def call(example: dict[str, Any]) -> dict[str, Any]:
        out = callback(example)
        if out is None:
            return example
        return out if isinstance(out, dict) else {key: out}

    return call


def align_columns_intersection(data: Sequence[datasets.Dataset]) -> list[datasets.Dataset]:
    """The datasets with the columns alone that all of them have, in the first one's order."""
    if not data:
        return []
    common = [
        name
        for name in data[0].column_names
        if all(name in other.column_names for other in data[1:])
    ]
    return [dataset.select_columns(common) for dataset in data]


def warn_deprecated(msg: str) -> None:
    """Warns, at the line that calls this, that something is deprecated."""
    warnings.warn(msg, DeprecationWarning, stacklevel=2)
