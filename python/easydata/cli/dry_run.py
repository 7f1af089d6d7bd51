"""`--dry-run`: what a job would read and write, of a sample; nothing is written."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.cli.report import Report, count_text, size_text
from easydata.core.config import DatasetConfig, PipelineConfig
from easydata.core.shown_text import rounded
from easydata.execution.chain import Pipeline
from easydata.execution.save_stage import SaveStage
from easydata.execution.stages import MIXED
from easydata.execution.units.fill import token_sources
from easydata.execution.writers import WriteJob
from easydata.reports.content_sample import Estimate, as_it_lies, sample_content
from easydata.sources.rows_in_shards import rows_known
from easydata.sources.seen_files import listings_of
from easydata.sources.sharded_source import ShardedDataSource


def dry_run(config: PipelineConfig, chain: Callable[[Pipeline], Pipeline], report: Report) -> None:
    """Tells what a job would do, after all checks that it begins with."""
    pipeline = Pipeline(config)
    data = chain(pipeline.source()).get_data()
    context = pipeline.get_context()
    jobs = SaveStage(context.config.save).planned(data, context)
    plain = dataclasses.replace(config, datasets=[as_it_lies(each) for each in config.datasets])
    sources = _sources(plain, context.stages)
    result: dict[str, Any] = {"dry_run": True, "datasets": {}, "outputs": {}}
    for dataset in config.datasets:
        found = _contents(dataset, sources[str(dataset.name)])
        result["datasets"][str(dataset.name)] = found
        report.line(f"{dataset.name}: {_read_text(found)}")
    stages = context.stages
    for name, job in jobs.items():
        told = {"folder": job.path, "format": config.save.format, **_state(job, config)}
        if "pack" in stages:
            told["seq_length"] = config.pack.seq_length
            told["rows_about"] = _packed_rows(result["datasets"], name, config)
        result["outputs"][name] = told
        report.line(f"would write {name}: {_write_text(told)}")
    report.line("nothing was written")
    report.result(result)


def _sources(config: PipelineConfig, stages: Sequence[str]) -> Mapping[str, Any]:
    """The datasets up to where they are tokenized, where they are."""
    if "tokenize" in stages:
        return token_sources(config)[0]
    return Pipeline(config).source().get_data()


def _contents(dataset: DatasetConfig, source: ShardedDataSource[Any]) -> dict[str, Any]:
    """Files, bytes, rows and tokens of a dataset, as far as they are known or a sample tells."""
    listings = listings_of(source)
    sizes = [each.size_of(number) for each in listings for number in range(len(each.uris))]
    known = rows_known(source)
    sample = sample_content(source, sizes, known)
    rows = None if known is None else Estimate(known)
    tokens = None
    if sample is not None:
        rows, tokens = sample.rows, sample.tokens
    found: dict[str, Any] = {
        "files": len(sizes),
        "bytes": sum(size or 0 for size in sizes) if sizes else None,
        "rows": None,
        "tokens": None,
    }
    share = 1.0
    if dataset.parts is not None and dataset.part is not None:
        share = dataset.parts[dataset.part]
    if dataset.num_rows is not None and rows is not None and rows.count:
        share = min(share, dataset.num_rows / rows.count)
    for count, estimate in (("rows", rows), ("tokens", tokens)):
        if estimate is not None:
            found[count] = round(estimate.count * share)
            off = estimate.plus_minus
            found[f"{count}_plus_minus"] = None if off is None else math.ceil(off * share)
    if dataset.num_rows is not None and found["rows"] == dataset.num_rows:
        found["rows_plus_minus"] = 0  # there are as many, and more
    return found


def _state(job: WriteJob, config: PipelineConfig) -> dict[str, Any]:
    """What is in an output's folder, and what the job would make of it."""
    there = _native.output_progress(job.path, config.save.storage_options)
    if there["state"] == "none":
        return {"state": "new"}
    if config.save.overwrite:
        return {"state": "is overwritten"}
    if job.native.is_finished():
        return {"state": "is finished and kept"}
    if there["state"] == "finished":
        return {"state": "holds another output: give --overwrite"}
    return {"state": f"is gone on with: {there['shards']:,} shards are there"}


def _packed_rows(
    datasets: Mapping[str, Mapping[str, Any]], name: str, config: PipelineConfig
) -> int | None:
    """Rows of a packed dataset, each document with its end; None where a mix decides."""
    found = datasets.get(name)
    if name == MIXED or found is None or found["tokens"] is None:
        return None
    return math.ceil((int(found["tokens"]) + (found["rows"] or 0)) / config.pack.seq_length)


def _read_text(found: Mapping[str, Any]) -> str:
    files = f"{found['files']:,} file" + ("" if found["files"] == 1 else "s")
    size = "size not known" if found["bytes"] is None else size_text(found["bytes"])
    tokens = f", {_about(found, 'tokens')}" if found["tokens"] is not None else ""
    return f"{files}, {size}, {_about(found, 'rows')}{tokens}"


def _about(found: Mapping[str, Any], what: str) -> str:
    count = found[what]
    if count is None:
        return f"{what} not known"
    return f"{count_text(count, found[f'{what}_plus_minus'])} {what}"


def _write_text(told: Mapping[str, Any]) -> str:
    rows = ""
    if "seq_length" in told:
        rows = f", rows of {told['seq_length']:,} tokens"
        if told["rows_about"] is not None:
            rows = f", about {rounded(told['rows_about'])} rows of {told['seq_length']:,} tokens"
    return f"{told['format']} in {told['folder']} ({told['state']}){rows}"
