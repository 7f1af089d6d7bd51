"""Token files of other programs: rows equal numpy's, from any row on, or one clear error."""

import json
import logging
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from batches import loaded_rows
from fault_log import logged_calls
from fault_server import FaultServer
from programs import run_python
from token_file_makers import EOS, some_documents, stream_of, write_llmc, write_megatron

from easydata import (
    AsyncDataLoader,
    ConfigError,
    DatasetConfig,
    LoadStageConfig,
    PackStageConfig,
    Pipeline,
    TokenFilesShardedSource,
    create_pipeline,
    create_source,
)

TYPES = ["uint16", "uint32", "uint64", "int32", "int64"]


def tokens_of(rows: Iterable[dict[str, Any]]) -> list[list[int]]:
    return [row["input_ids"] for row in rows]


def check(source: Any, expected: list[list[int]]) -> None:
    """All rows, their number, and the rest from several rows on, before and after counting."""
    (name,) = source.shard_names
    count = len(expected)
    for row in (count - 1, count // 2, 1, 0, count, count + 5):
        assert tokens_of(source.open_shard_at_row(name, max(row, 0))) == expected[max(row, 0) :]
    assert tokens_of(source) == expected
    assert len(source) == count
    assert tokens_of(pickle.loads(pickle.dumps(source)).take(3)) == expected[:3]


@pytest.mark.parametrize("dtype", TYPES)
def test_documents_of_bare_tokens(tmp_path: Path, dtype: str) -> None:
    documents = [[*each, EOS] for each in some_documents(900, dtype)]
    stream_of(some_documents(900, dtype), dtype).tofile(tmp_path / "train.bin")
    config = DatasetConfig(str(tmp_path / "train.bin"), dtype=dtype, document_eos=EOS)
    check(create_source(config), documents)
    # A last document that nothing ends is a row.
    with (tmp_path / "train.bin").open("ab") as file:
        file.write(np.array([5, 6], dtype).tobytes())
    check(create_source(config), [*documents, [5, 6]])


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", *TYPES])
@pytest.mark.parametrize("length", [1, 7, 300_000])
def test_rows_of_one_length(tmp_path: Path, dtype: str, length: int) -> None:
    rng = np.random.default_rng(1)
    tokens = rng.integers(1, np.iinfo(dtype).max % 100_000, 5003 if length < 8 else 700_001)
    tokens.astype(dtype).tofile(tmp_path / "a.bin")
    expected = [tokens[i : i + length].tolist() for i in range(0, len(tokens), length)]
    config = DatasetConfig(str(tmp_path / "a.bin"), dtype=dtype, row_tokens=length)
    check(create_source(config), expected)


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_the_header_of_llm_c_says_what_follows(tmp_path: Path, dtype: str) -> None:
    documents = some_documents(50, dtype)
    path = write_llmc(tmp_path / "a.bin", stream_of(documents, dtype))
    check(TokenFilesShardedSource(path, document_eos=EOS), [[*each, EOS] for each in documents])
    other = "uint32" if dtype == "uint16" else "uint16"
    with pytest.raises(ValueError, match=rf'dtype is "{other}", and its header .* says {dtype}'):
        list(TokenFilesShardedSource(path, dtype=other, document_eos=EOS))
    path.write_bytes(path.read_bytes()[:-2])
    size = path.stat().st_size
    with pytest.raises(OSError, match=rf"a\.bin: byte {size}: its header .* and the file has"):
        list(TokenFilesShardedSource(path, document_eos=EOS))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "uint16", "int32", "int64"])
@pytest.mark.parametrize("modes", [False, True])
def test_documents_of_megatron(tmp_path: Path, dtype: str, modes: bool) -> None:
    sequences = some_documents(1200, dtype)
    rng = np.random.default_rng(2)
    documents: list[list[list[int]]] = []
    while sequences:  # of no sequence, of one, of several
        count = int(rng.integers(0, 4))
        documents.append(sequences[:count])
        sequences = sequences[count:]
    path = write_megatron(tmp_path / "corpus_text_document", documents, dtype, modes=modes)
    expected = [[token for sequence in each for token in sequence] for each in documents]
    check(create_source(DatasetConfig(str(path))), expected)
    # By its index, as a folder, as a pattern.
    for name in (path.with_suffix(".idx"), tmp_path, tmp_path / "*", tmp_path / "*.bin"):
        source = create_source(DatasetConfig(str(name)))
        assert source.shard_names == (str(path),)
        assert tokens_of(source) == expected
    with pytest.raises(ValueError, match=r"has an index of Megatron's.*document_eos has nothing"):
        list(create_source(DatasetConfig(str(path), document_eos=1)))
    wrong = "uint32"
    with pytest.raises(ValueError, match=rf'dtype is "{wrong}", and its index.*says {dtype}'):
        list(create_source(DatasetConfig(str(path), dtype=wrong)))


