"""Random templates of the subset and variables for them; a seed always gives the same ones.

Expressions have types, so that most templates render; a few take a value of another type, a name
that nobody gave, or a source with a character changed. What Jinja2 itself would compute for hours
(`'a' * 10**9` when it compiles) is kept out: a product has a small literal on one side.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

# What may be wrong on purpose: an expression of another type, a changed source.
_WILD = 0.012
_MUTATED = 0.05

_TEXTS = (
    "",
    " ",
    "a",
    "user",
    "assistant",
    "Hello there",
    "  padded\t\n",
    "<think>\nA plan.\n</think>\n\nAn answer",
    "x</think>y</think>z",
    "<|im_end|>",
    "a,b,,c",
    "one two  three\nfour\r\nfive",
    'It\'s "quoted" \\ and <b>&amp;</b>',
    "Größe ÄÖÜ ß straße",
    "渡轮七点开船",
    "ΟΔΥΣΣΕΑΣ ἄνθρωπος",
    "e\u0301 \U0001f468\u200d\U0001f469 \U00020000",
    "\x1c\x1d in \x1e\x1f",
    "\x85next\x85",
    "\u2028line\u2029",
    "\u3000wide\u3000\xa0",
    "\u200bzero\ufeff",
    "12",
    " -7 ",
    "3.50",
    "1e3",
    "0x1f",
    "nan",
    "they'RE here-now (yes) [no]",
    "ab" * 40,
    "\x00\x7f\x9f",
)
_WORDS = ("a", "b", "B", "user", "system", "", "é", "A", "z9", "<i>", "10", "9", "\u3000")
_INTS = (0, 1, 2, 3, -1, -2, 7, 10, 100, -100, 255)
_LARGE = (2**53 + 1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**20, 2**70 + 3)
_FLOATS = (0.0, -0.0, 1.0, 0.1, 0.5, 2.5, -1.5, 1e16, 1e15, 1e-7, 0.0001, 1e22, 123456789.125)
_ODD_FLOATS = (float("inf"), float("-inf"), float("nan"), 1e308, 5e-324)
_KEYS = ("role", "content", "a", "b", "B", "items", "keys", "x y", "é", "n")
_ROLES = ("system", "user", "assistant", "tool")

# Names of variables that templates read, with their types. `maybe` is given to half of them,
# `missing` and `ghost` never.
_GIVEN = {
    "s": "str",
    "t": "str",
    "eos_token": "str",
    "i": "int",
    "n": "int",
    "big": "int",
    "f": "float",
    "g": "float",
    "flag": "bool",
    "add_generation_prompt": "bool",
    "words": "strs",
    "nums": "ints",
    "mixed": "list",
    "messages": "msgs",
    "tools": "msgs",
    "d": "dict",
    "tree": "dict",
    "nothing": "none",
    "maybe": "str",
    "missing": "undefined",
    "ghost": "undefined",
}
# Names that templates set; some hide a variable.
_LOCAL = ("x", "y", "z", "content", "item", "s", "n", "words", "message", "acc")


def _random_text(rng: random.Random) -> str:
    if rng.random() < 0.8:
        return rng.choice(_TEXTS)
    alphabet = "ab \n\t.é\u3000\x1f\u2028\u0130\u01c6\ufb01\U0001f600\"'\\<&{%"
    return "".join(rng.choices(alphabet, k=rng.randrange(8)))


def _value(rng: random.Random, kind: str, depth: int = 2) -> Any:
    """A random value of a type."""
    if kind == "str":
        return _random_text(rng)
    if kind == "int":
        return rng.choice(_LARGE) if rng.random() < 0.1 else rng.choice(_INTS)
    if kind == "float":
        return rng.choice(_ODD_FLOATS) if rng.random() < 0.08 else rng.choice(_FLOATS)
    if kind == "bool":
        return rng.random() < 0.5
    if kind == "strs":
        return [rng.choice(_WORDS) for _ in range(rng.randrange(5))]
    if kind == "ints":
        return [rng.choice(_INTS) for _ in range(rng.randrange(6))]
    if kind == "msgs":
        return [_message(rng) for _ in range(rng.choice((0, 1, 2, 2, 3, 4)))]
    if kind == "msg":
        return _message(rng)
    if kind in ("none", "undefined") or depth <= 0:
        return None
    inner = ("str", "int", "float", "bool", "none", "str", "int", "strs", "dict", "list")
    if kind == "dict":
        keys = rng.sample(_KEYS, rng.randrange(5))
        made: dict[Any, Any] = {key: _value(rng, rng.choice(inner), depth - 1) for key in keys}
        if rng.random() < 0.08:
            made[rng.choice((1, 2.0, None, True))] = "odd"
        return made
    items = [_value(rng, rng.choice(inner), depth - 1) for _ in range(rng.randrange(5))]
    return tuple(items) if rng.random() < 0.1 else items


def _message(rng: random.Random) -> dict[str, Any]:
    message: dict[str, Any] = {"role": rng.choice(_ROLES), "content": _random_text(rng)}
    if rng.random() < 0.2:
        message["reasoning_content"] = _random_text(rng)
    if rng.random() < 0.2:
        arguments = _value(rng, "dict") if rng.random() < 0.7 else '{"a": 1.0}'
        message["tool_calls"] = [{"function": {"name": "f", "arguments": arguments}}]
    if rng.random() < 0.08:
        message["content"] = _value(rng, rng.choice(("none", "int", "list", "dict")))
    if rng.random() < 0.03:
        del message["content"]
    if rng.random() < 0.1:
        message[rng.choice(_KEYS)] = _value(rng, rng.choice(("int", "str", "none", "list")))
    return message


def random_variables(rng: random.Random) -> dict[str, Any]:
    """Variables of a template: of the types that their names promise, all but a few."""
    variables: dict[str, Any] = {}
    for name, kind in _GIVEN.items():
        if kind == "undefined" or rng.random() < (0.4 if name == "maybe" else 0.01):
            continue
        if rng.random() < 0.02:
            kind = rng.choice(("str", "int", "float", "bool", "none", "list", "dict", "msgs"))
        variables[name] = _value(rng, kind, 3)
    if "big" in variables and rng.random() < 0.4:
        variables["big"] = rng.choice(_LARGE)
    return variables


class _Compound(str):
    """An expression that takes parentheses before it is part of another (mostly)."""


_Make = Callable[["_Grammar", int], str]
_RULES: dict[str, list[tuple[int, _Make]]] = {}


def _rule(kind: str, weight: int = 4) -> Callable[[_Make], _Make]:
    def add(make: _Make) -> _Make:
        _RULES.setdefault(kind, []).append((weight, make))
        return make

    return add


class _Grammar:
    """The state of one template: what names are known where it is written."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.scopes: list[dict[str, str]] = [dict(_GIVEN)]
        self.macros: list[tuple[str, int]] = []
        self.loops = 0
        self.size = rng.choice((2, 4, 6, 9, 14))
        self.num_macros = 0
        self.in_macro = False

    # Small things.

    def space(self) -> str:
        return self.rng.choice((" ", " ", " ", " ", " ", "  ", "\n", "\t", " \n  "))

    def maybe_space(self) -> str:
        return self.rng.choice(("", "", "", " ", "\n "))

    def names(self, kind: str) -> list[str]:
        known: dict[str, str] = {}
        for scope in self.scopes:
            known.update(scope)
        return [name for name, its in known.items() if its == kind]

    def text(self) -> str:
        """Text between tags, with odd white space around lines."""
        pieces = (
            "text",
            " ",
            "\n",
            "\n\n",
            "\n    ",
            "  \n",
            "\t",
            "\r\n",
            "\r",
            "é",
            "<|im_start|>",
            "\n \t ",
            "{ ",
            " }}",
            " %}",
            "#",
            "\u3000",
            "\n\u3000\xa0",
            "\x1c\n",
            "\x85",
            "\u2028",
            "\n\x0b",
            "\\n",
            "'",
        )
        return "".join(self.rng.choice(pieces) for _ in range(self.rng.randrange(5)))

    def literal_text(self, value: str) -> str:
        """A string literal, some of its characters escaped."""
        quote = self.rng.choice("'\"")
        parts = []
        for char in value:
            draw = self.rng.random()
            code = ord(char)
            if char in (quote, "\\"):
                parts.append("\\" + char)
            elif char == "\n" and draw < 0.8:
                parts.append("\\n")
            elif char == "\t" and draw < 0.5:
                parts.append("\\t")
            elif code > 0xFFFF and draw < 0.3:
                parts.append(f"\\U{code:08x}")
            elif code > 0x7E and draw < 0.3:
                parts.append(f"\\u{code:04X}" if code <= 0xFFFF else char)
            elif code < 0x100 and draw < 0.02:
                parts.append(f"\\x{code:02x}")
            elif code < 0x40 and draw < 0.03:
                parts.append(f"\\{code:03o}")
            else:
                parts.append(char)
        if self.rng.random() < 0.004:
            parts.append(self.rng.choice(("\\q", "\\x4", "\\N{BULLET}", "\\\n", "\\a\\v\\f\\b")))
        return quote + "".join(parts) + quote

    def key(self) -> str:
        return self.rng.choice(("role", "content", "a", "b", "n", *_KEYS))

    # Expressions.

    def expression(self, kind: str, depth: int) -> str:
        """An expression of a type: str, int, float, bool, strs, ints, list, dict, msg, any."""
        if self.rng.random() < _WILD:
            kind = self.rng.choice(("str", "int", "bool", "list", "dict", "none", "undefined"))
        if kind == "any":
            kind = self.rng.choice(
                ("str", "str", "str", "int", "float", "bool", "strs", "list", "dict", "none", "msg")
            )
        if depth <= 0 or self.rng.random() < 0.15:
            return self.leaf(kind)
        rules = _RULES.get(kind, [])
        if not rules:
            return self.leaf(kind)
        if self.rng.random() < 0.04:
            return self.choice_of_two(kind, depth)
        weights = [weight for weight, _ in rules]
        return self.rng.choices(rules, weights)[0][1](self, depth - 1)

    def choice_of_two(self, kind: str, depth: int) -> str:
        one, other = self.part(kind, depth - 1), self.part(kind, depth - 1)
        condition = self.part("bool", depth - 1)
        return self.rng.choice(
            (
                _Compound(f"{one} if {condition} else {other}"),
                _Compound(f"{one} or {other}"),
                _Compound(f"{one} and {other}"),
                f"{one}|default({other})",
                f"{one}|default({other}, {self.rng.choice(('true', 'false', 'boolean=true'))})",
            )
        )

    def part(self, kind: str, depth: int) -> str:
        """An expression within another one, in parentheses where it mostly needs them."""
        made = self.expression(kind, depth)
        if isinstance(made, _Compound) and self.rng.random() < 0.9:
            space = self.maybe_space()
            return f"({space}{made}{space})"
        return made

    def target(self, kind: str, depth: int) -> str:
        """An expression before a dot or a bracket: a filter takes parentheses there, too."""
        made = self.expression(kind, depth)
        is_simple = not isinstance(made, _Compound) and "|" not in made
        return made if is_simple or self.rng.random() < 0.02 else f"({made})"

    def leaf(self, kind: str) -> str:
        names = self.names(kind)
        if kind in ("none", "undefined"):
            if kind == "undefined":
                return self.rng.choice((*names, "d.nokey", "messages[99]", "tree['-']"))
            return self.rng.choice(("none", "None", "nothing"))
        if names and self.rng.random() < 0.65:
            return self.rng.choice(names)
        return self.literal(kind)

    def literal(self, kind: str) -> str:
        rng = self.rng
        if kind == "str":
            short = rng.choice(_WORDS) if rng.random() < 0.5 else _random_text(rng)
            if rng.random() < 0.04:
                return f"{self.literal_text('a')}{self.space()}{self.literal_text(short)}"
            return self.literal_text(short)
        if kind == "int":
            if rng.random() < 0.01:
                return rng.choice(("1_000", "0x1F", "0b101", "0o17", "00", "9007199254740993"))
            value = rng.choice(_INTS)
            return _Compound(str(value)) if value < 0 else str(value)
        if kind == "float":
            return rng.choice(("0.5", "1.0", "2.50", "1e3", "1.5e-7", "1E16", "0.1", "1_0.2_5"))
        if kind == "bool":
            return rng.choice(("true", "false", "True", "False"))
        if kind == "dict":
            return rng.choice(("d", "tree", "d", "{'a': 1}", '{"role": s, "b": [none, true]}'))
        if kind == "msg":
            return rng.choice(
                ("messages[0]", "messages[-1]", "(messages|first)", "(messages|last)")
            )
        if kind == "msgs":
            return rng.choice(("messages", "tools", "messages[1:]", "messages[::-1]"))
        if kind == "strs":
            return rng.choice(("['a', 'B', 'b']", "words", "('user', 's')", "s.split()", "[]"))
        if kind == "ints":
            return rng.choice(("[3, 1, 2]", "nums", "(1,)", "range(3)|list", "[]"))
        return rng.choice(("[1, 'a', none]", "mixed", "[1.0, [true]]", "(s, n)", "[{}, []]", "()"))

    def arguments(self, *made: str) -> str:
        return f",{self.maybe_space()}".join(made)

    # Statements.

    def tag(self, content: str) -> str:
        """A statement's tag, with control of white space now and then."""
        left = self.rng.choice(("", "", "", "-", "-", "+"))
        right = self.rng.choice(("", "", "", "-", "-", "+" if self.rng.random() < 0.3 else ""))
        begin, end = self.space(), self.space()
        if self.rng.random() < 0.05:
            # Without a space, a sign would be that of white space control.
            begin = "" if content[0].isalpha() else begin
            end = "" if content[-1].isalnum() else end
        return f"{{%{left}{begin}{content}{end}{right}%}}"

    def output(self, made: str) -> str:
        left, right = self.rng.choice(("", "", "-")), self.rng.choice(("", "", "-"))
        return f"{{{{{left}{self.space()}{made}{self.space()}{right}}}}}"

    def block(self, depth: int, scope: dict[str, str] | None = None) -> str:
        """Some statements; a scope of their own where one is given."""
        if scope is not None:
            self.scopes.append(scope)
            known = len(self.macros)
        parts = [self.text()]
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            parts += [self.statement(depth), self.text()]
        if scope is not None:
            self.scopes.pop()
            del self.macros[known:]
        return "".join(parts)

    def statement(self, depth: int) -> str:
        self.size -= 1
        makers: list[tuple[int, Callable[[int], str]]] = [
            (40, lambda depth: self.output(self.expression("any", self.rng.choice((1, 2, 2, 3))))),
            (12, self.set_name),
            (4, self.set_attribute),
            (3, self.comment),
            (1, self.raw),
        ]
        if depth > 0 and self.size > 0:
            makers += [
                (14, self.condition),
                (14, self.loop),
                (4, self.set_block),
                (5, self.macro),
                (3, self.generation),
            ]
        if self.loops:
            makers += [(6, self.about_loop), (2, self.leave)]
        weights = [weight for weight, _ in makers]
        return self.rng.choices(makers, weights)[0][1](depth)

    def condition(self, depth: int) -> str:
        parts = [self.tag(f"if {self.expression('bool', 2)}"), self.block(depth - 1)]
        while self.rng.random() < 0.25:
            parts += [self.tag(f"elif {self.expression('bool', 2)}"), self.block(depth - 1)]
        if self.rng.random() < 0.4:
            parts += [self.tag("else"), self.block(depth - 1)]
        return "".join([*parts, self.tag("endif")])

    def loop(self, depth: int) -> str:
        rng = self.rng
        one = rng.choice((*_LOCAL, "message", "message", "m"))
        targets, over = rng.choice(
            (
                ({one: "msg"}, self.part("msgs", 1)),
                ({one: "msg"}, rng.choice(("messages", "messages", "tools"))),
                ({one: "str"}, self.part("strs", 1)),
                ({one: "int"}, self.part("ints", 1)),
                (
                    {one: "int"},
                    f"range({rng.choice(('3', '1, 4', '5, 0, -2', 'nums|length', '0'))})",
                ),
                ({one: "any"}, self.part("list", 1)),
                ({one: "str"}, self.target("str", 1) + rng.choice(("", "[:3]"))),
                ({one: "str"}, self.part("dict", 1)),
                ({"key": "str", one: "any"}, self.target("dict", 0) + ".items()"),
                ({"key": "str", one: "any"}, self.part("dict", 1) + "|items"),
                ({"key": "str", one: "any"}, self.part("dict", 0) + "|dictsort"),
                ({one: "msg"}, f"messages|selectattr('role', 'equalto', {self.leaf('str')})"),
                ({one: "int", "other": "str"}, "[(1, 'a'), [2, 'b'], (3, s)]"),
                ({one: "undefined"}, "missing"),
            )
        )
        inner = dict(targets)
        names = self.rng.choice((", ", ",")).join(targets)
        if len(targets) > 1 and rng.random() < 0.02:
            names = f"({names})"
        head = f"for {names} in {over}"
        if rng.random() < 0.2:
            self.scopes.append(inner)
            head += f" if {self.expression('bool', 1)}"
            self.scopes.pop()
        if self.rng.random() < 0.002:
            head += " recursive"
        self.loops += 1
        parts = [self.tag(head), self.block(depth - 1, inner)]
        self.loops -= 1
        if rng.random() < 0.15:
            parts += [self.tag("else"), self.block(depth - 1, {})]
        return "".join([*parts, self.tag("endfor")])

    def about_loop(self, depth: int) -> str:
        made = self.rng.choice(
            (
                "loop.index",
                "loop.index0",
                "loop.first",
                "loop.last",
                "loop.length",
                "loop.revindex",
                "loop.revindex0",
                "loop.depth",
                "loop.depth0",
                "loop.previtem",
                "loop.nextitem",
                "loop.previtem.role if loop.previtem is defined",
                "loop.nextitem.role if not loop.last",
                "'first' if loop.first else 'later'",
                "messages[loop.index0 - 1].role",
                "messages[loop.index0 + 1] is defined",
                "loop.cycle('odd', 'even')",
                "loop.changed(s)",
                "loop['index']",
                "loop.nothing",
                "loop",
            )
        )
        return self.output(made)

    def leave(self, depth: int) -> str:
        word = self.tag(self.rng.choice(("break", "continue")))
        if self.rng.random() < 0.2:
            return word
        condition = self.rng.choice(("loop.index > 1", "loop.last", self.expression("bool", 1)))
        return self.tag(f"if {condition}") + self.text() + word + self.tag("endif")

    def set_name(self, depth: int) -> str:
        name = self.rng.choice(_LOCAL)
        if self.rng.random() < 0.06:
            first, second = self.part("any", 1), self.part("any", 1)
            other = self.rng.choice(("other", "second"))
            made = self.tag(f"set {name}, {other} = {first}, {second}")
            self.scopes[-1].update({name: "any", other: "any"})
            return made
        kinds = ("str", "str", "str", "int", "float", "bool", "strs", "ints", "list", "dict")
        kind = self.rng.choice((*kinds, "msgs", "msg", "none"))
        made = self.tag(f"set {name} = {self.expression(kind, 2)}")
        self.scopes[-1][name] = kind
        return made

    def set_attribute(self, depth: int) -> str:
        spaces = self.names("ns")
        attribute = self.rng.choice(("count", "text", "found"))
        if not spaces or self.rng.random() < 0.1:
            name = self.rng.choice(("ns", "ns", "state"))
            values = f"count={self.leaf('int')}, text={self.leaf('str')}, found=false"
            if self.rng.random() < 0.1:
                values = self.rng.choice(("", "d", "{'count': 1, 'text': s}, found=none"))
            self.scopes[-1][name] = "ns"
            return self.tag(f"set {name} = namespace({values})")
        name = self.rng.choice(spaces)
        value = {
            "count": self.rng.choice((f"{name}.count + 1", self.expression("int", 1))),
            "text": self.rng.choice((f"{name}.text ~ {self.leaf('any')}", self.leaf("str"))),
            "found": self.expression("bool", 1),
        }[attribute]
        shown = self.output(f"{name}.{attribute}") if self.rng.random() < 0.4 else ""
        return self.tag(f"set {name}.{attribute} = {value}") + shown

    def set_block(self, depth: int) -> str:
        name = self.rng.choice(_LOCAL)
        filters = (
            self.rng.choice((" | trim", " | upper | trim")) if self.rng.random() < 0.03 else ""
        )
        body = self.block(depth - 1, {})
        self.scopes[-1][name] = "str"
        return self.tag(f"set {name}{filters}") + body + self.tag("endset")

    def macro(self, depth: int) -> str:
        if self.in_macro and self.rng.random() < 0.9:
            return self.condition(depth)
        self.num_macros += 1
        name = f"macro_{self.num_macros}"
        kinds = [
            self.rng.choice(("str", "any", "int", "msg")) for _ in range(self.rng.randrange(3))
        ]
        names = self.rng.sample(("p", "q", "content", "s"), len(kinds))
        heads = []
        for at, kind in enumerate(kinds):
            has_default = self.rng.random() < 0.5 or (heads and "=" in heads[-1])
            heads.append(f"{names[at]}={self.leaf(kind)}" if has_default else names[at])
        inner = dict(zip(names, kinds, strict=True))
        loops, self.loops = self.loops, 0
        outside, self.in_macro = self.in_macro, True
        head = self.tag(f"macro {name}({self.arguments(*heads)})")
        body = self.block(depth - 1, inner)
        self.loops, self.in_macro = loops, outside
        self.macros.append((name, len(kinds)))
        return head + body + self.tag("endmacro")

    def generation(self, depth: int) -> str:
        loops, self.loops = self.loops, 0
        body = self.block(depth - 1, {})
        self.loops = loops
        return self.tag("generation") + body + self.tag("endgeneration")

    def comment(self, depth: int) -> str:
        left, right = self.rng.choice(("", "-", "+")), self.rng.choice(("", "-", "+"))
        return f"{{#{left} {self.rng.choice(('note', '{{ s }} {% if %}', '#', chr(10)))} {right}#}}"

    def raw(self, depth: int) -> str:
        inside = self.rng.choice(("{{ s }}", "{% if x %}", "{# kept #}", " \n", "{{ '"))
        begin = self.rng.choice(("{% raw %}", "{%- raw -%}", "{%+raw%}", self.tag("raw")))
        return begin + self.text() + inside + self.text() + self.tag("endraw")


