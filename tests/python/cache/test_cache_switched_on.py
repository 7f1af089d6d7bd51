"""Where a pipeline keeps tokens: given configs, cache(), cache_path, and what switches it off."""

import copy
import dataclasses
import json
import logging
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from easydata.core.config import ConfigError, is_set
from easydata.sources import CachedShardedSource
from kept_data import texts
from row_functions import loud

from easydata import (
    CacheStageConfig,
    CompositeShardedSource,
    DatasetConfig,
    HFDatasetShardedSource,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    Pipeline,
    PipelineConfig,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
    TokenizeStageConfig,
    create_pipeline,
    create_source,
    tokenize_dataset_config,
)

DEFAULT = ".cache/easydel_pipeline"


def config_of(tiny: str, cache: Any = None, **options: Any) -> PipelineConfig:
    dataset = {"data_files": texts(), "name": "a", "tokenizer": tiny, **options}
    given = {} if cache is None else {"cache": cache}
    return PipelineConfig.from_dict({"datasets": [dataset], **given})


def kept(config: PipelineConfig, chain: str = "source tokenize") -> CachedShardedSource | None:
    """The source of the tokens, where they are kept."""
    pipeline = Pipeline(config)
    for stage in chain.split():
        getattr(pipeline, stage)()
    (source,) = pipeline.get_data().values()
    return source if isinstance(source, CachedShardedSource) else None


def run(source: Any) -> tuple[list[Any], Any]:
    """The rows of a kept source, and what its store did for them."""
    rows = list(source)
    store = source._store.native
    store.flush()
    return rows, store.stats()


def given(tmp: Path, tiny: str, cache: str) -> Iterator[PipelineConfig]:
    """Configs with one that is given: in Python, as dicts, in files, in metadata."""
    datasets = [DatasetConfig(texts(), name="a", tokenizer=tiny)]
    yield PipelineConfig(datasets, cache=CacheStageConfig(**yaml.safe_load(cache)))
    later = PipelineConfig(datasets)
    later.cache = CacheStageConfig(**yaml.safe_load(cache))
    yield later
    plain = {"datasets": [{"data_files": texts(), "name": "a", "tokenizer": tiny}]}
    yield PipelineConfig.from_dict({**plain, "cache": yaml.safe_load(cache)})
    file = tmp / "config.yaml"
    file.write_text(yaml.safe_dump(plain) + f"cache: {cache}\n")
    yield PipelineConfig.from_file(str(file))
    as_json = tmp / "config.json"
    as_json.write_text(json.dumps({**plain, "cache": yaml.safe_load(cache)}))
    yield PipelineConfig.from_file(str(as_json))


@pytest.mark.parametrize("cache", ["{}", "{enabled: true}", "{cache_dir: there}"])
def test_a_config_that_is_given_keeps_tokens(folder: Path, tiny: str, cache: str) -> None:
    where = "there" if "there" in cache else DEFAULT
    for config in given(folder, tiny, cache):
        again = (config, copy.deepcopy(config), pickle.loads(pickle.dumps(config)))
        replaced = dataclasses.replace(config, seed=1)
        for each in (*again, replaced, PipelineConfig.from_dict(config.to_dict())):
            source = kept(each)
            assert source is not None
            assert source._keeping.folder == str(folder / where)


def test_metadata_says_that_it_was_given(folder: Path, tiny: str) -> None:
    for cache in ({}, None):
        config = config_of(tiny, cache)
        config.save.output_dir = f"out{cache}"
        Pipeline(config).source().tokenize().save()
        metadata = json.loads(Path(f"out{cache}/.metadata.json").read_text())
        again = PipelineConfig.from_dict(metadata["config"])
        assert is_set(again, "cache") == (cache is not None)


def test_a_config_that_nobody_gave_keeps_nothing(folder: Path, tiny: str) -> None:
    plain = config_of(tiny)
    assert plain.cache == CacheStageConfig()
    assert not is_set(plain, "cache")
    assert "cache" not in plain.to_dict()
    again = (copy.deepcopy(plain), pickle.loads(pickle.dumps(plain)), dataclasses.replace(plain))
    for each in (plain, *again, PipelineConfig.from_dict(plain.to_dict())):
        assert kept(each) is None
    plain.cache.cache_dir = "there"
    assert kept(plain) is not None
    assert not Path(".cache").exists()


