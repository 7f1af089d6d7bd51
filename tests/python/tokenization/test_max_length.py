"""How long documents may be, who says so, and what becomes of the rest."""  # A4

import copy
import dataclasses
import json
import logging
import pickle
from pathlib import Path
from typing import Any

import pytest
import yaml
from easydata.core.config import (
    DatasetConfig,
    PackStageConfig,
    PipelineConfig,
    TokenizerConfig,
    TokenizeStageConfig,
    config_hash,
)
from easydata.sources import CompositeShardedSource, JsonShardedSource
from easydata.transforms import (
    LimitedShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    TokenizedShardedSource,
    TokenizeTransform,
    batched_tokenize_iterator,
)
from small_data import jsonl

from easydata import Pipeline, Tokenizer, create_pipeline

# Bytes are tokens: documents of these lengths, two of them longer than the default of 2048.
LENGTHS = [5000, 10, 2048, 2049, 300]


@pytest.fixture
def path(folder: Path) -> str:
    return jsonl("a.jsonl", [{"text": "x" * length} for length in LENGTHS])


def pipeline(path: str, tiny: str, dataset: Any = None, **options: Any) -> Pipeline:
    given = {"data_files": path, "name": "d", **(dataset or {})}
    load = {"batch_size": 2, "drop_last": False}
    return create_pipeline([given], tiny, load=load, **options).source()


def packed(path: str, tiny: str, dataset: Any = None, **options: Any) -> tuple[int, dict[str, Any]]:
    """Tokens that come out (without the EOS), and the statistics."""
    options.setdefault("pack", {"seq_length": 4096})
    chain = pipeline(path, tiny, dataset, **options).tokenize().pack().load()
    with chain.build() as loader:
        ids = [(batch["input_ids"], batch["attention_mask"]) for batch in loader]
        stats: dict[str, Any] = loader.stats()
    return sum(int(((each < 256) & (mask > 0)).sum()) for each, mask in ids), stats


def cut(max_length: int) -> tuple[int, int]:
    """Documents that are cut, and their tokens."""
    lost = [length - max_length for length in LENGTHS if length > max_length]
    return len(lost), sum(lost)


@pytest.mark.parametrize("strategy", ["greedy", "pool", "first_fit", "best_fit", "grain_concat"])
def test_documents_that_a_packer_splits_are_not_cut(
    path: str, tiny: str, strategy: str, caplog: pytest.LogCaptureFixture
) -> None:
    pack = {"seq_length": 4096, "strategy": strategy, "pack_window": 3}
    tokens, stats = packed(path, tiny, pack=pack)
    assert tokens == sum(LENGTHS)
    assert stats["sources"]["d"]["dropped"] == {}
    assert not caplog.records


@pytest.mark.parametrize(
    "pack",
    [
        {"overlong": "truncate"},
        {"overlong": "drop"},
        {"strategy": "grain_first_fit"},
        {"strategy": "grain_best_fit"},
    ],
)
def test_in_front_of_other_packers_the_default_acts(path: str, tiny: str, pack: Any) -> None:
    tokens, stats = packed(path, tiny, pack={"seq_length": 4096, **pack})
    documents, lost = cut(2048)
    assert tokens == sum(LENGTHS) - lost
    assert stats["sources"]["d"]["dropped"] == {"truncated": documents}
    assert stats["sources"]["d"]["dropped_tokens"] == {"truncated": lost}


SET: dict[str, tuple[Any, Any, int]] = {
    "stage": ({}, {"max_length": 1000}, 1000),
    "stage, the default's number": ({}, {"max_length": 2048}, 2048),
    "tokenizer": ({"max_length": 100}, {}, 100),
    "tokenizer before stage": ({"max_length": 100}, {"max_length": 1000}, 100),
    "stage, where the tokenizer says nothing": ({"padding": False}, {"max_length": 1000}, 1000),
    "kwargs": ({"kwargs": {"max_length": 50}}, {"max_length": 1000}, 50),
    "switched off": ({}, {"max_length": 1000, "truncation": False}, 10**6),
    "switched off by the tokenizer": ({"truncation": False}, {"max_length": 1000}, 10**6),
    "switched off by kwargs": ({"kwargs": {"truncation": False}}, {"max_length": 1000}, 10**6),
    "tokenizer before a switch": ({"max_length": 100}, {"truncation": False}, 100),
}


