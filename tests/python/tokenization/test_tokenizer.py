"""`easydata.Tokenizer`: its interface, its special tokens, its errors, both engines."""

import copy
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from data_folders import tokenizer_folder, tokenizer_names
from easydata.tokenizers.chat_template import ChatTemplate
from programs import run_python

from easydata import Tokenizer

tokenizers = pytest.importorskip("tokenizers")

# Matches nothing; a regex that cannot be translated.
UNTRANSLATABLE = {"type": "Replace", "pattern": {"Regex": "(?<=a|bb)\\Kq{99}"}, "content": ""}


def byte_level_file(**changes: Any) -> dict[str, Any]:
    """A byte-level BPE file made by the library itself, trained on a few words."""
    from tokenizers import Tokenizer as Library
    from tokenizers import decoders, models, pre_tokenizers, processors, trainers

    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<s>", "</s>", "<pad>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    library.train_from_iterator(["the cat sat on the mat and the dog sat on the cat"] * 3, trainer)
    library.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    value: dict[str, Any] = json.loads(library.to_str())
    value.update(changes)
    return value


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tokenizer.json").write_text(json.dumps(byte_level_file()), encoding="utf-8")
    config = {
        "bos_token": {"content": "<s>", "special": True},
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": None,
        "chat_template": "{{ messages }}",
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return tmp_path


@pytest.fixture
def fallback(tmp_path: Path) -> Tokenizer:
    """The same vocabulary, with a regular expression that the native engine does not take."""
    path = tmp_path / "fallback.json"
    path.write_text(json.dumps(byte_level_file(normalizer=UNTRANSLATABLE)), encoding="utf-8")
    return Tokenizer(path)


def test_folder_gives_special_tokens_and_chat_template(folder: Path) -> None:
    tokenizer = Tokenizer(folder)
    assert tokenizer.engine == "native"
    assert (tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token) == (
        "<s>",
        "</s>",
        "<pad>",
    )
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (0, 1, 2)
    assert tokenizer.unk_token is None
    assert tokenizer.unk_token_id is None
    assert tokenizer.chat_template == "{{ messages }}"
    assert tokenizer.vocab_size == len(byte_level_file()["model"]["vocab"])
    assert tokenizer.token_to_id("</s>") == 1
    assert tokenizer.id_to_token(1) == "</s>"
    assert tokenizer.token_to_id("no such token") is None
    assert tokenizer.id_to_token(10**6) is None


def test_tokenizer_config_goes_before_the_special_tokens_map(folder: Path) -> None:
    """E12: what both name is as tokenizer_config.json says, what one names is there."""
    mapped = {"eos_token": "<pad>", "bos_token": {"content": "<pad>"}, "sep_token": "the"}
    (folder / "special_tokens_map.json").write_text(json.dumps(mapped))
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config["chat_template"] = "{{ bos_token }}|{{ eos_token }}|{{ sep_token }}"
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    tokenizer = Tokenizer(folder)
    assert (tokenizer.bos_token, tokenizer.eos_token) == ("<s>", "</s>")
    assert tokenizer.special_tokens["sep_token"] == "the"
    chat = [{"role": "user", "content": ""}]
    assert tokenizer.apply_chat_template(chat, tokenize=False) == "<s>|</s>|the"
    assert ChatTemplate.of_folder(folder)(chat) == "<s>|</s>|the"


def test_special_tokens_map_and_template_file_are_read(folder: Path) -> None:
    (folder / "tokenizer_config.json").unlink()
    (folder / "special_tokens_map.json").write_text('{"eos_token": {"content": "</s>"}}')
    (folder / "chat_template.jinja").write_text("from a file")
    tokenizer = Tokenizer(folder)
    assert tokenizer.eos_token_id == 1
    assert tokenizer.pad_token_id is None
    assert tokenizer.chat_template == "from a file"


def test_named_chat_templates(folder: Path) -> None:
    templates = [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": templates}))
    tokenizer = Tokenizer(folder)
    assert tokenizer.chat_template == "d"
    assert tokenizer.chat_templates == {"default": "d", "tool_use": "t"}


def test_encode_and_decode(folder: Path) -> None:
    tokenizer = Tokenizer(folder)
    ids = tokenizer.encode("the cat")
    assert isinstance(ids, np.ndarray)
    assert ids.dtype == np.int32
    assert ids[0] == 0
    assert ids[-1] == 1
    assert tokenizer.encode("the cat", add_special_tokens=False).tolist() == ids.tolist()[1:-1]
    assert tokenizer.decode(ids) == "<s>the cat</s>"
    assert tokenizer.decode(ids.tolist(), skip_special_tokens=True) == "the cat"
    assert tokenizer.decode([]) == ""
    assert tokenizer.encode("", add_special_tokens=False).shape == (0,)
    assert tokenizer.encode("the cat sat", max_length=3).tolist() == [0, ids[1], 1]


@pytest.mark.parametrize("engine", ["native", "huggingface"])
def test_batches_of_every_kind(folder: Path, fallback: Tokenizer, engine: str) -> None:
    tokenizer = Tokenizer(folder) if engine == "native" else fallback
    assert tokenizer.engine == engine
    texts = ["the cat", "", "dog \u00e9\u4e2d", None, "mat"]
    library = tokenizers.Tokenizer.from_str(tokenizer.json.decode())
    expected = [None if t is None else library.encode(t).ids for t in texts]
    chunked = pa.chunked_array([texts[:2], texts[2:]], pa.string())
    for given in (
        texts,
        tuple(texts),
        pa.array(texts, pa.string()),
        pa.array(texts, pa.large_string()),
        pa.array(["dropped", *texts])[1:],
        chunked,
    ):
        encoded = tokenizer.encode_batch(given)
        assert encoded.type == pa.list_(pa.int32())
        encoded.validate(full=True)
        assert encoded.to_pylist() == expected
    assert tokenizer.encode_batch([]).to_pylist() == []
    assert tokenizer.encode_batch(pa.chunked_array([], pa.string())).to_pylist() == []
    plain = tokenizer.encode_batch(texts, add_special_tokens=False, num_threads=2).to_pylist()
    assert plain == [None if ids is None else ids[1:-1] for ids in expected]
    library.enable_truncation(3)
    short = tokenizer.encode_batch(texts, max_length=3).to_pylist()
    assert short == [None if t is None else library.encode(t).ids for t in texts]
    assert tokenizer.encoder.encode_batch(texts, True, 3, None)[1] == 2
    assert tokenizer.encode("the cat").tolist() == expected[0]
    assert tokenizer.decode(expected[0], skip_special_tokens=True) == "the cat"


@pytest.mark.parametrize("engine", ["native", "huggingface"])
def test_bad_texts(folder: Path, fallback: Tokenizer, engine: str) -> None:
    tokenizer = Tokenizer(folder) if engine == "native" else fallback
    with pytest.raises(ValueError, match=r"texts\[1\] holds a lone surrogate"):
        tokenizer.encode_batch(["fine", "\ud800"])
    with pytest.raises(ValueError, match="text holds a lone surrogate"):
        tokenizer.encode("\ud800")
    with pytest.raises(TypeError, match=r"texts\[1\] must be a str; got bytes"):
        tokenizer.encode_batch(["fine", b"bytes"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="use encode"):
        tokenizer.encode_batch("one text")
    with pytest.raises(TypeError, match="string or large_string; got int64"):
        tokenizer.encode_batch(pa.array([1, 2]))
    broken = pa.StringArray.from_buffers(
        2, pa.py_buffer(np.array([0, 1, 3], np.int32)), pa.py_buffer(b"a\xff\xfe")
    )
    with pytest.raises(ValueError, match="row 1: text is not valid UTF-8"):
        tokenizer.encode_batch(broken)
    with pytest.raises(ValueError, match="num_threads must be at least 1; got 0"):
        tokenizer.encode_batch(["a"], num_threads=0)
    with pytest.raises(ValueError, match="max_length must be at least 1; got 0"):
        tokenizer.encode("a", max_length=0)


def test_bad_ids(folder: Path) -> None:
    tokenizer = Tokenizer(folder)
    with pytest.raises(TypeError, match="integers in one dimension"):
        tokenizer.decode(np.zeros((2, 2), np.int32))
    with pytest.raises(TypeError, match="integers in one dimension"):
        tokenizer.decode([0.5])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="got -1 to 3"):
        tokenizer.decode([-1, 3])


def test_live_objects(folder: Path) -> None:
    from_file = Tokenizer(folder)
    library = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    live = Tokenizer(library)
    assert live.engine == "native"
    assert live.encode("the dog").tolist() == from_file.encode("the dog").tolist()
    library.add_tokens(["dog"])  # a later change of the live object does not reach it
    assert live.encode("the dog").tolist() == from_file.encode("the dog").tolist()
    transformers = pytest.importorskip("transformers")
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")),
        eos_token="</s>",
        chat_template="live",
    )
    for view in ("json", "transformers"):
        tokenizer = Tokenizer(fast, view=view)  # type: ignore[arg-type]
        assert tokenizer.eos_token_id == 1
        assert tokenizer.chat_template == "live"
        assert tokenizer.encode("the dog").tolist() == from_file.encode("the dog").tolist()
    with pytest.raises(TypeError, match="got dict"):
        Tokenizer({})


def test_copies(folder: Path) -> None:
    tokenizer = Tokenizer(folder)
    for other in (
        Tokenizer(tokenizer),
        pickle.loads(pickle.dumps(tokenizer)),
        copy.deepcopy(tokenizer),
    ):
        assert other.fingerprint == tokenizer.fingerprint
        assert other.eos_token_id == 1
        assert other.encode("cat").tolist() == tokenizer.encode("cat").tolist()


def test_fingerprint_is_of_the_content(folder: Path, tmp_path: Path) -> None:
    pretty = tmp_path / "pretty.json"
    pretty.write_text(json.dumps(byte_level_file(), indent=2), encoding="utf-8")
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(byte_level_file(post_processor=None)), encoding="utf-8")
    assert Tokenizer(folder).fingerprint == Tokenizer(pretty).fingerprint
    assert Tokenizer(folder).fingerprint != Tokenizer(changed).fingerprint


