"""An option has one default, wherever a user can set it, or a reason to have several."""

import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest
from easydata.core.config_class import Unset, is_set
from easydata.core.takes_options import declared_parameters
from easydata.execution import parse_size
from easydata.sources.files import FileSource

import easydata
from easydata import _native, trainers

CONFIGS: dict[str, Any] = {
    entry["name"]: {field["name"]: field for field in entry["fields"]}
    for entry in json.loads(_native.config_descriptors())
}
OPTIONS: dict[str, Any] = {
    entry["name"]: {field["name"]: field for field in entry["fields"]}
    for entry in json.loads(_native.option_descriptors())
}

FILE_SOURCES = (
    easydata.ArrayRecordShardedSource,
    easydata.ArrowShardedSource,
    easydata.CsvShardedSource,
    easydata.JsonShardedSource,
    easydata.ParquetShardedSource,
    easydata.TextShardedSource,
)

# What takes options: (callable, the engine's struct, the config, {parameter: the option there}).
PACK, MIX, SAVE = "PackStageConfig", "MixStageConfig", "SaveStageConfig"
TOKENIZE, DATASET = "TokenizeStageConfig", "DatasetConfig"
TAKERS: list[tuple[Callable[..., Any], str, str, dict[str, str]]] = [
    (easydata.PackedShardedSource, "PackedOptions", PACK, {"shuffle": "shuffle_packed"}),
    (easydata.GreedyPacker, "PackOptions", PACK, {}),
    (easydata.PoolPacker, "PackOptions", PACK, {}),
    (easydata.FirstFitPacker, "PackOptions", PACK, {"buffer_size": "pack_window"}),
    (easydata.MixedShardedSource, "MixOptions", MIX, {}),
    (easydata.WeightScheduler, "MixOptions", MIX, {"interpolation": "weight_schedule_type"}),
    (easydata.AsyncDataLoader, "LoadOptions", "LoadStageConfig", {}),
    (easydata.ParquetWriter, "WriteOptions", SAVE, {}),
    (easydata.create_writer, "WriteOptions", SAVE, {}),
    (easydata.save_dataset, "WriteOptions", SAVE, {}),
    (easydata.save_iterator, "WriteOptions", SAVE, {}),
    (easydata.block_mixture_interleave, "MixOptions", MIX, {"stop": "stop_strategy"}),
    (easydata.TokenizedShardedSource, "TokenizeOptions", TOKENIZE, {}),
    # Their name is empty where a dataset's is unset.
    *((source, "ErrorPolicy", DATASET, {"name": ""}) for source in FILE_SOURCES),
    (easydata.CsvShardedSource, "CsvOptions", DATASET, {"name": ""}),
]

# Parameters whose default is the manual's, and another one than the option's.
REASONS = {
    ("block_mixture_interleave", "seed"): "EasyDeL's is 42; the option is unset",
    ("TokenizedShardedSource", "additional_fields"): "None reads as none",
    ("CsvShardedSource", "delimiter"): "a dataset's is unset, which means that of the format",
    ("ArrayRecordShardedSource", "decode"): "a dataset's is unset, which means text",
}


def shown(value: Any) -> Any:
    """A default as its meaning: sizes as bytes."""
    return parse_size(value) if isinstance(value, str) and value[:1].isdigit() else value


@pytest.mark.parametrize("taker", TAKERS, ids=lambda taker: taker[0].__name__)
def test_parameters_have_the_default_of_their_option(
    taker: tuple[Callable[..., Any], str, str, dict[str, str]],
) -> None:
    function, options, config, names = taker
    seen = 0
    for name, parameter in inspect.signature(function).parameters.items():
        option = names.get(name, name)
        declared = OPTIONS[options].get(name if name in OPTIONS[options] else option)
        declared = declared or CONFIGS[config].get(option)
        if declared is None or parameter.default is inspect.Parameter.empty:
            continue
        seen += 1
        if (function.__name__, name) not in REASONS:
            reads_as = declared.get("reads_as")
            meant = declared["default"] if reads_as is None else reads_as
            assert shown(parameter.default) in (shown(declared["default"]), shown(meant)), name
    assert seen >= 2 or function is easydata.WeightScheduler


def test_configs_have_the_defaults_of_the_engine() -> None:
    seen = 0
    for _, options, config, names in TAKERS:
        for name, declared in OPTIONS[options].items():
            of_config = CONFIGS[config].get(names.get(name, name))
            if of_config is None:
                continue
            seen += 1
            same = shown(of_config["default"]) == shown(declared["default"])
            assert same or of_config["differs"], (
                f"{config}.{name} has another default, and no reason"
            )
    assert seen > 80


def test_a_stage_hands_every_option_on() -> None:
    """What a struct of the engine has, its config has, but for the sources' own parameters."""
    own = {
        "PackedOptions": {"input_field", "seed", "shuffle"},
        # Other options of configs say these.
        "TokenizeOptions": {
            "content_field",
            "additional_fields",
            "skip_missing",
            "batch_size",
            "num_workers",
            "pad_to",
            "pad_token_id",
            "pad_left",
        },
    }
    for options, config in (
        ("PackedOptions", PACK),
        ("MixOptions", MIX),
        ("LoadOptions", "LoadStageConfig"),
        ("WriteOptions", SAVE),
        ("TokenizeOptions", "TokenizerConfig"),
        ("ErrorPolicy", DATASET),
    ):
        missing = set(OPTIONS[options]) - set(CONFIGS[config])
        assert missing == own.get(options, set()), config


@pytest.mark.parametrize("source", FILE_SOURCES, ids=lambda source: source.__name__)
def test_sources_of_files_take_the_options_of_all(source: Callable[..., Any]) -> None:
    shared = inspect.signature(FileSource).parameters
    assert set(OPTIONS["ErrorPolicy"]) < set(shared)
    taken = inspect.signature(source).parameters
    for name, parameter in shared.items():
        if name != "zstd_max_window" or name in taken:  # not all may be compressed
            assert taken[name].default == parameter.default, name


def test_defaults_of_classes_are_those_of_the_descriptors() -> None:
    for name, fields in CONFIGS.items():
        required = {
            field["name"]: {
                "data_files": "a",
                "name_or_path": "a",
                "step": 0,
                "weights": {"a": 1},
            }.get(field["name"], [easydata.DatasetConfig(data_files="a")])
            for field in fields.values()
            if field["required"]
        }
        config = getattr(easydata, name)(**required)
        for field in fields.values():
            if field["required"] or field["config"]:
                continue
            value = getattr(config, field["name"])
            if field["reads_as"] is None:
                assert value == field["default"] or (field["name"] == "name"), (name, field["name"])
            else:
                assert isinstance(value, Unset), (name, field["name"])
                assert not is_set(config, field["name"])


@pytest.mark.parametrize(
    ("transform", "options"),
    [
        (trainers.SFTPreprocessTransform, "SftOptions"),
        (trainers.DPOPreprocessTransform, "PreferenceOptions"),
        (trainers.KTOPreprocessTransform, "UnpairedOptions"),
        (trainers.GRPOPreprocessTransform, "PromptOptions"),
        (trainers.RewardPreprocessTransform, "RewardOptions"),
        (trainers.EmbeddingPreprocessTransform, "EmbeddingOptions"),
    ],
)
def test_a_config_may_set_what_a_transform_takes(transform: Any, options: str) -> None:
    taken = set(inspect.signature(transform).parameters) - {"tokenizer"}
    assert taken == {*OPTIONS[options], *declared_parameters(options)}
