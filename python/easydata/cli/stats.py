"""`easydata stats`: what data consists of, and how well it is shuffled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from easydata import _native
from easydata.cli.flags import make_config
from easydata.cli.jobs import need_tokenizers
from easydata.cli.report import Report, count_text
from easydata.core.config import DatasetConfig, PipelineConfig, merge_tokenizer_config
from easydata.core.shown_text import rounded
from easydata.execution.units.fill import token_sources
from easydata.reports.content_sample import Estimate, as_it_lies, sample_content
from easydata.sources.create import create_source, window_bytes_of
from easydata.sources.files import FileSource
from easydata.sources.first_rows import first_row
from easydata.sources.rows_in_shards import rows_known

if TYPE_CHECKING:
    from easydata.reports.order_quality import OrderQuality, Rung, ShuffleReport
    from easydata.sources.sharded_source import ShardedDataSource
    from easydata.transforms.base import Columns

# Rows of a batch where no load.batch_size is given.
_BATCH_ROWS = 1024
_LEGEND = """\
lag 1, worst: correlation of where rows 1, or up to 1,024, places apart lie in the data
worth: as many rows drawn at random make as representative a batch
blocks: those that the rows of a batch come from
moves, parts: how far a row can get from its place in the data, and from its neighbour
reads, MB: passes over the data an epoch (by one thread), and rows held in memory"""


def stats(
    values: dict[str, Any],
    shuffle_quality: bool,
    batch_size: int | None,
    tokens: bool,
    report: Report,
) -> None:
    """Tells of each dataset what its files say, of text a sample, and how well it is shuffled."""
    if batch_size is not None:
        values.setdefault("load", {})["batch_size"] = batch_size
    config = make_config(values)
    datasets = [as_it_lies(dataset) for dataset in config.datasets]
    sources = {
        str(dataset.name): create_source(replace(dataset, columns=None)) for dataset in datasets
    }
    tokenized: Mapping[str, ShardedDataSource[Any]] = {}
    if tokens:
        need_tokenizers(config)
        tokenized, _ = token_sources(replace(config, datasets=datasets))
    found = {name: _contents(source, tokenized.get(name)) for name, source in sources.items()}
    columns = ("shards", "blocks", "rows", "bytes", *(["tokens"] if tokens else []))
    report.table(
        ("dataset", *columns),
        [(name, *(_shown(each, column) for column in columns)) for name, each in found.items()],
    )
    for line in _sampled(found):
        report.line(line)
    result: dict[str, Any] = {"datasets": found}
    if shuffle_quality:
        batch_rows = values.get("load", {}).get("batch_size") or _BATCH_ROWS
        for dataset in config.datasets:
            name = str(dataset.name)
            measured = _shuffle(dataset, sources[name], config, batch_rows, report)
            result["datasets"][name]["shuffle"] = measured
    report.result(result)


def _contents(
    source: ShardedDataSource[Any], tokenized: ShardedDataSource[Any] | None
) -> dict[str, Any]:
    """Shards, bytes, blocks and rows, of text by a sample; tokens where they are asked for."""
    infos = [source.get_shard_info(name) for name in source.shard_names]
    sizes = [None if info is None else info.byte_size for info in infos]
    blocks = None
    if isinstance(source, FileSource):
        blocks = sum(_native.blocks_of(source._source, i).count for i in range(len(infos)))
    known_rows = rows_known(source)
    found: dict[str, Any] = {
        "shards": source.num_shards(),
        "blocks": blocks,
        "rows": known_rows,
        "bytes": None if None in sizes else sum(size for size in sizes if size is not None),
    }
    if tokenized is not None:
        sample = sample_content(tokenized, sizes, known_rows)
        found["tokens"] = None
    elif known_rows is None and isinstance(source, FileSource):
        try:
            sample = sample_content(source, sizes)
        except (OSError, ValueError):
            sample = None  # of damaged files nothing more is known; who reads them tells why
    else:
        sample = None
    if sample is None:
        return found
    if known_rows is None:
        found |= _counted("rows", sample.rows)
    if sample.tokens is not None:
        found |= _counted("tokens", sample.tokens)
    return found | {"share_read": sample.share, "parts_read": sample.parts}


def _counted(name: str, estimate: Estimate) -> dict[str, Any]:
    """A count, and how far off it may be where it is estimated."""
    if estimate.is_exact:
        return {name: estimate.count}
    return {name: estimate.count, f"{name}_plus_minus": estimate.plus_minus}


def _shown(contents: Mapping[str, Any], column: str) -> str:
    count = contents[column]
    if count is None:
        return "not known"
    return count_text(count, contents.get(f"{column}_plus_minus", 0))


def _sampled(found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What counts with ± are."""
    for name, contents in found.items():
        about = [what for what in ("rows", "tokens") if f"{what}_plus_minus" in contents]
        if about:
            share = max(100 * contents["share_read"], 0.01)
            line = f"{name}: {' and '.join(about)} are estimated: {share:.2g} % of the bytes were"
            if contents["parts_read"] == 1:
                # One part tells nothing of the others.
                yield f"{line} read, from their beginning; ± is not known"
            else:
                parts = f"{contents['parts_read']} parts"
                yield f"{line} read, in {parts}; ± holds for 95 of 100 such samples"
        elif "share_read" in contents:
            yield f"{name}: counted, all of it was read"


