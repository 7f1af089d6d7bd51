"""Tokenizing on a worker of Ray, as easydel.data has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from easydata.core.config import TokenizerConfig
from easydata.distributed.ray_cluster import ray_library
from easydata.distributed.shard_jobs import Part, Row, TokenizeJob
from easydata.sources.huggingface import HFDatasetShardedSource
from easydata.transforms.tokenize_row import TokenizerManager


@dataclass
class TokenizeBatch:
    """Texts on their way to a worker.

    Attributes:
        texts: The texts.
        metadata: What goes with them, and comes back with their tokens.
    """

    texts: list[str]
    metadata: dict[str, Any] | None = None


@dataclass
class TokenizedBatch:
    """Tokens on their way back.

    Attributes:
        input_ids: The ids of each text.
        attention_masks: 1 for each of these, 0 for padding.
        metadata: What came with the texts.
    """

    input_ids: list[list[int]]
    attention_masks: list[list[int]] | None = None
    metadata: dict[str, Any] | None = None


class _Remote(type):
    """Gives a class what `@ray.remote` gives; Ray is imported when it is asked for."""

    def remote(cls, *args: Any, **kwargs: Any) -> Any:
        """An actor of the class; the arguments are those of the class."""
        return ray_library().remote(cls).remote(*args, **kwargs)

    def options(cls, **options: Any) -> Any:
        """The class with options of Ray's for the actors that its `remote()` makes."""
        return ray_library().remote(cls).options(**options)


class RayTokenizeWorker(metaclass=_Remote):
    """Tokenizes texts, as an actor of Ray or right here.

    `RayTokenizeWorker.remote("gpt2")` makes an actor, as of a class with `@ray.remote`;
    `.options(num_cpus=2).remote("gpt2")` one with options of Ray's.

    Args:
        tokenizer_name: A folder, a path or a name on the Hub, as the machine of the worker has it.
        max_length: Tokens of a text, at most.
        trust_remote_code: Taken for compatibility: no code of tokenizers is run.
    """

    def __init__(
        self, tokenizer_name: str, max_length: int = 2048, trust_remote_code: bool = True
    ) -> None:
        self._config = TokenizerConfig(
            tokenizer_name, max_length=max_length, trust_remote_code=trust_remote_code
        )
        self._manager = TokenizerManager()
        self._tokenizer = self._manager.get_tokenizer(self._config)

    def tokenize_batch(self, texts: Sequence[str] | TokenizeBatch) -> TokenizedBatch:
        """The tokens of some texts.

        Args:
            texts: The texts, or a batch, whose metadata come back.
        """
        given = texts if isinstance(texts, TokenizeBatch) else TokenizeBatch(list(texts))
        made = self._manager.tokenize_batch(self._tokenizer, given.texts, self._config)
        return TokenizedBatch(made["input_ids"], made.get("attention_mask"), given.metadata)

    def tokenize_shard(self, rows: Sequence[Row], content_field: str = "text") -> list[Row]:
        """The tokens of rows, with all their fields but the text.

        Args:
            rows: The rows.
            content_field: The text's field.
        """
        source = HFDatasetShardedSource(list(rows), "rows")
        job = TokenizeJob(source, self._tokenizer, self._config, content_field)
        return list(job.rows(Part(source.shard_names[0], rows=list(rows))))
