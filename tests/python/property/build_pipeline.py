"""A pipeline's specification as the real thing, and as the rows that it must give."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import tokenizers
from easydata.transforms import (
    DropFields,
    ExpandTransform,
    LimitedShardedSource,
    MapField,
    RenameFields,
)
from pipeline_specs import (
    DOCUMENTS_PER_SOURCE,
    EOS,
    FIRST_ID,
    LINE_KINDS,
    MAX_SOURCES,
    PAD,
    PLAIN,
    STRIDE,
    TABLE_KINDS,
    UNKNOWN,
    MixSpec,
    PackSpec,
    PipelineSpec,
    RunSpec,
    SourceSpec,
)

from easydata import (
    ArrowShardedSource,
    AsyncDataLoader,
    CompositeShardedSource,
    CsvShardedSource,
    HFDatasetShardedSource,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    ParquetShardedSource,
    ShardedDataSource,
    TextShardedSource,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
    WeightSchedulePoint,
    WeightScheduler,
)

Row = dict[str, Any]
LONGEST = 2048  # tokens of a row, where its length must be said


# ---- data ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Document:
    """A row in front of the packer: its document's number, and its tokens (None: no text)."""

    number: int
    ids: tuple[int, ...] | None


def documents_of(spec: SourceSpec) -> list[Document]:
    """The rows that the source's files hold."""
    made = []
    for index, size in enumerate(spec.document_lengths()):
        number = spec.index * DOCUMENTS_PER_SOURCE + index
        first = FIRST_ID + number * STRIDE
        null = spec.nulls and index % 5 == 3
        made.append(Document(number, None if null else tuple(range(first, first + size))))
    return made


def row_of(spec: SourceSpec, document: Document) -> Row:
    row: Row = {"doc": document.number}
    row["extra"] = None if document.number % 4 == 0 else f"x{document.number}"
    if spec.text:
        row["text"] = None if document.ids is None else " ".join(map(str, document.ids))
        return row
    assert document.ids is not None
    row["input_ids"] = list(document.ids)
    for field in spec.fields:
        row[field] = [beside(field, token) for token in document.ids]
    return row


def beside(field: str, token: int) -> int:
    """The value that goes with a token."""
    return token + 1 if field == "labels" else token % 2


def schema_of(spec: SourceSpec) -> pa.Schema:
    content = [("text", pa.string())] if spec.text else []
    lists = [] if spec.text else ["input_ids", *spec.fields]
    columns = [("doc", pa.int64()), ("extra", pa.string()), *content]
    return pa.schema(columns + [(name, pa.list_(pa.int32())) for name in lists])


class PythonShards(ShardedDataSource[Row]):
    """Rows made by Python code, in shards."""

    def __init__(self, shards: list[list[Row]]) -> None:
        self._shards = shards

    @property
    def shard_names(self) -> list[str]:
        return [f"part-{index}" for index in range(len(self._shards))]

    def num_shards(self) -> int:
        return len(self._shards)

    def open_shard(self, shard_name: str) -> Iterator[Row]:
        return (dict(row) for row in self._shards[int(shard_name.removeprefix("part-"))])


