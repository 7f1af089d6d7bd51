"""Writing rows to shards of Parquet, Arrow or JSONL."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from easydata import _native
from easydata.core.short_repr import Shown, call
from easydata.core.signatures import DatasetWriterSignature
from easydata.core.sizes import size_of_option
from easydata.core.takes_options import changed_options, takes_options_of
from easydata.execution.output_paths import path_in
from easydata.execution.push.fitness import Plan
from easydata.execution.push.hub_push import HubPush
from easydata.execution.push.outputs import DEFAULT_CONFIG, Output
from easydata.sources.huggingface import HFDatasetShardedSource, wrap_hf_dataset
from easydata.sources.rows_in_shards import say_if_examples
from easydata.sources.sharded_source import ShardedDataSource, TemplateDate
from easydata.sources.tokenized import template_date_of
from easydata.tokenizers.engine import known_tokenizers

if TYPE_CHECKING:
    from easydata.core.signatures import SaveOptions

_log = logging.getLogger("easydata")

# What the names of shards begin with.
DEFAULT_PREFIX = "shard-"

_Path = str | os.PathLike[str]


@dataclass(repr=False)
class WriteStats(Shown):
    """What was written.

    Attributes:
        num_examples: Rows.
        num_shards: Files.
        total_bytes: Bytes of the files.
        output_paths: The files, in order.
        num_tokens: Tokens in them.
        output_path: The folder that they are in.
        dropped: Rows left out on the way, by reason; those that were cut too (`truncated`).
        dropped_tokens: Tokens lost, by reason.
        dropped_at: Where the first of these rows were read, five at most, by reason.
        kept_shards: How many of the files, from the first on, an earlier run of the job had
            finished.
        mix_end: Of a mix that ended: `{"ended_by": name, "sources": {name: {"rows", "passes",
            "rows_in_pass", "rows_left"}}}`: the source that ended it, and of each source the rows
            taken, the passes completed, the rows of one pass and those of it that were not taken
            (None: not known without reading them); else None.
        source_tokens: Tokens of each source, by its name; {} where there are none, or where an
            older version wrote some of the shards. Padding counts for none.
        nulls: Numbers that JSON does not have (NaN, the infinities), written as null, by column.
        hub_url: The repository of the Hub that they were pushed to; None where they were not.
    """

    num_examples: int = 0
    num_shards: int = 0
    total_bytes: int = 0
    output_paths: list[str] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)
    dropped_tokens: dict[str, int] = field(default_factory=dict)
    dropped_at: dict[str, list[str]] = field(default_factory=dict)
    kept_shards: int = 0
    mix_end: dict[str, Any] | None = None
    source_tokens: dict[str, int] = field(default_factory=dict)
    nulls: dict[str, int] = field(default_factory=dict)
    hub_url: str | None = None
    num_tokens: int = 0
    output_path: str = ""

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        counts = ("num_examples", "num_shards", "total_bytes")
        return (), {name: value for name, value in vars(self).items() if value or name in counts}


class DatasetWriter(
    DatasetWriterSignature,
    options="WriteOptions",
    positional=("output_path", "max_shard_size", "num_shards", "compression", "overwrite"),
    without=("format",),
    types={
        "max_shard_size": "str | int",
        "units": "str | int | None",
        "compression": "str | None",
    },
    texts={
        "output_path": "A folder, made where it does not exist, or a prefix of an object store "
        '("s3://bucket/rows", "gs://...").',
        "columns": 'Columns to write, in this order, or {name: type} with types such as "int32", '
        '"string" or "list<float32>"; None: all. The columns of free-form rows (JSON, Python '
        "dicts) are those of the first 1,000 rows.",
        "storage_options": "Credentials for an object store, and how often to retry; None: the "
        "credentials that the platform has. See docs/guide/stores.md.",
        "progress": 'Called with {"rows", "tokens", "bytes", "shards", "kept_shards"} done so far, '
        'and where it is known how much there is, {"input_bytes", "total_input_bytes"} of files '
        '("input_parts", "total_input_parts" of units and rows in memory); up to ten times a '
        "second.",
        "push_to_hub": "Push the output to a dataset repository of the Hub, too. What could keep "
        "it from there is checked before anything is written; see docs/guide/hub.md.",
        "hub_repo_id": 'Repository for push_to_hub: "org/name".',
        "hub_private": "Make the repository a private one; one that is there already must be.",
        "hub_token": "A token that may write there; None: HF_TOKEN, or the one that "
        "`hf auth login` keeps.",
    },
):
    """Writes a source into a folder of shards, and `.metadata.json` when all of it is there.

    A shard gets its name when it is complete and on the disk. A job that was interrupted and is run
    again keeps the shards that it had finished and that are still as they were, says so, and writes
    the rest (with `num_shards` it starts over). The shards are the same, byte for byte, whatever
    the number of threads.
    """

    format: str = ""

    def _take(
        self,
        output_path: str | os.PathLike[str],
        columns: Sequence[str] | Mapping[str, str] | None = None,
        storage_options: Mapping[str, Any] | None = None,
        progress: Callable[[dict[str, int]], object] | None = None,
        push_to_hub: bool = False,
        hub_repo_id: str | None = None,
        hub_private: bool = False,
        hub_token: str | None = None,
        *,
        options: dict[str, Any],
    ) -> None:
        if not push_to_hub and (hub_repo_id is not None or hub_private or hub_token is not None):
            raise ValueError("hub_repo_id, hub_private, hub_token: set push_to_hub=True, too")
        # A repository that cannot be meant is told of here.
        self._push = (
            HubPush(hub_repo_id, private=hub_private, token=hub_token) if push_to_hub else None
        )
        self._output_path = _native.user_path(os.fspath(output_path))
        self._storage_options = storage_options
        sizes = ("max_shard_size", "units")
        self._given = options | {name: size_of_option(name, options[name]) for name in sizes}
        if isinstance(columns, str):
            raise TypeError(
                f"columns: must be a list of names, or a dict of types by name, not {columns!r}; "
                f"write [{columns!r}]"
            )
        if columns is not None and not columns:
            raise ValueError("columns: must name one column at least; None: all of them")
        self._columns = columns
        self._progress = progress
        # What a schedule that counts steps takes for them; a pipeline's load options say.
        self._step_rows: list[tuple[int, int]] = []

    def __repr__(self) -> str:
        options = changed_options("WriteOptions", self._given)
        if self._columns is not None:
            options["columns"] = self._columns
        return call(type(self).__name__, self._output_path, **options)

    @property
    def output_path(self) -> str:
        """The folder that is written to."""
        return self._output_path

    def write(self, source: ShardedDataSource[Any]) -> WriteStats:
        """Writes all rows of a source.

        Raises:
            FileExistsError: When the folder holds an output and `overwrite` is not set, or files of
                others.
            OSError: When the folder cannot be written to; the message names the path.
            ValueError: When the source never ends or is read from the folder itself, a row has a
                key or a type that no column has, or what is left of an earlier run is damaged.
        """
        return self._job(source).run_alone()

    def _job(self, source: Any, config: Any = None, *, template_date: str = "") -> WriteJob:
        """What write() runs; `config` is what the metadata gives as the configuration.

        `template_date` is that of a job which another process coordinates.
        """
        source = wrap_hf_dataset(source)
        if not self._step_rows:
            say_if_examples(source)
        date = template_date_of(source)
        if template_date:
            date, source = template_date, TemplateDate(template_date).of(source)
        elif date is not None and not self._given["overwrite"]:
            # A job that was begun on another day goes on with that, and keeps what it finished.
            begun = _native.kept_template_date(self._output_path, self._storage_options)
            if begun not in ("", date):
                date, source = begun, TemplateDate(begun).of(source)
        return self._job_of(
            source._stream(), True, _in_memory(source), config, template_date=date or ""
        )

    def _take_steps(self, batch_size: int, rampup: Mapping[int, int] | None = None) -> None:
        """What a schedule that counts a loader's steps takes for them."""
        sizes = {0: 1, **(rampup or {})}
        self._step_rows = [(step, batch_size * sizes[step]) for step in sorted(sizes)]

    def _job_of(
        self,
        stream: _native.Stream,
        resumable: bool,
        in_memory: bool,
        config: Any = None,
        *,
        template_date: str = "",
    ) -> WriteJob:
        columns: list[tuple[str, str]] | None = None
        if isinstance(self._columns, Mapping):
            columns = [(name, str(kind or "")) for name, kind in self._columns.items()]
        elif self._columns is not None:
            columns = [(name, "") for name in self._columns]
        job = _native.WriteJob(
            stream,
            _native.WriteOptions(**{**self._given, "format": self.format}),
            self._output_path,
            columns,
            resumable,
            in_memory,
            config,
            known_tokenizers(),
            self._storage_options,
            self._step_rows,
            template_date,
        )
        named = self._given["shard_prefix"]
        return WriteJob(
            job,
            stream,
            self._output_path,
            self._progress,
            self._storage_options,
            self._push,
            Plan(self.format, f"{named}_" if named else DEFAULT_PREFIX),
            # In memory, other rows look like the same job.
            keeps_finished=resumable and not in_memory and not self._given["overwrite"],
            template_date=template_date,
        )


