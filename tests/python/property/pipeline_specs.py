"""What a random pipeline is made of, and how hypothesis draws one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from easydata.transforms.pack import Strategy
from hypothesis import strategies as st

from easydata import PadSpec

# A token names its document and its index there: FIRST_ID + document * STRIDE + index.
PAD, EOS, UNKNOWN, FIRST_ID, STRIDE = 0, 1, 2, 10, 40
# Documents of the sources of one pipeline, by index.
DOCUMENTS_PER_SOURCE = 64
MAX_SOURCES = 5

TEXT_KINDS = ("csv", "txt")
LINE_KINDS = ("jsonl", "jsonl.gz", "jsonl.zst", "json")
TABLE_KINDS = ("parquet", "arrow", "arrow_stream")
FILE_KINDS = (*TABLE_KINDS, *LINE_KINDS)
MEMORY_KINDS = ("list", "dataset", "streaming", "python", "composite")
STRATEGIES = get_args(Strategy)
LENGTHS = ("short", "any", "long", "bimodal", "empty")


@dataclass(frozen=True)
class SourceSpec:
    """A source with all that lies between it and the mix.

    Attributes:
        index: Which of the pipeline's sources it is.
        kind: Format of the files, or kind of the object.
        rows: Documents.
        lengths: How long they are.
        seed: Of the lengths.
        shards: Files, or shards.
        empty_shard: One more shard without rows, in front of this one; None: none.
        block: Rows of a row group or record batch.
        text: Whether documents are text that is tokenized, not lists of ids.
        tokenizer: "words" gives the traced ids, "bpe" is trained on the texts.
        max_length: Tokens that tokenizing keeps.
        nulls: Whether some texts are null, which tokenizing leaves out.
        bad: After how many rows of a file one comes that cannot be read; 0: never.
        on_error: What becomes of rows that are null or cannot be read.
        steps: Transforms, by name and number.
        limit: Rows that are kept, and whether before the steps or behind them.
        shuffle: Mode, seed, window_bytes, and whether before or behind the steps.
        fields: Lists beside the ids.
    """

    index: int = 0
    kind: str = "list"
    rows: int = 20
    lengths: str = "any"
    seed: int = 0
    shards: int = 1
    empty_shard: int | None = None
    block: int = 5
    text: bool = False
    tokenizer: Literal["words", "bpe"] = "words"
    max_length: int = 2048
    nulls: bool = False
    bad: int = 0
    on_error: Literal["skip", "quarantine"] = "skip"
    steps: tuple[tuple[str, int], ...] = ()
    limit: tuple[int, str] | None = None
    shuffle: tuple[str, int, int | None, str] | None = None
    fields: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"s{self.index}"

    @property
    def has_document_column(self) -> bool:
        return self.kind not in TEXT_KINDS

    def document_lengths(self) -> list[int]:
        random = np.random.default_rng([self.seed, self.index])
        sizes = {
            "short": random.integers(1, 5, self.rows),
            "any": random.integers(0, STRIDE, self.rows),
            "long": random.integers(15, STRIDE, self.rows),
            "bimodal": random.integers(1, 4, self.rows)
            + 30 * (random.random(self.rows) < 0.15).astype(int),
            "empty": random.integers(1, 9, self.rows) * (random.random(self.rows) < 0.3),
        }
        return [int(size) for size in sizes[self.lengths]]


@dataclass(frozen=True)
class MixSpec:
    """Options of a mix; `points` are (step, weights) of a schedule, else one point at step 0."""

    points: tuple[tuple[int, tuple[float, ...]], ...]
    interpolation: Literal["step", "linear", "cosine"] = "step"
    stop: Literal["restart", "first_exhausted", "all_exhausted"] = "restart"
    block_size: int = 10
    seed: int = 0
    schedule_unit: Literal["examples", "steps"] = "examples"
    unit: Literal["examples", "tokens"] = "examples"
    order: Literal["blocks", "grain"] = "blocks"


@dataclass(frozen=True)
class PackSpec:
    """Options of a packer."""

    seq_length: int = 8
    strategy: str = "greedy"
    overlong: Literal["split", "truncate", "drop", "error"] = "split"
    window: int = 7
    num_packers: int = 2
    shuffle: bool = True
    seed: int = 0
    include_segment_ids: bool = True
    name_fields: bool = False
    balance_groups: int = 1

    @property
    def adds_eos(self) -> bool:
        return not self.strategy.startswith("grain_")


@dataclass(frozen=True)
class LoadSpec:
    """Options of a loader that determine its batches."""

    batch_size: int = 6
    shuffle_rows: int | None = None
    drop_last: bool = False
    epochs: int | None = None
    seed: int = 0
    rampup: tuple[tuple[int, int], ...] = ()
    lanes: int = 1
    steps: int | None = None
    padding: tuple[tuple[str, PadSpec], ...] = ()
    buckets: int | None = None  # batches whose rows are put in order of length together

    @property
    def reorders(self) -> bool:
        """Whether rows come in another order than that of the stream."""
        return self.shuffle_rows is not None or self.buckets is not None

    def pad_of(self, column: str) -> PadSpec:
        """How rows of a column of lists are brought to one length."""
        plain = PadSpec(-100 if column == "labels" else PAD)
        return dict(self.padding).get(column, plain)


@dataclass(frozen=True)
class RunSpec:
    """Options of a loader that must not change its batches."""

    num_threads: int = 1
    prefetch: bool = True
    buffer: int = 4
    cache: str | None = None
    """A folder in which each source's rows are kept."""