# --- Rules: each makes an expression of its type.


@_rule("str", 6)
def _field(g: _Grammar, depth: int) -> str:
    message = g.target("msg", 0)
    key = g.rng.choice(("role", "role", "content", "content", "reasoning_content", g.key()))
    if key.isidentifier() and g.rng.random() < 0.6:
        return f"{message}.{key}"
    return f"{message}[{g.literal_text(key)}]"


@_rule("str", 8)
def _joined(g: _Grammar, depth: int) -> str:
    if g.rng.random() < 0.5:
        space = g.maybe_space()
        return _Compound(f"{g.part('str', depth)}{space}+{space}{g.part('str', depth)}")
    parts = [g.part("any", depth) for _ in range(g.rng.choice((2, 2, 3)))]
    return _Compound(" ~ ".join(parts))


@_rule("str", 8)
def _text_filter(g: _Grammar, depth: int) -> str:
    old, new = g.leaf("str"), g.leaf("str")
    name = g.rng.choice(
        (
            "trim",
            "trim",
            "upper",
            "lower",
            "capitalize",
            "title",
            "string",
            "safe",
            "reverse",
            f"trim({g.literal_text(g.rng.choice(('a', ' ', 'ab<', '')))})",
            f"replace({old}, {new})",
            f"replace({old}, {new}, 1)",
            "default('none')",
        )
    )
    bar = g.rng.choice(("|", " | ", " |\n"))
    return f"{g.part('str', depth)}{bar}{name}"


