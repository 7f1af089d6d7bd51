"""DatasetMixture, its informs, and build_dataset()."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from easydata.sources import load_for_inform
from hub_server import HubServer
from small_data import jsonl

import easydata
from easydata import (
    BaseDatasetInform,
    DatasetMixture,
    DatasetType,
    TextDatasetInform,
    VisualDatasetInform,
    build_dataset,
)

datasets = pytest.importorskip("datasets")


def two(folder: Path) -> list[TextDatasetInform]:
    jsonl("a.jsonl", [{"content": f"a{i}", "id": i} for i in range(20)])
    jsonl("b.jsonl", [{"text": f"b{i}", "id": i} for i in range(30)])
    return [
        TextDatasetInform(data_files="a.jsonl", additional_fields=["id"]),
        TextDatasetInform(data_files="b.jsonl", content_field="text", additional_fields=["id"]),
    ]


def upper(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "content": row["content"].upper()}


# Types


def test_dataset_type() -> None:
    assert DatasetType.from_string("PARQUET") is DatasetType.PARQUET
    assert DatasetType.from_string("mine") == "mine"
    assert DatasetType.infer_from_path("a/b.jsonl.gz") is DatasetType.JSON
    assert DatasetType.infer_from_path("b.tsv.zst") is DatasetType.TSV
    assert DatasetType.infer_from_path("b.unknown") is None
    assert DatasetType.HF == "huggingface"


def test_informs_tell_their_type() -> None:
    assert TextDatasetInform(data_files=["x.parquet", "y.json"]).type is DatasetType.PARQUET
    assert TextDatasetInform(type="JSON", data_files="x").get_str_type() == "json"
    with pytest.raises(ValueError, match="suffix of data_files does not say its format"):
        BaseDatasetInform(data_files="README")
    with pytest.warns(DeprecationWarning, match="dataset_split_name"):
        TextDatasetInform(data_files="x.json", dataset_split_name="train")


def test_mixtures_are_written_and_read(tmp_path: Path) -> None:
    mixture = DatasetMixture(
        informs=[
            TextDatasetInform(data_files="a.jsonl", format_callback=json.dumps, num_rows=3),
            VisualDatasetInform(data_files="b.parquet", name="pictures"),
        ],
        mixture_weights={"dataset_0": 0.25, "pictures": 0.75},
        seed=7,
    )
    mixture.save_mixture(tmp_path / "m.json")
    again = DatasetMixture.load_mixture(tmp_path / "m.json")
    assert again == mixture
    assert isinstance(again.informs[1], VisualDatasetInform)
    assert again.informs[0].format_callback is json.dumps
    assert DatasetMixture.from_json(mixture.to_json_string()) == mixture
    assert mixture.to_json() == (tmp_path / "m.json").read_text()
    assert mixture.to_json().endswith("}\n")  # a file of text, whose last line ends
    assert list(json.loads(mixture.to_json())) == sorted(json.loads(mixture.to_json()))
    assert mixture.replace(seed=8).seed == 8
    with pytest.raises(ValueError, match="has no import path"):
        DatasetMixture(informs=[], tokenize_callback=lambda row: [1]).to_dict()


# Building


def test_the_default_mixture_can_be_built(folder: Path) -> None:
    """D5: EasyDeL raises whenever streaming and block_mixture have their defaults."""
    mixture = DatasetMixture(informs=two(folder), mixture_block_size=10, cache_dir=folder / "c")
    built = mixture.build()
    assert isinstance(built, datasets.IterableDataset)
    rows = list(built.take(200))
    assert set(rows[0]) == {"text", "id"}
    for start in range(0, 200, 10):
        assert Counter(row["text"][0] for row in rows[start : start + 10]) == {"a": 5, "b": 5}
    # The rows of each come in their order, and start again.
    assert [row["id"] for row in rows if row["text"][0] == "a"][:40] == [*range(20), *range(20)]


def test_weights_by_names_of_their_own(folder: Path) -> None:
    """The manual's page names unnamed informs by their weights, in order."""
    mixture = DatasetMixture(
        informs=two(folder), mixture_weights={"ds1": 0.7, "ds2": 0.3}, mixture_block_size=10
    )
    rows = list(build_dataset(mixture).take(100))
    assert Counter(row["text"][0] for row in rows) == {"a": 70, "b": 30}