def _shuffle(
    dataset: DatasetConfig,
    source: ShardedDataSource[Any],
    config: PipelineConfig,
    batch_rows: int,
    report: Report,
) -> dict[str, Any]:
    # lazy: they need numpy, which takes its time to import
    from easydata.reports.order_quality import shuffle_report
    from easydata.reports.row_order import BlockMap, Setting

    if not isinstance(source, FileSource):
        raise ValueError(
            f"stats --shuffle follows the blocks of files, which a {type(source).__name__} does "
            f"not have; save the dataset first: {dataset.name}"
        )
    columns = _columns(dataset, config)
    row = first_row(source) or {}
    if columns is not None and not set(columns) <= set(row):
        columns = None  # messages, whose field tokenizing finds; or a mistake, which it tells
    blocks = BlockMap(source, columns)
    seed = config.seed or 0
    window = window_bytes_of(dataset)
    chosen = Setting(dataset.shuffle, window, config.load.shuffle_buffer_size)
    buffer_seed = seed if config.load.seed is None else config.load.seed
    found = shuffle_report(chosen, blocks, batch_rows, seed, buffer_seed)
    notes = _notes(dataset, config, blocks)
    _print(str(dataset.name), blocks.num_rows, found, notes, report)
    return {
        "batch_rows": found.batch_rows,
        "rows": blocks.num_rows,
        "blocks": blocks.num_blocks,
        "content_bytes_of_a_row": blocks.row_bytes,
        "rows_estimated": blocks.estimated,
        "settings": [asdict(rung) for rung in found.rungs],
        "ideal": asdict(found.ideal),
        "advice": found.advice,
        "notes": notes,
    }


def _columns(dataset: DatasetConfig, config: PipelineConfig) -> Columns | None:
    """The columns that pass through the windows: where text is tokenized, those it needs."""
    named = merge_tokenizer_config(dataset, config.default_tokenizer, config.tokenize)
    if named is None or dataset.format_callback is not None:
        return None if dataset.columns is None else dict.fromkeys(dataset.columns, "any")
    before = {new: old for old, new in (dataset.format_fields or {}).items()}
    fields = [dataset.content_field, *(dataset.additional_fields or ())]
    return {before.get(name, name): "any" for name in fields}


def _notes(dataset: DatasetConfig, config: PipelineConfig, blocks: Any) -> list[str]:
    """What the figures leave out."""
    notes = []
    if blocks.estimated:
        notes.append("rows of blocks are estimated, of a sample that was counted")
    if dataset.num_rows is not None:
        notes.append("the whole dataset is measured; num_rows uses the first rows of the order")
    if dataset.parts is not None:
        notes.append("the whole dataset is measured; parts divides it")
    if config.pack.enabled:
        notes.append(
            "a row here is a document; packed rows hold several, so that batches are mixed better"
        )
    if len(config.datasets) > 1:
        notes.append("each dataset is measured by itself, in batches of its own")
    return notes


def _print(name: str, rows: int, found: ShuffleReport, notes: list[str], report: Report) -> None:
    report.line(f"{name}: the order of rows, in batches of {found.batch_rows:,} rows")
    report.table(
        ("setting", "lag 1", "worst", "worth", "blocks", "moves", "parts", "reads", "MB"),
        [
            *(_line(rung, rows) for rung in found.rungs),
            ("ideal", *_statistics(found.ideal), "any", "any", "", ""),
        ],
    )
    report.line(_LEGEND)
    report.line(found.advice)
    for note in notes:
        report.line(f"note: {note}")


def _statistics(quality: OrderQuality) -> tuple[str, ...]:
    return (
        f"{quality.neighbour_correlation:.2f}",
        f"{quality.worst_correlation:.2f}",
        f"{quality.independent_rows:,.0f}",
        f"{quality.blocks_in_batch:,.1f}",
    )


def _line(rung: Rung, rows: int) -> tuple[str, ...]:
    return (
        rung.name,
        *_statistics(rung.quality),
        *("any" if far == rows - 1 else rounded(far) for far in (rung.moves, rung.parts)),
        f"{rung.cost.passes:.3g}×",
        f"{rung.cost.memory / 2**20:,.0f}",
    )
