"""The source that a data set's config describes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from easydata.core.sizes import parse_size
from easydata.core.source import ShardedDataSource
from easydata.sources.data_files import list_data_files

if TYPE_CHECKING:
    from easydata import _native
    from easydata.core.config import DatasetConfig

_HUB = ("hf", "huggingface")
_FORMATS = {"jsonl": "json", "ndjson": "json", "pq": "parquet", "text": "txt"}


def create_source(config: DatasetConfig, seed: int | None = None) -> ShardedDataSource[Any]:
    """The source that a data set's config describes.

    The format is `config.type`, or what the files' names tell; files of several formats are an
    error that names them. `config.shuffle` shuffles the rows by `seed` (None: 0), in windows of
    `config.shuffle_window_bytes`; `config.num_rows` limits them.

    Raises:
        FileNotFoundError: `data_files` match nothing; such a name is never taken for the Hub's.
        ConfigError: `columns` names a field that no row has.
        ValueError: The format cannot be told, or `shuffle_window_bytes` is no size, or without
            `shuffle="rows"`.
    """
    source = _unlimited(config)
    if config.columns is not None:
        from easydata.sources.parquet import ParquetShardedSource
        from easydata.transforms.source import require_fields

        require_fields(source, config.columns, f"columns of dataset {config.name!r}")
        if not isinstance(source, ParquetShardedSource):  # which reads no others
            source = source.select_fields(config.columns)
    window = window_bytes_of(config)
    if config.shuffle is not None:
        source = source.shuffle(config.shuffle, seed, window_bytes=window)
    if config.num_rows is not None:
        from easydata.transforms import LimitedShardedSource

        source = LimitedShardedSource(source, config.num_rows)
    return source


def window_bytes_of(config: DatasetConfig) -> int | None:
    """`config.shuffle_window_bytes` as a number; None where it is unset."""
    size = config.shuffle_window_bytes
    if size is None:
        return None
    if config.shuffle != "rows":
        raise ValueError(f'shuffle_window_bytes: needs shuffle="rows", not {config.shuffle!r}')
    try:
        return parse_size(size)
    except ValueError as error:
        raise ValueError(f"shuffle_window_bytes: {error}") from None


def _unlimited(config: DatasetConfig) -> ShardedDataSource[Any]:
    data: Any = config.data_files
    kind = None if config.type is None else str(config.type).lower()
    if isinstance(data, ShardedDataSource):
        return data
    holds_rows = not isinstance(data, (str, os.PathLike)) and not (
        isinstance(data, (list, tuple)) and all(isinstance(x, (str, os.PathLike)) for x in data)
    )
    if holds_rows:
        from easydata.sources.huggingface import wrap_hf_dataset

        return wrap_hf_dataset(data, config.name)
    if kind in _HUB and not _names_files(data):
        from easydata.sources.huggingface import HuggingFaceShardedSource

        names = data if isinstance(data, (str, os.PathLike)) else ", ".join(map(str, data))
        return HuggingFaceShardedSource(
            os.fspath(names), config.split, subset=config.dataset_split_name
        )
    files = list_data_files(data)
    if kind is None or kind in _HUB:
        kind = _format_of(files.uris, data)
    return _of_kind(_FORMATS.get(kind, kind), kind, files, config)


def _names_files(data: Any) -> bool:
    from easydata import _native

    items = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    return all(_native.exists(os.fspath(item)) for item in items)


def _format_of(files: list[str], data: Any) -> str:
    from easydata import _native

    formats = Counter(_native.format_of_name(path) for path in files)
    if "" in formats:
        unknown = next(path for path in files if not _native.format_of_name(path))
        raise ValueError(
            f"the format of {unknown} cannot be told from its name; give type= (json, jsonl, "
            "parquet, csv, tsv, arrow or txt)"
        )
    kinds = {_FORMATS.get(name, name) for name in formats}
    if len(kinds) > 1:
        found = ", ".join(f"{count} {name}" for name, count in sorted(formats.items()))
        raise ValueError(
            f"{data} holds files of several formats ({found}); choose one by a pattern such as "
            f"'*.{min(formats)}', or give each its own data set"
        )
    return "json" if kinds == {"json"} and set(formats) != {"jsonl"} else min(formats)


def _of_kind(
    reader: str, kind: str, files: _native.FileListing, config: DatasetConfig
) -> ShardedDataSource[Any]:
    options: dict[str, Any] = {
        "name": config.name or "",
        "on_error": config.on_error,
        "quarantine_path": config.quarantine_path,
        "identity": config.identity,
    }
    makers: dict[str, Callable[[], ShardedDataSource[Any]]] = {
        "json": lambda: _json(files, kind, options),
        "parquet": lambda: _parquet(files, config.columns, options),
        "arrow": lambda: _arrow(files, options),
        "csv": lambda: _csv(files, ",", options),
        "tsv": lambda: _csv(files, "\t", options),
        "txt": lambda: _text(files, config.content_field, options),
    }
    if reader not in makers:
        raise ValueError(
            f"unknown type {kind!r}; expected one of {', '.join(sorted(makers))}, jsonl"
        )
    return makers[reader]()


def _json(files: _native.FileListing, kind: str, options: dict[str, Any]) -> ShardedDataSource[Any]:
    from easydata.sources.json import JsonShardedSource

    # "json" is any of its forms; "jsonl" is one value a line, whatever the files are called.
    return JsonShardedSource(files, jsonl=None if kind == "json" else True, **options)


def _parquet(
    files: _native.FileListing, columns: list[str] | None, options: dict[str, Any]
) -> ShardedDataSource[Any]:
    from easydata.sources.parquet import ParquetShardedSource

    return ParquetShardedSource(files, columns=columns, **options)


def _arrow(files: _native.FileListing, options: dict[str, Any]) -> ShardedDataSource[Any]:
    from easydata.sources.arrow import ArrowShardedSource

    return ArrowShardedSource(files, **options)


def _csv(
    files: _native.FileListing, delimiter: str, options: dict[str, Any]
) -> ShardedDataSource[Any]:
    from easydata.sources.csv import CsvShardedSource

    return CsvShardedSource(files, delimiter=delimiter, **options)


def _text(
    files: _native.FileListing, field: str, options: dict[str, Any]
) -> ShardedDataSource[Any]:
    from easydata.sources.text import TextShardedSource

    return TextShardedSource(files, text_field=field, **options)
