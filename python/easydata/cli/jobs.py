"""`easydata tokenize`, `easydata pack` and `easydata convert`: pipelines that write files."""

import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from easydata.cli.dry_run import dry_run
from easydata.cli.flags import make_config
from easydata.cli.report import InterruptedJobError, Report, size_text
from easydata.cli.usage import UsageError
from easydata.core.config import PipelineConfig, merge_tokenizer_config
from easydata.execution.chain import Pipeline
from easydata.execution.writers import WriteStats, kept_text, nulls_text

# The reason of rows that are written, but not whole.
_CUT = "truncated"


def tokenize(values: dict[str, Any], ray: bool, dry_run: bool, report: Report) -> None:
    """Tokenizes and writes; every dataset needs a tokenizer."""
    config = _config(values, ray)
    need_tokenizers(config)
    _run(config, lambda pipeline: pipeline.tokenize(), dry_run, report)


def pack(values: dict[str, Any], ray: bool, dry_run: bool, report: Report) -> None:
    """Packs and writes; data without a tokenizer must come as tokens."""
    config = _config(values, ray)

    def chain(pipeline: Pipeline) -> Pipeline:
        pipeline.tokenize()
        if config.mix.weights or config.mix.weight_schedule:
            pipeline.mix()
        return pipeline.pack()

    _run(config, chain, dry_run, report)


def convert(values: dict[str, Any], ray: bool, dry_run: bool, report: Report) -> None:
    """Writes the rows as they are."""
    _run(_config(values, ray), lambda pipeline: pipeline, dry_run, report)


def _config(values: dict[str, Any], ray: bool) -> PipelineConfig:
    """The config, with Ray switched on where a flag says so."""
    if ray:
        values["ray"] = {**values.get("ray", {}), "enabled": True}
    return make_config(values)


def need_tokenizers(config: PipelineConfig) -> None:
    """Raises UsageError for a dataset that has no tokenizer."""
    for dataset in config.datasets:
        if merge_tokenizer_config(dataset, config.default_tokenizer, config.tokenize) is None:
            raise UsageError(f"dataset {dataset.name!r} names no tokenizer; give --tokenizer")


def _run(
    config: PipelineConfig, chain: Callable[[Pipeline], Pipeline], is_dry: bool, report: Report
) -> None:
    if is_dry:
        dry_run(config, chain, report)
        return
    begin = time.perf_counter()
    pipeline = Pipeline(config)
    pipeline.get_context().progress = functools.partial(report.progress, config.observability)
    pipeline.get_context().keeps_finished = True
    try:
        written = chain(pipeline.source()).save().build()
    except KeyboardInterrupt as interrupt:
        # It says what a next run will keep.
        raise InterruptedJobError(getattr(interrupt, "__notes__", [])) from interrupt
    try:
        _tell(written, pipeline.get_context().unread, time.perf_counter() - begin, report)
    except KeyboardInterrupt as interrupt:
        whole = [f"{name} is written whole, before this" for name in written]
        raise InterruptedJobError(whole) from interrupt


def _tell(
    written: Mapping[str, WriteStats],
    unread: Mapping[str, Sequence[str]],
    seconds: float,
    report: Report,
) -> None:
    result: dict[str, Any] = {"seconds": seconds, "datasets": {}}
    for name, stats in written.items():
        report.line(f"{name}: {_counts(stats)}, in {stats.output_path}")
        if stats.kept_shards:
            report.line(f"  of an earlier run: {kept_text(stats.kept_shards)}")
        for line in [*_left_out(stats), *_mix_end(stats)]:
            report.line(f"  {line}")
        if len(stats.source_tokens) > 1:
            report.line(f"  tokens by source: {_shares(stats.source_tokens)}")
        if stats.nulls:
            report.line(f"  {nulls_text(stats.nulls)}")
        if stats.hub_url:
            report.line(f"  {stats.hub_url}")
        result["datasets"][name] = {
            "folder": stats.output_path,
            "rows": stats.num_examples,
            "tokens": stats.num_tokens,
            "source_tokens": stats.source_tokens,
            "shards": stats.num_shards,
            "bytes": stats.total_bytes,
            "paths": [str(path) for path in stats.output_paths],
            "kept_shards": stats.kept_shards,
            "dropped": stats.dropped,
            "dropped_tokens": stats.dropped_tokens,
            "dropped_at": stats.dropped_at,
            "mix_end": stats.mix_end,
            "nulls": stats.nulls,
            "hub_url": stats.hub_url,
        }
    for name, fields in unread.items():
        report.line(f"{name}: no token is made of {', '.join(fields)}")
    result["fields_not_read"] = {name: list(fields) for name, fields in unread.items()}
    report.line(f"{seconds:.1f} s")
    report.result(result)


def _counts(stats: WriteStats) -> str:
    """What there is of an output, exactly."""
    tokens = f", {stats.num_tokens:,} tokens" if stats.num_tokens else ""
    shards = f"{stats.num_shards:,} shard" + ("" if stats.num_shards == 1 else "s")
    return f"{stats.num_examples:,} rows{tokens}, {shards}, {size_text(stats.total_bytes)}"


def _shares(tokens: Mapping[str, int]) -> str:
    """Tokens of each source, and its part of all."""
    total = sum(tokens.values())
    return ", ".join(
        f"{name} {count:,} ({100 * count / total:.1f} %)" for name, count in tokens.items()
    )


def _left_out(stats: WriteStats) -> Iterator[str]:
    """What became of rows that are not written, or not whole."""
    cut = stats.dropped.get(_CUT, 0)
    gone = {reason: rows for reason, rows in stats.dropped.items() if reason != _CUT and rows}
    if gone:
        reasons = ", ".join(f"{reason}: {rows:,}" for reason, rows in sorted(gone.items()))
        yield f"{sum(gone.values()):,} rows left out ({reasons})"
        for reason in sorted(gone):
            if addresses := stats.dropped_at.get(reason):
                yield f"  {reason}: " + _addresses(addresses, gone[reason])
    if cut:
        tokens = stats.dropped_tokens.get(_CUT, 0)
        yield f"{cut:,} rows cut" + (f", by {tokens:,} tokens" if tokens else "")
        if addresses := stats.dropped_at.get(_CUT):
            yield "  " + _addresses(addresses, cut)


def _mix_end(stats: WriteStats) -> Iterator[str]:
    """Which source ended a mix, and how far each was read."""
    if stats.mix_end is None:
        return
    yield f'the mix ended with "{stats.mix_end["ended_by"]}"; read of each source:'
    for name, source in stats.mix_end["sources"].items():
        yield f"  {name}: " + _how_far(source)


def _how_far(source: Mapping[str, int | None]) -> str:
    rows, passes, in_pass = source["rows"], source["passes"] or 0, source["rows_in_pass"]
    left = source["rows_left"]
    text = "rows not counted" if rows is None else f"{rows:,} rows"
    if left == 0:
        return f"{text}, {passes:,} pass" + ("es" if passes != 1 else "") + ", nothing left"
    if passes:
        text += f", {passes:,} pass" + ("es" if passes != 1 else "") + " and part of another"
    if left is None or not in_pass:
        return text + ", not to its end"
    return text + f", {left:,} of {in_pass:,} rows left ({100 * left / in_pass:.0f} %)"


def _addresses(addresses: Sequence[str], rows: int) -> str:
    """Where the first rows were read, and that there are more."""
    return ", ".join(addresses) + (" ..." if rows > len(addresses) else "")
