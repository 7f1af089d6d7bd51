"""`--dry-run`: what a job would read and write, of a sample; nothing is written."""

import dataclasses
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.cli.report import Report, human, size_text
from easydata.core.config import DatasetConfig, PipelineConfig
from easydata.execution.chain import Pipeline
from easydata.execution.save_stage import SaveStage
from easydata.execution.stages import MIXED
from easydata.execution.units.fill import token_sources
from easydata.execution.writers import WriteJob
from easydata.sources.sharded_source import ShardedDataSource, rows_known

# Parts that are read, and bytes of the files that each has.
_PARTS = 16
_PART_BYTES = 1 << 20
# Of a normal distribution: 95 of 100 samples are as near.
_SIGMAS = 1.96


def dry_run(config: PipelineConfig, chain: Callable[[Pipeline], Pipeline], report: Report) -> None:
    """Tells what a job would do, after all checks that it begins with."""
    pipeline = Pipeline(config)
    data = chain(pipeline.source()).get_data()
    context = pipeline.get_context()
    jobs = SaveStage(context.config.save).planned(data, context)
    sources = _sources(_as_it_lies(config), context.stages)
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


def _as_it_lies(config: PipelineConfig) -> PipelineConfig:
    """The config without what changes the order or keeps rows, which a sample must not."""
    plain: dict[str, Any] = {
        "shuffle": None,
        "shuffle_window_bytes": None,
        "num_rows": None,
        "parts": None,
    }
    plain |= {"part": None, "part_by": None, "cache_path": None}
    datasets = [
        dataclasses.replace(each, part_seed=0, cache_enabled=False, **plain)
        for each in config.datasets
    ]
    return dataclasses.replace(config, datasets=datasets)


def _contents(dataset: DatasetConfig, source: ShardedDataSource[Any]) -> dict[str, Any]:
    """Files, bytes, rows and tokens of a dataset, as far as they are known or a sample tells."""
    listings = source._listings()
    sizes = [each.size_of(number) for each in listings for number in range(len(each.uris))]
    size = sum(sizes) if sizes else None
    rows = rows_known(source)
    stream = source._unkept()._plan.stream(is_look=True, whole_documents=True)
    sample = _sampled(stream, size) if size else {}
    if rows is not None:
        scale = rows / sample["rows"] if sample.get("rows") else 1.0
        sample = {key: value * scale for key, value in sample.items()} | {"rows": rows}
        sample["rows_off"] = 0
    share = 1.0
    if dataset.parts is not None and dataset.part is not None:
        share = dataset.parts[dataset.part]
    if dataset.num_rows is not None and sample.get("rows"):
        share = min(share, dataset.num_rows / sample["rows"])
    found: dict[str, Any] = {"files": len(sizes), "bytes": size, "rows": None, "tokens": None}
    for count in ("rows", "tokens"):
        if count in sample:
            found[count] = round(sample[count] * share)
            found[f"{count}_plus_minus"] = math.ceil(sample[f"{count}_off"] * share)
    if dataset.num_rows is not None and found["rows"] == dataset.num_rows:
        found["rows_plus_minus"] = 0  # there are as many, and more
    return found


def _sampled(stream: _native.Stream, total: int) -> dict[str, float]:
    """Rows and tokens of all that a stream reads, by parts spread over it: the ratio estimate."""
    units = _native.divided(stream, max(_PART_BYTES, total // 4096))
    if not units:
        return {}
    # The last part may be much smaller than it says, as files end anywhere: it is read.
    *others, last = units
    chosen = others
    if len(others) > _PARTS:
        runs = [len(others) * part // _PARTS for part in range(_PARTS + 1)]
        # The seed is the part's number: a second look gives the same figures.
        places = [random.Random(n).randrange(runs[n], runs[n + 1]) for n in range(_PARTS)]
        chosen = [others[place] for place in places]
    end = _read(stream, last)
    reads = [_read(stream, unit) for unit in chosen]
    whole, size = (sum(each["bytes"] for each in parts) for parts in (others, chosen))
    found: dict[str, float] = {}
    has_tokens = "input_ids" in _native.schema_of(stream).names
    for position, count in enumerate(("rows", "tokens") if has_tokens else ("rows",)):
        counts = [read[position] for read in reads]
        if len(chosen) == len(others):
            found |= {count: float(sum(counts) + end[position]), f"{count}_off": 0.0}
            continue
        ratio = sum(counts) / size
        squares = sum(
            (each - ratio * unit["bytes"]) ** 2 for each, unit in zip(counts, chosen, strict=True)
        )
        spread = math.sqrt(len(chosen) * squares / (len(chosen) - 1) * (1 - size / whole))
        found[count] = ratio * whole + end[position]
        found[f"{count}_off"] = _SIGMAS * spread * whole / size
    return found


def _read(stream: _native.Stream, unit: dict[str, Any]) -> tuple[int, int]:
    """The rows and tokens of a part."""
    rows = tokens = 0
    batch: Any
    for batch in _native.iterate_batches(stream, unit=unit):
        rows += batch.num_rows
        if "input_ids" in batch.schema.names:
            tokens += len(batch.column("input_ids").flatten())
    return rows, tokens


def _state(job: WriteJob, config: PipelineConfig) -> dict[str, Any]:
    """What is in an output's folder, and what the job would make of it."""
    there = _native.output_progress(job.path, config.save.storage_options)
    if there["state"] == "none":
        return {"state": "new"}
    if config.save.overwrite:
        return {"state": "is overwritten"}
    if job.is_finished:
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
    off = found[f"{what}_plus_minus"]
    return f"{human(float(count))} ± {human(float(off))} {what}" if off else f"{count:,} {what}"


def _write_text(told: Mapping[str, Any]) -> str:
    rows = ""
    if "seq_length" in told:
        rows = f", rows of {told['seq_length']:,} tokens"
        if told["rows_about"] is not None:
            rows = f", about {human(told['rows_about'])} rows of {told['seq_length']:,} tokens"
    return f"{told['format']} in {told['folder']} ({told['state']}){rows}"
