"""Lanes: independent parts of a stream, of which a rank reads only what its rows are in."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import Batch, difference, joined
from easydata.transforms import ExpandTransform, LimitedShardedSource

from easydata import (
    AsyncDataLoader,
    CompositeShardedSource,
    HFDatasetShardedSource,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    PadSpec,
    ParquetShardedSource,
    ShardedDataSource,
    TextShardedSource,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
    WeightSchedulePoint,
    WeightScheduler,
    merge_states,
)

Source = ShardedDataSource[Any]
EOS = 777_777_777
SMALLEST_WINDOW = 1000  # bytes; a few rows


def write_rows(
    folder: Path, first: int, rows: int, shards: int, groups: int = 1, longest: int = 40
) -> str:
    """Documents `n` (from `first` on) of up to so many tokens 1000 n, 1000 n + 1, ..."""
    random = np.random.default_rng(first)
    folder.mkdir()
    numbers = np.arange(first, first + rows)
    for shard, part in enumerate(np.array_split(numbers, shards)):
        sizes = random.integers(1, longest + 1, len(part)).tolist()
        tokens = [
            [1000 * n + k for k in range(size)]
            for n, size in zip(part.tolist(), sizes, strict=True)
        ]
        table = pa.table(
            {"n": pa.array(part), "input_ids": pa.array(tokens, pa.list_(pa.int32()))},
        )
        pq.write_table(
            table, folder / f"{shard:02}.parquet", row_group_size=-(-len(part) // groups)
        )
    return str(folder / "*.parquet")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Files by how they can be dealt among lanes."""
    folder = tmp_path_factory.mktemp("lanes")
    return {
        "shards": write_rows(folder / "shards", 0, 300, shards=10),
        "blocks": write_rows(folder / "blocks", 1000, 400, shards=1, groups=40),
        "rows": write_rows(folder / "rows", 2000, 90, shards=2, groups=2),
    }


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The same, of documents of one token, whose rows are of another shape."""
    folder = tmp_path_factory.mktemp("tokens")
    return {
        "shards": write_rows(folder / "shards", 0, 300, 10, longest=1),
        "blocks": write_rows(folder / "blocks", 1000, 400, 1, groups=40, longest=1),
        "rows": write_rows(folder / "rows", 2000, 90, 2, groups=2, longest=1),
    }


class PythonRows(ShardedDataSource[dict[str, Any]]):
    """Documents of one token made by Python code, in two shards."""

    @property
    def shard_names(self) -> list[str]:
        return ["0", "70"]

    def num_shards(self) -> int:
        return 2

    def open_shard(self, shard_name: str) -> Iterator[dict[str, Any]]:
        return ({"input_ids": [int(shard_name) + i]} for i in range(70))


class Twice(ExpandTransform):
    """Each document twice, told apart by a large number."""

    def __call__(self, example: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield example
        yield {**example, "input_ids": [example["input_ids"][0] + 1_000_000_000]}


def documents(tokens: dict[str, str], kind: str) -> Source:
    """Documents of one token each, all different."""
    if kind == "python":
        return PythonRows()
    if kind == "list":
        return HFDatasetShardedSource([{"input_ids": [i]} for i in range(130)])
    if kind == "composite":
        return CompositeShardedSource(
            [ParquetShardedSource(tokens["shards"]), ParquetShardedSource(tokens["rows"])]
        )
    where, _, step = kind.partition(" ")
    source: Source = ParquetShardedSource(tokens[where])
    if step == "filter":
        return source.filter(lambda row: row["n"] % 3 != 1)
    if step == "expand":
        return source.transform(Twice())
    if step == "limit":
        return LimitedShardedSource(source, 77)
    if step == "shuffle rows":
        return source.shuffle("rows", 5, window_bytes=SMALLEST_WINDOW)
    return source


def numbers(path: str) -> Source:
    return ParquetShardedSource(path).drop_fields(["input_ids"])


KINDS = [
    "shards",
    "blocks",
    "rows",
    "python",
    "list",
    "composite",
    "shards filter",
    "blocks expand",
    "shards limit",
    "rows shuffle rows",
]


@pytest.mark.parametrize("kind", KINDS)
def test_lanes_have_each_document_once_a_pass(kind: str, tokens: dict[str, str]) -> None:
    lanes = 3
    rows = PackedShardedSource(documents(tokens, kind), 2, EOS, shuffle=False)
    with AsyncDataLoader(rows, 1) as loader:
        expected = sorted(int(batch["input_ids"][0, 0]) for batch in loader)
    assert len(set(expected)) == len(expected) > 70
    with AsyncDataLoader(rows, lanes * 4, lanes=lanes, steps=len(expected) // 3) as loader:
        steps = [batch["input_ids"][:, 0].reshape(lanes, 4) for batch in loader]
    found: list[int] = []
    for lane in range(lanes):
        given = np.concatenate([step[lane] for step in steps]).tolist()
        one_pass = list(dict.fromkeys(given))
        assert len(given) > 2 * len(one_pass), "the lane did not begin its third pass"
        for start in (0, len(one_pass)):
            assert sorted(given[start : start + len(one_pass)]) == sorted(one_pass)
        found += one_pass
    assert sorted(found) == expected


@pytest.mark.parametrize("where", ["shards", "blocks", "rows"])
@pytest.mark.parametrize("mode", ["blocks", "rows", "grain"])
def test_lanes_together_have_each_row_once_a_pass(
    mode: Any, where: str, corpus: dict[str, str]
) -> None:
    """Where a pass is shuffled, what a lane has differs from pass to pass."""
    lanes = 3
    source = numbers(corpus[where]).shuffle(
        mode, 5, **({"window_bytes": SMALLEST_WINDOW} if mode == "rows" else {})
    )
    with AsyncDataLoader(source, 1) as loader:
        expected = sorted(int(batch["n"][0]) for batch in loader)
    given: list[list[int]] = [[], [], []]
    with AsyncDataLoader(source, lanes, lanes=lanes, steps=3 * len(expected)) as loader:
        for batch in loader:
            state = loader.state_dict()
            for lane, n in enumerate(batch["n"].tolist()):
                epoch = state["lanes"][str(lane)]["epoch"]
                if epoch < len(given):
                    given[epoch].append(n)
    for numbers_of_pass in given:
        assert sorted(numbers_of_pass) == expected
    assert given[0] != given[1] != given[2]


COUNTED = ["none", "blocks", "rows", "grain", "bucketed", "composite", "mapped", "data set"]


def counted(kind: Any, corpus: dict[str, str], where: str, **options: Any) -> AsyncDataLoader:
    """Rows of the columns `n` and, all alike, `input_ids`, whose number files tell."""
    source: Source = numbers(corpus[where])
    if kind in ("blocks", "rows", "grain"):
        more = {"window_bytes": SMALLEST_WINDOW} if kind == "rows" else {}
        source = source.shuffle(kind, 5, **more)
    elif kind == "composite":
        source = CompositeShardedSource(
            [source, numbers(corpus["rows" if where != "rows" else "blocks"])]
        )
    elif kind == "data set":
        data = datasets.Dataset.from_list(list(source))
        source = HFDatasetShardedSource(data).shuffle("rows", 3)
    elif kind == "mapped":
        source = source.rename_fields({"n": "m"}).rename_fields({"m": "n"})
    elif kind == "bucketed":
        options = {"bucket_batches": 3, **options}
    return AsyncDataLoader(source, 12, **{"lanes": 3, **options})


@pytest.mark.parametrize("where", ["shards", "blocks", "rows"])
@pytest.mark.parametrize("kind", COUNTED)
def test_lanes_of_counted_rows_end_together(kind: str, where: str, corpus: dict[str, str]) -> None:
    """Each row once a pass, less those by which lanes are longer than the shortest."""
    with counted(kind, corpus, where, lanes=1, drop_last=False) as alone:
        expected = sorted(n for batch in alone for n in batch["n"].tolist())
    for epochs in (1, 2):
        with counted(kind, corpus, where, epochs=epochs) as loader:
            dropped = 0
            for _ in range(2):
                given = [n for batch in loader for n in batch["n"].tolist()]
                assert len(given) > epochs * len(expected) * 0.7
                if epochs == 1:
                    assert len(set(given)) == len(given)
                assert set(given) <= set(expected)
                counts = loader.stats()["sources"].values()
                before, dropped = (
                    dropped,
                    sum(each["dropped"].get("drop_last", 0) for each in counts),
                )
                assert len(given) + dropped - before == epochs * len(expected)
            state = loader.state_dict()
            # Passes that are repeated in front of buckets are one to the loader.
            passes = 1 if kind == "bucketed" else epochs
            assert {lane["epoch"] for lane in state["lanes"].values()} == {2 * passes}
            assert state["pass_start"] == state["step"]


@pytest.mark.parametrize("kind", COUNTED)
def test_ranks_and_restarts_of_counted_lanes(kind: str, corpus: dict[str, str]) -> None:
    """Three passes; ranks change in the middle of each and where it ends."""
    with counted(kind, corpus, "shards") as whole:
        expected = [list(whole) for _ in range(3)]
    steps = [len(each) for each in expected]
    state: Any = None
    given: list[list[Batch]] = [[], [], []]
    worlds = iter([1, 2, 3, 4, 6, 12])
    for epoch in range(3):
        for part in (steps[epoch] // 2, None):
            world = next(worlds)
            parts, states = [], []
            for rank in range(world):
                with counted(kind, corpus, "shards", rank=rank, world_size=world) as loader:
                    if state is not None:
                        loader.load_state_dict(state)
                    parts.append(list(loader) if part is None else take(loader, part))
                    states.append(json.loads(json.dumps(loader.state_dict())))
            given[epoch] += [joined(step) for step in zip(*parts, strict=True)]
            state = merge_states(states)
    for epoch in range(3):
        assert difference(given[epoch], expected[epoch]) is None


def test_rows_that_nobody_counted_need_steps(corpus: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n" * 50)
    for source in (
        TextShardedSource(str(tmp_path / "a.txt")),
        numbers(corpus["shards"]).filter(lambda row: row["n"] % 3 != 1),
        ParquetShardedSource(corpus["shards"], on_error="skip").drop_fields(["input_ids"]),
        PackedShardedSource(ParquetShardedSource(corpus["shards"]), 64, EOS),
        PythonRows(),
    ):
        with (
            AsyncDataLoader(source, 4, lanes=2) as loader,
            pytest.raises(ValueError, match=r"not known without reading.*give steps="),
        ):
            next(iter(loader))


def mixed(corpus: dict[str, str], **options: Any) -> Source:
    sources = {name: ParquetShardedSource(path) for name, path in corpus.items()}
    weights = {"shards": 0.5, "blocks": 0.3, "rows": 0.2}
    return MixedShardedSource(sources, weights, block_size=20, seed=4, **options)


def packed(corpus: dict[str, str], strategy: Any = "greedy", **options: Any) -> Source:
    return PackedShardedSource(
        mixed(corpus),
        64,
        EOS,
        strategy=strategy,
        pack_window=20,
        include_segment_ids=True,
        shuffle=True,
        **options,
    )


PIPELINES: dict[str, Callable[[dict[str, str]], tuple[Source, dict[str, Any]]]] = {
    "mix": lambda corpus: (mixed(corpus), {"padding": {"input_ids": PadSpec(length=40)}}),
    "greedy": lambda corpus: (packed(corpus), {}),
    "first_fit": lambda corpus: (packed(corpus, "first_fit"), {}),
    "balanced": lambda corpus: (packed(corpus, balance_groups=8), {}),
    "steps": lambda corpus: (
        PackedShardedSource(
            ParquetShardedSource(corpus["blocks"]).shuffle("rows", 1, window_bytes=SMALLEST_WINDOW),
            64,
            EOS,
        ),
        {"steps": 60},
    ),
    "window": lambda corpus: (packed(corpus), {"shuffle_buffer_size": 13, "seed": 5}),
    "rampup": lambda corpus: (packed(corpus), {"batch_rampup": {3: 2}}),
}
LANES = 4
ROWS = 24


def rank_of(
    corpus: dict[str, str], kind: str, rank: int, world: int, threads: int = 2, **more: Any
) -> AsyncDataLoader:
    source, options = PIPELINES[kind](corpus)
    return AsyncDataLoader(
        source,
        ROWS,
        rank=rank,
        world_size=world,
        num_threads=threads,
        **{"lanes": LANES, **options, **more},
    )


def take(loader: AsyncDataLoader, steps: int) -> list[Batch]:
    iterator = iter(loader)
    return [next(iterator) for _ in range(steps)]


def together(
    corpus: dict[str, str], kind: str, world: int, steps: int, state: Any = None, threads: int = 2
) -> tuple[list[Batch], Any]:
    """So many global batches, and the state behind them."""
    parts, states = [], []
    for rank in range(world):
        with rank_of(corpus, kind, rank, world, threads) as loader:
            if state is not None:
                loader.load_state_dict(state)
            parts.append(take(loader, steps))
            states.append(json.loads(json.dumps(loader.state_dict())))
    return [joined(step) for step in zip(*parts, strict=True)], merge_states(states)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", PIPELINES)
def test_any_number_of_ranks_and_threads(kind: str, corpus: dict[str, str]) -> None:
    whole, state = together(corpus, kind, 1, 12)
    assert sorted(state["lanes"]) == ["0", "1", "2", "3"]
    for world, threads in ((1, 4), (2, 1), (3, 2), (4, 2), (8, 1)):
        batches, merged = together(corpus, kind, world, 12, threads=threads)
        assert difference(batches, whole) is None
        assert merged == state


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", PIPELINES)
def test_restored_at_every_step_by_other_numbers_of_ranks(
    kind: str, corpus: dict[str, str]
) -> None:
    whole, _ = together(corpus, kind, 1, 14)
    running = rank_of(corpus, kind, 0, 1)
    for step in range(12):
        state = json.loads(json.dumps(running.state_dict()))
        world = (1, 2, 3, 4)[step % 4]
        batches, after = together(corpus, kind, world, 2, state)
        assert difference(batches, whole[step : step + 2]) is None
        # And once more from there.
        batches, _ = together(corpus, kind, 1, 14 - step - 2, after)
        assert difference(batches, whole[step + 2 :]) is None
        restored = rank_of(corpus, kind, 0, 1)
        restored.load_state_dict(state)
        assert restored.state_dict() == state
        restored.close()
        take(running, 1)
    running.close()


def test_a_step_of_any_number_and_digests_that_add_up(corpus: dict[str, str]) -> None:
    whole, _ = together(corpus, "steps", 1, 20)
    digests = []
    for world in (1, 2):
        total = 0
        for rank in range(world):
            with rank_of(corpus, "steps", rank, world) as loader:
                take(loader, 9)
                share = ROWS // world
                for step in (0, 3, 8, 9, 19):
                    expected = whole[step]["input_ids"][rank * share : (rank + 1) * share]
                    assert np.array_equal(loader.at(step)["input_ids"], expected), step
                assert loader.state_dict()["step"] == 9
                with pytest.raises(IndexError, match="there are 60 steps"):
                    loader.at(60)
                total += int(loader.digest(), 16)
        digests.append(total % 2**64)
    assert digests[0] == digests[1]


def test_a_rank_reads_its_own_lanes_alone(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "files", 0, 1200, shards=8)
    source = ParquetShardedSource(path)
    options: dict[str, Any] = {"padding": {"input_ids": PadSpec(length=40)}, "steps": 30}

    def bytes_read(rank: int, world: int, lanes: int) -> int:
        loader = AsyncDataLoader(
            source, 40, rank=rank, world_size=world, lanes=lanes, num_threads=1, **options
        )
        with loader:
            rows = sum(len(batch["n"]) for batch in loader)
            assert rows == 30 * 40 // world
            return int(loader.stats()["bytes_read"])

    alone = bytes_read(0, 1, 4)
    by_rank = [bytes_read(rank, 4, 4) for rank in range(4)]
    assert max(by_rank) < alone / 3
    # Without lanes every rank reads all.
    assert min(bytes_read(rank, 4, 1) for rank in range(4)) > alone / 2


def test_weights_and_schedules_hold_in_every_lane(corpus: dict[str, str]) -> None:
    points = [
        WeightSchedulePoint(0, {"shards": 1.0, "blocks": 0.0, "rows": 0.0}),
        WeightSchedulePoint(30, {"shards": 0.0, "blocks": 0.5, "rows": 0.5}),
    ]
    sources = {name: ParquetShardedSource(path) for name, path in corpus.items()}
    for unit in ("steps", "examples"):
        at = [
            points[0],
            WeightSchedulePoint(30 * (ROWS if unit == "examples" else 1), points[1].weights),
        ]
        mix = MixedShardedSource(
            sources,
            weight_scheduler=WeightScheduler(at, "step"),
            schedule_unit=unit,  # type: ignore[arg-type]
            block_size=6,
            seed=1,
        )
        loader = AsyncDataLoader(mix, ROWS, lanes=LANES, padding={"input_ids": PadSpec(length=40)})
        batches = take(loader, 60)
        for step, batch in enumerate(batches):
            for lane in range(LANES):
                own = batch["__source__"][lane * 6 : (lane + 1) * 6]
                expected = ["shards"] * 6 if step < 30 else ["blocks"] * 3 + ["rows"] * 3
                assert sorted(own) == sorted(expected), (unit, step, lane)
        # Lanes do not all have the same order.
        orders = {tuple(batches[40]["__source__"][lane * 6 : (lane + 1) * 6]) for lane in range(4)}
        orders |= {tuple(batches[41]["__source__"][lane * 6 : (lane + 1) * 6]) for lane in range(4)}
        assert len(orders) > 2
        loader.close()


def test_token_counts_are_of_the_lanes_read(corpus: dict[str, str]) -> None:
    with rank_of(corpus, "greedy", 0, 1) as loader:
        take(loader, 10)
        whole = loader.stats()
    parts = []
    for rank in range(4):
        with rank_of(corpus, "greedy", rank, 4) as loader:
            take(loader, 10)
            parts.append(loader.stats())
    assert sum(part["tokens"] for part in parts) == whole["tokens"]
    for name in corpus:
        tokens = sum(part["sources"][name]["tokens"] for part in parts)
        assert tokens == whole["sources"][name]["tokens"] > 0


def test_the_mix_is_edited_in_every_lane(corpus: dict[str, str]) -> None:
    def loader(weights: dict[str, float], rank: int = 0, world: int = 1) -> AsyncDataLoader:
        sources = {name: ParquetShardedSource(path) for name, path in corpus.items()}
        mix = MixedShardedSource(sources, weights, block_size=20, seed=4)
        padding = {"input_ids": PadSpec(length=40)}
        return AsyncDataLoader(mix, ROWS, lanes=LANES, rank=rank, world_size=world, padding=padding)

    before = loader({"shards": 1, "blocks": 1, "rows": 0})
    take(before, 7)
    state = before.state_dict()
    after = loader({"shards": 0, "blocks": 1, "rows": 1})
    with pytest.raises(ValueError, match=r"mix\.weights"):
        after.load_state_dict(state)
    after.load_state_dict(state, allow=("mix",))
    batches = take(after, 20)
    for batch in batches[4:]:
        assert "shards" not in batch["__source__"]
    assert {"blocks", "rows"} == set(batches[-1]["__source__"])
    ranks = [loader({"shards": 0, "blocks": 1, "rows": 1}, rank, 2) for rank in range(2)]
    for rank in ranks:
        rank.load_state_dict(state, allow=("mix",))
    both = [take(rank, 20) for rank in ranks]
    assert difference([joined(step) for step in zip(*both, strict=True)], batches) is None


def test_text_is_tokenized_and_packed_in_lanes(tmp_path: Path, gpt2: str) -> None:
    for shard in range(4):
        lines = [json.dumps({"text": f"row {shard} {i} " * (i % 7)}) for i in range(50)]
        (tmp_path / f"{shard}.jsonl").write_text("\n".join(lines))
    tokenizer = Tokenizer(gpt2)
    source = TokenizedShardedSource(
        JsonShardedSource(str(tmp_path / "*.jsonl")), tokenizer, TokenizerConfig(gpt2)
    )
    rows = PackedShardedSource(source, 32, tokenizer.eos_token_id, shuffle=False)
    with AsyncDataLoader(rows, 8, lanes=2, steps=30) as loader:
        batches = list(loader)
        assert [batch["input_ids"].shape for batch in batches] == [(8, 32)] * 30
        # Lane 0 has shards 0 and 2.
        decoded = tokenizer.decode(batches[0]["input_ids"][0].tolist())
        assert "row 0" in decoded
        assert "row 1" not in decoded
        assert "row 1" in tokenizer.decode(batches[0]["input_ids"][4].tolist())


# ---- steps ---------------------------------------------------------------------------------------


def test_steps_end_an_iteration_and_the_next_goes_on(corpus: dict[str, str]) -> None:
    source = numbers(corpus["shards"])
    with AsyncDataLoader(source, 7, steps=25) as loader:
        rows = []
        states = []
        for _ in range(4):
            batches = list(loader)
            assert len(batches) == 25
            assert loader.is_exhausted
            states.append(json.loads(json.dumps(loader.state_dict())))
            rows += [int(n) for batch in batches for n in batch["n"]]
    # 700 rows of a source of 300: passes follow each other, none is lost.
    expected = [*range(300), *range(300), *range(100)]
    assert rows == expected
    assert [state["step"] for state in states] == [25, 50, 75, 100]
    # A longer run goes on from a shorter one's end.
    with AsyncDataLoader(source, 7, steps=60) as longer:
        longer.load_state_dict(states[0])
        batches = list(longer)
        assert len(batches) == 60
        assert [int(n) for batch in batches[:50] for n in batch["n"]] == rows[175:525]


def test_steps_at_the_end_before_it_was_seen(corpus: dict[str, str]) -> None:
    source = numbers(corpus["shards"])
    with AsyncDataLoader(source, 10, steps=5) as loader:
        iterator = iter(loader)
        for _ in range(5):
            next(iterator)
        last = loader.state_dict()  # the end has not come yet
        assert next(iterator, None) is None
        ended = loader.state_dict()
        assert last != ended
        with AsyncDataLoader(source, 10, steps=5) as other:
            other.load_state_dict(last)
            assert list(other) == []
            assert other.state_dict() == ended
            assert [int(n) for n in next(iter(other))["n"]] == list(range(50, 60))


def test_packing_goes_on_over_the_passes(corpus: dict[str, str]) -> None:
    def loader(**options: Any) -> AsyncDataLoader:
        source = PackedShardedSource(ParquetShardedSource(corpus["rows"]), 50, EOS, shuffle=False)
        return AsyncDataLoader(source, 4, **options)

    with loader(epochs=3) as three, loader(steps=25) as steps:
        passes, endless = list(three), list(steps)
    assert len(endless) == 25
    shorter = min(len(passes), 25)
    assert shorter > 15
    assert difference(endless[:shorter], passes[:shorter]) is None


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lanes": 0}, "lanes: must be at least 1, not 0"),
        ({"lanes": 5, "steps": 3}, r"batch_size: must be a multiple of lanes \(5\), not 24"),
        ({"lanes": 2, "drop_last": False}, "drop_last: lanes end together.*give steps="),
        ({"steps": 0}, "steps: must be at least 1, not 0"),
        ({"steps": 3, "epochs": 2}, "epochs: has no meaning beside steps"),
    ],
)
def test_refused_when_made(options: dict[str, Any], message: str, corpus: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=message):
        AsyncDataLoader(numbers(corpus["shards"]), ROWS, **options)


def test_refused_where_the_step_as_a_whole_decides(corpus: dict[str, str], tmp_path: Path) -> None:
    ragged = AsyncDataLoader(ParquetShardedSource(corpus["shards"]), 8, lanes=2, steps=3)
    with pytest.raises(ValueError, match=r"'input_ids' are padded.*PadSpec\(length=\.\.\.\)"):
        next(iter(ragged))
    (tmp_path / "rows.jsonl").write_text("".join(f'{{"a": {i}}}\n' for i in range(90)))
    rows = AsyncDataLoader(JsonShardedSource(str(tmp_path / "rows.jsonl")), 8, lanes=2, steps=3)
    with pytest.raises(ValueError, match="lanes: the types of JSON rows"):
        next(iter(rows))
    unbalanced = AsyncDataLoader(packed(corpus, balance_groups=6), ROWS, lanes=LANES)
    with pytest.raises(ValueError, match="balance_groups: must be a multiple of lanes"):
        next(iter(unbalanced))


def test_an_empty_lane_is_an_error(tmp_path: Path) -> None:
    schema = pa.schema([("n", pa.int64())])
    for shard in range(2):
        pq.write_table(
            pa.table({"n": range(5)} if shard else {"n": []}, schema), tmp_path / f"{shard}.parquet"
        )
    source = ParquetShardedSource(str(tmp_path / "*.parquet"))
    for options in ({"steps": 3}, {}):
        loader = AsyncDataLoader(source, 2, lanes=2, **options)
        with pytest.raises(
            ValueError, match=r"has no rows.*use fewer lanes: there are none in lane 0 of 2"
        ):
            list(loader)
    mix = MixedShardedSource({"a": source, "b": source}, {"a": 1, "b": 1})
    with pytest.raises(ValueError, match=r'"\w"\] is empty.*there are none in lane 0 of 2'):
        list(AsyncDataLoader(mix, 2, lanes=2))


def test_documents_none_of_which_fits_are_an_error(corpus: dict[str, str]) -> None:
    """A stream that goes over its data for ever would look for one that fits for ever."""
    none_fits = PackedShardedSource(
        HFDatasetShardedSource(pa_rows(3000)), 4, EOS, overlong="drop", strategy="greedy"
    )
    with AsyncDataLoader(none_fits, 2) as finite:
        assert list(finite) == []
    for options in ({"steps": 1}, {"steps": 1, "lanes": 2}):
        loader = AsyncDataLoader(none_fits, 2, **options)
        with pytest.raises(ValueError, match=r"none of the last 1048576 documents.*seq_length"):
            list(loader)


def pa_rows(rows: int) -> Any:
    import datasets

    return datasets.Dataset(pa.table({"input_ids": [[1, 2, 3, 4]] * rows}))


def test_states_that_do_not_fit(corpus: dict[str, str]) -> None:
    def state_of(rank: int, world: int, steps: int, **more: Any) -> dict[str, Any]:
        with rank_of(corpus, "greedy", rank, world, **more) as loader:
            take(loader, steps)
            return loader.state_dict()

    first, second = state_of(0, 2, 3), state_of(1, 2, 3)
    assert sorted(first["lanes"]) == ["0", "1"]
    with rank_of(corpus, "greedy", 1, 2) as loader:
        with pytest.raises(ValueError, match=r"lacks lane 2 of 4, which rank 1 of 2.*merge_states"):
            loader.load_state_dict(first)
        loader.load_state_dict(merge_states([second, first]))
        loader.load_state_dict(second)  # its own lanes are enough
    with pytest.raises(ValueError, match="none has lane 2 of 4"):
        merge_states([first])
    with pytest.raises(ValueError, match="'rows' differs"):
        merge_states([first, state_of(1, 2, 4)])
    with pytest.raises(ValueError, match="'plan' differs"):
        merge_states([first, state_of(1, 2, 3, shuffle_buffer_size=5)])
    tampered = json.loads(json.dumps(second))
    tampered["lanes"]["1"] = {**first["lanes"]["1"], "epoch": 7}
    with pytest.raises(ValueError, match="lane 1 at another position"):
        merge_states([first, tampered])
    with pytest.raises(ValueError, match="none to merge"):
        merge_states([])
    with pytest.raises(ValueError, match="not a state of a loader"):
        merge_states([{"a": 1}])
    # What easydata.torch.dataset() saves within a batch.
    within = [{"version": 1, "loader": each, "rows_taken": 1} for each in (first, second)]
    with pytest.raises(ValueError, match=r'state of easydata\.torch\.dataset.* it has as "loader"'):
        merge_states(within)
    assert merge_states([each["loader"] for each in within]) == merge_states([first, second])
    both = merge_states([first, second])
    with (
        rank_of(corpus, "greedy", 0, 1, lanes=2) as other,
        pytest.raises(ValueError, match=r"loader\.lanes"),
    ):
        other.load_state_dict(both)
    # Without lanes all ranks' states are the same.
    with AsyncDataLoader(packed(corpus), ROWS) as one, AsyncDataLoader(packed(corpus), ROWS) as two:
        take(one, 2)
        take(two, 2)
        assert merge_states([one.state_dict(), two.state_dict()]) == one.state_dict()
        take(two, 1)
        with pytest.raises(ValueError, match="not of the same step"):
            merge_states([one.state_dict(), two.state_dict()])
