"""easydata.torch.dataset(loader, for_trainer=True): rows for any batch size, passes, states."""

import itertools
import json
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import easydata
from easydata import AsyncDataLoader, PadSpec

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")

import easydata.torch  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

IDS = [list(range(1, 2 + n * 5 % 7)) for n in range(30)]


def rows_of(path: Path, **columns: Any) -> easydata.ParquetShardedSource:
    """Rows of several lengths, with their numbers and a text."""
    table = {"input_ids": IDS, "n": list(range(30)), "text": [f"row {n}" for n in range(30)]}
    masks = [[1] * len(ids) for ids in IDS]
    pq.write_table(pa.table({**table, "attention_mask": masks, **columns}), path / "in.parquet")
    return easydata.ParquetShardedSource(path / "in.parquet")


def trainer_rows(source: Any, **options: Any) -> Any:
    options.setdefault("batch_size", 6)
    return easydata.torch.dataset(AsyncDataLoader(source, **options), for_trainer=True)


def numbers(rows: Any) -> list[int]:
    return [int(row["n"]) for row in rows]


@pytest.mark.parametrize("loaded", [1, 6, 15])
def test_rows_of_one_batch_have_one_length(tmp_path: Path, loaded: int) -> None:
    data = trainer_rows(rows_of(tmp_path), batch_size=loaded)
    for size in (1, 4, 6, 30, 50):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            batches = list(DataLoader(data, batch_size=size))
        assert [len(batch["n"]) for batch in batches] == [
            min(size, 30 - start) for start in range(0, 30, size)
        ]
        for batch in batches:
            for n, ids, mask, labels in zip(
                batch["n"],
                batch["input_ids"].tolist(),
                batch["attention_mask"].tolist(),
                batch["labels"].tolist(),
                strict=True,
            ):
                length = len(IDS[int(n)])
                assert ids == IDS[int(n)] + [0] * (len(ids) - length)
                assert mask == [1] * length + [0] * (len(ids) - length)
                assert labels == IDS[int(n)] + [-100] * (len(ids) - length)
        assert numbers(itertools.chain(*([{"n": n} for n in batch["n"]] for batch in batches)))


def test_columns_are_filled_up_as_the_loader_does(tmp_path: Path) -> None:
    prompts = [list(range(1, 2 + n * 3 % 5)) for n in range(30)]
    lengths = {"ids_of_prompts": prompts, "x": [[0.5] * len(ids) for ids in IDS]}
    source = rows_of(tmp_path, **lengths)
    padding = {"ids_of_prompts": PadSpec(value=7, side="left"), "x": PadSpec(value=2)}
    (whole,) = AsyncDataLoader(source, batch_size=30, padding=padding)
    data = trainer_rows(source, batch_size=4, padding=padding, drop_last=False)
    (batch,) = DataLoader(data, batch_size=30)
    for name in ("ids_of_prompts", "x", "input_ids"):
        assert batch[name].tolist() == whole[name].tolist(), name
    assert batch["ids_of_prompts"][0].tolist()[0] == 7
    left = {name: PadSpec(side="left") for name in ("input_ids", "attention_mask")}
    data = trainer_rows(rows_of(tmp_path), batch_size=4, padding=left, drop_last=False)
    (batch,) = DataLoader(data, batch_size=30)
    made = torch.where(batch["attention_mask"] == 1, batch["input_ids"], -100)
    assert batch["labels"].tolist() == made.tolist()


def test_whole_numbers_are_int64_and_may_be_written_to(tmp_path: Path) -> None:
    small = {
        "small": pa.array(range(30), pa.int8()),
        "same": pa.array([[n, n] for n in range(30)], pa.list_(pa.int64())),
        "real": pa.array([n / 2 for n in range(30)], pa.float32()),
        "yes": [n % 2 == 0 for n in range(30)],
    }
    source = rows_of(tmp_path, **small)
    for row in trainer_rows(source):
        types = {name: getattr(value, "dtype", str) for name, value in row.items()}
        assert types == {
            **dict.fromkeys(("input_ids", "attention_mask", "labels"), torch.int64),
            **dict.fromkeys(("n", "small", "same"), torch.int64),
            "text": str,
            "real": torch.float32,
            "yes": torch.bool,
        }
        row["same"] += 1  # the engine's memory would be written to
    with AsyncDataLoader(source, batch_size=6) as loader:
        for batch, plain in zip(loader, itertools.count(0, 6), strict=False):
            data = easydata.torch.dataset(loader, for_trainer=True)._tensors(batch)
            data["same"] += 1
            assert batch["same"][0].tolist() == [plain, plain]


def test_labels_are_made_where_there_are_none(tmp_path: Path) -> None:
    trained = [[n % 2] * len(ids) for n, ids in enumerate(IDS)]
    (tmp_path / "masks").mkdir()
    masked = rows_of(tmp_path / "masks", completion_mask=trained)
    for n, row in enumerate(trainer_rows(masked)):
        made = row["labels"].tolist()[: len(IDS[n])]
        assert made == (IDS[n] if n % 2 else [-100] * len(IDS[n]))
    (tmp_path / "given").mkdir()
    given = rows_of(tmp_path / "given", labels=[[5] * len(ids) for ids in IDS])
    assert {n for row in trainer_rows(given) for n in row["labels"].tolist()} == {5, -100}
    (tmp_path / "classes").mkdir()
    classes = rows_of(tmp_path / "classes", label=list(range(30)))
    assert "labels" not in next(iter(trainer_rows(classes)))


# Passes.


