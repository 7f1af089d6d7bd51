"""Makes, uses, breaks, ties into circles and drops objects of every kind, and prints what stays.

    lifetime_kinds.py FOLDER TIMES [KIND ...]

For each kind a line of JSON: threads and handles before and after, objects that are still alive,
and bytes that memory has grown by, once the garbage was collected.
"""

import contextlib
import gc
import itertools
import json
import logging
import shutil
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from resident_memory import give_back, resident
from small_tokenizer import EOS, small_tokenizer
from thread_count import handles, settled, threads

import easydata as ed

Row = dict[str, Any]
KINDS: dict[str, Callable[[], Any]] = {}
SLOW: set[str] = set()
FOLDER = Path(sys.argv[1])
TIMES = int(sys.argv[2])
# Rounds before memory is looked at: caches fill, allocators get their arenas.
WARM = 60
# Those in circles wait for the garbage collector. So many at once, then and now: what allocators
# took for the most that was open at a time, they keep.
CIRCLES = 20
PAIR = {"prompt": "a?", "chosen": "yes", "rejected": "no"}
TALK = [{"role": "user", "content": "a?"}, {"role": "assistant", "content": "yes"}]


def kind(make: Callable[[], Any]) -> Callable[[], Any]:
    KINDS[make.__name__] = make
    return make


def slow_kind(make: Callable[[], Any]) -> Callable[[], Any]:
    """One that waits for the disk: a short run makes a tenth as many."""
    SLOW.add(make.__name__)
    return kind(make)


def write(name: str, rows: list[Row]) -> str:
    path = FOLDER / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def raises(expected: type[BaseException], call: Callable[[], Any]) -> None:
    try:
        call()
    except expected:
        return
    raise AssertionError(f"no {expected.__name__}")


FOLDER.mkdir(parents=True, exist_ok=True)
TEXTS = write("texts.jsonl", [{"text": f"row {i}"} for i in range(200)])
PAIRS = write("pairs.jsonl", [PAIR] * 50)
TALKS = write("talks.jsonl", [{"messages": TALK}] * 50)
BAD = str(FOLDER / "bad.jsonl")
Path(BAD).write_text("{\n", encoding="utf-8")
TOKENIZER = small_tokenizer(FOLDER / "tokenizer")
PARQUET = str(FOLDER / "parquet")
RECORDS = str(FOLDER / "records")
_numbers = itertools.count()


def texts() -> ed.JsonShardedSource:
    return ed.JsonShardedSource([TEXTS])


def tokens() -> ed.TokenizedShardedSource:
    return ed.TokenizedShardedSource(texts(), TOKENIZER, ed.TokenizerConfig(TOKENIZER))


def some(rows: Any, count: int = 3) -> list[Any]:
    return list(itertools.islice(rows, count))


ed.save_dataset(texts(), PARQUET, "parquet")
ed.save_dataset(texts(), RECORDS, "array_record")


class Owner:
    """Holds what calls it."""

    def __init__(self) -> None:
        self.held: Any = None

    def same(self, row: Row) -> Row:
        return row

    def keep(self, row: Row) -> bool:
        return True

    def twice(self, row: Row) -> Iterator[Row]:
        yield row
        yield row

    def fail(self, row: Row) -> Row:
        raise ValueError(self)

    def encode(self, row: Row) -> str:
        return str(row["text"])


# Sources.


@kind
def json_source() -> Any:
    source = texts()
    some(source.open_shard(source.shard_names[0]))
    return source


@kind
def parquet_source() -> Any:
    source = ed.ParquetShardedSource(f"{PARQUET}/*.parquet")
    some(iter(source))
    return source


@kind
def array_record_source() -> Any:
    source = ed.ArrayRecordShardedSource(f"{RECORDS}/*")
    some(iter(source))
    return source


@kind
def array_record_data_source() -> Any:
    source = ed.ArrayRecordDataSource(f"{RECORDS}/*")
    assert len(source) == 200
    assert source[7]
    return source


@kind
def text_source() -> Any:
    source = ed.TextShardedSource([TEXTS])
    some(iter(source))
    return source


@kind
def csv_source() -> Any:
    source = ed.CsvShardedSource([TEXTS])
    some(iter(source))
    return source


