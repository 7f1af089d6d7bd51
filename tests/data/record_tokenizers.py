"""Records what the pinned `tokenizers` library does, component by component, and with our files.

    PYTHONPATH=script .venv/bin/python tests/data/record_tokenizers.py [--check]

The files it writes to golden/tokenizers have the form of those in ../shared/data/golden/tokenizers,
so that the same tests read both. `"model": "$bytes"` stands for bytes_model.json: a symbol for
each byte and no merges, so that ids are the bytes of the normal form.
"""

import argparse
import copy
import itertools
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import make_tokenizers
import own_texts
import tokenizers
from tokenizers import Tokenizer

HERE = Path(__file__).resolve().parent

Json = dict[str, Any]
PANIC = "PanicException"
TEXTS = [*own_texts.ODD, *own_texts.ENGLISH[1:4], *own_texts.sentences()[16::4], *own_texts.CODE]
SHORT = ["", " ", "a", "the cat", " two  spaces ", "x\ny\n", "caf\u00e9 \u4f60\u597d", "1234 a5"]


def bytes_model() -> Json:
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    symbols = [chr(b) if b in printable else chr(next(others)) for b in range(256)]
    return {"type": "BPE", "vocab": {s: b for b, s in enumerate(symbols)}, "merges": []}


BYTES = bytes_model()
BYTE_LEVEL = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": False,
}


def file_of(model: Any = "$bytes", **parts: Any) -> Json:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        **parts,
        "model": model,
    }


def library(file: Json) -> Tokenizer:
    file = copy.deepcopy(file)
    if file["model"] == "$bytes":
        file["model"] = BYTES
    return Tokenizer.from_str(json.dumps(file))


def decoded(tokenizer: Tokenizer, ids: list[int]) -> Json:
    case = {"decoded": tokenizer.decode(ids, skip_special_tokens=True)}
    whole = tokenizer.decode(ids, skip_special_tokens=False)
    if whole != case["decoded"]:
        case["decoded_with_special"] = whole
    return case


def encoded(tokenizer: Tokenizer, text: str, special: bool, offsets: bool = True) -> Json:
    """One case: what each step makes of the text, and all of them."""
    case: Json = {"text": text, "special": special}
    try:
        normal = text
        if tokenizer.normalizer is not None:
            normal = case["normalized"] = tokenizer.normalizer.normalize_str(text)
        if tokenizer.pre_tokenizer is not None:
            pieces = tokenizer.pre_tokenizer.pre_tokenize_str(normal)
            case["pre_tokens"] = [piece for piece, _ in pieces]
        encoding = tokenizer.encode(text, add_special_tokens=special)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        kind = "panic" if type(error).__name__ == PANIC else "error"
        return {"text": text, "special": special, "error": f"{kind}: {error}"}
    case["ids"] = encoding.ids
    if offsets:
        case["offsets"] = [list(offset) for offset in encoding.offsets]
    if encoding.overflowing:
        case["overflow"] = [part.ids for part in encoding.overflowing]
    return {**case, **decoded(tokenizer, encoding.ids)}


def group(
    name: str,
    file: Json,
    texts: list[str],
    special: tuple[bool, ...] = (True,),
    offsets: bool = True,
) -> Json:
    tokenizer = library(file)
    cases = [encoded(tokenizer, text, each, offsets) for text in texts for each in special]
    return {"name": name, "tokenizer": file, "cases": cases}


# The components


