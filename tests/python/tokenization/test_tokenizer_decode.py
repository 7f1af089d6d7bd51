"""Decoding, post-processing, truncation and padding beside the `tokenizers` library."""

import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from data_folders import tokenizer_folder, tokenizer_names

from easydata import Tokenizer

tokenizers = pytest.importorskip("tokenizers")


# Spellings that some decoder treats in a way of its own.
TOKENS = [
    "<unk>",
    "a",
    "▁a",
    "▁▁b",
    "▁",
    "##ing",
    "##",
    "run",
    "'",
    "s",
    ".",
    " ?",
    "n't",
    " do not",
    "x 've",
    "a ' b",
    "</w>",
    "low</w>",
    "h",
    "hh",
    "hello",
    "|",
    "<pad>",
    "<pad>x",
    "Ġworld",
    "caf",
    "Ã",
    "©",
    "Ã©",
    "ä½",
    "ł",
    "é",
    "<0xE4>",
    "<0xBD>",
    "<0xA0>",
    "<0x41>",
    "<0x+A>",
    "<0x-A>",
    "<0xe4>",
    "<0xé>",
    "<0x1>",
    "",
    " ",
    "\n",
    "a b",
    "l",
    "ll",
    "你",
    "😀",
    "<s>",
]

DECODERS: list[Any] = [
    None,
    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
    {"type": "WordPiece", "prefix": "##", "cleanup": True},
    {"type": "WordPiece", "prefix": "", "cleanup": False},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False},
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": True},
    {"type": "BPEDecoder", "suffix": "</w>"},
    {"type": "BPEDecoder", "suffix": ""},
    {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
    {"type": "CTC", "pad_token": "h", "word_delimiter_token": "", "cleanup": True},
    {"type": "CTC", "pad_token": "", "word_delimiter_token": "|", "cleanup": False},
    {"type": "Strip", "content": "h", "start": 2, "stop": 0},
    {"type": "Strip", "content": "▁", "start": 1, "stop": 0},
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "Replace", "pattern": {"String": ""}, "content": "-"},
    {"type": "Replace", "pattern": {"Regex": "l+|▁"}, "content": "$0"},
    {"type": "Replace", "pattern": {"Regex": "x*"}, "content": "-"},
    {"suffix": "</w>"},
    {"type": "Nothing", "prefix": "##", "cleanup": True},
    {"type": "Sequence", "decoders": []},
    {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ],
    },
    {
        "type": "Sequence",
        "decoders": [
            {"type": "ByteFallback"},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
        ],
    },
]


def added(content: str, **flags: bool) -> dict[str, Any]:
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": 0, "content": content, **{name: flags.get(name, False) for name in names}}


def word_level(**changes: Any) -> dict[str, Any]:
    """A WordLevel file with the odd spellings; "<s>" is special and in the model, too."""
    value = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            added("<s>", special=True),
            added("[SEP]", special=True),
            added("▁extra"),
            added("new word", normalized=True),
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {token: i for i, token in enumerate(TOKENS)},
            "unk_token": "<unk>",
        },
    }
    return {**value, **changes}


def both(value: dict[str, Any], tmp_path: Path) -> tuple[Tokenizer, Any]:
    """Ours, on the native engine, and the library's."""
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    ours = Tokenizer(path)
    assert ours.engine == "native", ours.describe()["why_not_native"]
    return ours, tokenizers.Tokenizer.from_file(str(path))


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda d: json.dumps(d, ensure_ascii=False)[:60])
def test_decoders(decoder: Any, tmp_path: Path) -> None:
    ours, library = both(word_level(decoder=decoder), tmp_path)
    count = library.get_vocab_size()
    assert ours.vocab_size == count
    choose = random.Random(0)
    rows = [[]] + [[i] for i in range(count + 3)]
    rows += [choose.choices(range(count + 3), k=choose.randint(1, 12)) for _ in range(600)]
    for skip in (False, True):
        expected = [library.decode(row, skip_special_tokens=skip) for row in rows]
        assert [ours.decode(row, skip_special_tokens=skip) for row in rows] == expected
        for threads in (1, 3):
            texts = ours.decode_batch(rows, skip_special_tokens=skip, num_threads=threads)
            assert texts.type == pa.string()
            texts.validate(full=True)
            assert texts.to_pylist() == expected


