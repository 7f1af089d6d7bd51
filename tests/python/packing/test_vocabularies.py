"""Vocabularies of tokens: each document's own EOS, padding, what may be mixed, what files keep."""

import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from batches import loaded_rows
from data_folders import OWN
from easydata.core import ConfigError
from python_rows import Rows

from easydata import (
    ArrayRecordShardedSource,
    ArrowShardedSource,
    AsyncDataLoader,
    CompositeShardedSource,
    DatasetConfig,
    LoadStageConfig,
    MixedShardedSource,
    MixStageConfig,
    PackedShardedSource,
    PackStageConfig,
    PadSpec,
    ParquetShardedSource,
    Pipeline,
    PipelineConfig,
    SaveStageConfig,
    SFTPreprocessTransform,
    ShardedDataSource,
    TokenizedShardedSource,
    Tokenizer,
    TokenizerConfig,
    create_source,
)

FOLDERS = {name: str(OWN / "tokenizers" / name) for name in ("byte-level", "metaspace", "split")}
EOS = {"byte-level": 1199, "metaspace": 2, "split": 1198}
PAD = {"byte-level": 1199, "metaspace": 2, "split": 1196}  # its pad, else its EOS
TEXT = ["The cat met the fox.", "One more.", "And a third one, a longer one."]


def tokens(name: str, text: Sequence[str] = TEXT) -> TokenizedShardedSource:
    config = TokenizerConfig(FOLDERS[name], add_special_tokens=False)
    return TokenizedShardedSource(Rows([{"text": each} for each in text]), FOLDERS[name], config)


def ids(name: str, text: str) -> list[int]:
    return list(Tokenizer(FOLDERS[name]).encode(text, add_special_tokens=False).tolist())


def saved(name: str, folder: Path, **options: Any) -> str:
    """The folder of an output of tokens."""
    config = PipelineConfig(
        [DatasetConfig([{"text": each} for each in TEXT], tokenizer=FOLDERS[name], name=name)],
        save=SaveStageConfig(output_dir=str(folder), **options),
    )
    Pipeline.from_config(config).source().tokenize().save().build()
    return str(folder)


def packed(source: ShardedDataSource[Any], **options: Any) -> list[dict[str, Any]]:
    return list(PackedShardedSource(source, 32, shuffle=False, **options))


def real(row: dict[str, Any]) -> list[int]:
    return [int(i) for i, mask in zip(row["input_ids"], row["attention_mask"], strict=True) if mask]


def padding(rows: Sequence[dict[str, Any]]) -> set[int]:
    return {
        int(i)
        for row in rows
        for i, mask in zip(row["input_ids"], row["attention_mask"], strict=True)
        if not mask
    }


def mixed(**sources: ShardedDataSource[Any]) -> MixedShardedSource:
    return MixedShardedSource(sources, stop_strategy="first_exhausted", block_size=2)


@pytest.mark.parametrize("name", EOS)
def test_documents_are_closed_and_padded_by_their_tokenizer(name: str) -> None:
    rows = packed(tokens(name))
    flat = [i for row in rows for i in real(row)]
    assert flat == [i for text in TEXT for i in [*ids(name, text), EOS[name]]]
    assert padding(rows) == {PAD[name]}
    assert padding(packed(tokens(name), pad_token_id=0)) == {0}
    loaded = next(iter(AsyncDataLoader(tokens(name), batch_size=3)))
    assert set(loaded["input_ids"][loaded["attention_mask"] == 0].tolist()) == {PAD[name]}


