"""Each option says when it acts: who heeds it, and beside which others."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from small_data import jsonl

from easydata import (
    AsyncDataLoader,
    CastFields,
    DatasetConfig,
    HFDatasetShardedSource,
    JsonShardedSource,
    LimitedShardedSource,
    MapTransform,
    MixedShardedSource,
    PackedShardedSource,
    SFTPreprocessTransform,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
    _native,
    create_source,
)

DESCRIPTORS: dict[str, dict[str, dict[str, Any]]] = {
    entry["name"]: {option["name"]: option for option in entry["fields"]}
    for text in (_native.config_descriptors(), _native.option_descriptors())
    for entry in json.loads(text)
}
EVERY = [(name, option) for name, options in DESCRIPTORS.items() for option in options.values()]

# Who heeds options and is no operator of a plan.
RUNNERS = {"loader", "writer", "writer.own", "pipeline", "cache", "ray"}
# What of an operator heeds options, by what it reads (src/easydata/configs/claims.cc).
PARTS = {"source.files", "source.remote", "map.chat_template", "tokenize.text", "pack.text"}


def neighbours() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """(config, option, one of its neighbours)."""
    for name, option in EVERY:
        for each in (*option["acting"]["beside"], *option["acting"]["superseded_by"]):
            yield name, option, each


def named(config: str, neighbour: Mapping[str, Any]) -> dict[str, Any]:
    """The option that a neighbour is."""
    home, _, option = neighbour["option"].rpartition(".")
    return DESCRIPTORS[home or config][option]


@pytest.mark.parametrize("name", DESCRIPTORS)
def test_every_option_says_who_heeds_it(name: str) -> None:
    for option in DESCRIPTORS[name].values():
        said = option["acting"]["nodes"] or option["comes_later"] or option["config"]
        assert said, f"{name}.{option['name']} says nothing of when it acts"
        # Of a stage its options say it, unless it says something by being given.
        if option["config"]:
            assert bool(option["acting"]["nodes"]) == (option["name"] == "cache")


def test_neighbours_are_options_with_these_values() -> None:
    seen = 0
    for config, option, neighbour in neighbours():
        seen += 1
        assert neighbour["option"] != option["name"]
        other = named(config, neighbour)
        choices = re.findall(r'"([^"]+)"', other["type"])
        for value in neighbour["values"]:
            assert value in choices or (isinstance(value, bool) and "bool" in other["type"])
        # Values that are all there are, or none of them, say nothing.
        assert neighbour["values"] != choices or not choices
    assert seen > 30


def operators(*descriptions: Mapping[str, Any]) -> set[str]:
    """The operators that plans describe: keys are "operator.option", behind their input's name."""
    keys = [re.sub(r"^(\w+\[[^\]]*\]\.)+", "", key) for each in descriptions for key in each]
    return {key.rpartition(".")[0] for key in keys}


def test_who_heeds_options_is_there(folder: Path, gpt2: str, tiny: str) -> None:
    """Each operator that an option names is one of a plan that can be made."""
    rows = [{"t": f"words {i} of a row", "messages": None} for i in range(8)]
    read = JsonShardedSource(jsonl("a.jsonl", rows)).rename_fields({"t": "text"})
    tokens = TokenizedShardedSource(
        read.transform(MapTransform(dict)), Tokenizer(tiny), TokenizerConfig(tiny)
    )
    shuffled = JsonShardedSource("a.jsonl").shuffle("rows", seed=1)
    examples = HFDatasetShardedSource([{"text": "a"}]).transform(
        SFTPreprocessTransform(gpt2, None, chat_template="{{ messages }}")
    )
    mixed = MixedShardedSource({"a": LimitedShardedSource(tokens, 4), "b": tokens})
    packed = PackedShardedSource(mixed, 8, balance_groups=2)
    cast = JsonShardedSource("a.jsonl").transform(CastFields({"t": "string"}))
    steps = [{"drop": "a"}, {"select": "b"}, {"add_field": {"c": 1}}, {"filter_non_empty": "b"}]
    jsonl("steps.jsonl", [{"a": 1, "b": "x"}])
    stepped = create_source(DatasetConfig("steps.jsonl", transforms=steps))
    parted = JsonShardedSource("a.jsonl").split({"a": 0.5, "b": 0.5})["a"]
    loaders = [
        AsyncDataLoader(tokens, 2, shuffle_buffer_size=4, bucket_batches=2),
        AsyncDataLoader(packed, 2),
    ]
    found = operators(
        read._stream({"text": "text"}).description,
        *(
            source._stream().description
            for source in (shuffled, examples, packed, cast, parted, stepped)
        ),
        *(loader.state_dict()["plan"] for loader in loaders),
    )
    found.add("grain_rows")  # of grain_data_processing
    # Options of the formats of text, and what claims.cc calls sources of files of a format.
    found |= {"source.text_field", "source.column"}
    found |= {f"source.{kind}" for kind in ("csv", "text", "json", "arrow", "tokens")}
    named_nodes = {node for _, option in EVERY for node in option["acting"]["nodes"]}
    assert named_nodes - RUNNERS - PARTS <= found
    assert {part.partition(".")[0] for part in PARTS} <= found
    assert named_nodes >= RUNNERS | {"source", "tokenize", "examples", "mix", "pack"}