def test_ids_of_added_tokens_where_the_vocabulary_has_gaps(tmp_path: Path) -> None:
    choose = random.Random(2)
    for _ in range(200):
        letters = choose.sample("abcdefgh", choose.randint(1, 6))
        vocab = dict(zip(letters, choose.sample(range(30), len(letters)), strict=True))
        tokens = [added(choose.choice("abcxyz"), special=choose.random() < 0.5) for _ in range(4)]
        value = word_level(
            added_tokens=tokens,
            model={"type": "WordLevel", "vocab": vocab, "unk_token": letters[0]},
        )
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(value))
        ours = Tokenizer(path)
        library = tokenizers.Tokenizer.from_file(str(path))
        assert ours.vocab_size == library.get_vocab_size()
        assert ours.id_limit == 1 + max(library.get_vocab(True).values())
        for letter in "abcdefghxyz":
            assert ours.token_to_id(letter) == library.token_to_id(letter)
        for token in range(40):
            assert ours.id_to_token(token) == library.id_to_token(token)
            for skip in (False, True):
                expected = library.decode([token], skip_special_tokens=skip)
                assert ours.decode([token], skip) == expected


def stream_texts(step: Any, ids: list[int]) -> list[Any]:
    """What each step gives; the stream ends where a step fails."""
    texts: list[Any] = []
    for token in ids:
        texts.append(outcome(step, token))
        if texts[-1] == "fails":
            break
    return texts


@pytest.mark.parametrize("decoder", DECODERS, ids=lambda d: json.dumps(d, ensure_ascii=False)[:60])
def test_streams(decoder: Any, tmp_path: Path) -> None:
    from tokenizers.decoders import DecodeStream

    ours, library = both(word_level(decoder=decoder), tmp_path)
    choose = random.Random(1)
    count = library.get_vocab_size()
    for _ in range(300):
        row = choose.choices(range(count + 3), k=choose.randint(1, 15))
        skip = choose.random() < 0.5
        prompt = choose.choices(range(count), k=choose.choice((0, 0, 3)))
        theirs = DecodeStream(ids=prompt, skip_special_tokens=skip)
        expected = stream_texts(lambda token, theirs=theirs: theirs.step(library, token), row)
        assert stream_texts(ours.decode_stream(skip, prompt).step, row) == expected


def test_streams_take_several_ids_and_hold_few(tmp_path: Path) -> None:
    from tokenizers.decoders import DecodeStream

    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    ours, library = both(word_level(decoder=byte_level), tmp_path)
    text = ["Ã", "©", "a", "Ġworld", "ä½", "ł"]
    ids = [library.token_to_id(token) for token in text]
    stream = ours.decode_stream()
    assert [stream.step(i) for i in ids] == [None, "é", "a", " world", None, "你"]
    stream = ours.decode_stream()
    theirs = DecodeStream()
    assert stream.step(ids[:3]) == theirs.step(library, ids[:3]) == "éa"
    assert stream.step(np.array(ids[3:])) == theirs.step(library, ids[3:]) == " world你"
    native = ours.encoder.decode_stream(True, [])
    skipped = [library.token_to_id("<s>"), 10**6]
    for _ in range(1000):
        assert native.step(skipped) is None
        native.step([ids[2]])
    assert native.num_held <= 2
    with pytest.raises(ValueError, match="got -1 to -1"):
        stream.step(-1)


def test_streams_of_text(tmp_path: Path) -> None:
    """Every text comes back whole, whatever its characters are cut into."""
    from tokenizers import Tokenizer as Library
    from tokenizers import decoders, models, pre_tokenizers, trainers

    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet)
    library.train_from_iterator(["the cat sat on the mat"], trainer)
    tokenizer = Tokenizer(library)
    text = "the café 你好 😀👩‍👩‍👧 на русском, end"
    stream = tokenizer.decode_stream()
    parts = [stream.step(int(i)) for i in tokenizer.encode(text)]
    assert "".join(part for part in parts if part) == text
    assert None in parts


