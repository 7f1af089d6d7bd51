"""`easydata inspect --config`: rows as training gets them, with where their segments come from."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

from easydata import _native
from easydata.cli.flags import config_options
from easydata.cli.report import Report
from easydata.cli.usage import UsageError
from easydata.core.config import PipelineConfig
from easydata.execution.chain import Pipeline
from easydata.reports.batch_description import describe_batch
from easydata.sources.sharded_source import ShardedDataSource
from easydata.sources.tokenized import tokenizers_of
from easydata.tokenizers.tokenizer import Tokenizer


def inspect_batches(
    file: str,
    rows: int,
    skip: int,
    tokenizer: str | None,
    width: int | None,
    report: Report,
) -> None:
    """Shows rows `skip` .. `skip + rows` of what a config file makes of its datasets.

    Raises:
        UsageError: It makes no tokens.
    """
    given = None if tokenizer is None else Tokenizer(tokenizer)
    found = []
    for name, source in _made(config_options(file)).items():
        known = [given] if given is not None else tokenizers_of(source)
        report.line(f"{name}:")
        seen = 0
        for number, row in itertools.islice(_rows(source, skip), rows):
            seen += 1
            try:
                batch = describe_batch(row, known, rows=1)
            except ValueError as error:
                raise UsageError(
                    f"{name}: {error}; name a tokenizer in the config, or look at the rows of its "
                    "files: inspect DATA"
                ) from None
            (described,) = (replace(each, number=number) for each in batch.rows)
            found.append({"dataset": name, **asdict(described)})
            if not report.as_json:
                for line in batch.lines_of(described, *([] if width is None else [width])):
                    report.line(line)
        if not seen:
            report.line(f"no rows behind row {skip}")
    report.result({"rows": found})


def _made(values: Mapping[str, Any]) -> dict[str, ShardedDataSource[Any]]:
    """What the chain of the sections that there are gives: tokenized, mixed, packed."""
    config = PipelineConfig.from_dict(values)
    pipeline: Pipeline[Any] = Pipeline(config).source()
    named = [config.default_tokenizer, config.tokenize.default_tokenizer]
    if any(each is not None for each in [*named, *(each.tokenizer for each in config.datasets)]):
        pipeline = pipeline.tokenize()
    if config.mix.weights or config.mix.weight_schedule:
        pipeline = pipeline.mix()
    said = values.get("pack")
    if config.pack.enabled or (isinstance(said, Mapping) and "enabled" not in said):
        pipeline = pipeline.pack(replace(config.pack, segment_sources=True))
    return pipeline.get_data()


def _rows(source: ShardedDataSource[Any], skip: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows from row `skip` on, with their numbers, each as a batch of one."""
    before = 0
    batch: Any
    for batch in _native.iterate_batches(source._stream()):
        for row in range(max(0, skip - before), batch.num_rows):
            yield before + row, batch.slice(row, 1).to_pydict()
        before += batch.num_rows
