"""Code that comes with a tokenizer is never run (B14)."""

import json
from pathlib import Path
from typing import Any

import pytest
from programs import run_python
from small_tokenizer import small_tokenizer

from easydata import DatasetConfig, Pipeline, PipelineConfig, Tokenizer, TokenizerConfig


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    """A tokenizer's folder that names a class of a file of its own, which leaves a trace."""
    classes = {"AutoTokenizer": ["tokenization_x.X", "tokenization_x.X"]}
    folder = small_tokenizer(tmp_path / "t", auto_map=classes, tokenizer_class="X")
    trace = tmp_path / "trace"
    code = f"open({str(trace)!r}, 'w').close()\nclass X: pass\n"
    (tmp_path / "t" / "tokenization_x.py").write_text(code)
    (tmp_path / "t" / "config.json").write_text(json.dumps({"auto_map": classes}))
    return folder


@pytest.mark.parametrize("trust", [True, False])
def test_nothing_is_run_in_pipelines(hostile: str, trust: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "words"}\n')
    config = TokenizerConfig(hostile, trust_remote_code=trust)
    for options in (
        {"tokenizer": config},
        {"tokenizer": hostile, "tokenizer_kwargs": {"trust_remote_code": trust}},
    ):
        dataset: Any = DatasetConfig(str(path), **options)  # type: ignore[arg-type]
        (row,) = Pipeline.from_config(PipelineConfig([dataset])).source().tokenize().build()
        assert row["input_ids"] == list(b"words")
    assert not (tmp_path / "trace").exists()


ASKED = """
import sys, easydata
try:
    easydata.Tokenizer(sys.argv[1], view="transformers")
except (ValueError, OSError) as error:
    print(type(error).__name__)
print(sys.stdin.read())
"""


def test_nobody_is_asked_whether_to_run_it(hostile: str, tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    done = run_python("-c", ASKED, hostile, input="y\n", timeout=120)
    assert done.stdout.split() == ["ValueError", "y"]  # what was there to be read still is
    assert not (tmp_path / "trace").exists()


def test_nothing_is_run_in_either_view(hostile: str, tmp_path: Path) -> None:
    assert Tokenizer(hostile).encode("words").tolist() == list(b"words")
    pytest.importorskip("transformers", reason="transformers is not installed")
    with pytest.raises((ValueError, OSError), match=r"trust_remote_code|tokenization_x|X"):
        Tokenizer(hostile, view="transformers")
    assert not (tmp_path / "trace").exists()
