"""Examples equal those that EasyDeL 0.3.0 made (golden values; see their README)."""

import functools
import json
from pathlib import Path
from typing import Any

import pytest
from data_folders import SHARED
from easydata.trainers import transforms

import easydata

GOLDEN = SHARED / "data" / "golden" / "easydel"
KINDS = ("sft", "dpo", "kto", "bco", "grpo", "reward", "embedding")

pytestmark = pytest.mark.skipif(not GOLDEN.is_dir(), reason="shared/data/golden is not here")


def cases() -> list[Any]:
    found = []
    for kind in KINDS:
        path = GOLDEN / f"trainer_{kind}.json"
        if not path.is_file():
            continue
        for number, case in enumerate(json.loads(path.read_text(encoding="utf-8"))["cases"]):
            name = f"{kind}-{number}-{case['transform'][:4]}-{case['tokenizer']}"
            found.append(pytest.param(case, id=name))
    return found


@functools.cache
def tokenizer_of(name: str, pad_token: str, padding_side: str) -> easydata.Tokenizer:
    from transformers import PreTrainedTokenizerFast

    folder = SHARED / "data" / "tokenizers" / name
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    special = {}
    for name in ("bos_token", "eos_token", "unk_token", "pad_token"):
        token = config.get(name)
        if token is not None:
            special[name] = token["content"] if isinstance(token, dict) else token
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), clean_up_tokenization_spaces=False, **special
    )
    tokenizer.chat_template = config.get("chat_template")
    tokenizer.pad_token = pad_token
    tokenizer.padding_side = padding_side
    return easydata.Tokenizer(tokenizer)


def transform_of(case: dict[str, Any]) -> Any:
    tokenizer = tokenizer_of(case["tokenizer"], case["pad_token"], case["padding_side"])
    return getattr(transforms, case["transform"])(tokenizer, **case["args"])


@pytest.mark.parametrize("case", cases())
def test_examples_are_those_of_easydel(case: dict[str, Any]) -> None:
    pytest.importorskip("transformers")
    transform = transform_of(case)
    for row in case["rows"]:
        made = transform(row["in"])
        assert (list(made) if isinstance(row["out"], list) else made) == row["out"]


@pytest.mark.parametrize("case", cases())
def test_streams_give_the_same_examples(case: dict[str, Any], tmp_path: Path) -> None:
    """A file of rows, on two threads, gives what single rows give."""
    pytest.importorskip("transformers")
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row["in"]) + "\n" for row in case["rows"]))
    expected = []
    for row in case["rows"]:
        expected += row["out"] if isinstance(row["out"], list) else [row["out"]]
    made = list(easydata.JsonShardedSource([str(path)]).transform(transform_of(case)))
    # A stream has one form for all rows: masks are there for each of them.
    shown = [
        {name: example[name] for name in golden}
        for example, golden in zip(made, expected, strict=True)
    ]
    assert shown == expected