def test_describe(folder: Path, fallback: Tokenizer) -> None:
    described = Tokenizer(folder).describe()
    assert described["engine"] == "native"
    assert described["steps"]["pre_tokenizer"] == {"is": "ByteLevel", "engine": "native"}
    assert described["special_tokens"]["eos_token"] == {"token": "</s>", "id": 1}
    assert "q{99}" in fallback.describe()["why_not_native"]
    assert "huggingface" in repr(fallback)


def test_paths_that_are_not_there(folder: Path) -> None:
    missing = folder.parent / (folder.name[:-1] + "x")
    with pytest.raises(FileNotFoundError, match="does not exist") as caught:
        Tokenizer(missing)
    assert str(folder) in str(caught.value)  # a near miss
    (folder / "tokenizer.json").rename(folder / "words.txt")
    with pytest.raises(FileNotFoundError, match=r"holds no tokenizer\.json.*words\.txt"):
        Tokenizer(folder)


def test_files_that_are_no_tokenizers(folder: Path) -> None:
    file = folder / "tokenizer.json"
    file.write_text("{")
    with pytest.raises(ValueError, match=r"tokenizer\.json is not valid JSON"):
        Tokenizer(folder)
    file.write_text('{"model": {"type": "Nothing"}}')
    with pytest.raises(ValueError, match="the tokenizers library cannot load this file"):
        Tokenizer(folder)
    file.write_text(json.dumps(byte_level_file()))
    (folder / "tokenizer_config.json").write_text("[]")
    with pytest.raises(ValueError, match="must hold a JSON object; got list"):
        Tokenizer(folder)
    with pytest.raises(ValueError, match="view must be"):
        Tokenizer(folder, view="neither")  # type: ignore[arg-type]


