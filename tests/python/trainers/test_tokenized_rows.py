"""Rows that are tokenized already stay as they are, and margins come out beside pairs."""

import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from chat_rows import Row, assistant, chat, tokenizer, user
from easydata.trainers import (
    EmbeddingPreprocessTransform,
    GRPOPreprocessTransform,
    RewardPreprocessTransform,
    SFTPreprocessTransform,
)

import easydata
from easydata import AsyncDataLoader, DatasetConfig, MixedShardedSource, create_source

# Longer than all that is made of texts here, and with a mask that is not all ones.
LONG: Row = {
    "input_ids": list(range(5, 25)),
    "attention_mask": [1] * 18 + [0, 0],
    "completion_mask": [0] * 4 + [1] * 16,
    "assistant_masks": [0] * 5 + [1] * 15,
    "labels": [-100] * 6 + list(range(11, 25)),
}
SHORT: Row = {name: values[5:9] for name, values in LONG.items()}
GIVEN = [LONG, SHORT]
CHAT: Row = {"messages": chat()}
FORMS = ["jsonl", "parquet", "list"]
PAIR: Row = {"prompt": "2 + 2 =", "chosen": " 4", "rejected": " 5"}


def sft(max_length: int | None = 8, **options: Any) -> SFTPreprocessTransform:
    return SFTPreprocessTransform(tokenizer(), max_length, **options)


def data_of(form: str, rows: list[Row], folder: Path) -> Any:
    """Rows as what a dataset's `data_files` may be."""
    path = folder / f"rows.{form}"
    if form == "list":
        return rows
    if form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        names = dict.fromkeys(name for row in rows for name in row)
        table = pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])
        pq.write_table(table, path, row_group_size=2)
    return str(path)


def source_of(form: str, rows: list[Row], folder: Path, **options: Any) -> Any:
    return create_source(DatasetConfig(data_of(form, rows, folder), **options))


def plain(rows: Iterable[Row]) -> list[Row]:
    return [
        {name: value for name, value in row.items() if not name.startswith("__")} for row in rows
    ]


# M1, M2: labels and masks were dropped, rows cut and filled up, the attention mask replaced.
@pytest.mark.parametrize(
    "options", [{}, {"layout": "trl"}, {"mask_prompt": True}, {"labels": True}]
)
def test_a_row_of_tokens_stays(options: Row) -> None:
    for row in GIVEN:
        assert sft(**options)(row) == row
        assert sft(**options).examples({**row, "text": "x", "id": 1}) == [row]


@pytest.mark.parametrize("names", [["labels"], ["completion_mask"], ["attention_mask"], []])
def test_a_row_of_tokens_has_what_it_had(names: list[str]) -> None:
    row = {name: LONG[name] for name in ["input_ids", *names]}
    assert sft()(row) == {"attention_mask": [1] * 20, **row}


def test_labels_that_a_row_of_tokens_lacks_are_made_of_its_masks() -> None:
    row = {name: values for name, values in LONG.items() if name != "labels"}
    assert sft(labels=True)(row) == {**row, "labels": [-100] * 5 + list(range(10, 23)) + [-100] * 2}


def test_masks_may_be_truth_values() -> None:
    row = {**LONG, "attention_mask": [value == 1 for value in LONG["attention_mask"]]}
    assert sft()(row) == LONG
    with pytest.raises(ValueError, match="'attention_mask' has 2 values for the 3 of input_ids"):
        sft()({"input_ids": [1, 2, 3], "attention_mask": [1, 1]})


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("on_error", ["raise", "quarantine"])
def test_streams_of_rows_of_tokens_stay(form: str, on_error: str, tmp_path: Path) -> None:
    options: Row = {"transform": sft(), "on_error": on_error}
    if on_error == "quarantine":
        options["quarantine_path"] = str(tmp_path / "aside")
    assert plain(source_of(form, GIVEN * 3, tmp_path, **options)) == GIVEN * 3


