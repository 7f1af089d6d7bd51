"""Conversations as chat templates want them, and the proof that their text came out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.tokenizers.chat_template import REASONING_FIELDS, Renderer

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

# A mark that no text has: from the end of the private use area.
_MARK = "\uf8f3"

# Enough of a line to know it by; looking for more only takes longer.
_KEY_LENGTH = 200


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


def read_conversation(
    value: Any, field: str, roles: Mapping[str, str] | None = FROM_VALUE_ROLES
) -> list[dict[str, Any]]:
    """The messages that a row holds, as role/content.

    A JSON string is decoded. The names of from/value messages become roles. Lists of text parts are
    joined; keys whose value is None are left out, as transformers does.

    Args:
        value: What the row has.
        field: Where it has it, for errors.
        roles: Roles by the names that from/value messages may have; None: from/value messages are
            no messages.

    Raises:
        ValueError: There is no message, or one of an unknown role, without one, or with a part
            that is no text.
        TypeError: `value` is no list of messages, or a text in it is something else.
    """
    given = None if roles is None else dict(roles)
    return _native.read_conversation(value, field, given, decoded)


def render_conversation(
    render: Renderer, messages: Sequence[Mapping[str, Any]], **options: Any
) -> str:
    """Renders a conversation, whose text must come out.

    Of the assistant's messages (of all, where none of the assistant's has text) one at least must
    be in the text: content, reasoning or tool calls. That is so where a line of the longest
    content is in the text and nowhere else it could come from; where that does not tell, the
    conversation is rendered again with marks in those messages, and the text must be another one.

    Raises:
        ValueError: The template refuses the messages, or leaves their text out.
    """
    text = render(messages, **options)
    said = [number for number, message in enumerate(messages) if _says_something(message)]
    spoken = [number for number in said if _is_assistant(messages[number])]
    looked_for = spoken or said
    if not looked_for or _is_plainly_in(text, messages, looked_for, render, options):
        return text
    marked = [
        _marked(message) if number in looked_for else message
        for number, message in enumerate(messages)
    ]
    try:
        lost = render(marked, **options) == text
    except ValueError:
        lost = False  # what refuses marked text has looked at it
    if lost:
        whose = "the assistant's messages" if spoken else "all messages"
        roles = ", ".join(sorted({str(message.get("role")) for message in messages}))
        raise ValueError(
            f"the chat template leaves out the text of {whose}: does it know their roles? "
            f"They are: {roles}"
        )
    return text


def _is_assistant(message: Mapping[str, Any]) -> bool:
    role = message.get("role")
    return role == "assistant" or FROM_VALUE_ROLES.get(str(role).lower()) == "assistant"


def _says_something(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    if isinstance(content, str) and content and not content.isspace():
        return True
    said = (message.get(name) for name in ("content", *REASONING_FIELDS, "tool_calls"))
    return any(text and not text.isspace() for value in said for text in _leaves(value))


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for item in value:
            yield from _leaves(item)


def _is_plainly_in(
    text: str,
    messages: Sequence[Mapping[str, Any]],
    looked_for: Sequence[int],
    render: Renderer,
    options: Mapping[str, Any],
) -> bool:
    """Whether a line of the longest content is in the text, and comes from nowhere else."""
    frame = getattr(render, "frame", None)
    if frame is None:
        return False
    longest = ""
    for number in looked_for:
        content = messages[number].get("content")
        if isinstance(content, str) and len(content) > len(longest):
            longest = content
    longest = longest.strip()
    ends = (longest[:_KEY_LENGTH].split("\n", 1)[0], longest[-_KEY_LENGTH:].rsplit("\n", 1)[-1])
    for end in ends:
        key = end.strip()
        if key and key in text and key not in frame:
            return not _is_elsewhere(key, messages, looked_for, options)
    return False


def _is_elsewhere(
    key: str,
    messages: Sequence[Mapping[str, Any]],
    looked_for: Sequence[int],
    options: Mapping[str, Any],
) -> bool:
    """Whether a text is in another message, or in what else the template was given."""
    for number, message in enumerate(messages):
        if number in looked_for:
            continue
        for value in message.values():
            if isinstance(value, str):
                if key in value:
                    return True
            elif any(key in text for text in _leaves(value)):
                return True
    return any(key in str(value) for value in options.values() if value)


def _marked(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message with a mark before and after each text that it says."""
    names = [name for name in ("content", *REASONING_FIELDS, "tool_calls") if name in message]
    return {**message, **{name: _with_marks(message[name]) for name in names}}


def _with_marks(value: Any) -> Any:
    if isinstance(value, str):
        return f"{_MARK}{value}{_MARK}" if value.strip() else value
    if isinstance(value, Mapping):
        # Templates compare the types of calls.
        return {key: item if key == "type" else _with_marks(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_with_marks(item) for item in value]
    return value
