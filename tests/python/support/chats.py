"""Conversations, tools and options that chat templates are rendered with."""

from collections.abc import Iterator
from typing import Any

Message = dict[str, Any]
Chat = list[Message]

# White space that str.isspace knows, ASCII's separators and Unicode's among it, and two code points
# that only look like it.
SPACES = "\x1c\x1d\x1e\x1f\x85\xa0\u2007\u2028\u2029\u202f\u3000 \t\n\x0b\x0c\r"
NO_SPACES = "\u200b\ufeff"

_TURN_MARKS = "<|im_end|>\n<|im_start|>assistant\n"


def _user(content: Any) -> Message:
    return {"role": "user", "content": content}


def _assistant(content: Any, **fields: Any) -> Message:
    return {"role": "assistant", "content": content, **fields}


def _system(content: Any) -> Message:
    return {"role": "system", "content": content}


def _call(name: str, arguments: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}, **fields}


def _tool(content: Any, **fields: Any) -> Message:
    return {"role": "tool", "content": content, **fields}


_HARBOUR = {"harbour": "Kiel", "hours": [7, 8.5], "strict": True, "limit": None, "note": "<&'é\">"}

# What masks of the assistant's tokens are measured on (reference/trainers.md), in our own words.
MEASURED: dict[str, Chat] = {
    "plain": [_user("When does the ferry leave?"), _assistant("At seven.")],
    "system": [
        _system("You are the harbour master."),
        _user("Is the mail there?"),
        _assistant("Not yet."),
        _user("And now?"),
        _assistant("Now it is."),
    ],
    "tools": [
        _user("What leaves Kiel today?"),
        _assistant("", tool_calls=[_call("departures", _HARBOUR)]),
        _tool('{"count": 2}', name="departures"),
        _assistant("Two ferries."),
    ],
    "thinking inline": [
        _user("2 + 2?"),
        _assistant("<think>\nTwo and two.\n</think>\n\n4"),
        _user("And 3 + 3?"),
        _assistant("<think>Three, twice.</think>6"),
    ],
    "thinking by field": [
        _user("2 + 2?"),
        _assistant("4", reasoning_content="Two and two."),
        _user("And 3 + 3?"),
        _assistant("6", reasoning_content="\nThree, twice.\n"),
    ],
    "spaces": [
        _system("  Be brief. \n"),
        _user("\n\n  hello\t "),
        _assistant("  hello too \n\n"),
        _user("   "),
        _assistant("\n"),
    ],
    "repeats": [_user("yes"), _assistant("yes"), _user("yes"), _assistant("yes")],
    "empty answer": [_user("Say nothing."), _assistant(""), _user(""), _assistant("")],
    "markers in the text": [
        _user(f"What does <|im_end|> mean?{_TURN_MARKS}"),
        _assistant(f"It ends a turn: <|im_end|>{_TURN_MARKS}</s> <|eot_id|> [/INST] <eos>"),
    ],
    "many turns": [
        message
        for turn in range(6)
        for message in (_user(f"question {turn}"), _assistant(f"answer {turn}"))
    ],
    "an open question": [_system("Answer."), _user("one"), _assistant("two"), _user("three")],
    "two calls at once": [
        _user("Kiel and Rostock?"),
        _assistant(
            "I look both up.",
            tool_calls=[
                _call("departures", {"harbour": "Kiel"}, id="call_001"),
                _call("departures", {"harbour": "Rostock"}, id="call_002"),
            ],
        ),
        _tool("2", tool_call_id="call_001", name="departures"),
        _tool("0", tool_call_id="call_002", name="departures"),
        _assistant("Two, and none."),
        _user("Thanks."),
        _assistant("Always."),
    ],
    "thinking and tools": [
        _system("Think."),
        _user("How deep is it?"),
        _assistant(
            "I ask.",
            reasoning_content="The chart knows.",
            thinking="The chart knows.",
            tool_calls=[_call("depth", {"at": [54.3, 10.1], "exact": False})],
        ),
        _tool('{"metres": 12.50}'),
        _assistant("12.5 metres.", reasoning_content="Read it aloud.", thinking="Read it aloud."),
    ],
}

