"""Makes the tokenizers of this folder: one of each family, small, trained on texts of our own.

    PYTHONPATH=script .venv/bin/python tests/data/make_tokenizers.py [--check]

With the pinned `tokenizers` library the same files come out each time; --check compares them with
those that are checked in.
"""

import argparse
import collections
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from own_texts import CODE, ENGLISH, documents, sentences
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from unicode_probes import charsmap

HERE = Path(__file__).resolve().parent

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
# Letters with what stands before them, short groups of digits, marks, and runs of space by kind.
WORDS_AND_NUMBERS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CHAT_TEMPLATE = (
    "{% if messages[0]['role'] != 'system' %}<|im_start|>system\nBe brief.<|im_end|>\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

# With a begin token, and an end token for each answer.
BEGIN_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}[{{ message['role'] }}] {{ message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)


def training_texts() -> list[str]:
    prose = [*ENGLISH * 8, *sentences() * 3, *CODE * 3, *documents(150, seed=77)]
    return [text.replace("<|", "< |") for text in prose]


def of_characters(limit: int) -> list[str]:
    """The texts without characters that are rare in them; the trainer's own limit draws lots."""
    counts = collections.Counter("".join(training_texts()))
    kept = sorted(counts, key=lambda character: (-counts[character], character))[:limit]
    dropped = dict.fromkeys(map(ord, set(counts) - set(kept)), " ")
    return [text.translate(dropped) for text in training_texts()]


def special(text: str) -> AddedToken:
    return AddedToken(text, special=True, normalized=False)


def bpe_trainer(size: int, tokens: list[str], **options: Any) -> trainers.BpeTrainer:
    return trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[special(token) for token in tokens],
        show_progress=False,
        **options,
    )