@pytest.mark.parametrize("form", FORMS)
def test_shuffled_rows_of_tokens_stay(form: str, tmp_path: Path) -> None:
    shuffled = source_of(form, GIVEN * 9, tmp_path).shuffle("rows", seed=3)
    made = plain(shuffled.transform(sft()))
    assert made != GIVEN * 9
    assert sorted(made, key=str) == sorted(GIVEN * 9, key=str)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", ["chat", "tokens"])
@pytest.mark.parametrize("mask_prompt", [True, False])
def test_chats_beside_rows_of_tokens(
    form: str, first: str, mask_prompt: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """All rows of a stream have the same columns, and labels are those of labels=True."""
    rows = [CHAT, LONG, CHAT, SHORT] if first == "chat" else [SHORT, CHAT, LONG, CHAT]
    options: Row = {"fixed_shapes": False, "mask_prompt": mask_prompt}
    of_chat = sft(64, labels=True, **options)(CHAT)
    ones = [1] * len(of_chat["input_ids"])
    of_chat = {"completion_mask": ones, "assistant_masks": ones, **of_chat}
    with caplog.at_level(logging.WARNING, "easydata"):
        made = plain(source_of(form, rows, tmp_path, transform=sft(64, **options)))
    assert made == [of_chat if row is CHAT else row for row in rows]
    assert not caplog.records


def test_field_operations_before_are_looked_through(tmp_path: Path) -> None:
    rows = [{"ids" if name == "input_ids" else name: row[name] for name in row} for row in GIVEN]
    source = easydata.JsonShardedSource(data_of("jsonl", rows, tmp_path))
    moved = source.rename_fields({"ids": "input_ids"}).filter(lambda row: True)
    assert list(moved.transform(sft())) == GIVEN


def test_what_there_is_no_column_for_is_an_error(tmp_path: Path) -> None:
    """Of rows that a function makes nobody knows before what they have."""
    source = easydata.JsonShardedSource(data_of("jsonl", GIVEN, tmp_path))
    made = source.map(lambda row: dict(row))
    with pytest.raises(ValueError, match=r"row 0.*'attention_mask'.*keep_columns=\['attention_"):
        list(made.transform(sft(layout="trl")))
    with pytest.raises(ValueError, match=r"row 0.*'completion_mask'.*keep_columns=\['completion_"):
        list(made.transform(sft()))
    labelled = made.select_fields(["input_ids", "labels"])
    with pytest.raises(ValueError, match=r"row 0.*tokenized and has 'labels'.*labels=True"):
        list(labelled.transform(sft()))
    ones = [1] * 20
    assert next(iter(labelled.transform(sft(labels=True)))) == {
        "input_ids": LONG["input_ids"],
        "attention_mask": ones,
        "labels": LONG["labels"],
    }


def test_states_are_those_of_streams_of_tokens(tmp_path: Path) -> None:
    """A plan names what rows have already; one of chats is what it was."""

    def plan_of(rows: list[Row]) -> str:
        source = source_of("jsonl", rows, tmp_path, transform=sft(fixed_shapes=False))
        with easydata.AsyncDataLoader(source, 2) as loader:
            next(iter(loader))
            return json.dumps(loader.state_dict())

    assert '"examples.given"' not in plan_of([CHAT] * 4)
    assert '"examples.given"' in plan_of(GIVEN * 2)


def test_rows_of_tokens_are_packed_though_shapes_are_fixed(tmp_path: Path) -> None:
    """Where a schema tells that nothing else comes, nothing is filled up."""
    typed = source_of("parquet", GIVEN, tmp_path, transform=sft())
    packed = easydata.PackedShardedSource(typed, 12, shuffle=False)
    row = next(iter(packed))
    assert row["labels"].tolist()[1:] == LONG["labels"][1:12]
    mixed = source_of("parquet", [CHAT, *GIVEN], tmp_path, transform=sft(64))
    with pytest.raises(ValueError, match="fixed_shapes=False"):
        next(iter(easydata.PackedShardedSource(mixed, 12, 0, shuffle=False)))


def test_prompts_and_texts_to_embed_that_are_tokenized_stay() -> None:
    row = {name: LONG[name] for name in ("input_ids", "attention_mask")}
    assert GRPOPreprocessTransform(tokenizer(), 4)(row) == row
    ones = {"input_ids": [1, 2], "attention_mask": [1, 1]}
    assert GRPOPreprocessTransform(tokenizer(), 4)({"input_ids": [1, 2]}) == ones
    embedding = EmbeddingPreprocessTransform(tokenizer(), 4, fixed_shapes=False)
    made = embedding({"query": "ferry", "positive": "A ferry leaves at ten."})
    assert EmbeddingPreprocessTransform(tokenizer(), 2)(made) == made


# B40: margins were lost.
@pytest.mark.parametrize("layout", ["easydel", "trl"])
@pytest.mark.parametrize("form", FORMS)
def test_a_margin_comes_out(layout: str, form: str, tmp_path: Path) -> None:
    transform = RewardPreprocessTransform(tokenizer(), 16, layout=layout)
    plainly = transform(PAIR)
    assert "margin" not in plainly
    margins = [0.5, -2.0, 3.0]
    rows = [{**PAIR, "margin": margin} for margin in margins]
    assert [transform(row) for row in rows] == [{**plainly, "margin": each} for each in margins]
    assert plain(source_of(form, rows, tmp_path, transform=transform)) == [
        {**plainly, "margin": each} for each in margins
    ]
    assert plain(source_of(form, [PAIR], tmp_path, transform=transform)) == [plainly]
    with easydata.AsyncDataLoader(
        source_of(form, rows, tmp_path, transform=transform), 3
    ) as loader:
        assert next(iter(loader))["margin"].tolist() == margins


def test_margins_are_of_all_rows_and_numbers(tmp_path: Path) -> None:
    transform = RewardPreprocessTransform(tokenizer(), 16)
    assert transform({**PAIR, "margin": 2})["margin"] == 2.0
    with pytest.raises(TypeError, match="'margin' must hold a number"):
        transform({**PAIR, "margin": "much"})
    rows = [{**PAIR, "margin": 1.0}, PAIR]
    with pytest.raises(KeyError, match="row 1: the row has no 'margin', which others have"):
        list(source_of("jsonl", rows, tmp_path, transform=transform))
    made = easydata.JsonShardedSource(data_of("jsonl", rows, tmp_path)).map(lambda row: dict(row))
    with pytest.raises(ValueError, match=r"row 0: the row has a 'margin'.*keep_columns"):
        list(made.transform(transform))
    kept = RewardPreprocessTransform(tokenizer(), 16, keep_columns=["margin"])
    assert [row.get("margin") for row in made.transform(kept)] == [1.0, None]


def test_a_mix_in_which_a_dataset_has_no_labels_is_an_error() -> None:
    """Its rows would be filled up with -100: nothing of them would be trained, without a word."""
    given = [{"input_ids": [5, 6, 7], "labels": [-100, 6, 7]}] * 8
    chats = [{"messages": [user("a"), assistant("b")]}] * 8
    plain = SFTPreprocessTransform(tokenizer(), 64, fixed_shapes=False)
    labelled = SFTPreprocessTransform(tokenizer(), 64, fixed_shapes=False, labels=True)

    def mixed(transform: Any) -> Any:
        sources = {
            "given": create_source(DatasetConfig(given)).transform(plain),
            "chats": create_source(DatasetConfig(chats)).transform(transform),
        }
        return MixedShardedSource(sources, block_size=4, stop_strategy="first_exhausted")

    with pytest.raises(ValueError, match="has tokens and no 'labels', which rows beside it have"):
        list(AsyncDataLoader(mixed(plain), 4))
    assert len(list(AsyncDataLoader(mixed(labelled), 4))) > 0