@dataclass(repr=False, eq=False)
class WriteJob:
    """One output: looked at before it is written, and written.

    Attributes:
        native: Writes it.
        stream: The rows.
        path: The folder that they are written to.
        progress: Called with what is done so far.
        storage_options: How the folder is reached.
        push: The push that is asked for.
        plan: What a push knows of it beforehand.
        keeps_finished: Whether a finished output of this very job may be taken as it is.
        template_date: That of its chat templates; "": none asks for it.
    """

    native: _native.WriteJob
    stream: _native.Stream
    path: str
    progress: Callable[[dict[str, int]], object] | None
    storage_options: Mapping[str, Any] | None
    push: HubPush | None
    plan: Plan
    keeps_finished: bool
    template_date: str

    def run(
        self, *, keep_finished: bool = False, notice: Callable[[str], object] | None = None
    ) -> WriteStats:
        """Writes all of it, but what an earlier run had finished.

        Args:
            keep_finished: Take a finished output of this very job as it is.
            notice: Called with what is kept of an earlier run; None: it is logged.
        """
        return self.stats_of(self.native.run(keep_finished, self.progress, notice or self.log))

    def stats_of(self, written: Mapping[str, Any]) -> WriteStats:
        """What was written, as the engine says it."""
        shards = written["shards"]
        renamed = ("rows", "shards", "bytes", "tokens")
        if written["nulls"]:
            _log.warning("%s: %s", self.path, nulls_text(written["nulls"]))
        return WriteStats(
            num_examples=written["rows"],
            num_shards=len(shards),
            total_bytes=written["bytes"],
            output_paths=[path_in(self.path, shard["name"]) for shard in shards],
            num_tokens=written["tokens"],
            output_path=self.path,
            **{name: value for name, value in written.items() if name not in renamed},
        )

    def run_alone(self) -> WriteStats:
        """The same, of a job that is all there is to do, and the push that it asks for."""
        if self.push is not None:
            self.push.check({DEFAULT_CONFIG: self.plan})
        keep = self.push is not None and self.keeps_finished and self.native.is_finished()
        try:
            with self.told_of_pushing():
                stats = self.run(keep_finished=keep)
        except KeyboardInterrupt as interrupt:
            self.say_what_is_kept(interrupt)
            raise
        if self.push is not None:
            stats.hub_url = self.push.push({DEFAULT_CONFIG: self.output()})
        return stats

    def output(self) -> Output:
        """What was written."""
        return Output(self.path, self.storage_options)

    @contextlib.contextmanager
    def told_of_pushing(self) -> Iterator[None]:
        """Adds to the error of an output that is there how that is pushed, where it was to be."""
        try:
            yield
        except FileExistsError as error:
            if self.push is not None:
                error.add_note(f"`easydata push {self.path} ORG/NAME` pushes what is there")
            raise

    def say_what_is_kept(self, interrupt: KeyboardInterrupt, finished: int = 0) -> None:
        """Adds to an interruption what running again keeps, beside `finished` shards of others.

        One that came when all was written says so.
        """
        if self.native.is_written:
            interrupt.add_note(f"{self.path} is written whole, before this")
            return
        try:
            kept = finished + _native.unfinished_shards(self.path, self.storage_options)
        except (OSError, ValueError, _native.Cancelled):  # the interruption is what is reported
            kept = finished
        if kept:
            interrupt.add_note(f"run again to resume: {kept_text(kept)}")

    def log(self, text: str) -> None:
        """Logs what there is to tell of an earlier run."""
        _log.info("%s: %s", self.path, text)