def test_weights_by_the_informs_names(folder: Path) -> None:
    informs = two(folder)
    informs[0].name, informs[1].name = "first", "second"
    mixture = DatasetMixture(
        informs=informs, mixture_weights={"second": 0.9, "first": 0.1}, mixture_block_size=10
    )
    rows = list(build_dataset(mixture).take(100))
    assert Counter(row["text"][0] for row in rows) == {"a": 10, "b": 90}
    with pytest.raises(ValueError, match="name no dataset with 'secnd'; did you mean \"second\""):
        build_dataset(mixture.replace(mixture_weights={"first": 0.5, "secnd": 0.5}))
    with pytest.raises(ValueError, match="lack the dataset 'second'"):
        build_dataset(mixture.replace(mixture_weights={"first": 1.0}))


def test_weights_in_interleave_mode(folder: Path) -> None:
    """D30: EasyDeL ignores them."""
    mixture = DatasetMixture(
        informs=two(folder),
        block_mixture=False,
        mixture_weights={"dataset_0": 0.0, "dataset_1": 1.0},
    )
    assert {row["text"][0] for row in build_dataset(mixture)} == {"b"}


def test_shuffling_with_block_mixing(folder: Path) -> None:
    """D30: EasyDeL ignores shuffle_buffer_size there."""
    mixture = DatasetMixture(informs=two(folder)[:1], stop_strategy="first_exhausted")
    plain = [row["id"] for row in build_dataset(mixture)]
    shuffled = [row["id"] for row in build_dataset(mixture.replace(shuffle_buffer_size=50))]
    assert plain == list(range(20))
    assert shuffled != plain
    assert sorted(shuffled) == plain


def test_without_streaming(folder: Path) -> None:
    informs = two(folder)
    informs[1].additional_fields = None
    built = build_dataset(DatasetMixture(informs=informs, streaming=False))
    assert isinstance(built, datasets.Dataset)
    assert built.column_names == ["text"], "the columns that all have"
    assert built["text"][:] == [*(f"a{i}" for i in range(20)), *(f"b{i}" for i in range(30))]
    # D30: EasyDeL ignores weights there.
    weighted = DatasetMixture(
        informs=informs, streaming=False, mixture_weights={"x": 1.0, "y": 0.0}
    )
    assert {text[0] for text in build_dataset(weighted)["text"]} == {"a"}


def test_batches(folder: Path) -> None:
    mixture = DatasetMixture(informs=two(folder)[:1], stop_strategy="first_exhausted", batch_size=8)
    assert [len(batch["text"]) for batch in build_dataset(mixture)] == [8, 8, 4]


def test_rows_are_prepared(folder: Path) -> None:
    jsonl("a.jsonl", [{"body": "x", "turns": [{"from": "user", "value": "hi"}], "n": 1}])
    inform = TextDatasetInform(
        data_files="a.jsonl",
        format_fields={"body": "content", "from": "role", "value": "content"},
        format_callback=upper,
        preprocessing_fn=lambda row: {**row, "n": row["n"] + 1},
        additional_fields=["turns", "n", "absent"],
    )
    mixture = DatasetMixture(informs=[inform], stop_strategy="first_exhausted")
    assert list(build_dataset(mixture)) == [
        {"text": "X", "turns": [{"role": "user", "content": "hi"}], "n": 2}
    ]
    # A callback that gives a text in place of a row.
    inform = TextDatasetInform(data_files="a.jsonl", format_callback=lambda row: row["body"] * 2)
    mixture = DatasetMixture(informs=[inform], stop_strategy="first_exhausted")
    assert list(build_dataset(mixture)) == [{"text": "xx"}]


def test_content_fields(folder: Path) -> None:
    jsonl("a.jsonl", [{"chosen": "y", "rejected": "n"}])
    pair = DatasetMixture(
        informs=[TextDatasetInform(data_files="a.jsonl")], stop_strategy="first_exhausted"
    )
    assert list(build_dataset(pair)) == [{"chosen": "y", "rejected": "n"}]
    jsonl("b.jsonl", [{"contents": "y", "other": 1}])
    typo = DatasetMixture(informs=[TextDatasetInform(data_files="b.jsonl")])
    with pytest.raises(KeyError) as raised:
        list(build_dataset(typo))
    assert "no content field 'content'; did you mean \"contents\"?" in raised.value.args[0]
    whole = DatasetMixture(
        informs=[TextDatasetInform(data_files="b.jsonl", content_field=None)],
        stop_strategy="first_exhausted",
    )
    assert list(build_dataset(whole)) == [{"contents": "y", "other": 1}]


