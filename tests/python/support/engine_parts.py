"""Parts of the engine that tests take alone, though `easydata` shows them only as parts of a whole.

What is public hides what these tests are about: `easydata.Tokenizer` chooses the fastest kernels
and one size of cache, and must give the same ids with any; a chat template that the engine cannot
run as Jinja2 does goes to Jinja2 without a word, and then there is nothing to compare; a loader
cuts rows into batches of its own and gives strings as Python objects, which take more memory than
what is measured; and the engine's threads are counted to find those that stay. No other module
outside of bindings/ imports `easydata._native`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from easydata._native import JinjaTemplate, iterate_batches, native_tokenizer, num_threads

from easydata import ShardedDataSource

__all__ = ["JinjaTemplate", "native_tokenizer", "num_threads", "record_batches"]


def record_batches(
    source: ShardedDataSource[Any], columns: Mapping[str, str]
) -> Iterator[pa.RecordBatch]:
    """The rows of a source as the engine reads them, up to the very row that is in error.

    Args:
        source: Where the rows come from.
        columns: The fields that are read, and in which form ("any", "text", "tokens").
    """
    return iter(iterate_batches(source._stream(columns)))
