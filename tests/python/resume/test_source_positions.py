"""Where sources of files stand: rows, their numbers in errors, and counts, in each format.

All files are larger than what is read at once, and all that is expected comes of how they were
written (numbered_files.py).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from batches import difference
from cases_in_turn import some_in_turn
from data_folders import EOS, tokenizer_folder
from easydata.transforms import ExpandTransform, LimitedShardedSource
from numbered_files import BAD, KINDS, ROWS, Numbered, bytes_of_one_pass, number_of, write

from easydata import (
    AsyncDataLoader,
    CompositeShardedSource,
    PackedShardedSource,
    PadSpec,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
)

BATCH = 100


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Numbered]:
    """Files by kind and bad rows; each is written once."""
    folder = tmp_path_factory.mktemp("numbered")

    @cache
    def get(kind: str, bad: tuple[int, ...] = ()) -> Numbered:
        return write(folder, kind, bad)

    return get


def load(source: Any, **options: Any) -> AsyncDataLoader:
    return AsyncDataLoader(
        source, **{"batch_size": BATCH, "drop_last": False, "num_threads": 2, **options}
    )


def numbers(batch: Any) -> list[int]:
    return [number_of(text) for text in batch["text"]]


def said_by(error: BaseException) -> str:
    """The text of an error, with its notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def drain(loader: AsyncDataLoader, states: list[str] | None = None) -> tuple[list[int], str]:
    """Numbers of the rows that come, and what the error says that ends them.

    `states` gets the position behind each batch.
    """
    rows: list[int] = []
    try:
        for batch in loader:
            rows += numbers(batch)
            if states is not None:
                states.append(json.dumps(loader.state_dict()))
    except (ValueError, ZeroDivisionError) as error:
        return rows, said_by(error)
    return rows, ""


# Resuming.


