"""What masks of the assistant's turns must be, by rendering the beginning of a chat for each turn.

Slow and simple: Jinja2 as Transformers has it, offsets of Hugging Face's tokenizers, and nothing of
our engine.
"""

import random
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

from easydata.trainers import SFTPreprocessTransform

import easydata

Message = dict[str, Any]
Chat = list[Message]

SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
_THOUGHTS = ("reasoning_content", "thinking", "reasoning")
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "depth",
            "description": "How deep it is",
            "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
        },
    }
]


def _said(rng: random.Random, who: str) -> str:
    words = {
        "user": (
            "How deep is it?",
            "Und morgen?",
            "渡轮几点开船？",
            "Kiel",
            "ok\n\nand then?",
            "é",
        ),
        "assistant": (
            "Two metres.",
            "Größe: 2 m",
            "两米。",
            "7",
            "a\n\n```\nb\n```",
            "- one\n- two",
        ),
    }[who]
    text = rng.choice(words)
    shape = rng.random()
    if shape < 0.1:
        return text + rng.choice((" ", "\n", "  \n\n"))
    if shape < 0.2:
        return rng.choice((" ", "\n", "\n\n", "  ")) + text
    if shape < 0.26:
        return ""
    return text


def _answer(rng: random.Random, **fields: Any) -> Message:
    answer = {"role": "assistant", "content": _said(rng, "assistant"), **fields}
    thought = rng.random()
    if thought < 0.15:
        answer.update(dict.fromkeys(_THOUGHTS, rng.choice(("Hm.", "Two, or three?\nTwo."))))
    elif thought < 0.3:
        answer["content"] = f"<think>\nHm.\n</think>\n\n{answer['content']}"
    return answer


def random_chat(seed: int) -> tuple[Chat, list[Any] | None]:
    """A chat of a small grammar, and its tools."""
    rng = random.Random(seed)
    has_tools = rng.random() < 0.3
    chat: Chat = []
    if rng.random() < 0.4:
        chat.append(
            {"role": "system", "content": rng.choice(("Be brief.", "Sei kurz. ", "短く。"))}
        )
    if rng.random() < 0.06:
        chat.append(_answer(rng))
    for _ in range(rng.choice((1, 1, 2, 2, 3, 5))):
        chat.append({"role": "user", "content": _said(rng, "user")})
        if has_tools and rng.random() < 0.7:
            for _ in range(rng.choice((1, 1, 2))):
                places = ("Kiel", "Oslo")[: rng.choice((1, 1, 2))]
                calls = [
                    {"type": "function", "function": {"name": "depth", "arguments": {"at": at}}}
                    for at in places
                ]
                chat.append(_answer(rng, tool_calls=calls))
                if rng.random() < 0.7:
                    chat[-1]["content"] = ""
                for _ in calls:
                    chat.append(
                        {
                            "role": "tool",
                            "name": "depth",
                            "content": rng.choice(('{"m": 1}', '{"m": 22}')),
                        }
                    )
        chat.append(_answer(rng))
        if rng.random() < 0.06:
            chat.append(_answer(rng))
    if rng.random() < 0.08:
        chat.pop()
    return chat, TOOLS if has_tools else None


def chats(count: int = 75) -> list[tuple[Chat, list[Any] | None]]:
    """So many chats, the same ones each time."""
    return [random_chat(seed) for seed in range(count)]


class Reference:
    """Renders a template in Jinja2, and tells the offsets of a tokenizer."""

    def __init__(self, source: str, tokenizer: Any, special: dict[str, str] | None = None) -> None:
        from transformers.utils import chat_template_utils

        self._render = chat_template_utils.render_jinja_template
        self.source = source
        self.tokenizer = tokenizer
        self.special = SPECIAL if special is None else special

    def text(self, chat: Chat, tools: Any, prompt: bool = False) -> str | None:
        """The text, or None where the template refuses the chat."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                texts, _ = self._render(
                    [chat],
                    tools=tools,
                    chat_template=self.source,
                    add_generation_prompt=prompt,
                    **self.special,
                )
        except Exception:
            return None
        return str(texts[0])

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Ids and what of the text each covers."""
        made = self.tokenizer.encode(text, add_special_tokens=False)
        return made.ids, made.offsets


