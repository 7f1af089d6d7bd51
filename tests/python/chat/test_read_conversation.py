"""What a row's messages are read as, whatever Python objects they are made of."""

import datetime
import decimal
import json
import types
from collections import OrderedDict, UserDict, UserList, deque
from enum import StrEnum
from typing import Any

import numpy as np
import pytest
from easydata.transforms.conversation import DEFAULT_ROLE_MAPPING, FROM_VALUE_ROLES, decoded

from easydata import _native

DAY = datetime.date(2024, 5, 17)
PRICE = decimal.Decimal("1.50")
COUNT = np.int64(7)
CALL = {"function": {"name": "f", "arguments": {"x": (1, 2)}}}


def read_conversation(
    value: Any, field: str, roles: dict[str, str] | None = FROM_VALUE_ROLES
) -> list[dict[str, Any]]:
    return _native.read_conversation(value, field, roles, decoded)


class Role(StrEnum):
    USER = "user"


def user(**more: Any) -> dict[str, Any]:
    return {"role": "user", "content": "a", **more}


READ: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "as it should be": ([user()], [user()]),
    "JSON text": (' [{"role": "user", "content": "é"}]', [{"role": "user", "content": "é"}]),
    "JSON text beyond the standard": (
        '[{"role": "user", "content": "a", "weight": Infinity, "n": 123456789012345678901234}]',
        [user(weight=float("inf"), n=123456789012345678901234)],
    ),
    "keys of no value": ([user(name=None, tool_calls=None)], [user()]),
    "no content": ([{"role": "assistant", "content": None}], [{"role": "assistant"}]),
    "other keys": (
        [user(day=DAY, price=PRICE, count=COUNT, ids=(1, [2]), big=2**70, nested={"a": None})],
        [user(day=DAY, price=PRICE, count=COUNT, ids=(1, [2]), big=2**70, nested={"a": None})],
    ),
    "keys that are no text": (
        [{5: "five", "role": "user", None: 1, ("a",): 2, "content": "a"}],
        [{5: "five", "role": "user", None: 1, ("a",): 2, "content": "a"}],
    ),
    "an empty key": ([{"": 1, 5: 2, **user()}], [{"": 1, 5: 2, **user()}]),
    "a tuple of messages": ((user(), user()), [user(), user()]),
    "other sequences and mappings": (
        UserList([UserDict(user()), OrderedDict(user()), types.MappingProxyType(user())]),
        [user(), user(), user()],
    ),
    "a deque": (deque([user()]), [user()]),
    "a subclass of str": (
        [{"role": Role.USER, "content": np.str_("a")}],
        [{"role": Role.USER, "content": np.str_("a")}],
    ),
    "lone surrogates": (
        [{"role": "user", "content": "a\ud800", "\udc00": "\ud83d", "parts": ["\ud800"]}],
        [{"role": "user", "content": "a\ud800", "\udc00": "\ud83d", "parts": ["\ud800"]}],
    ),
    "a lone surrogate in a part": (
        [{"role": "user", "content": ["x\ud800", {"text": "é"}]}],
        [{"role": "user", "content": "x\ud800é"}],
    ),
    "text parts": (
        [
            user(
                content=[
                    {"type": "text", "text": "W"},
                    "h",
                    {"text": "o?"},
                    {"type": None, "text": ""},
                ]
            )
        ],
        [user(content="Who?")],
    ),
    "text parts with a value": (
        [
            user(
                content=[
                    {"type": "text", "value": "W"},
                    {"value": "h", "text": None},
                    {"type": "text", "text": "o?", "value": "o?"},
                ]
            )
        ],
        [user(content="Who?")],
    ),
    "a tuple of parts": ([user(content=("b", UserDict({"text": "c"})))], [user(content="bc")]),
    "no parts": ([user(content=[])], [user(content="")]),
    "from and value": (
        [
            {"from": "human", "value": "a"},
            {"weight": 1, "from": " GPT\n", "value": ["b", {"text": "c"}], "id": DAY},
            {"from": "function_call", "value": "d", "content": 5, "role": "x"},
        ],
        [
            {"role": "user", "content": "a"},
            {"weight": 1, "id": DAY, "role": "assistant", "content": "bc"},
            {"content": "d", "role": "assistant"},
        ],
    ),
    "a role of another type beside from": (
        [{"from": "human", "value": "a", "role": 5}],
        [{"role": "user", "content": "a"}],
    ),
    "from without value": ([user(**{"from": "x"})], [user(**{"from": "x"})]),
    "value without from": ([user(value=3, **{"from": None})], [user(value=3)]),
    "the Kelvin sign": ([{"from": "\u212aIND", "value": "a"}], [user()]),
    "a name beyond ASCII": ([{"from": "\u00a0ЧЕЛОВЕК ", "value": "a"}], [user()]),
    "a final sigma": ([{"from": "ΣΟΦΟΣ", "value": "a"}], [user()]),
    "calls": ([user(tool_calls=[CALL])], [user(tool_calls=[CALL])]),
    "calls as JSON": (
        [user(tool_calls=json.dumps([CALL]))],
        [user(tool_calls=json.loads(json.dumps([CALL])))],
    ),
    "calls as JSON beyond the standard": (
        [user(tool_calls='[{"x": -Infinity, "y": "\\ud800"}]')],
        [user(tool_calls=[{"x": float("-inf"), "y": "\ud800"}])],
    ),
    "calls as other text": (
        [user(tool_calls="[no JSON"), user(tool_calls="f()"), user(tool_calls=5)],
        [user(tool_calls="[no JSON"), user(tool_calls="f()"), user(tool_calls=5)],
    ),
    "thoughts": (
        [user(reasoning="r"), user(thinking="t", reasoning_content=None)],
        [user(reasoning="r"), user(thinking="t")],
    ),
}
ROLES = {**DEFAULT_ROLE_MAPPING, "function_call": "assistant"} | {
    "kind": "user",
    "человек": "user",
    "σοφος": "user",
    "σοφος"[:-1] + "ς": "user",
}


