"""The chats and preferences that `script/bench examples` makes examples of.

`w7` is what the reference measured (reference/measured.md, W7): the 299 preferences of
dpo_en_demo.json again and again, 4 messages and 3.3 KB a chat. `distinct` has the same roles and
the same lengths, filled with text that hardly repeats, so that no cache of words flatters anybody.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from corpora import CACHE, SHARED, installed_texts

PREFERENCES = SHARED / "data" / "text" / "preference" / "dpo_en_demo.json"
KINDS = ("sft", "dpo")
ROWS = 5980
# Rows of a record batch, as `datasets` writes them.
_BATCH = 1000
_ROLES = {"human": "user", "gpt": "assistant", "system": "system"}

Chat = list[dict[str, str]]
# A conversation up to its answers, and the two answers.
Preference = tuple[Chat, Chat, Chat]


def _message(said: dict[str, str]) -> dict[str, str]:
    return {"role": _ROLES[said["from"]], "content": said["value"]}


def _w7() -> list[Preference]:
    rows = json.loads(PREFERENCES.read_text(encoding="utf-8"))
    # An answer that says nothing is refused; TRL trains on it.
    return [
        (
            [_message(said) for said in row["conversations"]],
            [_message(row["chosen"])],
            [_message(row["rejected"])],
        )
        for row in rows
        if row["chosen"]["value"] and row["rejected"]["value"]
    ]


class _Text:
    """Text of this machine, to be cut from the front."""

    def __init__(self) -> None:
        self._texts = installed_texts()
        self._rest = ""

    def take(self, size: int) -> str:
        """The next `size` characters which are not blank as a whole: such answers are refused."""
        while not (found := self._next(size)).strip() and size > 0:
            pass
        return found

    def _next(self, size: int) -> str:
        parts: list[str] = []
        while size > 0:
            if not self._rest:
                self._rest = next(self._texts)
            parts.append(self._rest[:size])
            size -= len(parts[-1])
            self._rest = self._rest[len(parts[-1]) :]
        return "".join(parts)


def _preferences(name: str, count: int) -> Iterator[Preference]:
    given = _w7()
    text = _Text()
    for i in range(count):
        row = given[i % len(given)]
        if name == "w7":
            yield row
            continue
        prompt, chosen, rejected = (
            [{**said, "content": text.take(len(said["content"]))} for said in chat] for chat in row
        )
        yield prompt, chosen, rejected


def _row(kind: str, preference: Preference) -> dict[str, Any]:
    prompt, chosen, rejected = preference
    if kind == "sft":
        return {"messages": prompt + chosen}
    return {"prompt": prompt, "chosen": chosen, "rejected": rejected}


def available() -> list[str]:
    """The corpora that can be made here."""
    return ["w7", "distinct"] if PREFERENCES.is_file() else []


def corpus(name: str, kind: str, count: int = ROWS) -> Path:
    """An Arrow file (the format of streams, which `datasets` reads, too) of rows; made once.

    Beside it lies the same as JSONL.
    """
    path = CACHE / f"examples-3-{name}-{kind}-{count}.arrow"
    if path.exists():
        return path
    CACHE.mkdir(parents=True, exist_ok=True)
    rows = [_row(kind, preference) for preference in _preferences(name, count)]
    with path.with_suffix(".jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    _write(path, rows)
    return path


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(rows)
    part = path.with_suffix(".part")
    with pa.ipc.new_stream(part, table.schema) as writer:
        writer.write_table(table, max_chunksize=_BATCH)
    part.rename(path)


def short_chats(count: int) -> list[Chat]:
    """Chats of 4 turns and 1.8 KB, whose text does not repeat."""
    text = _Text()
    return [
        [{"role": role, "content": text.take(450)} for role in ("user", "assistant") * 2]
        for _ in range(count)
    ]


def short_chats_file(count: int = 20_000) -> Path:
    """An Arrow file of `short_chats`, made once."""
    path = CACHE / f"examples-chats-{count}.arrow"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        _write(path, [{"messages": chat} for chat in short_chats(count)])
    return path
