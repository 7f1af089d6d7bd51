"""`easydata bench`: the user's own text, measured."""

import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from easydata.cli.report import Report, human

_PEER_BATCH = 1000


def bench_files(
    data: Sequence[str],
    tokenizer: str,
    content_field: str,
    seq_length: int,
    megabytes: float,
    rounds: int,
    report: Report,
) -> None:
    """Measures files → tokens → packed rows, in turn with the `tokenizers` library.

    The library only encodes texts that are in memory already; EasyData reads, tokenizes, packs and
    hands out batches.
    """
    from easydata.core.config import DatasetConfig
    from easydata.sources import create_source
    from easydata.tokenizer import Tokenizer

    engine = Tokenizer(tokenizer)
    source = create_source(DatasetConfig(data[0] if len(data) == 1 else list(data)))
    texts, size = [], 0
    for row in source:
        if content_field not in row:
            from easydata import _native

            hint = _native.suggestion(content_field, list(row))
            raise KeyError(f"the rows have no column {content_field!r}{hint}")
        texts.append(str(row[content_field]))
        size += len(texts[-1].encode())
        if size >= megabytes * 2**20:
            break
    if not texts:
        raise ValueError(f"the files hold no rows: {', '.join(data)}")

    seconds: dict[str, list[float]] = {"easydata": [], "tokenizers": []}
    tokens = 0
    with tempfile.TemporaryDirectory(prefix="easydata-bench-") as folder:
        sample = _write_sample(texts, Path(folder))
        for _ in range(rounds):
            elapsed, tokens = _ours(sample, engine, seq_length)
            seconds["easydata"].append(elapsed)
            peer = _theirs(texts, tokenizer)
            if peer is not None:
                seconds["tokenizers"].append(peer)
    _say(texts, size, tokens, seconds, engine, report)


def _write_sample(texts: Sequence[str], folder: Path) -> str:
    """The texts that are measured, as one JSONL file."""
    import json

    path = folder / "sample.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for text in texts:
            file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    return str(path)


def _ours(sample: str, engine: Any, seq_length: int) -> tuple[float, int]:
    """Seconds for files → tokens → packed batches, and the tokens there were."""
    from easydata.core.config import (
        DatasetConfig,
        LoadStageConfig,
        PackStageConfig,
        PipelineConfig,
        TokenizerConfig,
        TokenizeStageConfig,
    )
    from easydata.execution.pipeline import Pipeline

    options = TokenizerConfig(engine, truncation=False)
    eos = engine.eos_token_id
    config = PipelineConfig(
        datasets=[DatasetConfig(sample, tokenizer=options)],
        tokenize=TokenizeStageConfig(num_workers=os.cpu_count() or 1),
        pack=PackStageConfig(
            seq_length=seq_length, eos_token_id=0 if eos is None else eos, shuffle_packed=False
        ),
        load=LoadStageConfig(batch_size=8, drop_last=False),
    )
    begin = time.perf_counter()
    tokens = 0
    with Pipeline(config).source().tokenize().pack().load().build() as loader:
        for batch in loader:
            tokens += int(batch["attention_mask"].sum())
    return time.perf_counter() - begin, tokens


def _theirs(texts: Sequence[str], tokenizer: str) -> float | None:
    """Seconds that the `tokenizers` library takes to encode the texts; None: not installed."""
    try:
        import tokenizers
    except ImportError:
        return None
    path = Path(tokenizer)
    live = tokenizers.Tokenizer.from_file(str(path / "tokenizer.json" if path.is_dir() else path))
    begin = time.perf_counter()
    for start in range(0, len(texts), _PEER_BATCH):
        live.encode_batch_fast(list(texts[start : start + _PEER_BATCH]))
    return time.perf_counter() - begin


def _say(
    texts: Sequence[str],
    size: int,
    tokens: int,
    seconds: dict[str, list[float]],
    engine: Any,
    report: Report,
) -> None:
    rates = {name: tokens / statistics.median(runs) for name, runs in seconds.items() if runs}
    values: dict[str, Any] = {
        "documents": len(texts),
        "bytes": size,
        "tokens": tokens,
        "cores": os.cpu_count(),
        "engine": engine.engine,
        "tokens_per_second": rates,
    }
    report.line(
        f"{human(len(texts))} documents, {size / 2**20:.1f} MB, {human(tokens)} tokens, "
        f"{os.cpu_count()} cores, engine: {engine.engine}"
    )
    what = {
        "easydata": "easydata: read, tokenize, pack, batch",
        "tokenizers": "tokenizers: encode_batch_fast only",
    }
    base = rates.get("tokenizers")
    report.table(
        ("", "tokens/s", "ratio"),
        [
            (what[name], human(rate), "" if base is None else f"{rate / base:.1f}×")
            for name, rate in rates.items()
        ],
    )
    if base is None:
        report.note("the library is not installed: pip install 'easydata[hf]' shows it beside")
    else:
        values["ratio"] = rates["easydata"] / base
    report.result(values)
