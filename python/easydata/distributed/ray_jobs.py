"""Tokenizing and processing with Ray, as easydel.data has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from easydata.core.config import RayConfig, TokenizerConfig
from easydata.core.config_class import check
from easydata.distributed.ordered_rows import ShardWorkers
from easydata.distributed.ray_cluster import Cluster, WorkerNeeds, ray_library
from easydata.distributed.sent_objects import sent
from easydata.distributed.shard_jobs import ProcessJob, Row, ShardJob, TokenizeJob
from easydata.sources.huggingface import wrap_hf_dataset
from easydata.transforms.tokenize_row import TokenizerManager


class RayPreprocessor:
    """Tokenizes sources with workers of Ray.

    It connects to the cluster that the config names when it is first used, and leaves it with
    shutdown(), at the end of a `with` or when it is dropped. The config's `enabled` is not looked
    at: whoever makes a preprocessor means it.

    Args:
        config: The cluster, the workers, and what these take.
        tokenizer_config: How to tokenize.

    Raises:
        ImportError: Ray is not installed.
        ConfigError: The config cannot be meant.
    """

    def __init__(self, config: RayConfig, tokenizer_config: TokenizerConfig | None = None) -> None:
        ray_library()
        check(config)
        self._config, self._tokenizer_config = config, tokenizer_config
        self._cluster: Cluster | None = None
        self._workers: ShardWorkers | None = None

    def tokenize_source(self, source: Any, content_field: str = "text") -> Iterator[Row]:
        """The tokens of a source's rows, with all their fields but the text, in its order.

        Files are read by the workers, which are told their names; the tokenizer goes with the job,
        and so do rows of sources in memory. Some parts of the source are in hand at a time, however
        large it is. When a worker dies, another one continues its work.

        Args:
            source: A source, a `datasets` object or a list of dicts.
            content_field: The text's field. Messages are rendered as TokenizedShardedSource does.

        Raises:
            ValueError: There is no `tokenizer_config`; a row cannot be tokenized: the message names
                it.
            TypeError: The source cannot be sent to others: it calls a lambda, or a function of the
                script that runs.
        """
        if self._tokenizer_config is None:
            raise ValueError(
                "tokenizer_config: there is none; RayPreprocessor(config, "
                "tokenizer_config=TokenizerConfig(...)) tokenizes"
            )
        tokenizer = TokenizerManager().get_tokenizer(self._tokenizer_config)
        threads = WorkerNeeds.of(self._config).threads
        return self._rows(
            TokenizeJob(
                wrap_hf_dataset(source), tokenizer, self._tokenizer_config, content_field, threads
            )
        )

    def _rows(self, job: ShardJob) -> Iterator[Row]:
        # What cannot be sent is refused before anything is started.
        return self._run(job, sent(job.apart(), "the source"))

    def _run(self, job: ShardJob, data: bytes) -> Iterator[Row]:
        if self._workers is None:
            self._cluster = Cluster(self._config)
            self._workers = ShardWorkers(self._cluster, self._config.num_workers)
        yield from self._workers.rows(data, job.parts())

    def shutdown(self) -> None:
        """Ends the workers, and the connection to Ray where it was made here."""
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.end()
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            cluster.leave()

    def __enter__(self) -> RayPreprocessor:
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()


def tokenize_with_ray(
    source: Any,
    tokenizer: Any,
    num_workers: int = 4,
    max_length: int = 2048,
    content_field: str = "text",
) -> Iterator[Row]:
    """The tokens of a source's rows, made by workers of Ray, with all their fields but the text.

    The rows come in the order of the source, as they are made; see
    RayPreprocessor.tokenize_source(). Ray is left when all are taken, or the iterator is closed.

    Args:
        source: A source, a `datasets` object or a list of dicts.
        tokenizer: What tokenizes: a name, a folder, a live tokenizer.
        num_workers: Workers at once, at most.
        max_length: Tokens of a row, at most.
        content_field: The text's field.
    """
    config = TokenizerConfig(tokenizer, max_length=max_length)
    preprocessor = RayPreprocessor(RayConfig(num_workers=num_workers), config)
    return _until_done(preprocessor, preprocessor.tokenize_source(source, content_field))


def parallel_process_shards(
    source: Any, process_fn: Callable[[list[Row]], list[Row]], num_workers: int = 4
) -> Iterator[Row]:
    """The rows that a function makes of each shard of a source, on workers of Ray.

    They come in the order of the shards, as they are made. Each call has a shard as a whole in
    memory; sources of files have one for each file.

    Args:
        source: A source, a `datasets` object or a list of dicts, which is one shard.
        process_fn: Called with the rows of a shard, gives a list of rows. Ray's own pickle takes it
            to the workers, so that it may be a lambda.
        num_workers: Workers at once, at most.

    Raises:
        TypeError: The source cannot be sent to others, or the function gives something else.
    """
    preprocessor = RayPreprocessor(RayConfig(num_workers=num_workers))
    pickled = ray_library().cloudpickle
    job = ProcessJob(wrap_hf_dataset(source), pickled.dumps(process_fn), pickled.loads)
    return _until_done(preprocessor, preprocessor._rows(job))


def _until_done(preprocessor: RayPreprocessor, rows: Iterator[Row]) -> Iterator[Row]:
    with preprocessor:
        yield from rows
