"""The source that a dataset's config describes."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from easydata import _native
from easydata.core.config import (
    ConfigError,
    DatasetConfig,
    TokenizerConfig,
    check,
    merge_tokenizer_config,
)
from easydata.core.config_class import from_plain, imported
from easydata.core.idle_options import refuse_idle_options
from easydata.core.short_repr import short
from easydata.core.sizes import size_of_option
from easydata.core.takes_options import declared_options
from easydata.sources.data_files import list_data_files
from easydata.sources.files import FileSource
from easydata.sources.formats import either, format_names, of_format, refuse_decode
from easydata.sources.hub.source import HuggingFaceShardedSource, names_hub_dataset
from easydata.sources.hub.splits import HubSplits
from easydata.sources.huggingface import wrap_hf_dataset
from easydata.sources.known_fields import require_fields
from easydata.sources.limited import LimitedShardedSource
from easydata.sources.parquet import ParquetShardedSource
from easydata.sources.sharded_source import (
    Keep,
    Part,
    ShardedDataSource,
    TransformedShardedSource,
    chain_of,
)
from easydata.sources.token_stores import Keeping
from easydata.tokenizers.tokenizer import Tokenizer
from easydata.transforms.base import MapTransform
from easydata.transforms.column_steps import column_steps
from easydata.transforms.fields import CastFields, RenameFields
from easydata.transforms.tokenize_row import TokenizerManager
from easydata.transforms.trainer_examples import gives_examples, named_transform


def _dataset(config: DatasetConfig | str | os.PathLike[str] | Mapping[str, Any]) -> DatasetConfig:
    """The config of a dataset, of which somebody may have given the files alone, or a dict."""
    if isinstance(config, DatasetConfig):
        return config
    if isinstance(config, str | os.PathLike):
        return DatasetConfig(data_files=config)
    if isinstance(config, Mapping):
        made: DatasetConfig = from_plain(DatasetConfig, config)
        return made
    several = names_data(config)
    cure = "several files" if several else "rows in memory"
    raise TypeError(
        "create_source() takes a DatasetConfig, the path of files, or a dict of options, not "
        f"{short(config)}; {cure} are DatasetConfig(data_files={'[...]' if several else 'rows'})"
    )


def create_source(
    config: DatasetConfig | str | os.PathLike[str] | Mapping[str, Any],
    seed: int | None = None,
    listing: _native.FileListing | None = None,
) -> ShardedDataSource[Any]:
    """The source that a dataset's config describes: its rows up to where they are tokenized.

    The format is `config.type`, or what the files' names tell; files of several formats are an
    error that names them. `config.shuffle` shuffles the rows by `seed` (None: 0), in windows of
    `config.shuffle_window_bytes`; `config.num_rows` limits them; `format_callback`,
    `format_fields`, `transform` and `transforms` make other rows of them; examples for a trainer
    are kept at `config.cache_path`.
    `listing` has the files that `data_files` stand for, where they were listed before. A path, or
    a dict of its options, does for a config.

    Raises:
        FileNotFoundError: `data_files` match nothing; such a name is never taken for the Hub's.
        ConfigError: An option is wrong, names a field that no row has, or does nothing to these
            rows.
        NotImplementedError: An option asks for what has not come yet.
        ValueError: The format cannot be told, `shuffle_window_bytes` is no size, or `decode` is
            given for what are no ArrayRecord files.
    """
    config = _dataset(config)
    check(config)
    known = None if listing is None else KnownFiles(listing)
    source = formatted(dataset_rows(config, seed, known), config)
    steps = transforms_of(config, merge_tokenizer_config(config), TokenizerManager().get_tokenizer)
    for step in steps:
        source = source.transform(step)
    if any(map(gives_examples, steps)):
        source = kept_tokens(source, config)
    named = dataclasses.replace(config, name=config.name or "dataset_0")
    rows = [(str(named.name), source._stream(), True)]
    refuse_idle_options({"datasets": [named]}, {"source"}, rows)  # of options that do nothing
    return source


@dataclasses.dataclass(frozen=True)
class KnownFiles:
    """What was found out of the files of a dataset before.

    Attributes:
        listing: The files that `data_files` stand for.
        splits: Of a dataset on the Hub, which files are which.
    """

    listing: _native.FileListing
    splits: HubSplits | None = None


def dataset_rows(
    config: DatasetConfig,
    seed: int | None = None,
    known: KnownFiles | None = None,
    commits: dict[str, str] | None = None,
) -> ShardedDataSource[Any]:
    """The rows of a dataset as they are read; its config is sound.

    `commits`: see data_files.pinned().
    """
    source = _unlimited(config, known, commits)
    if config.name and source is not config.data_files:
        source._dataset_name = config.name
    if config.column_types:
        # Types that files of columns have in common are found as they are read.
        if isinstance(source, FileSource) and source is not config.data_files:
            source._column_types = dict(config.column_types)
        source = source.transform(CastFields(config.column_types).claiming())
    if config.columns is not None:
        require_fields(source, config.columns, f"columns of dataset {config.name!r}")
        if not isinstance(source, ParquetShardedSource):  # which reads no others
            source = source.select_fields(config.columns)
    if config.parts is not None:
        given = {name: getattr(config, name) for name in declared_options("PartOptions")}
        part = Part({name: value for name, value in given.items() if value is not None})
        source = part.of(source)
    window = window_bytes_of(config)
    if config.shuffle is not None:
        source = source.shuffle(config.shuffle, seed, window_bytes=window)
    if config.num_rows is not None:
        source = LimitedShardedSource(source, config.num_rows)
    return source


def formatted(source: ShardedDataSource[Any], config: DatasetConfig) -> ShardedDataSource[Any]:
    """The rows of a dataset after its `format_callback` and `format_fields`.

    What the source has done to them by itself, as one that was made of this config, is not done
    again.
    """
    done = chain_of(source)[1] if isinstance(source, TransformedShardedSource) else []
    callback, fields = callback_of(config), config.format_fields
    if callback is not None and not any(callback in step._calls() for step in done):
        source = source.transform(MapTransform(callback))
    if fields and not any(repr(step) == repr(RenameFields(fields)) for step in done):
        require_fields(source, fields, f"format_fields of dataset {config.name!r}")
        source = source.rename_fields(fields)
    return source


def callback_of(config: DatasetConfig) -> Callable[[Any], Any] | None:
    """The function that `format_callback` is, or names by its import path."""
    callback: Callable[[Any], Any] | str | None = config.format_callback
    try:
        found: Callable[[Any], Any] | None = (
            imported(callback) if isinstance(callback, str) else callback
        )
    except ValueError as error:
        raise ConfigError(f"dataset {config.name!r}", [f"format_callback: {error}"]) from error
    return found


def kept_tokens(source: ShardedDataSource[Any], config: DatasetConfig) -> ShardedDataSource[Any]:
    """The rows of tokens of a dataset, kept where its `cache_path` says."""
    if config.cache_path is None or not config.cache_enabled:
        return source
    return Keep(Keeping.at(config.cache_path, storage_options=config.storage_options)).of(source)


def has_transforms(dataset: DatasetConfig) -> bool:
    """Whether a dataset says what makes its rows."""
    return dataset.transform is not None or bool(dataset.transforms)


def transforms_of(
    dataset: DatasetConfig,
    tokenizer_config: TokenizerConfig | None,
    get_tokenizer: Callable[[TokenizerConfig], Tokenizer],
) -> list[Any]:
    """The steps that a dataset's `transforms` say, in their order, or its `transform`.

    Raises:
        ConfigError: One makes examples, and names no tokenizer or other options than it has.
    """
    made = functools.partial(_transform, dataset, tokenizer_config, get_tokenizer)
    if dataset.transform is not None:
        return [made("transform", dataset.transform)]
    steps: list[Any] = []
    for position, choice in enumerate(dataset.transforms or ()):
        steps += column_steps(choice) or [made(f"transforms[{position}]", choice)]
    return steps


def _transform(
    dataset: DatasetConfig,
    tokenizer_config: TokenizerConfig | None,
    get_tokenizer: Callable[[TokenizerConfig], Tokenizer],
    option: str,
    choice: Any,
) -> Any:
    """One transform: an object, an import path, or one that makes examples, by name."""
    if isinstance(choice, Mapping) and "name" not in choice:
        ((name, options),) = choice.items()
        choice = (
            imported(name)(**(options or {})) if ":" in name else {**(options or {}), "name": name}
        )
    if isinstance(choice, str) and ":" in choice:
        choice = imported(choice)
    if isinstance(choice, str | Mapping):
        subject = f"dataset {dataset.name!r}"
        if tokenizer_config is None:
            raise ConfigError(
                subject,
                [f"{option} needs a tokenizer; set its tokenizer=, or default_tokenizer"],
            )
        tokenizer = get_tokenizer(tokenizer_config)
        try:
            choice = named_transform(
                choice,
                tokenizer,
                chat_template=tokenizer_config.chat_template,
                template_date=tokenizer_config.template_date,
                chat_template_kwargs=tokenizer_config.chat_template_kwargs,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(subject, [f"{option}: {error}"]) from error
    if gives_examples(choice):
        return choice._refusing(dataset.on_error, rows_path_of(dataset))
    return choice


def rows_path_of(dataset: DatasetConfig) -> str | None:
    """The file for bad rows, where they go to one; lost files may have theirs beside it alone."""
    return dataset.quarantine_path if dataset.on_error == "quarantine" else None


def window_bytes_of(config: DatasetConfig) -> int | None:
    """`config.shuffle_window_bytes` as a number; None where it is unset."""
    return size_of_option("shuffle_window_bytes", config.shuffle_window_bytes)


def known_files(config: DatasetConfig, commits: dict[str, str]) -> KnownFiles:
    """Lists the files of a dataset that is named."""
    if names_hub_dataset(config):
        source = HuggingFaceShardedSource._of_config(config, commits)
        return KnownFiles(source.listing, source.splits)
    return KnownFiles(_listed(config, commits))


def _listed(config: DatasetConfig, commits: dict[str, str] | None) -> _native.FileListing:
    keeps = config.on_missing != "raise"
    data: Any = config.data_files
    return list_data_files(data, config.storage_options, keeps_missing=keeps, commits=commits)


def _unlimited(
    config: DatasetConfig, known: KnownFiles | None, commits: dict[str, str] | None = None
) -> ShardedDataSource[Any]:
    data: Any = config.data_files
    if not names_data(data):
        refuse_decode(config, "the data are in memory")
        if isinstance(data, ShardedDataSource):
            _refuse_file_options(config)
            return data
        return wrap_hf_dataset(data, config.name)
    if names_hub_dataset(config):
        refuse_decode(config, "a dataset of the Hub is none of these")
        return HuggingFaceShardedSource._of_config(
            config, commits, *(() if known is None else (known.splits, known.listing))
        )
    files = _listed(config, commits) if known is None else known.listing
    kind = _format_of(files.uris, data) if config.type is None else str(config.type).lower()
    return of_format(kind, files, config)


def files_of(config: DatasetConfig, known: KnownFiles) -> FileSource | None:
    """What reads the listed files of a dataset; None for one that is made already."""
    source = _unlimited(config, known)
    if isinstance(source, HuggingFaceShardedSource):
        return source.files
    return source if isinstance(source, FileSource) else None


def _refuse_file_options(config: DatasetConfig) -> None:
    """Raises ConfigError for options of how files are read, which a made source has its own of."""
    defaults = {option.name: option.default for option in dataclasses.fields(config)}
    given = [
        name
        for name in (
            *declared_options("CsvOptions"),
            *declared_options("TokenFileOptions"),
            "sample_by",
            "field",
            "zstd_max_window",
            "hive_partitioning",
        )
        if getattr(config, name) != defaults[name]
    ]
    if given:
        raise ConfigError(
            f"dataset {config.name!r}",
            [
                f"{name} says how files are read, and data_files is a source that was made "
                "already; give it to that"
                for name in given
            ],
        )


def names_data(data: Any) -> bool:
    """Whether data is named: by a path, a pattern or several, and not given as rows or a source."""
    return isinstance(data, (str, os.PathLike)) or (
        isinstance(data, (list, tuple)) and all(isinstance(x, (str, os.PathLike)) for x in data)
    )


def _format_of(files: list[str], data: Any) -> str:
    formats = Counter(_native.format_of_name(path) for path in files)
    if "" in formats:
        unknown = next(path for path in files if not _native.format_of_name(path))
        raise ValueError(
            f"the format of {unknown} is not clear from its name; give type= "
            f"({either(format_names())})"
        )
    kinds = {known.kind for known in _native.data_formats() if known.name in formats}
    if len(kinds) > 1:
        found = ", ".join(f"{count} {name}" for name, count in sorted(formats.items()))
        raise ValueError(
            f"{data} holds files of several formats ({found}); choose one by a pattern such as "
            f"'*.{min(formats)}', or give each its own dataset"
        )
    return "json" if kinds == {"json"} and set(formats) != {"jsonl"} else min(formats)
