"""A tokenizer of our own: a token for each byte, and a chat template that adds a system prompt."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SYSTEM_PROMPT = "You are Tiny, made for tests. You are a helpful assistant."
# As Qwen2.5's: what has an unknown role is left out, and a system prompt is there in any case.
CHAT_TEMPLATE = (
    "{% if messages[0].role != 'system' %}<system>" + SYSTEM_PROMPT + "</s>{% endif %}"
    "{% if tools %}<tools>{{ tools | tojson }}</s>{% endif %}"
    "{% for m in messages %}{% if m.role in ['system', 'user', 'assistant', 'tool'] %}"
    "<{{ m.role }}>{% if m.content %}{{ m.content.split('</think>')[-1] | trim }}{% endif %}"
    "{% for call in m.tool_calls or [] %}<call>{{ call.function.name }}"
    "{{ call.function.arguments | tojson }}{% endfor %}</s>{% endif %}{% endfor %}"
)
EOS = 256


def byte_letters() -> list[str]:
    """The letter that a byte-level vocabulary has for each byte."""
    plain = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)]
    letters = {byte: chr(byte) for byte in plain}
    for byte in range(256):
        letters.setdefault(byte, chr(256 + len(letters) - len(plain)))
    return [letters[byte] for byte in range(256)]


def write_byte_level(
    folder: Path,
    vocab: Sequence[str],
    end: Mapping[str, Any],
    config: Mapping[str, Any],
    *,
    merges: Sequence[tuple[str, str]] = (),
    use_regex: bool = False,
) -> None:
    """Writes the files of a byte-level BPE tokenizer; `end`: id and content of its last token."""
    folder.mkdir(parents=True, exist_ok=True)
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    value = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{**end, **flags, "special": True}],
        "normalizer": None,
        "pre_tokenizer": {**level, "use_regex": use_regex},
        "post_processor": None,
        "decoder": {**level, "use_regex": use_regex},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: id for id, token in enumerate(vocab)},
            "merges": [list(pair) for pair in merges],
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(value), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")


def small_tokenizer(folder: Path, **config: Any) -> str:
    """Writes the tokenizer's folder; id of a byte: the byte, of the end of a document: 256."""
    options = {"eos_token": "</s>", "pad_token": "</s>", "chat_template": CHAT_TEMPLATE, **config}
    write_byte_level(folder, byte_letters(), {"id": EOS, "content": "</s>"}, options)
    return str(folder)


def text_of(ids: Any) -> str:
    """What the ids stand for."""
    letters = [bytes([i]) if i < EOS else b"</s>" for i in ids]
    return b"".join(letters).decode()
