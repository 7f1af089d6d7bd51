"""Batches for training."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.core.async_dataset import AsyncDataset
from easydata.core.short_repr import Shown
from easydata.core.signatures import AsyncDataLoaderSignature
from easydata.core.takes_options import changed_options
from easydata.execution.batch_stream import NO_PICKLE, BatchStream, RestOfPass
from easydata.execution.collate import Batch, PadSpec, pad_specs
from easydata.execution.sharding import DevicePrefetch, check_sharded, preshard_batch
from easydata.sources.huggingface import wrap_hf_dataset
from easydata.sources.mixed import rows_to_come
from easydata.sources.schedule_ramps import steps_to_new_mix, tell_blurred
from easydata.sources.sharded_source import ShardedDataSource, TemplateDate
from easydata.sources.tokenized import template_date_of, tokenizers_of
from easydata.tokenizers.template_date import checked_date
from easydata.tokenizers.tokenizer import Tokenizer

_log = logging.getLogger("easydata")

_NO_DEVICE = (
    "prefetch_to_device: which devices batches go to is not said; give mesh= or sharding_map= to "
    "Pipeline.load(), or sharding_map= to AsyncDataLoader"
)
# Seconds that a waiting event loop is left alone between two looks.
_POLL = 0.05


class AsyncDataLoader(
    AsyncDataLoaderSignature,
    BatchStream,
    Shown,
    AsyncDataset[Batch],
    options="LoadOptions",
    positional=(
        "source",
        "batch_size",
        "prefetch_enabled",
        "prefetch_workers",
        "prefetch_buffer_size",
        "shuffle_buffer_size",
        "drop_last",
        "sharding_map",
        "seed",
    ),
    texts={
        "source": "Where rows come from.",
        "sharding_map": "{column: jax sharding}, or one sharding for all columns: where arrays are "
        "put; None: they stay arrays of numpy.",
        "padding": "{column: PadSpec}; other columns of lists are padded to the longest row: "
        "tokens with the tokenizer's pad token (else its EOS, else 0), labels with -100, others "
        "with 0; the prompts of GRPO and PPO at the left, all else at the right. A column that the "
        "stream does not have is an error, which comes with the first batch; whole rows of JSON "
        "have no known columns, and may be without it.",
    },
):
    """Hands out a source in batches: `{column: numpy array [batch, ...]}`.

    Lists of several lengths are padded, strings come as lists; arrays lie in the engine's own
    memory, are read-only, and stay valid for as long as they are kept. `for batch in loader` goes
    on from the current position: leaving the loop keeps it, and after the end the next `for` is the
    next epoch. `async for` does the same.
    """

    # Whether columns of `padding` and `sharding_map` may be those of other loaders.
    _columns_may_miss = False

    def _take(
        self,
        source: ShardedDataSource[Any],
        sharding_map: Mapping[str, Any] | Any = None,
        padding: Mapping[str, PadSpec] | None = None,
        *,
        options: dict[str, Any],
    ) -> None:
        if options["prefetch_to_device"] and sharding_map is None:
            raise ValueError(_NO_DEVICE)
        self._options = options
        self._padding = pad_specs(padding)
        self._sharding_map = sharding_map
        self._read(wrap_hf_dataset(source))
        tell_blurred(self._source, options)
        self._exhausted = self._said_empty = False
        self._looked_at_columns = False

    def _read(self, source: ShardedDataSource[Any]) -> None:
        self._source = source
        self._template_date = template_date_of(source)
        self._native = _native.Loader(
            source._stream(),
            _native.LoadOptions(**self._options),
            self._padding,
            self._columns_may_miss,
        )
        self._device_prefetch = (
            DevicePrefetch(self._native, self._sharding_map)
            if self._options["prefetch_to_device"]
            else None
        )

    def __iter__(self) -> Iterator[Batch]:
        pass_number: int | None = None  # from the first batch on

        def take() -> Batch | None:
            nonlocal pass_number
            if pass_number is None:
                pass_number = self._native.passes_ended
            self._exhausted = False
            batch = self._native.next(pass_number)
            if batch is None:
                self._end()
                return None
            return self._put(batch)

        return RestOfPass(self, take)

    def __reduce__(self) -> str:
        raise TypeError(NO_PICKLE.format(what="a loader"))

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        given = {"sharding_map": self._sharding_map, "padding": self._padding}
        return (self._source,), {
            **changed_options("LoadOptions", self._options),
            **{name: value for name, value in given.items() if value not in (None, {})},
        }

    async def _ready(self, pass_number: int | None = None) -> None:
        """Returns once taking a batch, an end or an error waits for nothing."""
        import asyncio

        while not await asyncio.to_thread(self._native.wait, _POLL, pass_number):
            pass

    async def __aiter__(self) -> AsyncIterator[Batch]:
        self._exhausted = False
        pass_number = self._native.passes_ended
        while True:
            # The batch is taken in the event loop's own thread: a wait that is cancelled loses
            # none.
            await self._ready(pass_number)
            if (batch := self._native.take(pass_number)) is None:
                break
            yield self._put(batch)
        self._end()

    def _put(self, batch: Batch) -> Batch:
        """The batch that is handed out now, on the devices that it is meant for."""
        if not self._looked_at_columns and not self._columns_may_miss:
            check_sharded(self._sharding_map, batch)
            self._looked_at_columns = True
            self._tell_padding_of_none(batch)
        if self._device_prefetch is None:
            return preshard_batch(batch, self._sharding_map)
        return self._device_prefetch.put(batch)

    def _tell_padding_of_none(self, batch: Batch) -> None:
        """Says which columns are to be padded that the first batch, of rows of JSON, lacks."""
        for name in self._padding:
            if name not in batch:
                hint = _native.suggestion(name, list(batch))
                _log.warning("padding: the first batch has no column %r%s", name, hint)

    def _end(self) -> None:
        """Notes that the iteration came to its end, and says so once where nothing came at all."""
        self._exhausted = True
        if self._said_empty or not self._options["drop_last"]:
            return
        self._said_empty = True
        stats = self.stats()
        dropped = sum(each["dropped"].get("drop_last", 0) for each in stats["sources"].values())
        if stats["batches"] == 0 and dropped > 0:
            _log.warning(
                "no batch comes: the data has fewer rows than a step, and drop_last leaves them "
                "out; lower batch_size or set drop_last=False; there are %d rows, batch_size is %d",
                dropped,
                self._options["batch_size"],
            )

    async def aget(self, index: int) -> Batch:
        """Not for a stream.

        Raises:
            NotImplementedError: Always; iterate instead.
        """
        raise NotImplementedError("a loader is a stream and has no batch by index; iterate over it")

    def _rows_of_pass(self) -> int:
        """The rows that this rank gets by one iteration; TypeError where that is not known."""
        options = self._options
        if options["batch_rampup"]:
            raise TypeError("batch_rampup: batches of several sizes make no length")
        step = options["batch_size"]
        if options["steps"] is not None:
            return int(options["steps"] * step // self.world_size)
        if options["lanes"] > 1:
            raise TypeError("lanes: they end with the shortest one, which is not known before")
        rows = rows_to_come(self._source) * (options["epochs"] or 1)
        rows += -rows % self.world_size if not options["drop_last"] else -(rows % step)
        return int(rows // self.world_size)

    def _is_begun(self) -> bool:
        """Whether it is anywhere but before the first batch of the first epoch."""
        state = self._native.state()
        return bool(state["step"] or state["epoch"])

    def _paddings(self) -> dict[str, tuple[float, str]]:
        """What rows of each column that came are filled up with, and at which side."""
        return self._native.paddings

    def get_output_sharding(self) -> Mapping[str, Any] | Any:
        """`{column: sharding}`, or one sharding for all columns, as given; or None."""
        return self._sharding_map

    @property
    def rank(self) -> int:
        """Which part of each step this process gets, from 0."""
        return int(self._options["rank"])

    @property
    def world_size(self) -> int:
        """Processes that share the stream."""
        return int(self._options["world_size"])

    @property
    def is_exhausted(self) -> bool:
        """Whether the last iteration came to the end of its epoch."""
        return self._exhausted

    def state_dict(self) -> dict[str, Any]:
        """The position after the batch that was handed out last, JSON-able and small.

        Ranks, threads and prefetching may be others when it is loaded; source and batch size may
        not. With one lane it is the same on every rank; with several it has those that this rank
        reads, and merge_states() joins those of all ranks.
        """
        state = self._native.state()
        if self._template_date is not None:
            state["template_date"] = self._template_date
        return state

    def load_state_dict(self, state: Mapping[str, Any], allow: Collection[str] = ()) -> None:
        """Resumes from a state_dict().

        With `allow=("mix",)` the mix of this loader may have other weights, sources, schedules and
        options than that of the state. The stream continues as it was up to the first block that
        starts after what the state's open windows (of packers and shuffles) had read, and from
        there on with the new mix: an added source from its beginning, the others where they were.
        A source that is to go must stay in with weight 0 until then.

        Args:
            state: What state_dict() returned.
            allow: What may differ: "mix".

        Raises:
            ValueError: When the state is of another stream; the message names the first difference.
        """
        if isinstance(state, Mapping) and "template_date" in state:
            state = dict(state)
            date = checked_date(state.pop("template_date"))
            if date is not None and self._template_date not in (None, date):
                # The templates' clocks go on telling what they told.
                before = self._native
                self._read(TemplateDate(date).of(self._source))
                before.close()
        is_edit = (
            bool(allow)
            and isinstance(state, Mapping)
            and state.get("mix") != self._native.state().get("mix")
        )
        try:
            self._native.load_state(state, allow)
        except ValueError as error:
            if 'allow=("mix",));' not in str(error):
                raise
            raise type(error)(f"{error}; {self._until_shown()}") from None
        if is_edit:
            _log.warning("the edited mix is taken over: %s", self._until_shown())
        self._exhausted = False
        self._said_empty = True  # what came before is not known here

    def _until_shown(self) -> str:
        """How many steps it takes until an edit of the mix shows, for people."""
        steps = steps_to_new_mix(self._source, self._options)
        return (
            f"it shows in full within about {steps:,} steps (the rest of its block, and what "
            "windows of shuffles and packers hold)"
        )

    def reset(self) -> None:
        """Goes back to the first batch of the first epoch, as if nothing had been read.

        `for batch in loader` continues where the last one stopped; after this it starts over.
        stats() and digest() begin anew, too. Batches that were handed out stay valid.
        """
        before = self._native
        self._read(self._source)
        before.close()
        self._exhausted = self._said_empty = False

    def stats(self) -> dict[str, Any]:
        """What this loader has done, and how far its stream was read.

        Returns:
            `{tokens_per_second, eta_seconds, since_start: {rows, tokens, batches, bytes_read,
            seconds, tokens_per_second, wait_seconds: {stage: s}, busy_seconds: {work: s}, io:
            {requests, retries: {cause: requests}, bytes, bytes_read_twice, wait_seconds,
            throttled_seconds}}, stream: {steps, rows, tokens, sources: {name: {tokens, epoch,
            dropped: {reason: rows}, dropped_tokens: {reason: tokens}, dropped_at: {reason:
            addresses of the first five rows since the start or restart}}}, mix_end}, queue:
            {batches, bytes}}`.

            "since_start" counts what this loader, so this rank, has handed out since it was made or
            first asked for a batch. "stream" counts from the stream's first row on, over all ranks
            (tokens and sources, with several lanes: of those that this rank reads) and restarts: it
            is part of the position. `mix_end` is None but after the end of a pass that a mix ended,
            up to the next batch: then `{ended_by, sources: {name: {rows, passes, rows_in_pass,
            rows_left}}}` as in WriteStats. The keys of "since_start" but tokens are at the top,
            too; `tokens` and `sources` there are those of "stream".

            `tokens_per_second` is of this rank, since the first batch was asked for: after a
            restart it does not know the tokens before. `eta_seconds` is the time until the epochs,
            or the steps, end, at the pace since this loader was made, restored or began them: None
            before the second batch, and where nobody knows how much there is or it has no end.

            One thread makes the batches:
            `wait_seconds` has its time in each stage, not counting what the stage reads from:
            "source" (a Python iterable), "read", "mix", "shuffle", "pack", "collate", "workers"
            (waiting for them) and "trainer" (waiting for batches to be taken). "loader" is the time
            that was spent waiting for a batch. `busy_seconds` has that of the worker threads, added
            up ("read", "gather" (shuffled or mixed rows copied together), "tokenize", "callable",
            "transform"), and "trainer", the time between two batches. `queue` is what is ready.
            `io` is what files on stores and web servers took since the loader was made: bytes that
            came and were of use, and those that were not; seconds between attempts, and of these
            those for servers that were asked too often. Loaders of one source share them.
        """
        stats = self._native.stats()
        since = stats["since_start"]
        since["tokens_per_second"] = (
            since["tokens"] / since["seconds"] if since["seconds"] > 0 else 0.0
        )
        stats["tokens_per_second"] = since["tokens_per_second"]
        return stats

    def digest(self) -> str:
        """Hash of the rows handed out since the loader was made.

        Those of ranks, and of parts of a stream, add up mod 2^64.
        """
        return self._native.digest()

    def explain(self) -> dict[str, Any]:
        """What sets the pace, by the stats() up to here.

        Returns:
            `{bottleneck, share, speedup_if_free, sentence}`: the stage, work or "trainer" that
            would speed things up most, were it free (None before the first batch); the part of the
            time that it takes; how many times as fast batches would come (1,000 at most); and that
            as a sentence.
        """
        return self._native.explain()

    def at(self, step: int) -> Batch:
        """The batch of a step, as iterating gives it; the loader stays where it is.

        A reader of its own goes there at once where the position of each row is known (see "Any
        batch by its number" in docs/guide/loading.md), else from the nearest position before the
        step that the loader knows: its own, that of its epoch, or that of the state it was given;
        else from the start.

        Args:
            step: Number of the batch, counted from 0 over all epochs.

        Raises:
            IndexError: When there are fewer steps, up to the end of the epoch that the loader is
                in; the message says how many.
        """
        return preshard_batch(self._native.at(step), self._sharding_map)

    def _tokenizers(self) -> list[Tokenizer]:
        """Those that the tokens come from, as far as they are known."""
        return tokenizers_of(self._source)

    def close(self) -> None:
        """Ends the loader's threads; batches that were handed out stay valid."""
        self._native.close()


class OneOfLoaders(AsyncDataLoader):
    """A loader of several that are given the same options, `padding` and `sharding_map` too."""

    _columns_may_miss = True
