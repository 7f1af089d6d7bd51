"""Work on many machines with Ray; it comes with a later issue."""

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = [
    "RayPreprocessor",
    "RayTokenizeWorker",
    "TokenizeBatch",
    "TokenizedBatch",
    "parallel_process_shards",
    "tokenize_with_ray",
]


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name} is not there yet: work on many machines with Ray comes with a later release; "
        "one machine uses all its cores by itself"
    )


class RayPreprocessor:
    """Tokenizes a source with many Ray workers."""

    def __init__(self, config: Any, tokenizer_config: Any = None) -> None:
        _refuse("RayPreprocessor")


class RayTokenizeWorker:
    """One Ray worker that tokenizes."""

    def __init__(
        self, tokenizer_name: str, max_length: int = 2048, trust_remote_code: bool = True
    ) -> None:
        _refuse("RayTokenizeWorker")


class TokenizeBatch:
    """Texts on their way to a Ray worker."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("TokenizeBatch")


class TokenizedBatch:
    """Ids on their way back from a Ray worker."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("TokenizedBatch")


def tokenize_with_ray(
    source: Any,
    tokenizer: Any,
    num_workers: int = 4,
    max_length: int = 2048,
    content_field: str = "text",
) -> Any:
    """Tokenizes a source with Ray."""
    _refuse("tokenize_with_ray")


def parallel_process_shards(
    source: Any, process_fn: Callable[[list[Any]], list[Any]], num_workers: int = 4
) -> Any:
    """Processes the shards of a source in parallel with Ray."""
    _refuse("parallel_process_shards")
