"""Sources of tokens."""

from __future__ import annotations

import functools
import itertools
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.core.choices import OnError
from easydata.core.config import (
    ConfigError,
    DatasetConfig,
    TokenizerConfig,
    merge_tokenizer_config,
)
from easydata.core.config_class import is_set, options_of
from easydata.sources.create import formatted, kept_tokens
from easydata.sources.first_rows import LOOKED_AT, first_rows
from easydata.sources.huggingface import wrap_hf_dataset
from easydata.sources.recorded_tokens import refusal_of_tokens
from easydata.sources.rows_in_shards import ShardInfo
from easydata.sources.sharded_source import (
    Rewrite,
    ShardedDataSource,
    TemplateDate,
    TransformedShardedSource,
    WrapperSource,
    chain_of,
    root_of,
)
from easydata.sources.unread_fields import UnreadFields, find_unread, tell_unread
from easydata.tokenizers.chat_template import Renderer, renderer_of
from easydata.tokenizers.template_date import checked_date, dated, open_date
from easydata.tokenizers.tokenizer import Tokenizer
from easydata.transforms.base import ChainedTransform, Example, MapTransform, _Step
from easydata.transforms.chat import MESSAGE_FIELDS
from easydata.transforms.conversation import decoded, is_instruction, is_messages
from easydata.transforms.messages import _MoveFields, _RenderMessages, _WholeRow
from easydata.transforms.tokenize_row import (
    TokenizerManager,
    _CutReport,
    _max_length,
    _Padding,
    _text_of,
    _tokenize,
    tokenizer_as,
)

_log = logging.getLogger("easydata")

_SPLIT_CHATS = (
    "chats are tokenized by %s with split_special_tokens=True: the special tokens that the chat "
    "template prints are read as text, too, as transformers does; leave the option out for chats"
)


