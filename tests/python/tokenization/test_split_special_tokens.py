"""split_special_tokens=True reads special tokens in text as transformers reads them."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from data_folders import needs_shared, tokenizer_folder

from easydata import (
    DatasetConfig,
    HFDatasetShardedSource,
    Pipeline,
    PipelineConfig,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
)

transformers = pytest.importorskip("transformers", reason="pip install 'easydata[hf]'")

OWN = ["byte-level", "metaspace", "split", "splits", "unigram", "whole-text", "word-piece"]
REAL = [
    pytest.param(name, marks=needs_shared)
    for name in ("llama2", "llama3.1", "qwen2.5", "t5-small", "gpt2")
]


def live(name: str, **options: Any) -> Any:
    return transformers.AutoTokenizer.from_pretrained(
        str(tokenizer_folder(name)), local_files_only=True, **options
    )


def texts(seed: int, name: str, count: int) -> list[str]:
    """Texts with added tokens, special ones and others, whole and in parts, among words."""
    picked = random.Random(seed)
    model = json.loads((tokenizer_folder(name) / "tokenizer.json").read_text(encoding="utf-8"))
    tokens = [token["content"] for token in model["added_tokens"][:12] + model["added_tokens"][-4:]]
    words = ["The", " ferry", " at", " 9", "é", "\n", " ", "  ", "<|", "|>", "</", "<s", "海", "!"]
    made = []
    for _ in range(count):
        parts = picked.choices(words, k=picked.randint(0, 5)) + picked.choices(tokens, k=3)
        picked.shuffle(parts)
        made.append("".join(parts))
    return made


@pytest.mark.parametrize("name", [*OWN, *REAL])
def test_ids_are_those_of_transformers(name: str) -> None:
    theirs = live(name, split_special_tokens=True)
    ours = Tokenizer(tokenizer_folder(name), "transformers", split_special_tokens=True)
    plain = Tokenizer(tokenizer_folder(name), "transformers")
    assert ours.split_special_tokens
    assert not plain.split_special_tokens
    assert ours.fingerprint != plain.fingerprint
    rows = texts(7, name, 120)
    for add in (True, False):
        expected = theirs(rows, add_special_tokens=add)["input_ids"]
        assert ours.encode_batch(rows, add).to_pylist() == expected
    # Tokens are read otherwise without it.
    assert plain.encode_batch(rows).to_pylist() != ours.encode_batch(rows).to_pylist()
    for text in rows[:5]:
        _, offsets = ours.encode(text, return_offsets=True)
        assert len(offsets) == len(ours.encode(text))


def test_a_live_tokenizer_has_its_setting_from_the_start() -> None:
    """Also where its backend is told of it with the first call only."""
    changed = live("split")
    changed.split_special_tokens = True
    assert not changed.backend_tokenizer.encode_special_tokens
    text = "a<|im_end|> b"
    ours = Tokenizer(changed)
    assert ours.encode(text).tolist() == changed(text)["input_ids"]
    # And where a call has told its backend otherwise.
    once = live("split")
    once(text, split_special_tokens=True)
    assert once.backend_tokenizer.encode_special_tokens
    assert Tokenizer(once).encode(text).tolist() == once(text)["input_ids"]
    backend = live("split").backend_tokenizer
    backend.encode_special_tokens = True
    assert Tokenizer(backend).encode(text).tolist() == backend.encode(text).ids
    # The option goes before.
    assert not Tokenizer(changed, split_special_tokens=False).split_special_tokens
    assert 1198 in Tokenizer(ours, split_special_tokens=False).encode(text)


def rows_of(tokenizer: Any, config: Any = None) -> list[list[int]]:
    rows = [{"text": "a<|im_end|> b"}]
    dataset = DatasetConfig(rows, tokenizer=tokenizer, tokenizer_kwargs=config)
    chain = Pipeline.from_config(PipelineConfig(datasets=[dataset])).source().tokenize()
    return [row["input_ids"] for row in chain.build()]


def test_it_is_an_option_of_configs() -> None:
    folder = str(tokenizer_folder("split"))
    split = Tokenizer(folder, split_special_tokens=True).encode("a<|im_end|> b").tolist()
    plain = Tokenizer(folder).encode("a<|im_end|> b").tolist()
    assert split != plain
    option = TokenizerConfig(folder, split_special_tokens=True)
    assert rows_of(option) == [split]
    assert rows_of(folder, {"split_special_tokens": True}) == [split]
    assert rows_of(TokenizerConfig(folder)) == [plain]
    assert rows_of(Tokenizer(folder, split_special_tokens=True)) == [split]
    unset = TokenizerConfig(folder, split_special_tokens=False)
    assert rows_of(unset) == [plain]
    source = HFDatasetShardedSource([{"text": "a<|im_end|> b"}])
    for tokenizer in (folder, Tokenizer(folder)):
        made = TokenizedShardedSource(source, tokenizer, option)
        assert next(iter(made))["input_ids"] == split
    loaded = PipelineConfig.from_dict(
        {
            "datasets": [
                {
                    "data_files": [{"text": "a<|im_end|> b"}],
                    "tokenizer": {"name_or_path": folder, "split_special_tokens": True},
                }
            ]
        }
    )
    chain = Pipeline.from_config(loaded).source().tokenize()
    assert [row["input_ids"] for row in chain.build()] == [split]


def test_chats_are_read_as_transformers_reads_them(caplog: pytest.LogCaptureFixture) -> None:
    """The tokens that the template prints are text, too: a warning says so, once."""
    name = "split"
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]
    theirs = live(name, split_special_tokens=True).apply_chat_template(messages)["input_ids"]
    folder = str(tokenizer_folder(name))
    ours = Tokenizer(folder, split_special_tokens=True)
    assert ours.apply_chat_template(messages).tolist() == theirs
    source = HFDatasetShardedSource([{"messages": messages}] * 3)
    made = TokenizedShardedSource(
        source, folder, TokenizerConfig(folder, split_special_tokens=True)
    )
    assert [row["input_ids"] for row in made] == [theirs] * 3
    list(made)
    told = [line for line in caplog.messages if "split_special_tokens=True" in line]
    assert len(told) == 1


def test_an_engine_of_another_kind_does_so(tmp_path: Path) -> None:
    """Files that the tokenizers library runs."""
    source = tokenizer_folder("split")
    model = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    # No translation of this one is exact.
    model["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [
            {
                "type": "Split",
                "pattern": {"Regex": r"(?<!a)\X"},
                "behavior": "Isolated",
                "invert": False,
            },
            model["pre_tokenizer"],
        ],
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(model), encoding="utf-8")
    plain = Tokenizer(tmp_path)
    if plain.engine == "native":
        pytest.skip("the native engine runs it")
    split = Tokenizer(tmp_path, split_special_tokens=True)
    assert 1198 in plain.encode("a<|im_end|> b")
    assert 1198 not in split.encode("a<|im_end|> b")