def shards_of(spec: SourceSpec) -> list[list[Row]]:
    rows = [row_of(spec, document) for document in documents_of(spec)]
    size = -(-len(rows) // spec.shards)
    shards = [rows[start : start + size] for start in range(0, len(rows), size)]
    if spec.empty_shard is not None:
        shards.insert(spec.empty_shard, [])
    return shards


def with_bad_rows(spec: SourceSpec, rows: list[Row]) -> list[Row | None]:
    """The rows of a file, with None for one that cannot be read."""
    made: list[Row | None] = []
    for index, row in enumerate(rows):
        made += [None, row] if spec.bad and index % spec.bad == 0 else [row]
    return [*made, None] if spec.bad and len(rows) % spec.bad == 0 else made


def left_out_of_files(spec: SourceSpec, nulls: set[int]) -> set[tuple[str, int]]:
    """(file, row) of the rows that cannot be read, and of the documents `nulls`, by number."""
    return {
        (str(shard), index)
        for shard, rows in enumerate(shards_of(spec))
        for index, row in enumerate(with_bad_rows(spec, rows))
        if row is None or row["doc"] in nulls
    }


def table_of(spec: SourceSpec, rows: list[Row | None]) -> pa.Table:
    """The rows as a table; the text of those that cannot be read is not UTF-8."""
    schema = schema_of(spec)
    table = pa.Table.from_pylist([row or dict.fromkeys(schema.names) for row in rows], schema)
    if None not in rows:
        return table
    texts = [b"\xff" if row is None else row["text"] and row["text"].encode() for row in rows]
    unchecked = pa.array(texts, pa.binary()).view(pa.string())
    return table.set_column(schema.get_field_index("text"), "text", unchecked)


def line_of(spec: SourceSpec, row: Row | None) -> bytes:
    """A row of a text format."""
    if spec.kind == "csv":
        columns = ["1", "2", "3", "4"] if row is None else [row["doc"], row["extra"], row["text"]]
        return ",".join("" if value is None else str(value) for value in columns).encode()
    if spec.kind == "txt":
        return b"1 \xff" if row is None else str(row["text"]).encode()
    if spec.kind == "json":
        return b"[1]" if row is None else json.dumps(row).encode()
    return b'{"doc": 1, "input_ids": [2' if row is None else json.dumps(row).encode()


def write(path: Path, spec: SourceSpec, good: list[Row]) -> None:
    rows = with_bad_rows(spec, good)
    if spec.kind in TABLE_KINDS:
        write_table(path, spec, table_of(spec, rows))
        return
    lines = [line_of(spec, row) for row in rows]
    if spec.kind == "json":
        path.write_bytes(b"[" + b",".join(lines) + b"]")
        return
    head = [b"doc,extra,text"] if spec.kind == "csv" else []
    text = b"".join(line + b"\n" for line in [*head, *lines])
    if path.suffix == ".gz":
        text = gzip.compress(text)
    elif path.suffix == ".zst":
        text = pa.Codec("zstd").compress(text, asbytes=True)
    path.write_bytes(text)


def write_table(path: Path, spec: SourceSpec, table: pa.Table) -> None:
    if spec.kind == "parquet":
        pq.write_table(table, path, row_group_size=spec.block)
        return
    make = pa.ipc.new_stream if spec.kind == "arrow_stream" else pa.ipc.new_file
    with make(path, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=spec.block):
            writer.write_batch(batch)


class Data:
    """Files and tokenizers of random pipelines, each made once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[Any, str] = {}
        self._tokenizers: dict[str, tuple[Tokenizer, tokenizers.Tokenizer]] = {}

    def files(self, spec: SourceSpec) -> str:
        """A pattern for the files of a source."""
        suffix = "arrow" if spec.kind == "arrow_stream" else spec.kind
        # What only later stages look at does not make other files.
        key = (spec.index, spec.kind, spec.rows, spec.lengths, spec.seed, spec.shards, spec.text,
               spec.empty_shard, spec.block, spec.nulls, spec.bad, spec.fields)  # fmt: skip
        if key not in self._files:
            folder = self._folder / str(len(self._files))
            folder.mkdir()
            for index, rows in enumerate(shards_of(spec)):
                write(folder / f"{index}.{suffix}", spec, rows)
            self._files[key] = str(folder / f"*.{suffix}")
        return self._files[key]

    def quarantine(self, spec: SourceSpec) -> Path:
        """Where the rows that a source leaves out are put."""
        return self._folder / f"{spec.name}.left-out"

    def tokenizer(self, kind: str) -> tuple[Tokenizer, tokenizers.Tokenizer]:
        """The tokenizer, and the `tokenizers` library's own."""
        if kind in self._tokenizers:
            return self._tokenizers[kind]
        special = ["[PAD]", "[EOS]", "[UNK]"]
        if kind == "words":
            last = FIRST_ID + MAX_SOURCES * DOCUMENTS_PER_SOURCE * STRIDE
            vocabulary = {str(i): i for i in range(FIRST_ID, last)}
            vocabulary |= dict(zip(special, (PAD, EOS, UNKNOWN), strict=True))
            made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, "[UNK]"))
            made.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
        else:
            made = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="[UNK]"))
            made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
            trainer = tokenizers.trainers.BpeTrainer(
                vocab_size=400,
                special_tokens=special,
                initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
                show_progress=False,
            )
            made.train_from_iterator([" ".join(map(str, range(10, 9000)))], trainer)
        made.add_special_tokens(special)
        folder = self._folder / f"tokenizer-{kind}"
        folder.mkdir()
        made.save(str(folder / "tokenizer.json"))
        config = {"pad_token": "[PAD]", "eos_token": "[EOS]", "unk_token": "[UNK]"}
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        self._tokenizers[kind] = Tokenizer(folder), made
        return self._tokenizers[kind]

    def tokens(self, spec: SourceSpec, ids: tuple[int, ...]) -> tuple[int, ...]:
        """What the `tokenizers` library makes of a text of these words."""
        if not spec.text:
            return ids
        text = " ".join(map(str, ids))
        _, library = self.tokenizer(spec.tokenizer)
        return tuple(library.encode(text).ids[: spec.max_length])


