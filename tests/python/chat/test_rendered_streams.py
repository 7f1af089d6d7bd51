"""Conversations of a stream are rendered natively as they are by Python, row by row."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chats
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
from data_folders import OWN
from easydata.tokenizers.template_engine import TemplateEngine
from easydata.transforms.messages import _RenderMessages
from templates import all_templates

from easydata import (
    JsonShardedSource,
    ParquetShardedSource,
    TokenizedShardedSource,
    TokenizerConfig,
)

CHATML = (
    "{% if tools %}{{ tools | tojson }}\n{% endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if m.tool_calls %}"
    "{{ m.tool_calls | tojson }}{% endif %}\n{% endfor %}"
)
ODD = [
    {"messages": None},
    {},
    {"messages": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]},
    {"messages": json.dumps([{"role": "user", "content": "a string"}])},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "parts "}, "joined"]}]},
    {"messages": [{"role": "user", "content": "t"}], "tools": [{"name": "f"}]},
    {"messages": [{"role": "user", "content": "t"}], "tools": "[]"},
]
BAD = [
    {"messages": []},
    {"messages": [{"content": "nobody"}]},
    {"messages": [{"from": "martian", "value": "x"}]},
    {"messages": [{"role": "user", "content": [{"type": "image", "url": "x"}]}]},
    {"messages": 5},
]

Texts = Callable[[Any], list[Any]]


def _in_python(template: str) -> str:
    """A template of the same texts that the native engine does not have."""
    # The end of a line behind a tag is no text.
    template = "{% if false %}{% filter upper %}{% endfilter %}{% endif %}\n" + template
    assert TemplateEngine(template).engine == "jinja2"
    return template


def _tokenizer(folder: Path, template: str) -> str:
    """One of our own tokenizers, with this chat template."""
    shutil.copytree(OWN / "tokenizers" / "byte-level", folder)
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    return str(folder)


def _rows(source: Any, folder: str, on_error: Any = "raise") -> list[Any]:
    """The ids of each row, and its number."""
    tokenized = TokenizedShardedSource(
        source,
        folder,
        TokenizerConfig(name_or_path=folder, max_length=100_000),
        content_field="messages",
        additional_fields=["n"],
        on_error=on_error,
    )
    return [(list(row["input_ids"]), row["n"]) for row in tokenized]


def _jsonl(path: Path, rows: list[dict[str, Any]]) -> JsonShardedSource:
    path.write_text("".join(json.dumps({**row, "n": n}) + "\n" for n, row in enumerate(rows)))
    return JsonShardedSource([str(path)])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("source", all_templates())
def test_templates_over_chats(source: str, tmp_path: Path) -> None:
    """All chats of one template, those that it refuses left out."""
    folder = _tokenizer(tmp_path / "tokenizer", source)
    same = _tokenizer(tmp_path / "same", _in_python(source))
    rows = [
        {"messages": variables["messages"], "tools": variables.get("tools")}
        for _, variables in chats.cases()
    ]
    data = _jsonl(tmp_path / "a.jsonl", [*rows, *ODD[2:]])
    assert _rows(data, folder, "skip") == _rows(data, same, "skip")


def test_python_is_asked_for_odd_rows_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _tokenizer(tmp_path / "tokenizer", CHATML)
    data = _jsonl(tmp_path / "a.jsonl", [*ODD[2:], BAD[1], ODD[2]])
    asked: list[int] = []
    call = _RenderMessages.__call__

    def counted(self: _RenderMessages, row: Any) -> Any:
        asked.append(row.get("n", -1))
        return call(self, row)

    monkeypatch.setattr(_RenderMessages, "__call__", counted)
    assert [n for _, n in _rows(data, folder, "skip")] == [0, 1, 2, 3, 4, 6]
    assert asked == [5]


@pytest.mark.parametrize("way", [str, _in_python], ids=["native", "python"])
def test_odd_and_bad_rows(way: Callable[[str], str], tmp_path: Path) -> None:
    folder = _tokenizer(tmp_path / "tokenizer", way(CHATML))
    rows = [ODD[2], *BAD, *ODD]
    data = _jsonl(tmp_path / "a.jsonl", rows)
    kept = [n for _, n in _rows(data, folder, "skip")]
    assert kept == [0, 8, 9, 10, 11, 12]
    with pytest.raises(ValueError, match="empty conversation") as caught:
        _rows(data, folder)
    assert any("a.jsonl row 1" in note for note in getattr(caught.value, "__notes__", ()))


def test_columns_of_structs(tmp_path: Path) -> None:
    folder = _tokenizer(tmp_path / "tokenizer", CHATML)
    message = pa.struct(
        [
            ("role", pa.string()),
            ("content", pa.string()),
            ("tool_calls", pa.list_(pa.struct([("name", pa.string()), ("size", pa.int32())]))),
        ]
    )
    rows = [
        [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b", "tool_calls": [{"name": "f"}]},
        ],
        None,
        [{"role": "user", "content": "c", "tool_calls": None}],
    ]
    table = pa.table({"messages": pa.array(rows, pa.list_(message)), "n": [0, 1, 2]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    source = ParquetShardedSource([str(tmp_path / "a.parquet")])
    made = _rows(source, folder, "skip")
    assert [n for _, n in made] == [0, 2]
    plain = [
        {"messages": [{k: v for k, v in m.items() if v is not None} for m in row]}
        for row in rows
        if row is not None
    ]
    # Null members of structs are no keys: the same as JSON that does not have them.
    assert [ids for ids, _ in made] == [
        ids for ids, _ in _rows(_jsonl(tmp_path / "a.jsonl", plain), folder)
    ]
