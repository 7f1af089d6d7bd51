"""What comes out of a pipeline: tokens, mixtures, rows, files, batches."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data_folders import EOS
from easydata.core.config import ConfigError
from small_data import Rows, encode, jsonl, three, tokens

import easydata
from easydata import (
    BaseStage,
    DatasetConfig,
    LoadStageConfig,
    MixStageConfig,
    PackStageConfig,
    Pipeline,
    PipelineConfig,
    SaveStageConfig,
    TokenizerConfig,
    TokenizeStageConfig,
    WeightSchedulePoint,
    create_pipeline,
)

# Tokenizing


def test_tokenizer_precedence(folder: Path, gpt2: str, own_tokenizers: Path) -> None:
    llama = str(own_tokenizers / "splits")
    text = "The quick brown fox jumps over the lazy dog."
    jsonl("a.jsonl", [{"text": text}])
    datasets = [
        DatasetConfig("a.jsonl", name="own", tokenizer=TokenizerConfig(gpt2, max_length=5)),
        DatasetConfig("a.jsonl", name="named", tokenizer=gpt2),
        DatasetConfig("a.jsonl", name="kwargs", tokenizer=gpt2, tokenizer_kwargs={"max_length": 4}),
        DatasetConfig("a.jsonl", name="stage"),
    ]
    stage = TokenizeStageConfig(default_tokenizer=llama, max_length=7)
    config = PipelineConfig(datasets, default_tokenizer="not/used", tokenize=stage)
    data = Pipeline(config).source().tokenize().get_data()
    found = {name: next(iter(source))["input_ids"] for name, source in data.items()}
    assert (
        found
        == {
            "own": encode(gpt2, text)[0][:5],
            "named": encode(gpt2, text)[0][:7],  # D7: the stage's max_length holds
            "kwargs": encode(gpt2, text)[0][:4],
            "stage": encode(llama, text, max_length=7)[0],
        }
    )


def test_tokenize_dataset_config_takes_tokenizer_kwargs(folder: Path, gpt2: str) -> None:
    kwargs = {"max_length": 2, "use_fast": True}
    for named in ({"tokenizer": gpt2}, {}):
        config = DatasetConfig([{"text": "one two three"}], tokenizer_kwargs=kwargs, **named)
        source = easydata.create_source(config)
        (row,) = easydata.tokenize_dataset_config(source, config, global_tokenizer=gpt2)
        assert row["input_ids"] == encode(gpt2, "one two three", max_length=2)[0]


def test_a_dataset_without_a_tokenizer_goes_through(folder: Path) -> None:
    tokens("a.jsonl", 3)
    rows = list(create_pipeline([{"data_files": "a.jsonl"}]).source().tokenize().build())
    assert rows == [{"input_ids": [100 + i] * (1 + i)} for i in range(3)]


def test_remove_columns_and_additional_fields(folder: Path, gpt2: str) -> None:
    jsonl("a.jsonl", [{"text": "x", "id": 1, "note": "n"}])
    dataset = {"data_files": "a.jsonl", "additional_fields": ["id", "note"]}
    pipeline = create_pipeline([dataset], gpt2).source()
    pipeline.tokenize(TokenizeStageConfig(remove_columns=["note", "attention_mask"]))
    assert list(pipeline.build()) == [{"input_ids": encode(gpt2, "x")[0], "id": 1}]
    with pytest.raises(ValueError, match="must keep input_ids"):
        create_pipeline([dataset], gpt2).source().tokenize(
            TokenizeStageConfig(remove_columns=["input_ids"])
        )


def test_tokenizing_after_mixing_is_mixing_tokens(
    folder: Path, gpt2: str, own_tokenizers: Path
) -> None:
    llama = str(own_tokenizers / "splits")
    jsonl("a.jsonl", [{"text": f"some words {i}"} for i in range(30)])
    jsonl("b.jsonl", [{"content": f"other words {i}"} for i in range(50)])
    datasets = [
        {"data_files": "a.jsonl", "name": "a", "tokenizer": gpt2},
        {"data_files": "b.jsonl", "name": "b", "tokenizer": llama, "content_field": "content"},
    ]
    mix = {"weights": {"a": 0.25, "b": 0.75}, "block_size": 8, "seed": 3}

    def first(chain: Callable[[Pipeline], Pipeline]) -> Rows:
        return list(
            itertools.islice(chain(create_pipeline(datasets, mix=mix).source()).build(), 100)
        )

    after = first(lambda pipeline: pipeline.mix().tokenize())
    before = first(lambda pipeline: pipeline.tokenize().mix())
    assert after == before
    assert {row["__source__"] for row in after} == {"a", "b"}
    # Each source's own texts by its own tokenizer, in order, and again from the first.
    for name, words, model, count in (("a", "some", gpt2, 30), ("b", "other", llama, 50)):
        made = [row["input_ids"] for row in after if row["__source__"] == name]
        assert len(made) == (25 if name == "a" else 75)
        texts = [f"{words} words {number % count}" for number in range(len(made))]
        assert made == encode(model, *texts)


def test_tokenizing_a_stage_of_ones_own_that_joins_datasets(folder: Path, gpt2: str) -> None:
    class Join(BaseStage):
        name = "join"

        def process(self, data: dict[str, Any], context: Any) -> dict[str, Any]:
            return {"all": easydata.CompositeShardedSource(list(data.values()))}

    jsonl("a.jsonl", [{"text": "a"}])
    jsonl("b.jsonl", [{"text": "b"}])
    datasets = [{"data_files": "a.jsonl"}, {"data_files": "b.jsonl"}]
    pipeline = create_pipeline(datasets, gpt2).source().apply(Join()).tokenize()
    assert [row["input_ids"] for row in pipeline.build()] == encode(gpt2, "a", "b")
    datasets[1]["content_field"] = "other"
    with pytest.raises(RuntimeError, match="content_field differs between"):
        create_pipeline(datasets, gpt2).source().apply(Join()).tokenize()


# Sources' options


def test_num_rows_limits(folder: Path) -> None:
    tokens("a.jsonl", 30)
    rows = list(create_pipeline([{"data_files": "a.jsonl", "num_rows": 7}]).source().build())
    (source,) = (
        create_pipeline([{"data_files": "a.jsonl", "num_rows": 7}]).source().get_data().values()
    )
    assert repr(source).count("Limited") == 1, "the limit is put on in one place"
    assert [row["input_ids"][0] for row in rows] == list(range(100, 107))


def test_rows_are_formatted_where_no_tokenizer_is_named_too(folder: Path) -> None:
    jsonl("a.jsonl", [{"ids": [1, 2], "note": "n"}, {"ids": []}])
    dataset = {
        "data_files": "a.jsonl",
        "format_callback": lambda row: row if row["ids"] else None,
        "format_fields": {"ids": "input_ids"},
    }
    assert list(create_pipeline([dataset]).source().build()) == [{"input_ids": [1, 2], "note": "n"}]
    stage = TokenizeStageConfig(remove_columns=["note"])
    rows = list(create_pipeline([dataset]).source().tokenize(stage).build())
    assert rows == [{"input_ids": [1, 2]}]
    with pytest.raises(ValueError, match="has tokenizer_kwargs, but names no tokenizer"):
        create_pipeline([{**dataset, "tokenizer_kwargs": {"padding": False}}]).source().tokenize()


def test_rows_in_memory_are_data(folder: Path) -> None:
    rows = [{"input_ids": [1, 2]}, {"input_ids": [3]}]
    pack = PackStageConfig(seq_length=5, eos_token_id=9)
    (row,) = create_pipeline([{"data_files": rows}]).source().pack(pack).build()
    assert row["input_ids"].tolist() == [1, 2, 9, 3, 9]


def test_bad_rows_are_left_out_where_that_is_asked_for(folder: Path, gpt2: str) -> None:
    Path("a.jsonl").write_text('{"text": "one"}\n{"text": \n{"no": 1}\n{"text": "two"}\n')
    dataset = {"data_files": "a.jsonl", "on_error": "quarantine", "quarantine_path": "bad.jsonl"}
    rows = list(create_pipeline([dataset], gpt2).source().tokenize().build())
    assert [row["input_ids"] for row in rows] == encode(gpt2, "one", "two")
    bad = [json.loads(line) for line in Path("bad.jsonl").read_text().splitlines()]
    assert {(row["source"], row["shard"], row["row"]) for row in bad} == {
        ("dataset_0", "a.jsonl", 1),
        ("dataset_0", "a.jsonl", 2),
    }


def test_format_callback_and_fields(folder: Path, gpt2: str) -> None:
    jsonl("a.jsonl", [{"body": "x", "keep": True}, {"body": "y", "keep": False}])

    def keep(row: dict[str, Any]) -> dict[str, Any] | None:
        return row if row["keep"] else None

    dataset = {"data_files": "a.jsonl", "format_callback": keep, "format_fields": {"body": "text"}}
    rows = list(create_pipeline([dataset], gpt2).source().tokenize().build())
    assert [row["input_ids"] for row in rows] == encode(gpt2, "x")


# Mixing


def test_mixing_uses_weights_and_seed(folder: Path) -> None:
    mix = {"weights": {"a": 0.5, "b": 0.25, "c": 0.25}, "block_size": 40}

    def names(**options: Any) -> list[str]:
        pipeline = create_pipeline(three(folder), **options).source().mix()
        return [row["__source__"] for row in itertools.islice(pipeline.build(), 200)]

    one = names(mix=mix, seed=1)
    assert [one[:40].count(name) for name in "abc"] == [20, 10, 10]
    assert names(mix=mix, seed=1) == one
    assert names(mix=mix, seed=2) != one
    assert names(mix={**mix, "seed": 1}, seed=2) == one, "the stage's seed takes precedence"
    # 0 is a seed like any other, not "unset" (EasyDeL: `stage.seed or context.seed`).
    assert names(mix={**mix, "seed": 0}, seed=1) == names(mix=mix, seed=0)


def test_mixing_in_grains_order_by_the_config(folder: Path) -> None:
    mix = {"weights": {"a": 0.5, "b": 0.25, "c": 0.25}, "order": "grain"}
    for options in ({"seed": 1}, {"seed": 2}):
        pipeline = create_pipeline(three(folder), mix=mix, **options).source().mix()
        rows = itertools.islice(pipeline.build(), 12)
        assert [row["__source__"] for row in rows] == ["a", "b", "a", "c"] * 3
    with pytest.raises(ValueError, match=r'mix.order must be "blocks" where unit is "tokens"'):
        create_pipeline(three(folder), mix={**mix, "unit": "tokens"}).source()


def test_one_dataset_is_not_mixed(folder: Path) -> None:
    pipeline = create_pipeline([{"data_files": tokens("a.jsonl", 3)}]).source().mix()
    assert list(pipeline.get_data()) == ["dataset_0"]


def test_an_endless_mixture_is_not_saved(folder: Path) -> None:
    pipeline = create_pipeline(three(folder), save={"output_dir": "out"}).source().mix()
    with pytest.raises(ValueError, match=r"(?i)never end|endless"):
        pipeline.save()
    assert not Path("out").exists() or not list(Path("out").glob("*.parquet"))


def test_a_schedule_counts_the_loaders_steps(folder: Path) -> None:
    """With batches of 10, step 8 is example 80; the batch size is given to load() itself."""
    schedule = [
        WeightSchedulePoint(0, {"a": 1.0, "b": 0.0, "c": 0.0}),
        WeightSchedulePoint(8, {"a": 0.0, "b": 1.0, "c": 0.0}),
    ]
    mix = MixStageConfig(weight_schedule=schedule, block_size=10)
    pipeline = Pipeline(PipelineConfig([DatasetConfig(**d) for d in three(folder)], mix=mix))
    loader = pipeline.source().mix().load(LoadStageConfig(batch_size=10)).build()
    with loader:
        batches = list(itertools.islice(loader, 12))
    found = ["".join(sorted(set(batch["__source__"]))) for batch in batches]
    assert found == ["a"] * 8 + ["b"] * 4


# Packing


def test_eos_is_the_tokenizers_where_it_is_not_set(folder: Path, gpt2: str) -> None:
    jsonl("a.jsonl", [{"text": "one"}, {"text": "two"}])
    pack = PackStageConfig(seq_length=8, shuffle_packed=False)

    def packed(pipeline: Pipeline) -> list[int]:
        (row,) = pipeline.pack(pack).build()
        return list(row["input_ids"])

    one, two = encode(gpt2, "one", "two")
    found = packed(create_pipeline([{"data_files": "a.jsonl"}], gpt2).source().tokenize())
    # A tokenizer without a pad token pads with its EOS.
    assert found == [*one, EOS, *two, EOS, *[EOS] * (6 - len(one) - len(two))]
    # Tokens without a tokenizer: nobody knows their EOS.
    jsonl("b.jsonl", [{"input_ids": [7, 8]}, {"input_ids": [9]}])
    with pytest.raises(ConfigError, match="eos_token_id: must be named"):
        packed(create_pipeline([{"data_files": "b.jsonl"}]).source())
    pack.eos_token_id = 3
    found = packed(create_pipeline([{"data_files": "b.jsonl"}]).source())
    assert found == [7, 8, 3, 9, 3, 0, 0, 0]


# Saving


def test_one_dataset_is_saved_flat_and_several_in_folders(folder: Path) -> None:
    one = create_pipeline(three(folder)[:1], save={"output_dir": "one"}).source().save()
    assert Path("one/shard-00000.parquet").exists()
    assert {name: stats.num_examples for name, stats in one.build().items()} == {"a": 20}
    many = three(folder)
    many[1] |= {"save_path": "elsewhere", "save_format": "jsonl", "num_shards": 2}
    written = create_pipeline(many, save={"output_dir": "many"}).source().save().build()
    assert list(written) == ["a", "b", "c"]
    assert Path("many/a/shard-00000.parquet").exists()
    assert Path("many/c/shard-00000.parquet").exists()
    assert sorted(path.name for path in Path("elsewhere").glob("*.jsonl")) == [
        "shard-00000.jsonl",
        "shard-00001.jsonl",
    ]


def test_a_save_path_has_no_meaning_behind_mix(folder: Path) -> None:
    datasets = three(folder)
    datasets[0]["save_path"] = "lost"
    mix = {"stop_strategy": "first_exhausted"}
    pipeline = create_pipeline(datasets, mix=mix).source().mix()
    with pytest.raises(ValueError, match=r"datasets\[0\].save_path has no effect"):
        pipeline.save()


def test_a_finite_mixture_is_saved(folder: Path) -> None:
    mix = {"stop_strategy": "all_exhausted", "block_size": 10}
    pipeline = create_pipeline(three(folder), mix=mix, save={"output_dir": "out"})
    (stats,) = pipeline.source().mix().save().build().values()
    rows = list(easydata.ParquetShardedSource("out/*.parquet"))
    assert len(rows) == stats.num_examples >= 60
    assert {row["input_ids"][0] // 100 for row in rows} == {1, 2, 3}


def test_saving_is_followed_by_loading(folder: Path) -> None:
    pipeline = create_pipeline(three(folder)[:1], save={"output_dir": "out"}).source().save()
    with pipeline.load(LoadStageConfig(batch_size=5)).build() as loader:
        assert sum(len(batch["input_ids"]) for batch in loader) == 20
    assert len(list(easydata.ParquetShardedSource("out"))) == 20


def test_saved_columns_can_be_named(folder: Path) -> None:
    jsonl("a.jsonl", [{"text": "x", "id": 1}])
    save = SaveStageConfig(output_dir="out", columns=["id"])
    create_pipeline([{"data_files": "a.jsonl"}]).source().save(save)
    assert list(easydata.ParquetShardedSource("out")) == [{"id": 1}]


# Loading


def test_several_datasets_take_turns(folder: Path) -> None:
    datasets = three(folder)
    tokens("b.jsonl", 40, 200)

    def pipeline() -> Any:
        load = {"batch_size": 10}
        return create_pipeline(datasets, load=load).source().load().build()

    def names(loader: Any, count: int | None = None) -> list[int]:
        batches = itertools.islice(loader, count)
        return [int(batch["input_ids"][0][0]) for batch in batches]

    with pipeline() as loader:
        assert list(loader.loaders) == ["a", "b", "c"]
        everything = names(loader)
        assert [first // 100 for first in everything] == [1, 2, 3, 1, 2, 3, 2, 2]
        assert names(loader) == everything, "the next pass"
    for stop in range(9):
        with pipeline() as loader, pipeline() as other:
            begun = names(loader, stop)
            state = json.loads(json.dumps(loader.state_dict()))
            other.load_state_dict(state)
            assert other.state_dict() == state
            assert begun + names(other) == everything
    with pipeline() as loader, pytest.raises(ValueError, match="of other datasets"):
        loader.load_state_dict({"version": 1, "turn": 0, "ended": [], "loaders": {"x": {}}})


def test_build_without_loading_gives_rows(folder: Path) -> None:
    rows = list(create_pipeline(three(folder)).source().build())
    assert [row["input_ids"][0] for row in rows] == [
        first + i for first in (100, 200, 300) for i in range(20)
    ]


def test_several_datasets_may_each_have_columns_to_be_padded(folder: Path) -> None:
    for name in ("x", "y"):
        table = pa.table({name: [[1], [2, 3]]})
        pq.write_table(table, f"{name}.parquet")
    datasets = [{"data_files": f"{name}.parquet", "name": name} for name in ("x", "y")]
    load = {"batch_size": 2, "padding": {name: {"value": 9} for name in ("x", "y")}}
    with create_pipeline(datasets, load=load).source().load().build() as loader:
        found = [{name: values.tolist() for name, values in batch.items()} for batch in loader]
    assert found == [{"x": [[1, 9], [2, 3]]}, {"y": [[1, 9], [2, 3]]}]
    alone = create_pipeline(datasets[:1], load=load).source().load().build()
    with alone as loader, pytest.raises(ValueError, match=r"^padding\['y'\]: .* it has 'x'; leave"):
        next(iter(loader))


def test_a_schedule_counts_steps_through_stages_of_ones_own(folder: Path) -> None:
    class Mark(BaseStage):
        name = "mark"

        def process(self, data: dict[str, Any], context: Any) -> dict[str, Any]:
            return {name: source.map(lambda row: {**row, "n": 1}) for name, source in data.items()}

    schedule = [
        WeightSchedulePoint(0, {"a": 1.0, "b": 0.0, "c": 0.0}),
        WeightSchedulePoint(3, {"a": 0.0, "b": 1.0, "c": 0.0}),
    ]
    mix = MixStageConfig(weight_schedule=schedule, block_size=10)
    pipeline = create_pipeline(three(folder), mix=mix).source().mix().apply(Mark())
    with pipeline.load(LoadStageConfig(batch_size=10)).build() as loader:
        batches = list(itertools.islice(loader, 5))
    assert [set(batch["__source__"]) for batch in batches] == [{"a"}] * 3 + [{"b"}] * 2


def test_a_schedule_counts_the_packed_steps(folder: Path) -> None:
    """Behind a packer a step is batch_size rows of seq_length tokens: here 10 documents."""
    for name, first in (("a", 1000), ("b", 5000)):
        jsonl(f"{name}.jsonl", [{"input_ids": [first + i] * 8} for i in range(300)])
    schedule = [
        WeightSchedulePoint(0, {"a": 1.0, "b": 0.0}),
        WeightSchedulePoint(4, {"a": 0.0, "b": 1.0}),
    ]
    config = PipelineConfig(
        [DatasetConfig("a.jsonl", name="a"), DatasetConfig("b.jsonl", name="b")],
        mix=MixStageConfig(weight_schedule=schedule, block_size=10),
        pack=PackStageConfig(seq_length=8, eos_token_id=1, shuffle_packed=False),
        load=LoadStageConfig(batch_size=10),
    )

    def documents(config: PipelineConfig) -> list[int]:
        with Pipeline(config).source().mix().pack().load().build() as loader:
            batches = itertools.islice(loader, 12)
            tokens = [int(token) for batch in batches for token in batch["input_ids"].ravel()]
        return [token for token, _ in itertools.groupby(token for token in tokens if token != 1)]

    found = documents(config)
    assert found[:40] == list(range(1000, 1040))
    assert found[40:50] == list(range(5000, 5010))
    config.mix.schedule_unit = "examples"
    assert documents(config)[9:11] == [1009, 5000], (
        "4 examples: the block that began with one goes on"
    )


@pytest.mark.parametrize("strategy", ["greedy", "pool", "first_fit", "best_fit"])
def test_a_pipeline_goes_on_where_another_stopped(folder: Path, gpt2: str, strategy: str) -> None:
    for name in ("a", "b"):
        rows = [{"text": f"{name} " * (1 + i % 23) + str(i)} for i in range(150)]
        jsonl(f"{name}.jsonl", rows)
    values = {
        "datasets": [{"data_files": f"{name}.jsonl", "name": name} for name in ("a", "b")],
        "default_tokenizer": gpt2,
        "seed": 4,
        "mix": {
            "weights": {"a": 0.3, "b": 0.7},
            "block_size": 20,
            "stop_strategy": "all_exhausted",
        },
        "pack": {"seq_length": 32, "strategy": strategy, "pack_window": 50},
        "load": {"batch_size": 4, "shuffle_buffer_size": 10},
    }

    def loader() -> Any:
        return Pipeline.from_config(values).source().tokenize().mix().pack().load().build()

    def said(batches: Any) -> list[list[list[int]]]:
        return [batch["input_ids"].tolist() for batch in batches]

    with loader() as whole:
        everything = said(whole)
    assert len(everything) > 20
    for stop in (0, 1, 7, len(everything) - 1, len(everything)):
        with loader() as first, loader() as second:
            begun = said(itertools.islice(first, stop))
            second.load_state_dict(json.loads(json.dumps(first.state_dict())))
            rest = said(second) if stop < len(everything) else []
            assert begun + rest == everything
    values["mix"]["weights"] = {"a": 0.4, "b": 0.6}
    with loader() as first, loader() as other:
        state = first.state_dict()
        values["mix"]["block_size"] = 10
        with loader() as changed, pytest.raises(ValueError, match=r"mix\.block_size"):
            changed.load_state_dict(state)
        other.load_state_dict(state)