NORMALIZERS: dict[str, Json] = {
    "nfc": {"type": "NFC"},
    "nfd": {"type": "NFD"},
    "nfkc": {"type": "NFKC"},
    "nfkd": {"type": "NFKD"},
    "lowercase": {"type": "Lowercase"},
    "nmt": {"type": "Nmt"},
    "strip": {"type": "Strip", "strip_left": True, "strip_right": True},
    "strip_right": {"type": "Strip", "strip_left": False, "strip_right": True},
    "accents": {
        "type": "Sequence",
        "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}],
    },
    "prepend": {"type": "Prepend", "prepend": "\u2581"},
    "replace": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
    "replace_regex": {"type": "Replace", "pattern": {"Regex": "\\s{2,}"}, "content": " "},
    "replace_longer": {"type": "Replace", "pattern": {"Regex": "[0-9]"}, "content": "<num>"},
    "replace_by_nothing": {"type": "Replace", "pattern": {"String": "a"}, "content": ""},
    "bert": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "bert_cased": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": False,
        "strip_accents": True,
        "lowercase": False,
    },
    "byte_level": {"type": "ByteLevel"},
    "llama": {
        "type": "Sequence",
        "normalizers": [
            {"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        ],
    },
    "clip": {
        "type": "Sequence",
        "normalizers": [
            {"type": "NFC"},
            {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "},
            {"type": "Lowercase"},
        ],
    },
}


def split(pattern: str, behavior: str = "Isolated", invert: bool = False) -> Json:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": behavior,
        "invert": invert,
    }


BEHAVIORS = ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
PRE_TOKENIZERS: dict[str, Json] = {
    "byte_level": {**BYTE_LEVEL, "use_regex": True},
    "byte_level_prefix": {**BYTE_LEVEL, "use_regex": True, "add_prefix_space": True},
    "words_and_numbers": split(make_tokenizers.WORDS_AND_NUMBERS),
    "numbers": split(r"\p{N}{1,3}"),
    "scripts": split(r"[\p{Han}\p{Hiragana}\p{Katakana}]+|\p{Lu}?\p{Ll}+|[^\s\p{L}]++"),
    "lines": split(r"^\S+|\S+$", "MergedWithNext"),
    "whitespace": {"type": "Whitespace"},
    "whitespace_split": {"type": "WhitespaceSplit"},
    "bert": {"type": "BertPreTokenizer"},
    "digits": {"type": "Digits", "individual_digits": False},
    "single_digits": {"type": "Digits", "individual_digits": True},
    "delimiter": {"type": "CharDelimiterSplit", "delimiter": "e"},
    "unicode_scripts": {"type": "UnicodeScripts"},
    "fixed_length": {"type": "FixedLength", "length": 5},
    **{
        f"metaspace_{scheme}{'' if cut else '_whole'}": {
            "type": "Metaspace",
            "replacement": "\u2581",
            "prepend_scheme": scheme,
            "split": cut,
        }
        for scheme, cut in itertools.product(("always", "first", "never"), (True, False))
    },
    **{f"punctuation_{b}": {"type": "Punctuation", "behavior": b} for b in BEHAVIORS},
    **{
        f"split_{b}{'_inverted' if invert else ''}": split(r"[a-e]+|\d", b, invert)
        for b, invert in itertools.product(BEHAVIORS, (False, True))
    },
    "sequence": {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "WhitespaceSplit"},
            {"type": "Punctuation", "behavior": "Isolated"},
            {"type": "Digits", "individual_digits": True},
        ],
    },
}


def words_of(pre_tokenizer: Json, texts: list[str]) -> Json:
    """A WordLevel model of the pieces themselves: ids show the cuts."""
    cutter = library(file_of(pre_tokenizer=pre_tokenizer)).pre_tokenizer
    pieces = dict.fromkeys(["[UNK]"])
    for text in texts:
        pieces.update(dict.fromkeys(piece for piece, _ in cutter.pre_tokenize_str(text)))
    vocab = {piece: number for number, piece in enumerate(pieces)}
    return {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"}


BPE: Json = {
    "type": "BPE",
    "dropout": None,
    "unk_token": "<unk>",
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
}
LETTERS = ["<unk>", "a", "b", "c", "d", "\u2581", "ab", "bc", "abc", "cd", "aa", "aaaa", "bcd"]
MERGES = ["a b", "b c", "ab c", "c d", "a a", "aa aa", "b cd"]
WORDS = ["", "a", "abc", "aaaaa", "abcd", "bcdabc", "xab", "xyab", "a\u00e9b", "\U0001f600c", "cab"]
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]