def test_pictures(folder: Path) -> None:
    """D30: EasyDeL ignores every option of a VisualDatasetInform."""
    jsonl("a.jsonl", [{"images": [1, 2], "caption": "c", "id": 5}])
    inform = VisualDatasetInform(data_files="a.jsonl", content_field="caption")
    mixture = DatasetMixture(informs=[inform], stop_strategy="first_exhausted")
    assert list(build_dataset(mixture)) == [{"image": [1, 2], "text": "c", "id": 5}]
    with pytest.raises(NotImplementedError, match="image_size is not supported"):
        build_dataset(mixture.replace(informs=[inform.replace(image_size=(8, 8))]))


@pytest.mark.parametrize("field", ["tokens", "ids"])
def test_packing(folder: Path, field: str) -> None:
    """D21: EasyDeL loses the tail, some EOS, the field's name and the second epoch."""
    documents = [[10 + i] * (1 + i % 6) for i in range(25)]
    jsonl("a.jsonl", [{field: document} for document in documents])
    mixture = DatasetMixture(
        informs=[TextDatasetInform(data_files="a.jsonl")],
        stop_strategy="first_exhausted",
        pack_tokens=True,
        tokens_field_name=field,
        pack_seq_length=6,
        pack_eos_token_id=1,
        pack_shuffle=False,
    )
    built = build_dataset(mixture)
    stream = [token for document in documents for token in [*document, 1]]
    for _ in range(2):
        rows = list(built)
        assert all(len(row["input_ids"]) == 6 for row in rows)
        found = [
            token
            for row in rows
            for token, mask in zip(row["input_ids"], row["attention_mask"], strict=True)
            if mask
        ]
        assert found == stream
    batched = list(build_dataset(mixture.replace(batch_size=4)))
    assert [len(batch["input_ids"]) for batch in batched[:-1]] == [4] * (len(batched) - 1)
    shuffled = list(
        build_dataset(mixture.replace(pack_shuffle=True, pack_shuffle_buffer_factor=99))
    )
    found, wanted = ([list(row["input_ids"]) for row in part] for part in (shuffled, rows))
    assert found != wanted
    assert sorted(found) == sorted(wanted)


def test_packing_on_the_fly(folder: Path) -> None:
    mixture = DatasetMixture(
        informs=two(folder)[:1],
        stop_strategy="first_exhausted",
        pack_on_the_fly=True,
        tokenize_callback=lambda row: [len(row["text"])] * 2,
        pack_seq_length=30,
        pack_shuffle=False,
    )
    rows = list(build_dataset(mixture))
    assert list(rows[0]["input_ids"]) == [2, 2, 0] * 10
    assert list(rows[1]["input_ids"]) == [3, 3, 0] * 10
    with pytest.raises(ValueError, match="needs a tokenize_callback"):
        build_dataset(mixture.replace(tokenize_callback=None))
    with pytest.raises(ValueError, match="needs pack_on_the_fly"):
        build_dataset(mixture.replace(pack_on_the_fly=False))


def test_load_for_inform(folder: Path) -> None:
    informs = two(folder)
    informs[0].num_rows = 3
    stream = load_for_inform(informs[0], DatasetMixture(informs=informs))
    assert list(stream) == [{"content": f"a{i}", "id": i} for i in range(3)]
    table = load_for_inform(informs[0], DatasetMixture(informs=informs, streaming=False))
    assert isinstance(table, datasets.Dataset)
    assert table[2] == {"content": "a2", "id": 2}


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"informs": []}, ValueError, "at least one dataset"),
        ({"stop_strategy": "restrt"}, ValueError, 'did you mean "restart"'),
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1"),
        ({"prefetch_workers": 9}, NotImplementedError, "has no prefetching"),
        ({"mixture_weights": [0.5]}, ValueError, "1 mixture_weights for 2 datasets"),
    ],
)
def test_bad_mixtures(
    folder: Path, options: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        build_dataset(DatasetMixture(**{"informs": two(folder), **options}))


def test_files_that_are_not_there(folder: Path, hub_here: HubServer) -> None:
    mixture = DatasetMixture(informs=[TextDatasetInform(type="json", data_files="no/*.json")])
    with pytest.raises(FileNotFoundError, match=r"no/\*\.json"):
        build_dataset(mixture)
    hub = DatasetMixture(informs=[TextDatasetInform(type="huggingface", data_files="org/name")])
    with pytest.raises(FileNotFoundError, match="there is no dataset org/name on the Hub"):
        build_dataset(hub)
    assert easydata.DatasetLoadError is not None
