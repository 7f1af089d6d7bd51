"""Field transforms, row by row: EasyDeL's recorded values and the reference's rules."""

import copy
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import loaded_rows
from easydata.sources import JsonShardedSource, ParquetShardedSource, wrap_hf_dataset
from easydata.transforms import (
    AddField,
    ChainedTransform,
    CombineFields,
    ConvertInputOutputToChatML,
    ConvertToChatML,
    DropFields,
    ExpandTransform,
    ExtractField,
    FilterByField,
    FilterNonEmpty,
    FilterTransform,
    MapField,
    MapTransform,
    RenameFields,
    SelectFields,
    Transform,
)

FUNCTIONS: dict[str, Any] = {"upper": str.upper, "strip": str.strip, "len": len, "nonempty": bool}
CLASSES = {
    cls.__name__: cls
    for cls in (
        AddField,
        CombineFields,
        ConvertInputOutputToChatML,
        ConvertToChatML,
        DropFields,
        ExtractField,
        FilterByField,
        FilterNonEmpty,
        MapField,
        RenameFields,
        SelectFields,
    )
}


def build(case: dict[str, Any]) -> Transform:
    if case["transform"] == "Chained":
        return ChainedTransform(
            [
                CLASSES[name](args) if name != "CombineFields" else chained_combine(args)
                for name, *rest in case["args"]["steps"]
                for args in [rest[0] if len(rest) == 1 else rest]
            ]
        )
    args = dict(case["args"])
    for key in ("fn", "predicate"):
        if key in args:
            args[key] = FUNCTIONS[args[key]]
    return CLASSES[case["transform"]](**args)


def chained_combine(args: list[Any]) -> CombineFields:
    fields, target, separator = args
    return CombineFields(fields, target, separator=separator)


def test_recorded_values(shared: Path) -> None:
    cases = json.loads((shared / "data/golden/easydel/field_transforms.json").read_text())["cases"]
    assert len(cases) == 40
    rows = 0
    for case in cases:
        transform = build(case)
        for row in case["rows"]:
            given = copy.deepcopy(row["in"])
            if isinstance(row["out"], dict) and "__error__" in row["out"]:
                with pytest.raises(Exception, match="") as error:
                    transform(given)
                assert type(error.value).__name__ == row["out"]["__error__"]
                continue
            out = transform(given)
            assert out == row["out"], (case["transform"], case["args"])
            if out is not None:
                assert list(out) == list(row["out"])
            assert given == row["in"], "the caller's row was changed"
            rows += 1
    assert rows > 80


def test_rename_later_key_wins() -> None:
    assert RenameFields({"a": "b"})({"b": 1, "a": 2}) == {"b": 2}
    assert RenameFields({"a": "b"})({"a": 2, "b": 1}) == {"b": 1}
    assert list(RenameFields({"a": "x"})({"a": 1, "b": 2, "c": 3})) == ["x", "b", "c"]


def test_filter_non_empty_counts_zero_braces_and_blanks_as_something() -> None:
    keep = FilterNonEmpty(["v"])
    for value in (0, False, {}, " ", [None], 0.0):
        assert keep({"v": value}) == {"v": value}
    for value in (None, "", []):
        assert keep({"v": value}) is None


def test_combine_with_combiner_gets_missing_values_as_none() -> None:
    combine = CombineFields(["a", "b", "c"], "out", combiner=lambda values: values)
    assert combine({"a": 1, "c": None})["out"] == [1, None, None]


def test_combine_takes_the_names_of_the_manual() -> None:
    combine = CombineFields(fields=["a", "b"], output_field="out", separator="-")
    assert combine({"a": 1, "b": 2}) == {"a": 1, "b": 2, "out": "1-2"}
    with pytest.raises(TypeError, match="source_fields="):
        CombineFields(["a"])


def test_add_field_by_function() -> None:
    row = {"a": 2}
    assert AddField("b", lambda r: r["a"] * 2)(row) == {"a": 2, "b": 4}
    assert row == {"a": 2}