@_rule("str", 6)
def _as_json(g: _Grammar, depth: int) -> str:
    options = g.rng.choice(
        (
            "",
            "",
            "",
            "(indent=2)",
            "(indent=4, sort_keys=true)",
            "(sort_keys=true)",
            "(separators=(',', ':'))",
            "(ensure_ascii=false)",
            "(ensure_ascii=true)",
            "(true)",
            "(indent=0)",
            "(indent=1, separators=(', ', ' = '))",
        )
    )
    return f"{g.part('any', depth)}|tojson{options}"


@_rule("str", 4)
def _as_text(g: _Grammar, depth: int) -> str:
    return f"{g.part('any', depth)}|string"


@_rule("str", 8)
def _text_method(g: _Grammar, depth: int) -> str:
    what = g.literal_text(g.rng.choice(("a", " ", "\n", "<think>", "</think>", ",", "user", "")))
    method = g.rng.choice(
        (
            "strip()",
            f"strip({what})",
            "lstrip()",
            f"lstrip({what})",
            "rstrip()",
            f"rstrip({what})",
            "upper()",
            "lower()",
            "capitalize()",
            "title()",
            f"replace({what}, {g.leaf('str')})",
            f"replace({what}, {g.leaf('str')}, {g.leaf('int')})",
            f"split({what})[0]",
            f"split({what})[-1]",
            f"split({what}, 1)[-1]",
            "split()[0]",
            "rstrip('\\n').split('<think>')[-1].lstrip('\\n')",
        )
    )
    return f"{g.target('str', depth)}.{method}"