class TokenizedShardedSource(WrapperSource[Example]):
    """A source's rows as tokens.

    A row becomes `input_ids`, `attention_mask` unless switched off, and those of
    `additional_fields` that it has. Before that, `format_callback` and then `format_fields` are
    applied to it.

    What `content_field` holds in the first row that has anything there holds for all: text is
    tokenized; messages (or the JSON of messages) are rendered by the tokenizer's chat template
    first, as `ChatTemplateTransform` does, with the functions in the row's field `tools`, and no
    special tokens are added to those of the template. Where rows lack `content_field` but have
    messages in `messages`, `conversations` or `conversation`, they are taken; else instructions
    with their answers (`instruction`, `input`, `output`), as chats of two messages. A row's
    `system`, `system_prompt` or `developer` is the first message, and its `chat_template_kwargs`
    are options of the template.
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
        _native.check_on_error(on_error, quarantine_path is not None)
        self._inputs = (wrap_hf_dataset(source),)
        self._tokenizer = tokenizer_as(tokenizer, tokenizer_config)
        self._template_of: Callable[[], Renderer] = functools.partial(
            renderer_of, tokenizer, tokenizer_config.chat_template
        )
        self._date = checked_date(tokenizer_config.template_date)
        self._open_date: str | None = None
        self._told_of_split = False
        self._config = tokenizer_config
        self._content_field = content_field
        self._additional_fields = list(additional_fields or ())
        self._callback = format_callback
        self._batch_size = batch_size
        self._num_workers = num_workers
        self._on_error = on_error
        self._quarantine_path = _native.user_path(os.fspath(quarantine_path or ""))
        self._padding = _Padding.of(self._tokenizer, tokenizer_config)
        self._steps: list[_Step] = []
        if format_callback is not None:
            self._steps.append(MapTransform(format_callback))
        if format_fields:
            self._steps.append(_MoveFields(format_fields))
        self._passes_on = ("shuffle", "split", *(("select",) if self._one_to_one() else ()))

    # What its rows have and nobody reads, once they were looked at.
    _unread: UnreadFields | None = None
    # What _find_messages() says, where the rows need not be looked at for it.
    _form: tuple[str | None] | None = None

    @property
    def _rows(self) -> ShardedDataSource[Any]:
        """The rows that are tokenized."""
        if not self._steps:
            return self.source
        return TransformedShardedSource(self.source, ChainedTransform(self._steps))

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer at work."""
        return self._tokenizer

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Example]:
        """The rows of a shard from row `row` on; where no row can go, none before is tokenized."""
        if row > 0 and not self._one_to_one():
            return itertools.islice(self.open_shard(shard_name), row, None)
        return super().open_shard_at_row(shard_name, row)

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """What is known of a shard; its number of rows only where none can go."""
        return self._rows.get_shard_info(shard_name) if self._one_to_one() else None

    def __iter__(self) -> Iterator[Example]:
        return _native.iterate_rows(self._stream())

    def __len__(self) -> int:
        if not self._one_to_one():
            raise TypeError("the number of rows is not known: some may be left out")
        return len(self._rows)

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        given = {"max_length": self._config.max_length, "content_field": self._content_field}
        return (self.source, self._config.name_or_path), given

    def _one_to_one(self) -> bool:
        return self._callback is None and self._on_error == "raise"

    def _find_messages(self) -> str | None:
        """The field that holds messages; "" where rows are instructions, None where text is."""
        empty, rows, of_tokens = None, 0, 0
        for row in itertools.islice(first_rows(self.source, self._steps), LOOKED_AT):
            fields = [self._content_field] if self._content_field in row else MESSAGE_FIELDS
            rows += 1
            of_tokens += self._content_field not in row and "input_ids" in row
            values = {field: decoded(row.get(field)) for field in fields}
            for field, value in values.items():
                if is_messages(value):
                    return field
                if isinstance(value, list) and not value:
                    empty = empty or field  # of messages, if of anything
            if isinstance(values.get(self._content_field), str):
                return None
            if not any(row.get(field) is not None for field in fields) and is_instruction(row):
                return ""
        if rows and rows == of_tokens:
            raise refusal_of_tokens(self.source, self._content_field, self._tokenizer)
        return empty

    def _template_date(self) -> str | None:
        assert self._plan is not None  # it tells whether there are messages to render
        return self._open_date

    def _rewritten(self, rewrite: Rewrite) -> ShardedDataSource[Example] | None:
        if not isinstance(rewrite, TemplateDate) or self._template_date() is None:
            return None
        other = self._over([rewrite.of(self.source)])
        other._open_date = rewrite.date
        return other

    def _look_for_unread(self, messages: str | None) -> None:
        if self._unread is not None:
            return
        read = [self._content_field, *self._additional_fields]
        if messages is not None:
            read += [messages, *_native.fields_beside(instructions=not messages)]
        self._unread = find_unread(*root_of(self.source, self._steps), lambda _: read)
        tell_unread(self.source, self._unread, "tokenizing")

    def _make_plan(self) -> _native.Plan:
        messages = self._find_messages() if self._form is None else self._form[0]
        self._look_for_unread(messages)
        config = self._config
        is_limited = is_set(config, "max_length")
        return _native.tokenized_rows(
            self._texts_plan(messages),
            self._tokenizer.encoder,
            _CutReport(config.max_length, is_limited),
            may_be_whole=not is_limited and self._padding.length == 0,
            vocabulary=self._tokenizer._vocabulary,
            options=_native.TokenizeOptions(
                **{
                    **options_of(config, "TokenizeOptions"),
                    "content_field": self._content_field,
                    "add_special_tokens": config.add_special_tokens and messages is None,
                    "max_length": _max_length(config),
                    "pad_to": self._padding.length,
                    "pad_token_id": self._padding.token_id,
                    "pad_left": self._padding.left,
                    "additional_fields": self._additional_fields,
                    "skip_missing": self._on_error == "skip",
                    "batch_size": self._batch_size,
                    "num_workers": self._num_workers,
                }
            ),
        )

    def _texts_plan(self, messages: str | None) -> _native.Plan:
        """The rows of what is tokenized, and of what is kept beside it."""
        render = None
        if messages is not None:
            template = dated(self._template_of(), self._date)
            if self._open_date is not None:
                template = template.dated(self._open_date)
            self._open_date = open_date(template)
            if self._tokenizer.split_special_tokens and not self._told_of_split:
                self._told_of_split = True
                _log.warning(_SPLIT_CHATS, self._tokenizer.name)
            render = _RenderMessages(
                template,
                messages,
                self._content_field,
                self._on_error != "raise",
                self._config.chat_template_kwargs,
            )
        rows = self._rows
        if self._on_error == "quarantine":
            # A row goes into quarantine as it was read, so whole rows are read, and all that is
            # done to a row is done in one step.
            steps = list(self._steps) if render is None else [*self._steps, render]
            rows, steps = _below_steps(self.source, steps)
            if steps:
                texts = TransformedShardedSource(rows, _WholeRow(steps, self._content_field))._plan
            else:
                texts = _native.columns_or_refused(rows._plan, self._content_field)
        elif render is None:
            return rows._plan
        else:
            texts = TransformedShardedSource(rows, render)._plan
            if not render.refuses:
                return texts
        return _native.refused_taken_out(texts, self._quarantine_path, _log.warning)


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
    made = tokenizer_as(tokenizer, tokenizer_config)
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
) -> ShardedDataSource[Example]:
    """Tokenizes a source as its dataset's configuration says.

    The tokens are kept where its `cache_path` says.

    Args:
        source: the rows, as they are read or as create_source(config) gives them.
        config: names the tokenizer, the fields and what becomes of bad rows.
        global_tokenizer: the tokenizer to use where `config` names none.

    Raises:
        ValueError: neither names a tokenizer.
        ConfigError: `transform` makes tokens by itself.
    """
    if config.transform is not None or config.transforms:
        option = "transforms" if config.transform is None else "transform"
        raise ConfigError(
            "DatasetConfig",
            [f"{option}: makes tokens by itself; create_source(config) gives its rows"],
        )
    tokenizer_config = merge_tokenizer_config(config, global_tokenizer)
    if tokenizer_config is None:
        raise ValueError(
            f"dataset {config.name or config.data_files!r} names no tokenizer; set tokenizer= in "
            "its DatasetConfig or give global_tokenizer="
        )
    made = TokenizedShardedSource(
        formatted(source, config),
        TokenizerManager().get_tokenizer(tokenizer_config),
        tokenizer_config,
        content_field=config.content_field,
        additional_fields=config.additional_fields,
        on_error=config.on_error,
        quarantine_path=config.quarantine_path,
    )
    return kept_tokens(made, config)


def tokenizers_of(source: ShardedDataSource[Any]) -> list[Tokenizer]:
    """The tokenizers that the rows of a source come from, those of other libraries left out."""
    own = getattr(source, "tokenizer", None)
    if own is not None:
        return [own] if isinstance(own, Tokenizer) else []
    return [tokenizer for each in source._inputs for tokenizer in tokenizers_of(each)]


def template_date_of(source: ShardedDataSource[Any]) -> str | None:
    """The date that clocks of chat templates are told, where nobody gave one."""
    own = None
    if isinstance(source, TransformedShardedSource):
        own = source.transform_fn._template_date()
    elif isinstance(source, TokenizedShardedSource):
        own = source._template_date()
    return own or next(filter(None, map(template_date_of, source._inputs)), None)


def _below_steps(
    source: ShardedDataSource[Any], steps: list[_Step]
) -> tuple[ShardedDataSource[Any], list[_Step]]:
    """The source below all steps that make one row or none of each, and all these steps."""
    if isinstance(source, TransformedShardedSource):
        root, below = chain_of(source)
        if not any(step.is_expand for step in below):
            return root, [*below, *steps]
    return source, steps
