"""Whole jobs in one call."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from easydata import _native
from easydata.core.config import (
    DatasetConfig,
    ObservabilityConfig,
    PipelineConfig,
    SaveStageConfig,
    TokenizeStageConfig,
)
from easydata.execution.chain import Pipeline
from easydata.execution.progress import Progress
from easydata.execution.writers import save_dataset
from easydata.sources.sharded_source import TransformedShardedSource

if TYPE_CHECKING:
    from easydata.execution.writers import WriteStats
    from easydata.sources.sharded_source import ShardedDataSource

_Path = str | os.PathLike[str]


def tokenize_and_save(
    data_files: _Path | Sequence[_Path],
    tokenizer: Any,
    output_path: _Path,
    output_format: str = "parquet",
    max_length: int = 2048,
    *,
    storage_options: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> None:
    """Tokenizes files and writes the tokens.

    Args:
        data_files: Path, glob pattern, folder, or a list of them; the text is in the column "text".
        tokenizer: A folder, a name, a TokenizerConfig or a tokenizer object.
        output_path: Folder for the shards, or a prefix of an object store ("s3://bucket/rows").
        output_format: "parquet", "arrow", "jsonl" or "array_record".
        max_length: Tokens kept of a document.
        storage_options: Who asks for files on object stores and web servers, and writes there; see
            docs/guide/stores.md.
        overwrite: Replace an output that is in output_path already.

    Raises:
        FileNotFoundError: When data_files match nothing or there is no such tokenizer.
        FileExistsError: When output_path holds an output already, without `overwrite`.
    """
    options = None if storage_options is None else dict(storage_options)
    given = [data_files] if isinstance(data_files, str | os.PathLike) else data_files
    is_remote = any("://" in os.fspath(each) for each in given)
    config = PipelineConfig(
        datasets=[
            DatasetConfig(
                data_files=data_files,
                tokenizer=tokenizer,
                save_path=os.fspath(output_path),
                # Of files of this machine there is nothing to say, where they are for the output.
                storage_options=options
                if is_remote or "://" not in os.fspath(output_path)
                else None,
            )
        ],
        tokenize=TokenizeStageConfig(max_length=max_length),
        save=SaveStageConfig(
            enabled=True,
            format=output_format,  # type: ignore[arg-type]
            storage_options=options,
            overwrite=overwrite,
        ),
    )
    Pipeline(config).source().tokenize().save().build()


def pretokenize(
    source: "ShardedDataSource[Any]",
    transform: Callable[..., Any],
    output_path: _Path,
    output_format: str = "parquet",
    max_shard_size: str | int = "500MB",
    compression: str | None = "snappy",
    num_proc: int | None = None,
    show_progress: bool = True,
    *,
    storage_options: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> "WriteStats":
    """Puts a source through a transform and writes what comes out.

    Args:
        source: Any source, also a mix.
        transform: Called with each row; gives the row to write, or None to leave it out.
        output_path: Folder for the shards, or a prefix of an object store ("s3://bucket/rows").
        output_format: "parquet", "arrow", "jsonl" or "array_record".
        max_shard_size: File size at which a shard is closed.
        compression: Codec. The default, "snappy", is for Parquet; other formats then go without.
        num_proc: Threads; None: one for each core. The transform itself runs in one at a time.
        show_progress: Show progress: a bar on a terminal or in a notebook, a line now and then
            elsewhere.
        storage_options: Who writes to an object store; see docs/guide/stores.md.
        overwrite: Replace an output that is in output_path already.

    Returns:
        What was written.

    Raises:
        FileExistsError: When output_path holds an output already, without `overwrite`.
    """
    if num_proc is not None and _native.whole_number("num_proc", num_proc) < 1:
        raise ValueError(f"num_proc must be at least 1, not {num_proc}")
    if compression == "snappy" and output_format != "parquet":
        compression = None
    path = os.fspath(output_path)
    with Progress.of(ObservabilityConfig(progress_enabled=show_progress), path) as progress:
        return save_dataset(
            TransformedShardedSource(source, transform),
            path,
            output_format,
            max_shard_size=max_shard_size,
            compression=compression,
            num_threads=num_proc,
            progress=progress.update,
            storage_options=storage_options,
            overwrite=overwrite,
        )