CHATS: dict[str, Chat] = {
    **MEASURED,
    "white space of Unicode": [
        _system(SPACES),
        _user(f"{SPACES}inside{SPACES}and{SPACES}"),
        _assistant(f"{NO_SPACES} kept {NO_SPACES}"),
        _user("\u3000\u2028"),
        _assistant("\x1cseparated\x1f"),
    ],
    "other scripts": [
        _user("渡轮几点开船？ \U0001f468\u200d\U0001f469\u200d\U0001f467 e\u0301"),
        _assistant("Größe, ἄνθρωπος, İıſß, ﬁ, \U00020000, \x00 and \uffff"),
    ],
    "arguments as JSON text": [
        _user("Kiel?"),
        _assistant(None, tool_calls=[_call("departures", '{"harbour": "Kiel", "n": 1.0}')]),
        _tool('[{"at": "07:00"}]', name="departures"),
        _assistant("At seven."),
    ],
    "a result that is no text": [
        _user("Kiel?"),
        _assistant("", tool_calls=[_call("departures", {})]),
        _tool({"count": 2, "at": [7, 8.5], "more": {"é": None}}, name="departures"),
        _assistant("Two."),
    ],
    "numbers in arguments": [
        _user("Count."),
        _assistant(
            "",
            tool_calls=[
                _call(
                    "count",
                    {"a": 1e16, "b": 1e-7, "c": 0.1, "d": -0.0, "e": 2**70, "f": 1.0, "g": 1e22},
                )
            ],
        ),
        _tool("done", name="count"),
        _assistant("Done."),
    ],
    "a call without its wrapper": [
        _user("Kiel?"),
        _assistant("", tool_calls=[{"name": "departures", "arguments": {"harbour": "Kiel"}}]),
        _tool("2"),
        _assistant("Two."),
    ],
    "thinking broken": [
        _user("<think>mine</think>"),
        _assistant("no beginning</think>answer"),
        _user("again"),
        _assistant("<think>no end"),
        _user("again"),
        _assistant("<think>a</think>b<think>c</think>d"),
    ],
    "same role twice": [_user("one"), _user("two"), _assistant("three"), _assistant("four")],
    "answer first": [_assistant("Hello!"), _user("Hello.")],
    "only a system": [_system("Be brief.")],
    "two systems": [_system("Be brief."), _user("a"), _system("Be long."), _assistant("b")],
    "developer": [
        {"role": "developer", "content": "Be exact."},
        _user("How many?"),
        _assistant("Twelve."),
    ],
    "unknown role": [_user("a"), {"role": "narrator", "content": "b"}, _assistant("c")],
    "content missing": [_user("a"), {"role": "assistant"}],
    "content is none": [_user(None), _assistant(None)],
    "content in parts": [
        _system([{"type": "text", "text": "Be brief."}]),
        _user([{"type": "text", "text": " one "}, {"type": "text", "text": "two"}]),
        _assistant([{"type": "text", "text": "three "}]),
        _user([{"type": "image"}, {"type": "text", "text": "What is it?"}]),
        _assistant("A lighthouse."),
    ],
    "content is a number": [_user(7), _assistant(7.0)],
    "fields with the names of methods": [
        {"role": "user", "content": "a", "items": [1], "keys": "k", "get": 2, "update": "u"},
        {"role": "assistant", "content": "b", "values": None, "tool_calls": [], "name": "n"},
    ],
    "a text in place of a message": [_user("a"), "b"],  # type: ignore[list-item]
    "empty": [],
}

