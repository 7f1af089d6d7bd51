"""From documents to the rows that a language model is trained on."""

from __future__ import annotations

import functools
import json
import logging
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from easydata import _native
from easydata.execution.async_loader import AsyncDataLoader
from easydata.grain_data_processing.host_rows import (
    PADDING,
    HostRows,
    document_stream,
    grain_seed,
    real_rows,
    unpadded,
)
from easydata.grain_data_processing.record_datasets import (
    PaddedDataset,
    RandomAccess,
    holds_bytes,
    pad_dataset,
)
from easydata.sources.sharded_source import PlannedSource
from easydata.tokenizers.hub_files import NamedTokenizer
from easydata.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np

    from easydata.grain_data_processing.grain_adapter import GrainRowDataset

__all__ = ["LOGGER", "LLMRowDataset", "Order", "Overlong", "preprocess_dataset"]

LOGGER = logging.getLogger("easydata.grain_data_processing")

Order: TypeAlias = Literal["host", "global"]
Overlong: TypeAlias = Literal["truncate", "split", "error"]


def preprocess_dataset(
    dataloading_host_index: int,
    dataloading_host_count: int,
    dataset: RandomAccess,
    data_column_name: str,
    tokenize: bool,
    global_batch_size: int,
    max_target_length: int,
    shuffle: bool,
    data_shuffle_seed: int,
    tokenizer_path: str | None = None,
    hf_access_token: str | None = None,
    add_bos: bool = True,
    add_eos: bool = True,
    add_eod: bool = True,
    grain_packing: bool = False,
    grain_packing_bin_count: int | None = None,
    shift: bool = True,
    drop_remainder: bool = True,
    num_epochs: int | None = None,
    tokenizer_cache_dir: str | os.PathLike[str] | None = None,
    max_steps_per_epoch: int | None = None,
    eod_token_id: int | None = None,
    *,
    overlong: Overlong | None = None,
    order: Order = "host",
    name: str = "",
) -> tuple[LLMRowDataset, RandomAccess]:
    """Makes the rows of a host: read, tokenized, closed, packed or filled up, and shifted.

    Args:
        dataloading_host_index: Number of this host among those that load data.
        dataloading_host_count: Number of these hosts.
        dataset: Documents by number: what load_array_record_dataset() or load_huggingface_dataset()
            gives, or anything with `len()` and `[index]` whose records are bytes or rows.
        data_column_name: The column of the documents, where records are rows.
        tokenize: Whether documents are texts; else they are tokens, little-endian int32.
        global_batch_size: Rows of a batch over all hosts.
        max_target_length: Tokens of a row.
        shuffle: Shuffle the host's documents, in another order in every epoch.
        data_shuffle_seed: Seed of the order.
        tokenizer_path: What easydata.Tokenizer is made of: a folder, a file, an object, or a name
            on the Hub.
        hf_access_token: Who asks the Hub for a tokenizer.
        add_bos: Put the tokenizer's BOS before every text.
        add_eos: Put the tokenizer's EOS after every text.
        add_eod: Put the end-of-document token after every document that leaves room for it, unless
            `add_eos` put the same token there.
        grain_packing: Pack documents into rows, by Grain's first-fit.
        grain_packing_bin_count: Rows that are filled at a time; None: the host's batch size.
        shift: Shift inputs right by one token, so that they begin with an end-of-document token.
        drop_remainder: Unless packing, False fills the dataset up with empty documents to a
            multiple of the global batch size; their rows are masked.
        num_epochs: Passes over the documents; None: for ever.
        tokenizer_cache_dir: Where tokenizers from the Hub are kept; None: in huggingface_hub's
            cache.
        max_steps_per_epoch: An epoch has the first `max_steps_per_epoch * global_batch_size`
            documents only, the same ones in each.
        eod_token_id: The end-of-document token; None: the tokenizer's EOS.
        overlong: What becomes of a document that is longer than a row: "truncate", "split" or
            "error"; None: "truncate" for texts, as the original does, "error" for tokens.
        order: "host": the original's, in which a host shuffles a part of its own, so that the order
            depends on the number of hosts. "global": one order of all documents; give the whole
            stream to a loader with `rank` and `world_size`.
        name: What errors and statistics call the dataset.

    Returns:
        The rows, and the dataset that they are made of, filled up or cut where it was.

    Raises:
        ValueError: When the batch size is no multiple of the hosts, an end-of-document token is
            needed and not known, or `tokenize` is set without a tokenizer.
        OSError: When there is no tokenizer of that path or name, or it may not be read.
        ImportError: When it is a name, and huggingface_hub is not installed.
    """
    if global_batch_size % dataloading_host_count != 0:
        raise ValueError(
            f"global_batch_size must be a multiple of the hosts that load data: {global_batch_size}"
            f" rows cannot be split evenly over {dataloading_host_count}"
        )
    tokenizer = None
    if tokenize or tokenizer_path is not None:
        if tokenizer_path is None:
            raise ValueError("tokenizer_path: say which tokenizer is to tokenize the texts")
        made_of: Any = tokenizer_path
        if isinstance(tokenizer_path, str):
            made_of = NamedTokenizer(tokenizer_path, hf_access_token, tokenizer_cache_dir)
        tokenizer = Tokenizer(made_of)
    eod = _end_of_document(tokenizer, eod_token_id, is_needed=add_eod or shift)
    if not drop_remainder:
        if grain_packing:
            LOGGER.warning(
                "drop_remainder=False fills no rows up where documents are packed: the last batch "
                "of all epochs is smaller instead"
            )
        else:
            dataset = pad_dataset(dataset, global_batch_size, data_column_name)
    if max_steps_per_epoch is not None and max_steps_per_epoch * global_batch_size < len(dataset):
        dataset = PaddedDataset(dataset, max_steps_per_epoch * global_batch_size, data_column_name)
    is_global = order == "global"
    part = 0 if is_global else dataloading_host_index
    rows = HostRows(
        # Empty documents would be packed with the others.
        num_rows=real_rows(dataset) if grain_packing else len(dataset),
        real_rows=real_rows(dataset),
        seed=grain_seed(data_shuffle_seed + part) if shuffle else None,
        part=part,
        parts=1 if is_global else dataloading_host_count,
    )
    inner = unpadded(dataset)
    if not tokenize and not holds_bytes(inner):
        raise ValueError(
            "tokenize=False takes records that are bytes, of little-endian int32 tokens; set "
            "tokenize=True, or write the tokens to ArrayRecord files"
        )
    stream = document_stream(inner, data_column_name, tokenize, rows, name)
    bos = _special(tokenizer, "bos", add_bos and tokenize)
    eos = _special(tokenizer, "eos", add_eos and tokenize)
    overlong = overlong or ("truncate" if tokenize else "error")
    if tokenize and tokenizer is not None:
        room = max_target_length - (bos is not None) - (eos is not None)
        stream = _native.tokenize(
            stream,
            tokenizer.encoder,
            functools.partial(_report_cuts, max_target_length),
            _native.TokenizeOptions(
                content_field=data_column_name,
                add_special_tokens=False,
                max_length=max(1, room) if overlong == "truncate" else 0,
                return_attention_mask=False,
                additional_fields=[PADDING],
            ),
        )
    stream = _column_op(
        stream,
        "end_documents",
        max_length=max_target_length,
        bos=bos,
        eos=eos,
        eod=eod if add_eod else None,
        overlong=overlong,
    )
    passes = None if num_epochs is None else max(1, num_epochs)
    local_batch = global_batch_size if is_global else global_batch_size // dataloading_host_count
    if grain_packing:
        stream = _native.repeat(stream, passes)
        options = _native.PackedOptions(
            seq_length=max_target_length,
            eos_token_id=0 if eod is None else eod,
            strategy="grain_first_fit",
            num_packers=grain_packing_bin_count or local_batch,
            overlong="error",
            shuffle=shuffle,
            seed=0,
        )
        stream = _native.pack(stream, options, [], grain_numbers=True)
    stream = _column_op(
        stream,
        "llm_rows",
        length=max_target_length,
        eod=0 if eod is None else eod,
        shift=shift,
        packed=grain_packing,
        padding_column="" if grain_packing else PADDING,
    )
    if not grain_packing:
        stream = _native.repeat(stream, passes)
    return LLMRowDataset(stream), dataset