# ---- the real thing ------------------------------------------------------------------------------


class Halves(ExpandTransform):
    """The two halves of a document as rows; some documents give none."""

    version = "1"

    def __init__(self, divisor: int) -> None:
        self._divisor = divisor

    def __call__(self, example: Row) -> Iterator[Row]:
        if size_of(example) % self._divisor == 1:
            return
        words = (example.get("text") or "").split()
        half = -(-size_of(example) // 2)
        for part in (slice(0, half), slice(half, None)):
            made = {k: v[part] if isinstance(v, list) else v for k, v in example.items()}
            if example.get("text") is not None:
                made["text"] = " ".join(words[part])
            yield made


class OfDivisor:
    """A function of rows that has a version."""

    version = "1"

    def __init__(self, by: int) -> None:
        self.by = by

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.by})"


class Keeps(OfDivisor):
    def __call__(self, row: Row) -> bool:
        return size_of(row) % self.by != 0


class Tagged(OfDivisor):
    def __call__(self, row: Row) -> Row:
        return {**row, "tag": f"t{size_of(row) % self.by}"}


class WithDivisor(OfDivisor):
    def __call__(self, value: Any) -> str:
        return f"{value}/{self.by}"


def size_of(row: Row) -> int:
    if "input_ids" in row:
        return len(row["input_ids"])
    return len((row.get("text") or "").split())


FILE_SOURCES: dict[str, Any] = {
    "parquet": ParquetShardedSource,
    "arrow": ArrowShardedSource,
    "arrow_stream": ArrowShardedSource,
    "csv": CsvShardedSource,
    "txt": TextShardedSource,
    **dict.fromkeys(LINE_KINDS, JsonShardedSource),
}


def on_error_of(spec: SourceSpec, data: Data) -> dict[str, Any]:
    """The options that say what becomes of rows that cannot be used."""
    path = data.quarantine(spec) if spec.on_error == "quarantine" else None
    return {"on_error": spec.on_error, "quarantine_path": path}


def base_source(spec: SourceSpec, data: Data) -> ShardedDataSource[Any]:
    if spec.kind in FILE_SOURCES:
        how = on_error_of(spec, data) if spec.bad else {}
        return FILE_SOURCES[spec.kind](data.files(spec), **how)
    shards = shards_of(spec)
    rows = [row for shard in shards for row in shard]
    if spec.kind == "list":
        return HFDatasetShardedSource(rows)
    if spec.kind == "python":
        return PythonShards(shards)
    if spec.kind == "composite":
        half = len(shards) // 2
        rest = [row for shard in shards[half:] for row in shard]
        return CompositeShardedSource([PythonShards(shards[:half]), HFDatasetShardedSource(rest)])
    # One row too many at the front, taken away by indices.
    table = pa.Table.from_pylist([rows[0], *rows], schema_of(spec))
    dataset = datasets.Dataset(table).select(range(1, len(rows) + 1))
    if spec.kind == "streaming":
        dataset = dataset.to_iterable_dataset(num_shards=min(spec.shards, len(rows)))
    return HFDatasetShardedSource(dataset)


def with_step(source: ShardedDataSource[Any], step: str, by: int) -> ShardedDataSource[Any]:
    if step == "keep":
        return source.filter(Keeps(by))
    if step == "map":
        return source.map(Tagged(by))
    if step == "rename":
        # By itself: another step may have taken the field away.
        return source.transform(RenameFields({"extra": "note"}))
    if step == "drop":
        return source.transform(DropFields(["extra"]))
    if step == "map_field":
        return source.transform(MapField("extra", WithDivisor(by)))
    return source.transform(Halves(by))


def tokenized_source(
    source: ShardedDataSource[Any], spec: SourceSpec, data: Data
) -> ShardedDataSource[Any]:
    tokenizer, _ = data.tokenizer(spec.tokenizer)
    return TokenizedShardedSource(
        source,
        tokenizer,
        TokenizerConfig(tokenizer, max_length=spec.max_length),
        additional_fields=["doc"] if spec.has_document_column else None,
        batch_size=spec.block,
        **(on_error_of(spec, data) if spec.nulls else {}),
    )


