"""`easydata stats`: what data consists of, and how well it is shuffled."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from easydata import _native
from easydata.cli.flags import make_config
from easydata.cli.report import Report, human
from easydata.core.config import DatasetConfig, PipelineConfig
from easydata.sources.create import create_source, window_bytes_of
from easydata.sources.files import FileSource
from easydata.sources.first_rows import first_row

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


def stats(values: dict[str, Any], report: Report, *, shuffle: bool, batch_size: int | None) -> None:
    """Tells of each dataset what its files say without being read, and how well it is shuffled."""
    if batch_size is not None:
        values.setdefault("load", {})["batch_size"] = batch_size
    config = make_config(values)
    # As they lie: an order changes nothing of what there is.
    sources = {
        str(dataset.name): create_source(
            replace(
                dataset,
                shuffle=None,
                shuffle_window_bytes=None,
                num_rows=None,
                columns=None,
                parts=None,
                part=None,
                part_seed=0,
                part_by=None,
            )
        )
        for dataset in config.datasets
    }
    found = {name: _contents(source) for name, source in sources.items()}
    report.table(
        ("dataset", "shards", "blocks", "rows", "bytes"),
        [(name, *map(_shown, contents.values())) for name, contents in found.items()],
    )
    result: dict[str, Any] = {"datasets": found}
    if shuffle:
        batch_rows = values.get("load", {}).get("batch_size") or _BATCH_ROWS
        for dataset in config.datasets:
            name = str(dataset.name)
            measured = _shuffle(dataset, sources[name], config, batch_rows, report)
            result["datasets"][name]["shuffle"] = measured
    report.result(result)


def _contents(source: ShardedDataSource[Any]) -> dict[str, int | None]:
    """Shards, and where files say so without being read: blocks, rows, bytes."""
    infos = [source.get_shard_info(name) for name in source.shard_names]
    rows = [None if info is None else info.num_rows for info in infos]
    sizes = [None if info is None else info.byte_size for info in infos]
    blocks = None
    if isinstance(source, FileSource):
        blocks = sum(_native.blocks_of(source._source, i).count for i in range(len(infos)))
    return {
        "shards": source.num_shards(),
        "blocks": blocks,
        "rows": None if None in rows else sum(row for row in rows if row is not None),
        "bytes": None if None in sizes else sum(size for size in sizes if size is not None),
    }


def _shown(count: int | None) -> str:
    return "not known" if count is None else f"{count:,}"


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
        "settings": [rung.to_dict() for rung in found.rungs],
        "ideal": asdict(found.ideal),
        "advice": found.advice,
        "notes": notes,
    }


def _columns(dataset: DatasetConfig, config: PipelineConfig) -> Columns | None:
    """The columns that pass through the windows: where text is tokenized, those it needs."""
    tokenizers = (dataset.tokenizer, config.tokenize.default_tokenizer, config.default_tokenizer)
    if all(tokenizer is None for tokenizer in tokenizers) or dataset.format_callback is not None:
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
        *("any" if far == rows - 1 else human(far) for far in (rung.moves, rung.parts)),
        f"{rung.cost.passes:.3g}×",
        f"{rung.cost.memory / 2**20:,.0f}",
    )