def _report_cuts(max_length: int, which: str, source: str, documents: int, tokens: int) -> None:
    LOGGER.warning(
        "%s%d documents %s cut to max_target_length=%d tokens and lost %d tokens; "
        'overlong="split" keeps them whole, in several rows',
        f"{source}: " if source else "",
        documents,
        "are being" if which == "first" else "were",
        max_length,
        tokens,
    )


class LLMRowDataset(PlannedSource[dict[str, "np.ndarray"]]):
    """Rows of `inputs`, `targets`, and the position and segmentation of each, int32 [length].

    Iterating gives single rows, from the start; loaders give batches, and can stop and resume.
    """

    def __init__(self, stream: _native.Stream) -> None:
        self._made_stream = stream

    @property
    def shard_names(self) -> list[str]:
        """One shard has all rows."""
        return ["rows"]

    def open_shard(self, shard_name: str) -> Iterator[dict[str, np.ndarray]]:
        """The rows."""
        if shard_name != "rows":
            raise _native.MissingKey(f"there is no shard {shard_name!r}; the only one is 'rows'")
        return iter(self)

    def __iter__(self) -> Iterator[dict[str, np.ndarray]]:
        with AsyncDataLoader(self, batch_size=1, drop_last=False) as loader:
            for batch in loader:
                yield {name: values[0] for name, values in batch.items()}

    def to_grain(self) -> GrainRowDataset:
        """The rows as a `grain.IterDataset`, whose iterators save and restore their position.

        Raises:
            ModuleNotFoundError: Without Grain.
        """
        # lazy: it imports Grain, which not everybody has
        from easydata.grain_data_processing.grain_adapter import GrainRowDataset

        return GrainRowDataset(self)

    def _make_plan(self) -> _native.Plan:
        return _native.made_rows(self._made_stream)

    def __repr__(self) -> str:
        return f"LLMRowDataset({self._made_stream!r})"


