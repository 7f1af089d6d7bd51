"""Mixtures of easydel.data's first API, carried out as objects of the `datasets` library."""

import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from easydata import _native
from easydata.core.config import DatasetConfig
from easydata.legacy.remote_cache import cached_files
from easydata.legacy.types import (
    BaseDatasetInform,
    DatasetType,
    MixtureOptions,
    TextDatasetInform,
    VisualDatasetInform,
)
from easydata.sources.create import create_source
from easydata.sources.data_files import list_data_files
from easydata.sources.huggingface import wrap_hf_dataset
from easydata.sources.limited import LimitedShardedSource
from easydata.sources.mixed import block_mixture_interleave
from easydata.sources.packed import PackedShardedSource
from easydata.sources.sharded_source import ShardedDataSource
from easydata.transforms.base import MapTransform

if TYPE_CHECKING:
    import datasets

__all__ = ["build_dataset", "load_for_inform"]

Row = dict[str, Any]

_NO_LOADER = (
    "a `datasets` object has no prefetching; give the sources to a Pipeline or an AsyncDataLoader"
)
_STOPS = ("restart", "first_exhausted", "all_exhausted")


def build_dataset(mixture: MixtureOptions) -> "datasets.Dataset | datasets.IterableDataset":
    """Loads, prepares, mixes and packs the datasets of a mixture.

    Each row goes through format_fields, format_callback and preprocessing_fn, and then keeps the
    text (as text_target_field), or the image (as image_target_field), and the additional fields.
    When streaming, the datasets are mixed by blocks or (block_mixture=False) drawn at random,
    until the first one ends unless stop_strategy says "all_exhausted". Otherwise they follow each
    other with the columns that all of them have; with weights, they are drawn at random as well.

    Returns:
        An IterableDataset when streaming or packing, in batches when batch_size is more than 1;
        else a Dataset.

    Raises:
        ValueError: When options are at odds, or weights do not name the datasets.
        NotImplementedError: When an option asks for what has not come yet.
        KeyError: While reading, when a row lacks the content field.
    """
    _check(mixture)
    names = _names(mixture)
    weights = _weights(mixture, names)
    loaded = {
        name: _dataset(_prepared(inform, mixture), inform, mixture)
        for name, inform in zip(names, mixture.informs, strict=True)
    }
    mixed = _mixed(mixture, loaded, weights)
    if mixture.pack_tokens or mixture.pack_on_the_fly:
        mixed = _packed(mixed, mixture)
    import datasets

    if mixture.batch_size > 1 and isinstance(mixed, datasets.IterableDataset):
        mixed = mixed.batch(mixture.batch_size)
    return mixed


def load_for_inform(
    inform: BaseDatasetInform, mixture: MixtureOptions
) -> "datasets.Dataset | datasets.IterableDataset":
    """Loads one dataset of a mixture, its rows as they are in the files."""
    return _dataset(_source(inform, mixture), inform, mixture)


def _check(mixture: MixtureOptions) -> None:
    if not mixture.informs:
        raise ValueError("DatasetMixture: informs must name at least one dataset")
    for option in ("prefetch_workers", "prefetch_buffer_size"):
        if (value := getattr(mixture, option)) != getattr(MixtureOptions, option):
            raise NotImplementedError(
                f"DatasetMixture.{option} = {value!r} is not supported: {_NO_LOADER}"
            )
    if mixture.stop_strategy not in _STOPS:
        hint = _native.suggestion(mixture.stop_strategy, list(_STOPS))
        raise ValueError(
            f"DatasetMixture: there is no stop_strategy {mixture.stop_strategy!r}{hint}"
        )
    if mixture.batch_size < 1:
        raise ValueError(f"DatasetMixture: batch_size must be at least 1, not {mixture.batch_size}")
    if mixture.pack_tokens and mixture.pack_on_the_fly:
        raise ValueError(
            "DatasetMixture: pack_tokens packs tokens that rows have, pack_on_the_fly those that "
            "tokenize_callback makes; set one of them"
        )
    if mixture.pack_on_the_fly and mixture.tokenize_callback is None:
        raise ValueError("DatasetMixture: pack_on_the_fly needs a tokenize_callback")
    if mixture.tokenize_callback is not None and not mixture.pack_on_the_fly:
        raise ValueError("DatasetMixture: tokenize_callback needs pack_on_the_fly=True")
    for position, inform in enumerate(mixture.informs):
        if inform.split != "train":
            raise ValueError(
                f"informs[{position}].split = {inform.split!r}: files have no splits; name the "
                "files of the split"
            )
        if isinstance(inform, VisualDatasetInform) and inform.image_size is not None:
            raise NotImplementedError(
                f"informs[{position}].image_size is not supported; resize in preprocessing_fn"
            )