def test_active_truncation_and_padding_are_kept(tmp_path: Path) -> None:
    truncation = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(byte_level_file(truncation=truncation)), encoding="utf-8")
    tokenizer = Tokenizer(path)
    library = tokenizers.Tokenizer.from_file(str(path))
    text = "the cat sat on the mat"
    assert tokenizer.encode(text).tolist() == library.encode(text).ids
    assert len(tokenizer.encode(text)) == 4


def test_a_pre_tokenizer_that_is_not_native_runs_on_the_library(tmp_path: Path) -> None:
    """It is not left out: what it splits is part of the ids."""
    from tokenizers import Tokenizer as Library

    pattern = {"Regex": "(?<=a|bb)\\Kt| "}
    split = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
    whole = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
    }
    text = json.dumps(
        byte_level_file(pre_tokenizer={"type": "Sequence", "pretokenizers": [split, whole]})
    )
    path = tmp_path / "tokenizer.json"
    path.write_text(text, encoding="utf-8")
    tokenizer = Tokenizer(path)
    assert tokenizer.engine == "huggingface"
    for said in ("the cat sat on the mat", "a cat's bbt"):
        assert tokenizer.encode(said).tolist() == Library.from_str(text).encode(said).ids


def test_missing_library_is_named(folder: Path) -> None:
    (folder / "tokenizer.json").write_text(json.dumps(byte_level_file(normalizer=UNTRANSLATABLE)))
    code = (
        "import sys; sys.modules['tokenizers'] = None\n"
        "from easydata import Tokenizer\n"
        f"try: Tokenizer({str(folder)!r})\n"
        "except ImportError as error: print(error)"
    )
    run = run_python("-c", code)
    assert "q{99}" in run.stdout
    assert "pip install 'easydata[hf]'" in run.stdout