def test_rows_of_every_kind(tmp_path: Path) -> None:
    ours, library = both(word_level(), tmp_path)
    rows = [[1, 2, 1], [3, 4, 5]]
    expected = [library.decode(row) for row in rows]
    for given in (
        rows,
        tuple(map(tuple, rows)),
        np.array(rows),
        np.array(rows, np.uint8),
        iter(rows),
        pa.array(rows),
        pa.array(rows, pa.list_(pa.int32())),
        pa.array(rows, pa.large_list(pa.uint16())),
        pa.array([[9], *rows])[1:],
        pa.chunked_array([pa.array(rows[:1]), pa.array(rows[1:])]),
    ):
        assert ours.decode_batch(given).to_pylist() == expected
    assert ours.decode_batch([rows[0], None, []]).to_pylist() == [expected[0], None, ""]
    assert ours.decode_batch([]).to_pylist() == []
    assert ours.decode_batch(pa.array([], pa.list_(pa.int32()))).to_pylist() == []
    with pytest.raises(ValueError, match="got -1 to 2"):
        ours.decode_batch([[2, -1]])
    with pytest.raises(ValueError, match="got 0 to 4294967296"):
        ours.decode_batch(pa.array([[0, 2**32]]))
    with pytest.raises(TypeError, match="lists of integers; got string"):
        ours.decode_batch(pa.array(["a"]))
    with pytest.raises(TypeError, match="got text"):
        ours.decode_batch("ab")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="num_threads must be at least 1"):
        ours.decode_batch(rows, num_threads=0)


def test_where_the_library_crashes_there_is_an_error(tmp_path: Path) -> None:
    strip = {"type": "Strip", "content": "h", "start": 0, "stop": 2}
    ours, library = both(word_level(decoder=strip), tmp_path)
    bad = [1, library.token_to_id("h")]
    with pytest.raises(ValueError, match='cannot strip the token "h"'):
        ours.decode(bad)
    with pytest.raises(ValueError, match="row 1: the tokenizer's decoder Strip"):
        ours.decode_batch([[1], bad])


def item(name: str) -> dict[str, Any]:
    if name in ("A", "B"):
        return {"Sequence": {"id": name, "type_id": 0}}
    return {"SpecialToken": {"id": name, "type_id": 0}}


def template(single: str, pair: str = "A B") -> dict[str, Any]:
    return {
        "type": "TemplateProcessing",
        "single": [item(name) for name in single.split()],
        "pair": [item(name) for name in pair.split()],
        "special_tokens": {
            "[CLS]": {"id": "[CLS]", "ids": [4000], "tokens": ["[CLS]"]},
            "[SEP]": {"id": "[SEP]", "ids": [7, 8], "tokens": ["[SEP]", "x"]},
        },
    }


BERT = {"type": "BertProcessing", "sep": ["[SEP]", 7], "cls": ["[CLS]", 9]}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
POST_PROCESSORS: list[Any] = [
    None,
    BERT,
    {**BERT, "type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": True},
    {**BERT, "type": "TemplateProcessing"},
    {"sep": ["a", 1], "cls": ["b", 2]},
    BYTE_LEVEL,
    template("[CLS] A [SEP]"),
    template("A"),
    template("A A [CLS]"),
    template("[CLS]"),
    template(""),
    {**template("[SEP] A"), "type": "anything"},
    {"type": "Sequence", "processors": []},
    {"type": "Sequence", "processors": [BYTE_LEVEL, template("[CLS] A [SEP]")]},
    {"type": "Sequence", "processors": [template("[CLS] A"), BERT]},
    {"type": "Sequence", "processors": [BERT, BERT, BYTE_LEVEL]},
    {"type": "Sequence", "processors": [BERT, template("A [SEP] A")]},
    {"type": "Sequence", "processors": [template("[SEP] A"), template("A", "B [CLS] A")]},
    {"type": "Sequence", "processors": [{"type": "Sequence", "processors": [BERT]}, BERT]},
]
TEXTS = ["", "a", "a b run", "a a a a a a a a h", "run " * 40]


def truncation(length: int, direction: str, strategy: str = "LongestFirst", stride: int = 0) -> Any:
    return {
        "direction": direction,
        "max_length": length,
        "strategy": strategy,
        "stride": stride,
    }


@pytest.mark.parametrize("index", range(len(POST_PROCESSORS)))
def test_post_processors_and_truncation(index: int, tmp_path: Path) -> None:
    cuts = [None] + [truncation(n, side) for n in (0, 1, 2, 3, 5, 9) for side in ("Left", "Right")]
    for cut in cuts:
        value = word_level(post_processor=POST_PROCESSORS[index], truncation=cut)
        ours, library = both(value, tmp_path)
        for special in (True, False):
            expected = [library.encode(text, add_special_tokens=special).ids for text in TEXTS]
            assert [ours.encode(text, special).tolist() for text in TEXTS] == expected
            assert ours.encode_batch(TEXTS, special).to_pylist() == expected


