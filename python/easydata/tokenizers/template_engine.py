"""What runs a chat template: the engine's own program, or Jinja2's sandbox for what it lacks."""

from __future__ import annotations

import copy
import datetime
import functools
import itertools
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from easydata import _native

if TYPE_CHECKING:
    import jinja2

    from easydata.tokenizers.template_trace import TracedTemplate

_log = logging.getLogger("easydata")

# What an operator may make in Jinja2's sandbox: as much as a text of the native engine has.
_MOST_BYTES = 64 << 20
# The function of templates that reads the clock.
_CLOCK = "strftime_now"


class TemplateEngine:
    """A template that is compiled.

    It runs natively where every construct of it is known and its texts of the probe chats are
    Jinja2's; else in Jinja2's sandbox. A text that the native engine cannot make is Jinja2's, too.

    Attributes:
        source: The template.
        native: The native engine's program; None where Jinja2 runs the template.
        why_not_native: Why Jinja2 runs it; None where the native engine does.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._clock: dict[str, Any] = {}
        self.why_not_native: str | None = None
        self.native: _native.JinjaTemplate | None = None
        try:
            self.native = _native.JinjaTemplate(source)
        except (NotImplementedError, ValueError) as error:
            # Jinja2 says what is wrong with it, as people know it.
            compile_template(source)
            self.why_not_native = (
                f"{error} is not in the native engine"
                if isinstance(error, NotImplementedError)
                else "the native engine refuses the template, and Jinja2 does not"
            )
        if self.native is not None and (probe := self._differing_probe()) is not None:
            self.native = None
            self.why_not_native = f"its text of {probe} is not Jinja2's"
        if self.why_not_native is not None:
            _log.info("a chat template runs in Jinja2: %s", self.why_not_native)

    @property
    def uses_clock(self) -> bool:
        """Whether its texts may depend on when they are made."""
        return _CLOCK in self.source if self.native is None else self.native.uses_clock

    def at(self, date: str) -> TemplateEngine:
        """The same with a clock that stands still, where it has one.

        Args:
            date: a day, "2026-11-27", or a time of it, "2026-11-27T08:30:00".
        """
        if not self.uses_clock:
            return self
        now = datetime.datetime.fromisoformat(date)
        made = copy.copy(self)
        made._clock = {_CLOCK: lambda form: now.strftime(form)}
        if self.native is not None:
            made.native = self.native.at(now.timestamp())
        return made

    @property
    def engine(self) -> str:
        """What runs the template: "native" or "jinja2"."""
        return "jinja2" if self.native is None else "native"

    def render(self, variables: dict[str, Any]) -> str:
        """Renders a text.

        Raises:
            jinja2.TemplateError: The template refuses the values (only where Jinja2 runs it).
            ValueError: The same, where it runs natively.
            Exception: Whatever Python raises in a template.
        """
        if self.native is not None:
            try:
                return self.native.render(variables)
            except NotImplementedError:
                pass  # a value, or what is done to it, is beyond the native engine: Jinja2 decides
        return compile_template(self.source).render(**{**self._clock, **variables})

    def trace(
        self, variables: dict[str, Any], *, fields: bool = False
    ) -> tuple[str, list[tuple[str, int | None, int, int]]]:
        """Renders a text, and says what its stretches come from.

        Args:
            variables: what the template reads. Messages are the dicts in the list `messages`.
            fields: whether marks of kind "text" have the names of the message's fields as their
                kind: "content", "reasoning_content", "tool_calls", or several, joined by "+".

        Returns:
            The text, and marks in the order in which they end: (kind, number of the message, first
            byte, end). Kinds are "message" (printed while a loop was at that message),
            "generation" (by a `{% generation %}` block; the number is None) and "text" (what that
            message holds; None: several of them). Where Jinja2 renders it, a template may look so
            closely at what messages say that their texts cannot be followed; there is no mark of
            kind "text" then, but one of kind "texts unknown".

        Raises:
            UntraceableError: (a ValueError) it cannot be told what the stretches come from.
            Exception: as of render().
        """
        if self.native is not None:
            try:
                return self.native.trace(variables, fields=fields)
            except NotImplementedError:
                pass
        return self._traced.trace({**self._clock, **variables}, fields=fields)

    @property
    def has_generation(self) -> bool:
        """Whether the template has `{% generation %}` blocks."""
        return (self._traced if self.native is None else self.native).has_generation

    @functools.cached_property
    def _traced(self) -> TracedTemplate:
        # lazy: it imports Jinja2, which takes its time.
        from easydata.tokenizers.template_trace import TracedTemplate

        return TracedTemplate(_environment(), self.source)

    def _differing_probe(self) -> str | None:
        """The name of a probe whose text is not Jinja2's."""
        if self.native is None:
            return None
        reference = compile_template(self.source)
        now = datetime.datetime.now()  # for both: a second may pass between their texts
        still = self.native.at(now.timestamp())
        for name, variables in _probes():
            try:
                native = still.probe(variables)
            except NotImplementedError:
                continue
            except OverflowError:
                break  # Jinja2 might compute for hours: the native engine has bounds
            if native != _text_or_none(reference, {_CLOCK: now.strftime, **variables}):
                return name
        return None


