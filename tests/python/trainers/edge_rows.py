"""Rows of every kind that trainers take, with what goes wrong most easily in them."""

import json
import random
from typing import Any

Row = dict[str, Any]
Message = dict[str, Any]

WORDS = (
    "the", "sum", "is", "42", "1,000", "def f(x):", "naïve", "cafe\u0301", "日本語", "สวัสดี",
    "مرحبا", "नमस्ते", "👩‍👩‍👧‍👦", "🇩🇪", "\u200b", "\ufeff", "\u00a0", "\u2028", "ﬁ", "Å", "ß",
    "'s", '"', "\\n", "{{ x }}", "{% if %}", "<b>", "&amp;", "</s>", "<unk>", "_", "…", "—",
    "\x00", "\x1f",
)  # fmt: skip
GAPS = (" ", " ", " ", " ", "", "", "\n", "\n\n", "  ", "\t", "\r\n", " \n")
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather of a town, <now> & here.",
            "parameters": {
                "type": "object",
                "properties": {"town": {"type": "string", "enum": ["Köln", "東京"]}},
                "required": ["town"],
            },
        },
    },
    {
        "type": "function",
        "function": {"name": "time", "description": "", "parameters": {"type": "object"}},
    },
]


class EdgeRows:
    """Makes rows; the same ones for a seed.

    Args:
        seed: The seed.
        special: Texts of the tokenizer's special tokens, EOS first.
        has_tools: Whether there are tools and calls of them, which a template must know.
        says_why: Whether there may be text beside a call, which a template must print.
    """

    def __init__(
        self,
        seed: int,
        special: tuple[str, ...],
        *,
        has_tools: bool = True,
        says_why: bool = True,
    ) -> None:
        self._random = random.Random(seed)
        self._special = special
        self._has_tools = has_tools
        self._says_why = says_why

    def rows(self, kind: str, count: int) -> list[Row]:
        """Rows for a kind of trainer, texts and chats in turn, numbered."""
        make = {
            "sft": (self.text, self.completion, self.chat, self.chat_completion),
            "dpo": (self.pair, self.chat_pair, self.bare_pair, self.bare_chat_pair),
            "kto": (self.answer, self.chat_answer, self.pair, self.chat_pair),
            "reward": (self.pair, self.chat_pair, self.bare_pair, self.bare_chat_pair),
        }[kind]
        return [{"number": n, **make[n % len(make)]()} for n in range(count)]

    def words(self, most: int = 12) -> str:
        """A text of up to so many words: white space, Unicode, special tokens, nothing at all."""
        count = self._random.choice((0, 1, 1, 2, 3, most // 2, most))
        text = ""
        for _ in range(count):
            word = self._random.choice(WORDS)
            if self._random.random() < 0.06:
                word = self._random.choice(self._special)
            text += word + self._random.choice(GAPS)
        if self._random.random() < 0.5:
            text = text.strip()
        return text

    def answered(self, most: int = 12) -> str:
        """The same, but with something in it: an answer that says nothing is refused."""
        text = ""
        while not text.strip():
            text = self.words(most)
        return text

    def ended(self, text: str) -> str:
        """The text, or that with EOS at its end already, or nearly so."""
        ends = ("",) * 6 + (self._special[0], self._special[0] * 2, self._special[0] + "\n")
        return text + self._random.choice(ends)

    def cut(self, text: str) -> tuple[str, str]:
        """A text in two, cut anywhere: in words, before and behind spaces, within letters.

        There is something in the second one.
        """
        at = self._random.randint(0, len(text.rstrip()) - 1)
        return text[:at], text[at:]

    def text(self) -> Row:
        """A text."""
        return {"text": self.ended(self.words(40))}

    def completion(self) -> Row:
        """A prompt with its completion, as texts."""
        prompt, completion = self.asked()
        return {"prompt": prompt, "completion": completion}

    def answer(self) -> Row:
        """The same, with a label."""
        return {**self.completion(), "label": self._random.random() < 0.5}

    def pair(self) -> Row:
        """A prompt with two answers, as texts."""
        prompt, chosen = self.asked()
        rejected = chosen
        while rejected == chosen:
            rejected = self.ended(self.answered(30))
        if self._random.random() < 0.2:
            rejected = chosen[: len(chosen) // 2] + rejected
        return {"prompt": prompt, "chosen": chosen, "rejected": rejected}

    def bare_pair(self) -> Row:
        """Two answers whose beginnings are the prompt, as texts."""
        row = self.pair()
        prompt = row.pop("prompt") or "?"
        chosen, rejected = (prompt + row[side] for side in ("chosen", "rejected"))
        return {"chosen": chosen, "rejected": rejected}

    def asked(self) -> tuple[str, str]:
        """A prompt and an answer."""
        if self._random.random() < 0.5:
            prompt, answer = self.cut(self.answered(50))
            return prompt, self.ended(answer)
        prompt = self.words(self._random.choice((4, 12, 60)))
        return prompt, self.ended(self.answered(30))

    def user(self) -> Message:
        """What the user says."""
        return {"role": "user", "content": self.words(20)}

    def assistant(self) -> Message:
        """What the assistant says: text, a call of a tool, a thought."""
        said: Message = {"role": "assistant", "content": self.answered(20)}
        chance = self._random.random()
        if chance < 0.15:
            if not self._has_tools:
                return said
            given = {"town": "Köln", "n": [1, 2.5, None, True]}
            said["tool_calls"] = [
                {"type": "function", "function": {"name": "weather", "arguments": given}}
            ]
            if self._random.random() < 0.5 or not self._says_why:
                said["content"] = ""
        elif chance < 0.25:
            said["content"] = f"<think>\n{self.words(8)}\n</think>\n\n{said['content']}"
        elif chance < 0.3:
            said["reasoning_content"] = self.words(8)
        return said

    def two_answers(self) -> tuple[Message, Message]:
        """Two of them, which differ: of equal ones nothing can be learned."""
        first = second = self.assistant()
        while second == first:
            second = self.assistant()
        return first, second

    def turns(self) -> list[Message]:
        """Messages up to one that the assistant answers."""
        messages: list[Message] = []
        if self._random.random() < 0.4:
            messages.append({"role": "system", "content": self.words(10)})
        messages.append(self.user())
        for _ in range(self._random.choice((0, 0, 1, 2))):
            said = self.assistant()
            messages.append(said)
            if "tool_calls" in said:
                messages.append({"role": "tool", "name": "weather", "content": '{"rain": false}'})
            else:
                messages.append(self.user())
        return messages

    def extras(self) -> Row:
        """Tools and options of the template, for some rows."""
        extras: Row = {}
        chance = self._random.random()
        if chance < 0.3 and not self._has_tools:
            pass
        elif chance < 0.15:
            extras["tools"] = TOOLS
        elif chance < 0.3:
            extras["tools"] = json.dumps(TOOLS[:1], ensure_ascii=chance < 0.2)
        elif chance < 0.35:
            extras["tools"] = None
        if self._random.random() < 0.2:
            extras["chat_template_kwargs"] = self._random.choice(
                (
                    {"enable_thinking": False},
                    {"enable_thinking": True},
                    {"date_string": "1 May 2030"},
                    {},
                )
            )
        return extras

    def chat(self) -> Row:
        """A conversation."""
        messages = [*self.turns(), self.assistant()]
        if self._random.random() < 0.1:
            messages.append(self.user())
        return {"messages": messages, **self.extras()}

    def chat_completion(self) -> Row:
        """A prompt with its completion, as messages."""
        completion = [self.assistant()]
        if self._random.random() < 0.2:
            completion += [self.user(), self.assistant()]
        return {"prompt": self.prompt(), "completion": completion, **self.extras()}

    def prompt(self) -> list[Message]:
        """What the assistant answers; sometimes it has begun already."""
        prompt = self.turns()
        if self._random.random() < 0.1:
            prompt.append(self.assistant())
        return prompt

    def chat_answer(self) -> Row:
        """The same, with a label."""
        return {**self.chat_completion(), "label": self._random.random() < 0.5}

    def chat_pair(self) -> Row:
        """A prompt with two answers, as messages."""
        prompt = self.prompt()
        chosen, rejected = self.two_answers()
        return {"prompt": prompt, "chosen": [chosen], "rejected": [rejected], **self.extras()}

    def bare_chat_pair(self) -> Row:
        """Two conversations that begin alike."""
        prompt = self.turns()
        first, second = self.two_answers()
        return {"chosen": [*prompt, first], "rejected": [*prompt, second], **self.extras()}
