"""What of a pipeline's config does nothing to the streams that its stages have made."""

from collections.abc import Mapping

from easydata import _native
from easydata.core.idle_options import refuse_idle_options
from easydata.execution.context import PipelineContext

# Stages that run a plan: what is said of one run says nothing of another.
_RUNS = {"save", "load"}


def judge_options(
    context: PipelineContext, streams: Mapping[str, _native.Stream], run: str | None = None
) -> None:
    """Keeps in `context.idle_options` what does nothing and is no mistake.

    Args:
        context: The pipeline's context.
        streams: What the stages so far have made, by dataset; one of another name is made of all
            datasets that have none of their own.
        run: "save" or "load", where the streams are run by this stage.

    Raises:
        ConfigError: With each option that was meant to do something and does not.
    """
    names = [str(dataset.name) for dataset in context.config.datasets]
    shared = [stream for name, stream in streams.items() if name not in names]
    rows = [(name, streams[name], True) for name in names if name in streams]
    rows += [(name, shared[0], False) for name in names if name not in streams and shared]
    stages = set(context.stages) - _RUNS | ({run} if run else set())
    if "tokenize" in stages or context.tokenized:
        stages.add("cache")  # which keeps tokens where the config says so
    context.idle_options.update(refuse_idle_options(context.config, stages, rows))