def test_what_switches_it_off(folder: Path, tiny: str) -> None:
    for cache in ({"enabled": False}, {"enabled": False, "cache_dir": "c"}):
        assert kept(config_of(tiny, cache)) is None
        assert kept(config_of(tiny, cache), "source tokenize cache") is None
        assert kept(config_of(tiny, cache, cache_path="p")) is None
    assert kept(config_of(tiny, {}, cache_enabled=False)) is None
    assert kept(config_of(tiny, {}, cache_enabled=False), "source tokenize cache") is None
    assert kept(config_of(tiny, cache_path="p", cache_enabled=False)) is None
    for config in (config_of(tiny, {}), config_of(tiny, cache_path="p")):
        config.tokenize = TokenizeStageConfig(cache_tokenized=False)
        assert kept(config) is None
        assert kept(config, "source tokenize cache") is None
    pipeline = Pipeline(config_of(tiny, {})).source()
    pipeline.tokenize(TokenizeStageConfig(cache_tokenized=False))
    assert not isinstance(pipeline.get_data()["a"], CachedShardedSource)
    assert not any(Path(name).exists() for name in (".cache", "c", "p"))


def test_a_dataset_has_a_folder_of_its_own(folder: Path, tiny: str) -> None:
    alone = kept(config_of(tiny, cache_path="p"))
    assert alone is not None
    assert (alone._keeping.folder, alone._keeping.expiry_seconds) == (str(folder / "p"), None)
    stage = {"compression": "zstd", "max_bytes": "1MB", "memory_cache_size": 7}
    beside = kept(config_of(tiny, stage, cache_path="p"))
    assert beside is not None
    options = beside._keeping
    assert (options.folder, options.expiry_seconds) == (str(folder / "p"), None)
    assert (options.compression, options.max_bytes, options.memory_blocks) == ("zstd", 2**20, 7)
    in_memory = kept(config_of(tiny, {"cache_type": "memory"}, cache_path="p"))
    assert in_memory is not None
    assert in_memory._keeping.folder == str(folder / "p"), "a folder that is named is meant"


@pytest.mark.parametrize(
    ("cache", "wanted"),
    [
        ({}, (DEFAULT, None, 86400, "none", 100)),
        ({"cache_type": "disk"}, (DEFAULT, None, 86400, "none", 0)),
        ({"cache_type": "memory", "memory_cache_size": 5}, ("", None, None, "none", 5)),
        ({"disk_cache_expiry": None}, (DEFAULT, None, None, "none", 100)),
        ({"disk_cache_expiry": 0}, (DEFAULT, None, 0, "none", 100)),
        ({"max_bytes": 5}, (DEFAULT, 5, 86400, "none", 100)),
        ({"max_bytes": "1.5GB", "compression": "lz4"}, (DEFAULT, 3 * 2**29, 86400, "lz4", 100)),
    ],
)
def test_each_option_is_the_stores(
    folder: Path, tiny: str, cache: dict[str, Any], wanted: tuple[Any, ...]
) -> None:
    source = kept(config_of(tiny, cache))
    assert source is not None
    folder_of, *rest = wanted
    options = source._keeping
    assert options.folder == (str(folder / folder_of) if folder_of else "")
    found = [options.max_bytes, options.expiry_seconds, options.compression, options.memory_blocks]
    assert found == rest


def test_options_that_cannot_be(folder: Path, tiny: str) -> None:
    for cache, said in (
        ({"disk_cache_expiry": -1}, "disk_cache_expiry"),
        ({"cache_type": "redis"}, "cache_type"),
        ({"compression": "brotli"}, "compression"),
        ({"max_bytes": 0}, "max_bytes"),
        ({"cache_dir": "s3://b/c", "max_bytes": "1GB"}, "nothing is removed from an object store"),
    ):
        with pytest.raises(ConfigError, match=said):
            Pipeline(config_of(tiny, cache)).source()
    with pytest.raises(ValueError, match=r"cache\.max_bytes: a size is"):
        kept(config_of(tiny, {"max_bytes": "much"}))


def test_a_second_run_finds_the_tokens(folder: Path, tiny: str) -> None:
    plain = list(Pipeline(config_of(tiny)).source().tokenize().build())
    first = kept(config_of(tiny, {}))
    assert first is not None
    rows, stats = run(first)
    assert rows == plain
    assert (stats["hits"], stats["misses"]) == (0, 2)
    del first
    second = kept(config_of(tiny, {}))
    assert second is not None
    rows, stats = run(second)
    assert rows == plain
    assert (stats["hits"], stats["misses"]) == (2, 0)


def test_memory_is_this_process_alone(folder: Path, tiny: str) -> None:
    cache = {"cache_type": "memory", "memory_cache_size": 8}
    first = kept(config_of(tiny, cache))
    assert first is not None
    rows, _ = run(first)
    del first
    second = kept(config_of(tiny, cache))
    assert second is not None
    again, stats = run(second)
    assert again == rows
    assert stats["hits"] >= 2
    assert not Path(".cache").exists()


