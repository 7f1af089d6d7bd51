"""Which files of a repository on the Hub a split is, and how they are read."""

from __future__ import annotations

import dataclasses
import logging
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from easydata import _native
from easydata.core.config import DatasetConfig
from easydata.sources.data_files import list_data_files, pinned
from easydata.sources.formats import of_format
from easydata.sources.hub import card_files
from easydata.sources.hub.column_types import types_of_schema, types_of_text
from easydata.sources.hub.splits import HubSplits

# What a builder of `datasets` is here, by its name.
_FORMATS = {"parquet": "parquet", "json": "json", "csv": "csv", "text": "txt", "arrow": "arrow"}
# Its options that have an own name here, or the same.
_OPTIONS: dict[str, dict[str, str]] = {
    "json": {"field": "field"},
    "csv": {
        "sep": "delimiter",
        "quotechar": "quotechar",
        "encoding": "encoding",
        "comment": "comment",
    },
    "text": {"sample_by": "sample_by"},
}
_NOT_OPTIONS = {"name", "version", "data_dir", "data_files", "description", "features"}
# What is read of a repository to know its splits by.
_DESCRIPTIONS = ("README.md", ".huggingface.yaml", "dataset_infos.json")
_ARCHIVES = "archives are not read; unpack them, and upload the files"
_CONVERTED = "refs/convert/parquet"

_logger = logging.getLogger("easydata")


def find_splits(
    address: str,
    subset: str | None,
    storage_options: Mapping[str, Any] | None,
    commits: dict[str, str] | None = None,
) -> HubSplits:
    """The splits of a dataset, as `datasets.load_dataset(name, subset)` finds them.

    They are what the card's `configs` say, else what the names of files and folders do. `datasets`
    finds them where it is installed; else what is simply said is read here.

    Args:
        address: "hf://datasets/org/name[@revision]".
        subset: The name of one of the card's configs, or a folder; None: the default.
        storage_options: How the Hub is reached.
        commits: See data_files.pinned().

    Raises:
        FileNotFoundError: There is no such dataset, or no such subset.
        ValueError: What it has is not read: a script, images, options of readers.
        NotImplementedError: It takes `datasets` to know.
    """
    root = pinned(address.rstrip("/") + "/", storage_options, {} if commits is None else commits)
    splits = _found(root, subset, storage_options)
    if splits is not None:
        return _with_types(splits, storage_options) if splits.format == "csv" else splits
    # Where a script makes the rows, the Hub keeps what it made.
    name = root[: root.rindex("@")]
    try:
        converted = pinned(f"{name}@{_CONVERTED}/", storage_options, {})
    except FileNotFoundError:
        raise ValueError(
            f"{root}: the rows are made by a script, which is not run, and the Hub has not "
            "converted them to Parquet; ask the owner to upload them as files"
        ) from None
    _logger.warning("%s: a script makes the rows; their copy in Parquet is read", root)
    return card_files.converted_splits(converted, _tree(converted, storage_options), subset)


def _with_types(splits: HubSplits, storage_options: Mapping[str, Any] | None) -> HubSplits:
    """The same with the types of columns of text, which the first rows tell."""
    first = next(uri for files in splits.files.values() for uri in files)
    options = None if storage_options is None else dict(storage_options)
    config = DatasetConfig(data_files=first, storage_options=options, **splits.options)
    rows = of_format(splits.format, list_data_files(first, storage_options), config)
    types = {**types_of_text(rows), **splits.column_types}
    return dataclasses.replace(splits, column_types=types)


def _tree(root: str, storage_options: Mapping[str, Any] | None) -> list[str]:
    """The paths in a repository."""
    return [uri[len(root) :] for uri, _ in _native.hub_tree(root, storage_options)]


def _found(
    root: str, subset: str | None, storage_options: Mapping[str, Any] | None
) -> HubSplits | None:
    """The splits; None where a script makes the rows."""
    paths = _tree(root, storage_options)
    descriptions = {
        path: _content(root + path, storage_options) for path in _DESCRIPTIONS if path in paths
    }
    name = root[: root.rindex("@")].rsplit("/", 1)[-1]
    if f"{name}.py" in paths:
        return None
    try:
        import datasets  # noqa: F401
    except ImportError:
        return card_files.splits_of_card(root, paths, descriptions.get("README.md", b""), subset)
    return _of_builder(root, name, paths, descriptions, subset)


def _content(uri: str, storage_options: Mapping[str, Any] | None) -> bytes:
    file = list_data_files(uri, storage_options).open(0)
    return file.read_at(0, file.size)


