"""Transforms of conversations: to ChatML, and to text by a chat template."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from easydata import _native
from easydata.tokenizers.chat_template import Renderer, renderer_of
from easydata.tokenizers.template_date import dated, open_date
from easydata.transforms.base import Example, OneToOneTransform, _Claiming
from easydata.transforms.conversation import (
    DEFAULT_ROLE_MAPPING,
    FROM_VALUE_ROLES,
    ConversationText,
    decoded,
    is_messages,
)

MESSAGE_FIELDS = tuple(_native.message_fields())
"""Where a conversation is looked for when no field is named."""

_CONVERSATIONAL_FIELDS = (
    "prompt",
    "chosen",
    "rejected",
    "completion",
    "messages",
    "conversations",
)


def is_conversational(example: Mapping[str, Any]) -> bool:
    """Whether one of the fields that hold conversations (prompt, chosen, rejected, ...) does."""
    return any(is_messages(example.get(field)) for field in _CONVERSATIONAL_FIELDS)


def find_messages_field(example: Mapping[str, Any], preferred: str = "messages") -> str | None:
    """The field that holds the conversation: `preferred`, else one of MESSAGE_FIELDS."""
    return next((field for field in (preferred, *MESSAGE_FIELDS[1:]) if field in example), None)


def convert_to_chatml(messages: Any) -> Any:
    """Turns from/value messages into role/content, roles as they are; others stay."""
    first = messages[0] if isinstance(messages, Sequence) and messages else None
    if not (isinstance(first, Mapping) and "from" in first and "value" in first):
        return messages
    return [
        {"role": message["from"], "content": message["value"]}
        if isinstance(message, Mapping) and "from" in message and "value" in message
        else message
        for message in messages
    ]


class ChatTemplateTransform(_Claiming, OneToOneTransform):
    """Renders a row's conversation to text by the tokenizer's chat template.

    The conversation is looked for in `messages_field`, then in `conversations` and `conversation`;
    a row without one, or with None there, stays as it is. A JSON string is decoded, names of
    speakers become roles, lists of text parts are joined. What the template leaves out of what a
    message says (content, reasoning, calls), or of the tools, is an error, as is an empty
    conversation, an answer that says nothing, and what the template refuses.
    """

    def __init__(
        self,
        tokenizer: Any,
        messages_field: str = "messages",
        output_field: str = "text",
        tools: Sequence[Any] | None = None,
        convert_from_value_format: bool = True,
        drop_messages: bool = True,
        *,
        role_mapping: Mapping[str, str] | None = DEFAULT_ROLE_MAPPING,
        reasoning: Literal["error", "drop"] = "error",
        template_date: str | None = None,
        **template_kwargs: Any,
    ) -> None:
        """Renders with the template of `tokenizer`.

        Args:
            tokenizer: a folder, an `easydata.Tokenizer`, or an object with `apply_chat_template`.
            messages_field: where the conversation is.
            output_field: where the text goes.
            tools: functions (JSON schemas) that the template describes to the model; None: those in
                the row's field `tools`, if it has one.
            convert_from_value_format: whether from/value messages are read as role/content.
            drop_messages: whether the conversation's field goes.
            role_mapping: roles by the names in messages, before the usual ones (human, gpt, ...).
                None: exactly what EasyDeL does: names stay as they are, and what the template
                leaves out is not looked at.
            reasoning: what becomes of reasoning that the template leaves out, but for that of
                earlier turns: an error, or nothing, where it is meant.
            template_date: the date that a template prints (`strftime_now`), such as
                "2026-11-27"; None: the day of the first build, which saved states keep.
            template_kwargs: what else the template reads, such as `add_generation_prompt=True`.
        """
        if tokenizer is None:
            raise TypeError(
                "ChatTemplateTransform needs a tokenizer: its folder, an easydata.Tokenizer, or "
                "an object with apply_chat_template"
            )
        if reasoning not in ("error", "drop"):
            raise ValueError(f'reasoning must be "error" or "drop", got {reasoning!r}')
        if "on_error" in template_kwargs:
            raise TypeError(
                "ChatTemplateTransform takes no on_error: alone it raises what a row is wrong "
                "with; on_error of a DatasetConfig acts on conversations that are rendered when "
                "they are tokenized"
            )
        self._messages_field = messages_field
        self._output_field = output_field
        self._tools = tools
        self._convert = convert_from_value_format
        self._drop = drop_messages
        self._options = template_kwargs
        self._role_mapping = role_mapping
        self._drops_reasoning = reasoning == "drop"
        self._use(dated(renderer_of(tokenizer), template_date))

    def _use(self, render: Renderer) -> None:
        self._render = render
        self._texts = None
        if self._role_mapping is not None:
            roles = {**FROM_VALUE_ROLES, **self._role_mapping} if self._convert else None
            self._texts = ConversationText(
                render, roles, self._options, drops_reasoning=self._drops_reasoning
            )

    def _fields_one_of(self) -> Sequence[str]:
        return (self._messages_field, *MESSAGE_FIELDS[1:]) if self._claims else ()

    def __call__(self, example: Example) -> Example:
        """Returns the row with the rendered text."""
        field = find_messages_field(example, self._messages_field)
        if field is None or example[field] is None:
            return example
        row = dict(example)
        if self._drop:
            del row[field]
        row[self._output_field] = self._text_of(example, field)
        return row

    def render(self, messages: Any) -> str:
        """Renders one conversation."""
        return self._text_of({self._messages_field: messages}, self._messages_field)

    def _text_of(self, example: Example, field: str) -> str:
        if self._texts is None:
            messages = decoded(example[field])
            if self._convert:
                messages = convert_to_chatml(messages)
            return self._render(messages, tools=self._tools, **self._options)
        return self._texts.of(example, field, self._tools)

    def __repr__(self) -> str:
        date = f", date={self._render.date!r}" if self._render.uses_clock else ""
        return f"ChatTemplateTransform({self._messages_field!r}, {self._output_field!r}{date})"

    def _template_date(self) -> str | None:
        return open_date(self._render)

    def _with_template_date(self, date: str) -> ChatTemplateTransform:
        if open_date(self._render) is None:
            return self
        made = copy.copy(self)
        made._use(self._render.dated(date))
        return made


class MaybeApplyChatTemplate(OneToOneTransform):
    """Renders rows that hold a conversation, and leaves the others as they are."""

    def __init__(self, tokenizer: Any, **kwargs: Any) -> None:
        """Takes what `ChatTemplateTransform` takes."""
        self._chat = ChatTemplateTransform(tokenizer, **kwargs)

    def __call__(self, example: Example) -> Example:
        """Returns the row, rendered where it is conversational."""
        whole = {field: decoded(example.get(field)) for field in _CONVERSATIONAL_FIELDS}
        return self._chat(example) if is_conversational(whole) else example

    def __repr__(self) -> str:
        return f"MaybeApplyChatTemplate({self._chat!r})"

    def _template_date(self) -> str | None:
        return self._chat._template_date()

    def _with_template_date(self, date: str) -> MaybeApplyChatTemplate:
        made = copy.copy(self)
        made._chat = self._chat._with_template_date(date)
        return made


class _ToChatML(OneToOneTransform):
    """Turns what a field holds into role/content messages, which another field has in its place."""

    _input: str
    _output: str

    def _messages(self, given: Any) -> list[dict[str, Any]]:
        raise NotImplementedError

    def __call__(self, example: Example) -> Example:
        """Returns the row with converted messages."""
        if self._input not in example:
            return example
        row = {name: value for name, value in example.items() if name != self._input}
        row[self._output] = self._messages(decoded(example[self._input]) or ())
        return row

    def _plan_step(self) -> _native.Step:
        # The output is kept where the row has no input.
        return self._callable_step(reads=[self._input], changes=[self._output])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._input!r}, {self._output!r})"


class ConvertToChatML(_ToChatML):
    """Turns a list of messages in any of the usual forms into role/content messages.

    `from` is read before `role`, `value` before `content`; a missing role is "user", missing
    content is empty. Other keys of a message go.
    """

    def __init__(
        self,
        input_field: str = "conversations",
        output_field: str = "messages",
        role_mapping: Mapping[str, str] | None = None,
        use_default_mapping: bool = True,
    ) -> None:
        """Converts `input_field` into `output_field`.

        Args:
            input_field: where the messages are; a row without it stays as it is.
            output_field: where the converted messages go; another input field goes.
            role_mapping: roles by the name used in the data, before those of DEFAULT_ROLE_MAPPING.
            use_default_mapping: whether DEFAULT_ROLE_MAPPING is used at all.
        """
        self._input = input_field
        self._output = output_field
        self._roles = dict(DEFAULT_ROLE_MAPPING) if use_default_mapping else {}
        self._roles.update(role_mapping or {})

    def _messages(self, given: Any) -> list[dict[str, Any]]:
        messages = []
        for message in given:
            role = message.get("from", message.get("role", "user"))
            content = message.get("value", message.get("content", ""))
            messages.append({"role": self._roles.get(role, role), "content": content})
        return messages


class ConvertInputOutputToChatML(_ToChatML):
    """Turns a list of input/output turns into role/content messages."""

    def __init__(
        self,
        input_field: str = "conversation",
        output_field: str = "messages",
        user_role: str = "user",
        assistant_role: str = "assistant",
    ) -> None:
        """Converts `input_field` into `output_field`, with these two roles."""
        self._input = input_field
        self._output = output_field
        self._user = user_role
        self._assistant = assistant_role

    def _messages(self, given: Any) -> list[dict[str, Any]]:
        messages = []
        for turn in given:
            if "input" in turn:
                messages.append({"role": self._user, "content": turn["input"]})
            if "output" in turn:
                messages.append({"role": self._assistant, "content": turn["output"]})
        return messages
