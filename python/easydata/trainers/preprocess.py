"""Transforms that turn chats and preferences into examples for trainers; not there yet."""

from typing import Any, NoReturn

__all__ = [
    "BCOPreprocessTransform",
    "CPOPreprocessTransform",
    "DPOPreprocessTransform",
    "EmbeddingPreprocessTransform",
    "GRPOPreprocessTransform",
    "KTOPreprocessTransform",
    "ORPOPreprocessTransform",
    "PPOPreprocessTransform",
    "RewardPreprocessTransform",
    "SFTPreprocessTransform",
]


def _refuse(self: object) -> NoReturn:
    raise NotImplementedError(
        f"{type(self).__name__} is not there yet: trainer transforms come with a later release; "
        "until then use ChatTemplateTransform and TokenizedShardedSource"
    )


class SFTPreprocessTransform:
    """Prepares prompts, completions and chats for supervised fine-tuning."""

    def __init__(
        self,
        tokenizer: Any,
        max_length: int,
        text_field: str = "text",
        messages_field: str = "messages",
        mask_prompt: bool = False,
        add_eos: bool = True,
        truncation: bool = True,
        formatting_func: Any = None,
    ) -> None:
        _refuse(self)


class DPOPreprocessTransform:
    """Prepares preference pairs for direct preference optimisation."""

    def __init__(
        self,
        tokenizer: Any,
        max_prompt_length: int | None = None,
        max_completion_length: int | None = None,
        add_special_tokens: bool = False,
        tools: Any = None,
        label_pad_token_id: int = -100,
    ) -> None:
        _refuse(self)


class ORPOPreprocessTransform(DPOPreprocessTransform):
    """Prepares preference pairs for odds-ratio preference optimisation."""


CPOPreprocessTransform = DPOPreprocessTransform


class KTOPreprocessTransform:
    """Prepares single completions with a label for Kahneman-Tversky optimisation."""

    def __init__(
        self,
        tokenizer: Any,
        max_prompt_length: int | None = None,
        max_completion_length: int | None = None,
        add_special_tokens: bool = False,
        tools: Any = None,
        label_pad_token_id: int = -100,
        embedding_tokenizer: Any = None,
    ) -> None:
        _refuse(self)


class BCOPreprocessTransform(KTOPreprocessTransform):
    """Prepares pairs or single completions for binary classifier optimisation."""


class GRPOPreprocessTransform:
    """Prepares prompts for group-relative policy optimisation."""

    def __init__(
        self,
        tokenizer: Any,
        max_prompt_length: int | None = None,
        tools: Any = None,
        skip_apply_chat_template: bool = False,
    ) -> None:
        _refuse(self)


class PPOPreprocessTransform(GRPOPreprocessTransform):
    """Prepares prompts for proximal policy optimisation."""


class RewardPreprocessTransform:
    """Prepares chosen and rejected answers for a reward model."""

    def __init__(self, tokenizer: Any, max_length: int, truncation: bool = True) -> None:
        _refuse(self)


class EmbeddingPreprocessTransform:
    """Prepares queries with positive and negative texts for an embedding model."""

    def __init__(
        self,
        tokenizer: Any,
        max_length: int = 512,
        query_field: str = "query",
        positive_field: str = "positive",
        negative_field: str | None = None,
    ) -> None:
        _refuse(self)