@_rule("str", 4)
def _text_slice(g: _Grammar, depth: int) -> str:
    return f"{g.target('str', depth)}[{_slice(g, depth)}]"


def _slice(g: _Grammar, depth: int) -> str:
    bound = ("", "", "1", "-1", "2", "-3", "100", "n", "none", "0", "s|length - 1")
    step = g.rng.choice(("", "", "", ":", ":-1", ":2", ":-2", ":1", ":none"))
    return f"{g.rng.choice(bound)}:{g.rng.choice(bound)}{step}"


@_rule("str", 4)
def _join_list(g: _Grammar, depth: int) -> str:
    between = g.leaf("str")
    return g.rng.choice(
        (
            f"{g.part('list', depth)}|join",
            f"{g.part('strs', depth)}|join({between})",
            f"{between}.join({g.part('strs', depth)})",
            f"messages|join({between}, attribute='role')",
            f"messages|map(attribute='role')|join({between})",
            f"{g.part('strs', depth)}|map('upper')|join({between})",
        )
    )


@_rule("str", 3)
def _one_of(g: _Grammar, depth: int) -> str:
    end = g.rng.choice(("|first", "|last", "[0]", "[-1]", "[n]"))
    return g.target("strs", depth) + end


@_rule("str", 3)
def _choice_text(g: _Grammar, depth: int) -> str:
    condition = g.part("bool", depth)
    other = f" else {g.part('str', depth)}" if g.rng.random() < 0.6 else ""
    return _Compound(f"{g.part('str', depth)} if {condition}{other}")


