"""What a miss follows from, named rightly, and what is no part of what is kept."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import row_functions
from kept_data import Command, texts
from small_tokenizer import CHAT_TEMPLATE

Config = dict[str, Any]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.fixture
def config(folder: Path, tiny: str, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A config with all that is changed below."""
    shutil.copytree(tiny, "tokenizer")
    monkeypatch.setattr(row_functions.loud, "version", "1", raising=False)
    return {
        "datasets": [
            {
                "data_files": texts(),
                "name": "a",
                "tokenizer": {"name_or_path": "tokenizer", "max_length": 64},
                "format_callback": "row_functions:loud",
                "format_fields": {"kind": "sort"},
                "additional_fields": ["sort"],
            }
        ],
        "cache": {"cache_dir": "kept"},
    }


def edit_json(path: str, edit: Callable[[Any], None]) -> None:
    value = json.loads(Path(path).read_text())
    edit(value)
    Path(path).write_text(json.dumps(value))


def other_vocabulary(config: Config) -> None:
    def swap(value: Any) -> None:
        vocab = value["model"]["vocab"]
        vocab["a"], vocab["b"] = vocab["b"], vocab["a"]

    edit_json("tokenizer/tokenizer.json", swap)


def added_token(config: Config) -> None:
    def add(value: Any) -> None:
        last = value["added_tokens"][-1]
        value["added_tokens"].append({**last, "id": last["id"] + 1, "content": "<|tool|>"})

    edit_json("tokenizer/tokenizer.json", add)


def dataset(**options: Any) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        config["datasets"][0].update(options)

    return change


def tokenizer(**options: Any) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        config["datasets"][0]["tokenizer"].update(options)

    return change


def newer_version(config: Config) -> None:
    row_functions.loud.version = "2"  # type: ignore[attr-defined]


def rewritten(path: str, old: str, new: str, *, keeps_time: bool = False) -> Callable[..., None]:
    def change(config: Config) -> None:
        before = os.stat(path)
        text = Path(path).read_text()
        assert old in text
        Path(path).write_text(text.replace(old, new))
        if keeps_time:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        else:
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))

    return change


MISSES = {
    "tokenizer": (other_vocabulary, "tokenizer changed: "),
    "added token": (added_token, "tokenizer changed: "),
    "add_special_tokens": (
        tokenizer(add_special_tokens=False),
        "tokenize.add_special_tokens: true -> false",
    ),
    "max_length": (tokenizer(max_length=32), "tokenize.max_length: 64 -> 32"),
    "truncation": (tokenizer(truncation=False, max_length=None), "tokenize.max_length: 64 -> "),
    "content_field": (dataset(content_field="sort"), '"text" -> "sort"'),
    "format_callback": (newer_version, 'version of row_functions.loud: "1" -> "2"'),
    "format_fields": (dataset(format_fields={"kind": "sort", "id": "n"}), "rename.fields: "),
    "no callback": (dataset(format_callback=None), "steps: "),
    "additional_fields": (dataset(additional_fields=["sort", "id"]), "tokenize.additional_fields"),
    "column_types": (dataset(column_types={"id": "string"}), "steps: "),
    "attention mask": (
        tokenizer(return_attention_mask=False),
        "column attention_mask: list<item: int32> -> none",
    ),
    "on_error": (dataset(on_error="skip"), "on_error"),
}


@pytest.mark.parametrize("changed", MISSES)
def test_what_is_different_is_made_anew(command: Command, config: Config, changed: str) -> None:
    filled = command.of("fill", config)
    assert filled["blocks"] == filled["kept_blocks"] == filled["made_blocks"] == 2
    change, named = MISSES[changed]
    change(config)
    found = command.of("explain", config)
    assert (found["blocks"], found["kept_blocks"]) == (2, 0)
    assert named in found["missing"][0], found["missing"]
    again = command.of("fill", config)
    assert again["made_blocks"] == 2


FILES = {
    "content": rewritten("data/a.jsonl", "ducks", "many ducks"),
    "equal size": rewritten("data/a.jsonl", "ducks", "geese"),
    "equal size and time": rewritten("data/a.jsonl", "ducks", "geese", keeps_time=True),
}


@pytest.mark.parametrize("changed", FILES)
def test_a_file_that_was_replaced_is_read_anew(
    command: Command, config: Config, changed: str
) -> None:
    command.of("fill", config)
    FILES[changed](config)
    found = command.of("explain", config)
    assert (found["blocks"], found["kept_blocks"]) == (2, 1)
    (why,) = found["missing"]
    # What has the size and the time of another one is told by its bytes.
    same = ": evicted or never filled, or changed at equal size and time"
    assert why == "data/a.jsonl" + (same if changed == "equal size and time" else " was replaced")


