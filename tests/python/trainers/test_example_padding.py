"""Batches of examples are filled up with the pad token, prompts to answer at the left."""

from pathlib import Path
from typing import Any

import pytest
from chat_rows import ROWS, Row, tokenizer
from data_folders import tokenizer_folder
from easydata.transforms.trainer_examples import named_transform

import easydata
from easydata import (
    AsyncDataLoader,
    DatasetConfig,
    HFDatasetShardedSource,
    LoadStageConfig,
    MixedShardedSource,
    PadSpec,
    Pipeline,
    PipelineConfig,
    Tokenizer,
)

KINDS = sorted(ROWS)
LAYOUTS = ("easydel", "trl")
# Transforms that TRL's trainers have no examples for.
NO_LAYOUT = (("grpo", "trl"), ("ppo", "trl"), ("embedding", "trl"))


# Options that each transform needs, or by which all its columns come.
OWN: dict[str, Row] = {
    "sft": {"max_length": 64, "mask_prompt": True, "labels": True},
    "reward": {"max_length": None},
    "embedding": {"negative_field": "negative"},
    "grpo": {"keep_columns": ["answer"]},
}


def transform_of(kind: str, layout: str) -> Any:
    choice = {"name": kind, **OWN.get(kind, {}), "layout": layout, "fixed_shapes": False}
    return named_transform(choice, tokenizer())


def is_left(kind: str, column: str) -> bool:
    return kind in ("grpo", "ppo") and column != "answer"


def fill_of(column: str, pad: int) -> int:
    if column.endswith("labels"):
        return -100
    return 0 if "mask" in column else pad


def expected(kind: str, examples: list[Row], pad: int) -> Row:
    """Columns of lists, filled up by hand."""
    columns: Row = {}
    for column in examples[0]:
        rows = [example[column] for example in examples]
        if not isinstance(rows[0], list):
            continue
        longest = max(map(len, rows))
        fills = [[fill_of(column, pad)] * (longest - len(row)) for row in rows]
        columns[column] = [
            fill + row if is_left(kind, column) else row + fill
            for row, fill in zip(rows, fills, strict=True)
        ]
    return columns


def batches(source: Any, size: int = 8, **options: Any) -> list[Row]:
    with AsyncDataLoader(source, size, drop_last=False, **options) as loader:
        return list(loader)


@pytest.mark.parametrize(
    ("kind", "layout"),
    [(kind, layout) for kind in KINDS for layout in LAYOUTS if (kind, layout) not in NO_LAYOUT],
)
def test_examples_are_filled_up_as_their_columns_want(kind: str, layout: str) -> None:
    transform = transform_of(kind, layout)
    examples = [made for row in ROWS[kind] for made in transform.examples(row)]
    pad = tokenizer().pad_token_id
    assert pad == 1196
    got = batches(HFDatasetShardedSource(ROWS[kind]).transform(transform))
    for number, batch in enumerate(got):
        part = examples[8 * number : 8 * number + 8]
        wanted = expected(kind, part, pad)
        assert {column: batch[column].tolist() for column in wanted} == wanted
    # There is something to fill up.
    first = next(iter(expected(kind, examples, pad)))
    assert len({len(example[first]) for example in examples}) > 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_pipeline_does_so(layout: str) -> None:
    """Of a config, whose load stage may ask for another token."""
    rows = [{"prompt": "one", "completion": " a"}, {"prompt": "one two three", "completion": " a"}]

    def ids(tokens: str, **load: Any) -> list[int]:
        choice: Row = {"name": "sft", "max_length": 64, "fixed_shapes": False, "layout": layout}
        config = PipelineConfig(
            datasets=[
                DatasetConfig(rows, tokenizer=str(tokenizer_folder(tokens)), transform=choice)
            ],
            load=LoadStageConfig(batch_size=2, **load),
        )
        with Pipeline.from_config(config).source().load().build() as loader:
            batch = next(iter(loader))
        short = batch["input_ids"][0].tolist()
        if "labels" in batch:
            assert batch["labels"][0].tolist()[-1] == -100
        return short

    assert ids("split")[-2:] == [1196] * 2
    assert ids("metaspace")[-2:] == [2] * 2  # its EOS: it has no pad token
    assert ids("split", pad_token_id=7)[-2:] == [7] * 2
    assert ids("split", padding={"input_ids": PadSpec(value=9)}, pad_token_id=7)[-2:] == [9] * 2