@functools.lru_cache(maxsize=64)
def engine_of(source: str, date: str | None = None) -> TemplateEngine:
    """The engine of a template, made by the first call; with a `date`, as `at` has it."""
    return TemplateEngine(source) if date is None else engine_of(source).at(date)


def _text_or_none(template: jinja2.Template, variables: dict[str, Any]) -> str | None:
    """A text, None where the template refuses the chat."""
    try:
        return template.render(**variables)
    except Exception:
        return None


def _probes() -> Iterator[tuple[str, dict[str, Any]]]:
    """Chats that a template's two texts are compared on."""
    call = {"name": "weather", "arguments": {"city": "Bern", "days": 2}}
    tool = {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Tells the weather.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
            },
        },
    }
    user = {"role": "user", "content": "How is the weather?"}
    said = {"role": "assistant", "content": "It rains."}
    thought = {"role": "assistant", "content": "<think>\nClouds.\n</think>\n\nIt rains."}
    reasoned = {**said, "reasoning_content": "Clouds.", "thinking": "Clouds."}
    system = {"role": "system", "content": "Be brief."}
    calls = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"type": "function", "function": call}],
    }
    result = {"role": "tool", "content": '{"rain": true}', "name": "weather"}
    spaces = {"role": "user", "content": "  \u2028 spaces\n\n "}
    chats = {
        "one question": [user],
        "a question and an answer": [user, said],
        "two questions": [user, said, {**user, "content": "And <b>tomorrow</b>? 'é' \"日本\""}],
        "a system message": [system, user, said],
        "reasoning in the text": [user, thought, user, thought],
        "reasoning beside the text": [system, user, reasoned, user, reasoned],
        "a tool that is called": [user, calls, result, said],
        "white space": [spaces, {**said, "content": " \n"}, spaces],
        "two answers in a row": [user, said, said],
    }
    special = {f"{name}_token": f"<{name}>" for name in ("bos", "eos", "pad", "unk")}
    choices = itertools.product(chats.items(), (None, [tool]), (False, True))
    for (name, messages), tools, prompt in choices:
        yield (
            f"{name}{', tools' if tools else ''}{', a prompt' if prompt else ''}",
            {
                "messages": messages,
                "tools": tools,
                "documents": None,
                "add_generation_prompt": prompt,
                **special,
            },
        )


def _bytes_made(operator: str, left: Any, right: Any) -> int:
    """About how many bytes `*` makes of a text or list, or `**` of whole numbers; else 0."""
    if operator == "**":
        is_whole = isinstance(left, int) and isinstance(right, int)
        return left.bit_length() * right // 8 if is_whole else 0
    many, times = (right, left) if isinstance(left, int) else (left, right)
    is_known = isinstance(many, (str, list, tuple)) and isinstance(times, int)
    return len(many) * times if is_known else 0


@functools.lru_cache(maxsize=64)
def compile_template(source: str) -> jinja2.Template:
    """Compiles a template for Jinja2 (milliseconds; kept, since each is used for every row)."""
    return _environment().from_string(source)


@functools.cache
def _environment() -> jinja2.Environment:
    """Jinja2's sandbox, with the settings that published templates expect."""
    import jinja2
    import jinja2.ext
    import jinja2.sandbox
    import jinja2.utils

    class Generation(jinja2.ext.Extension):
        """Lets `{% generation %}` pass: it marks what the assistant says and prints it."""

        tags = {"generation"}  # noqa: RUF012

        def parse(self, parser: Any) -> Any:
            line = next(parser.stream).lineno
            body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

        def _body(self, caller: Callable[[], str]) -> str:
            return caller()

    class Dict:
        """`dict` without the class's attributes."""

        def __call__(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
            return dict(*args, **kwargs)

        def fromkeys(self, *args: Any) -> dict[Any, Any]:
            return dict.fromkeys(*args)

    def check_name(name: Any) -> None:
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(
                f"a namespace of a chat template has no attribute that begins with _: {name!r}"
            )

    class Namespace(jinja2.utils.Namespace):
        """`namespace` without attributes of Python's own."""

        def __init__(*args: Any, **kwargs: Any) -> None:
            attributes = dict(*args[1:], **kwargs)
            for name in attributes:
                check_name(name)
            jinja2.utils.Namespace.__init__(args[0], attributes)

        def __setitem__(self, name: str, value: Any) -> None:
            check_name(name)
            super().__setitem__(name, value)

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

    class Environment(jinja2.sandbox.ImmutableSandboxedEnvironment):
        """A sandbox in which one operator makes no gigabytes, not even when it compiles."""

        intercepted_binops = frozenset({"*", "**"})

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if _bytes_made(operator, left, right) > _MOST_BYTES:
                raise jinja2.TemplateError(f"{operator} makes more than {_MOST_BYTES >> 20} MB")
            return super().call_binop(context, operator, left, right)

    environment = Environment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = to_json
    known: Mapping[str, Any] = {
        "raise_exception": raise_exception,
        _CLOCK: lambda format: datetime.datetime.now().strftime(format),
        "dict": Dict(),
        "namespace": Namespace,
    }
    environment.globals.update(known)
    return environment
