"""Text to tokens: sources, single rows and batches."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from easydata.core.config_class import is_set
from easydata.sources.base import (
    ShardedDataSource,
    ShardInfo,
    Shuffle,
    TransformedShardedSource,
    first_rows,
)
from easydata.sources.known_fields import LOOKED_AT
from easydata.tokenizers.chat_template import Renderer, renderer_of
from easydata.transforms.base import (
    ChainedTransform,
    Columns,
    Example,
    MapTransform,
    Transform,
    _Step,
    run_steps,
)
from easydata.transforms.chat import MESSAGE_FIELDS
from easydata.transforms.conversation import (
    decoded,
    is_messages,
    read_conversation,
    render_conversation,
)

if TYPE_CHECKING:
    from easydata import _native
    from easydata.core.config import DatasetConfig, TokenizerConfig
    from easydata.tokenizers.tokenizer import Tokenizer

OnError = Literal["raise", "skip", "quarantine"]

_log = logging.getLogger("easydata")


class TokenizedShardedSource(ShardedDataSource[Example]):
    """A source's rows as tokens.

    A row becomes `input_ids`, `attention_mask` unless switched off, and those of
    `additional_fields` that it has. Before that, `format_callback` and then `format_fields` are
    applied to it.

    What `content_field` holds in the first row that has anything there holds for all: text is
    tokenized; messages (or the JSON of messages) are rendered by the tokenizer's chat template
    first, as `ChatTemplateTransform` does, with the functions in the row's field `tools`, and no
    special tokens are added to those of the template. Where rows lack `content_field` but have
    messages in `messages`, `conversations` or `conversation`, they are taken.
    """

    def __init__(
        self,
        source: ShardedDataSource[Any],
        tokenizer: Any,
        tokenizer_config: TokenizerConfig,
        content_field: str = "text",
        additional_fields: Sequence[str] | None = None,
        format_callback: Callable[[Example], Example | None] | None = None,
        format_fields: Mapping[str, str] | None = None,
        *,
        batch_size: int = 0,
        num_workers: int = 0,
        on_error: OnError = "raise",
        quarantine_path: str | os.PathLike[str] | None = None,
    ) -> None:
        """Wraps a source.

        Args:
            source: where the rows come from.
            tokenizer: an `easydata.Tokenizer` or what one is made of: a folder, a path, a live
                tokenizer.
            tokenizer_config: how to tokenize; its `name_or_path` is not looked at.
            content_field: the field that holds the text or the messages.
            additional_fields: fields to keep.
            format_callback: a pure function of a row, called first; None drops the row.
            format_fields: fields to move, from old to new names.
            batch_size: how many texts are given to the tokenizer at once; 0 means as they come.
            num_workers: how many threads may tokenize at a time; 0 means all.
            on_error: what becomes of rows without a text, or with messages that cannot be
                rendered: "raise", "skip" or "quarantine".
            quarantine_path: the JSONL file for rows in quarantine.
        """
        if on_error not in ("raise", "skip", "quarantine"):
            raise ValueError(f'on_error must be "raise", "skip" or "quarantine", got {on_error!r}')
        if on_error == "quarantine" and quarantine_path is None:
            raise ValueError('on_error="quarantine" needs quarantine_path, the file for the rows')
        self._source = source
        self._tokenizer = _tokenizer(tokenizer)
        self._renderer_of: Callable[[], Renderer] = functools.partial(renderer_of, tokenizer)
        self._config = tokenizer_config
        self._content_field = content_field
        self._additional_fields = list(additional_fields or ())
        self._callback = format_callback
        self._batch_size = batch_size
        self._num_workers = num_workers
        self._on_error = on_error
        self._quarantine_path = "" if quarantine_path is None else os.fspath(quarantine_path)
        self._padding = _Padding.of(self._tokenizer, tokenizer_config)
        self._is_split = False
        steps: list[_Step] = []
        if format_callback is not None:
            steps.append(MapTransform(format_callback))
        if format_fields:
            steps.append(_MoveFields(format_fields))
        self._steps = steps
        self._rows = TransformedShardedSource(source, ChainedTransform(steps)) if steps else source
        self._messages_field: str | None = None
        self._looked = False

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer at work."""
        return self._tokenizer

    @property
    def shard_names(self) -> Sequence[str]:
        """Names of the shards, those of the source below."""
        return self._source.shard_names

    def num_shards(self) -> int:
        """Number of shards."""
        return self._source.num_shards()

    def open_shard(self, shard_name: str) -> Iterator[Example]:
        """The tokenized rows of a shard as dicts of lists, in order."""
        from easydata import _native

        return _native.iterate_rows(self._stream(None, [shard_name]))

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Example]:
        """The rows of a shard from row `row` on; where no row can go, none before is tokenized."""
        if row > 0 and self._one_to_one():
            stream = self._tokenized(None, [shard_name], row)
            if stream is not None:
                from easydata import _native

                return _native.iterate_rows(stream)
        return itertools.islice(self.open_shard(shard_name), row, None)

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """What is known of a shard; its number of rows only where none can go."""
        return self._rows.get_shard_info(shard_name) if self._one_to_one() else None

    def __iter__(self) -> Iterator[Example]:
        from easydata import _native

        return _native.iterate_rows(self._stream())

    def __len__(self) -> int:
        if not self._one_to_one():
            raise TypeError("the number of rows is not known: some may be left out")
        return len(self._rows)

    def __repr__(self) -> str:
        return (
            f"TokenizedShardedSource({self._source!r}, max_length={self._config.max_length}, "
            f"content_field={self._content_field!r})"
        )

    def _shuffled(self, order: Shuffle) -> ShardedDataSource[Example]:
        tokenized = copy.copy(self)
        tokenized._source = self._source._shuffled(order)
        tokenized._rows = tokenized._source
        if self._steps:
            tokenized._rows = TransformedShardedSource(
                tokenized._source, ChainedTransform(self._steps)
            )
        return tokenized

    def _split_later(self) -> ShardedDataSource[Example]:
        if is_set(self._config, "max_length") or self._padding.length > 0:
            return self
        whole = copy.copy(self)
        whole._is_split = True
        return whole

    def _one_to_one(self) -> bool:
        return self._callback is None and self._on_error == "raise"

    def _row_source(self) -> ShardedDataSource[Any] | None:
        return self._source if self._one_to_one() else None

    def _inputs(self) -> Sequence[ShardedDataSource[Any]]:
        return (self._source,)

    def _find_messages(self) -> str | None:
        """The field that holds messages, or None where text is tokenized."""
        if not self._looked:
            self._messages_field = self._look_for_messages()
            self._looked = True
        return self._messages_field

    def _look_for_messages(self) -> str | None:
        empty = None
        for row in itertools.islice(first_rows(self._source, self._steps), LOOKED_AT):
            fields = [self._content_field] if self._content_field in row else MESSAGE_FIELDS
            values = {field: decoded(row.get(field)) for field in fields}
            for field, value in values.items():
                if is_messages(value):
                    return field
                if isinstance(value, list) and not value:
                    empty = empty or field  # of messages, if of anything
            if isinstance(values.get(self._content_field), str):
                return None
        return empty

    def _stream(
        self, columns: Columns | None = None, shards: Sequence[str] | None = None
    ) -> _native.Stream:
        stream = self._tokenized(columns, shards, 0)
        assert stream is not None
        return stream

    def _tokenized(
        self, columns: Columns | None, shards: Sequence[str] | None, row: int
    ) -> _native.Stream | None:
        """The stream from a row of the first shard on; None where the source cannot seek."""
        from easydata import _native

        messages = self._find_messages()
        keep = [name for name in self._additional_fields if columns is None or name in columns]
        needs: dict[str, Any] = {name: (columns or {}).get(name, "any") for name in keep}
        needs[self._content_field] = "text"
        stream = self._texts(messages, needs, shards, row)
        if stream is None:
            return None
        config = self._config
        stream = _native.tokenize(
            stream,
            self._tokenizer.encoder,
            column=self._content_field,
            add_special_tokens=config.add_special_tokens and messages is None,
            max_length=0 if self._is_split else _max_length(config),
            attention_mask=config.return_attention_mask
            and (columns is None or "attention_mask" in columns),
            pad_to=self._padding.length,
            pad_id=self._padding.token_id,
            pad_left=self._padding.left,
            keep=keep,
            on_error=self._on_error,
            rows_per_call=self._batch_size,
            max_threads=self._num_workers,
            report=_CutReport(config.max_length, is_set(config, "max_length")),
        )
        return stream if columns is None else _native.conform(stream, dict(columns))

    def _texts(
        self,
        messages: str | None,
        needs: Mapping[str, Any],
        shards: Sequence[str] | None,
        row: int,
    ) -> _native.Stream | None:
        """The stream of what is tokenized, and of what is kept beside it."""
        from easydata import _native

        render = None
        if messages is not None:
            render = _RenderMessages(
                self._renderer_of(), messages, self._content_field, self._on_error != "raise"
            )
        aside = self._on_error == "quarantine"
        rows = self._rows
        if aside:
            # A row goes into quarantine as it was read, so whole rows are read, and all that is
            # done to a row is done in one step.
            steps = list(self._steps) if render is None else [*self._steps, render]
            rows, steps = _below_steps(self._source, steps)
            if not steps:
                stream = rows._stream_from(None, shards, row)
                if stream is None:
                    return None
                stream = _native.read_or_refuse(stream, dict(needs), self._content_field)
                return _native.take_refused_out(stream, self._quarantine_path, _log.warning)
            rows = TransformedShardedSource(rows, _WholeRow(steps, self._content_field))
        elif render is not None:
            rows = TransformedShardedSource(rows, render)
        stream = rows._stream_from(needs, shards, row)
        if stream is None or not (aside or (render is not None and render.refuses)):
            return stream
        return _native.take_refused_out(stream, self._quarantine_path, _log.warning)


