"""Chat templates: conversations to text, by a template and the special tokens that it names."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from easydata import _native
from easydata.tokenizers.files import read_object, templates_in, token_text, tokens_by_role
from easydata.tokenizers.hub_files import NamedTokenizer, hub_files, path_of
from easydata.tokenizers.template_engine import TemplateEngine, engine_of

Messages = Sequence[Mapping[str, Any]]

_Made = TypeVar("_Made")

_ROLES = [f"{name}_token" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")]

# Options of transformers that act on tokens: what is said where one is set.
_TOKEN_OPTIONS = {
    name: f"{name} cannot act here: what a chat template makes is a text, which has no tokens; "
    + advice
    for name, advice in {
        "return_assistant_tokens_mask": "trace() tells which message each stretch of it is of",
        **dict.fromkeys(
            ("tokenize", "return_dict", "return_tensors", "tokenizer_kwargs"),
            "give it to a tokenizer, with add_special_tokens=False",
        ),
        **dict.fromkeys(
            ("padding", "truncation", "max_length"),
            "tokens are cut and padded where they are made (TokenizerConfig)",
        ),
    }.items()
}


@dataclass(frozen=True)
class Renderer:
    """Makes one text of a conversation, by a template and the special tokens that it may name.

    Attributes:
        sources: template texts by name; the one called "default" is used, with tools the one called
            "tool_use". Without any it is not known what the template is.
        special_tokens: texts by name (`bos_token`, ...); those that a tokenizer lacks are
            undefined.
        date: what clocks in the templates tell (see `TemplateEngine.at`); None: the time it is.
        date_is_given: whether a person chose it.
    """

    sources: Mapping[str, str]
    special_tokens: Mapping[str, Any]
    date: str | None = field(default=None, kw_only=True)
    date_is_given: bool = field(default=False, kw_only=True)

    def __call__(self, messages: Messages, **options: Any) -> str:
        """Renders `messages`; `options` are what the template may read (tools, ...)."""
        raise NotImplementedError

    def dated(self, date: str, *, is_given: bool = False) -> Self:
        """The same with a clock that stands still (see `TemplateEngine.at`)."""
        return dataclasses.replace(self, date=date, date_is_given=is_given)

    @property
    def uses_clock(self) -> bool:
        """Whether a text may depend on when it is made."""
        return any("strftime_now" in source for source in self.sources.values())

    @property
    def has_generation(self) -> bool:
        """Whether the template has generation blocks."""
        return any("endgeneration" in source for source in self.sources.values())

    @property
    def frame(self) -> str:
        """All that the template may print of itself: its own text, and the special tokens."""
        return "\n".join([*self.sources.values(), *map(str, self.special_tokens.values())])

    @property
    def own_roles(self) -> list[str]:
        """Names that may be roles for the template, since it has them as texts of its own."""
        return list(_roles_named_in("\n".join(self.sources.values())))

    def for_engine(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """What the native engine renders with, if it can: the templates, and what they may read.

        `options` are read beside what is theirs.
        """
        return {"plain": None, "with_tools": None, "variables": "{}"}


class ChatTemplate(Renderer):
    """A template that we render."""

    @classmethod
    def of_folder(cls, path: Path) -> ChatTemplate:
        """Reads the template beside a tokenizer.json; raises ValueError where there is none."""
        folder = path if path.is_dir() else path.parent
        config = read_object(folder / "special_tokens_map.json")
        config.update(read_object(folder / "tokenizer_config.json"))
        tokens: dict[str, Any] = tokens_by_role(config.get, _ROLES)
        if extra := config.get("additional_special_tokens"):
            texts = map(token_text, extra)
            tokens["additional_special_tokens"] = [text for text in texts if text is not None]
        return cls(templates_in(folder, config), tokens)

    def _identity(self) -> list[Any]:
        """What tells it from others, in other processes too."""
        clock = [self.date] if self.uses_clock else []
        return [dict(self.sources), dict(self.special_tokens), *clock]

    def __call__(self, messages: Messages, **options: Any) -> str:
        """Renders a conversation; `options` are those of `_request`.

        As in transformers, keys of a message whose value is None are left out, and what a model
        thought is under all of its usual names (`reasoning_content`, `thinking`, `reasoning`).

        Returns:
            The text, special tokens included.

        Raises:
            ValueError: there is no template, no message, or it refuses these messages.
            TypeError: an option asks for something of tokens, which a text has none of.
        """
        engine, variables, final = self._request(messages, **options)
        text = _run(engine.render, variables)
        return text if final is None else _cut_at_tag(text, final)

    def trace(
        self, messages: Messages, *, fields: bool = False, **options: Any
    ) -> tuple[str, list[tuple[str, int | None, int, int]]]:
        """Renders a conversation, and says what the stretches of the text come from.

        Args:
            messages: as those of a call.
            fields: whether marks of texts name the fields that they are of.
            options: as those of a call.

        Returns:
            The text that a call returns, and its marks: see `TemplateEngine.trace`.

        Raises:
            ValueError: as of a call; or it cannot be told what the stretches come from.
            TypeError: as of a call.
        """
        engine, variables, final = self._request(messages, **options)
        text, marks = _run(functools.partial(engine.trace, fields=fields), variables)
        if final is None:
            return text, marks
        text = _cut_at_tag(text, final)
        size = len(text.encode(errors="surrogatepass"))
        return text, [(*mark[:3], min(mark[3], size)) for mark in marks if mark[2] < size]

    @property
    def has_generation(self) -> bool:
        """Whether the template for conversations without tools has generation blocks."""
        return self.engine_for().has_generation

    def for_engine(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """As Renderer has it; None for a template that does not run natively, or is not there."""
        return {
            "plain": self._program(),
            "with_tools": self._program(with_tools=True),
            "variables": json.dumps({**self._variables, **options}),
        }

    @property
    def _variables(self) -> dict[str, Any]:
        """What the template may read of a conversation that says nothing else."""
        return {"documents": None, "add_generation_prompt": False, **self.special_tokens}

    def _program(self, *, with_tools: bool = False) -> _native.JinjaTemplate | None:
        try:
            return self.engine_for(with_tools=with_tools).native
        except ValueError:
            return None

    def engine_for(
        self, chat_template: str | None = None, *, with_tools: bool = False
    ) -> TemplateEngine:
        """What runs the template that is used: its `engine`, and why it is not the native one.

        Raises:
            ValueError: there is no template, or Jinja2 does not take it for one.
        """
        source = self._choose(chat_template, with_tools)
        try:
            return engine_of(source, self.date)
        except Exception as error:
            line = f" in line {error.lineno}" if hasattr(error, "lineno") else ""
            raise ValueError(
                f"the chat template is none that Jinja2 takes{line}: {error}"
            ) from error

    def _request(
        self,
        messages: Messages,
        *,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        chat_template: str | None = None,
        continue_final_message: bool | str = False,
        **options: Any,
    ) -> tuple[TemplateEngine, dict[str, Any], str | None]:
        """What renders a conversation, what it reads, and the text that is to be the last one.

        Args:
            messages: dicts with `role`, `content` and what else the template reads.
            tools: JSON schemas of functions, or functions with type hints and a docstring.
            documents: texts for retrieval templates.
            add_generation_prompt: whether to open an assistant's turn at the end.
            chat_template: a template to use instead, or the name of one of `sources`.
            continue_final_message: whether the text ends with the last message's content, without
                what the template writes after it; or the name of the field that it ends with.
            options: other names that the template reads.
        """
        for name in _TOKEN_OPTIONS:
            if options.pop(name, None):
                raise TypeError(_TOKEN_OPTIONS[name])
        engine = self.engine_for(chat_template, with_tools=tools is not None)
        chat = _native.template_messages(list(messages))
        if not chat:
            raise ValueError("the conversation is empty: there is no message to render")
        final = _tag_final_message(chat, continue_final_message, engine.source)
        variables = {
            **self._variables,
            "messages": chat,
            "tools": None if tools is None else [_schema(tool) for tool in tools],
            "documents": documents,
            "add_generation_prompt": add_generation_prompt,
            **options,
        }
        return engine, variables, final

    def _choose(self, wanted: str | None, with_tools: bool) -> str:
        if wanted is not None:
            return self.sources.get(wanted, wanted)
        if with_tools and "tool_use" in self.sources:
            return self.sources["tool_use"]
        if "default" in self.sources:
            return self.sources["default"]
        known = f"; it has: {', '.join(self.sources)}" if self.sources else ""
        raise ValueError(
            f"the tokenizer has no chat template; give one as chat_template=...{known}"
        )


@dataclass
class TracedRenderer:
    """Renders for the engine: a text, and what its stretches come from.

    Attributes:
        render: the template.
        options: what else it reads of each conversation.
        may_be_untraced: whether a text without marks will do where nobody can trace it.
    """

    render: Renderer
    options: Mapping[str, Any]
    may_be_untraced: bool

    def __call__(
        self,
        messages: Messages,
        tools: Sequence[Any] | None,
        options: Mapping[str, Any] | None,
        add_generation_prompt: bool,
        trace: bool,
    ) -> tuple[str, list[tuple[str, int | None, int, int]], bool]:
        """The text, its marks, and whether they say whose texts were printed."""
        given = {**self.options, **(options or {}), "tools": tools}
        if add_generation_prompt:
            given["add_generation_prompt"] = True
        if not trace:
            return self.render(messages, **given), [], False
        # lazy: it imports Jinja2, which takes its time.
        from easydata.tokenizers import template_trace

        try:
            if isinstance(self.render, ChatTemplate):
                text, marks = self.render.trace(messages, fields=True, **given)
            else:
                text = self.render(messages, **given)
                marks = template_trace.marks_of_texts(
                    lambda marked: self.render(marked, **given), messages, text, fields=True
                )
        except template_trace.UntraceableError:
            if not self.may_be_untraced:
                raise
            return self.render(messages, **given), [], False
        known = [mark for mark in marks if mark[0] != template_trace.TEXTS_UNKNOWN]
        return text, known, len(known) == len(marks)


_NAMES = re.compile(r"""(['"])([A-Za-z][\w-]*)\1""")
# A type of tools as well, which says nothing of roles.
_FUNCTION_AS_ROLE = re.compile(r"""\brole\b[^{}%\n]*(['"])function\1""")


@functools.lru_cache(maxsize=64)
def _roles_named_in(template: str) -> tuple[str, ...]:
    found = {found[2] for found in _NAMES.finditer(template)}
    if _FUNCTION_AS_ROLE.search(template) is None:
        found.discard("function")
    return tuple(sorted(found))


def read_template(chat_template: str | os.PathLike[str]) -> str:
    """The text of a template that is given as text, or as the path of a file.

    Raises:
        FileNotFoundError: It looks like a path, and there is no such file.
    """
    text = os.fspath(chat_template)
    if isinstance(chat_template, str) and any(mark in text for mark in ("{{", "{%", "\n")):
        return text
    path = Path(text)
    if path.is_file():
        return path.read_text(encoding="utf-8")
    raise FileNotFoundError(
        f"chat_template: there is no file {text!r}, and it is no template, which has {{{{ }}}} or "
        "{% %}"
    )


def renderer_of(tokenizer: Any, chat_template: str | os.PathLike[str] | None = None) -> Renderer:
    """The renderer of a tokenizer's own template, or of one that is given.

    Args:
        tokenizer: a folder, a tokenizer.json path, a name on the Hub, an `easydata.Tokenizer`, or
            an object with `apply_chat_template` (transformers).
        chat_template: a template in place of the tokenizer's: its text, or the path of its file.
    """
    if chat_template is not None:
        return ChatTemplate({"default": read_template(chat_template)}, _special_tokens(tokenizer))
    if isinstance(tokenizer, str | Path):
        path = path_of(tokenizer)
        if path is None:
            path = hub_files(NamedTokenizer(str(tokenizer))).folder
        return ChatTemplate.of_folder(path)
    own = getattr(tokenizer, "_chat_renderer", None)
    if own is not None:
        renderer: Renderer = own()
        return renderer
    if hasattr(tokenizer, "apply_chat_template"):
        source = getattr(tokenizer, "chat_template", None)
        sources = {"default": source} if isinstance(source, str) else {}
        tokens = getattr(tokenizer, "special_tokens_map", {}) if sources else {}
        return _Applied(sources, tokens, apply=tokenizer.apply_chat_template)
    return ChatTemplate(
        getattr(tokenizer, "chat_templates", {}), getattr(tokenizer, "special_tokens", {})
    )


def _special_tokens(tokenizer: Any) -> dict[str, Any]:
    """The special tokens of what renderer_of() takes, by role."""
    for name in ("special_tokens_map", "special_tokens"):
        named = getattr(tokenizer, name, None)
        if isinstance(named, Mapping):
            return dict(named)
    return dict(renderer_of(tokenizer).special_tokens)


@dataclass(frozen=True)
class _Applied(Renderer):
    """The renderer of an object with `apply_chat_template`."""

    apply: Callable[..., Any] = field(kw_only=True)

    def __call__(self, messages: Messages, **options: Any) -> str:
        """Renders `messages`."""
        import jinja2

        try:
            if self.date is not None:  # transformers hands names on to the template
                now = datetime.datetime.fromisoformat(self.date)
                options.setdefault("strftime_now", now.strftime)
            return str(self.apply(messages, tokenize=False, **options))
        except jinja2.TemplateError as error:
            raise ValueError(f"the chat template refuses these messages: {error}") from error
        except Exception as error:
            raise ValueError(
                f"the chat template fails on these messages: {type(error).__name__}: {error}"
            ) from error


def _schema(tool: Any) -> Any:
    if isinstance(tool, Mapping):
        return tool
    if not callable(tool):
        raise TypeError(f"a tool is a JSON schema or a function, got {type(tool).__name__}")
    try:
        from transformers.utils import get_json_schema
    except ImportError as error:
        raise ImportError(
            "functions as tools need transformers: pip install 'easydata[hf]'; or give JSON schemas"
        ) from error
    return get_json_schema(tool)


REASONING_FIELDS = tuple(_native.reasoning_fields())
"""What a model thought, under the names that templates read it by."""

# Stands where a text is to end. Its white space tells whether a template strips what it prints.
_TAG = "\uf8f4END_OF_FINAL_MESSAGE "


def _tag_final_message(chat: list[Any], wanted: bool | str, source: str) -> str | None:
    """Marks the end of the last message's text, which is returned; None where none is wanted."""
    if not wanted:
        return None
    field = wanted if isinstance(wanted, str) else "content"
    last = chat[-1] = dict(chat[-1])
    text = last.get(field)
    if text is None:
        raise ValueError(f"continue_final_message: the last message has no {field!r} to continue")
    fields = [field]
    if field in REASONING_FIELDS:
        fields = [name for name in REASONING_FIELDS if last.get(name) == text]
    if not any(name in source for name in fields):
        raise ValueError(f"continue_final_message: the chat template does not read {field!r}")
    if isinstance(text, str):
        last.update(dict.fromkeys(fields, text + _TAG))
        return text
    parts = [dict(part) if isinstance(part, Mapping) else part for part in text]
    for part in reversed(parts):
        if isinstance(part, dict) and "text" in part:
            final = str(part["text"])
            part["text"] = final + _TAG
            last[field] = parts
            return final
    raise ValueError("continue_final_message: the last message has no text to continue")


def _cut_at_tag(text: str, final: str) -> str:
    """The text up to the tag, which goes."""
    at = text.rfind(_TAG.strip())
    if at < 0 or final.strip() not in text:
        raise ValueError(
            "continue_final_message: the chat template leaves out or changes the last message, so "
            "that there is no end of it to continue from"
        )
    # Where the template strips what it prints, the space before the tag is none of its text.
    return text[:at] if text[at:].startswith(_TAG) else text[:at].rstrip()


def _run(render: Callable[[dict[str, Any]], _Made], variables: dict[str, Any]) -> _Made:
    try:
        return render(variables)
    except Exception as error:
        # lazy: it imports Jinja2, which takes its time.
        from easydata.tokenizers.template_trace import UntraceableError

        if isinstance(error, UntraceableError):
            raise
        # The native engine names what Python would raise by its class.
        if type(error).__module__.startswith("jinja2.") or (
            isinstance(error, ValueError) and not re.match(r"line \d+: \w+Error: ", str(error))
        ):
            raise ValueError(f"the chat template refuses these messages: {error}") from error
        name = "" if type(error) is ValueError else f"{type(error).__name__}: "
        raise ValueError(f"the chat template fails on these messages: {name}{error}") from error