def _names(mixture: MixtureOptions) -> list[str]:
    """The informs' names; unnamed ones take those of the weights, in order, or their position."""
    names = [inform.name or f"dataset_{i}" for i, inform in enumerate(mixture.informs)]
    weights = mixture.mixture_weights
    unnamed = all(inform.name is None for inform in mixture.informs)
    if isinstance(weights, Mapping) and unnamed and len(weights) == len(names):
        if set(weights) == set(names):
            return names
        return list(weights)
    if len(set(names)) < len(names):
        raise ValueError(f"DatasetMixture: names of informs must be unique; they are {names}")
    return names


def _weights(mixture: MixtureOptions, names: list[str]) -> dict[str, float] | None:
    weights: Any = mixture.mixture_weights
    if weights is None:
        return None
    if not isinstance(weights, Mapping):
        if len(weights) != len(names):
            raise ValueError(
                f"DatasetMixture: {len(weights)} mixture_weights for {len(names)} datasets"
            )
        return dict(zip(names, weights, strict=True))
    for name in weights:
        if name not in names:
            hint = _native.suggestion(name, names)
            raise ValueError(f"DatasetMixture: mixture_weights name no dataset with {name!r}{hint}")
    for name in names:
        if name not in weights:
            raise ValueError(f"DatasetMixture: mixture_weights lack the dataset {name!r}")
    return {name: weights[name] for name in names}


def _source(inform: BaseDatasetInform, mixture: MixtureOptions) -> ShardedDataSource[Any]:
    if inform.data_files is None:
        raise ValueError(f"{type(inform).__name__}: data_files is required")
    files = inform.data_files if isinstance(inform.data_files, list) else [inform.data_files]
    kind: Any = inform.get_str_type()
    if DatasetType.infer_from_path(os.fspath(files[0])) == inform.type:
        kind = None  # the suffix says the same, and tells JSON from JSONL besides
    options = _storage_options(mixture)
    data_files: Any = inform.data_files
    is_of_hub = kind in ("huggingface", "hf")
    if mixture.cache_remote_files and mixture.cache_dir is not None and not is_of_hub:
        listing = list_data_files(files, options)
        data_files = cached_files(listing, mixture.cache_dir, mixture.cache_expiry_seconds)
    config = DatasetConfig(
        data_files,
        type=kind,
        split=inform.split,
        dataset_split_name=inform.dataset_split_name if is_of_hub else None,
        storage_options=options,
    )
    source: ShardedDataSource[Any] = create_source(config)
    if inform.num_rows is not None:
        source = LimitedShardedSource(source, inform.num_rows)
    return source


def _storage_options(mixture: MixtureOptions) -> dict[str, Any] | None:
    """How files on other machines are reached; retries as ours where nobody set them."""
    options: dict[str, Any] = {}
    if mixture.cloud_max_retries != MixtureOptions.cloud_max_retries:
        options["retries"] = mixture.cloud_max_retries
    if mixture.cloud_retry_delay != MixtureOptions.cloud_retry_delay:
        options["retry_delay"] = mixture.cloud_retry_delay
    return {**options, **(mixture.dask_storage_options or {})} or None


def _prepared(inform: BaseDatasetInform, mixture: MixtureOptions) -> ShardedDataSource[Any]:
    return _source(inform, mixture).transform(MapTransform(_preparation(inform, mixture)))


def _preparation(inform: BaseDatasetInform, mixture: MixtureOptions) -> Callable[[Row], Row]:
    """The function that makes a row of the mixture out of a row of the files."""
    content = getattr(inform, "content_field", None)
    preprocess: Callable[[Row], Row] | None = getattr(inform, "preprocessing_fn", None)

    def prepare(row: Row) -> Row:
        if inform.format_fields:
            row = _renamed(row, inform.format_fields)
        if inform.format_callback is not None:
            made = inform.format_callback(dict(row))
            if made is not None:
                row = made if isinstance(made, dict) else {content or "content": made}
        if preprocess is not None:
            row = preprocess(dict(row))
        if isinstance(inform, TextDatasetInform):
            return _text_row(row, inform, mixture)
        if isinstance(inform, VisualDatasetInform):
            return _image_row(row, inform, mixture)
        return row

    return prepare


def _renamed(row: Row, names: Mapping[str, str]) -> Row:
    """The row with keys renamed, also in lists of dicts."""
    out: Row = {}
    for key, value in row.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            value = [{names.get(k, k): v for k, v in item.items()} for item in value]
        out[names.get(key, key)] = value
    return out