def _of_builder(
    root: str, name: str, paths: list[str], descriptions: Mapping[str, bytes], subset: str | None
) -> HubSplits:
    """What `datasets` makes of a folder with the same names, whose files are empty."""
    import datasets

    with tempfile.TemporaryDirectory(prefix="easydata-") as made:
        folder = Path(made).resolve() / name
        folder.mkdir()
        for path in paths:
            if path.endswith(".py"):
                continue  # nobody's code is looked at
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(descriptions.get(path, b""))
        options: dict[str, Any] = {}
        if subset is not None:
            known = datasets.get_dataset_config_names(str(folder))
            is_folder = subset not in known and (folder / subset).is_dir()
            options = {"data_dir": subset} if is_folder else {"name": subset}
        try:
            builder = datasets.load_dataset_builder(str(folder), cache_dir=made, **options)
        except zipfile.BadZipFile as error:  # here it is empty
            raise ValueError(f"{root}: {_ARCHIVES}") from error
        except datasets.exceptions.DataFilesNotFoundError as error:
            raise FileNotFoundError(f"{root} has no files of data that `datasets` knows") from error
        except ValueError as error:
            raise ValueError(f"{root}: {str(error).replace(str(folder), root)}") from error
        below = len(str(folder)) + 1
        files = {
            str(split): [root + str(file)[below:] for file in found]
            for split, found in (builder.config.data_files or {}).items()
        }
        return HubSplits(
            root=root,
            files=files,
            format=_format_of(root, builder.name, files),
            options=_options_of(root, builder),
            column_types=types_of_schema(_schema_of(builder)),
            columns=_columns_of(builder),
            num_rows=_num_rows(builder),
        )


def _schema_of(builder: Any) -> Any:
    features = builder.config.features or builder.info.features
    return None if features is None else features.arrow_schema


def _format_of(root: str, builder: str, files: Mapping[str, Sequence[str]]) -> str:
    if builder not in _FORMATS:
        raise ValueError(
            f"{root}: `datasets` reads it by its builder {builder!r}, whose rows are no text and "
            f"no tables; read are {', '.join(sorted(_FORMATS))}"
        )
    archives = [uri for found in files.values() for uri in found if uri.endswith((".zip", ".tar"))]
    if archives:
        raise ValueError(f"{archives[0]}: {_ARCHIVES}")
    return _FORMATS[builder]


def _options_of(root: str, builder: Any) -> dict[str, Any]:
    """What the card says of how files are read."""
    known = _OPTIONS.get(builder.name, {})
    plain = type(builder.config)()
    options: dict[str, Any] = {}
    for name, value in vars(builder.config).items():
        if name in _NOT_OPTIONS or value == getattr(plain, name, None):
            continue
        if builder.name == "csv" and name in ("delimiter", "column_names"):
            continue  # beside it stands what it set
        if builder.name == "csv" and name == "names":
            options["column_names"] = list(value)
        elif name in known:
            options[known[name]] = value
        elif name not in ("columns", "header"):
            raise ValueError(
                f"{root}: the card sets {name}={value!r} for the reader {builder.name}, which is "
                "not done here; name the files (hf://.../*) and say how they are read"
            )
    if builder.name == "csv" and builder.config.header is None:
        options["header"] = False
    elif builder.name == "csv" and builder.config.header not in (0, "infer"):
        raise ValueError(f"{root}: the card's header={builder.config.header!r} is not done here")
    return options


def _columns_of(builder: Any) -> list[str] | None:
    if builder.name == "parquet" and builder.config.columns:
        return list(builder.config.columns)
    schema = _schema_of(builder)
    return None if schema is None else list(schema.names)


def _num_rows(builder: Any) -> dict[str, int]:
    return {
        str(name): info.num_examples
        for name, info in (builder.info.splits or {}).items()
        if info.num_examples
    }


def address_of(name: str) -> str:
    """The address of a dataset that is named by itself, "org/name[@revision]", or by an address.

    Raises:
        ValueError: The name is no dataset's, or names a path in one.
    """
    address = name if name.startswith("hf://") else f"hf://datasets/{name}"
    root, path = _native.split_hub_address(address)
    if path:
        raise ValueError(
            f"{name}: it names files in a dataset ({path}), which are read as they are, without "
            "type and split; leave these out, or name the dataset alone"
        )
    if not root.startswith("hf://datasets/"):
        raise ValueError(f"{name}: it is no dataset on the Hub, but a model or a space")
    if os.path.isdir(name):
        raise ValueError(f"{name}: it is a folder of this machine; leave out the type")
    return root.rstrip("/")