@pytest.mark.parametrize("index", range(len(POST_PROCESSORS)))
def test_max_length_is_enable_truncation(index: int, tmp_path: Path) -> None:
    """A length that the caller gives replaces the file's truncation."""
    value = word_level(post_processor=POST_PROCESSORS[index], truncation=truncation(4, "Left"))
    ours, library = both(value, tmp_path)
    for length in (1, 2, 3, 4, 7):
        library.enable_truncation(length)
        for special in (True, False):
            expected = [library.encode(text, add_special_tokens=special).ids for text in TEXTS]
            encoded = ours.encode_batch(TEXTS, special, max_length=length)
            assert encoded.to_pylist() == expected
            alone = [ours.encode(text, special, max_length=length).tolist() for text in TEXTS]
            assert alone == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (word_level(truncation=truncation(3, "Right", "OnlySecond")), "OnlySecond"),
        (word_level(truncation=truncation(3, "Right", stride=3)), "stride 3 is not less than"),
        (word_level(post_processor=template("B")), r"\$B"),
        (word_level(post_processor=template("A [MASK]")), r"\[MASK\]"),
        (
            word_level(
                post_processor={
                    "type": "Sequence",
                    "processors": [template("[CLS] A [SEP]"), template("A")],
                }
            ),
            "3 parts",
        ),
    ],
)
def test_texts_on_which_the_library_fails(
    value: dict[str, Any], message: str, tmp_path: Path
) -> None:
    ours, library = both(value, tmp_path)
    with pytest.raises(BaseException):  # noqa: B017 (a Rust panic is no Exception)
        library.encode(TEXTS[-1])
    with pytest.raises(ValueError, match=message):
        ours.encode(TEXTS[-1])
    with pytest.raises(ValueError, match=message):
        ours.encode_batch(TEXTS)


def padding(strategy: Any, direction: str, multiple: int | None) -> dict[str, Any]:
    return {
        "strategy": strategy,
        "direction": direction,
        "pad_to_multiple_of": multiple,
        "pad_id": 3,
        "pad_type_id": 0,
        "pad_token": "x",
    }


@pytest.mark.parametrize("strategy", ["BatchLongest", {"Fixed": 5}, {"Fixed": 0}])
@pytest.mark.parametrize("direction", ["Left", "Right"])
@pytest.mark.parametrize("multiple", [None, 0, 4])
def test_padding(strategy: Any, direction: str, multiple: int | None, tmp_path: Path) -> None:
    for cut in (None, truncation(4, "Right")):
        value = word_level(
            padding=padding(strategy, direction, multiple),
            truncation=cut,
            post_processor=template("[CLS] A"),
        )
        ours, library = both(value, tmp_path)
        for text in TEXTS:
            assert ours.encode(text).tolist() == library.encode(text).ids
        for batch in (TEXTS, TEXTS[:2], TEXTS[:1], []):
            expected = [encoding.ids for encoding in library.encode_batch(batch)]
            assert ours.encode_batch(batch).to_pylist() == expected
            assert ours.encode_batch(batch, num_threads=1).to_pylist() == expected