class TokenizeTransform(Transform):
    """Tokenizes one row at a time; `TokenizedShardedSource` does the same for a source, fast."""

    def __init__(
        self,
        tokenizer: Any,
        tokenizer_config: TokenizerConfig | None = None,
        content_field: str = "text",
        additional_fields: Sequence[str] | None = None,
    ) -> None:
        """Tokenizes the text in `content_field`.

        Args:
            tokenizer: an `easydata.Tokenizer` or what one is made of.
            tokenizer_config: how to tokenize; the defaults of `TokenizerConfig` if not given.
            content_field: the field that holds the text.
            additional_fields: fields to keep.
        """
        self._tokenizer = _tokenizer(tokenizer)
        self._config = tokenizer_config or _default_config()
        self._content_field = content_field
        self._keep = list(additional_fields or ())
        self._report = _CutReport(self._config.max_length, is_set(self._config, "max_length"))

    @property
    def keeps_rows(self) -> bool:
        """True: one row in, one row out."""
        return True

    def __call__(self, example: Example) -> Example:
        """Returns the tokens and the fields to keep."""
        text = _text_of(example, self._content_field)
        row = _tokenize(self._tokenizer, [text], self._config, self._report)
        return {
            **{name: values[0] for name, values in row.items()},
            **{name: example[name] for name in self._keep if name in example},
        }

    def _split_later(self) -> TokenizeTransform:
        if is_set(self._config, "max_length") or self._config.padding == "max_length":
            return self
        whole = copy.copy(self)
        whole._config = dataclasses.replace(self._config, truncation=False)
        return whole

    def _needs(self, wanted: Columns | None) -> Columns | None:
        needs: dict[str, Any] = dict.fromkeys(self._keep, "any")
        return {**needs, self._content_field: "text"}


