"""Examples for trainers, made of chats, preferences and texts."""

from __future__ import annotations

import copy
import functools
import hashlib
import itertools
import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeGuard

from easydata import _native
from easydata.core.signatures import (
    DPOPreprocessTransformSignature,
    EmbeddingPreprocessTransformSignature,
    GRPOPreprocessTransformSignature,
    RewardPreprocessTransformSignature,
    SFTPreprocessTransformSignature,
    UnpairedSignature,
)
from easydata.tokenizers.chat_template import Renderer, TracedRenderer, _schema, renderer_of
from easydata.tokenizers.template_date import dated, open_date
from easydata.tokenizers.tokenizer import Tokenizer
from easydata.transforms.base import (
    Example,
    ExpandTransform,
    MapTransform,
    Transform,
    _Step,
)
from easydata.transforms.conversation import FROM_VALUE_ROLES
from easydata.transforms.example_explanation import Explanation, explain

_log = logging.getLogger("easydata")

_TEXTS = {
    "tokenizer": "An `easydata.Tokenizer` or what one is made of: a folder, a path, a live "
    "tokenizer."
}
_ANSWERS = ("max_prompt_length", "max_completion_length", "add_special_tokens")


class _Examples(_Step):
    """What the transforms of all trainers share: the engine makes their examples."""

    # Of the engine: the struct of options, and the function that makes the maker.
    _options_type: ClassVar[Any]
    _make: ClassVar[Callable[..., _native.ExampleMaker]]
    # What the examples are for where none of their tokens is trained on.
    _use_of_examples: ClassVar[str] = ""

    def _take(
        self,
        tokenizer: Any,
        *,
        tools: Sequence[Any] | None = None,
        chat_template: str | os.PathLike[str] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        role_mapping: Mapping[str, str] | None = None,
        template_date: str | None = None,
        options: dict[str, Any],
    ) -> None:
        self._given = {name: value for name, value in options.items() if value is not None}
        self._options = self._options_type(**options)
        self._tokenizer = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer(tokenizer)
        template = renderer_of(self._tokenizer, chat_template)
        self._template = dated(template, template_date) if template.sources else None
        self._roles = {**FROM_VALUE_ROLES, **(role_mapping or {})}
        self._template_options = dict(chat_template_kwargs or {})
        self._tools = None if tools is None else [_schema(tool) for tool in tools]
        # Whether some of a chat's tokens may be left out of training.
        self._masks_chats: bool = False
        self._on_error = "raise"
        self._quarantine_path = ""
        # One for all copies: a mixture may have thousands.
        self._made_maker: list[_native.ExampleMaker] = []
        self._told: set[tuple[str, str, int]] = set()

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer at work."""
        return self._tokenizer

    @property
    def columns(self) -> list[str]:
        """The columns that are made of all rows, and those that are kept.

        Streams have more where rows have more of their examples already: `labels` and masks of
        rows that are tokenized, a `margin`.
        """
        made = self._maker.columns
        return [*made, *(name for name in self._options.keep_columns if name not in made)]

    @property
    def is_filter(self) -> bool:
        """True: rows of which nothing is to be learned are left out, and counted."""
        return True

    def examples(self, example: Example) -> list[Example]:
        """All examples of one row: none where it is left out.

        Raises:
            ValueError: The row is not as it should be, or the template refuses it.
            TypeError: A field of it holds something else than it should.
            KeyError: It lacks the fields that examples are made of.
        """
        return self._examples_of(example)[0]

    def _examples_of(self, example: Example) -> tuple[list[Example], list[tuple[str, int, int]]]:
        row = dict(example)
        if isinstance(row.get("tools"), list | tuple):
            row["tools"] = [_schema(tool) for tool in row["tools"]]
        wanted = {name: row[name] for name in self._maker.fields if name in row}
        try:
            made, dropped = self._maker.examples_of(wanted)
        except KeyError as error:
            raise _native.MissingKey(f"{error.args[0]}{self._near_miss(example)}") from None
        kept = {
            name: example[name]
            for name in self._options.keep_columns
            if name in example and name not in self._maker.columns
        }
        return [{**each, **kept} for each in made], dropped

    _claims_fields = True
    # Where bad rows go decides nothing of the others.
    _found_out = ("_told", "_quarantine_path", "_made_maker")

    def _fields_read(self, example: Example) -> list[str]:
        return [*self._maker.fields_read(example), *self._options.keep_columns]

    def explain(self, example: Example) -> Explanation:
        """What a row becomes: its text with what is trained on, turn by turn, and what is odd.

        Raises: as `examples`.
        """
        return explain(self, example)

    def _texts_of(self, example: Example) -> list[tuple[str, list[tuple[str, int, int, str]], str]]:
        wanted = {name: example[name] for name in self._maker.fields if name in example}
        return self._maker.explain(wanted)

    def _near_miss(self, row: Iterable[object]) -> str:
        """A field of a row that looks like one that examples are made of, for errors."""
        fields = [name for name in self._maker.fields if name not in self._maker.columns]
        for name in row:
            near = _native.did_you_mean(str(name), fields)
            if near and name not in fields:
                return f"{near} It has {name!r}."
        return ""

    def _check_first_row(self, row: Sequence[str]) -> None:
        """Refuses rows that have none of the fields that examples are made of, by the first one's.

        Raises:
            KeyError: Names the fields that it has.
        """
        if self._on_error == "raise" and not any(name in row for name in self._maker.fields):
            has = ", ".join(map(repr, row)) or "none"
            raise _native.MissingKey(
                f"{type(self).__name__}: the first row has none of the fields that examples are "
                f"made of; it has {has}{self._near_miss(row)}"
            )

    def _plan_step(self) -> _native.Step:
        return _native.examples_step(
            self._callable_step(),
            self._maker,
            template_hash=self._template_hash(),
            keep=self._options.keep_columns,
            refuses=self._on_error != "raise",
            quarantine_path=self._quarantine_path,
            reads_all=self._on_error == "quarantine",  # it gets a row as it was read
            report=self._report_cuts,
            warn=_log.warning,
            check_first_row=self._check_first_row,
        )

    def _refusing(self, on_error: str, quarantine_path: str | os.PathLike[str] | None) -> _Step:
        """The same, for a stream that leaves rows in error out."""
        _native.check_on_error(on_error, quarantine_path is not None)
        other = copy.copy(self)
        other._on_error = on_error
        other._quarantine_path = _native.user_path(os.fspath(quarantine_path or ""))
        return other

    def _report_cuts(self, which: str, source: str, examples: int, tokens: int) -> None:
        said = (which, source, examples if which == "all" else 0)
        if said in self._told:
            return  # each iteration of a source, and each of its shards, is a stream of its own
        self._told.add(said)
        where = f"dataset {source!r}: " if source else ""
        name = type(self).__name__
        if which == "first":
            _log.warning(
                "%s%s: examples are cut to the most tokens allowed; how many, and what they lost, "
                "is said at the end",
                where,
                name,
            )
        else:
            _log.warning(
                "%s%s: %d examples were cut and lost %d tokens", where, name, examples, tokens
            )

    @property
    def _maker(self) -> _native.ExampleMaker:
        if not self._made_maker:
            self._made_maker.append(self._new_maker(self._context()))
        return self._made_maker[0]

    def _new_maker(self, context: _native.ExampleContext) -> _native.ExampleMaker:
        return type(self)._make(context, self._options)

    def _context(self) -> _native.ExampleContext:
        made = self._tokenizer
        first = (made.eos_token_id, made.bos_token_id, made.unk_token_id, made.pad_token_id)
        template = self._template or Renderer({}, {})
        render = None
        if self._template is not None:
            render = TracedRenderer(template, self._template_options, may_be_untraced=False)
        given = {} if self._tools is None else {"tools": self._tools}
        return _native.ExampleContext(
            made.encoder,
            vocabulary=made._vocabulary,
            eos_id=made.eos_token_id,
            eos_text=made.eos_token or "",
            bos_id=made.bos_token_id,
            bos_text=made.bos_token or "",
            pad_id=_pad_of(made) or 0,
            pad_left=made.padding_side == "left",
            empty_id=next((each for each in first if each is not None), None),
            finds_spans=self._masks_chats,
            # Not a method of this object, which has the maker that is made of this.
            ask=functools.partial(_ends_of, self._tokenizer),
            special=self._special_ids() if self._masks_chats else [],
            **template.for_engine(self._template_options),
            render=render,
            has_generation=template.has_generation,
            roles=self._roles,
            own_roles=template.own_roles,
            given=json.dumps(given),
            frame=template.frame,
            are_spelled=not made.split_special_tokens,
        )

    def _special_ids(self) -> list[int]:
        if self._tokenizer.engine == "native":
            return []
        tokens = json.loads(self._tokenizer.json).get("added_tokens") or []
        special = (token["content"] for token in tokens if token.get("special"))
        ids = map(self._tokenizer.token_to_id, special)
        return [each for each in ids if each is not None]

    def _template_hash(self) -> str:
        if self._template is None:
            return ""
        date = [self._template.date] if self._template.uses_clock else []
        said = json.dumps(
            [
                dict(self._template.sources),
                dict(self._template.special_tokens),
                self._template_options,
                self._tools,
                self._roles,
                *date,
            ],
            sort_keys=True,
            default=str,
        )
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def _template_date(self) -> str | None:
        return open_date(self._template)

    def _with_template_date(self, date: str) -> _Step:
        if self._template is None or self._template_date() is None:
            return self
        other = copy.copy(self)
        other._template = self._template.dated(date)
        other._made_maker = []
        return other

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["_made_maker"] = []
        del state["_options"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._options = self._options_type(**self._given)

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self._given.items())
        return f"{type(self).__name__}({self._tokenizer.fingerprint[:16]}, {said})"


class _OneExample(_Examples):
    """Transforms that are called for the one example of a row."""

    def __call__(self, example: Example) -> Example | None:
        """The example of one row; None where it is left out.

        Raises:
            ValueError: The row makes several: call `examples(row)`.
        """
        made = self.examples(example)
        if len(made) > 1:
            raise ValueError(
                f"{type(self).__name__}: one row makes {len(made)} examples here; call "
                "examples(row), or transform a source"
            )
        return made[0] if made else None


def gives_examples(step: object) -> TypeGuard[_Examples]:
    """Whether a step makes examples for a trainer."""
    return isinstance(step, _Examples)


# The names of transforms in configs.
_BY_NAME = {
    "sft": "SFTPreprocessTransform",
    "dpo": "DPOPreprocessTransform",
    "orpo": "ORPOPreprocessTransform",
    "cpo": "CPOPreprocessTransform",
    "kto": "KTOPreprocessTransform",
    "bco": "BCOPreprocessTransform",
    "grpo": "GRPOPreprocessTransform",
    "ppo": "PPOPreprocessTransform",
    "reward": "RewardPreprocessTransform",
    "embedding": "EmbeddingPreprocessTransform",
}


def named_transform(
    choice: str | Mapping[str, Any], tokenizer: Any, **of_template: Any
) -> _Examples:
    """The transform that a config names, as "sft" or {name: sft, max_length: 1024}.

    Args:
        choice: the name, alone or with options.
        tokenizer: the dataset's.
        of_template: what the dataset says of its chat template (`chat_template`, `template_date`,
            `chat_template_kwargs`), where the choice says nothing of it; None: nothing.

    Raises:
        KeyError: There is no transform of that name.
        TypeError: It does not have one of the options, or lacks one.
    """
    options: dict[str, Any] = {"name": choice} if isinstance(choice, str) else dict(choice)
    name = options.pop("name")
    made = globals()[_BY_NAME[name]]
    for option, value in of_template.items():
        if value is not None and name != "embedding":
            options.setdefault(option, value)
    if name in ("sft", "reward"):
        options.setdefault("max_length", None)
    example: _Examples = made(tokenizer, **options)
    return example


def _pad_of(tokenizer: Tokenizer) -> int | None:
    """The token that examples are filled up with: EOS where there is no other, as trainers do."""
    pad = tokenizer.pad_token_id
    return tokenizer.eos_token_id if pad is None else pad


def _ends_of(tokenizer: Tokenizer, text: str, ids: Sequence[int]) -> list[int]:
    """The byte after each id of a text, as the tokenizers library tells it."""
    found, offsets = tokenizer.encode(text, add_special_tokens=False, return_offsets=True)
    if found.tolist() != list(ids):
        raise ValueError("the tokenizers library gives other ids for this text")
    sizes = [0, *itertools.accumulate(len(character.encode()) for character in text)]
    return list(itertools.accumulate((sizes[end] for _, end in offsets.tolist()), max))


class SFTPreprocessTransform(
    SFTPreprocessTransformSignature,
    _OneExample,
    Transform,
    options="SftOptions",
    positional=(
        "tokenizer",
        "max_length",
        "text_field",
        "messages_field",
        "mask_prompt",
        "add_eos",
        "truncation",
        "formatting_func",
    ),
    required=("max_length",),
    without=("tools",),
    texts=_TEXTS,
):
    """Prepares chats, prompts with completions, and texts for supervised fine-tuning.

    A row is taken as a chat where it has messages, else as prompt and completion, else as text;
    rows of all kinds may be mixed. Rows that have `input_ids` stay as they are: their labels, masks
    and length; other rows of a stream then have such columns, too.

    Columns: `input_ids` and `attention_mask` (int32 [tokens], or [max_length] with fixed shapes);
    with `mask_prompt` `completion_mask` and `assistant_masks` (1: trained on), of which a row's own
    has the mask; `labels` on request. Layout "trl": `input_ids` and `labels`.
    """

    _options_type = _native.SftOptions
    _make = staticmethod(_native.sft_examples)

    def _take(
        self,
        tokenizer: Any,
        *,
        formatting_func: Callable[[Example], Any] | None = None,
        **others: Any,
    ) -> None:
        super()._take(tokenizer, **others)
        self._masks_chats = self._given["mask_prompt"] or self._given["expand_turns"]
        self._format = formatting_func

    @property
    def is_expand(self) -> bool:
        """Whether a row may make several examples."""
        return bool(self._given.get("expand_turns"))

    def __call__(self, example: Example) -> Any:
        """The example of one row; None where it is left out. Of `expand_turns`, an iterator."""
        row = example if self._format is None else self._formatted(example)
        if self.is_expand:
            return iter(self.examples(row))
        made = super().__call__(row)
        if made is None or self._given.get("layout") == "trl":
            return made
        # A row without a mask of its own has none; a stream has one form for all rows.
        chat = ("messages", self._given["messages_field"], "conversations", "conversation")
        for column, fields in (
            ("completion_mask", ("prompt", "completion_mask")),
            ("assistant_masks", (*chat, "assistant_masks")),
        ):
            if column in made and all(row.get(field) is None for field in fields):
                text = row.get(self._given["text_field"])
                if column == "completion_mask" or isinstance(text, str) or text is None:
                    del made[column]
        return made

    def explain(self, example: Example) -> Explanation:
        """What a row becomes: its text with what is trained on, turn by turn, and what is odd."""
        return explain(self, example if self._format is None else self._formatted(example))

    def _formatted(self, example: Example) -> Example:
        assert self._format is not None
        made = self._format(example)
        if isinstance(made, str):
            return {self._given["text_field"]: made}
        if isinstance(made, Mapping):
            return dict(made)
        raise TypeError(
            f"formatting_func returned {type(made).__name__}, expected text or a dict of fields"
        )

    def _steps(self) -> list[_Step]:
        if self._format is None:
            return [self]
        plain = copy.copy(self)
        plain._format = None
        return [MapTransform(self._formatted), plain]


class DPOPreprocessTransform(
    DPOPreprocessTransformSignature,
    _OneExample,
    Transform,
    options="PreferenceOptions",
    positional=("tokenizer", *_ANSWERS, "tools", "label_pad_token_id"),
    texts=_TEXTS,
):
    """Prepares preference pairs for direct preference optimisation.

    Rows have `prompt`, `chosen` and `rejected`, texts or chats; without `prompt` it is what the two
    answers begin with alike.

    Columns: `prompt_input_ids`, `prompt_attention_mask`, and for chosen and rejected
    `*_input_ids` (the prompt and the answer), `*_attention_mask`, `*_labels`. Layout "trl":
    `prompt_ids`, `chosen_ids`, `rejected_ids`. Fixed shapes have the prompt's padding at its left;
    of rows that keep their lengths a loader fills all columns up at the right, with the tokenizer's
    pad token.
    """

    _options_type = _native.PreferenceOptions
    _make = staticmethod(_native.preference_examples)


class ORPOPreprocessTransform(DPOPreprocessTransform):
    """Prepares preference pairs for odds-ratio preference optimisation: as for DPO."""


CPOPreprocessTransform = DPOPreprocessTransform


class _Unpaired(
    UnpairedSignature,
    _Examples,
    options="UnpairedOptions",
    positional=("tokenizer", *_ANSWERS, "label_pad_token_id", "embedding_tokenizer", "tools"),
    texts=_TEXTS,
):
    """What the transforms of single answers share."""

    _options_type = _native.UnpairedOptions
    _make = staticmethod(_native.unpaired_examples)

    def _take(self, tokenizer: Any, *, embedding_tokenizer: Any = None, **others: Any) -> None:
        super()._take(tokenizer, **others)
        self._embedding = None if embedding_tokenizer is None else Tokenizer(embedding_tokenizer)

    def _new_maker(self, context: _native.ExampleContext) -> _native.ExampleMaker:
        if self._embedding is None:
            return super()._new_maker(context)
        return _native.unpaired_examples(
            context, self._options, self._embedding.encoder, _pad_of(self._embedding) or 0
        )


class KTOPreprocessTransform(_Unpaired, _OneExample, Transform):
    """Prepares answers that are good or bad for Kahneman-Tversky optimisation.

    Rows have `prompt`, `completion` and `label` (true or false); of a source's rows with `chosen`
    and `rejected` each makes two examples, the chosen one first.

    Columns: `label`, `prompt_input_ids`, `prompt_attention_mask`, `completion_input_ids` (the
    prompt and the completion), `completion_attention_mask`, `completion_labels`. Layout "trl":
    `prompt_ids`, `completion_ids`, `label`.
    """


class BCOPreprocessTransform(_Unpaired, ExpandTransform):
    """Prepares pairs, or single answers, for binary classifier optimisation.

    A pair makes two examples, the chosen one first; columns are those of KTO.
    """

    def __call__(self, example: Example) -> Iterator[Example]:
        """Yields the examples of one row."""
        return iter(self.examples(example))


class GRPOPreprocessTransform(
    GRPOPreprocessTransformSignature,
    _OneExample,
    Transform,
    options="PromptOptions",
    positional=("tokenizer", "max_prompt_length", "tools", "skip_apply_chat_template"),
    texts=_TEXTS,
):
    """Prepares prompts for group-relative policy optimisation.

    A prompt is `prompt` (text or chat), `messages`, or what `chosen` and `rejected` begin with
    alike. Its end stays where it is too long. It is padded at its left, and its mask with it: here,
    or by a loader where `fixed_shapes=False` leaves rows their lengths. Columns: `input_ids`,
    `attention_mask`; name what rewards need by `keep_columns`.
    """

    _options_type = _native.PromptOptions
    _make = staticmethod(_native.prompt_examples)
    _use_of_examples = "answered by the model"


class PPOPreprocessTransform(GRPOPreprocessTransform):
    """Prepares prompts for proximal policy optimisation: as for GRPO."""


class RewardPreprocessTransform(
    RewardPreprocessTransformSignature,
    _OneExample,
    Transform,
    options="RewardOptions",
    positional=("tokenizer", "max_length", "truncation"),
    required=("max_length",),
    without=("tools",),
    texts=_TEXTS,
):
    """Prepares chosen and rejected answers, with their prompt if there is one, for a reward model.

    Columns: `input_ids_chosen`, `attention_mask_chosen`, and the same for rejected. Layout "trl":
    `chosen_ids`, `rejected_ids`. `margin`, as a float, where rows have it.
    """

    _options_type = _native.RewardOptions
    _make = staticmethod(_native.reward_examples)
    _use_of_examples = "scored as a whole"


class EmbeddingPreprocessTransform(
    EmbeddingPreprocessTransformSignature,
    _OneExample,
    Transform,
    options="EmbeddingOptions",
    positional=("tokenizer", "max_length", "query_field", "positive_field", "negative_field"),
    without=("tools", "chat_template", "chat_template_kwargs", "role_mapping", "template_date"),
    texts=_TEXTS,
):
    """Prepares queries with what is, and what is not, to be found, for an embedding model.

    Columns: `query_input_ids`, `query_attention_mask`, and the same for positive and negative.
    """

    _options_type = _native.EmbeddingOptions
    _make = staticmethod(_native.embedding_examples)
    _use_of_examples = "embedded as a whole"