def test_each_iteration_is_a_pass(tmp_path: Path) -> None:
    source = rows_of(tmp_path)
    shuffled = {"shuffle_buffer_size": 30, "seed": 3}
    loader = AsyncDataLoader(source, batch_size=6, **shuffled)
    passes = [[int(n) for batch in loader for n in batch["n"]] for _ in range(4)]
    assert len({tuple(each) for each in passes}) == 4
    data = trainer_rows(source, **shuffled)
    for _ in range(3):  # a look takes nothing
        assert int(next(iter(data))["n"]) == passes[0][0]
    assert [numbers(data) for _ in range(3)] == passes[:3]
    for number in (1, 3, 0, 3, 2):
        data.set_epoch(number)
        assert numbers(data) == passes[number], number
    assert numbers(data) == passes[3]
    # As one that was made for a Trainer that resumes in a later epoch.
    later = trainer_rows(source, **shuffled)
    later.set_epoch(2)
    assert numbers(itertools.islice(later, 5)) == passes[2][:5]
    assert numbers(later) == passes[2]


@pytest.mark.parametrize("at_once", [1, 4])
def test_restored_at_every_row_the_rest_comes(tmp_path: Path, at_once: int) -> None:
    source = rows_of(tmp_path)
    options = {"shuffle_buffer_size": 30, "seed": 3, "drop_last": False, "batch_size": 7}
    whole = trainer_rows(source, **options)
    passes = [numbers(whole) for _ in range(3)]
    running = trainer_rows(source, **options)
    rows = running._rows_of_pass(at_once)
    for taken in range(31):
        state = json.loads(json.dumps(running.state_dict()))
        restored = trainer_rows(source, **options)
        restored.load_state_dict(state)
        assert restored.state_dict() == state
        if taken == 30:  # the end of the pass: the Trainer has begun the next
            restored.set_epoch(1)
            assert numbers(restored) == passes[1]
        else:
            assert numbers(restored) == passes[0][taken:], taken
            assert numbers(restored) == passes[1]
        restored.set_epoch(2)
        assert numbers(restored) == passes[2]
        row = next(rows, None)
        assert (None if row is None else int(row["n"])) == [*passes[0], None][taken]


def test_a_loader_that_is_not_at_its_beginning_gives_the_rest(tmp_path: Path) -> None:
    loader = AsyncDataLoader(rows_of(tmp_path), batch_size=6)
    next(iter(loader))
    data = easydata.torch.dataset(loader, for_trainer=True)
    data.set_epoch(2)  # the Trainer's count, not the loader's
    assert numbers(data) == list(range(6, 30))
    assert numbers(data) == list(range(30))


def test_two_iterations_do_not_take_from_each_other(tmp_path: Path) -> None:
    data = trainer_rows(rows_of(tmp_path))
    first = iter(data)
    assert int(next(first)["n"]) == 0
    assert numbers(data) == list(range(30))
    with pytest.raises(RuntimeError, match="another iteration over this dataset has begun"):
        numbers(first)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"drop_last": False},
        {"batch_size": 7},
        {"batch_size": 7, "drop_last": False},
        {"epochs": 3, "batch_size": 7},
        {"epochs": 3, "batch_size": 7, "drop_last": False},
        {"steps": 4},
        {"steps": 9, "batch_size": 8, "world_size": 2, "rank": 1},
        {"batch_size": 8, "world_size": 4, "drop_last": False},
        {"batch_size": 8, "world_size": 2, "shuffle_buffer_size": 10},
    ],
)
def test_the_length_is_that_of_a_pass(tmp_path: Path, options: dict[str, Any]) -> None:
    data = trainer_rows(rows_of(tmp_path), **options)
    assert len(data) == len(numbers(data))


def test_no_length_is_said_where_it_is_not_known(tmp_path: Path) -> None:
    source = rows_of(tmp_path)
    mixed = easydata.MixedShardedSource(
        {"a": source, "b": source.take(5)}, stop_strategy="first_exhausted"
    )
    for unknown, options in (
        (source.filter(lambda row: row["n"] > 3), {}),
        (mixed, {}),
        (mixed.select_fields(["n"]), {}),
        (source, {"batch_rampup": {3: 2}}),
    ):
        with pytest.raises(TypeError):
            len(trainer_rows(unknown, **options))
    assert len(trainer_rows(mixed, steps=3)) == 18


def test_rows_of_several_datasets_have_the_same_columns(tmp_path: Path) -> None:
    datasets = [
        easydata.DatasetConfig([{name: 1, "n": n} for n in range(3)], name=name) for name in "ab"
    ]

    def data() -> Any:
        pipeline = easydata.create_pipeline(datasets, load={"batch_size": 1}).source()
        return easydata.torch.dataset(pipeline.load().build(), for_trainer=True)

    assert [int(row["n"]) for row in data()] == [0, 0, 1, 1, 2, 2]
    assert len(data()) == 6
    with pytest.raises(ValueError, match=r"other columns each.*\['a', 'n'\], \['b', 'n'\]"):
        list(DataLoader(data(), batch_size=4))


def test_what_is_no_loader_is_refused(tmp_path: Path) -> None:
    source = rows_of(tmp_path)
    with pytest.raises(TypeError, match=r"takes a loader, AsyncDataLoader\(.*got ParquetSharded"):
        easydata.torch.dataset(source, for_trainer=True)  # type: ignore[arg-type, call-overload]
    with pytest.raises(ValueError, match="leave batches=True out"):
        easydata.torch.dataset(AsyncDataLoader(source), batches=True, for_trainer=True)