def other(option: Mapping[str, Any]) -> Any:
    """A value of an option that is not its default."""
    default = option["default"]
    if isinstance(default, bool):
        return not default
    choices = re.findall(r'"([^"]+)"', option["type"])
    if choices:
        return next(each for each in choices if each != default)
    return (default or 0) + 1


def settings(
    options: Mapping[str, dict[str, Any]], neighbour: Mapping[str, Any], *, fits: bool
) -> Any:
    """A value of a neighbour that is as it is wanted, or is not."""
    declared = options[neighbour["option"]]
    values = neighbour["values"]
    if fits:
        return values[0] if values else other(declared)
    if not values:
        return declared["default"]
    choices = re.findall(r'"([^"]+)"', declared["type"]) or [True, False]
    return next(value for value in choices if value not in values)


PACKED = DESCRIPTORS["PackedOptions"]
JUDGED = [name for name in PACKED if name not in ("input_field", "token_fields")]


@pytest.mark.parametrize("name", JUDGED)
def test_a_packer_heeds_options_where_they_say(name: str) -> None:
    """Another value changes the plan where the option acts, and nothing where it does not."""
    source = HFDatasetShardedSource([{"input_ids": [1, 2, 3]}])

    def plan(**given: Any) -> dict[str, Any]:
        given = {"seq_length": 8, "eos_token_id": 0, "balance_groups": 1} | given
        return PackedShardedSource(source, **given)._stream().description

    option = PACKED[name]
    beside = option["acting"]["beside"]
    acts = {each["option"]: settings(PACKED, each, fits=True) for each in beside}
    changed = {name: other(option)}
    before, after = plan(**acts), plan(**acts, **changed)
    assert before != after
    keys = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    nodes = tuple(f"{node.removesuffix('.text')}." for node in option["acting"]["nodes"])
    assert all(key == "plan" or key.startswith(nodes) for key in keys), keys
    for each in beside:
        silent = acts | {each["option"]: settings(PACKED, each, fits=False)}
        assert plan(**silent) == plan(**silent, **changed), each


def test_a_mix_heeds_options_where_they_say() -> None:
    """Of Grain's order, in which neither blocks nor their seed have a meaning."""
    sources = {name: HFDatasetShardedSource([{"name": name}] * 9) for name in "abc"}

    def names(**given: Any) -> list[str]:
        mixed = MixedShardedSource(sources, stop_strategy="first_exhausted", **given)
        return [row["name"] for row in mixed]

    options = DESCRIPTORS["MixOptions"]
    for name in ("seed", "block_size"):
        (beside,) = options[name]["acting"]["beside"]
        for value in ("blocks", "grain"):
            fits = value in beside["values"]
            given: dict[str, Any] = {beside["option"]: value, "block_size": 7}
            assert (names(**given) != names(**{**given, name: 3})) == fits


def test_a_neighbour_supersedes_the_size_of_shards(tmp_path: Path) -> None:
    """What a writer is told beside the option decides, whatever the option says."""
    from easydata import save_dataset

    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(f'{{"n": {i}}}\n' for i in range(5000)))
    source = JsonShardedSource(str(rows))
    superseding = DESCRIPTORS["WriteOptions"]["max_shard_size"]["acting"]["superseded_by"]
    assert [each["option"] for each in superseding] == ["num_shards", "max_shard_rows"]

    def shards(path: str, **given: Any) -> int:
        return save_dataset(source, tmp_path / path, "jsonl", **given).num_shards

    assert shards("one") < shards("small", max_shard_size=1000)
    for number, each in enumerate(superseding):
        given = {each["option"]: 1000 if each["option"] == "max_shard_rows" else 3}
        whole = shards(f"{number}", **given)
        assert shards(f"{number}small", max_shard_size=1000, **given) == whole