class TokenizerManager:
    """Makes tokenizers once and tokenizes with them."""

    def __init__(self) -> None:
        self._made: dict[Any, Tokenizer] = {}

    def get_tokenizer(self, config: TokenizerConfig | Any, **extra_kwargs: Any) -> Tokenizer:
        """The tokenizer that a configuration names; made by the first call.

        Args:
            config: a `TokenizerConfig`, or what `easydata.Tokenizer` takes.
            extra_kwargs: options of `easydata.Tokenizer` (`view`); `use_fast=True` is what it is.
        """
        name = getattr(config, "name_or_path", config)
        options = dict(extra_kwargs)
        if options.pop("use_fast", True) is not True:
            raise NotImplementedError("use_fast=False: slow tokenizers are not supported")
        key = (name if isinstance(name, str) else id(name), tuple(sorted(options.items())))
        if key not in self._made:
            self._made[key] = _tokenizer(name, **options)
        return self._made[key]

    def tokenize_text(
        self, tokenizer: Any, text: str, config: TokenizerConfig
    ) -> dict[str, list[int]]:
        """Tokens of one text: `input_ids` and, unless switched off, `attention_mask`."""
        made = _tokenize(_tokenizer(tokenizer), [text], config)
        return {name: values[0] for name, values in made.items()}

    def tokenize_batch(
        self, tokenizer: Any, texts: Sequence[str], config: TokenizerConfig
    ) -> dict[str, list[list[int]]]:
        """Tokens of several texts; `padding="longest"` fills up to the longest of them."""
        return _tokenize(_tokenizer(tokenizer), list(texts), config)


