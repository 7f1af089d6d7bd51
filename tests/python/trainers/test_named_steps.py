"""Transforms of a config by name, alone and in lists."""

import json
from pathlib import Path
from typing import Any

import pytest
from chat_rows import chat, tokenizer
from easydata.sources import create_source
from easydata.trainers import SFTPreprocessTransform
from small_data import jsonl

import easydata
from easydata import ConfigError, DatasetConfig, Pipeline, RenameFields

ROWS = [{"body": f"text {n}" if n % 3 else "", "id": n, "junk": [n]} for n in range(50)]


def made(*steps: Any, **options: Any) -> list[dict[str, Any]]:
    jsonl("a.jsonl", ROWS)
    return list(create_source(DatasetConfig("a.jsonl", transforms=list(steps), **options)))


STEPS = [
    {"rename": {"body": "text"}},
    {"filter_non_empty": ["text"]},
    {"drop": "junk"},
    {"add_field": {"lang": "en", "n": 1}},
    {"cast": {"id": "float64"}},
    {"select": ["id", "text", "lang"]},
]


def test_a_list_does_its_steps_in_order(folder: Path) -> None:
    expected = [
        {"id": float(row["id"]), "text": row["body"], "lang": "en"} for row in ROWS if row["body"]
    ]
    assert made(*STEPS) == expected
    assert [type(row["id"]) for row in made(*STEPS)[:1]] == [float]
    # In another order the same steps say something else.
    with pytest.raises(ValueError, match=r"names 'text', but no row has it; there are: body"):
        made(*STEPS[1::-1])


def test_steps_of_columns_are_operators_of_the_plan(folder: Path) -> None:
    """Each runs in the engine, is part of a saved state, and tells what it left out."""
    jsonl("a.jsonl", ROWS)

    def state_of(steps: Any) -> Any:
        source = create_source(DatasetConfig("a.jsonl", transforms=steps))
        loader = easydata.AsyncDataLoader(source, batch_size=4)
        next(iter(loader))
        return loader.state_dict()

    state = state_of(STEPS)
    operators = {name.partition(".")[0] for name in state["plan"]}
    assert operators >= {"rename", "filter_non_empty", "drop", "add_field", "cast", "select"}
    assert "map" not in operators, "no step is a call of Python"
    assert state["sources"][""]["dropped"]["FilterNonEmpty"] > 0
    other = easydata.AsyncDataLoader(
        create_source(DatasetConfig("a.jsonl", transforms=STEPS[:3])), batch_size=4
    )
    with pytest.raises(ValueError, match="is of another stream"):
        other.load_state_dict(state)


def test_examples_come_where_they_stand_in_the_list(folder: Path) -> None:
    rows = [{"chat": chat(turns=n + 1) if n else [], "id": n} for n in range(4)]
    Path("a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    steps = [
        {"filter_non_empty": ["chat"]},
        {"rename": {"chat": "messages"}},
        {"sft": {"mask_prompt": True, "fixed_shapes": False, "keep_columns": ["id"]}},
        {"rename": {"id": "row"}},
    ]
    config = {
        "datasets": [{"data_files": "a.jsonl", "transforms": steps, "tokenizer": tokenizer()}]
    }
    found = list(Pipeline.from_config(config).source().tokenize().build())
    transform = SFTPreprocessTransform(
        tokenizer(), None, mask_prompt=True, fixed_shapes=False, keep_columns=["id"]
    )
    plain = [{"messages": row["chat"], "id": row["id"]} for row in rows[1:]]
    jsonl("plain.jsonl", plain)
    expected = [
        {**{key: row[key] for key in row if key != "id"}, "row": row["id"]}
        for row in easydata.JsonShardedSource("plain.jsonl").transform(transform)
    ]
    assert found == expected


def test_what_is_not_by_name(folder: Path) -> None:
    """Objects, import paths, and those with options."""
    (row, *_) = made(
        RenameFields({"id": "n"}),
        {"easydata:CombineFields": {"source_fields": ["body", "n"], "target_field": "text"}},
        {"drop": ["body"]},
    )
    assert row == {"n": 0, "junk": [0], "text": " 0"}


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (
            {"renam": {"a": "b"}},
            r'transforms\[0\] = "renam" is no transform; did you mean "rename"',
        ),
        ("rename", r'transforms\[0\] = "rename" needs what it is to act on: {rename: {old: new}}'),
        ({"rename": ["a"]}, r"transforms\[0\].rename must be values by name, or nothing, not"),
        ({"drop": None}, r"transforms\[0\].drop needs what it is to act on: {drop: \[column"),
        ({"cast": {"id": "flot"}}, r"transforms\[0\].cast 'id': there is no type 'flot'"),
        ({"sft": {"max_lenght": 1}}, r'transforms\[0\].sft.max_lenght is not .* "max_length"'),
        ({"sft": {"max_length": 0}}, r"transforms\[0\].sft.max_length must be at least 1, not 0"),
        ({"sft": 1024}, r"transforms\[0\].sft must be options by name, not 1024"),
        ({"sft": None}, r"transforms\[0\] needs a tokenizer"),
        (
            {"rename": {"a": "b"}, "drop": ["c"]},
            r"transforms\[0\] names 2 \((rename, drop|drop, re)",
        ),
        ({}, r"transforms\[0\] must name a transform: {rename: {old: new}}"),
        (3, r"transforms\[0\] must be text or a transform"),
    ],
)
def test_what_cannot_be_meant(step: Any, said: str, folder: Path) -> None:
    with pytest.raises(ConfigError, match=said):
        made(step)


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({"rename": {"bod": "text"}}, "names 'bod', but no row has it; did you mean \"body\""),
        ({"filter_non_empty": ["boy"]}, "names 'boy', but no row has it; did you mean \"body\""),
    ],
)
def test_columns_that_no_row_has(step: Any, said: str, folder: Path) -> None:
    with pytest.raises(ValueError, match=said):
        made(step)


def test_one_transform_and_a_list_exclude_each_other(folder: Path) -> None:
    with pytest.raises(ConfigError, match="transform stands beside transforms; put it into that"):
        made({"drop": ["junk"]}, transform="sft")
    with pytest.raises(ConfigError, match=r"transform = \"drop\" is a step of a list: transforms:"):
        create_source(DatasetConfig("a.jsonl", transform="drop"))
    with pytest.raises(ConfigError, match=r"transform must be .*\(several of them: transforms\)"):
        create_source(DatasetConfig("a.jsonl", transform=[{"drop": ["junk"]}]))
