"""What `easydata.Tokenizer` runs on: the engines, and the arguments of its methods."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from easydata import _native
from easydata.tokenizers.files import TokenizerSource

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


# The tokenizers that this process has made, by fingerprint: where they came from, and the limit of
# their ids.
_known: dict[str, tuple[str | None, int]] = {}


def make_encoder(made_of: TokenizerSource) -> tuple[_native.TextEncoder, str | None]:
    """The engine for a file, and why it is not the native one."""
    encoder, why = _engine_of(made_of)
    path = made_of.name if os.path.exists(made_of.name) else None
    if made_of.commit is not None:
        path = f"{made_of.repository}@{made_of.commit}"
    _known[encoder.fingerprint] = (path, encoder.id_limit)
    return encoder, why


def known_tokenizers() -> dict[str, tuple[str | None, int]]:
    """What metadata says of the tokenizers that this process has made, by fingerprint.

    Of each the folder, file, or name on the Hub with the commit, that it came from, if it did, and
    one more than its largest id.
    """
    return dict(_known)


def _engine_of(made_of: TokenizerSource) -> tuple[_native.TextEncoder, str | None]:
    left = made_of.truncation_side == "left"
    try:
        return _native.native_tokenizer(
            made_of.json, split_special_tokens=made_of.split_special_tokens, truncate_left=left
        ), None
    except NotImplementedError as error:
        why = str(error)
    except ValueError as error:
        raise ValueError(f"{made_of.name}: {error}") from None
    library = load_library(made_of, f"{why}; the library that does is missing")
    return _native.huggingface_tokenizer(library, made_of.json, left), why


@contextlib.contextmanager
def library_errors(what: str) -> Iterator[None]:
    """Turns the library's failures, Rust panics among them, into ValueError."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # a Rust panic is no Exception
        raise ValueError(f"the tokenizers library cannot {what}: {error}") from None


def load_library(made_of: TokenizerSource, why: str) -> Any:
    """The library's own object for a file; `why` it is needed is said where it is missing."""
    try:
        import tokenizers
    except ImportError:
        raise ImportError(f"{made_of.name}: {why}: pip install 'easydata[hf]'") from None
    try:
        with library_errors("load this file"):
            library = tokenizers.Tokenizer.from_str(made_of.json.decode())
    except ValueError as error:
        raise ValueError(f"{made_of.name}: {error}") from None
    library.encode_special_tokens = made_of.split_special_tokens
    return library


def length_of(max_length: int | None) -> int:
    """A length as the engines take it: 0 is none."""
    if max_length is None:
        return 0
    if max_length < 1:
        raise ValueError(f"max_length must be at least 1; got {max_length}")
    return max_length


def threads_of(num_threads: int | None) -> int | None:
    """A number of threads, which is none or at least one."""
    if num_threads is not None and num_threads < 1:
        raise ValueError(f"num_threads must be at least 1; got {num_threads}")
    return num_threads


def ids_of(ids: Sequence[int] | npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int32]:
    """Ids as an array of int32, if that is what they can be."""
    import numpy as np

    try:
        wide = np.asarray(ids)
    except ValueError:
        raise TypeError(
            "ids must be integers in one dimension; several rows of ids are for decode_batch()"
        ) from None
    if wide.size == 0:
        wide = wide.astype(np.int32)
    if wide.ndim != 1 or not np.issubdtype(wide.dtype, np.integer):
        raise TypeError(
            f"ids must be integers in one dimension; got {wide.dtype} of shape {wide.shape}"
        )
    if wide.size and (wide.min() < 0 or wide.max() > np.iinfo(np.int32).max):
        raise ValueError(f"ids must lie between 0 and 2^31 - 1; got {wide.min()} to {wide.max()}")
    return np.ascontiguousarray(wide, dtype=np.int32)


def id_lists_of(batch: Any) -> pa.Array:
    """Rows of ids as an Arrow array list<int32> or large_list<int32>."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(batch, pa.ChunkedArray):
        batch = batch.combine_chunks()
    if not isinstance(batch, pa.Array):
        if isinstance(batch, (str, bytes)):
            raise TypeError("batch must hold rows of ids; got text")
        rows = [None if row is None else ids_of(row) for row in batch]
        return pa.array(rows, pa.list_(pa.int32()))
    kind = batch.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)) or not pa.types.is_integer(
        kind.value_type
    ):
        raise TypeError(f"batch must be an Arrow array of lists of integers; got {kind}")
    bounds = pc.min_max(batch.flatten()).as_py()
    if bounds["min"] is not None and (bounds["min"] < 0 or bounds["max"] > 2**31 - 1):
        raise ValueError(
            f"ids must lie between 0 and 2^31 - 1; got {bounds['min']} to {bounds['max']}"
        )
    wanted = pa.list_ if pa.types.is_list(kind) else pa.large_list
    return batch.cast(wanted(pa.int32()))


def kind_of(component: Any) -> str:
    """A component by its type, and by those of its parts."""
    if component is None:
        return "none"
    if not isinstance(component, Mapping):
        return "unknown"
    kind = str(component.get("type", "untyped"))
    for key in ("normalizers", "pretokenizers", "processors", "decoders"):
        parts = component.get(key)
        if isinstance(parts, list):
            return f"{kind}({', '.join(map(kind_of, parts))})"
    return kind
