"""Text to tokens, a row or a few at a time."""

from __future__ import annotations

import copy
import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.core.config import TokenizerConfig
from easydata.core.config_class import is_set
from easydata.tokenizers.tokenizer import Tokenizer
from easydata.transforms.base import Columns, Example, OneToOneTransform

_log = logging.getLogger("easydata")


class TokenizeTransform(OneToOneTransform):
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
        self._config = tokenizer_config or TokenizerConfig(name_or_path="")
        self._tokenizer = tokenizer_as(tokenizer, self._config)
        self._content_field = content_field
        self._keep = list(additional_fields or ())
        self._report = _CutReport(self._config.max_length, is_set(self._config, "max_length"))

    def __call__(self, example: Example) -> Example:
        """Returns the tokens and the fields to keep."""
        text = _text_of(example, self._content_field)
        row = _tokenize(self._tokenizer, [text], self._config, self._report)
        return {
            **{name: values[0] for name, values in row.items()},
            **{name: example[name] for name in self._keep if name in example},
        }

    def _plan_step(self) -> _native.Step:
        reads: Columns = {**dict.fromkeys(self._keep, "any"), self._content_field: "text"}
        whole = None
        if not is_set(self._config, "max_length") and self._config.padding != "max_length":
            uncut = copy.copy(self)
            uncut._config = dataclasses.replace(self._config, truncation=False)
            whole = uncut._callable_step(reads_only=reads)
        return self._callable_step(reads_only=reads, whole=whole)


class TokenizerManager:
    """Makes tokenizers once and tokenizes with them."""

    def __init__(self) -> None:
        self._made: dict[Any, Tokenizer] = {}

    def get_tokenizer(self, config: TokenizerConfig | Any, **extra_kwargs: Any) -> Tokenizer:
        """The tokenizer that a configuration names; made by the first call.

        Args:
            config: a `TokenizerConfig`, or what `easydata.Tokenizer` takes.
            extra_kwargs: options of `easydata.Tokenizer` (`view`, `split_special_tokens`);
                `use_fast=True` is what it is.
        """
        name = getattr(config, "name_or_path", config)
        options = dict(extra_kwargs)
        if getattr(config, "view", "json") != "json":
            options.setdefault("view", config.view)
        if (splits := getattr(config, "split_special_tokens", None)) is not None:
            options.setdefault("split_special_tokens", splits)
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
        made = _tokenize(tokenizer_as(tokenizer, config), [text], config)
        return {name: values[0] for name, values in made.items()}

    def tokenize_batch(
        self, tokenizer: Any, texts: Sequence[str], config: TokenizerConfig
    ) -> dict[str, list[list[int]]]:
        """Tokens of several texts; `padding="longest"` fills up to the longest of them."""
        return _tokenize(tokenizer_as(tokenizer, config), list(texts), config)


def compute_tokenizer_hash(tokenizer: Any) -> str:
    """16 hexadecimal digits that tell tokenizers apart by content, whatever they are called.

    Args:
        tokenizer: an `easydata.Tokenizer` or what one is made of: a folder, a path, a live
            tokenizer.
    """
    return _tokenizer(tokenizer).fingerprint[:16]


@dataclasses.dataclass(frozen=True)
class _Padding:
    """How far rows are filled up, with what, and on which side."""

    length: int
    token_id: int
    left: bool

    @classmethod
    def of(
        cls, tokenizer: Tokenizer, config: TokenizerConfig, lengths: Sequence[int] = (0,)
    ) -> _Padding:
        """That of rows of these lengths; unset: of a row alone, which is its own longest."""
        left = tokenizer.padding_side == "left"
        longest = config.padding in (True, "longest")
        if not longest and config.padding != "max_length":
            return cls(0, 0, left)
        length = max(lengths, default=0) if longest else config.max_length
        token_id = tokenizer.pad_token_id
        if token_id is None and not (longest and all(each == length for each in lengths)):
            raise ValueError(
                f"padding={config.padding!r} needs a pad token, and tokenizer {tokenizer.name} "
                "names none; set padding=False, or pad_token in its tokenizer_config.json"
            )
        return cls(length, token_id or 0, left)


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
    if isinstance(tokenizer, Tokenizer) and not options:
        return tokenizer
    return Tokenizer(tokenizer, **options)


def tokenizer_as(tokenizer: Any, config: TokenizerConfig) -> Tokenizer:
    """A tokenizer that reads special tokens as a config says."""
    if config.split_special_tokens is None:
        return _tokenizer(tokenizer)
    return Tokenizer(tokenizer, split_special_tokens=config.split_special_tokens)


def _max_length(config: TokenizerConfig) -> int:
    return config.max_length if config.truncation else 0


def _text_of(row: Mapping[str, Any], field: str) -> str:
    text = row.get(field)
    if isinstance(text, str):
        return text
    if text is None:
        hint = _native.suggestion(field, [str(name) for name in row])
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
    padding = _Padding.of(tokenizer, config, list(map(len, ids)))
    for row, mask in zip(ids, masks, strict=True):
        missing = max(0, padding.length - len(row))
        at = 0 if padding.left else len(row)
        row[at:at] = [padding.token_id] * missing
        mask[at:at] = [0] * missing
    made = {"input_ids": ids}
    if config.return_attention_mask:
        made["attention_mask"] = masks
    return made