@_rule("str", 2)
def _fallback(g: _Grammar, depth: int) -> str:
    unsure = g.rng.choice(("missing", "maybe", "d.a", "tree.role", "messages[0].nokey", "nothing"))
    return g.rng.choice(
        (
            f"{unsure}|default({g.leaf('str')})",
            f"{unsure}|default({g.leaf('str')}, true)",
            f"{unsure}|default",
            _Compound(f"{unsure} or {g.leaf('str')}"),
            unsure,
        )
    )


@_rule("str", 1)
def _repeated(g: _Grammar, depth: int) -> str:
    return _Compound(f"{g.part('str', depth)} * {g.rng.choice(('0', '1', '3', 'true'))}")


@_rule("str", 1)
def _formatted(g: _Grammar, depth: int) -> str:
    return _Compound(g.rng.choice(("'%s and %d' % (s, n)", "'%s' % t", "'a' % ()")))


@_rule("str", 8)
def _call_macro(g: _Grammar, depth: int) -> str:
    if not g.macros:
        return g.leaf("str")
    name, count = g.rng.choice(g.macros)
    given = g.rng.randint(0, count) if g.rng.random() < 0.4 else count
    parts = [g.expression("str", depth) for _ in range(given)]
    if g.rng.random() < 0.05:
        parts.append(g.rng.choice(("'too many'", "q=1", "p='by name'")))
    return f"{name}({g.arguments(*parts)})"