def batched_tokenize_iterator(
    source: ShardedDataSource[Any],
    tokenizer: Any,
    tokenizer_config: TokenizerConfig,
    content_field: str = "text",
    batch_size: int = 1000,
    additional_fields: Sequence[str] | None = None,
    format_callback: Callable[[Example], Example] | None = None,
) -> Iterator[Example]:
    """Yields the tokenized rows of all shards; "longest" pads to the longest of each batch.

    Args:
        source: where the rows come from.
        tokenizer: an `easydata.Tokenizer` or what one is made of.
        tokenizer_config: how to tokenize.
        content_field: the field that holds the text.
        batch_size: rows that are tokenized together.
        additional_fields: fields to keep; None where a row lacks one.
        format_callback: a function of a row, called first.
    """
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    made = _tokenizer(tokenizer)
    report = _CutReport(tokenizer_config.max_length, is_set(tokenizer_config, "max_length"))
    rows = source.iter_shards()
    while batch := list(itertools.islice(rows, batch_size)):
        if format_callback is not None:
            batch = [format_callback(dict(row)) for row in batch]
        texts = [_text_of(row, content_field) for row in batch]
        tokens = _tokenize(made, texts, tokenizer_config, report)
        for index, row in enumerate(batch):
            yield {
                **{name: values[index] for name, values in tokens.items()},
                **{name: row.get(name) for name in additional_fields or ()},
            }


def tokenize_dataset_config(
    source: ShardedDataSource[Any],
    config: DatasetConfig,
    global_tokenizer: Any | None = None,
) -> TokenizedShardedSource:
    """Tokenizes a source as its dataset's configuration says.

    Args:
        source: where the rows come from.
        config: names the tokenizer, the fields and what becomes of bad rows.
        global_tokenizer: the tokenizer to use where `config` names none.

    Raises:
        ValueError: neither names a tokenizer.
    """
    from easydata.core.config import merge_tokenizer_config

    tokenizer_config = merge_tokenizer_config(config, global_tokenizer)
    if tokenizer_config is None:
        raise ValueError(
            f"dataset {config.name or config.data_files!r} names no tokenizer; set tokenizer= in "
            "its DatasetConfig or give global_tokenizer="
        )
    return TokenizedShardedSource(
        source,
        TokenizerManager().get_tokenizer(tokenizer_config),
        tokenizer_config,
        content_field=config.content_field,
        additional_fields=config.additional_fields,
        format_callback=config.format_callback,
        format_fields=config.format_fields,
        on_error=config.on_error,
        quarantine_path=config.quarantine_path,
    )


def compute_tokenizer_hash(tokenizer: Any) -> str:
    """16 hexadecimal digits that tell tokenizers apart by content, whatever they are called.

    Args:
        tokenizer: an `easydata.Tokenizer` or what one is made of: a folder, a path, a live
            tokenizer.
    """
    return _tokenizer(tokenizer).fingerprint[:16]