PLAIN = RunSpec()


@dataclass(frozen=True)
class PipelineSpec:
    """A whole pipeline; several sources have a mix."""

    sources: tuple[SourceSpec, ...]
    mix: MixSpec | None
    pack: PackSpec | None
    load: LoadSpec

    @property
    def endless(self) -> bool:
        return self.mix is not None and self.mix.stop == "restart"

    @property
    def traced(self) -> bool:
        """Whether tokens tell their documents."""
        return all(not source.text or source.tokenizer == "words" for source in self.sources)

    @property
    def fields(self) -> tuple[str, ...]:
        return self.sources[0].fields

    @property
    def keeps_documents(self) -> bool:
        """Whether rows in front of the packer or loader have the column "doc"."""
        return len(self.sources) == 1 or all(s.has_document_column for s in self.sources)


numbers = st.integers(0, 2**32)


@st.composite
def sources(
    draw: st.DrawFn, index: int, text: bool | None, fields: tuple[str, ...], mixed: bool
) -> SourceSpec:
    """A source; `text` None: of either kind."""
    text = draw(st.booleans()) if text is None else text
    kinds = (*FILE_KINDS, *MEMORY_KINDS, *(TEXT_KINDS if text else ()))
    kind = draw(st.sampled_from(kinds))
    names = ("keep", "map", "rename", "drop", "expand", "map_field")
    steps = draw(st.lists(st.tuples(st.sampled_from(names), st.integers(2, 6)), max_size=3))
    # A mixer reads thousands of rows ahead: in files that takes many passes over a tiny source.
    tiny = not mixed or kind == "list"
    rows = draw(st.sampled_from((60, 31, 17, 8, *((3, 1) if tiny else ()))))
    limit = None
    if draw(st.integers(0, 3)) == 0 and (tiny or kind in MEMORY_KINDS):
        limit = (
            draw(st.integers(1 if tiny else 6, rows + 3)),
            draw(st.sampled_from(("before", "behind"))),
        )
    # Lines can always be broken, and what is text in tables need not be UTF-8.
    can_be_bad = kind in (*LINE_KINDS, *TEXT_KINDS) or (text and kind in TABLE_KINDS)
    bad = draw(st.sampled_from((0, 1, 4))) if can_be_bad else 0
    shuffle = None
    if draw(st.booleans()) and kind != "composite":
        modes: tuple[str, ...] = ("blocks", "rows", "grain")
        if kind in ("streaming", "python") or kind.endswith((".gz", ".zst")):
            modes = ("rows",) if kind == "streaming" else ("blocks", "rows")
        # Grain's order needs every row in its place.
        modes = tuple(mode for mode in modes if mode != "grain" or not bad)
        mode = draw(st.sampled_from(modes))
        window = draw(st.sampled_from((1, 60, 300, 5000, None))) if mode == "rows" else None
        # What limits rows does not offer them one by one.
        where = draw(st.sampled_from(("before", "behind")))
        if limit is not None and mode == "grain":
            where = "before"
        shuffle = (mode, draw(st.integers(0, 99)), window, where)
    return SourceSpec(
        index=index,
        kind=kind,
        rows=rows,
        lengths=draw(st.sampled_from(LENGTHS)),
        seed=draw(st.integers(0, 99)),
        shards=draw(st.integers(1, 4)),
        empty_shard=draw(st.sampled_from((None, None, 0, 1, 9))),
        block=draw(st.sampled_from((8, 100, *((1, 3) if tiny else ())))),
        text=text,
        tokenizer=draw(st.sampled_from(("words", "words", "bpe"))) if text else "words",
        max_length=draw(st.sampled_from((2048, 2048, 7))) if text else 2048,
        nulls=text and kind not in TEXT_KINDS and draw(st.integers(0, 3)) == 0,
        bad=bad,
        on_error=draw(st.sampled_from(("skip", "quarantine"))),
        steps=tuple(steps),
        limit=limit,
        shuffle=shuffle,
        fields=fields,
    )