def test_cache_may_stand_anywhere_before_a_mix(folder: Path, tiny: str) -> None:
    plain = list(Pipeline(config_of(tiny)).source().tokenize().build())
    for chain in ("source cache tokenize", "source tokenize cache"):
        for cache in (None, {}):
            pipeline = Pipeline(config_of(tiny, cache))
            for stage in chain.split():
                getattr(pipeline, stage)()
            assert list(pipeline.build()) == plain
            source = pipeline.get_data()["a"]
            tokens_are_kept = isinstance(source, CachedShardedSource)
            assert tokens_are_kept == chain.endswith("cache")
            assert isinstance(source, CachedShardedSource) or isinstance(
                source._inputs[0], CachedShardedSource
            )
    assert Path(DEFAULT).is_dir()


def test_options_of_the_call_replace_the_configs(folder: Path, tiny: str) -> None:
    pipeline = Pipeline(config_of(tiny, {})).source().tokenize()
    pipeline.cache(CacheStageConfig(cache_dir="there", memory_cache_size=3))
    source = pipeline.get_data()["a"]
    assert (source._keeping.folder, source._keeping.memory_blocks) == (str(folder / "there"), 3)
    assert not isinstance(source.source, CachedShardedSource), "the last place alone counts"
    with pytest.raises(ConfigError, match=r"hash_fn: source\(\) has looked at the files already"):
        Pipeline(config_of(tiny)).source().tokenize().cache(CacheStageConfig(hash_fn="content"))
    own = Pipeline(config_of(tiny, identity="content")).source().tokenize()
    own.cache(CacheStageConfig(hash_fn="content"))


def test_hash_fn_says_what_files_are_known_by(folder: Path, tiny: str) -> None:
    def described(cache: dict[str, Any], **options: Any) -> dict[str, Any]:
        source = kept(config_of(tiny, cache, **options))
        assert source is not None
        return source._stream().description

    by_time, by_content = described({}), described({"hash_fn": "content"})
    assert described({"hash_fn": "combined"}) == described({"hash_fn": "path"}) == by_time
    assert by_content == described({}, identity="content") != by_time
    assert described({"hash_fn": "content"}, identity="size") == described({}, identity="size")


def test_a_mix_and_a_pack_of_kept_tokens(folder: Path, tiny: str) -> None:
    def stream(**options: Any) -> list[Any]:
        pipeline = create_pipeline(
            [
                {"data_files": texts("one"), "name": "one", "tokenizer": tiny},
                {"data_files": texts("two", "cd"), "name": "two", "tokenizer": tiny},
            ],
            pack={"seq_length": 32},
            mix={"stop_strategy": "first_exhausted"},
            **options,
        )
        rows = pipeline.source().tokenize().mix().pack().build()
        return [row["input_ids"].tolist() for row in rows]

    plain = stream()
    assert stream(cache={}) == plain
    assert stream(cache={}) == plain
    before = create_pipeline(
        [
            {"data_files": texts("one"), "name": "one", "tokenizer": tiny},
            {"data_files": texts("two", "cd"), "name": "two", "tokenizer": tiny},
        ],
        mix={"stop_strategy": "first_exhausted"},
        cache={},
    )
    # What is mixed before it is tokenized is kept before it is mixed.
    mixed = before.source().mix().tokenize().get_data()["mixed"]
    assert all(isinstance(source, CachedShardedSource) for source in mixed._inputs)


def test_examples_for_trainers_are_kept(folder: Path, tiny: str) -> None:
    config = config_of(tiny, {}, transform={"name": "sft", "max_length": 16})
    for chain in ("source", "source tokenize"):
        source = kept(config, chain)
        assert source is not None
        rows, _ = run(source)
        assert rows
    off = config_of(tiny, {}, transform={"name": "sft", "max_length": 16})
    off.tokenize = TokenizeStageConfig(cache_tokenized=False)
    assert kept(off, "source") is None
    alone = DatasetConfig(texts(), tokenizer=tiny, transform="sft", cache_path="own")
    made = create_source(alone)
    assert isinstance(made, CachedShardedSource)
    assert len(list(made)) == len(rows)
    assert not isinstance(
        create_source(dataclasses.replace(alone, cache_enabled=False)), CachedShardedSource
    )


def test_tokens_of_a_dataset_config_are_kept(folder: Path, tiny: str) -> None:
    config = DatasetConfig(texts(), tokenizer=tiny, cache_path="own")
    made = tokenize_dataset_config(create_source(config), config)
    assert isinstance(made, CachedShardedSource)
    plain = tokenize_dataset_config(
        create_source(config), dataclasses.replace(config, cache_path=None)
    )
    assert isinstance(plain, TokenizedShardedSource)
    assert list(made) == list(plain)


# Sources


