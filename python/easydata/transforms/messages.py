"""What is done to rows before they are tokenized: fields moved, messages rendered, text wanted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.tokenizers.chat_template import ChatTemplate, Renderer
from easydata.transforms.base import Columns, Example, Transform, _Step, column_op, run_steps
from easydata.transforms.conversation import (
    FROM_VALUE_ROLES,
    decoded,
    read_conversation,
    render_conversation,
)


class _MoveFields(Transform):
    """Moves fields onto other names; what was there before goes."""

    def __init__(self, mapping: Mapping[str, str]) -> None:
        self._mapping = dict(mapping)

    @property
    def keeps_rows(self) -> bool:
        return True

    def __call__(self, example: Example) -> Example:
        row = dict(example)
        for old, new in self._mapping.items():
            if old in row:
                row[new] = row.pop(old)
        return row

    def _needs(self, wanted: Columns | None) -> Columns | None:
        if wanted is None:
            return None
        needs: dict[str, Any] = {}
        for name, kind in wanted.items():
            olds = [old for old, new in self._mapping.items() if new == name]
            if name not in self._mapping:
                olds.append(name)
            for old in olds:
                needs[old] = kind if len(olds) == 1 else "any"
        return needs

    def _column_op(self, names: Sequence[str], typed: bool) -> _native.ColumnOp | None:
        moved = set(self._mapping)
        if moved & set(self._mapping.values()) or len(set(self._mapping.values())) < len(moved):
            return None  # moved more than once: row by row
        return column_op("rename", fields=list(self._mapping.items()), renamed_wins=True)

    def _names_after(self, names: Sequence[str]) -> list[str]:
        return list(self(dict.fromkeys(names)))

    def __repr__(self) -> str:
        return f"format_fields({self._mapping!r})"


class MissingText(ValueError):
    """Refuses a row without a text."""

    reason = "missing"


class _RenderMessages(Transform):
    """Puts the text of a row's messages into the content field.

    Where it `refuses`, it returns the exception that says why a row cannot be rendered.
    """

    def __init__(
        self, render: Renderer, messages_field: str, content_field: str, refuses: bool
    ) -> None:
        self._render = render
        self._messages = messages_field
        self._content = content_field
        self._refuses = refuses

    @property
    def keeps_rows(self) -> bool:
        return True

    @property
    def refuses(self) -> bool:
        return self._refuses

    def __call__(self, example: Example) -> Any:
        if example.get(self._messages) is None:
            return {**example, self._content: None}
        try:
            return {**example, self._content: self._text_of(example)}
        except Exception as error:
            if not self._refuses:
                raise
            return error

    def _text_of(self, example: Example) -> str:
        value = decoded(example[self._messages])
        if isinstance(value, str):
            raise TypeError(
                f"field {self._messages!r} holds text that is no JSON of messages, but the first "
                "row of the source holds messages there"
            )
        messages = read_conversation(value, self._messages)
        tools = decoded(example.get("tools"))
        return render_conversation(self._render, messages, tools=tools or None)

    def _needs(self, wanted: Columns | None) -> Columns | None:
        if wanted is None:
            return None
        needs: dict[str, Any] = {n: kind for n, kind in wanted.items() if n != self._content}
        return {**needs, self._messages: "any", "tools": "any"}

    def _natively(self, stream: _native.Stream, output: Columns | None) -> _native.Stream | None:
        if output is None or not isinstance(self._render, ChatTemplate):
            return None
        plain = self._render.native()
        with_tools = self._render.native(with_tools=True)
        if plain is None or with_tools is None:
            return None
        return _native.render_messages(
            stream,
            plain,
            with_tools,
            messages=self._messages,
            text=self._content,
            output=list(output),
            roles=FROM_VALUE_ROLES,
            variables=json.dumps(self._render.variables),
            fallback=self,
            name=type(self).__name__,
            what=repr(self),
            refuses=self._refuses,
            has_identity=self._has_identity(),
        )

    def __repr__(self) -> str:
        return f"chat_template({self._messages!r})"


class _WholeRow(Transform):
    """Several steps that see whole rows, of which one without a text is refused."""

    def __init__(self, steps: Sequence[_Step], content_field: str) -> None:
        self._all = list(steps)
        self._content = content_field

    @property
    def refuses(self) -> bool:
        return True

    def __call__(self, example: Example) -> Any:
        for made in run_steps(self._all, example):
            if isinstance(made, Exception):
                return made
            text = made.get(self._content)
            if text is None:
                return MissingText(f"the row has no text in field {self._content!r}")
            if not isinstance(text, str):
                return TypeError(
                    f"field {self._content!r} holds {type(text).__name__}, expected text"
                )
            return made
        return None

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self._all))