TOOLS: dict[str, list[Any]] = {
    "departures": [
        {
            "type": "function",
            "function": {
                "name": "departures",
                "description": 'Lists ferries: "today\'s" <all> & é.\nBy hour.',
                "parameters": {
                    "type": "object",
                    "properties": {
                        "harbour": {"type": "string", "description": "Where from"},
                        "hours": {
                            "type": "array",
                            "items": {"type": "number"},
                            "description": "Which hours",
                        },
                        "kind": {"type": "string", "enum": ["ferry", "mail"], "default": "ferry"},
                        "limit": {"type": ["integer", "null"], "default": None, "minimum": 0},
                        "strict": {"type": "boolean", "nullable": True, "default": False},
                        "box": {
                            "type": "object",
                            "properties": {
                                "width": {"type": "number", "default": 1.0},
                                "names": {"type": "array", "items": {"type": "string"}},
                            },
                            "required": ["width"],
                        },
                        "either": {
                            "oneOf": [
                                {"type": "string", "description": "a name", "default": "x"},
                                {"type": "array", "items": {"type": "array", "items": {}}},
                            ]
                        },
                    },
                    "required": ["harbour"],
                },
                "return": {"type": "object", "description": "the ferries"},
            },
        },
        {
            "type": "function",
            "function": {
                "name": "depth",
                "description": "How deep it is",
                "parameters": {"type": "object", "properties": {}},
                "strict": True,
            },
        },
    ],
    # Without the wrapper, and with what schemas seldom have.
    "bare": [
        {"name": "count", "description": "", "parameters": {"type": "object", "required": []}},
        {
            "name": "any",
            "description": "x" * 300,
            "parameters": {
                "type": "object",
                "properties": {"items": {"type": "object"}, "Keys": {}, "b": {"type": "string"}},
                "$defs": {"z": 1, "A": 2.0, "m": [True, None]},
            },
        },
    ],
    "little": [{"type": "function", "function": {"name": "nothing"}}],
}

OPTIONS: dict[str, dict[str, Any]] = {
    "none": {"tools": None, "documents": None, "add_generation_prompt": False},
    "prompt": {"tools": None, "documents": None, "add_generation_prompt": True},
    "prompt, no thinking": {
        "tools": None,
        "documents": None,
        "add_generation_prompt": True,
        "enable_thinking": False,
    },
    "thinking": {
        "tools": None,
        "documents": None,
        "add_generation_prompt": True,
        "enable_thinking": True,
        "thinking": True,
        "reasoning_effort": "high",
        "preserve_thinking": True,
    },
    "tools": {
        "tools": TOOLS["departures"],
        "documents": None,
        "add_generation_prompt": False,
        "date_string": "01 Feb 2031",
    },
    "tools, prompt, options": {
        "tools": TOOLS["departures"],
        "documents": None,
        "add_generation_prompt": True,
        "enable_thinking": True,
        "date_string": "01 Feb 2031",
        "builtin_tools": ["browser", "python", "code_interpreter"],
        "tools_in_user_message": False,
        "model_identity": "You are a lighthouse.",
        "clear_thinking": False,
        "add_vision_id": True,
    },
    "bare tools": {"tools": TOOLS["bare"], "documents": None, "add_generation_prompt": True},
    "little tool": {
        "tools": TOOLS["little"],
        "documents": [{"title": "Tides", "text": "They come twice a day."}],
        "add_generation_prompt": False,
        "enable_thinking": False,
        "thinking": False,
        "tools_in_user_message": True,
    },
    "no tools": {"tools": [], "documents": [], "add_generation_prompt": False},
    "nothing given": {},
}

SPECIAL_TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


def cases() -> Iterator[tuple[str, dict[str, Any]]]:
    """All chats with all options: what they are, and the variables of a template."""
    for chat, messages in CHATS.items():
        for options, given in OPTIONS.items():
            yield f"{chat} / {options}", {**SPECIAL_TOKENS, "messages": messages, **given}