def _text_row(row: Row, inform: TextDatasetInform, mixture: MixtureOptions) -> Row:
    content = inform.content_field
    if content is None:
        return row
    kept = list(inform.additional_fields or ())
    if mixture.pack_tokens:
        kept.append(mixture.tokens_field_name)
    out: Row = {}
    if content in row:
        out[mixture.text_target_field] = row[content]
    elif "chosen" in row and "rejected" in row:
        return row  # a pair of answers has no text of its own
    elif not (mixture.pack_tokens and mixture.tokens_field_name in row):
        hint = _native.suggestion(content, list(row))
        raise _native.MissingKey(
            f"a row of {inform.data_files!r} has no content field {content!r}{hint}"
        )
    out.update({key: row[key] for key in kept if key in row})
    return out


def _image_row(row: Row, inform: VisualDatasetInform, mixture: MixtureOptions) -> Row:
    if inform.pixel_field not in row:
        hint = _native.suggestion(inform.pixel_field, list(row))
        raise _native.MissingKey(
            f"a row of {inform.data_files!r} has no pixel field {inform.pixel_field!r}{hint}"
        )
    names = {inform.pixel_field: mixture.image_target_field}
    if inform.content_field is not None:
        names[inform.content_field] = mixture.text_target_field
    return {names.get(key, key): value for key, value in row.items()}


def _dataset(
    source: ShardedDataSource[Any], inform: BaseDatasetInform, mixture: MixtureOptions
) -> Any:
    """A source as an object of the `datasets` library."""
    if mixture.streaming:
        return source.to_hf()
    import datasets

    def rows() -> Iterator[Row]:
        empty = True
        for row in source:
            empty = False
            yield row
        if empty:
            raise ValueError(f"the files of a dataset hold no rows: {inform.data_files!r}")

    folder = mixture.cache_dir or tempfile.mkdtemp(prefix="easydata-")
    try:
        made = datasets.Dataset.from_generator(
            rows, cache_dir=os.fspath(folder), fingerprint=uuid.uuid4().hex
        )
    except datasets.exceptions.DatasetGenerationError as error:
        # What went wrong is a row, not the generation: say that.
        raise error.__cause__ or error from None
    if mixture.cache_dir is None:
        weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)
    return made


def _mixed(
    mixture: MixtureOptions, loaded: dict[str, Any], weights: dict[str, float] | None
) -> Any:
    import datasets

    parts = list(loaded.values())
    shares = None
    if weights is not None:
        total = sum(weights.values())
        shares = [weight / total for weight in weights.values()]
    # Drawing at random has no "restart": as in EasyDeL it ends with the first dataset.
    stop: Any = "all_exhausted" if mixture.stop_strategy == "all_exhausted" else "first_exhausted"
    if mixture.streaming and mixture.block_mixture:
        mixed: Any = block_mixture_interleave(
            loaded,
            weights=weights,
            block_size=mixture.mixture_block_size,
            seed=mixture.seed or 0,
            stop=cast(Any, mixture.stop_strategy),
        )
    elif mixture.streaming:
        mixed = datasets.interleave_datasets(
            parts, probabilities=shares, seed=mixture.seed, stopping_strategy=stop
        )
    else:
        common = [
            column
            for column in parts[0].column_names
            if all(column in part.column_names for part in parts)
        ]
        if not common:
            raise ValueError("the datasets of a mixture have no column in common")
        parts = [part.select_columns(common) for part in parts]
        if shares is None:
            mixed = datasets.concatenate_datasets(parts)
        else:
            mixed = datasets.interleave_datasets(
                parts, probabilities=shares, seed=mixture.seed, stopping_strategy=stop
            )
    if mixture.shuffle_buffer_size:
        if mixture.streaming:
            mixed = mixed.shuffle(seed=mixture.seed, buffer_size=mixture.shuffle_buffer_size)
        else:
            mixed = mixed.shuffle(seed=mixture.seed)
    return mixed


def _packed(mixed: Any, mixture: MixtureOptions) -> Any:
    """Packs the rows' tokens; nothing is lost: what is left over fills a last, padded row."""
    field = mixture.tokens_field_name
    callback = mixture.tokenize_callback or (lambda row: row[field])
    source: ShardedDataSource[Any] = wrap_hf_dataset(mixed)
    source = source.transform(MapTransform(lambda row: {"input_ids": list(callback(row))}))
    packed = PackedShardedSource(
        source,
        mixture.pack_seq_length or 1024,
        mixture.pack_eos_token_id,
        pad_token_id=mixture.pack_eos_token_id,
        shuffle=False,
    ).to_hf()
    if mixture.pack_shuffle:
        window = max(2, mixture.batch_size * mixture.pack_shuffle_buffer_factor)
        packed = packed.shuffle(seed=mixture.seed, buffer_size=window)
    return packed