@pytest.mark.parametrize("case", SET)
def test_what_somebody_set_acts_and_is_counted(
    path: str, tiny: str, case: str, caplog: pytest.LogCaptureFixture
) -> None:
    own, stage, length = SET[case]
    dataset = {}
    if "kwargs" in own:
        dataset["tokenizer_kwargs"] = own["kwargs"]
    elif own:
        dataset["tokenizer"] = {"name_or_path": tiny, **own}
    tokens, stats = packed(path, tiny, dataset, tokenize=stage)
    documents, lost = cut(length)
    assert tokens == sum(LENGTHS) - lost
    source = stats["sources"]["d"]
    assert source["dropped"] == ({"truncated": documents} if lost else {})
    assert source["dropped_tokens"] == ({"truncated": lost} if lost else {})
    said = [record.getMessage() for record in caplog.records]
    assert any(f"max_length={length}" in text for text in said) == bool(lost)


def test_without_a_packer_the_default_acts(path: str, tiny: str) -> None:
    with pipeline(path, tiny).tokenize().load().build() as loader:
        lengths = [int(n) for batch in loader for n in batch["attention_mask"].sum(axis=1)]
        (source,) = loader.stats()["sources"].values()
    assert lengths == [min(length, 2048) for length in LENGTHS]
    assert source["dropped_tokens"] == {"truncated": cut(2048)[1]}
    with pipeline(path, tiny, tokenize={"truncation": False}).tokenize().load().build() as loader:
        assert sum(int(batch["attention_mask"].sum()) for batch in loader) == sum(LENGTHS)


def test_the_notice_comes_at_the_first_cut(
    folder: Path, tiny: str, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{"text": "x" * (50 if i == 3 else 5)} for i in range(20_000)]
    data = jsonl("many.jsonl", rows)
    options = {"tokenize": {"max_length": 20}, "load": {"batch_size": 4, "epochs": 100}}
    dataset = [{"data_files": data, "name": "d"}]
    chain = create_pipeline(dataset, tiny, **options).source().tokenize().load()
    with chain.build() as loader:
        next(iter(loader))
        (first,) = [record.getMessage() for record in caplog.records]
        assert "dataset d" in first
        assert "max_length=20" in first
        assert "the first 1 lost 30 tokens" in first
        assert "truncation=False" in first
    caplog.clear()
    options["load"] = {"batch_size": 4, "epochs": 2}
    chain = create_pipeline(dataset, tiny, **options).source().tokenize().load()
    with chain.build() as loader, caplog.at_level(logging.WARNING, "easydata"):
        for _ in loader:
            pass
        said = [record.getMessage() for record in caplog.records]
        counts = loader.stats()["sources"]["d"]
    assert said[1:] == [
        "dataset d: 1 documents were cut to max_length=20 tokens and lost 30 tokens"
    ]
    assert (counts["dropped"], counts["dropped_tokens"]) == ({"truncated": 2}, {"truncated": 60})


def test_conservation_with_cuts(path: str, tiny: str) -> None:
    """Tokens that came or were left out are those that there are, also after a restart."""
    options = {"tokenize": {"max_length": 77}, "pack": {"seq_length": 16}}

    def make() -> Any:
        chain = pipeline(path, tiny, **options).tokenize().pack().load()
        return chain.build()

    def account(loader: Any) -> int:
        stats = loader.stats()
        left_out = sum(sum(each["dropped_tokens"].values()) for each in stats["sources"].values())
        return int(stats["tokens"]) + left_out

    with make() as loader:
        states = [loader.state_dict() for _ in loader]
        whole = account(loader)
    assert whole == sum(LENGTHS) + len(LENGTHS)  # an EOS for each
    for state in states[::5]:
        with make() as loader:
            loader.load_state_dict(state)
            for _ in loader:
                pass
            assert account(loader) == whole


