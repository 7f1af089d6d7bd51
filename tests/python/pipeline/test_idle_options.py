"""Options that are set do something, are told to do nothing, or are refused by name."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from easydata.core.config import ConfigError
from small_data import jsonl, tokens

from easydata import (
    DatasetConfig,
    JsonShardedSource,
    Pipeline,
    PipelineConfig,
    TokenizerConfig,
    _native,
    create_source,
    pretokenize,
    tokenize_and_save,
    tokenize_dataset_config,
)

DESCRIPTORS: dict[str, dict[str, Any]] = {
    entry["name"]: entry for entry in json.loads(_native.config_descriptors())
}
STAGES = {
    field["config"]: field["name"]
    for field in DESCRIPTORS["PipelineConfig"]["fields"]
    if field["config"]
}
CHAT = [{"role": "user", "content": "ask"}, {"role": "assistant", "content": "say this"}]
# Whoever runs a plan heeds these, and the rows stay.
RUNNERS = {"loader", "writer", "writer.own", "pipeline", "cache"}
# What acts on rows that are not among ours, or by itself on none.
ON_OTHER_ROWS = {"seed", "name", "columns", "type", "identity", "on_missing", "view", "truncation"}
# Of files that zstd has compressed, and of tokens that are stored.
ON_OTHER_ROWS |= {"zstd_max_window", "allow_vocabularies"}


def upper(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value.upper() if isinstance(value, str) else value for key, value in row.items()}


@pytest.fixture
def data(folder: Path, tiny: str) -> dict[str, dict[str, Any]]:
    """Datasets of several kinds, by name."""
    texts = [{"id": i, "text": f"some words {i} and others"} for i in range(9)]
    Path("lines.txt").write_text("one line\nand another\n" * 5)
    jsonl("chats.jsonl", [{"messages": CHAT, "text": "beside"}] * 9)
    text = {"data_files": jsonl("texts.jsonl", texts), "tokenizer": tiny}
    return {
        "text": text,
        "lines": {"data_files": "lines.txt", "tokenizer": tiny},
        "chats": {"data_files": "chats.jsonl", "content_field": "messages", "tokenizer": tiny},
        "rows": {"data_files": texts, "tokenizer": tiny},
        "tokens": {"data_files": tokens("tokens.jsonl", 9)},
        "sft": {
            "data_files": "chats.jsonl",
            "tokenizer": tiny,
            "transform": {"name": "sft", "fixed_shapes": False},
        },
    }


def another(config: str, field: dict[str, Any], tiny: str) -> Any:
    """A value of an option that is not its default."""
    known: dict[str, Any] = {
        "tokenizer": TokenizerConfig(tiny, max_length=3),
        "default_tokenizer": tiny,
        "tokenizer_kwargs": {"max_length": 3},
        "max_length": 3,
        "columns": ["text", "messages"],
        "additional_fields": ["id"],
        "remove_columns": ["attention_mask"],
        "format_callback": upper,
        "format_fields": {"id": "ident"},
        "storage_options": {"retries": 3},
        "dask_storage_options": {"retries": 3},
        "transform": upper,
        "chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}",
        "template_date": "2026-01-02",
        "quarantine_path": "bad.jsonl",
        "weights": {"a": 0.25, "b": 0.75},
        "weight_schedule": [{"step": 0, "weights": {"a": 0.25, "b": 0.75}}],
        "batch_rampup": {0: 2, 1: 4},
        "padding": "max_length" if config == "TokenizerConfig" else {"input_ids": {"length": 64}},
        "token_fields": ["input_ids"],
        "save_path": "own",
        "output_dir": "elsewhere",
        "resources_per_worker": {"CPU": 1},
        "shuffle_window_bytes": 1000,
        "type": "jsonl",
        "log_level": "ERROR",
    }
    name = field["name"]
    if name in known:
        return known[name]
    default = field["default"] if field["reads_as"] is None else field["reads_as"]
    choices = re.findall(r'"([^"]+)"', field["type"])
    if choices:
        return next(each for each in choices if each != default)
    if "bool" in field["type"]:
        return not default
    if "int" in field["type"] or "float" in field["type"]:
        return (default or 2) + 1
    return "another"


def told(config: PipelineConfig, chain: str) -> tuple[Any, set[str]]:
    """What a chain makes of a config, with its plan, and the options that it says do nothing."""
    pipeline: Any = Pipeline(config)
    for stage in chain.split():
        pipeline = getattr(pipeline, stage)()
    listed = set(pipeline.explain()["options_without_effect"])
    made = pipeline.build()
    if chain.endswith("save"):
        files = [Path(path).read_bytes() for out in made.values() for path in out.output_paths]
        plans = {name: each._stream().description for name, each in pipeline.get_data().items()}
        return (files, plans), listed
    batches = []
    for batch in made:
        batches.append(
            {name: getattr(of, "tolist", lambda of=of: of)() for name, of in batch.items()}
        )
        if len(batches) == 8:
            break
    return (batches, made.state_dict()), listed


def cases() -> Iterator[tuple[str, str, str]]:
    """(config, option, chain)."""
    for config, entry in DESCRIPTORS.items():
        chains = ["source tokenize load", "source tokenize save"]
        if config in ("MixStageConfig", "PackStageConfig", "PipelineConfig"):
            chains.append("source tokenize mix pack load")
        for field in entry["fields"]:
            is_name = config == "WeightSchedulePoint" or field["required"] or field["config"]
            for chain in () if is_name or field["secret"] else chains:
                yield config, field["name"], chain


def config_of(
    kind: dict[str, Any], config: str, option: dict[str, Any], value: Any, chain: str, out: str
) -> PipelineConfig:
    named = ["a", "b"] if "mix" in chain else ["a"]
    datasets: list[dict[str, Any]] = [{**kind, "name": name} for name in named]
    values: dict[str, Any] = {"datasets": datasets, "load": {"batch_size": 2}}
    values["save"] = {"output_dir": out}
    if "pack" in chain:
        values["pack"] = {"seq_length": 32}  # else a window is two million tokens
        if "tokenizer" not in kind:
            values["pack"]["eos_token_id"] = 2  # nobody knows what the tokens are of
    if option:
        name = option["name"]
        if config == "DatasetConfig":
            datasets[0][name] = value
        elif config == "TokenizerConfig":
            datasets[0]["tokenizer"] = {"name_or_path": kind.get("tokenizer", "none"), name: value}
        elif config == "PipelineConfig":
            values[name] = value
        else:
            values.setdefault(STAGES[config], {})[name] = value
    return PipelineConfig.from_dict(values)


KINDS = ("text", "lines", "chats", "rows", "tokens", "sft")


@pytest.mark.parametrize("kind", KINDS)
def test_every_option_acts_is_told_or_is_refused(
    kind: str, data: dict[str, dict[str, Any]], tiny: str
) -> None:
    silent = []
    plain: dict[str, Any] = {}
    for number, (config, name, chain) in enumerate(cases()):
        entry = DESCRIPTORS[config]
        option = next(field for field in entry["fields"] if field["name"] == name)
        if not option["comes_later"] and set(option["acting"]["nodes"]) <= RUNNERS:
            continue
        if (config, name, chain.split()[-1]) == ("RayConfig", "enabled", "save"):
            continue  # it would start a cluster: tests/python/distributed
        if name in ON_OTHER_ROWS or (config == "TokenizerConfig" and "tokenizer" not in data[kind]):
            continue
        stage = STAGES.get(config, "source")
        if stage not in (*chain.split(), "ray", "cache", "observability"):
            continue
        if chain not in plain:
            plain[chain] = told(
                config_of(data[kind], config, {}, None, chain, f"plain{number}"), chain
            )[0]
        value = another(config, option, tiny)
        try:
            made, listed = told(
                config_of(data[kind], config, option, value, chain, f"out{number}"), chain
            )
        except (ValueError, KeyError, NotImplementedError, OSError):
            continue
        if made == plain[chain] and not any(path.endswith(name) for path in listed):
            silent.append(f"{config}.{name} in {chain}")
    assert not silent, "\n".join(silent)


def refusal(dataset: dict[str, Any], chain: str = "source tokenize load", **options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        told(PipelineConfig.from_dict({"datasets": [dataset], **options}), chain)
    return str(caught.value)


def test_a_transform_names_the_option_that_acts(data: dict[str, dict[str, Any]], tiny: str) -> None:
    said = refusal(data["sft"] | {"tokenizer": TokenizerConfig(tiny, max_length=9)})
    assert 'datasets[0].tokenizer.max_length has no effect on dataset "dataset_0"' in said
    assert 'transform={"name": ..., "max_length": 9}' in said
    assert "max_length" in refusal(data["sft"], tokenize={"max_length": 9})
    for chain in ("source tokenize load", "source load"):
        assert "format_fields" in refusal(data["sft"] | {"content_field": "body"}, chain)
    assert "keep_columns" in refusal(data["sft"] | {"additional_fields": ["text"]})
    for option in ({"truncation": False}, {"add_special_tokens": False}, {"padding": "max_length"}):
        assert next(iter(option)) in refusal(data["sft"] | {"tokenizer_kwargs": option})


def test_options_that_need_another_one(data: dict[str, dict[str, Any]]) -> None:
    assert "acts where weight_schedule is set" in refusal(
        data["text"], "source tokenize mix load", mix={"weight_schedule_type": "linear"}
    )
    assert "load.seed" in refusal(data["text"], load={"seed": 4})
    assert "storage_options" in refusal(data["text"] | {"storage_options": {"retries": 3}})
    with pytest.raises(ValueError, match="ignore_first_label: the rows have no labels"):
        told(
            PipelineConfig.from_dict(
                {"datasets": [data["text"]], "pack": {"ignore_first_label": True}}
            ),
            "source tokenize pack load",
        )


def test_what_is_saved_with_others_has_no_folder_of_its_own(
    data: dict[str, dict[str, Any]],
) -> None:
    both = [data["text"] | {"save_path": "mine"}, data["rows"]]
    mix = {"stop_strategy": "first_exhausted"}
    config = PipelineConfig.from_dict({"datasets": both, "mix": mix})
    with pytest.raises(ConfigError, match=r"datasets\[0\].save_path has no effect"):
        told(config, "source tokenize mix save")
    assert not Path("mine").exists()
    # Saved before they are mixed, each has its own.
    told(config, "source tokenize save mix load")
    assert Path("mine").is_dir()


def test_neighbours_and_compatibility_are_told(data: dict[str, dict[str, Any]], tiny: str) -> None:
    config = PipelineConfig.from_dict(
        {
            "datasets": [data["text"]],
            "default_tokenizer": tiny,
            "streaming": False,
            "load": {"prefetch_workers": 7},
            "save": {"num_shards": 2, "max_shard_size": "1MB", "hub_repo_id": "a/b"},
        }
    )
    _, saved = told(config, "source tokenize save")
    assert {"default_tokenizer", "streaming", "save.max_shard_size", "save.hub_repo_id"} <= saved
    _, loaded = told(config, "source tokenize load")
    assert loaded == {"default_tokenizer", "streaming", "load.prefetch_workers"}


def test_all_that_is_taken_for_compatibility_is_told(
    data: dict[str, dict[str, Any]], tiny: str
) -> None:
    named = {"name_or_path": tiny, "trust_remote_code": False}
    dataset = data["text"] | {"tokenizer": named, "tokenizer_kwargs": {"use_fast": True}}
    config = PipelineConfig.from_dict({"datasets": [dataset], "cache": {"hash_fn": "path"}})
    assert told(config, "source tokenize load")[1] == {
        "cache.hash_fn",
        "datasets[0].tokenizer.trust_remote_code",
        "datasets[0].tokenizer_kwargs.use_fast",
    }


def test_create_source_acts_on_its_own_rows_or_refuses(
    data: dict[str, dict[str, Any]], tiny: str
) -> None:
    texts = "texts.jsonl"
    for option in ("split", "dataset_split_name"):
        with pytest.raises(ConfigError, match=option):
            create_source(DatasetConfig(texts, **{option: "validation"}))
    with pytest.raises(ConfigError, match="storage_options has no effect"):
        create_source(DatasetConfig(texts, storage_options={"retries": 2}))
    with pytest.raises(ValueError, match="all of the files are on this machine"):
        JsonShardedSource(texts, storage_options={"retries": 2})
    config = DatasetConfig(
        texts, format_callback=upper, format_fields={"id": "ident"}, tokenizer=tiny
    )
    source = create_source(config)
    assert next(iter(source)) == {"ident": 0, "text": "SOME WORDS 0 AND OTHERS"}
    # Done once, whoever does it.
    rows = list(tokenize_dataset_config(source, config))
    config.additional_fields = ["ident"]
    plain = create_source(DatasetConfig(texts))
    assert [row["input_ids"] for row in rows] == [
        row["input_ids"] for row in tokenize_dataset_config(plain, config)
    ]
    assert next(iter(tokenize_dataset_config(source, config)))["ident"] == 0


def test_create_source_makes_examples(data: dict[str, dict[str, Any]]) -> None:
    config = DatasetConfig(**data["sft"])
    row = next(iter(create_source(config)))
    assert row["input_ids"]
    with pytest.raises(ConfigError, match="transform: makes tokens by itself"):
        tokenize_dataset_config(create_source(config), config)


def test_jobs_of_one_call_take_what_their_errors_advise(
    data: dict[str, dict[str, Any]], tiny: str
) -> None:
    texts = "texts.jsonl"

    def pretokenize_all(**options: Any) -> Any:
        return pretokenize(JsonShardedSource(texts), dict, "rows", **options)

    def tokenize_all(**options: Any) -> Any:
        return tokenize_and_save(texts, tiny, "tokens", **options)

    for job in (pretokenize_all, tokenize_all):
        job()
        with pytest.raises(FileExistsError, match="set overwrite=True"):
            job()
        job(overwrite=True)
