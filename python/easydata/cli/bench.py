"""`easydata bench`: the speed on the user's own text, beside libraries whose ids must be equal."""

import importlib.util
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from easydata import _native
from easydata.cli.report import Report
from easydata.cli.usage import UsageError
from easydata.core.config import (
    DatasetConfig,
    LoadStageConfig,
    ObservabilityConfig,
    PackStageConfig,
    PipelineConfig,
    SaveStageConfig,
    TokenizerConfig,
    TokenizeStageConfig,
)
from easydata.core.shown_text import rounded
from easydata.execution.chain import Pipeline
from easydata.sources.create import create_source
from easydata.tokenizers.tokenizer import Tokenizer

if TYPE_CHECKING:
    import pyarrow as pa

LIBRARIES = ("tokenizers", "datasets")

# What the library's own map() hands on at once.
_PEER_BATCH = 1000


@dataclass
class _Sample:
    """The text that is measured: in memory, and in a file of JSON lines."""

    texts: list[str]
    size: int
    folder: Path
    engine: Tokenizer
    file: str = ""

    def __post_init__(self) -> None:
        import json

        path = self.folder / "sample.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for text in self.texts:
                file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
        self.file = str(path)

    def config(self, **stages: Any) -> PipelineConfig:
        """A pipeline over the file, without cuts."""
        options = TokenizerConfig(self.engine, truncation=False)
        return PipelineConfig(
            datasets=[DatasetConfig(self.file, tokenizer=options)],
            tokenize=TokenizeStageConfig(num_workers=os.cpu_count() or 1),
            observability=ObservabilityConfig(progress_enabled=False),
            **stages,
        )

    def library(self) -> Any:
        """A fresh object of the `tokenizers` library for the same tokenizer."""
        import tokenizers

        return tokenizers.Tokenizer.from_str(self.engine.json.decode())


# Returns seconds, and the ids that came where they are to be compared.
_Run = Callable[[_Sample], tuple[float, "pa.ChunkedArray | None"]]


@dataclass
class _Work:
    """One kind of work, and who does it: the first is EasyData."""

    name: str
    runs: dict[str, _Run]
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def do(self, sample: _Sample) -> int:
        """Lets each do it once, compares the ids and returns how many there are."""
        ours: pa.ChunkedArray | None = None
        for name, run in self.runs.items():
            seconds, ids = run(sample)
            self.seconds.setdefault(name, []).append(seconds)
            if ours is None:
                ours = ids
            elif ids is not None:
                _check_equal(ours, ids, name)
        return 0 if ours is None else sum(len(chunk.flatten()) for chunk in ours.chunks)


def bench(
    model: str,
    data: Sequence[str],
    against: str | None,
    content_field: str,
    seq_length: int,
    megabytes: float,
    rounds: int,
    report: Report,
) -> None:
    """Measures EasyData in turn with other libraries, and compares the ids.

    Raises:
        UsageError: A library is not known or not installed.
        RuntimeError: Ids differ; no rate is told.
    """
    libraries = _libraries(against)
    works = [_Work("text to ids", {"easydata": _encode})]
    if "tokenizers" in libraries:
        works[0].runs["tokenizers"] = _encode_by_tokenizers
    if "datasets" in libraries:
        works.append(_Work("file to Arrow", {"easydata": _save, "datasets": _map_by_datasets}))
    works.append(_Work("file to batches", {"easydata": _packing(seq_length)}))
    tokenizer = Tokenizer(model)
    texts, size = _read_texts(data, content_field, megabytes)
    with tempfile.TemporaryDirectory(prefix="easydata-bench-") as folder:
        sample = _Sample(texts, size, Path(folder), tokenizer)
        tokens = 0
        for _ in range(rounds):
            tokens, *_ = [work.do(sample) for work in works]
    _tell(sample, works, tokens, libraries, report)


def _libraries(against: str | None) -> list[str]:
    """The libraries that are measured, too; those that were not asked for may be missing."""
    if against is None:
        return [name for name in LIBRARIES[:1] if importlib.util.find_spec(name) is not None]
    libraries = [name.strip() for name in against.split(",")]
    for name in libraries:
        if name not in LIBRARIES:
            hint = _native.suggestion(name, list(LIBRARIES))
            raise UsageError(f"--against knows {' and '.join(LIBRARIES)}, not {name!r}{hint}")
        # datasets tokenizes by the library, too.
        for needed in dict.fromkeys((name, "tokenizers")):
            if importlib.util.find_spec(needed) is None:
                raise UsageError(
                    f"--against {name}: {needed} is not installed: pip install {needed}"
                )
    return libraries


def _encode(sample: _Sample) -> tuple[float, "pa.ChunkedArray"]:
    import pyarrow as pa

    column = pa.array(sample.texts, pa.large_string())
    begin = time.perf_counter()
    ids = sample.engine.encode_batch(column)
    return time.perf_counter() - begin, pa.chunked_array([ids])


def _encode_by_tokenizers(sample: _Sample) -> tuple[float, "pa.ChunkedArray"]:
    import pyarrow as pa

    library = sample.library()
    seconds = 0.0
    chunks = []
    for start in range(0, len(sample.texts), _PEER_BATCH):
        batch = sample.texts[start : start + _PEER_BATCH]
        begin = time.perf_counter()
        encodings = library.encode_batch_fast(batch)
        seconds += time.perf_counter() - begin
        chunks.append(pa.array([each.ids for each in encodings], pa.large_list(pa.int32())))
    return seconds, pa.chunked_array(chunks)