@kind
def composite_source() -> Any:
    source = ed.CompositeShardedSource([texts(), texts().map(lambda row: row)])
    some(iter(source))
    return source


@kind
def limited_source() -> Any:
    source = ed.LimitedShardedSource(texts(), 5)
    assert len(list(source)) == 5
    return source


@kind
def mixed_source() -> Any:
    source = ed.MixedShardedSource({"a": texts(), "b": texts().map(lambda row: row)})
    some(iter(source))
    return source


@kind
def shuffled_source() -> Any:
    source = texts().shuffle()
    some(iter(source))
    return source


@kind
def tokenized_source() -> Any:
    source = tokens()
    some(iter(source))
    return source


@kind
def packed_source() -> Any:
    source = ed.PackedShardedSource(tokens(), 64, EOS)
    some(iter(source))
    return source


@kind
def broken_source() -> Any:
    source = ed.JsonShardedSource([BAD])
    raises(ValueError, lambda: list(source))
    return source


# Steps, and iterators of what they make.


@kind
def mapped_source_in_circle() -> Any:
    owner = Owner()
    owner.held = texts().map(owner.same)
    some(iter(owner.held))
    return owner


@kind
def iterators_in_circle() -> Any:
    owner = Owner()
    source = texts().map(owner.same).filter(owner.keep).transform(ed.MapField("text", str))
    owner.held = [iter(source), source.open_shard(source.shard_names[0])]
    for rows in owner.held:
        next(rows)
    return owner


@kind
def iterators_that_failed() -> Any:
    owner = Owner()
    owner.held = rows = iter(texts().map(owner.fail))
    raises(ValueError, lambda: next(rows))
    return owner


@kind
def iterators_of_python_in_circle() -> Any:
    owner = Owner()

    class Numbers(ed.ShardedDataSource[Row]):
        held = owner

        @property
        def shard_names(self) -> list[str]:
            return ["one"]

        @property
        def num_shards(self) -> int:
            return 1

        def open_shard(self, name: str) -> Iterator[Row]:
            for i in range(1000):
                yield {"text": str(i), "of": len(str(self.held))}

    owner.held = [source := Numbers(), iter(source.map(owner.same)), ed.AsyncDataLoader(source, 4)]
    next(owner.held[1])
    next(iter(owner.held[2]))
    return [owner, source]


@kind
def chained_transform() -> Any:
    owner = Owner()
    owner.held = ed.ChainedTransform([ed.MapTransform(owner.same), ed.FilterTransform(owner.keep)])
    assert owner.held({"text": "a"}) == {"text": "a"}
    some(iter(texts().transform(owner.held)))
    return owner


@kind
def fields() -> Any:
    steps = [ed.SelectFields(["text"]), ed.RenameFields({"text": "said"}), ed.AddField("one", 1)]
    source = texts()
    for step in steps:
        source = source.transform(step)
    some(iter(source))
    return source


# Tokenizers and templates.


@kind
def tokenizer() -> Any:
    made = ed.Tokenizer(TOKENIZER)
    made.decode(made.encode("a text"))
    made.encode_batch(["a", "b"])
    stream = made.decode_stream()
    stream.step([97])
    return [made, stream]


@kind
def library_tokenizer() -> Any:
    made = ed.Tokenizer(LIBRARY)
    assert made.engine == "huggingface", made.engine
    made.encode("a text", max_length=3)
    return made


@kind
def chat_template() -> Any:
    source = ed.JsonShardedSource([TALKS]).transform(ed.ChatTemplateTransform(TOKENIZER))
    some(iter(source))
    raises(TypeError, lambda: ed.ChatTemplateTransform(TOKENIZER)({"messages": 3}))
    return source


# Trainer transforms.


def trainer(make: Callable[..., Any], row: Row, path: str, **options: Any) -> Any:
    owner = Owner()
    step = make(TOKENIZER, **options)
    assert step.examples(row)
    raises((ValueError, KeyError, TypeError), lambda: step.examples({"prompt": 3, "messages": 4}))
    source = ed.JsonShardedSource([path]).map(owner.same).transform(step)
    owner.held = [rows := iter(source), ed.AsyncDataLoader(source, 4)]
    next(rows)
    next(iter(owner.held[1]))
    return [owner, step]


