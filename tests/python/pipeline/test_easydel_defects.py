"""The defects of `easydel.data`, by their numbers in ../shared/reference/easydel.md: we have none.

Each test does what goes wrong there, by the public interface, and asserts what is right.
"""

import asyncio
import csv
import gc
import gzip
import itertools
import json
import random
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.transforms import ExpandTransform
from manual_pages import ids_of, texts, write_jsonl, write_parquet
from thread_count import threads

import easydata
from easydata import (
    ArrowShardedSource,
    AsyncDataLoader,
    AsyncDataset,
    CompositeShardedSource,
    ConvertToChatML,
    CsvShardedSource,
    DatasetConfig,
    DatasetMixture,
    JsonShardedSource,
    LimitedShardedSource,
    LoadStageConfig,
    MapField,
    MixedShardedSource,
    PackedShardedSource,
    PackStageConfig,
    ParquetShardedSource,
    Pipeline,
    PrefetchIterator,
    RayConfig,
    SaveStageConfig,
    ShardedDataSource,
    SourceStageConfig,
    TextDatasetInform,
    TextShardedSource,
    TokenizedShardedSource,
    TokenizerConfig,
    TransformedShardedSource,
    VisualDatasetInform,
    collate_batch,
    create_pipeline,
    create_source,
    pack_pre_tokenized,
    save_dataset,
    save_iterator,
    tokenize_and_save,
    wrap_hf_dataset,
)

Row = dict[str, Any]
EOS = 999
STRATEGIES: list[Any] = ["greedy", "pool", "first_fit", "best_fit"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path


@pytest.fixture
def gpt2(gpt2: str) -> Path:
    return Path(gpt2)


class Rows(ShardedDataSource[Row]):
    """Rows of one's own, with a moment's wait before some."""

    def __init__(self, rows: Sequence[Row], waits: dict[int, float] | None = None) -> None:
        self.rows = rows
        self.waits = waits or {}
        self.read = 0

    @property
    def shard_names(self) -> Sequence[str]:
        return ["rows"]

    def num_shards(self) -> int:
        return 1

    def open_shard(self, shard_name: str) -> Iterator[Row]:
        for number, row in enumerate(self.rows):
            time.sleep(self.waits.get(number, 0))
            self.read += 1
            yield row


def document(number: int, length: int) -> list[int]:
    return [1 + (131 * number + 7 * index) % 997 for index in range(length)]


def documents(path: str, lengths: Sequence[int], field: str = "input_ids") -> JsonShardedSource:
    write_jsonl(path, [{field: document(n, length)} for n, length in enumerate(lengths)])
    return JsonShardedSource(path)


def numbers(path: str, count: int) -> JsonShardedSource:
    write_jsonl(path, [{"n": n} for n in range(count)])
    return JsonShardedSource(path)


def batches_of(source: Any, **options: Any) -> list[Row]:
    with AsyncDataLoader(source, **{"batch_size": 1, "drop_last": False, **options}) as loader:
        return list(loader)


def tokens_of(batches: list[Row]) -> list[int]:
    """All tokens that are not padding, in order."""
    return [
        token
        for batch in batches
        for row, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True)
        for token in row[mask == 1].tolist()
    ]


# A. Data loss and corruption


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_d01_long_documents_lose_no_tokens(folder: Path, strategy: Any) -> None:
    lengths = [30, 3, 100, 7, 8, 55, 1]
    source = documents("a.jsonl", lengths)
    packed = PackedShardedSource(source, 8, EOS, strategy=strategy, shuffle=False)
    found = tokens_of(batches_of(packed))
    whole = [t for n, length in enumerate(lengths) for t in [*document(n, length), EOS]]
    assert Counter(found) == Counter(whole)
    if strategy == "greedy":
        assert found == whole


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_d02_every_row_has_seq_length_tokens(folder: Path, strategy: Any) -> None:
    source = documents("a.jsonl", [8, 7, 9, 20, 1, 16])
    rows = list(PackedShardedSource(source, 8, EOS, strategy=strategy, shuffle=False))
    assert rows
    assert {len(values) for row in rows for values in row.values()} == {8}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_d03_packed_batches_always_mask_their_padding(folder: Path, strategy: Any) -> None:
    source = documents("a.jsonl", [5, 8, 2, 19, 3, 4, 11] * 3)
    for seed in range(10):
        packed = PackedShardedSource(source, 8, EOS, pad_token_id=0, strategy=strategy, seed=seed)
        for batch in batches_of(packed, batch_size=4):
            assert set(batch) == {"input_ids", "attention_mask", "position_ids", "segment_ids"}
            # No document holds token 0: it is padding, and nothing else is.
            assert ((batch["input_ids"] == 0) == (batch["attention_mask"] == 0)).all()