class _MoveFields(Transform):
    """Moves fields onto other names; what was there before goes."""

    def __init__(self, mapping: Mapping[str, str]) -> None:
        self._mapping = dict(mapping)

    @property
    def keeps_rows(self) -> bool:
        return True

    def __call__(self, example: Example) -> Example:
        row = dict(example)
        for old, new in self._mapping.items():
            if old in row:
                row[new] = row.pop(old)
        return row

    def _needs(self, wanted: Columns | None) -> Columns | None:
        if wanted is None:
            return None
        needs: dict[str, Any] = {}
        for name, kind in wanted.items():
            olds = [old for old, new in self._mapping.items() if new == name]
            if name not in self._mapping:
                olds.append(name)
            for old in olds:
                needs[old] = kind if len(olds) == 1 else "any"
        return needs

    def _column_op(self, names: Sequence[str], typed: bool) -> _native.ColumnOp | None:
        moved = set(self._mapping)
        if moved & set(self._mapping.values()) or len(set(self._mapping.values())) < len(moved):
            return None  # moved more than once: row by row
        from easydata import _native

        return _native.ColumnOp.rename(list(self._mapping.items()), renamed_wins=True)

    def __repr__(self) -> str:
        return f"format_fields({self._mapping!r})"


class MissingText(ValueError):
    """Refuses a row without a text."""

    reason = "missing"


class _RenderMessages(Transform):
    """Puts the text of a row's messages into the content field.

    Where it `refuses`, it returns the exception that says why a row cannot be rendered.
    """

    def __init__(
        self, render: Renderer, messages_field: str, content_field: str, refuses: bool
    ) -> None:
        self._render = render
        self._messages = messages_field
        self._content = content_field
        self._refuses = refuses

    @property
    def keeps_rows(self) -> bool:
        return True

    @property
    def refuses(self) -> bool:
        return self._refuses

    def __call__(self, example: Example) -> Any:
        if example.get(self._messages) is None:
            return {**example, self._content: None}
        try:
            return {**example, self._content: self._text_of(example)}
        except Exception as error:
            if not self._refuses:
                raise
            return error

    def _text_of(self, example: Example) -> str:
        value = decoded(example[self._messages])
        if isinstance(value, str):
            raise TypeError(
                f"field {self._messages!r} holds text that is no JSON of messages, but the first "
                "row of the source holds messages there"
            )
        messages = read_conversation(value, self._messages)
        tools = decoded(example.get("tools"))
        return render_conversation(self._render, messages, tools=tools or None)

    def _needs(self, wanted: Columns | None) -> Columns | None:
        if wanted is None:
            return None
        needs: dict[str, Any] = {n: kind for n, kind in wanted.items() if n != self._content}
        return {**needs, self._messages: "any", "tools": "any"}

    def __repr__(self) -> str:
        return f"chat_template({self._messages!r})"


class _WholeRow(Transform):
    """Several steps that see whole rows, of which one without a text is refused."""

    def __init__(self, steps: Sequence[_Step], content_field: str) -> None:
        self._all = list(steps)
        self._content = content_field

    @property
    def refuses(self) -> bool:
        return True

    def __call__(self, example: Example) -> Any:
        for made in run_steps(self._all, example):
            if isinstance(made, Exception):
                return made
            text = made.get(self._content)
            if text is None:
                return MissingText(f"the row has no text in field {self._content!r}")
            if not isinstance(text, str):
                return TypeError(
                    f"field {self._content!r} holds {type(text).__name__}, expected text"
                )
            return made
        return None

    def __repr__(self) -> str:
        return " >> ".join(map(repr, self._all))


def tokenizers_of(source: ShardedDataSource[Any]) -> list[Any]:
    """The tokenizers that the rows of a source come from, as far as they are known."""
    own = getattr(source, "tokenizer", None)
    if own is not None:
        return [own]
    return [tokenizer for each in source._inputs() for tokenizer in tokenizers_of(each)]


def _below_steps(
    source: ShardedDataSource[Any], steps: list[_Step]
) -> tuple[ShardedDataSource[Any], list[_Step]]:
    """The source below all steps that make one row or none of each, and all these steps."""
    if isinstance(source, TransformedShardedSource):
        below = source._steps
        if not any(step.is_expand for step in below):
            return source._root, [*below, *steps]
    return source, steps