@kind
def sft() -> Any:
    return trainer(
        ed.SFTPreprocessTransform, {"messages": TALK}, TALKS, max_length=256, mask_prompt=True
    )


@kind
def dpo() -> Any:
    return trainer(ed.DPOPreprocessTransform, PAIR, PAIRS, **LENGTHS)


@kind
def orpo() -> Any:
    return trainer(ed.ORPOPreprocessTransform, PAIR, PAIRS, **LENGTHS)


@kind
def kto() -> Any:
    single = {"prompt": "a?", "completion": "yes", "label": True}
    return trainer(ed.KTOPreprocessTransform, single, PAIRS, **LENGTHS)


@kind
def bco() -> Any:
    return trainer(ed.BCOPreprocessTransform, PAIR, PAIRS, **LENGTHS)


@kind
def grpo() -> Any:
    return trainer(ed.GRPOPreprocessTransform, {"prompt": "a?"}, PAIRS)


@kind
def reward() -> Any:
    return trainer(ed.RewardPreprocessTransform, PAIR, PAIRS, max_length=32)


@kind
def library_sft() -> Any:
    step = ed.SFTPreprocessTransform(LIBRARY, max_length=256, mask_prompt=True)
    assert step.examples({"messages": TALK})
    return step


# Loaders.


@kind
def loader() -> Any:
    made = ed.AsyncDataLoader(texts(), 8)
    rows = iter(made)
    batch = next(rows)
    made.load_state_dict(made.state_dict())
    made.stats()
    return [made, rows, batch["text"] and made]


@kind
def loader_of_tokens() -> Any:
    made = ed.AsyncDataLoader(tokens(), 8, shuffle_buffer_size=50, bucket_batches=2)
    for batch in made:
        batch["input_ids"].sum()
    made.at(2)
    return made


@kind
def loader_never_iterated() -> Any:
    owner = Owner()
    owner.held = ed.AsyncDataLoader(texts().map(owner.same), 8)
    return owner


@kind
def loader_in_circle() -> Any:
    owner = Owner()
    owner.held = [made := ed.AsyncDataLoader(texts().map(owner.same), 8), rows := iter(made)]
    next(rows)
    return owner


@kind
def loader_in_circle_closed() -> Any:
    owner = Owner()
    owner.held = ed.AsyncDataLoader(texts().map(owner.same), 8)
    next(iter(owner.held))
    owner.held.close()
    return owner


@kind
def loader_that_failed() -> Any:
    owner = Owner()
    made = ed.AsyncDataLoader(texts().map(owner.fail), 8)
    owner.held = made
    for _ in range(2):
        raises(ValueError, lambda: next(iter(made)))
    return [owner, made]


@kind
def loader_that_failed_unseen() -> Any:
    owner = Owner()
    owner.held = ed.AsyncDataLoader(texts().map(owner.fail), 8)
    owner.held._native.wait(0.002)
    return owner