@pytest.mark.parametrize("engine", ["native", "huggingface"])
def test_both_engines_count_what_they_cut(
    path: str, tiny: str, engine: str, tmp_path: Path
) -> None:
    file = json.loads((Path(tiny) / "tokenizer.json").read_text())
    if engine == "huggingface":
        pytest.importorskip("tokenizers")
        pattern = {"Regex": "(?<=a|bb)\\Kq{99}"}  # matches nothing, cannot be translated
        file["normalizer"] = {"type": "Replace", "pattern": pattern, "content": ""}
    file["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "</s>", "type_id": 0}},
            {"Sequence": {"id": "A", "type_id": 0}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"</s>": {"id": "</s>", "ids": [256], "tokens": ["</s>"]}},
    }
    (tmp_path / "t.json").write_text(json.dumps(file))
    tokenizer = Tokenizer(tmp_path / "t.json")
    assert tokenizer.engine == engine
    with pipeline(path, tokenizer, tokenize={"max_length": 9}).tokenize().load().build() as loader:
        tokens = sum(int(batch["attention_mask"].sum()) for batch in loader)
        (source,) = loader.stats()["sources"].values()
    assert tokens == 9 * len(LENGTHS)
    assert source["dropped"] == {"truncated": len(LENGTHS)}
    assert tokens + source["dropped_tokens"]["truncated"] == sum(LENGTHS) + len(LENGTHS)


def test_whatever_lies_between_tokens_and_packer(path: str, tiny: str) -> None:
    source = JsonShardedSource(path)
    tokenizer = Tokenizer(tiny)
    length = sum(LENGTHS) + len(LENGTHS)

    def whole(source: Any, times: int = 1, config: Any = None) -> bool:
        rows = list(PackedShardedSource(source, 4096, 256, shuffle=False))
        return sum(int(row["attention_mask"].sum()) for row in rows) == times * length

    tokenized = TokenizedShardedSource(source, tokenizer, TokenizerConfig(tiny))
    assert whole(tokenized)
    assert whole(tokenized.map(dict))
    assert whole(tokenized.filter(lambda row: True))
    assert whole(tokenized.shuffle("rows", 3))
    assert whole(LimitedShardedSource(tokenized, 5))
    assert whole(CompositeShardedSource([tokenized, tokenized]), 2)
    mixed = MixedShardedSource([tokenized], stop_strategy="first_exhausted")
    assert whole(mixed)
    by_row = source.transform(TokenizeTransform(tokenizer))
    assert whole(by_row)
    assert whole(by_row.filter(lambda row: True))
    own = TokenizedShardedSource(source, tokenizer, TokenizerConfig(tiny, max_length=2048))
    assert not whole(own)
    config = TokenizerConfig(tiny, max_length=2048)
    assert not whole(source.transform(TokenizeTransform(tokenizer, config)))


def test_rows_that_are_cut_one_by_one_are_told(
    path: str, tiny: str, caplog: pytest.LogCaptureFixture
) -> None:
    transform = TokenizeTransform(tiny)
    for _ in range(2):
        assert len(transform({"text": "x" * 2048})["input_ids"]) == 2048
    assert not caplog.records
    for _ in range(2):
        assert len(transform({"text": "x" * 2049})["input_ids"]) == 2048
    rows = batched_tokenize_iterator(
        JsonShardedSource(path), tiny, TokenizerConfig(tiny), "text", 2
    )
    assert sum(len(row["input_ids"]) for row in rows) == sum(LENGTHS) - cut(2048)[1]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert all("cut to max_length=2048 tokens (nobody set it" in text for text in said)


def configs() -> list[Any]:
    return [TokenizerConfig("x"), TokenizeStageConfig()]


def test_unset_stays_unset() -> None:
    from easydata.core.config_class import is_set

    for made in configs():
        assert made.max_length == 2048
        for other in (
            copy.copy(made),
            copy.deepcopy(made),
            pickle.loads(pickle.dumps(made)),
            dataclasses.replace(made),
            type(made)(**{**vars(made)}),
        ):
            assert (other, is_set(other, "max_length")) == (made, False)
        given = dataclasses.replace(made, max_length=2048)
        assert is_set(given, "max_length")
        assert given == made
        assert config_hash(given) != config_hash(made)
        given.max_length = None
        assert not is_set(given, "max_length")
    assert TokenizerConfig("x").to_dict()["max_length"] == 2048
    kwargs = TokenizerConfig("x").to_dict()
    assert not is_set(TokenizerConfig("y", **kwargs), "max_length")


