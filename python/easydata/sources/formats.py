"""The source of files of a format, as a dataset's config describes it."""

from __future__ import annotations

from typing import Any

from easydata import _native
from easydata.core.config import DatasetConfig
from easydata.core.config_class import options_of
from easydata.sources.array_record import ArrayRecordShardedSource, records_of
from easydata.sources.arrow import ArrowShardedSource
from easydata.sources.csv import CsvShardedSource
from easydata.sources.files import FileSource, FormatSource
from easydata.sources.json import JsonShardedSource
from easydata.sources.parquet import ParquetShardedSource
from easydata.sources.text import TextShardedSource
from easydata.sources.token_files import TokenFilesShardedSource

# The formats that have a class of their own, by what the registry calls their kind.
_CLASSES: dict[str, type[FileSource]] = {
    "json": JsonShardedSource,
    "parquet": ParquetShardedSource,
    "arrow": ArrowShardedSource,
    "csv": CsvShardedSource,
    "tsv": CsvShardedSource,
    "txt": TextShardedSource,
    "array_record": ArrayRecordShardedSource,
    "bin": TokenFilesShardedSource,
    "npy": TokenFilesShardedSource,
}


def format_names() -> list[str]:
    """The names of all formats."""
    return [known.name for known in _native.data_formats()]


def either(names: list[str]) -> str:
    """Names as a sentence lists them."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


def refuse_decode(config: DatasetConfig, why: str) -> None:
    """Raises ValueError where `decode` is given for what are no records."""
    if config.decode is not None:
        raise ValueError(f"decode: says what records of ArrayRecord files are; {why}; leave it out")


def of_format(name: str, files: _native.FileListing, config: DatasetConfig) -> FileSource:
    """The source of listed files of the format `name`, with a config's options.

    Raises:
        ValueError: There is no such format, or `decode` is given for another than ArrayRecord.
    """
    found = _native.find_format(name)
    if found is None:
        raise ValueError(
            f"unknown type {name!r}; expected one of {', '.join(sorted(format_names()))}"
        )
    if found.kind != "array_record":
        refuse_decode(config, f"the files are of format {name}")
    options: dict[str, Any] = {
        **options_of(config, "ErrorPolicy"),
        "name": config.name or "",
        "identity": config.identity,
        "hive_partitioning": config.hive_partitioning,
    }
    if "zstd_max_window" in found.options:
        options["zstd_max_window"] = config.zstd_max_window
    options |= _own_options(found, files, config)
    source = _CLASSES.get(found.kind, FormatSource)(files, **options)
    if isinstance(source, TokenFilesShardedSource):
        source._format = found.name  # whatever the files are called
    return source


def _own_options(
    found: _native.DataFormat, files: _native.FileListing, config: DatasetConfig
) -> dict[str, Any]:
    """What a config says of the options that only sources of this format have."""
    match found.kind:
        case "json":
            # "json" is any of its forms; "jsonl" is one value a line, whatever a file is called.
            return {"jsonl": None if found.name == "json" else True, "field": config.field}
        case "parquet":
            return {"columns": config.columns}
        case "arrow":
            return {}
        case "csv" | "tsv":
            dialect = options_of(config, "CsvOptions")
            if dialect["delimiter"] is None:
                dialect["delimiter"] = "\t" if found.kind == "tsv" else ","
            return dialect
        case "txt":
            return {"text_field": config.content_field, "sample_by": config.sample_by}
        case "array_record":
            decode = config.decode or records_of(files)
            column = config.content_field if decode == "text" else None
            return {"column": column, "decode": decode}
        case "bin" | "npy":
            return options_of(config, "TokenFileOptions")
    return {"format": found.name}