def tokens_of(tiny: str, pattern: str) -> TokenizedShardedSource:
    return TokenizedShardedSource(
        JsonShardedSource(pattern), Tokenizer(tiny), TokenizerConfig(tiny)
    )


def test_a_source_that_is_kept_gives_the_same(folder: Path, tiny: str) -> None:
    plain = tokens_of(tiny, texts())
    source = plain.cache()
    assert list(source) == list(plain)
    assert source._keeping.folder == str(folder / DEFAULT)
    assert source._keeping.expiry_seconds is None
    assert list(source.shard_names) == list(plain.shard_names)
    assert source.num_shards() == 2
    assert len(source) == len(plain)
    shard = source.shard_names[1]
    assert list(source.open_shard(shard)) == list(plain.open_shard(shard))
    assert list(source.open_shard_at_row(shard, 30)) == list(plain.open_shard_at_row(shard, 30))
    assert source.get_shard_info(shard) == plain.get_shard_info(shard)
    assert list(pickle.loads(pickle.dumps(source))) == list(plain)
    assert list(source.shuffle("rows", 3)) == list(plain.shuffle("rows", 3))
    assert list(plain.shuffle("blocks", 3).cache()) == list(plain.shuffle("blocks", 3))
    again = source.cache("there", max_bytes="1GB", compression="lz4", memory_blocks=2)
    assert again._inputs[0] is plain, "the last place alone counts"
    assert "CachedShardedSource(" in repr(again)
    with pytest.raises(ValueError, match="max_bytes: a size is"):
        plain.cache(max_bytes="much")


def test_several_kept_sources_as_one(folder: Path, tiny: str) -> None:
    one, two = tokens_of(tiny, texts("one")), tokens_of(tiny, texts("two", "cd"))
    plain = CompositeShardedSource([one, two])
    assert list(CompositeShardedSource([one.cache(), two.cache()])) == list(plain)
    whole = plain.cache("c")
    assert all(isinstance(source, CachedShardedSource) for source in whole._inputs)
    assert list(whole) == list(plain)
    mixed = MixedShardedSource({"one": one, "two": two}, stop_strategy="first_exhausted")
    of_kept = MixedShardedSource(
        {"one": one.cache(), "two": two.cache()}, stop_strategy="first_exhausted"
    )
    assert list(of_kept) == list(mixed)
    with pytest.raises(ValueError, match=r"cannot follow a mix.*each of the sources"):
        mixed.cache()
    with pytest.raises(ValueError, match="cannot follow packing"):
        PackedShardedSource(one, 8).cache()
    with pytest.raises(ValueError, match="cannot follow a mix"):
        mixed.map(loud, version="1").cache()


def test_what_cannot_be_kept_is_said_once(
    folder: Path, tiny: str, caplog: pytest.LogCaptureFixture
) -> None:
    def said(**options: Any) -> list[str]:
        caplog.clear()
        source = kept(config_of(tiny, {}, **options))
        assert source is not None
        rows = list(source)
        again = kept(config_of(tiny, {}, **options))
        assert again is not None
        assert list(again) == rows
        assert rows
        warned = [each for each in caplog.records if each.levelno == logging.WARNING]
        return [each.getMessage() for each in warned]

    (lambda_,) = said(format_callback=lambda row: row, name="l")
    assert lambda_.startswith("dataset 'l': its rows are not kept: ")
    assert "version" in lambda_
    (unnamed,) = said(format_callback=loud, name="f")
    assert "the function loud has no version" in unnamed
    (in_memory,) = said(data_files=[{"text": "words"}] * 5, name="m")
    assert in_memory.startswith("dataset 'm': its rows are not kept: ")
    assert list(HFDatasetShardedSource([{"a": 1}]).cache()) == [{"a": 1}]
    assert not Path(DEFAULT).exists()


def test_the_pipelines_cache_manager(folder: Path, tiny: str) -> None:
    cache = {"cache_dir": "c", "memory_cache_size": 3, "compression": "zstd", "max_bytes": "1MB"}
    context = Pipeline(config_of(tiny, cache)).get_context()
    assert not Path("c").exists(), "made when it is asked for"
    manager = context.cache_manager
    assert manager is context.cache_manager
    assert manager.cache_dir == Path("c")
    assert manager.get_or_compute("key", lambda: 4) == 4
    assert manager.stats["memory"]["max_size"] == 3
    assert manager.stats["disk"]["compression"] == "zstd"
    # Where nobody gave a config it has the default one's folder.
    assert Pipeline(config_of(tiny)).get_context().cache_manager.cache_dir == Path(DEFAULT)
    remote = Pipeline(config_of(tiny, {"cache_dir": "s3://b/c"})).get_context()
    with pytest.raises(ValueError, match="a folder of this machine"):
        _ = remote.cache_manager
