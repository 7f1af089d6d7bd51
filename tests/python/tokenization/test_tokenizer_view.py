"""`Tokenizer(folder, view=...)`: the file as it is, and what `AutoTokenizer` makes of it."""

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import pytest
from data_folders import needs_shared, tokenizer_folder, tokenizer_names
from easydata.tokenizers import files
from programs import run_python

from easydata import Tokenizer

pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

TEXTS = [
    "",
    "Hello, world!  It's 10:30.",
    " leading and trailing ",
    "<s>a</s> b <|begin_of_text|>c<|image|>",
    "你好 café 👩‍👩‍👧\n\n\tx",
]


def unnoticed(name: str, folder: Path) -> Path:
    """A tokenizer under a path of its own: warnings are given once for each path."""
    link = folder / name
    link.symlink_to(tokenizer_folder(name))
    return link


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "easydata"]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", tokenizer_names())
def test_the_view_is_auto_tokenizer(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = unnoticed(name, tmp_path)
    live = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    with caplog.at_level(logging.WARNING, logger="easydata"):
        tokenizer = Tokenizer(folder, view="transformers")
    assert tokenizer.view == tokenizer.describe()["view"] == "transformers"
    assert tokenizer.name == str(folder)
    assert tokenizer.json.decode() == live.backend_tokenizer.to_str()
    assert tokenizer.eos_token_id == live.eos_token_id
    assert tokenizer.pad_token_id == live.pad_token_id
    assert (tokenizer.padding_side, tokenizer.truncation_side) == (
        live.padding_side,
        live.truncation_side,
    )
    for text in TEXTS:
        for special in (True, False):
            expected = live(text, add_special_tokens=special)["input_ids"]
            assert tokenizer.encode(text, special).tolist() == expected
    # Where ids differ from those of the file, a warning has said so.
    as_it_is = Tokenizer(folder)
    if any(as_it_is.encode(t).tolist() != tokenizer.encode(t).tolist() for t in TEXTS):
        assert [line for line in warnings_of(caplog) if 'view="json" runs the file' in line]


@pytest.mark.one_in(3)
@needs_shared
@pytest.mark.parametrize(
    ("name", "differing"),
    [
        ("bert-base-uncased", ""),
        ("gpt2", ""),
        ("llama2", "normalizer, pre_tokenizer"),
        ("qwen2.5", ""),
        ("t5-small", ""),
        ("tiny-bytelevel", "added_tokens"),
    ],
)
def test_one_warning_where_the_views_differ(
    name: str, differing: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = unnoticed(name, tmp_path)
    with caplog.at_level(logging.WARNING, logger="easydata"):
        for _ in range(2):
            Tokenizer(folder, view="transformers")
    said = warnings_of(caplog)
    assert len(said) == (1 if differing else 0)
    assert all(differing in line for line in said)


@pytest.mark.parametrize("name", tokenizer_names())
def test_the_file_warns_only_where_ids_would_differ(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = unnoticed(name, tmp_path)
    with caplog.at_level(logging.WARNING, logger="easydata"):
        for _ in range(2):
            tokenizer = Tokenizer(folder)
    said = warnings_of(caplog)
    if said:
        assert len(said) == 1
        live = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        assert any(
            live(text)["input_ids"] != tokenizer.encode(text).tolist()
            for text in (*TEXTS, *live.all_special_tokens)
        ), said
    assert bool(said) == (name in ("llama2", "tiny-bytelevel"))


def make_folder(folder: Path, config: dict[str, Any]) -> Path:
    from tokenizers import Tokenizer as Library
    from tokenizers import models, pre_tokenizers, trainers

    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet
    )
    library.train_from_iterator(["the cat sat on the mat"], trainer)
    folder.mkdir(exist_ok=True)
    library.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", **config}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"bos_token": "<s>", "eos_token": "</s>"}, None),
        ({"bos_token": "<s>", "pad_token": "<new>"}, "names (<new>)"),
        ({"bos_token": "<s>", "extra_special_tokens": ["cat"]}, "names (cat)"),
        ({"bos_token": "<s>", "split_special_tokens": True}, "split_special_tokens is set"),
        (
            {
                "added_tokens_decoder": {
                    "900": {
                        "content": "dog",
                        "lstrip": False,
                        "normalized": False,
                        "rstrip": False,
                        "single_word": False,
                        "special": True,
                    }
                }
            },
            "names (dog)",
        ),
    ],
)
def test_reasons(
    config: dict[str, Any],
    reason: str | None,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder = make_folder(tmp_path / "made", config)
    live = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    text = "<s>the cat</s> dog <new>"
    with caplog.at_level(logging.WARNING, logger="easydata"):
        as_it_is = Tokenizer(folder)
        said = warnings_of(caplog)
        through = Tokenizer(folder, view="transformers")
    expected = live(text)["input_ids"]
    assert through.encode(text).tolist() == expected
    assert (as_it_is.encode(text).tolist() == expected) == (reason is None)
    assert len(said) == (0 if reason is None else 1)
    assert all(str(reason) in line for line in said)
    assert through.describe()["split_special_tokens"] is live.split_special_tokens


def test_flags_are_read_as_transformers_reads_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flags = {"add_bos_token": True, "add_eos_token": True}
    folder = make_folder(tmp_path / "made", {"bos_token": "<s>", "eos_token": "</s>", **flags})
    live = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    with caplog.at_level(logging.WARNING, logger="easydata"):
        through = Tokenizer(folder, view="transformers")
    expected = live("the cat")["input_ids"]
    assert through.encode("the cat").tolist() == expected
    # A warning, if that is not what the file does.
    assert bool(warnings_of(caplog)) == (Tokenizer(folder).encode("the cat").tolist() != expected)


def test_the_steps_that_differ() -> None:
    """What changes no id and no text is no difference."""

    def differing(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
        texts = (json.dumps(value).encode() for value in (one, other))
        return files.differing_steps(*texts)

    model = {"type": "Unigram", "unk_id": 0, "vocab": [["a", -0.1], ["b", -2.0122928619384766]]}
    near = {"type": "Unigram", "unk_id": 0, "vocab": [["a", -0.1], ["b", -2.012292861938477]]}
    far = {"type": "Unigram", "unk_id": 0, "vocab": [["a", -0.1], ["b", -2.0123]]}
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
    untrimmed = {**byte_level, "trim_offsets": False}
    bare = {
        "type": "TemplateProcessing",
        "single": [{"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {},
    }
    bert = {"type": "BertProcessing", "sep": ["a", 0], "cls": ["b", 1]}
    base = {"version": "1.0", "added_tokens": [], "model": model}
    assert differing(base, {**base, "model": near}) == []
    assert differing(base, {**base, "model": far}) == ["model"]
    assert differing({**base, "decoder": byte_level}, {**base, "decoder": untrimmed}) == []
    assert differing({**base, "decoder": byte_level}, base) == ["decoder"]
    for post_processor in (byte_level, bare, {"type": "Sequence", "processors": [bare]}):
        assert differing(base, {**base, "post_processor": post_processor}) == []
    two = {"type": "Sequence", "processors": [byte_level, bert]}
    assert differing({**base, "post_processor": two}, {**base, "post_processor": bert}) == []
    assert differing(base, {**base, "post_processor": bert}) == ["post_processor"]
    first = {**base, "pre_tokenizer": byte_level}
    assert differing(first, {**base, "pre_tokenizer": untrimmed}) == []
    assert differing(first, {**base, "normalizer": {"type": "NFC"}}) == [
        "normalizer",
        "pre_tokenizer",
    ]


def test_what_transformers_cannot_load(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "made", {})
    shutil.copy(folder / "tokenizer.json", folder / "other.json")
    with pytest.raises(ValueError, match=r"needs a folder whose file is called tokenizer\.json"):
        Tokenizer(folder / "other.json", view="transformers")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ValueError, match="transformers cannot load this folder"):
        Tokenizer(folder, view="transformers")


def test_folders_that_transformers_alone_can_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Files of before tokenizer.json: AutoTokenizer makes one of them."""
    folder = make_folder(tmp_path / "made", {"tokenizer_class": "GPT2Tokenizer"})
    model = json.loads((folder / "tokenizer.json").read_text())["model"]
    (folder / "vocab.json").write_text(json.dumps(model["vocab"]))
    merges = "\n".join(" ".join(merge) for merge in model["merges"])
    (folder / "merges.txt").write_text("#version: 0.2\n" + merges + "\n")
    (folder / "tokenizer.json").unlink()
    live = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    with caplog.at_level(logging.WARNING, logger="easydata"):
        tokenizer = Tokenizer(folder, view="transformers")
    assert warnings_of(caplog) == []
    for text in TEXTS:
        assert tokenizer.encode(text).tolist() == live(text)["input_ids"]
    assert Tokenizer(folder).fingerprint == tokenizer.fingerprint  # there is no other view
    with pytest.raises(FileNotFoundError, match="does not exist"):
        Tokenizer(folder / "nothing", view="transformers")


def test_without_transformers(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "made", {})
    code = (
        "import sys; sys.modules['transformers'] = None\n"
        "from easydata import Tokenizer\n"
        f"try: Tokenizer({str(folder)!r}, view='transformers')\n"
        "except ImportError as error: print(error)"
    )
    run = run_python("-c", code)
    assert "needs the transformers library" in run.stdout
    assert "pip install 'easydata[hf]'" in run.stdout


@pytest.mark.parametrize("given", ["folder", "object"])
def test_truncation_and_padding_of_the_file_are_those_of_no_call(
    given: str, gpt2: str, tmp_path: Path
) -> None:  # C19
    folder = tmp_path / "own"
    shutil.copytree(gpt2, folder)
    file = json.loads((folder / "tokenizer.json").read_text())
    file["truncation"] = {
        "direction": "Right",
        "max_length": 3,
        "strategy": "LongestFirst",
        "stride": 0,
    }
    file["padding"] = {
        "strategy": {"Fixed": 8},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "!",
    }
    (folder / "tokenizer.json").write_text(json.dumps(file))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"})
    )
    live = transformers.AutoTokenizer.from_pretrained(str(folder))
    ours = Tokenizer(str(folder), view="transformers") if given == "folder" else Tokenizer(live)
    for text in ("one two three four five six", "a"):
        assert ours.encode(text).tolist() == live(text)["input_ids"]
    # The file as it is, cuts and pads.
    assert len(Tokenizer(str(folder)).encode("one two three four five six")) == 8
    assert "truncation" not in ours.describe()["steps"]
