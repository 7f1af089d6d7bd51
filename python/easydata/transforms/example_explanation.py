"""What an example for a trainer trains on, for people to look at."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.text import Text

_IGNORED = -100

# A text, its messages (role, first byte, end, what is left out), and why there is no example.
_Text = tuple[str, list[tuple[str, int, int, str]], str]


@dataclass(frozen=True)
class Turn:
    """One message of a chat, as it is in an example.

    Attributes:
        role: who speaks.
        tokens: how many tokens its text has.
        trained: how many of them are trained on.
        left_out: what the chat template leaves out of it: "content, tool_calls"; "" where nothing.
    """

    role: str
    tokens: int
    trained: int
    left_out: str = ""


@dataclass(frozen=True)
class ExplainedExample:
    """One example.

    Attributes:
        column: the column of ids.
        parts: its text in parts, and whether each is trained on.
        tokens: how many tokens it has, without padding.
        trained: how many of them are trained on.
        turns: the messages, where it is a chat.
        warnings: what is hardly meant.
        use: what it is for, where none of its tokens is trained on: "answered by the model",
            "scored as a whole".
    """

    column: str
    parts: list[tuple[str, bool]]
    tokens: int
    trained: int
    turns: list[Turn] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    use: str = ""

    def to_dict(self) -> dict[str, Any]:
        """All of it as dicts and lists, for JSON."""
        return {
            **vars(self),
            "parts": [{"text": text, "trained": trained} for text, trained in self.parts],
            "turns": [vars(turn) for turn in self.turns],
        }


@dataclass(frozen=True)
class Explanation:
    """What a row becomes, and what of it is trained on. Printed, trained text is ⟦marked⟧.

    Attributes:
        examples: the examples of the row, or their sides; of one that is left out, its text.
        warnings: what holds for the row.
    """

    examples: list[ExplainedExample]
    warnings: list[str]

    def to_dict(self) -> dict[str, Any]:
        """All of it as dicts and lists, for JSON."""
        return {**vars(self), "examples": [example.to_dict() for example in self.examples]}

    def __str__(self) -> str:
        return "\n".join(line.plain for line in self.lines(marks=True))

    def lines(self, *, marks: bool) -> Iterator[Text]:
        """The text to show.

        Args:
            marks: whether trained text stands in ⟦⟧, for where there are no colours.
        """
        from rich.text import Text

        for example in self.examples:
            said = f"{example.column}: {example.tokens} tokens, "
            said += example.use or f"{example.trained} trained"
            yield Text(said, style="bold")
            text = Text()
            for part, trained in example.parts:
                shown = f"⟦{part}⟧" if trained and marks else part
                text.append(shown, style="green" if trained else "dim")
            yield from text.split("\n")
            for number, turn in enumerate(example.turns):
                said = f"  turn {number}: {turn.role}, {turn.tokens} tokens, {turn.trained} trained"
                if turn.left_out:
                    yield Text(f"{said}, left out: {turn.left_out}", style="red")
                else:
                    yield Text(said, style="dim")
            for warning in example.warnings:
                yield Text(f"  warning: {warning}", style="yellow")
        for warning in self.warnings:
            yield Text(f"warning: {warning}", style="yellow")


def explain(transform: Any, row: dict[str, Any]) -> Explanation:
    """What a transform makes of a row; see its method `explain`."""
    texts = transform._texts_of(row)
    errors = [error for _, _, error in texts if error]
    if errors:
        # Without what the template leaves out there is no example, but there is a text to see.
        return Explanation([_untrained(transform, text) for text in texts], [f"error: {errors[0]}"])
    made, dropped = transform._examples_of(row)
    warnings = [_said(reason, tokens) for reason, _, tokens in dropped]
    examples: list[ExplainedExample] = []
    for number, example in enumerate(made):
        text = texts[number] if len(texts) == len(made) else None
        examples += _sides(transform, example, text)
    if not made:
        examples += [_untrained(transform, text) for text in texts]
    return Explanation(examples, warnings)


def _untrained(transform: Any, text: _Text) -> ExplainedExample:
    """A text of which there is no example."""
    ids = transform.tokenizer.encode(text[0], add_special_tokens=False).tolist()
    turns = _turns(transform, ids, [False] * len(ids), text)
    return ExplainedExample("text", [(text[0], False)], len(ids), 0, turns)


def _said(reason: str, tokens: int) -> str:
    """What it means that an example was left out or cut for a reason."""
    return {
        "no_loss": "left out: nothing of it is trained on",
        "long_prompt": "left out: its prompt alone has as many tokens as there may be",
        "too_long": "left out: it has more tokens than there may be",
        "empty_answer": "left out: its answer says nothing",
        "truncated": f"cut: {tokens} tokens are lost",
    }.get(reason, f"{reason}: {tokens} tokens")


def _sides(
    transform: Any, example: dict[str, Any], text: _Text | None
) -> Iterator[ExplainedExample]:
    """The columns of ids of an example."""
    for column, ids in example.items():
        if not (column.endswith("ids") or column.startswith("input_ids")):
            continue
        if column in ("prompt_input_ids", "embedding_input_ids", "prompt_ids"):
            continue
        use = transform._use_of_examples
        trained = [False] * len(ids) if use else _trained(column, example)
        # Where no mask tells what is padding, nothing is.
        named = "input_ids" in column
        mask = example.get(column.replace("input_ids", "attention_mask")) if named else None
        kept = [at for at in range(len(ids)) if mask is None or mask[at]]
        shown = [ids[at] for at in kept]
        flags = [trained[at] for at in kept]
        if "prompt_ids" in example:
            # TRL's answers come without their prompt, which is read and not trained on.
            prompt = list(example["prompt_ids"])
            shown, flags = [*prompt, *shown], [*([False] * len(prompt)), *flags]
        parts = []
        for flag, run in itertools.groupby(range(len(shown)), key=flags.__getitem__):
            parts.append((transform.tokenizer.decode([shown[at] for at in run]), flag))
        warnings = []
        bos = transform.tokenizer.bos_token_id
        if bos is not None and shown[:2] == [bos, bos]:
            warnings.append("it begins with the BOS token twice")
        turns: list[Turn] = []
        if text is not None and text[1] and column == "input_ids":
            turns = _turns(transform, shown, flags, text)
            warnings += _unended(transform, shown, flags)
        yield ExplainedExample(column, parts, len(shown), sum(flags), turns, warnings, use)


def _trained(column: str, example: dict[str, Any]) -> list[bool]:
    """Which tokens of a column are trained on."""
    count = len(example[column])
    stem = column.removesuffix("input_ids")
    labels = example.get(f"{stem}labels")
    if labels is not None:
        return [label != _IGNORED for label in labels]
    masks = [example[name] for name in ("completion_mask", "assistant_masks") if name in example]
    if column == "input_ids" and masks:
        return [all(mask[at] for mask in masks) for at in range(count)]
    return [True] * count


def _turns(
    transform: Any,
    ids: list[int],
    flags: list[bool],
    text: _Text,
) -> list[Turn]:
    """How many tokens of each message there are, as far as the example has its beginning."""
    whole = transform.tokenizer.encode(text[0], add_special_tokens=False).tolist()
    if whole[: len(ids)] != ids:
        return []
    ends = transform._maker.token_ends(text[0], whole)[: len(ids)]
    made = []
    for role, begin, end, left_out in text[1]:
        inside = [
            at for at in range(len(ids)) if ends[at] > begin and (ends[at - 1] if at else 0) < end
        ]
        made.append(Turn(role, len(inside), sum(flags[at] for at in inside), left_out))
    return made


def _unended(transform: Any, ids: list[int], flags: list[bool]) -> list[str]:
    """A warning where a trained turn does not end in a special token."""
    for at in range(len(ids)):
        last = flags[at] and (at + 1 == len(ids) or not flags[at + 1])
        if last and transform.tokenizer.decode([ids[at]], skip_special_tokens=True):
            said = transform.tokenizer.decode(ids[max(0, at - 4) : at + 1])
            return [
                f"a turn is trained up to {said!r}, which is no end of turn: the model does not "
                "learn to stop there"
            ]
    return []