@pytest.mark.parametrize(
    "value", [None, True, 1, 1.0, -0.0, 1e22, "é", "", [1, {"a": None}], {"a": 1.0}, 2**63, 2**70]
)
def test_add_field_is_the_operation_of_streams(tmp_path: Path, value: Any) -> None:
    row = {"i": object(), "v": 1}
    added = AddField("v", value)(row)
    assert list(added) == ["i", "v"]
    assert added["i"] is row["i"]
    (tmp_path / "a.jsonl").write_text('{"i": 1}')
    (streamed,) = JsonShardedSource(str(tmp_path / "a.jsonl")).transform(AddField("v", value))
    for made in (added["v"], streamed["v"]):
        assert repr(made) == repr(value)
    step = AddField("v", value)._plan_step()
    assert step.works_on_columns == (value != 2**70), "the operation does what it can"


def test_chain_stops_at_none_and_is_flat() -> None:
    seen = []
    chain = (
        FilterTransform(lambda row: row["a"] > 0)
        >> MapTransform(lambda row: seen.append(row) or row)
    ) >> SelectFields(["a"])
    assert isinstance(chain, ChainedTransform)
    assert len(chain) == 3
    assert chain.is_filter
    assert not chain.is_expand
    assert chain({"a": 0}) is None
    assert seen == []
    assert chain({"a": 1, "b": 2}) == {"a": 1}
    assert [type(step).__name__ for step in chain] == [
        "FilterTransform",
        "MapTransform",
        "SelectFields",
    ]
    assert "FilterTransform" in repr(chain)


class Words(ExpandTransform):
    def __call__(self, example):
        for word in example["text"].split():
            yield {"word": word}


def test_expand_chains_before_between_and_last() -> None:
    """D20: EasyDeL gives a generator as a row, or an AttributeError."""
    upper = MapField("word", str.upper)
    only_long = FilterTransform(lambda row: len(row["word"]) > 1)
    row = {"text": "a bc def"}
    assert list((Words() >> only_long >> upper)(row)) == [{"word": "BC"}, {"word": "DEF"}]
    assert list((MapField("text", str.upper) >> Words())(row)) == [
        {"word": "A"},
        {"word": "BC"},
        {"word": "DEF"},
    ]
    letters = MapTransform(lambda row: {"text": " ".join(row["word"])}) >> Words()
    assert [r["word"] for r in (Words() >> letters)(row)] == list("abcdef")
    assert list((FilterTransform(lambda row: False) >> Words())(row)) == []
    assert (Words() >> upper).is_expand


def test_chain_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match="takes a Transform or a function of a row, not"):
        ChainedTransform([3])  # type: ignore[list-item]


@pytest.mark.parametrize("drop", [True, False])
def test_combine_into_one_of_its_sources(drop: bool) -> None:
    """E12: the target stays, though it is among the sources that go."""
    combine = CombineFields(["a", "b"], "b", separator="-", drop_sources=drop)
    kept = {} if drop else {"a": 1}
    for source in ([{"a": 1, "b": 2, "c": 3}], wrap_hf_dataset([{"a": 1, "b": 2, "c": 3}])):
        rows = [combine(row) for row in source]
        assert rows == [{**kept, "c": 3, "b": "1-2"}]
    source = wrap_hf_dataset([{"a": 1, "b": 2, "c": 3}]).transform(combine)
    assert list(source) == [{**kept, "c": 3, "b": "1-2"}]
    assert list(loaded_rows(source.select_fields(["b"]))) == [{"b": "1-2"}]


@pytest.mark.parametrize(
    "value", [(1, 2), {"a": (1,)}, {1: "x"}, float("inf"), {"k": {2.5: None}}], ids=repr
)
def test_add_field_of_what_json_does_not_hold(tmp_path: Path, value: Any) -> None:
    """E12: a constant that JSON would change comes as it is, from whatever source."""
    pq.write_table(pa.table({"i": [1, 2]}), tmp_path / "a.parquet")
    add = AddField("v", value)
    typed = ParquetShardedSource(str(tmp_path / "a.parquet")).transform(add)
    (tmp_path / "a.jsonl").write_text('{"i": 1}\n{"i": 2}\n')
    untyped = JsonShardedSource(str(tmp_path / "a.jsonl")).transform(add)
    for source in (typed, untyped):
        rows = list(source)
        assert rows == [{"i": 1, "v": value}, {"i": 2, "v": value}]
        assert [type(row["v"]) for row in rows] == [type(value)] * 2


def test_a_name_that_is_no_text_is_said() -> None:
    row: Any = {None: 1}  # what csv.DictReader has of values without a name
    with pytest.raises(TypeError, match="a row has a key of type NoneType, expected str"):
        SelectFields(["a"])(row)