class _Padding:
    """How far rows are filled up, with what, and on which side."""

    def __init__(self, length: int, token_id: int, left: bool) -> None:
        self.length = length
        self.token_id = token_id
        self.left = left

    @classmethod
    def of(cls, tokenizer: Tokenizer, config: TokenizerConfig) -> _Padding:
        left = getattr(tokenizer, "padding_side", "right") == "left"
        longest = config.padding in (True, "longest")
        if not longest and config.padding != "max_length":
            return cls(0, 0, left)
        token_id = tokenizer.pad_token_id
        if token_id is None and not longest:
            raise ValueError(
                f"padding={config.padding!r} needs a pad token, and tokenizer {tokenizer.name} "
                "names none; set padding=False, or pad_token in its tokenizer_config.json"
            )
        # The longest of one row is the row itself.
        return cls(0 if longest else config.max_length, token_id or 0, left)


class _CutReport:
    """Says that documents are cut, and how many were."""

    def __init__(self, max_length: int, is_set: bool) -> None:
        self._max_length = max_length
        self._told = False
        self._cutting = (
            f"documents are being cut to max_length={max_length} tokens"
            f"{'' if is_set else ' (nobody set it: this is the default)'}; truncation=False keeps "
            "them whole"
        )

    def say_once(self) -> None:
        """Says that documents are cut, where nobody counts them."""
        if not self._told:
            self._told = True
            _log.warning("%s", self._cutting)

    def __call__(self, which: str, source: str, documents: int, tokens: int) -> None:
        of = f"dataset {source}: " if source else ""
        if which == "first":
            _log.warning("%s%s; the first %d lost %d tokens", of, self._cutting, documents, tokens)
        else:
            _log.warning(
                "%s%d documents were cut to max_length=%d tokens and lost %d tokens",
                of,
                documents,
                self._max_length,
                tokens,
            )


def _tokenizer(tokenizer: Any, **options: Any) -> Tokenizer:
    from easydata.tokenizers.tokenizer import Tokenizer

    if isinstance(tokenizer, Tokenizer) and not options:
        return tokenizer
    return Tokenizer(tokenizer, **options)


def _default_config() -> TokenizerConfig:
    from easydata.core.config import TokenizerConfig

    return TokenizerConfig(name_or_path="")


def _max_length(config: TokenizerConfig) -> int:
    return config.max_length if config.truncation else 0


def _text_of(row: Mapping[str, Any], field: str) -> str:
    text = row.get(field)
    if isinstance(text, str):
        return text
    if text is None:
        from difflib import get_close_matches

        near = get_close_matches(field, row, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; it has: {', '.join(map(str, row))}"
        raise ValueError(f"the row has no text in field {field!r}{hint}")
    raise TypeError(f"field {field!r} holds {type(text).__name__}, expected text")


def _tokenize(
    tokenizer: Tokenizer,
    texts: list[str],
    config: TokenizerConfig,
    report: _CutReport | None = None,
) -> dict[str, list[list[int]]]:
    """Tokens of a few texts, as lists; the first that are cut are told to `report`."""
    encoded: Any
    encoded, cut = tokenizer.encoder.encode_batch(
        texts, config.add_special_tokens, _max_length(config), None
    )
    if cut > 0 and report is not None:
        report.say_once()
    ids: list[list[int]] = encoded.to_pylist()
    masks = [[1] * len(row) for row in ids]
    padding = _Padding.of(tokenizer, config)
    length = padding.length
    if config.padding in (True, "longest"):
        length = max(map(len, ids), default=0)
        if tokenizer.pad_token_id is None and any(len(row) < length for row in ids):
            raise ValueError(
                f"padding={config.padding!r} needs a pad token, and tokenizer {tokenizer.name} "
                "names none; set padding=False, or pad_token in its tokenizer_config.json"
            )
    for row, mask in zip(ids, masks, strict=True):
        missing = max(0, length - len(row))
        at = 0 if padding.left else len(row)
        row[at:at] = [padding.token_id] * missing
        mask[at:at] = [0] * missing
    made = {"input_ids": ids}
    if config.return_attention_mask:
        made["attention_mask"] = masks
    return made