@pytest.mark.parametrize("sizes", [(50, 50), (2, 500), (500, 2)])
def test_d04_all_exhausted_sees_every_row_and_ends(folder: Path, sizes: tuple[int, int]) -> None:
    sources = {name: numbers(f"{name}.jsonl", n) for name, n in zip("ab", sizes, strict=True)}
    mixed = MixedShardedSource(sources, block_size=10, stop_strategy="all_exhausted")
    rows = list(itertools.islice(mixed, 5000))
    assert len(rows) <= 2 * max(sizes) + 10
    assert len({(row["__source__"], row["n"]) for row in rows}) == sum(sizes)


def test_d04_restart_with_empty_sources_is_an_error(folder: Path) -> None:
    Path("a.jsonl").touch()
    mixed = MixedShardedSource({"a": JsonShardedSource("a.jsonl")}, stop_strategy="restart")
    with pytest.raises(ValueError, match=r'sources\["a"\] is empty'):
        next(iter(mixed))


def test_d05_the_default_mixture_can_be_built(folder: Path) -> None:
    write_jsonl("a.jsonl", [{"content": f"a{i}"} for i in range(5)])
    write_jsonl("b.jsonl", [{"content": f"b{i}"} for i in range(5)])
    informs = [TextDatasetInform(data_files="a.jsonl"), TextDatasetInform(data_files="b.jsonl")]
    mixture = DatasetMixture(informs=informs, mixture_block_size=10)
    rows = list(mixture.build().take(20))
    assert Counter(row["text"][0] for row in rows) == {"a": 10, "b": 10}


def test_d06_build_gives_all_unmixed_datasets(folder: Path) -> None:
    for name in "abc":
        write_jsonl(f"{name}.jsonl", [{"text": name}] * 4)
    configs = [{"data_files": f"{name}.jsonl", "name": name} for name in "abc"]
    rows = list(create_pipeline(configs).source().build())
    assert Counter(row["text"] for row in rows) == {"a": 4, "b": 4, "c": 4}
    load = {"batch_size": 2}
    with create_pipeline(configs, load=load).source().load().build() as loader:
        assert Counter(text for batch in loader for text in batch["text"]) == {
            "a": 4,
            "b": 4,
            "c": 4,
        }


def test_d07_max_length_is_honoured(folder: Path, gpt2: Path) -> None:
    write_jsonl("a.jsonl", [{"text": "one two three four five six"}])
    whole = ids_of(gpt2, ["one two three four five six"])[0]
    tokenize_and_save("a.jsonl", str(gpt2), "out", max_length=3)
    assert [row["input_ids"] for row in ParquetShardedSource("out")] == [whole[:3]]
    pipeline = create_pipeline([{"data_files": "a.jsonl"}], str(gpt2), tokenize={"max_length": 4})
    assert [row["input_ids"] for row in pipeline.source().tokenize().build()] == [whole[:4]]


@pytest.mark.parametrize("row", [29, 30, 31, 1000])
def test_d08_nothing_comes_past_the_end_of_a_shard(folder: Path, row: int) -> None:
    pq.write_table(pa.table({"n": range(30)}), "a.parquet", row_group_size=10)
    source = ParquetShardedSource("a.parquet")
    rows = source.open_shard_at_row(source.shard_names[0], row)
    assert [found["n"] for found in rows] == list(range(row, 30))


