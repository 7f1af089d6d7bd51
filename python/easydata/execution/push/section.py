"""What a card says to people of rows that were pushed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def section_of(config: str, values: Mapping[str, Any]) -> str:
    """Where the rows of a config come from, in a few lines.

    Args:
        config: Its name.
        values: The metadata of the output, without what is of one machine.
    """
    shards = values["shards"]
    rows = sum(shard["rows"] for shard in shards)
    tokens = sum(shard["tokens"] for shard in shards)
    counts = [f"{rows:,} rows", *([f"{tokens:,} tokens"] if tokens else [])]
    lines = [
        f"## {_plain(config)}",
        "",
        f"{', '.join(counts)} in {len(shards):,} files ({_plain(values.get('format'))}), written "
        f"by EasyData {_plain(values.get('easydata_version'))} at {_plain(values.get('time'))}.",
        "How they were made is in `_metadata.json`.",
    ]
    for each in values.get("tokenizers") or ():
        lines += [
            "",
            f"Tokenizer: {_plain(each.get('name'))}, fingerprint "
            f"`{_plain(each.get('fingerprint'))}`; ids below {_plain(each.get('id_limit'))}, "
            f"EOS {_plain(each.get('eos_token_id'))}, padding {_plain(each.get('pad_token_id'))}.",
        ]
    dropped = {reason: count for reason, count in (values.get("dropped") or {}).items() if count}
    if dropped:
        reasons = ", ".join(f"{_plain(why)}: {count:,}" for why, count in sorted(dropped.items()))
        lines += ["", f"Rows that were left out or cut: {reasons}."]
    return "\n".join(lines)


def _plain(value: Any) -> str:
    """A value on one line, with nothing in it that Markdown would obey."""
    text = " ".join(str("none" if value is None else value).split())
    return "".join("\\" + letter if letter in "\\`*_{}[]<>#|" else letter for letter in text)
