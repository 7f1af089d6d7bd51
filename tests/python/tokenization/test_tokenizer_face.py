"""`easydata.Tokenizer`: offsets, chat templates, live objects, what it says of itself."""

import copy
import json
import pickle
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from data_folders import CHAT_TOKENIZERS, tokenizer_folder
from programs import run_python

from easydata import Tokenizer

tokenizers = pytest.importorskip("tokenizers")

TEXTS = ["", "the cat", "  The café 你好!\n", "<s>the</s> dog", "👩‍👩‍👧 mat"]


def trained(**parts: Any) -> Any:
    """A byte-level BPE tokenizer of the library, trained on a few words."""
    from tokenizers import Tokenizer as Library
    from tokenizers import decoders, models, pre_tokenizers, processors, trainers

    library = Library(models.BPE())
    library.normalizer = parts.get("normalizer")
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
    return library


# A regex that the translator refuses (\K).
UNTRANSLATABLE = r"(?<=a|bb)c\K\b"


def for_the_library(library: Any) -> Any:
    """The same with a step that only the library runs."""
    from tokenizers import Regex, pre_tokenizers

    library.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(UNTRANSLATABLE), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    return library


@pytest.fixture(params=["native", "huggingface"])
def pair(request: pytest.FixtureRequest) -> tuple[Tokenizer, Any]:
    """Ours, on either engine, and the library's."""
    library = trained()
    if request.param == "huggingface":
        for_the_library(library)
    tokenizer = Tokenizer(library)
    assert tokenizer.engine == request.param
    return tokenizer, library


def test_offsets(pair: tuple[Tokenizer, Any]) -> None:
    tokenizer, library = pair
    for text in TEXTS:
        for special in (True, False):
            ids, offsets = tokenizer.encode(text, special, return_offsets=True)
            encoding = library.encode(text, add_special_tokens=special)
            assert ids.tolist() == tokenizer.encode(text, special).tolist() == encoding.ids
            assert offsets.dtype == np.int64
            assert offsets.shape == (len(ids), 2)
            assert [tuple(row) for row in offsets.tolist()] == encoding.offsets
    ids, offsets = tokenizer.encode("the cat sat on", max_length=4, return_offsets=True)
    library.enable_truncation(4)
    assert ids.tolist() == library.encode("the cat sat on").ids
    assert [tuple(row) for row in offsets.tolist()] == library.encode("the cat sat on").offsets
    # The next call is not truncated.
    assert len(tokenizer.encode("the cat sat on", return_offsets=True)[1]) > 4


def test_offsets_keep_the_files_own_truncation_and_padding() -> None:
    library = trained()
    library.enable_truncation(5, stride=1, direction="left")
    library.enable_padding(length=8, pad_id=2, pad_token="<pad>")
    tokenizer = Tokenizer(library)
    for max_length in (None, 3, None):
        ids, offsets = tokenizer.encode(
            "the cat sat on the mat", max_length=max_length, return_offsets=True
        )
        assert len(ids) == len(offsets) == 8
        if max_length is None:
            encoding = library.encode("the cat sat on the mat")
            assert ids.tolist() == encoding.ids
            assert [tuple(row) for row in offsets.tolist()] == encoding.offsets


