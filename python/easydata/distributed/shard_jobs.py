"""What is done to a source's rows on other machines, part by part, and which parts there are."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from easydata import _native
from easydata.core.config import TokenizerConfig
from easydata.sources.huggingface import ArrowBatchesSource, HFDatasetShardedSource
from easydata.sources.rows_in_shards import made_of
from easydata.sources.sharded_source import ShardedDataSource
from easydata.sources.tokenized import TokenizedShardedSource
from easydata.sources.unread_fields import UnreadFields
from easydata.tokenizers.tokenizer import Tokenizer

Row = dict[str, Any]

# Bytes of files in a part: its results are held until their turn comes.
_PART_BYTES = 8 << 20
# Rows in memory in a part.
_PART_ROWS = 1024


@dataclass(frozen=True)
class Part:
    """A part of a source's rows, which a worker works on by itself.

    Attributes:
        shard: The shard that it is, or is of; "": it is a unit.
        unit: A run of blocks of files, as `_native.divided()` gives them.
        rows: The rows themselves, of a source in memory.
        first: The number of the first of these rows.
    """

    shard: str = ""
    unit: dict[str, Any] | None = None
    rows: list[Any] | None = None
    first: int = 0

    def __str__(self) -> str:
        if self.unit is not None:
            return f"part {self.unit['unit']} of the files"
        if self.rows is None or self.first == 0:
            return f"shard {self.shard}"
        return f"shard {self.shard} from row {self.first} on"


def holds_rows(source: ShardedDataSource[Any]) -> bool:
    """Whether a source has rows in memory, or an iterator, which others cannot read."""
    in_memory = HFDatasetShardedSource | ArrowBatchesSource
    return any(isinstance(each, in_memory) for each in made_of(source))


class _PartRows(ShardedDataSource[Row]):
    """Some rows of a shard, under the numbers that they have there."""

    def __init__(self, part: Part) -> None:
        self._sent = part
        self._rows: Sequence[Row] = part.rows or ()

    @property
    def shard_names(self) -> Sequence[str]:
        return (self._sent.shard,)

    def num_shards(self) -> int:
        return 1

    def open_shard(self, shard_name: str) -> Iterator[Row]:
        return self.open_shard_at_row(shard_name, 0)

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Row]:
        return iter(self._rows[max(0, row - self._sent.first) :])


# What stands for rows that travel with their parts.
_NO_ROWS = _PartRows(Part("rows"))


class TokenizeJob:
    """Tokenizes rows, and keeps all their fields but the text.

    Args:
        source: The rows.
        tokenizer: What tokenizes them.
        config: How.
        content_field: The text's field.
        num_threads: Threads of each worker.
    """

    def __init__(
        self,
        source: ShardedDataSource[Any],
        tokenizer: Tokenizer,
        config: TokenizerConfig,
        content_field: str,
        num_threads: int = 0,
    ) -> None:
        self._content_field, self._num_threads = content_field, num_threads
        self._travels = holds_rows(source)
        names = None if self._travels else source._plan.column_names()
        # Of rows without a schema only reading tells which fields they have.
        self._joins = names is None
        kept = [name for name in names or () if name not in (content_field, *_MADE)]
        self._tokens = TokenizedShardedSource(
            source, tokenizer, config, content_field, kept, num_workers=num_threads
        )
        # The form of all rows is looked for once, here; none of their fields is left unread.
        self._tokens._form = (self._tokens._find_messages(),)
        self._tokens._unread = UnreadFields()
        self._tokens._plan  # noqa: B018  what cannot be tokenized is refused here

    def parts(self) -> Iterator[Part]:
        """Units of files, else whole shards; rows in memory by the thousand."""
        if self._travels:
            return _rows_by(_PART_ROWS, self._tokens.source)
        units = _native.divided(self._tokens._stream(), _PART_BYTES)
        if units is None:
            return (Part(shard) for shard in self._tokens.shard_names)
        return (Part(unit=unit) for unit in units)

    def apart(self) -> TokenizeJob:
        """The same, without rows that travel with their parts."""
        other = copy.copy(self)
        if self._travels:
            other._tokens = self._tokens._over([_NO_ROWS])
        return other

    def rows(self, part: Part) -> Iterator[Row]:
        """The tokens of a part, with the other fields of its rows."""
        if part.rows is not None:
            tokens = self._tokens._over([_PartRows(part)])
            made = self._read(tokens._plan.stream(None, [part.shard], part.first))
            return self._joined(iter(part.rows), made)
        shards = [part.shard] if part.unit is None else None
        made = self._read(self._tokens._stream(None, shards), part.unit)
        if not self._joins:
            return made
        source = self._tokens.source
        if part.unit is None:
            return self._joined(source.open_shard(part.shard), made)
        return self._joined(self._read(source._stream(), part.unit), made)

    def _read(self, stream: _native.Stream, unit: dict[str, Any] | None = None) -> Iterator[Row]:
        return _native.iterate_rows(stream, unit=unit, num_threads=self._num_threads)

    def _joined(self, rows: Iterator[Row], tokens: Iterator[Row]) -> Iterator[Row]:
        for row, made in zip(rows, tokens, strict=True):
            kept = {name: row[name] for name in row if name != self._content_field}
            yield {**kept, **made}


# What tokenizing makes, in place of what rows may have of that name.
_MADE = ("input_ids", "attention_mask")


class ProcessJob:
    """Calls a function with all rows of a shard.

    Args:
        source: The rows.
        function: The function, pickled by `dump`.
        load: What makes the function of that.
    """

    def __init__(
        self, source: ShardedDataSource[Any], function: bytes, load: Callable[[bytes], Any]
    ) -> None:
        self._source: ShardedDataSource[Any] = source
        self._travels = holds_rows(source)
        self._pickled, self._load = function, load

    def parts(self) -> Iterator[Part]:
        """The shards."""
        if self._travels:
            return _rows_by(None, self._source)
        return (Part(shard) for shard in self._source.shard_names)

    def apart(self) -> ProcessJob:
        """The same, without rows that travel with their parts."""
        source = _NO_ROWS if self._travels else self._source
        other = ProcessJob(source, self._pickled, self._load)
        other._travels = self._travels
        return other

    def rows(self, part: Part) -> Iterator[Row]:
        """What the function makes of a shard."""
        rows = list(self._source.open_shard(part.shard)) if part.rows is None else part.rows
        made = self._load(self._pickled)(rows)
        if not isinstance(made, list | tuple):
            raise TypeError(
                f"process_fn gave {type(made).__name__} for {part}; it is to give a list of dicts"
            )
        for number, row in enumerate(made):
            if not isinstance(row, Mapping):
                raise TypeError(
                    f"process_fn gave {type(row).__name__} as row {number} of {part}; it is to "
                    "give a list of dicts"
                )
        return iter(made)


ShardJob: TypeAlias = TokenizeJob | ProcessJob
"""Makes rows of the parts of a source."""


def _rows_by(count: int | None, source: ShardedDataSource[Any]) -> Iterator[Part]:
    """The rows of each shard, so many together; None: all."""
    for shard in source.shard_names:
        rows, first = source.open_shard(shard), 0
        some = list(itertools.islice(rows, count))
        while some or first == 0:
            yield Part(shard, rows=some, first=first)
            first += max(len(some), 1)
            some = [] if count is None else list(itertools.islice(rows, count))
