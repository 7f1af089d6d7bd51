"""The mixtures of easydel.data's first API: plain descriptions that build_dataset() carries out."""

import dataclasses
import json
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from easydata import _native
from easydata.core.config_class import import_path, imported

Row = dict[str, Any]


class DatasetLoadError(Exception):
    """A dataset that cannot be loaded; kept for code that catches it."""


class DatasetType(StrEnum):
    """Formats of data files."""

    JSON = "json"
    PARQUET = "parquet"
    CSV = "csv"
    ARROW = "arrow"
    HF = "huggingface"
    TSV = "tsv"
    TXT = "txt"
    ARRAY_RECORD = "array_record"
    BIN = "bin"
    NPY = "npy"

    @classmethod
    def from_string(cls, value: str) -> "DatasetType | str":
        """The type of that name, upper or lower case; any other text comes back as it is."""
        try:
            return cls(value.lower())
        except ValueError:
            return value

    @classmethod
    def infer_from_path(cls, path: str) -> "DatasetType | None":
        """The type that a file's suffix tells, a compression after it left out; None: unknown."""
        found = _native.find_format(_native.format_of_name(path))
        kind = None if found is None else found.kind
        return next((known for known in cls if known.value == kind), None)


@dataclass
class _Record:
    """What these descriptions have besides their fields."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as dicts, lists and scalars; callables as their import paths."""
        return {item.name: _plain(getattr(self, item.name)) for item in dataclasses.fields(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The description that to_dict() was called on; import paths become callables again."""
        options = dict(values)
        for name in ("format_callback", "preprocessing_fn", "tokenize_callback"):
            if isinstance(options.get(name), str):
                options[name] = imported(options[name])
        if "informs" in options:
            options["informs"] = [
                inform
                if not isinstance(inform, Mapping)
                else (
                    VisualDatasetInform if "pixel_field" in inform else TextDatasetInform
                ).from_dict(inform)
                for inform in options["informs"]
            ]
        return cls(**options)

    def to_json(self) -> str:
        """The fields as JSON."""
        return json.dumps(self.to_dict(), indent=2, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The description that to_json() was called on."""
        return cls.from_dict(json.loads(text))

    def replace(self, **changes: Any) -> Self:
        """A copy with other values for some fields."""
        return dataclasses.replace(self, **changes)


def _plain(value: Any) -> Any:
    if isinstance(value, _Record):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, DatasetType):
        return value.value
    if callable(value):
        path = import_path(value)
        if path is None:
            raise ValueError(
                f"{value!r} cannot be written down: it has no import path; "
                "use a function of a module"
            )
        return path
    return value


@dataclass
class BaseDatasetInform(_Record):
    """One dataset of a mixture.

    Attributes:
        type: Format of the files; unset: by their suffixes, which must agree.
        data_files: Path, glob pattern, folder, or a list of them.
        num_rows: Use the first rows only.
        dataset_split_name: Split of a Hub dataset.
        split: Split; local files have none.
        format_callback: Called with each row, after format_fields; returns the row to use.
        format_fields: Keys to rename, {old: new}, also inside lists of dicts (messages).
        name: Name in mixture_weights; unset: dataset_<position>.

    Raises:
        ValueError: When the type is neither given nor told by a suffix.
    """

    type: DatasetType | str | None = None
    data_files: str | os.PathLike[str] | list[str | os.PathLike[str]] | None = None
    num_rows: int | None = None
    dataset_split_name: str | None = None
    split: str = "train"
    format_callback: Callable[[Row], Any] | None = None
    format_fields: dict[str, str] | None = None
    name: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.type is None:
            files = self.data_files if isinstance(self.data_files, list) else [self.data_files]
            first = files[0] if files else None
            self.type = DatasetType.infer_from_path(os.fspath(first)) if first else None
            if self.type is None:
                raise ValueError(
                    f"{type(self).__name__}: the suffix of data_files does not say its format; "
                    f"give type=, one of {', '.join(DatasetType)}; "
                    f"data_files is {self.data_files!r}"
                )
        elif not isinstance(self.type, DatasetType):
            self.type = DatasetType.from_string(self.type)
        if self.dataset_split_name and self.get_str_type() not in ("huggingface", "hf"):
            warnings.warn(
                "dataset_split_name has no meaning for files", DeprecationWarning, stacklevel=3
            )

    def get_str_type(self) -> str:
        """The type as lower-case text."""
        return str(self.type).lower()


@dataclass
class TextDatasetInform(BaseDatasetInform):
    """One dataset of text.

    Attributes:
        content_field: Column of the text; None: rows are left as they are.
        additional_fields: Columns kept beside the text.
        preprocessing_fn: Called with each row, after format_callback; returns the row to use.
    """

    content_field: str | None = "content"
    additional_fields: list[str] | None = None
    preprocessing_fn: Callable[[Row], Row] | None = None


@dataclass
class VisualDatasetInform(BaseDatasetInform):
    """One dataset of images.

    Attributes:
        pixel_field: Column of the images.
        content_field: Column of a text that goes with them.
        image_size: Size to make the images.
        preprocessing_fn: Called with each row, after format_callback; returns the row to use.
    """

    pixel_field: str = "images"
    content_field: str | None = None
    image_size: tuple[int, int] | None = None
    preprocessing_fn: Callable[[Row], Row] | None = None


@dataclass
class MixtureOptions(_Record):
    """Which datasets a DatasetMixture is of, and how they become one.

    Attributes:
        informs: The datasets.
        cache_dir: Folder for what the `datasets` library keeps on disk; unset: its own.
        streaming: Give an IterableDataset that mixes for ever, or as long as stop_strategy says;
            else a Dataset with all rows one after the other.
        text_target_field: Name of the text column of the result.
        image_target_field: Name of the image column of the result.
        batch_size: Rows of a batch, when streaming; 1: no batches.
        shuffle_buffer_size: Shuffle the result (when streaming: within so many rows).
        seed: Seed of mixing and shuffling.
        pack_tokens: Rows hold tokens: pack them into rows of pack_seq_length.
        tokens_field_name: Column of the tokens.
        pack_seq_length: Tokens of a packed row; unset: 1024.
        pack_eos_token_id: Token that closes each document, and that fills the last row.
        pack_shuffle: Shuffle packed rows within windows.
        pack_shuffle_buffer_factor: Batches in such a window.
        dask_storage_options: Who asks for files on object stores and web servers, and how
            (docs/guide/stores.md).
        pack_on_the_fly: Make tokens with tokenize_callback, and pack them.
        tokenize_callback: Called with each row; returns its tokens.
        prefetch_workers: Has no meaning for a `datasets` object; must stay as it is.
        prefetch_buffer_size: Has no meaning for a `datasets` object; must stay as it is.
        cloud_max_retries: Attempts at a remote read after the first, in a row, that bring nothing
            new; left as it is: 10, which is more patient.
        cloud_retry_delay: Seconds before the first of these; the wait doubles with each.
        cache_remote_files: Keep copies of remote files in cache_dir, where that is set; else they
            are read as they are needed.
        cache_expiry_seconds: Age at which such a copy is fetched anew.
        block_mixture: Mix by blocks; else draw each row by itself.
        mixture_block_size: Rows of a block.
        stop_strategy: "restart", "first_exhausted" or "all_exhausted".
        mixture_weights: Share of each dataset by name.
    """

    informs: list[BaseDatasetInform]
    cache_dir: str | os.PathLike[str] | None = None
    streaming: bool = True
    text_target_field: str = "text"
    image_target_field: str = "image"
    batch_size: int = 1
    shuffle_buffer_size: int | None = None
    seed: int | None = 42
    pack_tokens: bool = False
    tokens_field_name: str = "tokens"
    pack_seq_length: int | None = None
    pack_eos_token_id: int = 0
    pack_shuffle: bool = True
    pack_shuffle_buffer_factor: int = 16
    dask_storage_options: dict[str, Any] | None = None
    pack_on_the_fly: bool = False
    tokenize_callback: Callable[[Row], list[int]] | None = None
    prefetch_workers: int = 2
    prefetch_buffer_size: int = 4
    cloud_max_retries: int = 3
    cloud_retry_delay: float = 0.1
    cache_remote_files: bool = True
    cache_expiry_seconds: int = 86400
    block_mixture: bool = True
    mixture_block_size: int = 2048
    stop_strategy: str = "restart"
    mixture_weights: dict[str, float] | None = None
