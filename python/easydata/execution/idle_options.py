"""What of a pipeline's config and of its rows has no effect on what its stages have made."""

from collections.abc import Mapping

from easydata import _native
from easydata.core.idle_options import refuse_idle_options
from easydata.execution.context import PipelineContext, Sources
from easydata.sources.unread_fields import unread_of

# Stages that run a plan: what is said of one run says nothing of another.
_RUNS = {"save", "load"}


def judge(
    context: PipelineContext,
    data: Sources,
    streams: Mapping[str, _native.Stream],
    run: str | None = None,
) -> None:
    """Keeps in `context` the options that do nothing and are no mistake, and fields not read.

    Args:
        context: The pipeline's context.
        data: What the stages so far have made, by dataset; one of another name is made of all
            datasets that have none of their own.
        streams: What is run of that.
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
    context.unread.update(unread_of(data))