@kind
def loader_that_failed_local() -> Any:
    made = ed.AsyncDataLoader(texts().map(lambda row: 1 // 0), 8)
    with contextlib.suppress(ZeroDivisionError):
        next(iter(made))
    return made


@kind
def loader_freed_by_its_own_function() -> Any:
    held: list[Any] = []

    def free(row: Row) -> Row:
        held.clear()
        return row

    # Only what the function frees holds the loader, whose threads begin with the first look.
    held.append(ed.AsyncDataLoader(texts().map(free), 8))
    with contextlib.suppress(IndexError):
        held[0]._native.wait(0.05)
    return free


@kind
def mixed_loader_of_functions() -> Any:
    owner = Owner()
    parts = {"a": texts().map(owner.same), "b": texts().filter(owner.keep)}
    owner.held = ed.AsyncDataLoader(ed.MixedShardedSource(parts, block_size=10), 8)
    next(iter(owner.held))
    return owner


# Pipelines, writers and the rest.


@kind
def pipeline() -> Any:
    config = ed.PipelineConfig(
        datasets=[ed.DatasetConfig(name="a", data_files=TEXTS, tokenizer=TOKENIZER)],
        pack=ed.PackStageConfig(enabled=True, seq_length=64, eos_token_id=EOS),
        load=ed.LoadStageConfig(batch_size=4),
    )
    made = ed.Pipeline.from_config(config).source().tokenize().pack().load()
    built = made.build()
    next(iter(built))
    return [made, built]


@slow_kind
def saver() -> Any:
    owner = Owner()
    output = FOLDER / f"output-{next(_numbers)}"
    writer = ed.JsonlWriter(output)
    owner.held = [writer, source := texts().map(owner.same)]
    writer.write(source)
    shutil.rmtree(output)
    return owner


@slow_kind
def saver_that_failed() -> Any:
    owner = Owner()
    output = FOLDER / f"output-{next(_numbers)}"
    owner.held = source = texts().map(owner.fail)
    raises(ValueError, lambda: ed.save_dataset(source, output, "parquet"))
    shutil.rmtree(output, ignore_errors=True)
    return owner


@slow_kind
def iterator_saver() -> Any:
    owner = Owner()
    output = FOLDER / f"output-{next(_numbers)}"
    owner.held = (owner.same({"text": str(i)}) for i in range(50))
    ed.save_iterator(owner.held, output, "jsonl")
    shutil.rmtree(output)
    return owner


@kind
def prefetch_iterator() -> Any:
    owner = Owner()
    owner.held = ed.PrefetchIterator(owner.same({"i": i}) for i in range(100))
    some(owner.held)
    owner.held.close()
    return owner


@kind
def packers() -> Any:
    made = [ed.GreedyPacker(16, EOS), ed.FirstFitPacker(16, EOS), ed.PoolPacker(16, EOS)]
    for packer in made:
        packer.add([1, 2, 3] * 9)
    return made


@kind
def weight_scheduler() -> Any:
    made = ed.WeightScheduler(
        [ed.WeightSchedulePoint(step, {"a": a, "b": 1 - a}) for step, a in ((0, 0.5), (9, 0.75))]
    )
    source = ed.MixedShardedSource({"a": texts(), "b": texts()}, weight_scheduler=made)
    some(iter(source))
    return [made, source]


@kind
def verify_report() -> Any:
    return ed.verify(PARQUET)


LENGTHS = {"max_prompt_length": 16, "max_completion_length": 16}


def library_tokenizer_folder() -> str:
    """A tokenizer that the native engine leaves to the library."""
    folder = FOLDER / "library"
    shutil.copytree(TOKENIZER, folder, dirs_exist_ok=True)
    file = folder / "tokenizer.json"
    value = json.loads(file.read_text(encoding="utf-8"))
    value["model"]["dropout"] = 0.0001
    file.write_text(json.dumps(value), encoding="utf-8")
    return str(folder)


LIBRARY = library_tokenizer_folder()


def rounds(make: Callable[[], Any], times: int) -> list[weakref.ref[Any]]:
    seen: list[weakref.ref[Any]] = []
    for i in range(times):
        made = make()
        for each in made if isinstance(made, list) else [made]:
            try:
                seen.append(weakref.ref(each))
            except TypeError:
                continue  # a native one, or a dict
        if i % CIRCLES == CIRCLES - 1:
            del made, each
            gc.collect()
    return seen


def measure(name: str) -> dict[str, Any]:
    make = KINDS[name]
    few = name in SLOW and TIMES < 1000
    begin = time.monotonic()
    rounds(make, WARM // 10 if few else WARM)
    gc.collect()
    give_back()
    before = threads(), handles(), resident()
    seen = rounds(make, TIMES // 10 if few else TIMES)
    gc.collect()
    after = settled(threads, before[0]), settled(handles, before[1])
    give_back()
    return {
        "threads": [before[0], after[0]],
        "handles": [before[1], after[1]],
        "alive": sum(each() is not None for each in seen),
        "seen": len(seen),
        "grown": resident() - before[2],
        "seconds": round(time.monotonic() - begin, 2),
    }


def main() -> None:
    logging.disable(logging.WARNING)
    for name in sys.argv[3:] or KINDS:
        print(json.dumps({"kind": name, **measure(name)}), flush=True)


main()