def judge(
    reference: Reference, chat: Chat, tools: Any, text: str, mask: list[int]
) -> Iterator[tuple[str, str]]:
    """Of each turn of the assistant ("right", ""), ("no prefix", ""), or what is wrong and why."""
    _, offsets = reference.encode(text)
    assert len(offsets) == len(mask)
    for number, message in enumerate(chat):
        if message["role"] != "assistant":
            continue
        prompt = reference.text(chat[:number], tools, prompt=True)
        content = message["content"].strip()
        if prompt is None or not text.startswith(prompt):
            yield from _judge_loosely(text, offsets, mask, prompt or "", _said_before(chat, number))
            continue
        cut = len(prompt)
        bare = reference.text(chat[:number], tools)
        begin = len(bare) if bare is not None and prompt.startswith(bare) else cut
        said = _said_before(chat, number)
        if said and prompt.rfind(said) >= 0:
            begin = prompt.rfind(said) + len(said)
        given = [at for at, (a, b) in enumerate(offsets) if begin <= a < cut and b > begin]
        if any(mask[at] for at in given):
            shown = "".join(text[slice(*offsets[at])] for at in given if mask[at])
            yield "trained though given", f"turn {number}: {shown!r}"
            continue
        found = text.find(content, cut) if content else -1
        behind = chat[number + 1]["content"].strip() if number + 1 < len(chat) else ""
        if behind and 0 <= text.find(behind, cut) < found:
            found = -1  # it is not printed as it is, and another one is like it
        if content and 0 <= text.find(content, max(cut - len(content), 0)) < cut:
            found = -1  # the prompt's end is what it begins with: <think>
        written = [
            at
            for at, (a, b) in enumerate(offsets)
            if found <= a < b <= found + len(content) and a >= cut and text[a:b].strip()
        ]
        if found >= 0 and not all(mask[at] for at in written):
            shown = "".join(text[slice(*offsets[at])] for at in written if not mask[at])
            yield "written but not trained", f"turn {number}: {shown!r}"
            continue
        yield "right", ""


def _said_before(chat: Chat, number: int) -> str:
    """What is said before a turn, by somebody else."""
    if number == 0 or chat[number - 1]["role"] == "assistant":
        return ""
    return str(chat[number - 1]["content"]).strip()


def _judge_loosely(
    text: str, offsets: list[tuple[int, int]], mask: list[int], prompt: str, said: str
) -> Iterator[tuple[str, str]]:
    """Where the prompt is no beginning of the text.

    What it ends with behind the last message must not be trained, where it stands in the text.
    """
    tail = prompt[prompt.rfind(said) + len(said) :] if said and said in prompt else ""
    at = text.find(said + tail) if tail.strip() else -1
    if at < 0:
        yield "no prefix", ""
        return
    while at >= 0:
        begin, end = at + len(said), at + len(said) + len(tail)
        if any(mask[i] for i, (a, b) in enumerate(offsets) if begin <= a < end and b > begin):
            yield "trained though given", f"{tail!r} at {begin}"
            return
        at = text.find(said + tail, at + 1)
    yield "right by its end", ""


# Why a row may be refused that Jinja2 renders.
_REFUSALS = {
    "otherwise": "opens the turn of",
    "unknown": "the model is given cannot be determined",
    "many": "in too many ways",
    "inner": "within the turn of",
    "outside": "outside of a loop over messages",
    "twice": "twice: which of the two",
    "left out": "leaves out the",
    "empty": "is an answer that says nothing",
    "untraceable": "cannot be traced",
}


