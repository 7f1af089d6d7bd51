"""Chat templates: Jinja2's sandbox, with the settings that published templates expect."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import jinja2

Messages = Sequence[Mapping[str, Any]]

_SPECIAL_TOKENS = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)


class Renderer(Protocol):
    """Makes one text of a conversation."""

    def __call__(self, messages: Messages, **options: Any) -> str:
        """Renders `messages`; `options` are what the template may read (tools, ...)."""


@dataclass(frozen=True)
class ChatTemplate:
    """A template and the special tokens that it may name.

    Attributes:
        sources: template texts by name; the one called "default" is used, with tools the one called
            "tool_use".
        special_tokens: texts by name (`bos_token`, ...); those that a tokenizer lacks are
            undefined.
    """

    sources: Mapping[str, str]
    special_tokens: Mapping[str, Any]

    @classmethod
    def of_folder(cls, path: Path) -> ChatTemplate:
        """Reads the template beside a tokenizer.json; raises ValueError where there is none."""
        folder = path if path.is_dir() else path.parent
        config: dict[str, Any] = {}
        for name in ("special_tokens_map.json", "tokenizer_config.json"):
            if (folder / name).is_file():
                config.update(json.loads((folder / name).read_text(encoding="utf-8")))
        template = config.get("chat_template")
        sources: dict[str, str] = {}
        if isinstance(template, str):
            sources["default"] = template
        elif isinstance(template, list):
            sources.update({entry["name"]: entry["template"] for entry in template})
        if (folder / "chat_template.jinja").is_file():
            sources["default"] = (folder / "chat_template.jinja").read_text(encoding="utf-8")
        for extra in sorted((folder / "additional_chat_templates").glob("*.jinja")):
            sources[extra.stem] = extra.read_text(encoding="utf-8")
        return cls(sources, _token_texts(config))

    def __call__(
        self,
        messages: Messages,
        *,
        tools: Sequence[Any] | None = None,
        documents: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = False,
        chat_template: str | None = None,
        **options: Any,
    ) -> str:
        """Renders a conversation.

        Args:
            messages: dicts with `role`, `content` and what else the template reads.
            tools: JSON schemas of functions, or functions with type hints and a docstring.
            documents: texts for retrieval templates.
            add_generation_prompt: whether to open an assistant's turn at the end.
            chat_template: a template to use instead, or the name of one of `sources`.
            options: other names that the template reads.

        Returns:
            The text, special tokens included.

        Raises:
            ValueError: there is no template, or it refuses these messages.
        """
        import jinja2

        source = self._choose(chat_template, tools is not None)
        schemas = None if tools is None else [_schema(tool) for tool in tools]
        try:
            return compile_template(source).render(
                messages=messages,
                tools=schemas,
                documents=documents,
                add_generation_prompt=add_generation_prompt,
                **{**self.special_tokens, **options},
            )
        except jinja2.TemplateError as error:
            raise ValueError(f"the chat template refuses these messages: {error}") from error
        except Exception as error:
            raise ValueError(
                f"the chat template fails on these messages: {type(error).__name__}: {error}"
            ) from error

    @functools.cached_property
    def frame(self) -> str:
        """All that the template may print of itself: its own text, and the special tokens."""
        return "\n".join([*self.sources.values(), *map(str, self.special_tokens.values())])

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


def renderer_of(tokenizer: Any) -> Renderer:
    """The renderer of a tokenizer's own template.

    Args:
        tokenizer: a folder or tokenizer.json path, an `easydata.Tokenizer`, or an object with
            `apply_chat_template` (transformers).
    """
    if isinstance(tokenizer, str | Path):
        path = Path(tokenizer)
        if not path.exists():
            raise FileNotFoundError(
                f"there is no tokenizer folder at {str(tokenizer)!r}; "
                "Hub names come with a later version of EasyData"
            )
        return ChatTemplate.of_folder(path)
    own = getattr(tokenizer, "_chat_renderer", None)
    if own is not None:
        renderer: Renderer = own()
        return renderer
    if hasattr(tokenizer, "apply_chat_template"):
        return _Applied(tokenizer)
    return ChatTemplate(
        getattr(tokenizer, "chat_templates", {}), getattr(tokenizer, "special_tokens", {})
    )


class _Applied:
    """The renderer of an object with `apply_chat_template`."""

    def __init__(self, tokenizer: Any) -> None:
        self._apply = tokenizer.apply_chat_template
        sources = getattr(tokenizer, "chat_template", None)
        if isinstance(sources, str):
            special = getattr(tokenizer, "special_tokens_map", {})
            self.frame = "\n".join([sources, *map(str, special.values())])

    def __call__(self, messages: Messages, **options: Any) -> str:
        """Renders `messages`."""
        import jinja2

        try:
            return str(self._apply(messages, tokenize=False, **options))
        except jinja2.TemplateError as error:
            raise ValueError(f"the chat template refuses these messages: {error}") from error
        except Exception as error:
            raise ValueError(
                f"the chat template fails on these messages: {type(error).__name__}: {error}"
            ) from error


def _token_texts(config: Mapping[str, Any]) -> dict[str, Any]:
    texts: dict[str, Any] = {}
    for name in _SPECIAL_TOKENS:
        token = config.get(name)
        if isinstance(token, Mapping):
            token = token.get("content")
        if token is not None:
            texts[name] = str(token)
    extra = config.get("additional_special_tokens")
    if extra:
        texts["additional_special_tokens"] = [
            str(token["content"] if isinstance(token, Mapping) else token) for token in extra
        ]
    return texts


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


@functools.lru_cache(maxsize=64)
def compile_template(source: str) -> jinja2.Template:
    """Compiles a template (milliseconds; kept, since each is used for every row)."""
    return _environment().from_string(source)


@functools.cache
def _environment() -> jinja2.Environment:
    import datetime

    import jinja2
    import jinja2.ext
    import jinja2.sandbox

    class Generation(jinja2.ext.Extension):
        """Lets `{% generation %}` pass: it marks what the assistant says and prints it."""

        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

        def _body(self, caller: Callable[[], str]) -> str:
            return caller()

    def raise_exception(message: str) -> None:
        raise jinja2.TemplateError(message)

    def to_json(
        value: Any,
        ensure_ascii: bool = False,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        return json.dumps(
            value,
            ensure_ascii=ensure_ascii,
            indent=indent,
            separators=separators,
            sort_keys=sort_keys,
        )

    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    return environment
