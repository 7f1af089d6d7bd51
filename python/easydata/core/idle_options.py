"""Options of configs that are set and do nothing."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from easydata import _native
from easydata.core.config_class import ConfigError, plain


def refuse_idle_options(
    config: Any, stages: Iterable[str], rows: Sequence[tuple[str, _native.Stream, bool]]
) -> dict[str, str]:
    """Finds options that are set and that nothing heeds; see src/easydata/configs/claims.h.

    Args:
        config: A PipelineConfig, or a dict of its options; sound.
        stages: The stages of the chain, of those that run it the one that runs now.
        rows: The datasets whose rows come out: its name, the stream that they come from, and
            whether this is of no other dataset.

    Returns:
        Options that another one supersedes or that are taken for compatibility, and why each of
        them does nothing.

    Raises:
        ConfigError: With each option that was meant to do something.
    """
    found = _native.idle_options(json.dumps(plain(config, for_engine=True)), set(stages), rows)
    refused = [f"{path} {why}" for is_refused, path, why in found if is_refused]
    if refused:
        raise ConfigError("PipelineConfig", refused)
    return {path: why for _, path, why in found}