def shares(weights: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(weight / math.fsum(weights) for weight in weights)


@st.composite
def mixes(draw: st.DrawFn, count: int) -> MixSpec:
    """A mix of so many sources."""
    weight = st.sampled_from((0.25, 0.5, 1.0, 1 / 3, 0.7, 0.1, 0.618))
    weights = st.tuples(*[weight] * count)
    scheduled = draw(st.integers(0, 3)) == 0
    steps = sorted(draw(st.sets(st.integers(0, 40), min_size=1, max_size=3))) if scheduled else [0]
    spec = MixSpec(
        points=tuple((step, shares(draw(weights))) for step in steps),
        interpolation=draw(st.sampled_from(("step", "linear", "cosine"))) if scheduled else "step",
        stop=draw(st.sampled_from(("restart", "first_exhausted", "all_exhausted"))),
        block_size=draw(st.one_of(st.integers(1, 5), st.integers(6, 40))),
        seed=draw(st.integers(0, 99)),
        schedule_unit=draw(st.sampled_from(("examples", "steps"))) if scheduled else "examples",
        unit=draw(st.sampled_from(("examples", "examples", "tokens"))),
    )
    if not scheduled and spec.unit == "examples":
        return replace(spec, order=draw(st.sampled_from(("blocks", "grain"))))
    return spec


@st.composite
def packs(draw: st.DrawFn, fields: tuple[str, ...]) -> PackSpec:
    """A packer."""
    return PackSpec(
        seq_length=draw(st.sampled_from((2, 5, 8, 16, 33))),
        strategy=draw(st.sampled_from(STRATEGIES)),
        overlong=draw(st.sampled_from(("split", "split", "truncate", "drop", "error"))),
        window=draw(st.sampled_from((1, 2, 7, 20))),
        num_packers=draw(st.integers(1, 4)),
        shuffle=draw(st.booleans()),
        seed=draw(st.integers(0, 99)),
        include_segment_ids=draw(st.integers(0, 4)) > 0,
        name_fields=bool(fields) and draw(st.booleans()),
        balance_groups=draw(st.sampled_from((1, 1, 2))),
    )


@st.composite
def paddings(draw: st.DrawFn, columns: tuple[str, ...]) -> tuple[tuple[str, PadSpec], ...]:
    """How columns of lists are padded, all of them or none; no value is one that a token has."""
    values = {"attention_mask": (0,), "labels": (-100, -7)}
    specs = []
    for name in columns if draw(st.booleans()) else ():
        value = draw(st.sampled_from(values.get(name, (PAD, -7))))
        side = draw(st.sampled_from(("left", "right")))
        specs.append((name, PadSpec(value, side, draw(st.sampled_from((None, None, 300, 25))))))
    return tuple(sorted(specs, key=lambda spec: columns.index(spec[0])))


@st.composite
def loads(draw: st.DrawFn) -> LoadSpec:
    """A loader whose batches can be cut for 1, 2, 3 or 5 ranks."""
    rampup: tuple[tuple[int, int], ...] = ()
    if draw(st.integers(0, 4)) == 0:
        rampup = tuple((step, draw(st.integers(2, 3))) for step in sorted(draw(st.sets(
            st.integers(1, 9), min_size=1, max_size=2))))  # fmt: skip
    return LoadSpec(
        batch_size=draw(st.sampled_from((2, 3, 4, 6, 12, 30))),
        shuffle_rows=draw(st.sampled_from((None, None, 1, 7, 40))),
        drop_last=draw(st.booleans()),
        epochs=draw(st.sampled_from((None, None, 1, 2, 3))),
        seed=draw(st.integers(0, 99)),
        rampup=rampup,
    )


runs = st.builds(
    RunSpec,
    num_threads=st.sampled_from((1, 2, 4)),
    prefetch=st.booleans(),
    buffer=st.sampled_from((1, 2, 8)),
)


@st.composite
def pipelines(draw: st.DrawFn, mixed: bool | None = None) -> PipelineSpec:
    """A pipeline out of everything that there is."""
    count = draw(st.sampled_from((1, 1, 2, 3, MAX_SOURCES)))
    if mixed is not None:
        count = max(count, 2) if mixed else 1
    packed = draw(st.booleans())
    kept = draw(st.sampled_from(((), (), ("labels",), ("labels", "loss_mask"))))
    text = False if kept else None
    parts = tuple(draw(sources(index, text, kept, count > 1)) for index in range(count))
    if not all(part.has_document_column for part in parts) and count > 1:
        # Rows of all sources get one set of columns.
        parts = tuple(replace(part, fields=()) for part in parts)
        kept = ()
    load = draw(loads())
    pack = draw(packs(kept)) if packed else None
    if pack is not None and (load.batch_size % pack.balance_groups or load.shuffle_rows):
        pack = replace(pack, balance_groups=1)
    mix = draw(mixes(count)) if count > 1 else None
    if not packed:
        masked = count == 1 and parts[0].text
        lists = ("input_ids", *kept, *(("attention_mask",) if masked else ()))
        buckets = draw(st.sampled_from((None, None, None, 2, 5)))
        load = replace(load, padding=draw(paddings(lists)), buckets=buckets)
    return PipelineSpec(parts, mix, pack, load)