@_rule("str", 1)
def _refuse(g: _Grammar, depth: int) -> str:
    if g.rng.random() < 0.2:
        return f"raise_exception({g.leaf('str')})"
    return _Compound("raise_exception('refused: ' ~ s) if s == 'never' else s")


@_rule("int", 6)
def _count(g: _Grammar, depth: int) -> str:
    kind = g.rng.choice(("str", "list", "dict", "msgs", "strs", "undefined"))
    if kind == "undefined":
        return "missing|length"
    return f"{g.part(kind, depth)}|{g.rng.choice(('length', 'length', 'count'))}"


@_rule("int", 6)
def _arithmetic(g: _Grammar, depth: int) -> str:
    sign = g.rng.choice(("+", "-", "-", "//", "%"))
    one = g.part("int", depth)
    other = g.part("int", depth) if sign in "+-" else g.rng.choice(("2", "3", "7", "(-3)", "n"))
    return _Compound(f"{one} {sign} {other}")


@_rule("int", 3)
def _product(g: _Grammar, depth: int) -> str:
    factor = g.rng.choice(("0", "1", "2", "3", "(-2)"))
    return _Compound(f"{g.part('int', depth)} {g.rng.choice(('*', '*', '**'))} {factor}")


@_rule("int", 4)
def _to_int(g: _Grammar, depth: int) -> str:
    end = g.rng.choice(("|int", "|int", "|int(-1)", "|int(default=5)"))
    return g.part(g.rng.choice(("str", "int", "float", "none")), depth) + end


@_rule("int", 2)
def _sign(g: _Grammar, depth: int) -> str:
    if g.rng.random() < 0.5:
        return f"{g.part('int', depth)}|abs"
    return _Compound(f"{g.rng.choice('-+')}{g.part('int', depth)}")


@_rule("int", 3)
def _found(g: _Grammar, depth: int) -> str:
    method = g.rng.choice(("find", "count"))
    return f"{g.target('str', depth)}.{method}({g.leaf('str')})"


@_rule("int", 2)
def _number_of(g: _Grammar, depth: int) -> str:
    return g.target("ints", depth) + g.rng.choice(("[0]", "[-1]", "|first", "|last", "[true]"))


@_rule("float", 5)
def _float_arithmetic(g: _Grammar, depth: int) -> str:
    sign = g.rng.choice(("+", "-", "*", "/", "%", "//"))
    one, other = g.part("float", depth), g.part(g.rng.choice(("float", "int")), 0)
    return _Compound(f"{one} {sign} {other}")


@_rule("float", 3)
def _quotient(g: _Grammar, depth: int) -> str:
    return _Compound(f"{g.part('int', depth)} / {g.rng.choice(('2', '3', '10', 'n'))}")


@_rule("float", 3)
def _to_float(g: _Grammar, depth: int) -> str:
    end = g.rng.choice(("|float", "|float(1.5)", "|abs"))
    kind = (
        g.rng.choice(("float", "int")) if end == "|abs" else g.rng.choice(("str", "int", "float"))
    )
    return g.part(kind, depth) + end


@_rule("bool", 6)
def _compared(g: _Grammar, depth: int) -> str:
    kind = g.rng.choice(("str", "str", "int", "int", "float"))
    made = g.part(kind, depth)
    for _ in range(g.rng.choice((1, 1, 1, 2))):
        sign = g.rng.choice(("==", "==", "!=", "<", "<=", ">", ">="))
        made += f" {sign} {g.part(kind, depth)}"
    return _Compound(made)


@_rule("bool", 3)
def _equal_things(g: _Grammar, depth: int) -> str:
    sign = g.rng.choice(("==", "!="))
    return _Compound(f"{g.part('any', depth)} {sign} {g.part('any', depth)}")


@_rule("bool", 5)
def _inside(g: _Grammar, depth: int) -> str:
    word = g.rng.choice(("in", "in", "not in"))
    over = g.rng.choice(("str", "strs", "dict", "list", "msg"))
    return _Compound(f"{g.part('str', depth)} {word} {g.part(over, depth)}")


@_rule("bool", 8)
def _tested(g: _Grammar, depth: int) -> str:
    kind = g.rng.choice(("any", "any", "undefined", "str", "msg"))
    test = g.rng.choice(
        (
            "string",
            "defined",
            "undefined",
            "mapping",
            "iterable",
            "none",
            "sequence",
            "boolean",
            "true",
            "false",
            "number",
            "integer",
            "float",
        )
    )
    if g.rng.random() < 0.15:
        kind, test = "int", g.rng.choice(("odd", "even", "divisibleby(3)", "divisibleby 2"))
    elif g.rng.random() < 0.15:
        test = g.rng.choice((f"equalto({g.leaf('any')})", f"in({g.leaf('list')})", "eq 'a'"))
    return _Compound(f"{g.part(kind, depth)} is {g.rng.choice(('', '', 'not '))}{test}")


@_rule("bool", 5)
def _logic(g: _Grammar, depth: int) -> str:
    if g.rng.random() < 0.3:
        return _Compound(f"not {g.part('bool', depth)}")
    word = g.rng.choice(("and", "or"))
    return _Compound(f"{g.part('bool', depth)} {word} {g.part('bool', depth)}")


@_rule("bool", 3)
def _truth(g: _Grammar, depth: int) -> str:
    return g.part("any", depth)


@_rule("bool", 4)
def _edges(g: _Grammar, depth: int) -> str:
    method = g.rng.choice(("startswith", "endswith"))
    what = g.rng.choice((g.leaf("str"), "'<think>'", "''", "('a', 'b')"))
    return f"{g.target('str', depth)}.{method}({what})"


@_rule("strs", 5)
def _split(g: _Grammar, depth: int) -> str:
    what = g.rng.choice(("", "", "' '", "'</think>'", "','", "none", "none, 1", "'a', 2", "'\\n'"))
    return f"{g.target('str', depth)}.split({what})"