@pytest.mark.parametrize("name", tokenizer_names())
def test_real_files_run_natively(name: str) -> None:
    folder = tokenizer_folder(name)
    tokenizer = Tokenizer(folder)
    library = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.engine == "native"
    assert tokenizer.vocab_size == library.get_vocab_size()
    assert tokenizer.id_limit == 1 + max(library.get_vocab(True).values())
    if tokenizer.eos_token is not None:
        assert tokenizer.eos_token_id == library.token_to_id(tokenizer.eos_token)


def test_integers_of_any_length_are_scores(tmp_path: Path) -> None:
    vocab = '[["<unk>", 0], ["a", -1], ["ab", -100000000000000000000], ["b", -2]]'
    model = f'{{"type": "Unigram", "unk_id": 0, "vocab": {vocab}, "byte_fallback": false}}'
    file = tmp_path / "tokenizer.json"
    file.write_text(f'{{"version": "1.0", "model": {model}}}')
    tokenizer = Tokenizer(file)
    assert "64 bits" in tokenizer.describe()["why_not_native"]
    assert (
        tokenizer.encode("ab").tolist()
        == tokenizers.Tokenizer.from_file(str(file)).encode("ab").ids
    )
    file.write_text('{"version": "1.0", "model": 1x}')
    with pytest.raises(ValueError, match=re.escape(str(tmp_path))):
        Tokenizer(file)


@pytest.mark.parametrize(
    "component",
    ["added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder", "model"],
)
@pytest.mark.parametrize("value", [{}, [], [{}], [1], "x", 7, True, {"type": "x"}])
def test_a_component_of_no_form_is_refused_where_the_library_does(
    tmp_path: Path, component: str, value: Any
) -> None:
    from tokenizers import Tokenizer as Library

    text = json.dumps(byte_level_file(**{component: value}))
    (tmp_path / "tokenizer.json").write_text(text, encoding="utf-8")
    try:
        expected = Library.from_str(text).encode("the cat").ids
    except Exception:  # the library raises Exception itself
        with pytest.raises(ValueError, match=re.escape(str(tmp_path))):
            Tokenizer(tmp_path)
    else:
        assert Tokenizer(tmp_path).encode("the cat").tolist() == expected