@pytest.mark.parametrize("case", READ)
def test_is_read_as(case: str) -> None:
    given, expected = READ[case]
    read = read_conversation(given, "messages", ROLES)
    assert type(read) is list
    assert [type(message) for message in read] == [dict] * len(read)
    assert read == expected
    assert [list(message) for message in read] == [list(message) for message in expected]


def test_what_stays_is_the_same_object() -> None:
    """No value is copied that the engine has nothing to do with."""
    calls, content, parts = [CALL], "a" * 1000, UserList(["b"])
    message = {"role": Role.USER, "content": content, "tool_calls": calls, "day": DAY, "x": parts}
    message.update({"price": PRICE, "count": COUNT, "big": 2**70, "bytes": b"bytes"})
    (read,) = read_conversation([message], "messages")
    for name, value in message.items():
        assert read[name] is value, name
    assert read is not message


NO_LIST = "field 'messages' holds {}, expected a list of messages"
NO_JSON = (
    "field 'messages' holds text that is no JSON list of messages; expected messages (dicts with "
    "role and content) or their JSON: {!r}"
)
NO_ROLE = "messages[0] names no role; expected role and content, or from and value; it has {}"
NO_NAME = (
    "messages[0] is from {}, which is no known role; known are assistant, bot, function, "
    "function_call, gpt, human, kind, model, system, tool, user, σοφος, человек; name others by "
    "role_mapping=, in a DatasetConfig by format_callback=ConvertToChatML(role_mapping=)"
)
REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "nothing": (None, TypeError, NO_LIST.format("nothing")),
    "a number": (3, TypeError, NO_LIST.format("a number")),
    "bytes": (b"[]", TypeError, NO_LIST.format("something else")),
    "a set": ({1}, TypeError, NO_LIST.format("something else")),
    "an object": (user(), TypeError, NO_LIST.format("an object")),
    "an array": (np.array([1]), TypeError, NO_LIST.format("something else")),
    "other text": ("Hello", ValueError, NO_JSON.format("Hello")),
    "long text": ("é" * 99, ValueError, NO_JSON.format("é" * 60)),
    "broken JSON": ('[{"role": ', ValueError, NO_JSON.format('[{"role": ')),
    "no message": ([], ValueError, "field 'messages' holds an empty conversation"),
    "no message in JSON": ("[]", ValueError, "field 'messages' holds an empty conversation"),
    "a text": (
        ["Hi"],
        TypeError,
        "messages[0] is text, expected a message with role, content",
    ),
    "no role": (
        [{"content": "a", "x": None, 5: 1}],
        ValueError,
        NO_ROLE.format("'content', a number"),
    ),
    "no key": ([{}], ValueError, NO_ROLE.format("nothing")),
    "from alone": ([{"from": "human", "value": None}], ValueError, NO_ROLE.format("'from'")),
    "an unknown name": ([{"from": "bing", "value": "a"}], ValueError, NO_NAME.format("'bing'")),
    "an unknown name beyond ASCII": (
        [{"from": "Ünbekannt", "value": "a"}],
        ValueError,
        NO_NAME.format("'Ünbekannt'"),
    ),
    "a name that is no text": ([{"from": 5, "value": "a"}], ValueError, NO_NAME.format("a number")),
    "content of numbers": (
        [user(content=5)],
        TypeError,
        "messages[0].content holds a number, expected text",
    ),
    "content of bytes": (
        [user(content=b"a")],
        TypeError,
        "messages[0].content holds something else, expected text",
    ),
    "content of an object": (
        [user(content={"text": "a"})],
        TypeError,
        "messages[0].content holds an object, expected text",
    ),
    "value of a day": (
        [{"from": "human", "value": DAY}],
        TypeError,
        "messages[0].value holds something else, expected text",
    ),
    "a part of another type": (
        [user(content=["a", {"type": "image", "text": "a"}])],
        ValueError,
        "messages[0].content[1] is a part of type 'image'; only text can be rendered: remove the "
        "others",
    ),
    "a part of no text": (
        [user(content=[{"text": 5}])],
        ValueError,
        "messages[0].content[0] is a part without text: it has 'text'; expected text under "
        "'text', or 'value'. Only text can be rendered: remove other parts",
    ),
    "a part with text under another key": (
        [user(content=[{"type": "text", "content": "a", "text": None}])],
        ValueError,
        "messages[0].content[0] is a part without text: it has 'type', 'content'; expected text "
        "under 'text', or 'value'. Only text can be rendered: remove other parts",
    ),
    "a part of two texts": (
        [user(content=[{"type": "text", "text": "a", "value": "b"}])],
        ValueError,
        "messages[0].content[0] has one text under 'text' and another under 'value': leave one of "
        "them out",
    ),
    "a part that is a number": (
        [user(content=["a", 5])],
        TypeError,
        "messages[0].content[1] is a number, expected a part with text",
    ),
    "a role that is no text": (
        [{"role": 5, "content": "a"}],
        TypeError,
        "messages[0].role is a number, expected text",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_is_refused(case: str) -> None:
    given, error, message = REFUSED[case]
    with pytest.raises(error) as caught:
        read_conversation(given, "messages", ROLES)
    assert str(caught.value) == message


def test_without_roles_names_are_no_roles() -> None:
    turn = {"from": "human", "value": "a"}
    with pytest.raises(ValueError, match=r"names no role; .* it has 'from', 'value'$"):
        read_conversation([turn], "messages", None)
    assert read_conversation([user(**turn)], "messages", None) == [user(**turn)]