def test_tokenizers_that_differ_are_told_and_close_their_own_documents(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The manual's own example: a tokenizer for each dataset, and no eos_token_id."""
    names = ["byte-level", "metaspace", "split"]
    config = PipelineConfig(
        [
            DatasetConfig([{"text": text} for text in TEXT], tokenizer=FOLDERS[name], name=name)
            for name in names
        ],
        mix=MixStageConfig(stop_strategy="first_exhausted", block_size=3),
        pack=PackStageConfig(seq_length=16, shuffle_packed=False),
        load=LoadStageConfig(batch_size=1, drop_last=False),
    )
    for chain in ("tokenize.mix", "mix.tokenize"):  # the order of the calls changes nothing
        caplog.clear()
        pipeline = Pipeline.from_config(config).source()
        for call in chain.split("."):
            pipeline = getattr(pipeline, call)()
        with caplog.at_level(logging.WARNING, "easydata"), pipeline.pack().load().build() as loader:
            (said,) = [r.message for r in caplog.records if "tokenizers differ" in r.message]
            assert all(f"sources[\"{name}\"] has '{name}'" in said for name in names)
            assert "its own EOS (1199, 2, 1198)" in said
            batches = list(loader)
        assert sum("tokenizers differ" in r.message for r in caplog.records) == 1
        flat = [i for batch in batches for i in real({k: v[0] for k, v in batch.items()})]
        found = []
        while flat:
            end = min(flat.index(eos) for eos in EOS.values() if eos in flat)
            found.append(flat[: end + 1])
            flat = flat[end + 1 :]
        expected = [
            [*Tokenizer(FOLDERS[name]).encode(text).tolist(), EOS[name]]
            for name in names
            for text in TEXT
        ]
        assert sorted(found) == sorted(expected)


FORMATS: list[dict[str, Any]] = [
    {"format": "parquet"},
    {"format": "arrow"},
    {"format": "array_record", "columns": ["input_ids"]},
]


def opened(folder: str, format: str) -> ShardedDataSource[Any]:
    if format == "array_record":
        return ArrayRecordShardedSource(folder, decode="int32")
    return {"parquet": ParquetShardedSource, "arrow": ArrowShardedSource}[format](folder)


@pytest.mark.parametrize("options", FORMATS, ids=lambda options: options["format"])
def test_files_know_what_their_tokens_are(tmp_path: Path, options: dict[str, Any]) -> None:
    folder = saved("split", tmp_path / "out", **options)
    source = opened(folder, options["format"])
    rows = packed(source)
    assert [i for row in rows for i in real(row)].count(EOS["split"]) == len(TEXT)
    assert padding(rows) == {PAD["split"]}
    with pytest.raises(ConfigError, match=r"5 is an ordinary token, .* in 'split' .* as .*shard-0"):
        packed(source, eos_token_id=5)
    with pytest.raises(ConfigError, match="eos_token_id: 1200 is no id of the tokenizer"):
        packed(source, eos_token_id=1200)
    (known,) = json.loads((tmp_path / "out" / ".metadata.json").read_text())["tokenizers"]
    assert (known["eos_token_id"], known["pad_token_id"]) == (EOS["split"], PAD["split"])
    assert (known["id_limit"], known["path"]) == (1200, FOLDERS["split"])
    # What is written of them says the same again.
    config = PipelineConfig(
        [DatasetConfig(folder, type=options["format"], name="a")],
        save=SaveStageConfig(output_dir=str(tmp_path / "again")),
    )
    if options["format"] != "array_record":
        Pipeline.from_config(config).source().save().build()
        again = packed(ParquetShardedSource(str(tmp_path / "again")))
        assert [real(row) for row in again] == [real(row) for row in rows]


def test_other_readers_see_one_key(tmp_path: Path) -> None:
    saved("split", tmp_path / "p")
    saved("split", tmp_path / "a", format="arrow")
    metadata = pq.read_metadata(tmp_path / "p" / "shard-00000.parquet").metadata
    with pa.ipc.open_file(tmp_path / "a" / "shard-00000.arrow") as file:
        assert file.schema.metadata[b"easydata.vocabulary"] == metadata[b"easydata.vocabulary"]
    (said,) = json.loads(metadata[b"easydata.vocabulary"])
    assert (said["name"], said["added"]) == ("split", [[1196, 1199]])
    assert len(metadata[b"easydata.vocabulary"]) < 300
    assert pq.read_table(tmp_path / "p").num_rows == len(TEXT)


def test_their_own_reader_reads_array_records_with_our_key(tmp_path: Path) -> None:
    module = pytest.importorskip("array_record.python.array_record_module")
    folder = saved("split", tmp_path / "r", format="array_record", columns=["input_ids"])
    reader = module.ArrayRecordReader(str(Path(folder) / "shard-00000.arecord"))
    read = [np.frombuffer(record, np.int32).tolist() for record in reader.read_all()]
    reader.close()
    assert read == [Tokenizer(FOLDERS["split"]).encode(text).tolist() for text in TEXT]


def test_tokens_of_two_tokenizers_are_refused(tmp_path: Path) -> None:
    one = ParquetShardedSource(saved("split", tmp_path / "a"))
    two = ParquetShardedSource(saved("metaspace", tmp_path / "b"))
    said = r'sources\["x"\] and sources\["y"\] have tokens of two tokenizers.*allow_vocabularies=.*'
    for other in (two, tokens("metaspace")):
        refused = said + r"'split' \(fingerprint .*shard-00000.parquet says and 'metaspace'"
        with pytest.raises(ValueError, match=refused):
            AsyncDataLoader(mixed(x=one, y=other), batch_size=1)
        with pytest.raises(ValueError, match=refused):
            packed(mixed(x=one, y=other), eos_token_id=2)
        # Who makes no plan of them hears of it with the first row.
        with pytest.raises(ValueError, match=refused):
            next(iter(loaded_rows(mixed(x=one, y=other))))
        with pytest.raises(ValueError, match=r"sources\[0\] and sources\[1\] have tokens of two"):
            packed(CompositeShardedSource([one, other]))
        allowed = MixedShardedSource(
            {"x": one, "y": other}, stop_strategy="all_exhausted", allow_vocabularies=True
        )
        flat = [i for row in packed(allowed, strategy="first_fit") for i in real(row)]
        assert {EOS["split"], EOS["metaspace"]} <= set(flat)
        composite = CompositeShardedSource([one, other], allow_vocabularies=True)
        flat = [i for row in packed(composite) for i in real(row)]
        assert flat.count(EOS["split"]) == flat.count(EOS["metaspace"]) == len(TEXT)
    # One vocabulary in files and at work is one.
    assert len(packed(mixed(x=one, y=tokens("split")))) > 0


def test_a_pipeline_takes_the_option(tmp_path: Path) -> None:
    folders = [saved("split", tmp_path / "a"), saved("metaspace", tmp_path / "b")]
    datasets = [
        DatasetConfig(folder, name=name) for folder, name in zip(folders, "ab", strict=True)
    ]
    config = PipelineConfig(datasets, load=LoadStageConfig(batch_size=2))
    with pytest.raises(ValueError, match=r'sources\["a"\] and sources\["b"\] have tokens of two'):
        Pipeline.from_config(config).source().mix().load().build()
    config.mix = MixStageConfig(allow_vocabularies=True)
    with Pipeline.from_config(config).source().mix().load().build() as loader:
        assert next(iter(loader))["input_ids"].shape[0] == 2


def test_files_of_one_source_are_of_one_tokenizer(tmp_path: Path) -> None:
    folders = [saved("split", tmp_path / "a"), saved("metaspace", tmp_path / "b")]
    files = [str(Path(folder) / "shard-00000.parquet") for folder in folders]
    said = f"{re.escape(files[1])} has tokens of another tokenizer than {re.escape(files[0])}"
    with pytest.raises(ValueError, match=said):
        list(loaded_rows(ParquetShardedSource(files)))


def test_what_is_not_known_is_mixed_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    by_hand = Rows([{"input_ids": [5, 6, 7]}] * 3)
    with caplog.at_level(logging.INFO, "easydata"):
        source = mixed(x=tokens("split"), y=by_hand)
        rows = packed(source, eos_token_id=EOS["split"])
        list(loaded_rows(source))
    said = [record.message for record in caplog.records if "nothing says" in record.message]
    assert len(said) == 1
    assert 'the tokens of sources["y"] are of' in said[0]
    assert padding(rows) <= {PAD["split"]}
    named = r"packing: eos_token_id: must be named: nothing says which tokenizer some of the tokens"
    with pytest.raises(ConfigError, match=named):
        packed(source)
    with pytest.raises(ConfigError, match="nothing says which tokenizer the tokens are of"):
        packed(by_hand)
    # Grain's packers add none.
    assert packed(by_hand, strategy="grain_concat")
    config = PipelineConfig(
        [DatasetConfig([{"input_ids": [5, 6]}], name="a")],
        pack=PackStageConfig(seq_length=8),
        load=LoadStageConfig(batch_size=1, drop_last=False),
    )
    with pytest.raises(ConfigError, match="eos_token_id: must be named"):
        Pipeline.from_config(config).source().pack().load().build()


def test_a_tokenizer_that_a_dataset_names_tells_of_its_tokens(tmp_path: Path) -> None:
    def rows(tokenizer: str, data: Any) -> list[dict[str, Any]]:
        config = PipelineConfig(
            [DatasetConfig(data, name="a", tokenizer=FOLDERS[tokenizer])],
            pack=PackStageConfig(seq_length=8, shuffle_packed=False),
        )
        return list(Pipeline.from_config(config).source().pack().build())

    (row,) = rows("metaspace", [{"input_ids": [5, 6]}])
    assert row["input_ids"].tolist() == [5, 6, 2, 2, 2, 2, 2, 2]
    folder = saved("split", tmp_path / "a")
    assert rows("split", folder)
    other = r"dataset 'a' names the tokenizer 'metaspace' .* its tokens are of another one: 'split'"
    with pytest.raises(ValueError, match=other):
        rows("metaspace", folder)


def test_ids_that_are_named_are_ids_and_no_text() -> None:
    source = tokens("split")
    word = ids("split", "The")[0]
    text = Tokenizer(FOLDERS["split"]).id_to_token(word)
    said = rf'eos_token_id: {word} is an ordinary token "{text}".* in \'split\'.*own, 1198'
    with pytest.raises(ConfigError, match=said):
        PackedShardedSource(source, 8, word)
    assert PackedShardedSource(source, 8, 1197)  # another special one
    with pytest.raises(ConfigError, match="pad_token_id: 1200 is no id of the tokenizer"):
        packed(source, pad_token_id=1200)
    with pytest.raises(ConfigError, match="input_ids: 1200 is no id of the tokenizer"):
        AsyncDataLoader(source, batch_size=2, padding={"input_ids": PadSpec(1200)})
    # Of two, an id that is an ordinary token of one closes none of its documents.
    with pytest.raises(ConfigError, match=r"eos_token_id: 2 is an ordinary token.* in 'split'"):
        packed(mixed(x=tokens("metaspace"), y=tokens("split")), eos_token_id=2)


def test_examples_of_a_trainer_know_their_vocabulary() -> None:
    chats = [
        {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    ]
    transform = SFTPreprocessTransform(FOLDERS["split"], max_length=64, fixed_shapes=False)
    rows = packed(create_source(DatasetConfig(chats, transform=transform)))
    assert padding(rows) == {PAD["split"]}