def test_an_index_that_is_another_one_is_an_error(tmp_path: Path) -> None:
    path = write_megatron(tmp_path / "a", [[[1, 2, 3]], [[4, 5, 6]]], "uint16")
    source = create_source(DatasetConfig(str(path)))
    state_source = create_source(DatasetConfig(str(path)))
    with AsyncDataLoader(state_source, 1, drop_last=False) as loader:
        next(iter(loader))
        state = loader.state_dict()
    write_megatron(tmp_path / "other", [[[1, 2]], [[3, 4, 5, 6]]], "uint16")
    (tmp_path / "other.idx").rename(tmp_path / "a.idx")  # of the same tokens and size
    with pytest.raises(OSError, match=r"a\.idx"):
        list(source)
    with (
        AsyncDataLoader(create_source(DatasetConfig(str(path))), 1) as loader,
        pytest.raises(ValueError, match="state"),
    ):
        loader.load_state_dict(state)


@pytest.mark.parametrize("dtype", TYPES)
def test_arrays(tmp_path: Path, dtype: str) -> None:
    rng = np.random.default_rng(3)
    array = rng.integers(0, 60_000, (5000, 37)).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    check(create_source(DatasetConfig(str(tmp_path / "a.npy"))), array.tolist())
    documents = some_documents(300, dtype)
    np.save(tmp_path / "b.npy", stream_of(documents, dtype))
    config = DatasetConfig(str(tmp_path / "b.npy"), document_eos=EOS)
    check(create_source(config), [[*each, EOS] for each in documents])
    rows = create_source(DatasetConfig(str(tmp_path / "b.npy"), row_tokens=64))
    stream = stream_of(documents, dtype)
    assert tokens_of(rows) == [stream[i : i + 64].tolist() for i in range(0, len(stream), 64)]


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_versions_of_arrays(tmp_path: Path, version: tuple[int, int]) -> None:
    array = np.arange(12, dtype=np.uint16).reshape(3, 4)
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array(file, array, version=version)
    check(TokenFilesShardedSource(tmp_path / "a.npy"), array.tolist())


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.asfortranarray(np.ones((3, 4), np.int32)), "Fortran order.*ascontiguousarray"),
        (np.ones((3, 4), ">i4"), "big-endian"),
        (np.ones((3, 4)), "dtype <f8, and tokens are whole numbers"),
        (np.ones((3, 4), bool), r"dtype \|b1"),
        (np.ones((3, 4, 5), np.int32), "3 dimensions"),
        (np.array(3), "0 dimensions"),
        (np.zeros(3, [("a", "<u2")]), r"dtype \[\('a', '<u2'\)\]"),
    ],
)
def test_arrays_that_are_no_rows_of_tokens(tmp_path: Path, array: Any, says: str) -> None:
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(NotImplementedError, match=rf"a\.npy.*{says}"):
        list(TokenFilesShardedSource(tmp_path / "a.npy", row_tokens=3))
    # It is not damaged, and not left out.
    with pytest.raises(NotImplementedError):
        list(TokenFilesShardedSource(tmp_path / "a.npy", row_tokens=3, on_missing="skip"))


def test_what_nothing_says_is_asked_for(tmp_path: Path) -> None:
    np.arange(8, dtype=np.uint16).tofile(tmp_path / "a.bin")
    name = str(tmp_path / "a.bin")
    with pytest.raises(TypeError, match=r"a\.bin .* 16 bytes may be 8 of uint16.*dtype="):
        create_source(DatasetConfig(name, document_eos=3)).head()
    with pytest.raises(TypeError, match=r"one stream of 8 tokens.*document_eos.*or row_tokens"):
        create_source(DatasetConfig(name, dtype="uint16")).head()
    with pytest.raises(TypeError, match=r"tokens of uint16, of which none is 128000"):
        create_source(DatasetConfig(name, dtype="uint16", document_eos=128000)).head()
    # It is an error for whoever leaves out files that are lost, too.
    with pytest.raises(TypeError, match="dtype="):
        create_source(DatasetConfig(name, document_eos=3, on_missing="skip")).head()
    with pytest.raises(ConfigError, match='did you mean "uint16"'):
        create_source(DatasetConfig(name, dtype="unit16"))
    with pytest.raises(ConfigError, match="set one of them"):
        create_source(DatasetConfig(name, dtype="uint16", document_eos=3, row_tokens=4))
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n')
    with pytest.raises(ConfigError, match=r"has no effect on dataset .* files of tokens are read"):
        create_source(DatasetConfig(str(tmp_path / "a.jsonl"), dtype="uint16"))
    (tmp_path / "b.bin.gz").write_bytes(b"x")
    with pytest.raises(NotImplementedError, match=r"b\.bin\.gz is compressed.*unpack it first"):
        create_source(
            DatasetConfig(str(tmp_path / "b.bin.gz"), dtype="uint16", row_tokens=1)
        ).head()