def vocabulary(tokens: list[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}


def models() -> dict[str, Json]:
    merges = [merge.split(" ") for merge in MERGES]
    plain = {**BPE, "vocab": vocabulary(LETTERS), "merges": merges}
    with_bytes = {**plain, "vocab": vocabulary(LETTERS + BYTE_TOKENS), "byte_fallback": True}
    without_some = vocabulary(LETTERS + BYTE_TOKENS[:0xC3])
    pieces = [["<unk>", 0.0], ["a", -2.0], ["b", -2.5], ["c", -2.25], ["ab", -3.5], ["bc", -4.0]]
    pieces += [["abc", -5.5], ["aa", -4.0], ["d", -9.0], ["cd", -6.0]]
    unigram = {"type": "Unigram", "unk_id": 0, "byte_fallback": False, "vocab": pieces}
    word_piece = {
        "type": "WordPiece",
        "unk_token": "<unk>",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": vocabulary(["<unk>", "a", "ab", "abc", "##b", "##c", "##bc", "##d", "c", "##ab"]),
    }
    suffixed = vocabulary(["<unk>", "a", "b", "c</w>", "a</w>", "b</w>", "ab", "abc</w>"])
    prefixed = vocabulary(["<unk>", "a", "b", "##b", "##c", "ab", "abc", "c"])
    return {
        "bpe": plain,
        "bpe_merges_as_strings": {**plain, "merges": MERGES},
        "bpe_other_order": {**plain, "merges": merges[::-1]},
        "bpe_twice_the_pair": {**plain, "merges": [*merges, ["a", "b"]]},
        "bpe_fused": {**plain, "fuse_unk": True},
        "bpe_no_unknown": {**plain, "unk_token": None},
        "bpe_whole_words": {**plain, "ignore_merges": True, "merges": merges[1:]},
        "bpe_bytes": with_bytes,
        "bpe_bytes_fused": {**with_bytes, "fuse_unk": True},
        "bpe_some_bytes": {**with_bytes, "vocab": without_some},
        "bpe_suffix": {
            **BPE,
            "end_of_word_suffix": "</w>",
            "vocab": suffixed,
            "merges": [["a", "b"], ["ab", "c</w>"]],
        },
        "bpe_prefix": {
            **BPE,
            "continuing_subword_prefix": "##",
            "vocab": prefixed,
            "merges": [["a", "##b"], ["ab", "##c"]],
        },
        "unigram": unigram,
        "unigram_bytes": {
            **unigram,
            "byte_fallback": True,
            "vocab": pieces + [[token, -8.0] for token in BYTE_TOKENS],
        },
        "unigram_ties": {**unigram, "vocab": [[piece, -1.0] for piece, _ in pieces]},
        "unigram_no_unknown": {**unigram, "unk_id": None},
        "word_piece": word_piece,
        "word_piece_short": {**word_piece, "max_input_chars_per_word": 3},
        "word_level": {
            "type": "WordLevel",
            "unk_token": "<unk>",
            "vocab": vocabulary(["<unk>", "a", "abc", "cab"]),
        },
    }


def added(content: str, number: int, **flags: bool) -> Json:
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": number, "content": content, **{name: flags.get(name, False) for name in names}}


ADDED_TEXTS = [
    "x<a>y",
    " <a> ",
    "x  <a>\n\ty",
    "<a><a> <a>",
    "<A>x<a",
    "x<a>_<a>1 <a>.",
    "caf\u00e9<a>caf\u00e9",
    "<a>" * 5,
    "",
]


def added_groups() -> Iterator[Json]:
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    for values in itertools.product((False, True), repeat=5):
        flags = dict(zip(names, values, strict=True))
        file = file_of(
            normalizer={"type": "Lowercase"},
            pre_tokenizer={**BYTE_LEVEL, "use_regex": True},
            decoder=BYTE_LEVEL,
            added_tokens=[added("<a>", 256, **flags)],
        )
        yield group("_".join(["added", *(n for n in names if flags[n])]), file, ADDED_TEXTS)
    overlapping = [added("<a>", 256), added("<a>x", 257), added("a", 258, normalized=True)]
    overlapping.append(added("  ", 259))
    file = file_of(pre_tokenizer=BYTE_LEVEL, added_tokens=overlapping)
    yield group("added_overlapping", file, [*ADDED_TEXTS, "     x   a", "<a>x<a>xa"])
    metaspace = PRE_TOKENIZERS["metaspace_first"]
    texts = ["a b", "<a>a b", "a<a>b <a> c", " a"]
    model = words_of(metaspace, ["a b", " b", " c", " a", "a", "b", " "])
    model["vocab"]["<a>"] = len(model["vocab"])
    tokens = [added("<a>", model["vocab"]["<a>"])]
    file = file_of(model, pre_tokenizer=metaspace, added_tokens=tokens)
    yield group("added_before_metaspace", file, texts)


SPECIALS = {"[CLS]": 256, "[SEP]": 257, "<s>": 258}


def template(single: str) -> Json:
    """A template of tokens and A, in the library's long form."""

    def parts(text: str, type_id: int = 0) -> list[Json]:
        return [
            {"Sequence": {"id": part[1:], "type_id": type_id}}
            if part.startswith("$")
            else {"SpecialToken": {"id": part, "type_id": type_id}}
            for part in text.split()
        ]

    return {
        "type": "TemplateProcessing",
        "single": parts(single),
        "pair": [*parts(single), *parts("$B", 1)],
        "special_tokens": {
            token: {"id": token, "ids": [number], "tokens": [token]}
            for token, number in SPECIALS.items()
            if token in single
        },
    }


POST_PROCESSORS: dict[str, Json | None] = {
    "none": None,
    "template": template("[CLS] $A [SEP]"),
    "template_begin": template("<s> $A"),
    "template_twice": template("<s> <s> $A [SEP]"),
    "template_bare": template("$A"),
    "bert": {"type": "BertProcessing", "sep": ["[SEP]", 257], "cls": ["[CLS]", 256]},
    "roberta": {
        "type": "RobertaProcessing",
        "sep": ["[SEP]", 257],
        "cls": ["<s>", 258],
        "trim_offsets": True,
        "add_prefix_space": False,
    },
    "byte_level": {**BYTE_LEVEL, "use_regex": True},
    "sequence": {
        "type": "Sequence",
        "processors": [{**BYTE_LEVEL, "use_regex": True}, template("<s> $A")],
    },
}


def with_specials(**parts: Any) -> Json:
    tokens = [added(token, number, special=True) for token, number in SPECIALS.items()]
    tokenizer = {"pre_tokenizer": {**BYTE_LEVEL, "use_regex": True}, "added_tokens": tokens}
    return file_of(**{**tokenizer, **parts})


DECODER_VOCAB = ["<unk>", "a", "b", "\u2581a", "\u2581", "##b", "c</w>", "<0x41>", "<0xE4>"]
DECODER_VOCAB += ["<0xBD>", "<0xA0>", "\u0120d", "\u00c4", "|", "<pad>", "'", "t", ".", "\u2581."]
DECODERS: dict[str, Json | None] = {
    "none": None,
    "byte_level": BYTE_LEVEL,
    "word_piece": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "word_piece_as_it_is": {"type": "WordPiece", "prefix": "##", "cleanup": False},
    "metaspace": {
        "type": "Metaspace",
        "replacement": "\u2581",
        "prepend_scheme": "always",
        "split": True,
    },
    "metaspace_never": {
        "type": "Metaspace",
        "replacement": "\u2581",
        "prepend_scheme": "never",
        "split": True,
    },
    "byte_fallback": {"type": "ByteFallback"},
    "fuse": {"type": "Fuse"},
    "strip": {"type": "Strip", "content": "a", "start": 1, "stop": 0},
    "replace": {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
    "ctc": {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True},
    "bpe": {"type": "BPEDecoder", "suffix": "</w>"},
    "llama": {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ],
    },
}


def decoder_groups() -> Iterator[Json]:
    rng = random.Random(6)
    rows = [[], [0], [3, 1, 4, 2], [7, 8, 9, 10], [8, 9], [15, 16, 17], [14, 14, 1, 13, 1]]
    rows += [rng.choices(range(len(DECODER_VOCAB) + 1), k=rng.randint(1, 9)) for _ in range(12)]
    model = {"type": "WordLevel", "unk_token": "<unk>", "vocab": vocabulary(DECODER_VOCAB)}
    special = [added("<pad>", DECODER_VOCAB.index("<pad>"), special=True)]
    for name, decoder in DECODERS.items():
        file = file_of(model, decoder=decoder, added_tokens=special)
        tokenizer = library(file)
        cases = [{"decode": row, **decoded(tokenizer, row)} for row in rows]
        yield {"name": name, "tokenizer": file, "cases": cases}


def truncation_groups() -> Iterator[Json]:
    texts = ["", "a", "a b c", "one two three four", "[CLS] x [SEP] y z"]
    for length, stride, direction in ((0, 0, "Right"), (2, 0, "Right"), (5, 0, "Left")):
        yield truncated(texts, length, stride, direction)
    for length, stride, direction in ((6, 2, "Right"), (7, 3, "Left"), (9, 0, "Right")):
        yield truncated(texts, length, stride, direction)


def truncated(texts: list[str], length: int, stride: int, direction: str) -> Json:
    truncation = {
        "direction": direction,
        "max_length": length,
        "strategy": "LongestFirst",
        "stride": stride,
    }
    file = with_specials(truncation=truncation, post_processor=template("[CLS] $A [SEP]"))
    return group(f"truncation_{length}_{stride}_{direction}", file, texts, (True, False))


def padding_groups() -> Iterator[Json]:
    batches = [["a", "abc", ""], ["one two", "x"], ["", ""]]
    for strategy, direction, multiple in itertools.product(
        ("BatchLongest", {"Fixed": 6}), ("Right", "Left"), (None, 4)
    ):
        padding = {
            "strategy": strategy,
            "direction": direction,
            "pad_to_multiple_of": multiple,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "\u0100",
        }
        file = with_specials(padding=padding, post_processor=template("<s> $A"))
        tokenizer = library(file)
        cases = []
        for batch, special in itertools.product(batches, (True, False)):
            made = tokenizer.encode_batch(batch, add_special_tokens=special)
            encodings = [{"ids": encoding.ids} for encoding in made]
            cases.append({"batch": batch, "special": special, "encodings": encodings})
        kind = strategy if isinstance(strategy, str) else "Fixed6"
        name = f"padding_{kind}_{direction}_{multiple}"
        yield {"name": name, "tokenizer": file, "cases": cases}


def unicode_groups() -> Iterator[Json]:
    """A sample of code points, each between letters, by what treats them by their properties."""
    rng = random.Random(8)
    blocks = [*range(0x80, 0x3100, 7), *range(0xA000, 0xB000, 31), *range(0xF900, 0xFFFE, 5)]
    blocks += [*range(0x10000, 0x1F000, 97), *range(0x1F300, 0x1FAFF, 17)]
    rng.shuffle(blocks)
    texts = ["".join(f"a{chr(point)}" for point in blocks[i : i + 90]) for i in range(0, 450, 90)]
    for name in ("nfc", "nfkd", "lowercase", "accents", "bert", "nmt"):
        normalizer = NORMALIZERS[name]
        yield group(
            name, file_of(normalizer=normalizer, pre_tokenizer=BYTE_LEVEL), texts[:2], offsets=False
        )
    for name in ("byte_level", "whitespace", "bert", "single_digits", "unicode_scripts", "scripts"):
        cutter = PRE_TOKENIZERS[name]
        model = words_of(cutter, texts[2:])
        yield group(name, file_of(model, pre_tokenizer=cutter), texts[2:], offsets=False)


def combinations() -> Iterator[Json]:
    rng = random.Random(9)
    for number in range(24):
        normalizer = rng.choice([None, *NORMALIZERS.values()])
        first = rng.choice(list(PRE_TOKENIZERS.values()))
        pre_tokenizer = {"type": "Sequence", "pretokenizers": [first, BYTE_LEVEL]}
        flags = {name: rng.random() < 0.4 for name in ("single_word", "lstrip", "rstrip")}
        flags["normalized"] = rng.random() < 0.5
        tokens = [added(token, number, special=True) for token, number in SPECIALS.items()]
        tokens.append(added(rng.choice(("the", "  ", "n't", "\u4e03")), 259, **flags))
        file = file_of(
            normalizer=normalizer,
            pre_tokenizer=pre_tokenizer,
            added_tokens=tokens,
            post_processor=rng.choice(list(POST_PROCESSORS.values())),
            decoder=BYTE_LEVEL,
        )
        texts = [
            *rng.sample([text for text in TEXTS if len(text) < 80], 3),
            own_texts.document(rng, 60) + " <s>the[SEP]",
        ]
        yield group(f"combination_{number:02}", file, texts, (True, False))


LOADS: dict[str, Any] = {
    "unknown_key": file_of(pre_tokenizer=BYTE_LEVEL, colour="blue"),
    "unknown_component": file_of(pre_tokenizer={"type": "Sandpaper"}),
    "bad_regex": file_of(pre_tokenizer=split("(a")),
    "untyped_bpe": file_of({"vocab": {"a": 0}, "merges": []}),
    "merge_without_its_token": file_of({**BPE, "vocab": {"a": 0, "b": 1}, "merges": [["a", "b"]]}),
    "unigram_unknown_out_of_range": file_of(
        {"type": "Unigram", "unk_id": 9, "vocab": [["a", -1.0]]}
    ),
    "no_model": {key: value for key, value in file_of().items() if key != "model"},
    "ids_out_of_order": file_of(
        pre_tokenizer=BYTE_LEVEL, added_tokens=[added("<b>", 257), added("<a>", 256)]
    ),
}


def loader_groups() -> Iterator[Json]:
    for name, file in LOADS.items():
        whole = {**file, "model": BYTES} if file.get("model") == "$bytes" else file
        try:
            Tokenizer.from_str(json.dumps(whole))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            case = {"load": "error"}
            load = f"{type(error).__name__}: {error}"
            yield {"name": name, "tokenizer": file, "load": load, "cases": [case]}
        else:
            yield group(name, file, ["a", "<a>a<b>"])


def components() -> dict[str, list[Json]]:
    return {
        "normalizer": [
            group(
                name,
                file_of(normalizer=normalizer, pre_tokenizer=BYTE_LEVEL),
                TEXTS[number::4],
                offsets=False,
            )
            for (name, normalizer), number in zip(NORMALIZERS.items(), itertools.cycle(range(4)))
        ],
        "pre_tokenizer": [
            group(
                name,
                file_of(words_of(cutter, TEXTS[::3]), pre_tokenizer=cutter),
                TEXTS[::3],
                offsets=False,
            )
            for name, cutter in PRE_TOKENIZERS.items()
        ],
        "model": [
            group(
                name,
                file_of(model, pre_tokenizer={"type": "WhitespaceSplit"}),
                [*WORDS, " ".join(WORDS)],
            )
            for name, model in models().items()
        ],
        "added_tokens": list(added_groups()),
        "post_processor": [
            group(name, with_specials(post_processor=made), SHORT, (True, False))
            for name, made in POST_PROCESSORS.items()
        ],
        "decoder": list(decoder_groups()),
        "truncation": list(truncation_groups()),
        "padding": list(padding_groups()),
        "unicode": list(unicode_groups()),
        "combo": list(combinations()),
        "loader": list(loader_groups()),
    }


def files() -> Json:
    """Ids of some texts by each of our tokenizers, and of a long one by their sum."""
    rng = random.Random(10)
    texts = [*TEXTS, *(own_texts.document(rng, 300) for _ in range(6)), *own_texts.runs(120)]
    recorded = {}
    for name in sorted(make_tokenizers.MAKERS):
        tokenizer = Tokenizer.from_file(str(HERE / "tokenizers" / name / "tokenizer.json"))
        recorded[name] = {
            "ids": [tokenizer.encode(text).ids for text in texts],
            "bare": [tokenizer.encode(text, add_special_tokens=False).ids for text in SHORT],
            "decoded": [
                tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=True)
                for text in SHORT
            ],
        }
    return {"texts": texts, "short": SHORT, "tokenizers": recorded}


def recorded() -> Iterator[tuple[str, str]]:
    """Names of files and what is in them, a group a line."""
    reference = f"tokenizers {tokenizers.__version__}"
    yield "bytes_model.json", json.dumps(BYTES, ensure_ascii=False, separators=(",", ":")) + "\n"
    for name, groups in components().items():
        lines = ",\n".join(
            json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in groups
        )
        head = f'{{"reference": "{reference}", "component": "{name}", "groups": [\n'
        yield f"{name}.json", f"{head}{lines}\n]}}\n"
    yield "own_files.json", json.dumps(files(), ensure_ascii=False, separators=(",", ":")) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with what is checked in")
    check = parser.parse_args().check
    folder = HERE / "golden" / "tokenizers"
    folder.mkdir(parents=True, exist_ok=True)
    status = 0
    for name, text in recorded():
        if not check:
            (folder / name).write_text(text, encoding="utf-8")
        elif (folder / name).read_text(encoding="utf-8") != text:
            print(f"{name} would come out otherwise", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