def mixed(datasets: Sequence[LLMRowDataset], weights: Sequence[float]) -> LLMRowDataset:
    """The rows of several datasets in the order of Grain's IterDataset.mix."""
    names = [str(i) for i in range(len(datasets))]
    options = _native.MixOptions(
        names, weights, None, order="grain", stop_strategy="first_exhausted"
    )
    streams = [dataset._stream() for dataset in datasets]
    return LLMRowDataset(_native.mix(streams, options, add_source=False))


def _column_op(stream: _native.Stream, op: str, **options: object) -> _native.Stream:
    return _native.apply_column_op(stream, op, json.dumps(options))


def _special(tokenizer: Tokenizer | None, role: str, is_wanted: bool) -> int | None:
    if not is_wanted or tokenizer is None:
        return None
    token = tokenizer.bos_token_id if role == "bos" else tokenizer.eos_token_id
    if token is None:
        raise ValueError(
            f"add_{role}: the tokenizer has no {role.upper()} token; set add_{role}=False"
        )
    return token


def _end_of_document(tokenizer: Tokenizer | None, given: int | None, is_needed: bool) -> int | None:
    own = None if tokenizer is None else tokenizer.eos_token_id
    if given is not None:
        if own is not None and own != given:
            LOGGER.warning(
                "eod_token_id is %d, and the tokenizer's end-of-document token %d; %d is used",
                given,
                own,
                given,
            )
        return given
    if own is None and is_needed:
        raise ValueError(
            "eod_token_id: say which token ends a document; "
            + ("the tokenizer has none" if tokenizer else "without a tokenizer it is not known")
        )
    return own