@_rule("strs", 4)
def _mapped(g: _Grammar, depth: int) -> str:
    return g.rng.choice(
        (
            f"{g.part('strs', depth)}|map('upper')|list",
            f"{g.part('strs', depth)}|map('trim')|list",
            f"{g.part('strs', depth)}|map('replace', 'a', 'o')|list",
            f"{g.part('strs', depth)}|map('length')|map('string')|list",
            "messages|map(attribute='role')|list",
            "messages|map(attribute='content')|list",
            "messages|map(attribute='nokey', default='-')|list",
            "messages|map(attribute='nokey')|list|length|string|list",
            "tools|map(attribute='tool_calls.0.function.name')|list",
        )
    )


@_rule("strs", 3)
def _chosen(g: _Grammar, depth: int) -> str:
    verb = g.rng.choice(("select", "reject"))
    test = g.rng.choice(("", "('string')", "('equalto', 'a')", "('in', words)", "('defined')"))
    return f"{g.part('strs', depth)}|{verb}{test}|list"


@_rule("strs", 3)
def _distinct(g: _Grammar, depth: int) -> str:
    name = g.rng.choice(("unique", "unique(true)", "unique(case_sensitive=true)"))
    return f"{g.part('strs', depth)}|{name}|list"


@_rule("strs", 3)
def _strs_of(g: _Grammar, depth: int) -> str:
    return g.rng.choice(
        (
            f"{g.part('str', depth)}|list",
            f"{g.part('strs', depth)}|reverse|list",
            f"{g.target('strs', depth)}[{_slice(g, depth)}]",
            _Compound(f"{g.part('strs', 0)}|list + {g.leaf('strs')}|list"),
            "d.keys()|list",
            "tree|list",
            f"[{g.leaf('str')}, {g.leaf('str')}]",
        )
    )


@_rule("ints")
def _ints_of(g: _Grammar, depth: int) -> str:
    numbers = g.target("ints", depth)
    return g.rng.choice(
        (
            f"{numbers}[{_slice(g, depth)}]",
            f"{numbers}|reverse|list",
            f"{numbers}|select('odd')|list",
            f"{numbers}|reject('even')|list",
            f"{numbers}|map('abs')|list",
            f"{numbers}|unique|list",
            f"[{g.part('int', depth)}, {g.part('int', depth)}]",
            f"({g.part('int', depth)},)",
            "range(1, 9, 3)|list",
            "range(5)[1:3]|list" if g.rng.random() < 0.1 else "range(5)|list",
            "range(n)|list|length|string|map('int')|list",
        )
    )


@_rule("msgs")
def _some_messages(g: _Grammar, depth: int) -> str:
    word = g.leaf("str")
    return g.rng.choice(
        (
            f"messages[{_slice(g, depth)}]",
            f"messages|selectattr('role', 'equalto', {word})|list",
            f"messages|rejectattr('role', 'in', ['user', {word}])|list",
            "messages|selectattr('tool_calls')|list",
            "messages|selectattr('reasoning_content', 'defined')|list",
            "messages|rejectattr('content', 'string')|list",
            "messages|reverse|list",
            _Compound("messages + tools"),
        )
    )


@_rule("list", 4)
def _list_literal(g: _Grammar, depth: int) -> str:
    parts = [g.expression("any", depth) for _ in range(g.rng.randrange(4))]
    if g.rng.random() < 0.2 and parts:
        return f"({g.arguments(*parts)},)"
    return f"[{g.arguments(*parts)}{g.rng.choice(('', '', ','))}]" if parts else "[]"


@_rule("list", 4)
def _list_of(g: _Grammar, depth: int) -> str:
    made = g.target("dict", depth)
    return g.rng.choice(
        (
            f"{made}|dictsort",
            f"{made}|dictsort(true)",
            f"{made}|dictsort(by='value')",
            f"{made}|dictsort(reverse=true)",
            f"{made}.items()|list",
            f"{made}|items|list",
            f"{made}.values()|list",
            f"{made}.keys()",
            f"{made}|list",
            f"{g.target('list', depth)}[{_slice(g, depth)}]",
            f"{g.part('list', depth)}|{g.rng.choice(('select', 'reject'))}('none')|list",
            f"{g.part('list', depth)}|map('string')|list",
            f"{g.part('list', depth)}|reverse|list",
            f"{g.part('list', depth)}|select('mapping')|list",
        )
    )


@_rule("list", 2)
def _other_lists(g: _Grammar, depth: int) -> str:
    return g.part(g.rng.choice(("strs", "ints", "msgs")), depth)


@_rule("dict", 4)
def _dict_literal(g: _Grammar, depth: int) -> str:
    pairs = []
    for _ in range(g.rng.randrange(4)):
        key = g.literal_text(g.key()) if g.rng.random() < 0.9 else g.leaf("int")
        pairs.append(f"{key}:{g.space()}{g.expression('any', depth)}")
    return f"{{{g.maybe_space()}{g.arguments(*pairs)}{g.maybe_space()}}}"


@_rule("dict", 3)
def _dict_call(g: _Grammar, depth: int) -> str:
    return g.rng.choice(
        (
            f"dict(a={g.leaf('any')}, content={g.leaf('str')})",
            f"dict({g.part('dict', depth)}, b={g.leaf('any')})",
            "dict([('a', 1), ['b', s]])" if g.rng.random() < 0.1 else "dict()",
            "messages[0]",
        )
    )


@_rule("any")
def _anything(g: _Grammar, depth: int) -> str:
    return g.leaf("str")