class RandomFiles:
    """Files with steps put together at random, odd ones among them."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)

    def decoder(self, depth: int = 0) -> dict[str, Any]:
        choose = self.choose
        text = choose.choice(("", "a", "▁", " ", "##", "h", "l", "é", "你", "</w>", "|", "<"))
        character = choose.choice("ah▁ é你l<")
        regex = choose.choice(("l+", "x*", "^", "$", r"\b", "[a-h]", "(?=l)", r"\s", ".", r"\w+?"))
        flag = choose.random() < 0.5
        made: list[dict[str, Any]] = [
            {"type": "ByteLevel", "add_prefix_space": flag, "trim_offsets": True},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "WordPiece", "prefix": text, "cleanup": flag},
            {
                "type": "Metaspace",
                "replacement": character,
                "prepend_scheme": choose.choice(("first", "always", "never")),
            },
            {"type": "BPEDecoder", "suffix": text},
            {"type": "CTC", "pad_token": text, "word_delimiter_token": "|", "cleanup": flag},
            {
                "type": "Strip",
                "content": character,
                "start": choose.randint(0, 3),
                "stop": choose.choice((0, 0, 0, 1, 2)),
            },
            {
                "type": "Replace",
                "pattern": {"Regex": regex} if flag else {"String": text},
                "content": choose.choice(("", "x", " ")),
            },
        ]
        if depth < 2 and choose.random() < 0.5:
            parts = [self.decoder(depth + 1) for _ in range(choose.randint(0, 4))]
            return {"type": "Sequence", "decoders": parts}
        return choose.choice(made)

    def post_processor(self, depth: int = 0) -> dict[str, Any]:
        choose = self.choose
        if depth < 2 and choose.random() < 0.4:
            parts = [self.post_processor(depth + 1) for _ in range(choose.randint(0, 3))]
            return {"type": "Sequence", "processors": parts}
        items = ("A", "B", "A", "[CLS]", "[SEP]", "[MASK]")
        single, pair = (" ".join(choose.choices(items, k=choose.randint(0, 3))) for _ in range(2))
        return choose.choice((BERT, BYTE_LEVEL, template(single, pair)))

    def file(self) -> dict[str, Any]:
        choose = self.choose
        side = choose.choice(("Left", "Right"))
        strategy = choose.choice(("LongestFirst", "OnlyFirst", "OnlySecond"))
        cut = truncation(choose.randint(0, 6), side, strategy, choose.randint(0, 3))
        length = choose.choice(("BatchLongest", {"Fixed": choose.randint(0, 9)}))
        filled = padding(length, side, choose.choice((None, 0, 1, 4)))
        return word_level(
            decoder=self.decoder(),
            post_processor=self.post_processor() if choose.random() < 0.7 else None,
            truncation=cut if choose.random() < 0.5 else None,
            padding=filled if choose.random() < 0.3 else None,
        )


def outcome(action: Any, *arguments: Any) -> Any:
    """What an action gives, or that it fails: a Rust panic is no Exception."""
    try:
        return action(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "fails"


def outcomes_of_ours(ours: Tokenizer, rows: list[list[int]]) -> list[Any]:
    made: list[Any] = [outcome(lambda: ours.encode_batch(TEXTS).to_pylist())]
    for special in (True, False):
        made += [outcome(lambda text, s: ours.encode(text, s).tolist(), t, special) for t in TEXTS]
        for row in rows:
            made.append(outcome(ours.decode, row, special))
            stream = ours.decode_stream(special)
            made.append(stream_texts(stream.step, row))
    return made


def outcomes_of_the_library(library: Any, rows: list[list[int]]) -> list[Any]:
    from tokenizers.decoders import DecodeStream

    made: list[Any] = [outcome(lambda: [encoding.ids for encoding in library.encode_batch(TEXTS)])]
    for special in (True, False):
        made += [
            outcome(lambda text, s: library.encode(text, add_special_tokens=s).ids, t, special)
            for t in TEXTS
        ]
        for row in rows:
            made.append(
                outcome(lambda ids, s: library.decode(ids, skip_special_tokens=s), row, special)
            )
            step = partial(DecodeStream(skip_special_tokens=special).step, library)
            made.append(stream_texts(step, row))
    return made


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(4))
def test_random_combinations(seed: int, tmp_path: Path) -> None:
    files = RandomFiles(seed)
    for _ in range(60):
        ours, library = both(files.file(), tmp_path)
        count = library.get_vocab_size()
        rows = [files.choose.choices(range(count + 2), k=k) for k in (1, 3, 7)]
        assert outcomes_of_ours(ours, rows) == outcomes_of_the_library(library, rows)


@pytest.mark.parametrize("name", tokenizer_names())
def test_real_files_decode(name: str) -> None:
    from tokenizers.decoders import DecodeStream

    folder = tokenizer_folder(name)
    ours = Tokenizer(folder)
    library = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    limit = max(library.get_vocab(with_added_tokens=True).values()) + 10
    choose = random.Random(name)
    rows = [choose.choices(range(limit), k=choose.randint(0, 40)) for _ in range(300)]
    texts = ("Hello, world!  It's 10:30.", "你好 👩‍👩‍👧 é", "")
    rows += [library.encode(text).ids for text in texts]
    for skip in (False, True):
        expected = library.decode_batch(rows, skip_special_tokens=skip)
        assert ours.decode_batch(rows, skip_special_tokens=skip).to_pylist() == expected
        for row in rows[-40:]:
            theirs = DecodeStream(skip_special_tokens=skip)
            texts = stream_texts(lambda token, theirs=theirs: theirs.step(library, token), row)
            assert stream_texts(ours.decode_stream(skip).step, row) == texts