@pytest.mark.parametrize("kind", some_in_turn(KINDS, 0))
def test_rows_and_their_numbers_after_a_restart(kind: str, files: Any) -> None:
    """From every third step on: the rest of the rows, and the right number in an error at its end.

    Some of the steps end just before, in and just behind a chunk, a slice or a group.
    """
    made: Numbered = files(kind)
    last = ROWS - 5

    def fails_at_the_last(row: Any) -> Any:
        if number_of(row["text"]) == last:
            raise ZeroDivisionError("the last")
        return row

    def loader() -> AsyncDataLoader:
        return load(made.source().map(fails_at_the_last))

    with loader() as whole:
        states = [json.dumps(whole.state_dict())]
        rows, error = drain(whole, states)
    assert rows == list(range(last // BATCH * BATCH))
    assert error == f"the last\nat {made.address(last)}"
    for step in [*range(0, len(states), 3), len(states) - 1]:
        with loader() as restored:
            restored.load_state_dict(json.loads(states[step]))
            assert drain(restored) == (rows[step * BATCH :], error), step


@pytest.mark.parametrize("kind", some_in_turn(KINDS, 1))
def test_every_row_can_be_gone_on_from(kind: str, files: Any) -> None:
    """Single rows around the ends of chunks, slices and groups; and by their number."""
    made: Numbered = files(kind)
    with load(made.source(), batch_size=1) as loader:
        states = {0: loader.state_dict()}
        for row, batch in enumerate(loader):
            assert numbers(batch) == [row]
            states[row + 1] = loader.state_dict()
    # The cursors change where another block is begun.
    cursors = {row: json.dumps(state["cursor"]) for row, state in states.items()}
    edges = [row for row in range(1, ROWS) if cursors[row] != cursors[row - 1]]
    assert len(edges) >= 3
    near = {row + shift for row in edges[:4] + edges[-2:] for shift in (-1, 0, 1, 300)}
    (name,) = made.source().shard_names
    for row in sorted(near & set(range(ROWS + 1))):
        with load(made.source(), batch_size=1) as restored:
            restored.load_state_dict(json.loads(json.dumps(states[row])))
            assert [numbers(batch) for batch in islice(restored, 3)] == [
                [number] for number in range(row, min(row + 3, ROWS))
            ]
        by_number = islice(made.source().open_shard_at_row(name, row), 3)
        assert [number_of(r["text"]) for r in by_number] == list(range(row, min(row + 3, ROWS)))


# Errors.


def same(row: Any) -> Any:
    return row


def every(row: Any) -> bool:
    return True


def tokenized(source: Any, **options: Any) -> Any:
    folder = str(tokenizer_folder("byte-level"))
    config = TokenizerConfig(name_or_path=folder, max_length=64, truncation=True)
    return TokenizedShardedSource(source, folder, config, **options)


def packed(source: Any) -> Any:
    return PackedShardedSource(tokenized(source), 64, EOS)


THROUGH: dict[str, Callable[[Any], Any]] = {
    "nothing": same,
    "map": lambda source: source.map(same),
    "filter": lambda source: source.filter(every),
    "tokenize": tokenized,
    "pack": packed,
}


def error_of(loader: AsyncDataLoader) -> tuple[int, str]:
    """How many batches come, and the error that ends them."""
    count = 0
    try:
        for _ in loader:
            count += 1
    except ValueError as error:
        return count, said_by(error)
    return count, ""


@pytest.mark.parametrize("bad", [1900, 2590])
@pytest.mark.parametrize("kind", some_in_turn(KINDS, 2))
def test_a_bad_row_is_named_by_its_number_and_line(kind: str, bad: int, files: Any) -> None:
    """Behind several chunks and many blank lines: at once, and after a restart just before it."""
    made: Numbered = files(kind, (bad,))
    for through, what in THROUGH.items():

        def loader(what: Callable[[Any], Any] = what) -> AsyncDataLoader:
            return load(what(made.source()), batch_size=8)

        with loader() as whole:
            count, error = error_of(whole)
            state = whole.state_dict()
        assert error.startswith(made.error(bad)), through
        if through != "pack":
            assert count == bad // 8
        with loader() as restored:
            restored.load_state_dict(json.loads(json.dumps(state)))
            assert error_of(restored) == (0, error), through


@pytest.mark.parametrize("kind", some_in_turn(KINDS, 0))
def test_a_row_that_a_callable_refuses_is_named_by_its_number(kind: str, files: Any) -> None:
    """With rows that cannot be read left out before and behind it; and after a restart."""
    made: Numbered = files(kind, BAD)

    def refuses(bad: int) -> Callable[[Any], Any]:
        def check(row: Any) -> Any:
            if number_of(row["text"]) == bad:
                raise ValueError("refused")
            return row

        return check

    for bad in (2000, 2591):
        for what in (
            lambda source, bad=bad: source.map(refuses(bad)),
            lambda source, bad=bad: source.filter(refuses(bad)),
            lambda source, bad=bad: tokenized(source.map(refuses(bad))),
            lambda source, bad=bad: packed(source.filter(every).map(refuses(bad))),
        ):
            message = f"refused\nat {made.address(bad)}"
            with load(what(made.source(on_error="skip"))) as whole:
                assert error_of(whole)[1] == message
                state = json.loads(json.dumps(whole.state_dict()))
            with load(what(made.source(on_error="skip"))) as restored:
                restored.load_state_dict(state)
                assert error_of(restored) == (0, message)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The rows that were put aside; what is not UTF-8 of them is there as base64, too."""
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    for row in rows:
        content = base64.b64decode(row.pop("content_base64", "")).decode(errors="replace")
        assert content in ("", row["content"])
    return rows


@pytest.mark.parametrize("kind", some_in_turn(KINDS, 1))
def test_rows_in_quarantine_have_their_addresses(kind: str, files: Any, tmp_path: Path) -> None:
    made: Numbered = files(kind, BAD)
    expected = [
        {"source": "s", "shard": str(made.path), "row": row, "content": made.contents[row]}
        for row in BAD
    ]

    def loader(name: str, what: Callable[[Any], Any] = same) -> AsyncDataLoader:
        aside = tmp_path / name
        source = made.source(on_error="quarantine", quarantine_path=aside)
        return load(what(source), prefetch_enabled=False)

    for through, what in THROUGH.items():
        aside = tmp_path / f"{through}.jsonl"
        with loader(aside.name, what) as whole:
            for _ in whole:
                pass
        lines = lines_of(aside)
        for line in lines:
            assert line.pop("error").startswith(made.message), through
        assert lines == expected, through
    # After a restart those that are still to come are there, and none has another number.
    with loader("whole.jsonl") as whole:
        states = [whole.state_dict()]
        states += [whole.state_dict() for _ in whole]
    for step in (5, 13, len(states) - 4):
        aside = tmp_path / f"{step}.jsonl"
        with loader(aside.name) as restored:
            restored.load_state_dict(json.loads(json.dumps(states[step])))
            rows, error = drain(restored)
        assert error == ""
        assert rows == made.good[step * BATCH :]
        put_aside = [line["row"] for line in lines_of(aside)]
        due = [row for row in BAD if row > made.good[step * BATCH - 1]]
        assert put_aside[len(put_aside) - len(due) :] == due
        assert put_aside == [row for row in BAD if row in put_aside]


@pytest.mark.parametrize("kind", ["jsonl", "txt", "groups.parquet", "batches.arrow"])
def test_bad_rows_of_shuffled_blocks_have_their_addresses(
    kind: str, files: Any, tmp_path: Path
) -> None:
    """Rows of chunks of lines are counted from the byte that their block's name tells."""
    made: Numbered = files(kind, BAD)
    for mode in ("blocks", "rows"):
        aside = tmp_path / f"{mode}.jsonl"
        source = made.source(on_error="quarantine", quarantine_path=aside)
        with load(source.shuffle(mode, 5)) as loader:
            rows, error = drain(loader)
        assert error == ""
        assert rows != made.good
        assert sorted(rows) == made.good
        found = []
        for line in lines_of(aside):
            path, _, byte = line["shard"].partition("@")
            assert path == str(made.path)
            first = 0
            if byte:
                first = sum(begin < int(byte) for begin in made.begins)
            found.append(first + line["row"])
        assert sorted(found) == list(BAD)
        by_byte = any("@" in line["shard"] for line in lines_of(aside))
        assert by_byte == (kind in ("jsonl", "txt"))


# Counts.


def is_kept(row: Any) -> bool:
    return number_of(row["text"]) % 7 != 0


LEFT_OUT_BY_FILTER = [row for row in range(ROWS) if row % 7 == 0 and row not in BAD]


def counts(loader: AsyncDataLoader) -> dict[str, int]:
    sources = loader.stats()["sources"]
    assert list(sources) == ["s"]
    return dict(sources["s"]["dropped"])


@pytest.mark.parametrize("kind", some_in_turn(KINDS, 2))
def test_rows_left_out_and_bytes_read_are_exact(kind: str, files: Any) -> None:
    """Over three epochs, in one lane: what came and what was left out is what there is."""
    made: Numbered = files(kind, BAD)
    for batch_size in (7, 1000):
        with load(
            made.source(on_error="skip").filter(is_kept), batch_size=batch_size, epochs=3
        ) as loader:
            rows, error = drain(loader)
            assert error == ""
            dropped = counts(loader)
            assert dropped.pop(made.what) == 3 * len(BAD)
            assert list(dropped.values()) == [3 * len(LEFT_OUT_BY_FILTER)]
            assert rows == 3 * [row for row in made.good if row not in LEFT_OUT_BY_FILTER]
            assert loader.stats()["bytes_read"] == 3 * bytes_of_one_pass(made)
    # An iteration is an epoch, too.
    with load(made.source(on_error="skip")) as loader:
        for epoch in (1, 2, 3):
            assert drain(loader) == (made.good, "")
            assert counts(loader) == {made.what: epoch * len(BAD)}
            assert loader.stats()["bytes_read"] == epoch * bytes_of_one_pass(made)


@pytest.mark.parametrize("kind", some_in_turn(KINDS, 0))
def test_rows_left_out_are_exact_after_restarts(kind: str, files: Any) -> None:
    made: Numbered = files(kind, BAD)

    def loader() -> AsyncDataLoader:
        return load(made.source(on_error="skip").filter(is_kept), batch_size=60, epochs=3)

    with loader() as whole:
        _, error = drain(whole)
        assert error == ""
        expected = counts(whole)
    assert expected[made.what] == 3 * len(BAD)
    state: Any = None
    for steps in (11, 1, 40, 23, 1000):  # one after the other, over the ends of epochs
        with loader() as part:
            if state is not None:
                part.load_state_dict(json.loads(json.dumps(state)))
            for _ in islice(part, steps):
                pass
            state = part.state_dict()
            found = counts(part)
    assert found == expected


@pytest.mark.parametrize("kind", some_in_turn(KINDS, 1))
def test_rows_left_out_are_exact_in_two_lanes(kind: str, files: Any, tmp_path: Path) -> None:
    """Where both lanes read all rows, a bad one is counted, reported and put aside once an epoch.

    Each lane has half of the rows then, and three epochs end with a step. Lanes that share blocks
    are not equally long: of those that go on, some rows come in their fourth epoch.
    """
    made: Numbered = files(kind, BAD)
    shared = kind in ("jsonl", "txt", "groups.parquet", "batches.arrow")
    assert 3 * len(made.good) % BATCH == 0
    aside = tmp_path / "aside.jsonl"
    source = made.source(on_error="quarantine", quarantine_path=aside)
    tokenizer = Tokenizer(str(tokenizer_folder("byte-level")))
    steps = 3 * len(made.good) // BATCH + (10 if shared else 0)
    padding = {column: PadSpec(length=64) for column in ("input_ids", "attention_mask")}
    with load(tokenized(source), lanes=2, steps=steps, drop_last=True, padding=padding) as loader:
        ids = [row[:12].tolist() for batch in loader for row in batch["input_ids"]]
        left_out = counts(loader)[made.what]
    rows = [int(text.split(":")[0]) for text in tokenizer.decode_batch(ids).to_pylist()]
    put_aside = [line["row"] for line in lines_of(aside)]
    if shared:
        least, most = min(map(rows.count, made.good)), max(map(rows.count, made.good))
        assert 2 <= least < most <= 4
        assert least * len(BAD) <= left_out <= most * len(BAD)
    else:
        assert sorted(rows) == sorted(3 * made.good)
        assert left_out == 3 * len(BAD)
        # It is put aside once, in whichever epoch it comes by.
        assert put_aside == list(BAD)


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("kind", ["groups.parquet", "slices.parquet", "batches.arrow"])
def test_bytes_read_are_exact_in_lanes(kind: str, lanes: int, files: Any) -> None:
    """Lanes deal row groups and record batches; where those are few, each reads all of them."""
    made: Numbered = files(kind)
    by_row = kind.startswith("slices")
    for columns in (None, ["i"]):
        source = made.source()
        if columns is not None:
            source = source.select_fields(columns)
        with load(source, lanes=lanes, epochs=3, drop_last=True) as loader:
            rows = [row for batch in loader for row in batch["i"].tolist()]
            stats = loader.stats()
        left_out = 3 * ROWS - len(rows)
        assert sum(stats["sources"]["s"]["dropped"].values()) == left_out
        assert 0 <= left_out < (BATCH if by_row or lanes == 1 else 3 * 170 + BATCH)
        readers = lanes if by_row else 1
        assert stats["bytes_read"] == 3 * readers * bytes_of_one_pass(made, columns)


# Steps by their number.


def expanded(source: Any) -> Any:
    class Twice(ExpandTransform):
        def __call__(self, example: Any) -> Iterator[Any]:
            yield from [example] * (1 + number_of(example["text"]) % 2)

    return source.transform(Twice())


LEAVE_OUT: dict[str, Callable[[Any], Any]] = {
    "bad rows": same,
    "bad rows and a filter": lambda source: source.filter(is_kept),
    "bad rows and a map": lambda source: source.transform(
        lambda row: row if is_kept(row) else None
    ),
    "bad rows and a limit": lambda source: LimitedShardedSource(source.filter(is_kept), 2000),
    "bad rows, others twice": expanded,
    "shuffled blocks": lambda source: source.filter(is_kept).shuffle("blocks", 3),
    "shuffled rows": lambda source: source.filter(is_kept).shuffle("rows", 3, window_bytes=1 << 20),
    "tokenized": lambda source: tokenized(source.filter(is_kept), additional_fields=["text"]),
    "two files": lambda source: CompositeShardedSource([source.filter(is_kept), source]),
}


@pytest.mark.parametrize("kind", some_in_turn(KINDS, 2))
def test_steps_by_number_behind_rows_that_were_left_out(kind: str, files: Any) -> None:
    made: Numbered = files(kind, BAD)
    names = LEAVE_OUT if kind in ("jsonl.gz", "csv", "groups.parquet") else ("bad rows and a map",)
    for name in names:
        what = LEAVE_OUT[name]

        def loader(what: Callable[[Any], Any] = what) -> AsyncDataLoader:
            return load(what(made.source(on_error="skip")), batch_size=96, epochs=2)

        with loader() as whole:
            batches, states = [], []
            for batch in whole:
                batches.append(batch)
                states.append(whole.state_dict())
        if name == "bad rows":
            assert [row for batch in batches for row in numbers(batch)] == 2 * made.good
        with loader() as fresh:
            for step in (0, 8, 17, 25, len(batches) // 2 + 3, len(batches) - 1):
                assert difference([fresh.at(step)], [batches[step]]) is None, (name, step)
            assert difference([next(iter(fresh))], batches[:1]) is None
            with pytest.raises(IndexError, match=f"there are {len(batches)} steps"):
                fresh.at(len(batches))
        with loader() as moved:
            moved.load_state_dict(json.loads(json.dumps(states[19])))
            for step in (3, 20, 24, len(batches) - 2):
                assert difference([moved.at(step)], [batches[step]]) is None, (name, step)
            assert difference(list(islice(moved, 2)), batches[20:22]) is None


@pytest.mark.parametrize("kind", some_in_turn(KINDS, 0))
def test_rows_by_number_count_those_that_are_left_out(kind: str, files: Any) -> None:
    """open_shard_at_row() goes by the number that errors tell, in sound files and in others."""
    made: Numbered = files(kind, BAD)
    source = made.source(on_error="skip")
    (name,) = source.shard_names
    assert len(source) == ROWS
    for row in (0, 4, 5, 702, 1899, 1900, 1901, 2590, 2591, ROWS - 1, ROWS, ROWS + 9):
        rest = [number_of(each["text"]) for each in source.open_shard_at_row(name, row)]
        assert rest == [number for number in made.good if number >= row], row