def one_source(spec: SourceSpec, data: Data) -> ShardedDataSource[Any]:
    source = base_source(spec, data)

    def shuffled(where: str) -> ShardedDataSource[Any]:
        if spec.shuffle is None or spec.shuffle[3] != where:
            return source
        mode, seed, window_bytes, _ = spec.shuffle
        if spec.kind in ("list", "dataset"):
            window_bytes = None  # refused: all rows are at hand
        return source.shuffle(mode, seed, window_bytes=window_bytes)  # type: ignore[arg-type]

    def limited(where: str) -> ShardedDataSource[Any]:
        if spec.limit is None or spec.limit[1] != where:
            return source
        return LimitedShardedSource(source, spec.limit[0])

    source = shuffled("before")
    source = limited("before")
    for step, by in spec.steps:
        source = with_step(source, step, by)
    source = limited("behind")
    if spec.text:
        source = tokenized_source(source, spec, data)
    return shuffled("behind")


def mixed_source(
    sources: dict[str, ShardedDataSource[Any]], spec: MixSpec
) -> ShardedDataSource[Any]:
    options: dict[str, Any] = {}
    points = [
        WeightSchedulePoint(step, dict(zip(sources, weights, strict=True)))
        for step, weights in spec.points
    ]
    if spec.points[0][0] == 0 and len(points) == 1:
        options["weights"] = points[0].weights
    else:
        options["weight_scheduler"] = WeightScheduler(points, spec.interpolation)
        options["schedule_unit"] = spec.schedule_unit
    return MixedShardedSource(
        sources,
        block_size=spec.block_size,
        seed=spec.seed,
        stop_strategy=spec.stop,
        unit=spec.unit,
        order=spec.order,
        **options,
    )


def packed_source(
    source: ShardedDataSource[Any], spec: PackSpec, fields: tuple[str, ...]
) -> ShardedDataSource[Any]:
    return PackedShardedSource(
        source,
        spec.seq_length,
        EOS,
        PAD,
        strategy=spec.strategy,
        num_packers=spec.num_packers,
        include_segment_ids=spec.include_segment_ids,
        shuffle=spec.shuffle,
        shuffle_buffer_factor=1,
        seed=spec.seed,
        overlong=spec.overlong,
        token_fields=fields if spec.name_fields else None,
        pack_window=spec.window,
        balance_groups=spec.balance_groups,
    )


def rows_of(spec: PipelineSpec, data: Data, cache: str | None = None) -> ShardedDataSource[Any]:
    """All of a pipeline but the loader."""
    made = {part.name: one_source(part, data) for part in spec.sources}
    if spec.mix is not None:
        columns = [*(["doc"] if spec.keeps_documents else []), "input_ids", *spec.fields]
        made = {name: source.select_fields(columns) for name, source in made.items()}
    if cache is not None:
        made = {name: source.cache(cache) for name, source in made.items()}
    if spec.mix is not None:
        source = mixed_source(made, spec.mix)
    else:
        (source,) = made.values()
    return source if spec.pack is None else packed_source(source, spec.pack, spec.fields)


def lists_of(spec: PipelineSpec) -> tuple[str, ...]:
    """The columns of lists in front of a loader that packs nothing."""
    masks = ("attention_mask",) if spec.mix is None and spec.sources[0].text else ()
    return ("input_ids", *masks, *spec.fields)


def loader_of(
    spec: PipelineSpec, data: Data, run: RunSpec = PLAIN, rank: int = 0, world_size: int = 1
) -> AsyncDataLoader:
    """A pipeline's loader."""
    load = spec.load
    rows = rows_of(spec, data, run.cache)
    options: dict[str, Any] = {"batch_rampup": dict(load.rampup)} if load.rampup else {}
    padding = dict(load.padding)
    if load.lanes > 1 and spec.pack is None:
        for name in lists_of(spec):
            padding[name] = replace(load.pad_of(name), length=LONGEST)
    return AsyncDataLoader(
        rows,
        load.batch_size,
        prefetch_enabled=run.prefetch,
        prefetch_buffer_size=run.buffer,
        shuffle_buffer_size=load.shuffle_rows,
        bucket_batches=load.buckets,
        drop_last=load.drop_last,
        seed=load.seed,
        rank=rank,
        world_size=world_size,
        epochs=load.epochs,
        lanes=load.lanes,
        steps=load.steps,
        padding=padding,
        num_threads=run.num_threads,
        **options,
    )