def compare(
    source: str, given: Any, reference: Reference, cases: list[tuple[Chat, Any]]
) -> tuple[Counter[str], list[str]]:
    """Counts of what a template's masks are, and what is wrong."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    transform = SFTPreprocessTransform(
        given,
        None,
        mask_prompt=True,
        fixed_shapes=False,
        chat_template=source,
        reasoning="drop",
        parse_arguments=False,
    )
    has_generation = "endgeneration" in source
    for chat, tools in cases:
        text = reference.text(chat, tools)
        if text is None:
            counts["template refuses"] += 1
            continue
        row = {"messages": chat, **({"tools": tools} if tools else {})}
        try:
            made = transform.examples(row)
        except ValueError as error:
            kind = next((k for k, said in _REFUSALS.items() if said in str(error)), str(error)[:99])
            counts[f"refused: {kind}"] += 1
            if kind == "otherwise" and _all_are_prefixes(reference, chat, tools, text):
                wrong.append(f"refused in vain: {chat!r}: {error}")
            continue
        if not made:
            counts["nothing to train"] += 1
            continue
        ids, _ = reference.encode(text)
        if ids != made[0]["input_ids"]:
            # What messages are read as differs (a clock, a field of another name).
            counts["other text"] += 1
            continue
        if has_generation:
            counts["generation"] += 1
            continue
        for kind, why in judge(reference, chat, tools, text, made[0]["assistant_masks"]):
            counts[kind] += 1
            if why:
                wrong.append(f"{kind}: {why} of {chat!r}")
    return counts, wrong


def _all_are_prefixes(reference: Reference, chat: Chat, tools: Any, text: str) -> bool:
    prompts = [
        reference.text(chat[:i], tools, prompt=True)
        for i, message in enumerate(chat)
        if message["role"] == "assistant"
    ]
    return all(prompt is not None and text.startswith(prompt) for prompt in prompts)


def tokenizers_of(path: Any) -> tuple[easydata.Tokenizer, Any]:
    """Our tokenizer of a folder, and Hugging Face's of the same file."""
    import tokenizers

    ours = easydata.Tokenizer(path)
    return ours, tokenizers.Tokenizer.from_file(str(path / "tokenizer.json"))


def random_turns(seed: int) -> str:
    """A template that prints turns, in one of many ways."""
    rng = random.Random(seed)
    pick = rng.choice
    opening = pick(("<|{}|>\n", "### {}:\n", "{}: ", "[{}]", "<|{}|>", "\n\n{}:", "<turn>{}\n"))
    closing = pick(("<|end|>\n", "</s>", "\n", "", "\n\n", "<turn|>", " "))
    between = pick(("", "", "\n\n", "\n", " "))
    first = pick(("", "", "<s>", "Answer.\n\n", "\n"))
    shape = pick(("sum", "parts", "role"))
    content = pick(("m.content", "m.content", "(m.content | trim)", "(' ' + m.content)"))
    thought = pick(("", "", "<think></think>", "<final>"))
    name = pick(("assistant", "Response", "model"))

    def said(role: str, extra: str = "") -> str:
        head = opening.format(role) + extra
        if shape == "sum":
            return f"{{{{ {head!r} + {content} + {closing!r} }}}}"
        return f"{{{{ {head!r} }}}}{{{{ {content} }}}}{{{{ {closing!r} }}}}"

    shown = thought and pick(("always", "last", "never"))
    when = {"always": "true", "last": "loop.last", "never": "false", "": "false"}[shown]
    body = (
        "{% if m.role == 'user' %}" + said("user") + "{% elif m.role == 'assistant' %}"
        "{% if " + when + " %}" + said(name, thought) + "{% else %}" + said(name) + "{% endif %}"
        "{% else %}" + said("other") + "{% endif %}"
    )
    gap = f"{{{{ {between!r} if not loop.last }}}}"
    lead = pick((between, between, between, ""))
    prompt = lead + opening.format(pick((name, name, name, "assistant"))) + pick(("", "", thought))
    if pick((True, False, False)):
        prompt = prompt.rstrip() or prompt
    flag = pick(
        (
            "add_generation_prompt",
            "add_generation_prompt",
            "add_generation_prompt and messages",
            "add_generation_prompt and messages[-1].role != 'assistant'",
            "messages[-1].role != 'assistant'",
            "false",
        )
    )
    return (
        f"{{{{ {first!r} }}}}{{% for m in messages %}}{body}{gap}{{% endfor %}}"
        f"{{% if {flag} %}}{{{{ {prompt!r} }}}}{{% endif %}}"
    )