def _save(sample: _Sample) -> tuple[float, "pa.ChunkedArray"]:
    import pyarrow as pa

    with tempfile.TemporaryDirectory(dir=sample.folder) as folder:
        config = sample.config(save=SaveStageConfig(output_dir=folder, format="arrow"))
        begin = time.perf_counter()
        written = Pipeline(config).source().tokenize().save().build()
        seconds = time.perf_counter() - begin
        ids: list[pa.Array] = []
        for stats in written.values():
            for path in stats.output_paths:
                with pa.ipc.open_file(path) as file:
                    ids += file.read_all()["input_ids"].chunks
        return seconds, pa.chunked_array(ids)


def _map_by_datasets(sample: _Sample) -> tuple[float, "pa.ChunkedArray"]:
    import datasets

    library = sample.library()

    def encode(batch: dict[str, list[str]]) -> dict[str, list[list[int]]]:
        return {"input_ids": [each.ids for each in library.encode_batch_fast(batch["text"])]}

    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory(dir=sample.folder) as cache:
        begin = time.perf_counter()
        loaded = datasets.load_dataset(
            "json", data_files=sample.file, split="train", cache_dir=cache
        )
        mapped = loaded.map(encode, batched=True, batch_size=_PEER_BATCH, remove_columns=["text"])
        seconds = time.perf_counter() - begin
        return seconds, mapped.data.column("input_ids")


def _packing(seq_length: int) -> _Run:
    def run(sample: _Sample) -> tuple[float, None]:
        eos = sample.engine.eos_token_id
        config = sample.config(
            pack=PackStageConfig(
                seq_length=seq_length, eos_token_id=0 if eos is None else eos, shuffle_packed=False
            ),
            load=LoadStageConfig(batch_size=8, drop_last=False),
        )
        begin = time.perf_counter()
        with Pipeline(config).source().tokenize().pack().load().build() as loader:
            for _ in loader:
                pass
        return time.perf_counter() - begin, None

    return run


def _check_equal(ours: "pa.ChunkedArray", theirs: "pa.ChunkedArray", library: str) -> None:
    """Raises RuntimeError where the ids of a document are not those of a library."""
    import pyarrow as pa

    kind = pa.large_list(pa.int32())
    one, other = ours.cast(kind), theirs.cast(kind)
    if one.equals(other):
        return
    row = next(n for n in range(len(one)) if n >= len(other) or one[n] != other[n])
    raise RuntimeError(
        f"the ids of document {row} are not those that {library} gives; please report it with "
        "the text"
    )


def _read_texts(data: Sequence[str], content_field: str, megabytes: float) -> tuple[list[str], int]:
    """Texts of the files, up to so many megabytes, and their size in bytes."""
    source = create_source(DatasetConfig(data[0] if len(data) == 1 else list(data)))
    texts: list[str] = []
    size = 0
    for row in source:
        if content_field not in row:
            hint = _native.suggestion(content_field, list(row))
            raise _native.MissingKey(f"the rows have no column {content_field!r}{hint}")
        texts.append(str(row[content_field]))
        size += len(texts[-1].encode())
        if size >= megabytes * 1e6:
            break
    if not texts:
        raise ValueError(f"the files hold no rows: {', '.join(data)}")
    return texts, size


def _tell(
    sample: _Sample, works: Sequence[_Work], tokens: int, libraries: Sequence[str], report: Report
) -> None:
    engine = sample.engine.engine
    equal = f"; ids equal to those of {' and '.join(libraries)}" if libraries else ""
    report.line(
        f"{rounded(len(sample.texts))} documents, {sample.size / 1e6:.1f} MB, {rounded(tokens)} "
        f"tokens, {os.cpu_count()} cores, engine: {engine}{equal}"
    )
    lines = []
    told: dict[str, Any] = {}
    for work in works:
        rates = {
            name: {"first": sample.size / runs[0] / 1e6, "best": sample.size / min(runs) / 1e6}
            for name, runs in work.seconds.items()
        }
        told[work.name] = {"megabytes_per_second": rates}
        ours, *others = rates
        for name in others:
            ratio = {run: rates[ours][run] / rates[name][run] for run in rates[name]}
            told[work.name].setdefault("ratio", {})[name] = ratio
        for name, rate in rates.items():
            ratios = told[work.name].get("ratio", {}).get(name, {}).values()
            lines.append(
                (
                    work.name if name == ours else "",
                    name,
                    *(f"{each:.1f}" for each in rate.values()),
                    *(f"{each:.1f}×" for each in ratios),
                    *[""] * (len(rate) - len(ratios)),
                )
            )
    report.table(("MB/s", "", "first pass", "best pass", "EasyData is", "at best"), lines)
    if not libraries:
        report.note("nothing to compare with: pip install tokenizers shows it beside")
    report.result(
        {
            "documents": len(sample.texts),
            "bytes": sample.size,
            "tokens": tokens,
            "cores": os.cpu_count(),
            "engine": engine,
            "ids_equal": list(libraries),
            "work": told,
        }
    )