def test_sizes_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(7))
    with pytest.raises(OSError, match=r"a\.bin: byte 6: 1 bytes are left over.*each token has 2"):
        list(TokenFilesShardedSource(tmp_path / "a.bin", dtype="uint16", row_tokens=2))
    np.save(tmp_path / "a.npy", np.arange(100, dtype=np.uint16))
    whole = (tmp_path / "a.npy").read_bytes()
    for content, byte in ((whole[:-3], len(whole) - 3), (whole + b"xx", len(whole))):
        (tmp_path / "b.npy").write_bytes(content)
        with pytest.raises(OSError, match=rf"b\.npy: byte {byte}: its header tells of the shape"):
            list(TokenFilesShardedSource(tmp_path / "b.npy", row_tokens=2))
    # What is left out is said; the other file is read.
    both = TokenFilesShardedSource(str(tmp_path / "*.npy"), row_tokens=50, on_missing="skip")
    assert tokens_of(both) == [list(range(50)), list(range(50, 100))]


def test_numbers_that_are_no_tokens(tmp_path: Path) -> None:
    np.array([1, 2, 3, 2**31, 5, 6], np.uint32).tofile(tmp_path / "a.bin")
    source = TokenFilesShardedSource(tmp_path / "a.bin", dtype="uint32", row_tokens=2)
    with pytest.raises(ValueError, match=r"a\.bin row 1: byte 12: 2147483648 is no token"):
        list(source)
    kept = TokenFilesShardedSource(
        tmp_path / "a.bin",
        dtype="uint32",
        row_tokens=2,
        on_error="quarantine",
        quarantine_path=tmp_path / "bad.jsonl",
    )
    assert tokens_of(kept) == [[1, 2], [5, 6]]
    (line,) = (tmp_path / "bad.jsonl").read_text().splitlines()
    assert "[3, 2147483648]" in line