def test_offsets_from_many_threads(pair: tuple[Tokenizer, Any]) -> None:
    tokenizer, _ = pair
    text = "the cat sat on the mat"
    expected = {length: len(tokenizer.encode(text, max_length=length)) for length in (3, 5, None)}
    wrong: list[Any] = []

    def work(length: int | None) -> None:
        for _ in range(50):
            ids, offsets = tokenizer.encode(text, max_length=length, return_offsets=True)
            if not len(ids) == len(offsets) == expected[length]:
                wrong.append((length, len(ids), len(offsets)))

    threads = [threading.Thread(target=work, args=(length,)) for length in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_offsets_need_the_library(tmp_path: Path) -> None:
    trained().save(str(tmp_path / "tokenizer.json"))
    code = (
        "import sys; sys.modules['tokenizers'] = None\n"
        "from easydata import Tokenizer\n"
        f"tokenizer = Tokenizer({str(tmp_path)!r})\n"
        "print(tokenizer.engine, tokenizer.decode(tokenizer.encode('the cat')))\n"
        "print(tokenizer.decode_batch([tokenizer.encode('the cat')])[0])\n"
        "print(tokenizer.decode_stream().step(tokenizer.encode('the cat')))\n"
        "try: tokenizer.encode('the cat', return_offsets=True)\n"
        "except ImportError as error: print(error)"
    )
    run = run_python("-c", code)
    said = run.stdout.splitlines()
    assert said[:3] == [f"native {'<s>the cat</s>'}", "<s>the cat</s>", "<s>the cat</s>"]
    assert "offsets need the tokenizers library" in said[3]
    assert "pip install 'easydata[hf]'" in said[3]


def test_decoding_on_either_engine(pair: tuple[Tokenizer, Any]) -> None:
    from tokenizers.decoders import DecodeStream

    tokenizer, library = pair
    rows = [library.encode(text).ids for text in TEXTS] + [[5000, 0, 1], []]
    for skip in (False, True):
        expected = library.decode_batch(rows, skip_special_tokens=skip)
        assert tokenizer.decode_batch(rows, skip).to_pylist() == expected
        assert [tokenizer.decode(row, skip) for row in rows] == expected
        assert tokenizer.decode_batch([rows[1], None], skip).to_pylist() == [expected[1], None]
        for row in rows:
            ours, theirs = tokenizer.decode_stream(skip), DecodeStream(skip_special_tokens=skip)
            assert [ours.step(i) for i in row] == [theirs.step(library, i) for i in row]


def test_engines_take_lists_of_int32_alone(pair: tuple[Tokenizer, Any]) -> None:
    encoder = pair[0]._encoder
    for wrong, said in (
        (pa.array([[0, 1]], pa.list_(pa.int64())), "ids must be int32"),
        (pa.array(["abc"]), "ids must be list<int32>"),
    ):
        with pytest.raises(TypeError, match=said):
            encoder.decode_batch(wrong, True, None)
    with pytest.raises(ValueError, match="ids must not be null"):
        encoder.decode_batch(pa.array([[0, None]], pa.list_(pa.int32())), True, None)
    sliced = pa.array([[9, 9], [5, 0, 1], None, [6]], pa.list_(pa.int32())).slice(1)
    assert encoder.decode_batch(sliced, True, None).to_pylist() == [
        pair[0].decode([5, 0, 1], True),
        None,
        pair[0].decode([6], True),
    ]


def test_both_engines_work_while_python_ends(tmp_path: Path) -> None:
    library = trained()
    library.save(str(tmp_path / "native.json"))
    for_the_library(library)
    library.save(str(tmp_path / "library.json"))
    # What is registered before EasyData is imported is called after its own functions.
    code = (
        "import atexit\n"
        "def use(each): return each.decode_batch([each.encode('the cat')]).to_pylist()\n"
        "atexit.register(lambda: [print(each.engine, use(each)) for each in both])\n"
        "from easydata import Tokenizer\n"
        f"both = [Tokenizer(f'{tmp_path}/{{name}}.json') for name in ('native', 'library')]\n"
        "for each in both: use(each)\n"
    )
    assert run_python("-c", code).stdout.splitlines() == [
        "native ['<s>the cat</s>']",
        "huggingface ['<s>the cat</s>']",
    ]


CHAT = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}"
    "{{ eos_token }}{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}{{ extra }}"
)
MESSAGES = [{"role": "user", "content": "the cat"}, {"role": "assistant", "content": "sat"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    trained().save(str(tmp_path / "tokenizer.json"))
    config = {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "chat_template": CHAT,
        "padding_side": "left",
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    return tmp_path


def test_chat_templates(folder: Path) -> None:
    tokenizer = Tokenizer(folder)
    text = tokenizer.apply_chat_template(MESSAGES, tokenize=False)
    assert text == "<s>user: the cat</s>assistant: sat</s>"
    ids = tokenizer.apply_chat_template(MESSAGES)
    assert ids.dtype == np.int32
    # Nothing is added to the template's own special tokens.
    assert ids.tolist() == tokenizer.encode(text, add_special_tokens=False).tolist()
    assert ids.tolist().count(0) == 1
    options: dict[str, Any] = {"add_generation_prompt": True, "extra": "!"}
    opened = tokenizer.apply_chat_template(MESSAGES, tokenize=False, **options)
    assert opened == text + "assistant:!"
    assert len(tokenizer.apply_chat_template(MESSAGES, max_length=3)) == 3
    both = tokenizer.apply_chat_template([MESSAGES, MESSAGES[:1]], tokenize=False)
    assert both == [text, "<s>user: the cat</s>"]
    rows = tokenizer.apply_chat_template([MESSAGES, MESSAGES[:1]])
    assert isinstance(rows, pa.ListArray)
    assert rows[0].as_py() == ids.tolist()
    own = "{{ messages | length }}"
    assert tokenizer.apply_chat_template(MESSAGES, chat_template=own, tokenize=False) == "2"
    with pytest.raises(TypeError, match="no option return_dict, return_tensors"):
        tokenizer.apply_chat_template(MESSAGES, return_tensors="pt", return_dict=True)
    with pytest.raises(ValueError, match="the tokenizer has no chat template"):
        Tokenizer(trained()).apply_chat_template(MESSAGES)


def test_chat_templates_equal_those_of_transformers(folder: Path) -> None:
    transformers = pytest.importorskip("transformers")
    live = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"),
        bos_token="<s>",
        eos_token="</s>",
        chat_template=CHAT,
    )
    for tokenizer in (Tokenizer(folder), Tokenizer(live)):
        for prompt in (False, True):
            theirs = live.apply_chat_template(
                MESSAGES, add_generation_prompt=prompt, return_dict=False
            )
            ours = tokenizer.apply_chat_template(MESSAGES, add_generation_prompt=prompt)
            assert ours.tolist() == theirs


@pytest.mark.parametrize("name", CHAT_TOKENIZERS)
def test_real_chat_templates(name: str) -> None:
    transformers = pytest.importorskip("transformers")
    folder = tokenizer_folder(name)
    live = transformers.AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    options = {"date_string": "21 Nov 2026", "add_generation_prompt": True}
    theirs = live.apply_chat_template(MESSAGES, tokenize=False, **options)
    tokenizer = Tokenizer(folder)
    assert tokenizer.apply_chat_template(MESSAGES, tokenize=False, **options) == theirs
    ids = live.apply_chat_template(MESSAGES, return_dict=False, **options)
    assert Tokenizer(live).apply_chat_template(MESSAGES, **options).tolist() == ids


def test_live_objects_with_split_special_tokens(pair: tuple[Tokenizer, Any]) -> None:
    before, library = pair
    text = "the <s>cat</s>"
    library.encode_special_tokens = True
    tokenizer = Tokenizer(library)
    assert tokenizer.engine == before.engine
    assert tokenizer.describe()["split_special_tokens"] is True
    expected = library.encode(text).ids
    assert expected.count(0) == 1
    assert before.encode(text).tolist().count(0) == 2
    for other in (tokenizer, Tokenizer(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
        assert other.encode(text).tolist() == expected
        assert other.encode_batch([text]).to_pylist() == [expected]
        ids, offsets = other.encode(text, return_offsets=True)
        assert (ids.tolist(), len(offsets)) == (expected, len(expected))
    library.enable_truncation(4)
    assert tokenizer.encode(text, max_length=4).tolist() == library.encode(text).ids
    assert tokenizer.fingerprint != before.fingerprint


@pytest.mark.parametrize("engine", ["native", "huggingface"])
def test_live_objects_that_cut_the_left(engine: str) -> None:
    transformers = pytest.importorskip("transformers")
    library = trained() if engine == "native" else for_the_library(trained())
    live = transformers.PreTrainedTokenizerFast(
        tokenizer_object=library, truncation_side="left", padding_side="left", pad_token="<pad>"
    )
    tokenizer = Tokenizer(live)
    assert tokenizer.engine == engine
    assert (tokenizer.truncation_side, tokenizer.padding_side) == ("left", "left")
    text = "the cat sat on the mat"
    for length in (2, 3, 5, 50):
        expected = live(text, truncation=True, max_length=length)["input_ids"]
        assert tokenizer.encode(text, max_length=length).tolist() == expected
        assert tokenizer.encode_batch([text], max_length=length).to_pylist() == [expected]
        ids, offsets = tokenizer.encode(text, max_length=length, return_offsets=True)
        assert (ids.tolist(), len(offsets)) == (expected, len(expected))
        again = pickle.loads(pickle.dumps(tokenizer))
        assert again.encode(text, max_length=length).tolist() == expected
    assert tokenizer.encode(text).tolist() == library.encode(text).ids


def test_truncation_of_a_live_library_object(pair: tuple[Tokenizer, Any]) -> None:
    _, library = pair
    library.enable_truncation(4, direction="left")
    tokenizer = Tokenizer(library)
    text = "the cat sat on the mat"
    assert tokenizer.encode(text).tolist() == library.encode(text).ids
    assert tokenizer.encode_batch([text]).to_pylist() == [library.encode(text).ids]


@pytest.mark.parametrize("direction", ["left", "right"])
def test_one_call_is_one_batch_for_padding(pair: tuple[Tokenizer, Any], direction: str) -> None:
    _, library = pair
    library.enable_padding(direction=direction, pad_id=2, pad_token="<pad>", pad_to_multiple_of=4)
    tokenizer = Tokenizer(library)
    texts = ["the cat"] * 1500 + ["the cat sat on the mat and the dog"] + ["mat"] * 100
    expected = [encoding.ids for encoding in library.encode_batch(texts)]
    assert len(expected[0]) == len(expected[1500]) > 8
    chunks = pa.chunked_array([texts[:3], texts[3:1490], texts[1490:]])
    for given in (texts, pa.array(texts), chunks):
        for threads in (1, 2):
            assert tokenizer.encode_batch(given, num_threads=threads).to_pylist() == expected
    assert tokenizer.encode("mat").tolist() == library.encode("mat").ids


def test_sides_of_a_folder(folder: Path) -> None:
    assert Tokenizer(folder).padding_side == "left"
    assert Tokenizer(folder).truncation_side == "right"
    assert Tokenizer(folder / "tokenizer.json").padding_side == "left"


def test_describe(folder: Path, pair: tuple[Tokenizer, Any]) -> None:
    described = Tokenizer(folder).describe()
    assert described["view"] == "json"
    assert described["engine"] == "native"
    assert "why_not_native" not in described
    steps = described["steps"]
    assert steps["normalizer"] == {"is": "none"}
    for step, what in (
        ("pre_tokenizer", "ByteLevel"),
        ("model", "BPE"),
        ("post_processor", "TemplateProcessing"),
        ("decoder", "ByteLevel"),
    ):
        assert steps[step]["is"] == what
        assert steps[step]["engine"] == "native"
    assert steps["offsets"]["engine"] == "huggingface"
    assert described["padding_side"] == "left"
    assert described["chat_templates"] == ["default"]
    json.dumps(described)

    tokenizer, library = pair
    library.enable_truncation(9)
    steps = Tokenizer(library).describe()["steps"]
    assert steps["model"]["engine"] == tokenizer.engine
    assert '"max_length": 9' in steps["truncation"]["is"]
    assert ("why_not_native" in tokenizer.describe()) == (tokenizer.engine == "huggingface")
    if tokenizer.engine == "huggingface":
        assert steps["pre_tokenizer"]["is"] == "Sequence(Split, ByteLevel)"
        assert UNTRANSLATABLE in tokenizer.describe()["why_not_native"]


def test_copies_share_nothing_that_changes(folder: Path) -> None:
    tokenizer = Tokenizer(folder)
    for other in (Tokenizer(tokenizer), copy.deepcopy(tokenizer)):
        assert other.json == (folder / "tokenizer.json").read_bytes()
        assert other.padding_side == "left"
        assert other.apply_chat_template(MESSAGES, tokenize=False).startswith("<s>user")
        assert other.decode_stream().step(other.encode("the cat")) == "<s>the cat</s>"