@pytest.mark.alone
@pytest.mark.parametrize(
    "pause", [0.7, pytest.param(63, marks=pytest.mark.sliced, id="over a minute")]
)
def test_d09_slow_streams_are_not_cut(pause: float) -> None:
    rows = [{"n": n} for n in range(6)]
    batches = batches_of(Rows(rows, {3: pause}), batch_size=2)
    assert [batch["n"].tolist() for batch in batches] == [[0, 1], [2, 3], [4, 5]]
    with PrefetchIterator(Rows(rows, {3: pause}).open_shard("rows")) as iterator:
        assert list(iterator) == rows
        begin = time.monotonic()
        with pytest.raises(StopIteration):
            next(iterator)  # waits for nothing once it is over
        assert time.monotonic() - begin < 0.5


def test_d10_sources_of_equal_names_are_all_read(folder: Path) -> None:
    first, second = [{"k": i} for i in range(3)], [{"k": -1 - i} for i in range(4)]
    both = CompositeShardedSource([wrap_hf_dataset(first), wrap_hf_dataset(second)])
    assert len(set(both.shard_names)) == 2
    assert list(both) == first + second
    mixes = [
        MixedShardedSource({"only": wrap_hf_dataset(rows)}, stop_strategy="first_exhausted")
        for rows in (first, second)
    ]
    joined = CompositeShardedSource(mixes)
    assert [row["k"] for row in joined] == [row["k"] for row in first + second]


def test_d11_small_weights_do_not_starve(folder: Path) -> None:
    sources = {"rare": numbers("rare.jsonl", 5), "common": numbers("common.jsonl", 50)}
    mixed = MixedShardedSource(sources, {"rare": 0.003, "common": 0.997}, block_size=100)
    counts = Counter(row["__source__"] for row in itertools.islice(mixed, 10_000))
    assert counts == {"rare": 30, "common": 9970}


@pytest.mark.parametrize("form", ["parquet", "arrow", "jsonl"])
def test_d12_writers_keep_columns_that_the_first_row_lacks(folder: Path, form: Any) -> None:
    rows = [{"a": 1}, {"a": 2, "b": "x"}, {"a": 3, "b": None, "c": [1.5]}]
    save_dataset(Rows(rows), "out", form)
    found = list(create_source(DatasetConfig("out")))
    filled = [{"a": None, "b": None, "c": None, **row} for row in rows]
    assert [{"a": None, "b": None, "c": None, **row} for row in found] == filled


def test_d14_typos_never_become_hub_names(folder: Path) -> None:
    Path("train.jsonl").touch()
    for typo, kind in (
        ("trian.jsonl", None),
        (f"{folder}/x/*.parquet", "parquet"),
        ("a.json.gz", None),
        ("train", None),
    ):
        with pytest.raises(FileNotFoundError, match="no data files match"):
            create_source(DatasetConfig(typo, type=kind))


def test_d15_json_files_are_read_as_what_they_hold(folder: Path) -> None:
    rows = [{"a": 1}, {"a": 2}]
    Path("array.json").write_text(json.dumps(rows))
    write_jsonl("lines.jsonl", rows)
    write_jsonl("lines.json", rows)
    Path("t.tsv").write_text("a\tb\n1\tx,y\n")
    assert list(JsonShardedSource("array.json")) == rows
    assert list(create_source(DatasetConfig("lines.json", type="jsonl"))) == rows
    assert list(create_source(DatasetConfig(["array.json", "lines.jsonl"]))) == rows * 2
    assert list(create_source(DatasetConfig("t.tsv"))) == [{"a": "1", "b": "x,y"}]


def test_d16_folders_of_several_formats_are_never_read_in_part(folder: Path) -> None:
    write_parquet("data/a.parquet", [{"a": 1}])
    write_jsonl("data/b.jsonl", [{"a": 2}])
    with pytest.raises(ValueError, match=r"several formats \(1 jsonl, 1 parquet\)"):
        create_source(DatasetConfig("data"))
    Path("data/t.tsv").write_text("a\n3\n")
    for config in (DatasetConfig("data/*.tsv"), DatasetConfig("data/t.tsv", type="tsv")):
        assert list(create_source(config)) == [{"a": "3"}]