def test_weights_beside_other_data_are_no_tokens(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("pytorch_model.bin", "embeddings.npy", "pack-1.idx"):
        (tmp_path / name).write_bytes(b"xxx")
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n')
    with caplog.at_level(logging.WARNING, "easydata"):
        assert list(create_source(DatasetConfig(str(tmp_path)))) == [{"text": "x"}]
    assert all(name in caplog.text for name in ("pytorch_model.bin", "embeddings.npy", ".idx"))
    with pytest.raises(ValueError, match=r"pack-1\.idx is an index of tokens.*pack-1\.bin"):
        create_source(DatasetConfig(str(tmp_path / "pack-1.idx")))


# In pipelines.


@pytest.fixture(params=["eos", "length", "megatron", "npy"])
def dataset(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Three files of one kind, one of them empty."""
    options: dict[str, Any] = {}
    for number, count in enumerate((400, 0, 150)):
        documents = [each or [9] for each in some_documents(count, seed=number)] if count else []
        path = tmp_path / f"{number}.bin"
        if request.param == "megatron":
            write_megatron(path, [[each] for each in documents], "int32")
        elif request.param == "npy":
            array = np.array([each[:20] for each in documents if len(each) >= 20], np.uint16)
            np.save(path.with_suffix(".npy"), array.reshape(-1, 20))
        else:
            stream = stream_of(documents) if documents else np.zeros(0, np.uint16)
            stream.tofile(path)
            rows = {"eos": {"document_eos": EOS}, "length": {"row_tokens": 321}}[request.param]
            options = {"dtype": "uint16", **rows}
    ending = "npy" if request.param == "npy" else "bin"
    return {"data_files": str(tmp_path / f"*.{ending}"), **options}


def test_packed_rows_resume_and_are_shared(dataset: dict[str, Any], tmp_path: Path) -> None:
    documents = tokens_of(create_source(dataset))

    def packed(**load: Any) -> Any:
        pipeline = create_pipeline([dataset], load={"batch_size": 4, **load})
        return pipeline.source().pack(
            PackStageConfig(seq_length=512, eos_token_id=EOS, shuffle_packed=False)
        )

    with packed().load().build() as loader:
        whole = [row.tolist() for batch in loader for row in batch["input_ids"]]
    stream = [token for each in documents for token in (each if each[-1] == EOS else [*each, EOS])]
    joined = [token for row in whole for token in row]
    assert joined[: len(stream) // 2048 * 2048] == stream[: len(stream) // 2048 * 2048]
    for step in (1, 3, 5):
        with packed().load().build() as loader:
            batches = iter(loader)
            for _ in range(step):
                next(batches)
            state = json.loads(json.dumps(loader.state_dict()))
        with packed().load().build() as loader:
            loader.load_state_dict(state)
            rest = [row.tolist() for batch in loader for row in batch["input_ids"]]
        assert rest == whole[4 * step :]
    ranks = []
    for rank in range(2):
        pipeline = packed()
        with pipeline.load(LoadStageConfig(batch_size=4, rank=rank, world_size=2)).build() as own:
            ranks.append([row.tolist() for batch in own for row in batch["input_ids"]])
    interleaved = [
        row
        for step in range(len(whole) // 4)
        for own in ranks
        for row in own[2 * step : 2 * step + 2]
    ]
    assert interleaved == whole[: len(interleaved)]


def test_shuffled_chosen_and_divided(dataset: dict[str, Any]) -> None:
    source = create_source(dataset)
    documents = tokens_of(source)
    ordered = sorted(documents)
    for mode in ("blocks", "rows", "grain"):
        shuffled = tokens_of(loaded_rows(source.shuffle(mode, seed=2)))
        assert sorted(shuffled) == ordered
    numbers = [len(documents) - 1, 0, 3, len(documents) // 2, -2]
    assert tokens_of(source.select(numbers)) == [documents[number] for number in numbers]
    parts = source.split({"a": 0.7, "b": 0.3}, seed=1)
    divided = {name: tokens_of(part) for name, part in parts.items()}
    assert sorted(divided["a"] + divided["b"]) == ordered
    assert divided["a"]
    assert divided["b"]


def test_units_and_shards_of_outputs(
    dataset: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    documents = [each for each in tokens_of(create_source(dataset)) if each]

    def save(**options: Any) -> list[list[int]]:
        config = {"datasets": [dataset], "save": {"format": "parquet", **options}}
        Pipeline.from_config(config).source().save().build()
        shards = sorted(Path(options["output_dir"]).rglob("*.parquet"))
        assert len(shards) > 1
        return [ids for shard in shards for ids in pq.read_table(shard)["input_ids"].to_pylist()]

    written = save(output_dir="units", units="20KB")
    assert [each for each in written if each] == documents
    sized = save(output_dir="sized", max_shard_size="20KB")
    assert [each for each in sized if each] == documents


def test_files_of_a_web_server(dataset: dict[str, Any], tmp_path: Path) -> None:
    here = create_source(dataset)
    contents = {f"/{path.name}": path.read_bytes() for path in tmp_path.iterdir()}
    with FaultServer(contents) as server:
        names = [server.url + "/" + Path(name).name for name in here.shard_names]
        there = create_source({**dataset, "data_files": names})
        assert tokens_of(there) == tokens_of(here)
        last = there.shard_names[-1]
        rest = tokens_of(there.open_shard_at_row(last, 100))
        assert rest == tokens_of(here.open_shard_at_row(here.shard_names[-1], 100))


def test_on_the_command_line(tmp_path: Path) -> None:
    documents = some_documents(30)
    stream_of(documents).tofile(tmp_path / "train.bin")
    flags = "--dtype uint16 --document-eos 50256 --seq-length 64 --no-shuffle-packed"
    flags += " --eos-token-id 50256"
    command = f"-m easydata.cli pack train.bin {flags} --output-dir out --json"
    said = run_python(*command.split(), cwd=tmp_path)
    assert json.loads(said.stdout)
    rows = pq.read_table(tmp_path / "out")["input_ids"].to_pylist()
    stream = stream_of(documents).tolist()
    assert [token for row in rows for token in row][: len(stream)] == stream


OPENED = """
import sys
from easydata import AsyncDataLoader, DatasetConfig, create_source

source = create_source(DatasetConfig(sys.argv[1]))
with AsyncDataLoader(source, 2, drop_last=False) as loader:
    print(sum(len(batch["input_ids"]) for batch in loader))
"""


def test_a_pair_is_opened_once(tmp_path: Path) -> None:
    path = write_megatron(tmp_path / "a", [[[1, 2]], [[3]], [[4, 5]]], "uint16")
    log = tmp_path / "calls.log"
    done = run_python("-c", OPENED, path, variables={"EASYDATA_FAULT_PLAN": f"log={log}"})
    assert done.stdout.split() == ["3"]
    opened = [line for line in logged_calls(log) if line.startswith("open ")]
    for name in (path, path.with_suffix(".idx")):
        assert opened.count(f"open {name}") == 1