def byte_level() -> tuple[Tokenizer, dict[str, Any]]:
    """As GPT-2: the byte-level pattern of its own, one special token, at the end of the ids."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        training_texts(), bpe_trainer(1199, [], initial_alphabet=sorted(alphabet))
    )
    tokenizer.add_special_tokens([special("<|endoftext|>")])
    names = ("bos_token", "eos_token", "unk_token")
    return tokenizer, {
        **dict.fromkeys(names, "<|endoftext|>"),
        "tokenizer_class": "GPT2Tokenizer",
        "add_prefix_space": False,
        "model_max_length": 1024,
    }


def split() -> tuple[Tokenizer, dict[str, Any]]:
    """As Llama 3 and Qwen: NFC, a pattern split, whole words first, and a chat template."""
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORDS_AND_NUMBERS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(
        training_texts(), bpe_trainer(1196, [], initial_alphabet=alphabet)
    )
    tokenizer.add_special_tokens(
        [special(token) for token in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")]
    )
    tokenizer.add_tokens([AddedToken("<tool_call>", special=False, normalized=False)])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer, {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": None,
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "model_max_length": 4096,
        "chat_template": CHAT_TEMPLATE,
    }


def splits() -> tuple[Tokenizer, dict[str, Any]]:
    """As DeepSeek: three patterns in turn, a begin token, and added tokens of every flag."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Sequence([])
    patterns = [r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"]
    patterns.append(
        r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
        r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            *(pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = bpe_trainer(
        1200, ["<\uff5cbegin\uff5c>", "<\uff5cend\uff5c>"], initial_alphabet=alphabet
    )
    tokenizer.train_from_iterator(training_texts(), trainer)
    tokenizer.add_tokens(
        [
            AddedToken("harbour", single_word=True),
            AddedToken("<gap>", lstrip=True, rstrip=True, normalized=False),
            AddedToken("  ", normalized=False),
            AddedToken("n't", rstrip=True),
        ]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<\uff5cbegin\uff5c> $A",
        pair="<\uff5cbegin\uff5c> $A <\uff5cbegin\uff5c> $B:1",
        special_tokens=[("<\uff5cbegin\uff5c>", 0)],
    )
    return tokenizer, {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<\uff5cbegin\uff5c>",
        "eos_token": "<\uff5cend\uff5c>",
        "model_max_length": 4096,
        "chat_template": BEGIN_TEMPLATE,
    }


def with_bytes(tokenizer: Tokenizer, tokens: list[str]) -> None:
    """Puts the 256 byte tokens behind the special ones, as SentencePiece does."""
    model = json.loads(tokenizer.to_str())["model"]
    learnt = [token for token in model["vocab"] if token not in tokens]
    vocab = {token: number for number, token in enumerate([*tokens, *BYTES, *learnt])}
    merges = [tuple(merge) for merge in model["merges"]]
    tokenizer.model = models.BPE(
        vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True
    )


def metaspace() -> tuple[Tokenizer, dict[str, Any]]:
    """As Llama 2: whole texts with spaces written out, bytes for what is not in the vocabulary."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokens = ["<unk>", "<s>", "</s>"]
    tokenizer.train_from_iterator(of_characters(200), bpe_trainer(900, tokens))
    with_bytes(tokenizer, tokens)
    tokenizer.pre_tokenizer = None
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
    )
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("\u2581", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]
    )
    return tokenizer, {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "pad_token": None,
        "model_max_length": 2048,
    }


def whole_text() -> tuple[Tokenizer, dict[str, Any]]:
    """As Gemma: spaces replaced and nothing put before the text; runs of spaces are tokens."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>"]
    tokenizer.train_from_iterator(of_characters(150), bpe_trainer(700, tokens))
    with_bytes(tokenizer, tokens)
    model = json.loads(tokenizer.to_str())["model"]
    for length in (2, 4, 8):
        model["vocab"]["\u2581" * length] = len(model["vocab"])
        model["merges"].append(["\u2581" * (length // 2)] * 2)
    tokenizer.model = models.BPE(
        model["vocab"],
        [tuple(merge) for merge in model["merges"]],
        unk_token="<unk>",
        fuse_unk=True,
        byte_fallback=True,
    )
    tokenizer.pre_tokenizer = None
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A", pair="<bos> $A <bos>:1 $B:1", special_tokens=[("<bos>", 2)]
    )
    return tokenizer, {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<bos>",
        "eos_token": "<eos>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "padding_side": "left",
        "model_max_length": 2048,
    }


def word_piece() -> tuple[Tokenizer, dict[str, Any]]:
    """As BERT: lower case without accents, words, pieces that go on with ##."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    counts: collections.Counter[str] = collections.Counter()
    for text in of_characters(250):
        normal = tokenizer.normalizer.normalize_str(text)
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal):
            for start in range(len(word)):
                for end in range(start + 1, min(start + 8, len(word)) + 1):
                    counts[("##" if start else "") + word[start:end]] += 1
    # The trainer would number pieces as its hash table has them.
    single = sorted(piece for piece in counts if len(piece.removeprefix("##")) == 1)
    longer = sorted(
        (piece for piece in counts if len(piece.removeprefix("##")) > 1),
        key=lambda piece: (-counts[piece] * len(piece), piece),
    )
    vocab = {piece: n for n, piece in enumerate([*tokens, *single, *longer[:700]])}
    tokenizer.model = models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=40)
    tokenizer.add_special_tokens([special(token) for token in tokens])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer, {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "mask_token": "[MASK]",
        "model_max_length": 512,
    }


def pieces() -> Iterator[tuple[str, float]]:
    """Characters and the substrings that come most often, with the logarithms of their shares.

    Training by expectation gives other last digits from run to run; counting does not.
    """
    counts: collections.Counter[str] = collections.Counter()
    for text in training_texts():
        for word in text.split():
            marked = "\u2581" + word
            for start in range(len(marked)):
                for length in range(1, min(9, len(marked) - start + 1)):
                    counts[marked[start : start + length]] += 1
    single = [(piece, n) for piece, n in counts.items() if len(piece) == 1 and n > 3]
    longer = [(piece, n * len(piece)) for piece, n in counts.items() if len(piece) > 1 and n > 9]
    longer.sort(key=lambda item: (-item[1], item[0]))
    total = sum(n for _, n in single)
    yield from ((piece, round(math.log(n / total), 4)) for piece, n in sorted(single))
    for piece, _ in longer[:900]:
        yield piece, round(math.log(counts[piece] / total), 4)


NORMAL_FORMS = {
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\u00bd": "1\u20442",
    "\u00b2": "2",
    "\u2026": "...",
    "\u00a0": " ",
    "\u3000": " ",
    "\u2007": " ",
    "\t": " ",
    "\n": " ",
    "\r": " ",
    "\x85": " ",
    "\u200b": " ",
    "\x7f": "",
    "\u00ad": "",
    "\ufeff": "",
    "e\u0301": "\u00e9",
    "e\u0302": "\u00ea",
    "\u304b\u3099": "\u304c",
    "\uff76": "\u30ab",
    "\uff76\uff9e": "\u30ac",
    "\u1100\u1173\u11af": "\uae00",
    "\ufdfa": "\u0635\u0644\u0649 \u0627\u0644\u0644\u0647 \u0639\u0644\u064a\u0647",
    **{chr(0xFF01 + i): chr(0x21 + i) for i in range(94)},
}


def unigram() -> tuple[Tokenizer, dict[str, Any]]:
    """As T5: a table of normal forms, words, the cheapest pieces, an end token."""
    tokens = ["<pad>", "</s>", "<unk>"]
    vocab = [*((token, 0.0) for token in tokens), *pieces()]
    tokenizer = Tokenizer(models.Unigram(vocab, 2, False))
    tokenizer.normalizer = normalizers.Precompiled(charsmap(NORMAL_FORMS))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.add_special_tokens([special(token) for token in (*tokens, "<extra_0>", "<extra_1>")])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return tokenizer, {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "model_max_length": 512,
    }


MAKERS = {
    "byte-level": byte_level,
    "split": split,
    "splits": splits,
    "metaspace": metaspace,
    "whole-text": whole_text,
    "word-piece": word_piece,
    "unigram": unigram,
}


def write(folder: Path) -> None:
    for name, make in MAKERS.items():
        tokenizer, config = make()
        (folder / name).mkdir(parents=True, exist_ok=True)
        text = json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False)
        (folder / name / "tokenizer.json").write_text(text + "\n", encoding="utf-8")
        text = json.dumps(config, ensure_ascii=False, indent=2)
        (folder / name / "tokenizer_config.json").write_text(text + "\n", encoding="utf-8")


def check() -> list[str]:
    """Names of files that would come out otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder))
        return [
            str(path.relative_to(folder))
            for path in sorted(Path(folder).glob("*/*"))
            if path.read_bytes() != (HERE / "tokenizers" / path.relative_to(folder)).read_bytes()
        ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with what is checked in")
    if not parser.parse_args().check:
        write(HERE / "tokenizers")
        return 0
    differing = check()
    for name in differing:
        print(f"{name} would come out otherwise", file=sys.stderr)
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())