def test_a_pad_spec_says_only_what_it_names() -> None:
    """Of prompts: their length; the token and the side stay those of prompts."""
    transform = transform_of("grpo", "easydel")
    source = HFDatasetShardedSource(ROWS["grpo"]).transform(transform)
    (longer, *_) = batches(
        source, 4, padding=dict.fromkeys(("input_ids", "attention_mask"), PadSpec(length=40))
    )
    ids, mask = longer["input_ids"], longer["attention_mask"]
    assert ids.shape == (4, 40)
    assert (ids[:, 0] == 1196).all()
    assert (mask[:, 0] == 0).all()
    assert (mask[:, -1] == 1).all()
    right = dict.fromkeys(("input_ids", "attention_mask"), PadSpec(side="right", length=40))
    (other, *_) = batches(source, 4, padding=right)
    assert (other["input_ids"][:, -1] == 1196).all()
    assert (other["attention_mask"][:, 0] == 1).all()
    with pytest.raises(ValueError, match=r"'attention_mask': PadSpec\(side='right'\)"):
        batches(source, 4, padding={"input_ids": PadSpec(side="right")})


def passed_through(kind: str, how: str, source: Any, folder: Path) -> Any:
    if how == "shuffled":
        return source.shuffle("rows", 5)
    if how == "mapped":
        return source.map(lambda row: {**row, "number": 1})
    if how == "mixed":
        return MixedShardedSource(
            {"a": source, "b": source}, weights={"a": 0.5, "b": 0.5}, stop_strategy="all_exhausted"
        )
    if how == "joined":
        return easydata.CompositeShardedSource([source, source])
    format = how.removeprefix("saved as ")
    easydata.save_dataset(source, folder / "out", format=format)
    return easydata.create_source(DatasetConfig(str(folder / "out")))


@pytest.mark.parametrize(
    "how",
    ["shuffled", "mapped", "mixed", "joined", "saved as parquet", "saved as arrow"],
)
@pytest.mark.parametrize(
    ("kind", "layout"), [("grpo", "easydel"), ("dpo", "easydel"), ("dpo", "trl")]
)
def test_it_goes_with_the_columns(kind: str, layout: str, how: str, tmp_path: Path) -> None:
    """Whatever is done to the examples before they are loaded."""
    transform = transform_of(kind, layout)
    source = HFDatasetShardedSource(ROWS[kind]).transform(transform)
    examples = [made for row in ROWS[kind] for made in transform.examples(row)]
    rows = [repr({name: row[name] for name in examples[0]}) for row in examples]
    got = batches(passed_through(kind, how, source, tmp_path), 6)
    seen = 0
    for batch in got:
        names = [name for name in examples[0] if name in batch and name != "answer"]
        attended: list[Row] = []
        for at in range(len(batch[names[0]])):
            row: Row = {}
            for name in names:
                fill = fill_of(name, 1196)
                values = batch[name][at].tolist()
                left = is_left(kind, name)
                while values and values[0 if left else -1] == fill:
                    values.pop(0 if left else -1)
                row[name] = values
            attended.append(row)
        for row in attended:
            assert any(all(repr(row[n]) in text for n in names) for text in rows)
            seen += 1
    assert seen >= len(examples)


def test_a_renamed_column_takes_it_along() -> None:
    source = HFDatasetShardedSource(ROWS["grpo"]).transform(transform_of("grpo", "easydel"))
    renamed = source.rename_fields({"input_ids": "asked"})
    for through in (renamed, source.map(dict).rename_fields({"input_ids": "asked"})):
        batch = batches(through, 60)[0]
        assert 1196 in batch["asked"][:, 0]
        assert 1196 not in batch["asked"][:, -1]


def test_another_tokenizer_has_a_pad_token_of_its_own() -> None:
    """The prompts for a density estimate, whatever is asked for beside them."""
    kto = named_transform(
        {"name": "kto", "embedding_tokenizer": tokenizer_folder("metaspace")}, tokenizer()
    )
    source = HFDatasetShardedSource(ROWS["kto"]).transform(kto)
    batch = batches(source, 30, pad_token_id=3)[0]
    embedded = batch["embedding_input_ids"]
    short = batch["embedding_attention_mask"] == 0
    assert short.any()
    assert (embedded[short] == 2).all()
    assert (batch["completion_input_ids"][batch["completion_attention_mask"] == 0] == 3).all()


def test_tokens_are_filled_up_with_the_eos_where_there_is_no_pad_token() -> None:
    config = PipelineConfig(
        datasets=[
            DatasetConfig(
                [{"text": "one"}, {"text": "one two three"}],
                tokenizer=str(tokenizer_folder("metaspace")),
            )
        ],
        load=LoadStageConfig(batch_size=2),
    )
    with Pipeline.from_config(config).source().tokenize().load().build() as loader:
        batch = next(iter(loader))
    assert Tokenizer(tokenizer_folder("metaspace")).pad_token_id is None
    assert batch["input_ids"][0].tolist()[-1] == 2
