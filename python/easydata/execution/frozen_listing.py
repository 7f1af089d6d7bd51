"""One listing of files for all processes of a job."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from easydata import _native
from easydata.core.config import DatasetConfig, PipelineConfig, SourceStageConfig
from easydata.core.config_class import is_set
from easydata.sources.create import (
    KnownFiles,
    files_of,
    known_files,
    names_data,
)
from easydata.sources.hub.splits import splits_of_json
from easydata.tokenizers.hub_files import commits_of, pin

_VERSION = 2
_HUB = "hf://"


def storage_options_of(dataset: DatasetConfig, stage: SourceStageConfig) -> dict[str, Any] | None:
    """How a dataset's files are reached: its own options before the stage's."""
    options: dict[str, Any] = {}
    if is_set(stage, "cloud_max_retries"):
        options["retries"] = stage.cloud_max_retries
    if is_set(stage, "cloud_retry_delay"):
        options["retry_delay"] = stage.cloud_retry_delay
    options |= stage.dask_storage_options or {}
    options |= dataset.storage_options or {}
    return options or None


def freeze_listings(config: PipelineConfig, text: str | None) -> tuple[dict[str, KnownFiles], str]:
    """The files of a config's datasets: listed here, or read from a text; and that text."""
    reached = {
        str(dataset.name): dataclasses.replace(
            dataset, storage_options=storage_options_of(dataset, config.source)
        )
        for dataset in config.datasets
        if names_data(dataset.data_files)
    }
    if text is not None:
        frozen, tokenizers = _read(text)
        pin(tokenizers)
        return {name: _thawed(dataset, frozen) for name, dataset in reached.items()}, text
    listings: dict[str, KnownFiles] = {}
    commits: dict[str, str] = {}
    made = {}
    for name, dataset in reached.items():
        known = known_files(dataset, commits)
        is_read_whole = not _reads_some(dataset, config)
        # Each process that reads all footers there would ask where all files are.
        is_on_hub = any(uri.startswith(_HUB) for uri in known.listing.uris)
        source = files_of(dataset, known) if is_read_whole or is_on_hub else None
        columns: list[tuple[bytes, int]] = []
        if source is not None and is_read_whole:
            columns = source._source.columns_of_files()
        shown = [(base64.b64encode(schema).decode(), n) for schema, n in columns]
        made[name] = {"files": json.loads(known.listing.to_json()), "columns": shown}
        if known.splits is not None:
            made[name]["splits"] = known.splits.to_json()
        listing = known.listing.with_columns(columns)
        if source is not None and is_on_hub:
            made[name]["blocks"] = source._source.blocks_of_files()
            listing = listing.with_blocks(made[name]["blocks"])
        listings[name] = KnownFiles(listing, known.splits)
    values: dict[str, Any] = {"version": _VERSION, "datasets": made}
    if tokenizers := commits_of(_tokenizers(config)):
        values["tokenizers"] = tokenizers
    return listings, json.dumps(values)


def _thawed(dataset: DatasetConfig, frozen: dict[str, Any]) -> KnownFiles:
    """What another process told of a dataset."""
    if str(dataset.name) not in frozen:
        raise ValueError(f"listing: it has no dataset {dataset.name!r}; freeze the same config")
    found = frozen[str(dataset.name)]
    data: Any = dataset.data_files
    items = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    splits = None if found.get("splits") is None else splits_of_json(found["splits"])
    # A dataset's name is no file's.
    names = [] if splits is not None else [os.fspath(item) for item in items]
    listing = _native.FileListing.from_json(
        json.dumps(found["files"]), names, dataset.storage_options
    ).with_columns([(base64.b64decode(schema), n) for schema, n in found["columns"]])
    if found.get("blocks"):
        listing = listing.with_blocks(found["blocks"])
    return KnownFiles(listing, splits)


def _reads_some(dataset: DatasetConfig, config: PipelineConfig) -> bool:
    """Whether rows are read by named columns; else all processes need to know all there are."""
    return dataset.columns is not None or (
        dataset.format_callback is None
        and (dataset.transform is not None or _is_tokenized(dataset, config))
    )


def _is_tokenized(dataset: DatasetConfig, config: PipelineConfig) -> bool:
    named = (dataset.tokenizer, config.default_tokenizer, config.tokenize.default_tokenizer)
    return any(named)


def _tokenizers(config: PipelineConfig) -> Iterator[Any]:
    """What the config names tokenizers by."""
    named = [dataset.tokenizer for dataset in config.datasets]
    for each in (*named, config.default_tokenizer, config.tokenize.default_tokenizer):
        yield getattr(each, "name_or_path", each)


def _read(text: str) -> tuple[dict[str, Any], dict[str, str]]:
    """What freeze() listed of each dataset, and the commits of tokenizers of the Hub."""
    try:
        values = json.loads(text)
        version, datasets = values["version"], values["datasets"]
    except (ValueError, KeyError, TypeError):
        raise ValueError("listing: it is no text that freeze() made") from None
    if version != _VERSION or not isinstance(datasets, dict):
        raise ValueError(f"listing: it has version {version!r}, not {_VERSION}")
    if not all(
        isinstance(each, dict) and {"files", "columns"} <= set(each) for each in datasets.values()
    ):
        raise ValueError("listing: it is no text that freeze() made")
    return datasets, values.get("tokenizers", {})


def share_listing(pipeline: Any, is_first: bool, broadcast: Callable[[str | None], str]) -> None:
    """Lists in the first of several processes, and takes its listing in the others.

    `broadcast` gives all of them the text of the first. Where listing fails there, it fails
    everywhere, so that nobody waits for ever.
    """
    message = None
    failed: Exception | None = None
    if is_first:
        try:
            message = json.dumps({"listing": pipeline.freeze()})
        except Exception as error:
            failed = error
            message = json.dumps({"error": f"{type(error).__name__}: {error}"})
    found = json.loads(broadcast(message))
    if failed is not None:
        raise failed
    if "error" in found:
        raise RuntimeError(f"listing the files failed in the first process: {found['error']}")
    if not is_first:
        pipeline.freeze(found["listing"])
