"""What is done to rows before they are tokenized: fields moved, messages rendered, text wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.tokenizers.chat_template import Renderer
from easydata.transforms.base import (
    ColumnTransform,
    Example,
    OneToOneTransform,
    Transform,
    _Step,
    run_steps,
)
from easydata.transforms.conversation import (
    FROM_VALUE_ROLES,
    ConversationText,
    decoded,
    is_instruction,
)


class _MoveFields(ColumnTransform):
    """Moves fields onto other names; what was there before goes."""

    def __init__(self, mapping: Mapping[str, str]) -> None:
        super().__init__("rename", fields=list(mapping.items()), renamed_wins=True)
        self._mapping = dict(mapping)
        new = set(mapping.values())
        self._moves_once = not new & set(mapping) and len(new) == len(mapping)

    def __call__(self, example: Example) -> Example | None:
        if self._moves_once:
            return super().__call__(example)
        row = dict(example)
        for old, new in self._mapping.items():
            if old in row:
                row[new] = row.pop(old)
        return row

    def _plan_step(self) -> _native.Step:
        if self._moves_once:
            return super()._plan_step()
        return self._callable_step(renames=list(self._mapping.items()))

    def __repr__(self) -> str:
        return f"format_fields({self._mapping!r})"


class MissingText(ValueError):
    """Refuses a row without a text."""

    reason = "missing"


class _RenderMessages(OneToOneTransform):
    """Puts the text of a row's messages into the content field.

    Where it `refuses`, it returns the exception that says why a row cannot be rendered.
    """

    def __init__(
        self,
        render: Renderer,
        messages_field: str,
        content_field: str,
        refuses: bool,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._render = render
        self._options = dict(options or {})
        self._texts = ConversationText(render, options=self._options)
        self._messages = messages_field
        self._content = content_field
        self._refuses = refuses

    @property
    def refuses(self) -> bool:
        return self._refuses

    def __call__(self, example: Example) -> Any:
        if not self._has_conversation(example):
            return {**example, self._content: None}
        try:
            return {**example, self._content: self._text_of(example)}
        except Exception as error:
            if not self._refuses:
                raise
            return error

    def _has_conversation(self, example: Example) -> bool:
        if self._messages:
            return example.get(self._messages) is not None
        return is_instruction(example)

    def _text_of(self, example: Example) -> str:
        if self._messages and isinstance(decoded(example[self._messages]), str):
            raise TypeError(
                f"field {self._messages!r} holds text that is no JSON of messages, but the first "
                "row of the source holds messages there"
            )
        return self._texts.of(example, self._messages)

    def _plan_step(self) -> _native.Step:
        return _native.render_step(
            self._callable_step(),
            **self._render.for_engine(self._options),
            messages=self._messages,
            output=self._content,
            roles=FROM_VALUE_ROLES,
            own_roles=self._render.own_roles,
        )

    def __repr__(self) -> str:
        date = f", date={self._render.date!r}" if self._render.uses_clock else ""
        options = f", {self._options!r}" if self._options else ""
        return f"chat_template({self._messages!r}{date}{options})"


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
