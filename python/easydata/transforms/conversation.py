"""Conversations as chat templates want them, and the proof that their text came out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.tokenizers.chat_template import Renderer, TracedRenderer

DEFAULT_ROLE_MAPPING = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
}
"""Names that speakers have in chat data, and their roles in ChatML."""

FROM_VALUE_ROLES = {
    **DEFAULT_ROLE_MAPPING,
    "observation": "tool",
    "function_response": "tool",
    "tool_response": "tool",
    "function_call": "assistant",
    "tool_call": "assistant",
}
"""Roles of from/value messages by the names in the data."""


def decoded(value: Any) -> Any:
    """What a JSON string holds; other values, and text that is no JSON list or dict, stay."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def is_messages(value: Any) -> bool:
    """Whether `value` is a conversation: a list whose first item has a role."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes) or not value:
        return False
    first = value[0]
    return isinstance(first, Mapping) and ("role" in first or "from" in first)


def is_instruction(row: Mapping[str, Any]) -> bool:
    """Whether a row is an instruction with its answer, as Alpaca's are, which is a chat of two."""
    return any(
        isinstance(row.get(asked), str) and isinstance(row.get(answer), str)
        for asked, answer in _native.instruction_fields()
    )


class ConversationText:
    """Renders conversations, whose text must come out: what each message says, and the tools.

    A JSON string is decoded. The names of from/value messages become roles, and of others those
    that are names of speakers (human, gpt, User). Lists of text parts are joined; keys whose value
    is None are left out, as transformers does.
    """

    def __init__(
        self,
        render: Renderer,
        roles: Mapping[str, str] | None = FROM_VALUE_ROLES,
        options: Mapping[str, Any] | None = None,
        *,
        drops_reasoning: bool = False,
    ) -> None:
        """Renders with `render`.

        Args:
            render: the template.
            roles: roles by the names that messages may have; None: messages have roles already.
            options: what else the template reads.
            drops_reasoning: whether reasoning may be left out.
        """
        self._given = (render, roles, dict(options or {}), drops_reasoning)
        self._made: _native.ConversationRenderer | None = None

    def _identity(self) -> tuple[Any, ...]:
        """What tells it from others, in other processes too."""
        return self._given

    def of(self, row: Mapping[str, Any], field: str, tools: Any = None) -> str:
        """The text of a row's conversation, with the system message that it has beside it.

        Args:
            row: what has it, and may have `system` and `chat_template_kwargs`.
            field: where it has it; empty: the row is an instruction with its answer.
            tools: the tools that the template describes to the model; None: those of the row.

        Raises:
            ValueError: there is no message, or one of an unknown role, without one, or with a part
                that is no text; or the template refuses the messages, or leaves something out of
                them.
            TypeError: what the row has is no list of messages, or a text in it is something else.
        """
        if self._made is None:
            render, roles, options, drops_reasoning = self._given
            self._made = _native.ConversationRenderer(
                TracedRenderer(render, options, may_be_untraced=True),
                roles=None if roles is None else dict(roles),
                names=FROM_VALUE_ROLES,
                own_roles=render.own_roles,
                drops_reasoning=drops_reasoning,
            )
        tools = decoded(row.get("tools")) if tools is None else tools
        return self._made.render(row, field, tools or None, decoded)

    def __getstate__(self) -> Any:
        return self._given

    def __setstate__(self, given: Any) -> None:
        self._given = given
        self._made = None