def nulls_text(nulls: Mapping[str, int]) -> str:
    """How many numbers became null, and where."""
    columns = ", ".join(f"{column!r}: {count:,}" for column, count in sorted(nulls.items()))
    return f"JSON has no NaN and no Infinity: null stands in their place ({columns})"


def kept_text(shards: int) -> str:
    """How many shards a job keeps when it is run again."""
    return "1 shard is kept" if shards == 1 else f"{shards} shards are kept"


class ParquetWriter(DatasetWriter):
    """Writes Parquet; see DatasetWriter."""

    format = "parquet"


class ArrowWriter(DatasetWriter):
    """Writes Arrow IPC files; see DatasetWriter."""

    format = "arrow"


class JsonlWriter(DatasetWriter):
    """Writes JSON lines; see DatasetWriter. Arrays and lists become JSON lists."""

    format = "jsonl"


class ArrayRecordWriter(DatasetWriter):
    """Writes ArrayRecord files; see DatasetWriter. Each record is the value of the one column.

    Text is written as UTF-8, lists of int32 little-endian, bytes as they are; with `encode="json"`
    rows of any columns as JSON objects.
    """

    format = "array_record"


_WRITERS = {
    writer.format: writer for writer in (ParquetWriter, ArrowWriter, JsonlWriter, ArrayRecordWriter)
}