def test_d17_csv_fields_may_be_long_and_hold_line_ends(folder: Path) -> None:
    rows = [{"a": "x" * 200_000, "b": "one\r\ntwo\n"}, {"a": "é", "b": 'q"q,'}]
    with open("a.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["a", "b"])
        writer.writeheader()
        writer.writerows(rows)
    assert list(CsvShardedSource("a.csv")) == rows


def test_d18_blank_lines_are_no_rows(folder: Path) -> None:
    Path("a.jsonl").write_text("\n".join(f'{{"n": {n}}}\n' + "\n" * (n % 3) for n in range(20)))
    source = JsonShardedSource("a.jsonl")
    for row in range(21):
        rows = source.open_shard_at_row("a.jsonl", row)
        assert [found["n"] for found in rows] == list(range(row, 20))


def test_d19_limits_count_the_rows_that_come_out(folder: Path, gpt2: Path) -> None:
    odd = numbers("a.jsonl", 14).filter(lambda row: row["n"] % 2 == 1)
    limited = LimitedShardedSource(odd, 6)
    assert [row["n"] for row in limited] == [1, 3, 5, 7, 9, 11]
    assert len(limited) == 6
    # A length is counted without tokenizing: this text cannot be.
    write_jsonl("b.jsonl", [{"text": "a"}, {"text": None}, {"text": "c"}])
    config = TokenizerConfig(str(gpt2))
    tokenizer = easydata.Tokenizer(gpt2)
    tokenized = TokenizedShardedSource(JsonShardedSource("b.jsonl"), tokenizer, config)
    assert len(LimitedShardedSource(tokenized, 2)) == 2
    with pytest.raises(ValueError, match="row 1"):
        list(LimitedShardedSource(tokenized, 2))


class Words(ExpandTransform):
    """A row for each word."""

    def __call__(self, example: Row) -> Iterator[Row]:
        for word in example["text"].split():
            yield {"text": word}


def test_d20_expanding_works_anywhere_in_a_chain(folder: Path) -> None:
    write_jsonl("a.jsonl", [{"text": "a bb"}, {"text": ""}, {"text": "c"}])
    source = JsonShardedSource("a.jsonl")
    upper = MapField("text", str.upper)
    for chain, expected in (
        (upper >> Words(), ["A", "BB", "C"]),
        (Words() >> upper, ["A", "BB", "C"]),
        (upper >> Words() >> MapField("text", lambda word: word * 2), ["AA", "BBBB", "CC"]),
    ):
        transformed = TransformedShardedSource(source, chain)
        assert [row["text"] for row in transformed] == expected
        assert [t for batch in batches_of(transformed) for t in batch["text"]] == expected


@pytest.mark.parametrize("field", ["tokens", "ids"])
def test_d21_the_legacy_packer_keeps_tails_eos_names_and_epochs(folder: Path, field: str) -> None:
    lengths = [8, 16, 7, 1, 5]  # with whole rows among them, and a tail
    source = documents("a.jsonl", lengths, field)
    whole = [t for n, length in enumerate(lengths) for t in [*document(n, length), EOS]]
    rows = pack_pre_tokenized(source, 8, EOS, shuffle=False, tokens_field=field)
    for _ in range(2):
        assert [t for row in rows() for t in row["input_ids"].tolist()][: len(whole)] == whole
    mixture = DatasetMixture(
        informs=[TextDatasetInform(data_files="a.jsonl")],
        stop_strategy="first_exhausted",
        pack_tokens=True,
        tokens_field_name=field,
        pack_seq_length=8,
        pack_eos_token_id=EOS,
        pack_shuffle=False,
        batch_size=2,
    )
    built = mixture.build()
    for _ in range(2):
        batches = list(built)
        assert [len(batch["input_ids"]) for batch in batches] == [2, 2, 2]
        found = [t for batch in batches for row in batch["input_ids"] for t in row]
        assert found[: len(whole)] == whole


def test_d22_the_callers_rows_stay_as_they_are(folder: Path, gpt2: Path) -> None:
    rows = [{"q": f"text {i}"} for i in range(6)]
    before = json.dumps(rows)
    mixed = MixedShardedSource({"a": Rows(rows), "b": wrap_hf_dataset(rows)}, block_size=4)
    assert {row["__source__"] for row in itertools.islice(mixed, 12)} == {"a", "b"}
    config, tokenizer = TokenizerConfig(str(gpt2)), easydata.Tokenizer(gpt2)
    for source in (Rows(rows), wrap_hf_dataset(rows)):
        tokenized = TokenizedShardedSource(source, tokenizer, config, format_fields={"q": "text"})
        assert len(list(tokenized)) == 6
    chats = [{"conversations": [{"from": "human", "value": "hi"}]}]
    said = json.dumps(chats)
    assert list(wrap_hf_dataset(chats).transform(ConvertToChatML())) == [
        {"messages": [{"role": "user", "content": "hi"}]}
    ]
    assert (json.dumps(rows), json.dumps(chats)) == (before, said)


# B. Options accepted but ignored


def test_d26_num_shards_overwrite_and_compression_act(folder: Path) -> None:
    source = numbers("a.jsonl", 5000)
    assert save_dataset(source, "out", num_shards=4).num_shards == 4
    assert len(list(Path("out").glob("*.parquet"))) == 4
    assert sorted(row["n"] for row in ParquetShardedSource("out")) == list(range(5000))
    config = SaveStageConfig(output_dir="out", num_shards=2)
    pipeline = create_pipeline([{"data_files": "a.jsonl"}]).source()
    with pytest.raises(FileExistsError, match="overwrite=True"):
        pipeline.save(config)
    config.overwrite = True
    pipeline.save(config)
    assert len(list(Path("out").glob("*.parquet"))) == 2  # none is left of the four
    plain = save_dataset(source, "plain", "arrow").total_bytes
    assert save_dataset(source, "zstd", "arrow", compression="zstd").total_bytes < plain
    with pytest.raises(ValueError, match="arrow has none, lz4 or zstd"):
        save_dataset(source, "gzip", "arrow", compression="gzip")
    (path,) = save_dataset(source, "lines", "jsonl", compression="zstd").output_paths
    lines = pa.CompressedInputStream(pa.OSFile(path), "zstd").read().splitlines()
    assert [json.loads(line) for line in lines] == list(source)


def test_d27_options_act_or_are_refused(folder: Path) -> None:
    numbers("a.jsonl", 10)
    assert [row["n"] for row in create_source(DatasetConfig("a.jsonl", num_rows=3))] == [0, 1, 2]
    with pytest.raises(ValueError, match=r"ray\.enabled: rows that are iterated over are read by"):
        create_pipeline([{"data_files": "a.jsonl"}], ray=RayConfig(enabled=True)).source().build()
    load = LoadStageConfig(prefetch_to_device=True)
    with pytest.raises(ValueError, match="which devices batches go to is not said"):
        create_pipeline([{"data_files": "a.jsonl"}], load=load).source().load()


def test_d28_pipelines_come_from_dicts(folder: Path) -> None:
    numbers("a.jsonl", 20)
    numbers("b.jsonl", 20)
    point = {"step": 0, "weights": {"a": 0.5, "b": 0.5}}
    values: Row = {
        "datasets": [
            {"data_files": "a.jsonl", "name": "a"},
            {"data_files": "b.jsonl", "name": "b"},
        ],
        "mix": {"weight_schedule": [point, {"step": 9, "weights": {"a": 1.0, "b": 0.0}}]},
        "load": {"batch_size": 4},
        "observability": {"progress_type": "none"},
    }
    pipeline = Pipeline.from_config(values)
    config = pipeline.get_context().config
    assert config.validate() == []
    assert config.mix.weight_schedule[0].weights == point["weights"]
    assert config.observability.progress_type == "none"
    assert (config.source, config.ray, config.pack) == (
        SourceStageConfig(),
        RayConfig(),
        PackStageConfig(),
    )
    with pipeline.source().mix().load().build() as loader:
        assert next(iter(loader))["n"].shape == (4,)


def test_d29_stages_work_in_any_order_and_when_called(folder: Path, gpt2: Path) -> None:
    for name in "ab":
        write_jsonl(f"{name}.jsonl", [{"text": text} for text in texts(40, word=name)])
    configs = [{"data_files": f"{name}.jsonl", "name": name} for name in "ab"]
    mix = {"stop_strategy": "all_exhausted", "block_size": 10, "seed": 1}

    def pipeline(**options: Any) -> Pipeline:
        return create_pipeline(configs, str(gpt2), mix=mix, **options).source()

    after, before = pipeline().mix().tokenize().build(), pipeline().tokenize().mix().build()
    rows = list(after)
    assert rows == list(before)
    assert all(row["input_ids"] for row in rows)
    # Calling a stage means it: neither has `enabled`.
    pack, save = PackStageConfig(seq_length=16), SaveStageConfig(output_dir="out")
    pipeline().mix().tokenize().pack(pack).save(save)
    assert {len(row["input_ids"]) for row in ParquetShardedSource("out")} == {16}
    configs[0]["save_path"] = "lost"
    with pytest.raises(ValueError, match=r"datasets\[0\].save_path has no effect"):
        pipeline().mix().save(SaveStageConfig(output_dir="more"))
    del configs[0]["save_path"]
    mix["stop_strategy"] = "restart"
    with pytest.raises(ValueError, match=r"(?i)never end|endless"):
        pipeline().mix().save(SaveStageConfig(output_dir="more"))
    assert not Path("more").exists()


def test_d30_legacy_mixtures_honour_their_options(folder: Path) -> None:
    for name in "ab":
        write_jsonl(f"{name}.jsonl", [{"content": f"{name}{i}", "i": i} for i in range(20)])
    informs = [TextDatasetInform(data_files=f"{name}.jsonl") for name in "ab"]
    only_a = {"dataset_0": 1.0, "dataset_1": 0.0}
    for options in ({"streaming": False}, {"block_mixture": False}, {}):
        mixture = DatasetMixture(
            informs=informs, mixture_weights=only_a, stop_strategy="first_exhausted", **options
        )
        assert {row["text"][0] for row in itertools.islice(mixture.build(), 50)} == {"a"}
    with pytest.raises(ValueError, match="1 mixture_weights for 2 datasets"):
        DatasetMixture(informs=informs, mixture_weights=[1.0]).build()
    plain = DatasetMixture(informs=informs[:1], stop_strategy="first_exhausted")
    rows = [row["text"] for row in plain.build()]
    shuffled = [row["text"] for row in plain.replace(shuffle_buffer_size=20).build()]
    assert shuffled != rows
    assert sorted(shuffled) == sorted(rows)
    prepared = TextDatasetInform(
        data_files="a.jsonl", preprocessing_fn=lambda row: {"content": row["content"].upper()}
    )
    assert [row["text"][0] for row in plain.replace(informs=[prepared]).build()] == ["A"] * 20
    write_jsonl("v.jsonl", [{"pixels": [1, 2], "caption": "c"}])
    visual = VisualDatasetInform("json", "v.jsonl", pixel_field="pixels", content_field="caption")
    assert list(plain.replace(informs=[visual]).build()) == [{"image": [1, 2], "text": "c"}]


# C. Determinism


def test_d31_the_processs_random_state_is_neither_read_nor_changed(folder: Path) -> None:
    source = documents("a.jsonl", [5] * 300)

    def orders() -> list[list[int]]:
        packed = PackedShardedSource(source, 8, EOS, seed=3)
        mixed = MixedShardedSource({"a": source, "b": source}, stop_strategy="first_exhausted")
        return [
            tokens_of(batches_of(packed)),
            [b["input_ids"][0][0] for b in batches_of(source, shuffle_buffer_size=50, seed=3)],
            [row["input_ids"][0] for row in mixed],
            [
                token
                for row in pack_pre_tokenized(source, 8, EOS, seed=5, tokens_field="input_ids")()
                for token in row["input_ids"].tolist()
            ],
        ]

    random.seed(1)
    np.random.seed(1)
    state = random.getstate(), np.random.get_state()[1].tolist()
    first = orders()
    assert (random.getstate(), np.random.get_state()[1].tolist()) == state
    random.seed(2)
    np.random.seed(2)
    assert orders() == first


def test_d32_every_epoch_has_an_order_of_its_own(folder: Path) -> None:
    rows = numbers("a.jsonl", 200)
    packed = PackedShardedSource(documents("b.jsonl", [7] * 200), 8, EOS, seed=1)
    for source, column, options in (
        (rows, "n", {"shuffle_buffer_size": 50, "seed": 1}),
        (packed, "input_ids", {}),
    ):
        with AsyncDataLoader(source, batch_size=1, **options) as loader:
            one, two = ([batch[column].tolist() for batch in loader] for _ in range(2))
        with AsyncDataLoader(source, batch_size=1, **options) as loader:
            assert [batch[column].tolist() for batch in loader] == one
        assert one != two
        assert sorted(one) == sorted(two)


# D. Performance and robustness


@pytest.mark.alone
def test_d38_tokenizing_goes_by_batches(folder: Path, gpt2: Path) -> None:
    documents = texts(4000, 200)
    write_parquet("a.parquet", [{"text": text} for text in documents])
    library = __import__("tokenizers").Tokenizer.from_file(str(gpt2 / "tokenizer.json"))
    library.no_truncation()
    config, tokenizer = TokenizerConfig(str(gpt2)), easydata.Tokenizer(gpt2)
    tokenized = TokenizedShardedSource(ParquetShardedSource("a.parquet"), tokenizer, config)
    begin = time.perf_counter()
    save_dataset(tokenized, "out")
    ours = time.perf_counter() - begin
    begin = time.perf_counter()
    rows = [library.encode(text).ids for text in documents]
    row_by_row = time.perf_counter() - begin
    assert [row["input_ids"] for row in ParquetShardedSource("out")] == rows
    assert ours < row_by_row / 3


def test_d38_streams_of_arrow_and_compressed_files_are_read(folder: Path) -> None:
    rows = [{"n": n, "text": f"t{n}"} for n in range(50)]
    datasets.Dataset.from_list(rows).save_to_disk("saved")
    assert list(ArrowShardedSource("saved/*.arrow")) == rows
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    Path("a.jsonl.gz").write_bytes(gzip.compress(lines))
    with pa.CompressedOutputStream("b.jsonl.zst", "zstd") as file:
        file.write(lines)
    for name in ("a.jsonl.gz", "b.jsonl.zst"):
        assert list(create_source(DatasetConfig(name))) == rows


def test_d39_lengths_need_no_parsing_and_shards_have_their_size(folder: Path) -> None:
    Path("a.jsonl").write_text("no JSON\n\n" * 5)
    Path("a.txt").write_text("one\ntwo\n")
    assert (len(JsonShardedSource("a.jsonl")), len(TextShardedSource("a.txt"))) == (5, 2)
    table = pa.table({"n": range(5000), "text": ["x" * 100] * 5000})
    with pa.ipc.new_file("a.arrow", table.schema) as writer:
        writer.write_table(table)
    data = bytearray(Path("a.arrow").read_bytes())
    data[2000:-2000] = bytes(len(data) - 4000)  # the footer alone is whole
    Path("a.arrow").write_bytes(data)
    assert len(ArrowShardedSource("a.arrow")) == 5000
    rng = np.random.default_rng(0)
    ids = [{"input_ids": rng.integers(0, 50_000, 500).tolist()} for _ in range(2000)]
    write_parquet("ids.parquet", ids)
    stats = save_dataset(ParquetShardedSource("ids.parquet"), "out", max_shard_size="500KB")
    sizes = [Path(path).stat().st_size for path in stats.output_paths]
    assert len(sizes) > 2
    assert all(500 * 1024 <= size < 1000 * 1024 for size in sizes[:-1])


def test_d40_closing_ends_every_thread(folder: Path) -> None:
    source = numbers("a.jsonl", 20_000)
    batches_of(source, batch_size=1000)
    gc.collect()
    before, python = threads(), set(threading.enumerate())

    def none_is_left() -> bool:
        # Threads of tests before may end meanwhile.
        return threads() <= before and set(threading.enumerate()) <= python

    for _ in range(3):
        loader = AsyncDataLoader(source, batch_size=2, prefetch_buffer_size=1)
        next(iter(loader))
        time.sleep(0.02)  # the buffer fills
        loader.close()
        iterator = PrefetchIterator(iter(range(10**9)), 2)
        next(iterator)
        time.sleep(0.02)
        iterator.close()
    assert none_is_left()

    async def first() -> Row:
        async for batch in AsyncDataLoader(source, batch_size=2):
            return batch
        raise AssertionError("no batch")

    assert asyncio.run(first())["n"].tolist() == [0, 1]
    gc.collect()
    assert none_is_left()


def test_d40_iteration_tells_its_end_and_works_in_a_running_loop(folder: Path) -> None:
    with AsyncDataLoader(numbers("a.jsonl", 10), batch_size=5) as loader:
        assert not loader.is_exhausted
        assert len(list(loader)) == 2
        assert loader.is_exhausted

    class Squares(AsyncDataset[int]):
        async def aget(self, index: int) -> int:
            await asyncio.sleep(0)
            return index**2

        def __aiter__(self) -> AsyncIterator[int]:
            async def items() -> AsyncIterator[int]:
                for index in range(4):
                    yield await self.aget(index)

            return items()

    async def main() -> tuple[int, list[int]]:
        return Squares().get(3), list(Squares())

    assert asyncio.run(main()) == (9, [0, 1, 4, 9])


@pytest.mark.alone
def test_d41_first_fit_costs_no_more_with_many_rows(folder: Path) -> None:
    rng = np.random.default_rng(1)

    def seconds(count: int) -> float:
        lengths = rng.integers(1, 60, count)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        values = pa.array(np.ones(offsets[-1], dtype=np.int32))
        ids = pa.ListArray.from_arrays(pa.array(offsets), values)
        pq.write_table(pa.table({"input_ids": ids}), "a.parquet")
        source = ParquetShardedSource("a.parquet")
        packed = PackedShardedSource(
            source, 64, EOS, strategy="first_fit", shuffle=False, pack_window=count
        )
        begin = time.perf_counter()
        with AsyncDataLoader(packed, batch_size=64) as loader:
            assert sum(1 for _ in loader) > count // 200
        return time.perf_counter() - begin

    seconds(2000)
    small = min(seconds(10_000) for _ in range(3))
    # One window of 16 times as many documents: 256 times the time, did it grow with their square.
    assert seconds(160_000) < 64 * small + 0.2


@pytest.mark.parametrize("form", ["parquet", "arrow", "jsonl"])
def test_d44_arrays_are_written_as_lists(folder: Path, form: Any) -> None:
    source = documents("a.jsonl", [5, 9, 3])
    packed = PackedShardedSource(source, 8, EOS, shuffle=False)
    rows = [{name: values.tolist() for name, values in row.items()} for row in packed]
    save_dataset(packed, "native", form)
    save_iterator(iter(packed), "python", form)
    save_iterator(({"x": np.float32(0.5), "y": np.ones((2, 2))} for _ in range(2)), "more", form)
    assert list(create_source(DatasetConfig("native"))) == rows
    assert list(create_source(DatasetConfig("python"))) == rows
    assert list(create_source(DatasetConfig("more"))) == [{"x": 0.5, "y": [[1, 1], [1, 1]]}] * 2


def test_d44_ragged_batches_are_padded_and_never_objects(folder: Path) -> None:
    (batch,) = batches_of(documents("a.jsonl", [2, 4, 1]), batch_size=3)
    expected = [[*document(n, length), *[0] * (4 - length)] for n, length in enumerate((2, 4, 1))]
    assert batch["input_ids"].dtype == np.int32
    assert batch["input_ids"].tolist() == expected
    collated = collate_batch([{"input_ids": document(n, k)} for n, k in enumerate((2, 4, 1))])
    assert collated["input_ids"].dtype != object
    assert collated["input_ids"].tolist() == expected