def test_unset_stays_unset_in_files_and_dicts(folder: Path) -> None:
    from easydata.core.config_class import is_set

    config = PipelineConfig(
        datasets=[DatasetConfig("a.jsonl", tokenizer=TokenizerConfig("x"))],
        tokenize=TokenizeStageConfig(batch_size=5),
    )
    texts = {
        "c.json": json.dumps(config.to_dict()),
        "c.yaml": yaml.safe_dump(config.to_dict()),
        "null.yaml": "datasets: [{data_files: a.jsonl, tokenizer: {name_or_path: x, "
        "max_length: null}}]\ntokenize: {max_length: null, batch_size: 5}",
    }
    for name, text in texts.items():
        Path(name).write_text(text)
        read = PipelineConfig.from_file(name)
        tokenizer = read.datasets[0].tokenizer
        assert isinstance(tokenizer, TokenizerConfig)
        for made in (read.tokenize, tokenizer):
            assert made.max_length == 2048
            assert not is_set(made, "max_length")
        assert read.to_dict() == config.to_dict()
    Path("set.yaml").write_text("datasets: [{data_files: a.jsonl}]\ntokenize: {max_length: 2048}")
    assert is_set(PipelineConfig.from_file("set.yaml").tokenize, "max_length")


@pytest.mark.parametrize(
    ("options", "advised"),
    [
        ({"tokenize": {"max_length": 1024}, "pack": {"seq_length": 4096}}, True),
        ({"tokenize": {"max_length": 1024}, "pack": {"enabled": True}}, True),
        ({"tokenize": {"max_length": 4096}, "pack": {"seq_length": 4096}}, False),
        ({"tokenize": {}, "pack": {"seq_length": 4096}}, False),
        (
            {"tokenize": {"max_length": 1024, "truncation": False}, "pack": {"seq_length": 4096}},
            False,
        ),
        ({"tokenize": {"max_length": 1024}}, False),
        (
            {
                "default_tokenizer": {"name_or_path": "x", "max_length": 9},
                "pack": {"seq_length": 8},
            },
            False,
        ),
        (
            {
                "default_tokenizer": {"name_or_path": "x", "max_length": 7},
                "pack": {"seq_length": 8},
            },
            True,
        ),
    ],
)
def test_validate_warns_of_cuts_before_packing(options: Any, advised: bool) -> None:
    config = PipelineConfig.from_dict({"datasets": [{"data_files": "a"}], **options})
    said = config.validate()
    assert bool(said) == advised, said
    if advised:
        assert "pack.seq_length" in said[0]
        assert "max_length" in said[0]


def test_advice_is_no_error(path: str, tiny: str, caplog: pytest.LogCaptureFixture) -> None:
    stage = TokenizeStageConfig(max_length=100)
    pack = PackStageConfig(seq_length=512, enabled=True)
    chain = pipeline(path, tiny).tokenize(stage).pack(pack).load()
    with chain.build() as loader:
        next(iter(loader))
    advice = [r.getMessage() for r in caplog.records if "pack.seq_length" in r.getMessage()]
    assert len(advice) == 1


def written(out: str) -> list[Any]:
    texts = [file.read_text() for file in sorted(Path(out).glob("*.jsonl"))]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def test_flags(folder: Path, tiny: str, path: str) -> None:
    from easydata.cli.app import run

    def tokens(*flags: str) -> int:
        line = ["tokenize", path, "--tokenizer", tiny, "--output-dir", "out", "--format", "jsonl"]
        assert run([*line, "--overwrite", *flags]) == 0
        return sum(len(row["input_ids"]) for row in written("out"))

    assert tokens() == sum(LENGTHS) - cut(2048)[1]
    assert tokens("--max-length", "9") == sum(LENGTHS) - cut(9)[1]
    assert tokens("--max-length", "9", "--no-truncation") == sum(LENGTHS)
    assert tokens("--no-truncation") == sum(LENGTHS)
    assert tokens("--truncation") == sum(LENGTHS) - cut(2048)[1]
    line = ["pack", path, "--tokenizer", tiny, "--output-dir", "packed", "--format", "jsonl"]
    assert run([*line, "--seq-length", "64"]) == 0
    kept = sum(sum(row["attention_mask"]) for row in written("packed"))
    assert kept == sum(LENGTHS) + len(LENGTHS)