def create_writer(
    output_path: _Path,
    format: str = "parquet",
    max_shard_size: str | int = "500MB",
    num_shards: int | None = None,
    compression: str | None = None,
    overwrite: bool = False,
    **options: Any,
) -> DatasetWriter:
    """The writer of a format; the arguments are those of DatasetWriter.

    Raises:
        ValueError: When there is no such format.
    """
    writer = _WRITERS.get(format)
    if writer is None:
        known = ", ".join(_WRITERS)
        raise ValueError(f"format: must be one of {known}, not {format!r}")
    return writer(output_path, max_shard_size, num_shards, compression, overwrite, **options)


@takes_options_of(DatasetWriter)
def save_dataset(
    source: ShardedDataSource[Any],
    output_path: _Path,
    format: str = "parquet",
    max_shard_size: str | int = "500MB",
    num_shards: int | None = None,
    compression: str | None = None,
    **options: Unpack[SaveOptions],
) -> WriteStats:
    """Writes a source into a folder of shards; see DatasetWriter for the arguments and errors."""
    writer = create_writer(output_path, format, max_shard_size, num_shards, compression, **options)
    return writer.write(source)


@takes_options_of(DatasetWriter, without=["num_shards"])
def save_iterator(
    iterator: Iterable[Mapping[str, Any]],
    output_path: _Path,
    format: str = "parquet",
    max_shard_size: str | int = "500MB",
    compression: str | None = None,
    **options: Unpack[SaveOptions],
) -> WriteStats:
    """Writes what an iterator of dicts yields; see DatasetWriter for the arguments and errors.

    An iterator cannot be read twice, so an interrupted job leaves nothing to resume from.
    """
    rows = iter(iterator)

    stream = _native.python_rows(
        lambda shard, row: rows,
        lambda: ["iterator"],
        type(rows).__name__,
        description={"kind": "iterator"},
    ).stream()
    writer = create_writer(output_path, format, max_shard_size, None, compression, **options)
    return writer._job_of(stream, False, isinstance(iterator, Sequence)).run_alone()


def _in_memory(source: object) -> bool:
    """Whether looking at all rows before writing costs no more than looking at some."""
    return isinstance(source, HFDatasetShardedSource) and isinstance(
        getattr(source, "_dataset", None), Sequence
    )