def test_the_chat_template_counts(command: Command, config: Config, tiny: str) -> None:
    rows = [
        {"messages": [{"role": "user", "content": f"{i}"}, {"role": "assistant", "content": "b"}]}
        for i in range(20)
    ]
    Path("chats.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    chats: Config = {
        "datasets": [{"data_files": "chats.jsonl", "name": "a", "tokenizer": tiny}],
        "cache": {},
    }
    assert command.of("fill", chats)["made_blocks"] == 1
    assert command.of("fill", chats)["made_blocks"] == 0
    chats["datasets"][0]["chat_template"] = CHAT_TEMPLATE.replace("</s>", "\n</s>")
    found = command.of("explain", chats)
    assert found["kept_blocks"] == 0
    assert found["missing"][0].startswith("chat template changed")
    chats["datasets"][0] |= {"transform": {"name": "sft", "max_length": 32}}
    assert command.of("fill", chats)["made_blocks"] == 1
    chats["datasets"][0]["chat_template"] = CHAT_TEMPLATE
    assert command.of("explain", chats)["missing"][0].startswith("chat template changed")


def moved_data(config: Config) -> None:
    shutil.move("data", "elsewhere")
    config["datasets"][0]["data_files"] = "elsewhere/*.jsonl"


def moved_cache(config: Config) -> None:
    shutil.move("kept", "somewhere")
    config["cache"]["cache_dir"] = "somewhere"


def stage(name: str, **options: Any) -> Callable[[Config], None]:
    def change(config: Config) -> None:
        config.setdefault(name, {}).update(options)

    return change


def other_datasets(config: Config) -> None:
    first = config["datasets"][0]
    others = [{**first, "name": name, "data_files": texts(name, "z")} for name in ("b", "c")]
    config["datasets"] = [others[0], first, others[1]]


def renamed_files(config: Config) -> None:
    os.rename("data/a.jsonl", "data/z.jsonl")


def moved_tokenizer(config: Config) -> None:
    shutil.move("tokenizer", "of-tokens")
    config["datasets"][0]["tokenizer"].update(name_or_path="of-tokens")


HITS: dict[str, Callable[[Config], None]] = {
    "the folder of the data": moved_data,
    "the folder of the cache": moved_cache,
    "threads": stage("tokenize", num_workers=1, batch_size=7),
    "ranks": stage("load", world_size=2, rank=1, batch_size=4),
    "seed": lambda config: config.update(seed=7),
    "shuffled": dataset(shuffle="blocks"),
    "the name of the dataset": dataset(name="other"),
    "other datasets": other_datasets,
    "the order of files": dataset(data_files=["data/b.jsonl", "data/a.jsonl"]),
    "names of files": renamed_files,
    "the folder of the tokenizer": moved_tokenizer,
    "how it is kept": stage("cache", compression="zstd", memory_cache_size=0, max_bytes="1GB"),
    "how it is saved": stage("save", output_dir="elsewhere", num_shards=3),
}
# With a callback, which may leave rows out, these rows are not kept at all.
HITS_WITHOUT_CALLBACK: dict[str, Callable[[Config], None]] = {
    "shuffled rows": dataset(shuffle="rows"),
    "Grain's order": dataset(shuffle="grain"),
}


@pytest.mark.parametrize("changed", HITS)
def test_what_does_not_count_is_found(command: Command, config: Config, changed: str) -> None:
    assert command.of("fill", config)["made_blocks"] == 2
    HITS[changed](config)
    name = config["datasets"][1 if changed == "other datasets" else 0]["name"]
    found = command.of("explain", config, name)
    assert found["kept_blocks"] == found["blocks"] == 2, found
    assert found["missing"] == []


@pytest.mark.parametrize("changed", HITS_WITHOUT_CALLBACK)
def test_orders_do_not_count(command: Command, config: Config, changed: str) -> None:
    del config["datasets"][0]["format_callback"]
    assert command.of("fill", config)["made_blocks"] == 2
    HITS_WITHOUT_CALLBACK[changed](config)
    found = command.of("explain", config)
    assert found["kept_blocks"] == found["blocks"] == 2, found
    config["datasets"][0]["format_callback"] = "row_functions:loud"
    assert "left out" in command.of("explain", config)["reason"]


def test_a_file_that_is_new_or_evicted_is_named(command: Command, config: Config) -> None:
    command.of("fill", config)
    texts(files="c")
    found = command.of("explain", config)
    assert (found["blocks"], found["kept_blocks"]) == (3, 2)
    (why,) = found["missing"]
    assert why == "data/c.jsonl is new"
    assert command.of("fill", config)["made_blocks"] == 1
    freed = command("prune", "kept", "--max-bytes", "0")["folders"][os.path.abspath("kept")]
    assert freed["freed_bytes"] > 0
    found = command.of("explain", config)
    assert found["kept_blocks"] == 0
    assert all("evicted or never filled" in why or "nothing" in why for why in found["missing"])
