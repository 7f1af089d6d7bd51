"""What the stretches of a chat's text come from, where Jinja2 renders it.

The native engine keeps book while it renders. For Jinja2, a second template prints private-use
characters where the first of two begins and ends to print a message or a `{% generation %}` block.
They are taken out again; the rest must be the text of the template itself.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.visitor import NodeTransformer

from easydata import _native

Mark = tuple[str, int | None, int, int]
"""Kind, number of the message, first byte and end of a stretch."""

TEXTS_UNKNOWN = "texts unknown"
"""The kind of the mark that says that there are no marks of kind "text"."""

# Marks are characters of one of these planes, of which the text has none: 2k where the stretch k of
# a rendering begins, 2k + 1 where it ends.
_PLANES = (0x100000, 0xF0000)
_PLANE_SIZE = 0xFFFE
_MOST_STRETCHES = _PLANE_SIZE // 2
# What a stretch is, and of which message.
_Stretch = tuple[str, int | None]
# Where a rendering has marks in loops, the stretch 0 is this one, and 1 + i the message i.
_GENERATION: _Stretch = ("generation", None)

# No template can name it: it is no identifier.
_PRINTER = "what prints marks"

# The fields of a message that are said, and what each is.
_SAID = {
    "content": "content",
    **dict.fromkeys(_native.reasoning_fields(), "reasoning_content"),
    "tool_calls": "tool_calls",
}
# What parts of them have for templates to test, not to print.
_TOLD = {
    "content": ("type", "name", "id"),
    "reasoning_content": ("type", "name", "id"),
    "tool_calls": ("type", "id"),
}
# What templates look for in a text and cut it at: <think>, <|end|>, [/THINK].
_MARKUP = re.compile(r"(<[^<>\s]{1,40}>|\[/?[A-Z_]{1,40}\])")


class UntraceableError(ValueError):
    """A text whose stretches cannot be told."""


class TracedTemplate:
    """A template that tells what the stretches of its texts come from.

    Attributes:
        has_generation: Whether it has `{% generation %}` blocks.
    """

    def __init__(self, environment: jinja2.Environment, source: str) -> None:
        """Compiles `source` twice.

        Args:
            environment: whose extension for `{% generation %}` makes call blocks of it.
            source: the template.
        """
        self._plain = environment.from_string(source)
        tree = environment.parse(source)
        printer = _AddPrinters()
        printer.visit(tree)
        tree.set_environment(environment)
        self._marking = jinja2.Template.from_code(
            environment, environment.compile(tree), environment.make_globals(None)
        )
        self.has_generation = printer.has_generation

    def trace(
        self, variables: Mapping[str, Any], *, fields: bool = False
    ) -> tuple[str, list[Mark]]:
        """Renders a text three times: as it is, with marks in loops, and with marks in messages.

        Args:
            variables: what the template reads, the list `messages` among it.
            fields: whether the kind of marks of texts is what they are, as marks_of_texts() says.

        Returns:
            The text and its marks, in the order in which they end; empty stretches have none.
            Kinds are "message" (printed while a loop was at it), "generation" (by a block) and
            "text" (said by that message; from its first to its last letter). Where a template
            tests or changes what messages say in such a way that marks in it would show, there
            are no marks of kind "text" but one of kind TEXTS_UNKNOWN for the whole text.

        Raises:
            UntraceableError: marks in loops and blocks would change the text.
            Exception: whatever the template raises.
        """
        # The clock stands still, so that all renderings tell the same time.
        now = datetime.datetime.now()
        given = {"strftime_now": lambda form: now.strftime(form), **variables}
        text = self._plain.render(given)
        messages = given.get("messages")
        if not isinstance(messages, list):
            messages = []
        if len(messages) >= _MOST_STRETCHES:
            raise UntraceableError(
                f"a conversation of {len(messages)} messages cannot be traced in Jinja2; "
                f"at most {_MOST_STRETCHES - 1} can: split it"
            )
        plane = _plane_beside(text)
        # Of a dict that is there twice, each entry has its own.
        copies = [dict(message) if isinstance(message, dict) else message for message in messages]
        if messages:
            given["messages"] = copies
        marks = _marks_in(
            lambda: self._marking.render({**given, _PRINTER: _Printer(copies, plane)}),
            text,
            plane,
            [_GENERATION, *(("message", number) for number in range(len(messages)))],
        )
        if marks is None:
            raise UntraceableError(
                "this chat template cannot be traced in Jinja2: it tests, measures or changes what "
                "a loop over messages or a generation block printed into a macro or a set block, "
                "and gives another text where there are marks in that; print it as it is there, or "
                "give another template as chat_template=..."
            )
        texts = marks_of_texts(
            lambda marked: self._plain.render({**given, "messages": marked}),
            given.get("messages"),
            text,
            fields=fields,
        )
        return text, sorted([*texts, *marks], key=lambda mark: mark[3])


def marks_of_texts(
    render: Callable[[list[Any]], str], messages: Any, text: str, *, fields: bool
) -> list[Mark]:
    """The marks of kind "text" in a conversation's text, by rendering it with marks in messages.

    Args:
        render: renders messages.
        messages: those that `text` is of.
        text: what they become.
        fields: whether the kind of a mark is the field that it is of: "content",
            "reasoning_content" or "tool_calls", of one of several calls "tool_calls[1]".

    Returns:
        The marks, or one of kind TEXTS_UNKNOWN for the whole text.
    """
    if not isinstance(messages, list):
        return []
    plane = _plane_beside(text)
    markers = _Markers(plane)
    marked = [
        {
            name: markers.around(value, _SAID[name], number) if name in _SAID else value
            for name, value in message.items()
        }
        if isinstance(message, dict)
        else message
        for number, message in enumerate(messages)
    ]
    marks = None
    if len(markers.stretches) <= _MOST_STRETCHES:
        marks = _marks_in(lambda: render(marked), text, plane, markers.stretches)
    if marks is None:
        return [(TEXTS_UNKNOWN, None, 0, len(text.encode(errors="surrogatepass")))]
    return marks if fields else [("text", *mark[1:]) for mark in marks]


def _ends(plane: int, stretch: int) -> tuple[str, str]:
    """The marks of where a stretch begins and ends."""
    return chr(plane + 2 * stretch), chr(plane + 2 * stretch + 1)


class _Printer:
    """Prints marks for one rendering; the template calls it."""

    def __init__(self, messages: list[Any], plane: int) -> None:
        self._numbers = {
            id(message): number
            for number, message in enumerate(messages)
            if isinstance(message, dict)
        }
        self._plane = plane
        # What the loops that are open are at.
        self._at: list[int | None] = []

    def enter(self, item: Any) -> str:
        """A loop begins to print an item."""
        number = self._numbers.get(id(item))
        self._at.append(number)
        return "" if number is None else _ends(self._plane, 1 + number)[0]

    def leave(self) -> str:
        """It ends to print it."""
        number = self._at.pop()
        return "" if number is None else _ends(self._plane, 1 + number)[1]

    def open(self) -> str:
        """A generation block begins."""
        return _ends(self._plane, 0)[0]

    def close(self) -> str:
        """It ends."""
        return _ends(self._plane, 0)[1]


class _AddPrinters(NodeTransformer):
    """Puts calls of a _Printer into a template."""

    def __init__(self) -> None:
        self.has_generation = False
        # Whether the innermost loop prints marks.
        self._prints = False

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802
        # An `else` that has a break in it leaves the loop outside.
        node.else_ = self._visited(node.else_)
        outside, self._prints = self._prints, isinstance(node.target, nodes.Name)
        node.body = self._visited(node.body)
        if isinstance(node.target, nodes.Name):
            item = nodes.Name(node.target.name, "load")
            node.body = [
                _call(node.lineno, "enter", item),
                *node.body,
                _call(node.lineno, "leave"),
            ]
        self._prints = outside
        return node

    def visit_Break(self, node: nodes.Break | nodes.Continue) -> list[nodes.Node]:  # noqa: N802
        return [_call(node.lineno, "leave"), node] if self._prints else [node]

    visit_Continue = visit_Break  # noqa: N815

    def visit_CallBlock(self, node: nodes.CallBlock) -> list[nodes.Node]:  # noqa: N802
        self.generic_visit(node)
        # `{% call %}` calls a macro; of the extensions that we have, one makes call blocks.
        if not isinstance(node.call.node, nodes.ExtensionAttribute):
            return [node]
        self.has_generation = True
        return [_call(node.lineno, "open"), node, _call(node.lineno, "close")]

    def _visited(self, statements: list[nodes.Node]) -> list[nodes.Node]:
        return [made for statement in statements for made in self.visit_list(statement)]


def _call(line: int, method: str, *arguments: nodes.Expr) -> nodes.Output:
    """The statement that prints what a method of the printer gives."""
    printer = nodes.Getitem(nodes.ContextReference(), nodes.Const(_PRINTER), "load")
    called = nodes.Call(
        nodes.Getattr(printer, method, "load"), list(arguments), [], None, None, lineno=line
    )
    return nodes.Output([called], lineno=line).set_lineno(line)  # type: ignore[return-value]


def _plane_beside(text: str) -> int:
    """A plane of private characters that a text does not use."""
    for plane in _PLANES:
        if _marks_of(plane).search(text) is None:
            return plane
    raise UntraceableError(
        "a text with private-use characters of both planes (U+F0000, U+100000 and up) cannot be "
        "traced in Jinja2, which has no others left for marks: remove them from the messages"
    )


def _marks_of(plane: int) -> re.Pattern[str]:
    return re.compile(f"([{chr(plane)}-{chr(plane + _PLANE_SIZE - 1)}])")


def _marks_in(
    render: Callable[[], str], text: str, plane: int, stretches: Sequence[_Stretch]
) -> list[Mark] | None:
    """Where marks are in `text`; None where it is another one with them, or they are in a mess."""
    try:
        pieces = _marks_of(plane).split(render())
    except Exception:
        return None  # of a template that refuses what it does not refuse without marks
    if "".join(pieces[::2]) != text:
        return None
    marks: list[Mark] = []
    begun: list[tuple[int, int]] = []
    at = 0
    for piece, mark in zip(pieces[::2], [*pieces[1::2], None], strict=True):
        at += len(piece.encode(errors="surrogatepass"))
        if mark is None:
            break
        what, is_end = divmod(ord(mark) - plane, 2)
        if not is_end:
            begun.append((what, at))
            continue
        if not begun or begun[-1][0] != what:
            return None
        begin = begun.pop()[1]
        if at > begin:
            marks.append((*stretches[what], begin, at))
    return None if begun else marks


class _Markers:
    """Puts marks around what messages say.

    Attributes:
        stretches: What the marks are of, by their number; of more than _MOST_STRETCHES, the last
            ones have none.
    """

    def __init__(self, plane: int) -> None:
        self._plane = plane
        self.stretches: list[_Stretch] = []

    def around(self, value: Any, said: str, number: int) -> Any:
        """A field of the message `number` with marks around its texts."""
        if said == "tool_calls" and isinstance(value, list) and len(value) > 1:
            return [
                self._around(call, (f"{said}[{which}]", number), _TOLD[said])
                for which, call in enumerate(value)
            ]
        return self._around(value, (said, number), _TOLD[said])

    def _around(self, value: Any, stretch: _Stretch, told: tuple[str, ...]) -> Any:
        self.stretches.append(stretch)
        if len(self.stretches) > _MOST_STRETCHES:
            return value
        return _with_marks(value, *_ends(self._plane, len(self.stretches) - 1), told)


def _with_marks(value: Any, begin: str, end: str, told: tuple[str, ...]) -> Any:
    """What a message says, with marks around its texts, but for those of `told`."""
    if isinstance(value, str):
        return "".join(_around_words(value, begin, end))
    if isinstance(value, list):
        return [_with_marks(item, begin, end, told) for item in value]
    if isinstance(value, dict):
        return {
            name: item if name in told else _with_marks(item, begin, end, told)
            for name, item in value.items()
        }
    return value


def _around_words(text: str, begin: str, end: str) -> Iterator[str]:
    """A text with marks in it, where neither trimming nor a search for markup meets them."""
    pieces = _MARKUP.split(text)
    if not any(map(str.strip, pieces[::2])):
        pieces = [text]
    for at, piece in enumerate(pieces):
        words = piece.strip()
        if at % 2 or not words:
            yield piece
            continue
        before, _, after = piece.partition(words)
        yield from (before, begin, words, end, after)
