"""Writes an output, to be killed while it does: write_output.py KIND DATA OUT [again]."""

import sys
from pathlib import Path

from easydata.sources import JsonShardedSource

from easydata import (
    DatasetConfig,
    Pipeline,
    PipelineConfig,
    SaveStageConfig,
    save_dataset,
)


def main(kind: str, data: str, out: str, again: str = "") -> None:
    files = sorted(str(path) for path in Path(data).glob("*.jsonl"))
    # A finished output is not written again; before its last step it has an empty folder.
    outputs = [Path(out) / name for name in "ab"] if kind == "datasets" else [Path(out)]
    finished = kind != "overwrite" and all((path / ".metadata.json").exists() for path in outputs)
    if again and finished and not any(any(path.glob(".easydata/*")) for path in outputs):
        return
    if kind == "datasets":
        config = PipelineConfig(
            datasets=[DatasetConfig(file, name=Path(file).stem) for file in files],
            save=SaveStageConfig(output_dir=out, format="jsonl", max_shard_size="200KB"),
        )
        Pipeline.from_config(config).source().save().build()
        return
    form, _, codec = kind.partition(".")
    save_dataset(
        JsonShardedSource(files),
        out,
        form if form in ("parquet", "arrow", "jsonl") else "parquet",
        max_shard_size="200KB",
        num_shards=5 if kind == "num_shards" else None,
        compression={"gz": "gzip"}.get(codec),
        overwrite=kind == "overwrite",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