@_rule("none")
def _of_dict(g: _Grammar, depth: int) -> str:
    key = g.key()
    return g.rng.choice(
        (
            f"{g.target('dict', depth)}.get({g.literal_text(key)})",
            f"{g.target('dict', depth)}.get({g.literal_text(key)}, {g.leaf('any')})",
            f"{g.target('dict', 0)}[{g.literal_text(key)}]",
            f"d.{key}" if key.isidentifier() else "d.a",
            "tree.a.b" if g.rng.random() < 0.1 else "tree.a",
            "mixed[0]",
            "mixed[-1]",
            "mixed|first",
            "mixed|last",
        )
    )


# --- Whole templates.


def random_template(rng: random.Random) -> str:
    """A template; a few have a character too many, or too few."""
    grammar = _Grammar(rng)
    parts = [grammar.text()]
    while grammar.size > 0:
        parts += [grammar.statement(3), grammar.text()]
    source = "".join(parts)
    if rng.random() < _MUTATED:
        at = rng.randrange(len(source) + 1)
        more = rng.choice(("", "", "-", "'", "{", "}", "%}", "{{", "|", ".", ")", "(", " ", "if"))
        source = source[:at] + more + source[at + rng.randrange(3) :]
    return source


# What prints a field of the message `m`, mostly whole.
_SAYS = (
    "{0}",
    "{0}",
    "{0} or ''",
    "{0}|trim",
    "'<' ~ {0} ~ '>'",
    "({0} or '')|replace('zz', 'z')",
    "({0} or '')|upper",
    "({0} or '').split('</think>')[-1]|trim",
    "{0} if {0} is string else ''",
    "[{0}, '']|select|join(' ')",
    "{{'a': {0}}}|tojson",
    "say({0})",
)
_CALLS = (
    "{% for call in m.tool_calls or [] %}{{ call.function.name ~ call.function.arguments|string }}"
    "{% endfor %}",
    "{% if m.tool_calls %}{% set call = m.tool_calls[0] %}{{ call.function.name }}"
    "{{ call.function.arguments|tojson }}{% endif %}",
    "{{ m.tool_calls|tojson if m.tool_calls else '' }}",
    "{{ (m.tool_calls or [])|map(attribute='function')|list|tojson }}",
    "{% for call in (m.tool_calls or [])[-1:] %}{{ call.function|tojson }}{% endfor %}",
    "{% set held %}{% for call in m.tool_calls or [] %}{{ call.function.name }}"
    "{{ call.function.arguments|tojson }}{% endfor %}{% endset %}{{ held|trim }}",
    "",
)
_WHOSE = (
    *(["{}"] * 6),
    "{{% if loop.last %}}{}{{% endif %}}",
    "{{% if m.role != 'tool' %}}{}{{% endif %}}",
    "{{% if m.role == 'user' or m.role == 'assistant' %}}{}{{% endif %}}",
    "{{% set held %}}{}{{% endset %}}{{{{ held }}}}",
    "{{% set ns.held = ns.held ~ m.role %}}{}",
)
_SETTING = (
    "{% set s, t, i, n, big, f, g, flag = 'a b', 'user', 1, 2, 3, 0.5, 1.5, true %}"
    "{% set words, nums, mixed, d = ['a', 'b'], [1, 2], [1, 'x'], {'a': 1, 'content': 'y'} %}"
    "{% set tree, nothing, maybe = {'a': {'b': 1}}, none, 'perhaps' %}"
    "{% macro say(p) %}[{{ p }}]{% endmacro %}{% set ns = namespace(held='') %}"
)


def random_chat_template(rng: random.Random) -> str:
    """A template of a loop over messages, which prints most of what they say, and other things."""
    grammar = _Grammar(rng)
    grammar.scopes.append({"m": "msg"})
    grammar.loops = 1
    says = [f"{{{{ {rng.choice(_SAYS).format('m.content')} }}}}", rng.choice(_CALLS)]
    if rng.random() < 0.7:
        thought = rng.choice(_SAYS).format("m.reasoning_content")
        says.insert(0, f"{{% if m.reasoning_content %}}{{{{ {thought} }}}}{{% endif %}}")
    body = ["<", "{{ m.role }}" if rng.random() < 0.6 else "", ">"]
    for part in says:
        if rng.random() < 0.3:
            body.append(grammar.statement(1))
        body.append(rng.choice(_WHOSE).format(part))
    tools = rng.choice(
        ("{{ tools|tojson if tools }}", "{% for t in tools or [] %}{{ t }}{% endfor %}")
    )
    parts = [
        tools if rng.random() < 0.6 else "",
        f"{{% for m in messages %}}{''.join(body)}\n{{% endfor %}}",
    ]
    if rng.random() < 0.2:
        grammar.scopes.pop()
        grammar.loops = 0
        parts.insert(rng.randrange(3), grammar.statement(1))
    return _SETTING + "".join(parts)


def random_case(seed: int, draws: int) -> tuple[str, list[dict[str, Any]]]:
    """The template of a seed, and so many draws of its variables."""
    rng = random.Random(seed)
    source = random_template(rng)
    return source, [random_variables(rng) for _ in range(draws)]


def share_that_renders(seeds: range, draws: int) -> tuple[float, Counter[str]]:
    """Of so many seeds: the share of renders without an error in Jinja2, and the errors."""
    from compare import by_jinja2

    errors: Counter[str] = Counter()
    renders = 0
    for seed in seeds:
        source, all_variables = random_case(seed, draws)
        for variables in all_variables:
            renders += 1
            outcome = by_jinja2(source, variables)
            if outcome.kind != "text":
                errors[f"{outcome.kind}: {outcome.value[:70]}"] += 1
    return 1 - errors.total() / renders, errors


if __name__ == "__main__":
    _share, _errors = share_that_renders(range(int(sys.argv[1])), 4)
    print(f"{_share:.1%} render")
    for _error, _times in _errors.most_common(40):
        print(f"{_times:8,} {_error}")
