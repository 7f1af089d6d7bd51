"""Bad input: one error that says what, where and what to do, and nothing half-written."""

import gc
import gzip
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from easydata.cli import main
from easydata.core.config import ConfigError
from manual_pages import write_jsonl, write_parquet
from thread_count import thread_numbers

import easydata
from easydata import (
    ArrowShardedSource,
    AsyncDataLoader,
    CsvShardedSource,
    DatasetMixture,
    JsonShardedSource,
    MixedShardedSource,
    PackedShardedSource,
    ParquetShardedSource,
    Pipeline,
    PipelineConfig,
    TextDatasetInform,
    TextShardedSource,
    create_pipeline,
    save_dataset,
    tokenize_and_save,
)

GOOD = 3000  # rows before the bad one: more than a batch of the engine


@pytest.fixture(scope="module")
def warm(gpt2: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("warm")
    write_jsonl(str(folder / "a.jsonl"), [{"text": "so that libraries have started their threads"}])
    tokenize_and_save(folder / "a.jsonl", gpt2, folder / "out")


@pytest.fixture(autouse=True)
def folder(warm: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in; at the end no thread is left that was not there before."""
    monkeypatch.chdir(tmp_path)
    gc.collect()
    before = thread_numbers()
    yield tmp_path
    gc.collect()
    assert thread_numbers() <= before


def write(path: str, lines: list[bytes]) -> str:
    Path(path).write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def good(count: int = GOOD) -> list[bytes]:
    return [b'{"text": "document %d"}' % n for n in range(count)]


def refused(
    work: Callable[[], Any], kind: type[Exception], *said: str, output: str = "out"
) -> None:
    """`work` ends with that one error, which says all that, and leaves no data in `output`."""
    with pytest.raises(kind) as raised:
        work()
    message = str(raised.value)
    for part in said:
        assert part in message
    assert len(message.splitlines()) == 1
    assert raised.value.__cause__ is None
    # Nothing under a final name, and nothing that is only half there.
    assert not Path(output).is_dir() or not list(Path(output).iterdir())


def command(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 1) -> str:
    """Runs the command line, which fails with one line; returns that."""
    assert main(list(arguments)) == status
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("easydata: ")
    return line


def saved(data: Any, tokenizer: str, **options: Any) -> Callable[[], Any]:
    """A pipeline from files to files."""

    def work() -> Any:
        dataset = {"data_files": data, "name": "web", **options}
        pipeline = create_pipeline([dataset], tokenizer, save={"output_dir": "out"})
        return pipeline.source().tokenize().save().build()

    return work


# Files that are not there


@pytest.mark.parametrize("data", ["trian.jsonl", "trian*.jsonl", ["train.jsonl", "trian.jsonl"]])
def test_a_pattern_that_matches_nothing(gpt2: str, folder: Path, data: Any) -> None:
    write("train.jsonl", good(3))
    pattern = data if isinstance(data, str) else data[1]
    said = (f"no data files match {pattern}", "did you mean train.jsonl?", str(folder))
    refused(lambda: tokenize_and_save(data, gpt2, "out"), FileNotFoundError, *said)
    refused(saved(data, gpt2), FileNotFoundError, *said)
    refused(lambda: JsonShardedSource(data), FileNotFoundError, *said)


def test_a_pattern_that_matches_nothing_on_the_command_line(
    gpt2: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("train.jsonl", good(3))
    said = command(capsys, "tokenize", "trian*.jsonl", "--tokenizer", gpt2, "--output-dir", "out")
    assert "no data files match trian*.jsonl; did you mean train.jsonl?" in said
    assert not Path("out").exists()


# Columns


def test_a_typo_in_a_column_of_parquet_and_csv(gpt2: str) -> None:
    write_parquet("a.parquet", [{"text": "a", "label": 1}])
    write("a.csv", [b"text,label", b"a,1"])
    for path in ("a.parquet", "a.csv"):
        said = (path, 'no column "txet"', "did you mean text?", "It has: text, label")
        refused(saved(path, gpt2, content_field="txet"), KeyError, *said)
    said = ("a.parquet", 'no column "lable"', "did you mean label?")
    refused(saved("a.parquet", gpt2, additional_fields=["lable"]), KeyError, *said)
    source = ParquetShardedSource("a.parquet", columns=["lable"])
    refused(lambda: list(source), KeyError, *said)
    source = ParquetShardedSource("a.parquet")
    said = ("no column 'lable'", "there are text, label")
    refused(lambda: save_dataset(source, "out", columns=["lable"]), KeyError, *said)


def test_a_typo_in_a_field_of_json(gpt2: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.jsonl", good(3))
    said = ('sources["web"] a.jsonl row 0', "no text in field 'txet'", "content_field")
    refused(saved("a.jsonl", gpt2, content_field="txet"), ValueError, *said)
    flags = ["--tokenizer", gpt2, "--content-field", "txet", "--output-dir", "out"]
    line = command(capsys, "tokenize", "a.jsonl", *flags)
    assert "a.jsonl row 0: the row has no text in field 'txet'" in line
    assert not Path("out").exists()


def test_a_typo_in_the_field_of_tokens() -> None:
    write_parquet("a.parquet", [{"ids": [1]}])
    write_jsonl("a.jsonl", [{"input_ids": [1]}, {"text": "not tokenized"}])

    def packed(source: Any) -> list[Any]:
        return list(PackedShardedSource(source, 8, 0, shuffle=False))

    # EasyDeL passes over such rows in silence, and so over a whole dataset with a typo.
    said = ("a.jsonl row 1", 'no tokens in field "input_ids"', "tokenize first", "input_field")
    refused(lambda: packed(JsonShardedSource("a.jsonl")), ValueError, *said)
    said = ("a.parquet", 'no column "input_ids"', "it has: ids")
    refused(lambda: packed(ParquetShardedSource("a.parquet")), KeyError, *said)


# Content


BAD_ROWS = [
    pytest.param(
        "a.jsonl",
        JsonShardedSource,
        [*good(), b'{"text": "open', *good(5)],
        (f"row {GOOD}: line {GOOD + 1}: not valid JSON at byte 10", "has no end"),
        id="JSON",
    ),
    pytest.param(
        "a.jsonl",
        JsonShardedSource,
        [*good(), b'{"text": "\xc3\x28"}', *good(5)],
        (f"row {GOOD}: line {GOOD + 1}: not UTF-8 at byte 11",),
        id="UTF-8 in JSON",
    ),
    pytest.param(
        "a.txt",
        TextShardedSource,
        [*good(), b"caf\xe9", *good(5)],
        (f"row {GOOD}: line {GOOD + 1}: not UTF-8 at byte 4",),
        id="UTF-8 in text",
    ),
    pytest.param(
        "a.csv",
        CsvShardedSource,
        [b"text", *[b"document %d" % n for n in range(GOOD)], b"caf\xe9", b"more"],
        (f"row {GOOD}: line {GOOD + 2}: not UTF-8 at byte 4",),
        id="UTF-8 in CSV",
    ),
]


@pytest.mark.parametrize(("path", "kind", "lines", "said"), BAD_ROWS)
def test_a_bad_row(
    gpt2: str,
    path: str,
    kind: Any,
    lines: list[bytes],
    said: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(path, lines)
    said = (f"{path} {said[0]}", *said[1:], "fix it", 'on_error="skip"')
    refused(lambda: tokenize_and_save(path, gpt2, "out"), ValueError, *said)
    refused(saved(path, gpt2), ValueError, 'sources["web"] ', *said)
    refused(lambda: save_dataset(kind(path), "out"), ValueError, *said)
    line = command(capsys, "tokenize", path, "--tokenizer", gpt2, "--output-dir", "out")
    assert all(part in line for part in (*said[:-1], "--on-error skip"))
    assert not Path("out").exists()
    # All rows before it come first, and it can be left out.
    seen: list[Any] = []
    refused(lambda: seen.extend(iter(kind(path))), ValueError, *said)
    assert len(seen) == GOOD
    with AsyncDataLoader(kind(path), batch_size=500) as loader:
        batches: list[Any] = []
        refused(lambda: batches.extend(iter(loader)), ValueError, *said)
        assert len(batches) == GOOD / 500
    written = saved(path, gpt2, on_error="skip")()
    assert written["web"].num_examples == len(list(kind(path, on_error="skip"))) > GOOD


def test_a_cut_gzip_file(gpt2: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps({"text": f"{n} {n * 7919 % 104729}"}).encode() for n in range(40_000)]
    packed = gzip.compress(b"\n".join(lines))
    Path("a.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    said = ("a.jsonl.gz", "was cut short", "get it again")
    refused(lambda: tokenize_and_save("a.jsonl.gz", gpt2, "out"), OSError, *said)
    refused(saved("a.jsonl.gz", gpt2), OSError, 'sources["web"]', *said)
    line = command(capsys, "tokenize", "a.jsonl.gz", "--tokenizer", gpt2, "--output-dir", "out")
    assert all(part in line for part in said)
    seen: list[Any] = []
    refused(lambda: seen.extend(iter(JsonShardedSource("a.jsonl.gz"))), OSError, *said)
    assert len(seen) > 10_000
    assert seen == [json.loads(line) for line in lines[: len(seen)]]
    Path("b.jsonl.gz").write_bytes(b'{"text": "plain"}\n')
    said = ("b.jsonl.gz", "does not start as such a file does", "rename or repack it")
    refused(lambda: tokenize_and_save("b.jsonl.gz", gpt2, "out"), ValueError, *said)


def test_a_cut_or_damaged_parquet_file(gpt2: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"text": [f"{n} {n * 7919 % 104729}" for n in range(20_000)]})
    pq.write_table(table, "a.parquet", row_group_size=1000)
    whole = Path("a.parquet").read_bytes()
    for cut in (b"", whole[: len(whole) // 2], whole[:-6]):
        Path("a.parquet").write_bytes(cut)
        said = ("a.parquet is not a whole Parquet file", "cut short", "get it again")
        refused(lambda: tokenize_and_save("a.parquet", gpt2, "out"), OSError, *said)
        refused(saved("a.parquet", gpt2), OSError, *said)
        line = command(capsys, "tokenize", "a.parquet", "--tokenizer", gpt2, "--output-dir", "out")
        assert all(part in line for part in said)
    # With a footer, but with damage in the middle: the rows before that come first.
    middle = pq.ParquetFile(pa.BufferReader(whole)).metadata.row_group(10).column(0)
    damaged = bytearray(whole)
    start = middle.data_page_offset + 40
    damaged[start : start + 400] = b"\xff" * 400
    Path("a.parquet").write_bytes(damaged)
    said = ("a.parquet row 10000: ", "cannot be read", "damaged", "get it again")
    refused(lambda: tokenize_and_save("a.parquet", gpt2, "out"), OSError, *said)
    seen: list[Any] = []
    refused(lambda: seen.extend(iter(ParquetShardedSource("a.parquet"))), OSError, *said)
    assert seen == table.slice(0, 10_000).to_pylist()


def test_a_cut_arrow_file(gpt2: str) -> None:
    table = pa.table({"text": [f"{n} {n * 7919 % 104729}" for n in range(20_000)]})
    with pa.ipc.new_stream("a.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=1000)
    whole = Path("a.arrow").read_bytes()
    Path("a.arrow").write_bytes(whole[: len(whole) // 2])
    said = ("a.arrow: record batch 10 cannot be read", "cut short", "get it again")
    refused(lambda: tokenize_and_save("a.arrow", gpt2, "out"), OSError, *said)
    seen: list[Any] = []
    refused(lambda: seen.extend(iter(ArrowShardedSource("a.arrow"))), OSError, *said)
    assert len(seen) > 5000
    assert seen == table.slice(0, len(seen)).to_pylist()


# Tokenizers


def test_a_tokenizer_that_does_not_exist(
    gpt2: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    write("a.jsonl", good(3))
    Path("gpt2").symlink_to(gpt2)
    said = ("gtp2 does not exist", "give the folder", "did you mean gpt2?")
    refused(lambda: tokenize_and_save("a.jsonl", "gtp2", "out"), FileNotFoundError, *said)
    refused(saved("a.jsonl", "gtp2"), FileNotFoundError, *said)
    refused(lambda: easydata.Tokenizer("gtp2"), FileNotFoundError, *said)
    line = command(capsys, "tokenize", "a.jsonl", "--tokenizer", "gtp2", "--output-dir", "out")
    assert "gtp2 does not exist" in line
    assert not Path("out").exists()
    Path("empty").mkdir()
    said = ("empty holds no tokenizer.json", "save_pretrained")
    refused(lambda: tokenize_and_save("a.jsonl", "empty", "out"), FileNotFoundError, *said)
    Path("empty/tokenizer.json").write_text('{"model": ')
    said = ("empty", "tokenizer.json is not valid JSON", "save_pretrained")
    refused(lambda: tokenize_and_save("a.jsonl", "empty", "out"), ValueError, *said)


# Outputs


def contents(path: str) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in Path(path).rglob("*") if file.is_file()}


def test_an_output_that_exists(gpt2: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.jsonl", good(3))
    write("b.jsonl", good(5))

    def refuses(path: str, said: str) -> None:
        before = contents(path) if Path(path).is_dir() else Path(path).read_bytes()
        with pytest.raises(FileExistsError) as raised:
            tokenize_and_save("b.jsonl", gpt2, path)
        assert said in str(raised.value)
        line = command(capsys, "tokenize", "b.jsonl", "--tokenizer", gpt2, "--output-dir", path)
        assert said.replace("set overwrite=True", "give --overwrite") in line
        assert before == (contents(path) if Path(path).is_dir() else Path(path).read_bytes())

    tokenize_and_save("a.jsonl", gpt2, "finished")
    refuses("finished", "finished holds a finished output already; set overwrite=True")
    Path("foreign").mkdir()
    Path("foreign/notes.md").write_text("mine")
    refuses("foreign", "foreign holds notes.md, which no output of ours names")
    Path("file").write_text("mine")
    refuses("file", "file is a file; an output needs a folder: choose another output path")


def test_an_output_that_cannot_be_written(
    gpt2: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("a.jsonl", good(3))
    Path("file").write_text("")
    paths = ["file/out", "/proc/out"]
    if os.geteuid() != 0:
        Path("locked").mkdir(mode=0o500)
        paths.append("locked/out")
    for path in paths:
        said = (f"cannot make the folder {path}: ", "choose an output path that can be written")
        refused(lambda to=path: tokenize_and_save("a.jsonl", gpt2, to), OSError, *said)
        source = JsonShardedSource("a.jsonl")
        refused(lambda to=path, rows=source: save_dataset(rows, to), OSError, *said)
        flags = ["--tokenizer", gpt2, "--output-dir", path]
        line = command(capsys, "tokenize", "a.jsonl", *flags)
        assert all(part in line for part in said)


def test_a_full_disk(gpt2: str, folder: Path) -> None:
    disk = folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small disk needs root")
    try:
        write("a.jsonl", [b'{"text": "%d %d"}' % (n, n * 7919 % 104729) for n in range(40_000)])
        said = (str(disk), "No space left on device", "make room there")
        out = str(disk / "out")
        refused(lambda: tokenize_and_save("a.jsonl", gpt2, out), OSError, *said, output=out)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# Options


def test_an_unknown_key_of_a_config(gpt2: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.jsonl", good(3))
    values = {"datasets": [{"data_files": "a.jsonl"}], "pack": {"seq_lenght": 8}}
    said = ('pack.seq_lenght is not an option; did you mean "seq_length"?',)
    refused(lambda: Pipeline.from_config(values), ConfigError, *said)
    Path("p.json").write_text(json.dumps(values))
    assert main(["pack", "--config", "p.json", "--output-dir", "out"]) == 2
    assert said[0] in capsys.readouterr().err
    said = ('datasets[0].contentfield is not an option; did you mean "content_field"?',)
    dataset = {"data_files": "a.jsonl", "contentfield": "text"}
    refused(lambda: create_pipeline([dataset], gpt2), ConfigError, *said)
    said = ('pakc is not an option; did you mean "pack"?',)
    refused(lambda: create_pipeline([{"data_files": "a.jsonl"}], pakc={}), ConfigError, *said)
    said = ("LoadStageConfig has no option 'batchsize'", 'did you mean "batch_size"?')
    refused(lambda: easydata.LoadStageConfig(batchsize=3), TypeError, *said)
    line = command(capsys, "tokenize", "a.jsonl", "--max-lenght", "3", status=2)
    assert "--max-lenght" in line
    assert "--max-length" in line


def test_weights_that_name_no_dataset() -> None:
    for name in ("web", "code"):
        write_jsonl(f"{name}.jsonl", [{"text": name, "content": name}] * 3)
    datasets = [{"data_files": f"{name}.jsonl", "name": name} for name in ("web", "code")]
    wrong = {"wbe": 0.5, "code": 0.5}

    def mixed(**mix: Any) -> Any:
        config = PipelineConfig.from_dict({"datasets": datasets, "mix": mix})
        return Pipeline(config).source().mix().build()

    said = ('mix.weights names no dataset with "wbe"', 'did you mean "web"?')
    refused(lambda: mixed(weights=wrong), ConfigError, *said)
    points = [{"step": 0, "weights": wrong}, {"step": 9, "weights": wrong}]
    said = ("mix.weight_schedule", 'names no dataset with "wbe"', 'did you mean "web"?')
    refused(lambda: mixed(weight_schedule=points), ConfigError, *said)
    sources = {name: JsonShardedSource(f"{name}.jsonl") for name in ("web", "code")}
    said = ("weights names no source of the mix with 'wbe'", 'did you mean "web"?')
    refused(lambda: MixedShardedSource(sources, wrong), ValueError, *said)
    informs = [TextDatasetInform(data_files=f"{name}.jsonl", name=name) for name in sources]
    mixture = DatasetMixture(informs=informs, mixture_weights=wrong)
    said = ("name no dataset with 'wbe'", 'did you mean "web"?')
    refused(mixture.build, ValueError, *said)
