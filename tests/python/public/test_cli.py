"""The command line: exit status, output, progress, interruption."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from data_folders import EOS
from easydata.cli import main
from programs import run_python
from small_data import jsonl

import easydata


def ids(folder: str, *texts: str) -> list[list[int]]:
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json")
    return [tokenizer.encode(text).ids for text in texts]


def run(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "easydata.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(
        command in out for command in ("tokenize", "pack", "convert", "inspect", "stats", "bench")
    )
    assert main(["pack", "--help"]) == 0
    out = capsys.readouterr().out
    for flag in ("--seq-length", "--eos-token-id", "--strategy", "--max-shard-size", "--overlong"):
        assert flag in out
    assert "--no-shuffle-packed" in out
    assert "Tokens of every row" in " ".join(out.split()), "the text is that of the declaration"


def test_tokenize(folder: Path, gpt2: str, capsys: pytest.CaptureFixture[str]) -> None:
    jsonl("a.jsonl", [{"body": "one two three"}, {"body": "four"}])
    flags = ["--tokenizer", gpt2, "--content-field", "body", "--max-length", "2"]
    assert main(["tokenize", "a.jsonl", *flags, "--output-dir", "out"]) == 0
    assert "2 rows, 4 tokens, 1 shard, " in capsys.readouterr().out
    rows = list(easydata.ParquetShardedSource("out"))
    assert [row["input_ids"] for row in rows] == [ids(gpt2, "one two")[0], ids(gpt2, "four")[0]]


def test_json_result(folder: Path, gpt2: str, capsys: pytest.CaptureFixture[str]) -> None:
    jsonl("a.jsonl", [{"text": "one"}])
    assert main(["tokenize", "a.jsonl", "--tokenizer", gpt2, "--output-dir", "out", "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["datasets"]["dataset_0"]["rows"] == 1
    assert found["datasets"]["dataset_0"]["paths"] == ["out/shard-00000.parquet"]
    assert captured.err == ""


def test_pack(folder: Path, gpt2: str) -> None:
    texts = ["one two three", "four", "five six"]
    jsonl("a.jsonl", [{"text": text} for text in texts])
    flags = ["--tokenizer", gpt2, "--seq-length", "8", "--no-shuffle-packed"]
    assert main(["pack", "a.jsonl", *flags, "--output-dir", "out", "--format", "jsonl"]) == 0
    stream = [token for document in ids(gpt2, *texts) for token in [*document, EOS]]
    rows = list(easydata.JsonShardedSource("out/*.jsonl"))
    assert [
        t for row in rows for t, m in zip(row["input_ids"], row["attention_mask"], strict=True) if m
    ] == stream
    assert {len(row["input_ids"]) for row in rows} == {8}


def test_convert_to_records_and_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each record is read back by array_record, too."""
    jsonl("a.jsonl", [{"text": f"text {i}", "id": i} for i in range(50)])
    flags = ["--format", "array_record", "--columns", "text", "--num-shards", "3"]
    assert main(["convert", "a.jsonl", *flags, "--output-dir", "records"]) == 0
    rows = [json.loads(line)["text"] for line in Path("a.jsonl").read_text().splitlines()]
    files = sorted(Path("records").rglob("*.arecord"))
    assert len(files) == 3
    module = pytest.importorskip("array_record.python.array_record_module")
    found = []
    for file in files:
        reader = module.ArrayRecordReader(str(file))
        found += [record.decode() for record in reader.read_all()]
        reader.close()
    assert found == rows
    back = ["convert", str(files[0].parent), "--format", "jsonl", "--output-dir", "back"]
    assert main(back) == 0
    lines = [
        line
        for file in sorted(Path("back").rglob("*.jsonl"))
        for line in file.read_text().splitlines()
    ]
    assert [json.loads(line) for line in lines] == [{"text": text} for text in rows]


def test_pack_data_that_is_tokenized(folder: Path) -> None:
    jsonl("a.jsonl", [{"input_ids": [5, 6, 7]}, {"input_ids": [8]}])
    flags = ["--eos-token-id", "1", "--seq-length", "3", "--no-shuffle-packed"]
    assert main(["pack", "a.jsonl", *flags, "--output-dir", "out"]) == 0
    rows = [row["input_ids"] for row in easydata.ParquetShardedSource("out")]
    assert rows == [[5, 6, 7], [1, 8, 1]]


def test_a_config_file_with_flags_over_it(folder: Path, gpt2: str) -> None:
    jsonl("a.jsonl", [{"text": "one two three four five six"}])
    Path("p.yaml").write_text(
        f"datasets:\n- data_files: a.jsonl\n  tokenizer: {gpt2}\n"
        "tokenize: {max_length: 5}\nsave: {output_dir: out, format: jsonl}\n"
    )
    assert main(["tokenize", "--config", "p.yaml", "--max-length", "2"]) == 0
    (row,) = easydata.JsonShardedSource("out/*.jsonl")
    assert row["input_ids"] == ids(gpt2, "one two")[0]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["tokenize"], 2, "nothing to read"),
        (["tokenise"], 2, "No such command"),
        (["tokenize", "a.jsonl", "--max-lenght", "3"], 2, "--max-length"),
        (["tokenize", "a.jsonl"], 2, "names no tokenizer; give --tokenizer"),
        (["tokenize", "a.jsonl", "--max-length", "zero"], 2, "integer"),
        (["tokenize", "a.jsonl", "--max-length", "0"], 2, "--max-length must be at least 1, not 0"),
        (["pack", "a.jsonl", "--strategy", "gredy"], 2, 'did you mean "greedy"?'),
        (["pack", "a.jsonl", "--push-to-hub"], 2, "hub_repo_id must name the repository"),
        (["pack", "a.jsonl", "--config", "p.yaml"], 2, "not both"),
        (
            ["pack", "--config", "bad.yaml"],
            2,
            'pack.seq_lenght is not an option; did you mean "seq_length"',
        ),
        (["pack", "--config", "absent.yaml"], 1, "absent.yaml"),
        (["tokenize", "c*.jsonl", "--tokenizer", "{gpt2}"], 1, "c*.jsonl"),
        (["tokenize", "a.jsonl", "--tokenizer", "no/such"], 1, "no/such"),
        (["tokenize", "bad.jsonl", "--tokenizer", "{gpt2}"], 1, "line 2"),
        (["inspect", "absent.parquet"], 1, "absent.parquet"),
        (["inspect", "a.jsonl", "--rows", "0"], 2, "rows"),
        (["stats"], 2, "nothing to read"),
        (["stats", "absent.parquet"], 1, "absent.parquet"),
        (["stats", "a.jsonl", "--shuffle"], 1, "nothing to shuffle"),
        (["stats", "a.jsonl", "--shuffle-mode", "row"], 2, 'did you mean "rows"'),
        (["stats", "a.jsonl", "--prefetch-workers", "2"], 2, "No such option"),
    ],
)
def test_what_goes_wrong(
    folder: Path,
    gpt2: str,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    said: str,
) -> None:
    jsonl("a.jsonl", [{"text": "one"}])
    Path("bad.jsonl").write_text('{"text": "one"}\n{"text": \n')
    Path("bad.yaml").write_text("datasets: [{data_files: a.jsonl}]\npack: {seq_lenght: 8}\n")
    arguments = [argument.replace("{gpt2}", gpt2) for argument in arguments]
    assert main(arguments) == status
    captured = capsys.readouterr()
    assert said in captured.err
    assert "Traceback" not in captured.err
    assert not list(Path().glob("output/*.parquet"))
    assert main([*arguments, "--json"]) == status
    assert said in "\n".join(json.loads(capsys.readouterr().out)["errors"])


def test_every_problem_is_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--seq-length", "1", "--num-packers", "0", "--format", "parkett"]
    assert main(["pack", "a.jsonl", *flags]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3


def test_an_output_that_exists(folder: Path, gpt2: str, capsys: pytest.CaptureFixture[str]) -> None:
    jsonl("a.jsonl", [{"text": "one"}])
    command = ["tokenize", "a.jsonl", "--tokenizer", gpt2, "--output-dir", "out"]
    assert main(command) == 0
    assert main([*command, "--max-length", "5"]) == 1
    assert "out" in capsys.readouterr().err
    assert main([*command, "--max-length", "5", "--overwrite"]) == 0


def test_inspect_shows_documents(
    folder: Path, gpt2: str, capsys: pytest.CaptureFixture[str]
) -> None:
    jsonl("a.jsonl", [{"text": "one two"}, {"text": "three"}])
    flags = ["--tokenizer", gpt2, "--seq-length", "10", "--no-shuffle-packed"]
    assert main(["pack", "a.jsonl", *flags, "--output-dir", "out"]) == 0
    capsys.readouterr()
    assert main(["inspect", "out", "--tokenizer", gpt2]) == 0
    out = capsys.readouterr().out
    assert "row 0" in out
    assert "one two<|endoftext|> ┃ three<|endoftext|> ┃ " in out
    assert re.search(r"\(10 tokens, 2 segments, \d+ padding\)", out)
    assert main(["inspect", "out", "--json", "--tokenizer", gpt2]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    said = [segment.get("text") for segment in row["segments"] if not segment["padding"]]
    assert said == ["one two<|endoftext|>", "three<|endoftext|>"]
    # Without a tokenizer the ids are shown.
    assert main(["inspect", "out"]) == 0
    assert str(ids(gpt2, "one two")[0][0]) in capsys.readouterr().out


def test_inspect_any_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text("name,age\nAnn,3\nBob,4\nCid,5\n")
    assert main(["inspect", "a.csv", "--rows", "1", "--skip", "1"]) == 0
    assert capsys.readouterr().out == "row 1\n  name: Bob\n  age: 4\n"
    jsonl("a.jsonl", [{"text": "x" * 1000}])
    assert main(["inspect", "a.jsonl", "--width", "10"]) == 0
    assert capsys.readouterr().out == f"row 0\n  text: {'x' * 10} ...\n"


def test_bench(folder: Path, gpt2: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [f"some words to count, number {i}" for i in range(2500)]
    jsonl("a.jsonl", [{"text": text} for text in texts])
    command = ["bench", gpt2, "a.jsonl", "--rounds", "2"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["documents"] == 2500
    assert found["tokens"] == sum(map(len, ids(gpt2, *texts)))
    assert found["bytes"] == sum(map(len, texts))
    assert found["ids_equal"] == ["tokenizers"]
    work = found["work"]["text to ids"]
    rates = work["megabytes_per_second"]
    assert set(rates) == {"easydata", "tokenizers"}
    for run in ("first", "best"):
        ratio = rates["easydata"][run] / rates["tokenizers"][run]
        assert work["ratio"]["tokenizers"][run] == pytest.approx(ratio)
    assert found["work"]["file to batches"]["megabytes_per_second"]["easydata"]["best"] > 0
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "ids equal to those of tokenizers" in out
    assert "best pass" in out
    assert main([*command, "--content-field", "txt"]) == 1
    assert 'did you mean "text"' in capsys.readouterr().err
    assert main([*command, "--against", "dataset"]) == 2
    assert "not 'dataset'; did you mean \"datasets\"" in capsys.readouterr().err


def test_bench_against_datasets(
    folder: Path, gpt2: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("datasets")
    jsonl("a.jsonl", [{"text": "x" * n} for n in range(1500)])
    assert main(["bench", gpt2, "a.jsonl", "--against", "tokenizers, datasets", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ids_equal"] == ["tokenizers", "datasets"]
    work = found["work"]["file to Arrow"]
    assert set(work["megabytes_per_second"]) == {"easydata", "datasets"}
    assert set(work["ratio"]["datasets"]) == {"first", "best"}


def test_bench_tells_no_rate_where_ids_differ(
    folder: Path, gpt2: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import tokenizers

    jsonl("a.jsonl", [{"text": "one"}, {"text": "two"}])
    other = tokenizers.Tokenizer(tokenizers.models.WordLevel({"one": 0, "two": 1}, "one"))
    monkeypatch.setattr(tokenizers, "Tokenizer", SimpleNamespace(from_str=lambda text: other))
    assert main(["bench", gpt2, "a.jsonl"]) == 1
    said = capsys.readouterr()
    assert "the ids of document 0 are not those that tokenizers gives" in said.err
    assert "MB/s" not in said.out


def numbers(path: str, rows: int, group: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"n": list(range(rows)), "text": ["word"] * rows})
    pq.write_table(table, path, row_group_size=group)


def test_stats(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers("a.parquet", 1000, 300)
    numbers("b.parquet", 500, 300)
    jsonl("c.jsonl", [{"text": "one"}, {"text": "two"}])
    assert main(["stats", "a.parquet", "b.parquet", "--json"]) == 0
    size = sum(Path(name).stat().st_size for name in ("a.parquet", "b.parquet"))
    found = json.loads(capsys.readouterr().out)["datasets"]
    assert found == {"dataset_0": {"shards": 2, "blocks": 6, "rows": 1500, "bytes": size}}
    Path("p.yaml").write_text(
        "datasets:\n- {data_files: a.parquet, name: numbers}\n"
        "- {data_files: c.jsonl, name: lines}\n"
    )
    assert main(["stats", "--config", "p.yaml"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["numbers", "1", "4", "1,000", f"{Path('a.parquet').stat().st_size:,}"] in lines
    assert ["lines", "1", "1", "2", "32"] in lines


def test_stats_of_a_shuffle(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers("a.parquet", 20_000, 100)

    def measured(*flags: str) -> Any:
        assert main(["stats", *flags, "--shuffle", "--json"]) == 0
        return json.loads(capsys.readouterr().out)["datasets"]["dataset_0"]["shuffle"]

    found = measured("a.parquet", "--shuffle-mode", "blocks")
    assert (found["rows"], found["blocks"], found["batch_rows"]) == (20_000, 200, 1024)
    assert found["content_bytes_of_a_row"] == 8 + 4
    names = [setting["name"] for setting in found["settings"]]
    assert names == ["blocks", "rows 64 MB", "grain"]
    blocks, rows, grain = found["settings"]
    assert blocks["quality"]["neighbour_correlation"] > 0.9
    assert abs(rows["quality"]["worst_correlation"]) < 0.05
    assert rows["setting"] == {"mode": "rows", "window_bytes": None, "buffer_rows": None}
    assert rows["cost"]["memory"] == 20_000 * 12
    for setting in (blocks, rows, grain):
        assert setting["cost"]["passes"] == pytest.approx(1)
    assert abs(found["ideal"]["worst_correlation"]) < 0.05
    assert found["advice"].startswith('shuffle="rows" would be as good as random')
    # What the pipeline reads for tokenizing is what windows hold.
    only_text = measured("a.parquet", "--tokenizer", "some/folder")
    assert only_text["content_bytes_of_a_row"] == 4
    # The options of a config count, and flags over them.
    Path("p.yaml").write_text(
        "datasets: [{data_files: a.parquet, shuffle: rows, num_rows: 50}]\n"
        "load: {batch_size: 64, shuffle_buffer_size: 500}\n"
    )
    found = measured("--config", "p.yaml")
    assert found["batch_rows"] == 64
    assert found["settings"][0]["name"] == "rows 64 MB, buffer 500"
    assert "nothing better is needed" in found["advice"]
    assert "num_rows" in found["notes"][0]
    found = measured("--config", "p.yaml", "--batch-size", "32", "--shuffle-buffer-size", "100")
    assert found["batch_rows"] == 32
    assert found["settings"][0]["setting"]["buffer_rows"] == 100
    found = measured("--config", "p.yaml", "--shuffle-window-bytes", "32KB")
    assert found["settings"][0]["setting"]["window_bytes"] == 2**15
    assert found["settings"][0]["cost"]["memory"] < 20_000 * 12


def test_stats_of_a_shuffle_for_people(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    numbers("a.parquet", 20_000, 100)
    assert main(["stats", "a.parquet", "--shuffle"]) == 0
    out = capsys.readouterr().out
    assert "the order of rows, in batches of 1,024 rows" in out
    lines = [line.split() for line in out.splitlines()]
    (as_it_is,) = (line[3:] for line in lines if line[:3] == ["as", "it", "is"])
    assert as_it_is[:3] == ["1.00", "1.00", "1"]
    assert as_it_is[4:] == ["0", "1", "1×", "0"]
    (ideal,) = (line for line in lines if line[:1] == ["ideal"])
    assert ideal[3] == "1,024"
    assert 'shuffle="rows" would be as good as random' in out


def big_corpus(path: str, documents: int = 400) -> None:
    text = " ".join(f"word{i}" for i in range(20000))
    jsonl(path, [{"text": f"{i} {text}"} for i in range(documents)])


@pytest.mark.alone
def test_interrupting_ends_soon_and_running_again_finishes(folder: Path, gpt2: str) -> None:
    big_corpus("a.jsonl", documents=80)
    # A regex that is left to the library, which takes its time: there is something to interrupt.
    file = json.loads(Path(gpt2, "tokenizer.json").read_text())
    split = {"type": "Split", "pattern": {"Regex": r"(?<word>\S+)|\s+"}, "behavior": "Isolated"}
    byte_level = {**file["pre_tokenizer"], "use_regex": False}
    file["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [{**split, "invert": False}, byte_level],
    }
    Path("tokenizer.json").write_text(json.dumps(file))
    assert easydata.Tokenizer("tokenizer.json").engine == "huggingface"
    command = ["tokenize", "a.jsonl", "--tokenizer", "tokenizer.json", "--output-dir", "out"]
    command += ["--max-length", "1000000"]
    process = run(*command)
    deadline = time.monotonic() + 60
    while not Path("out").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert time.monotonic() - begin < 5, "soon, on a machine that is busy with other tests"
    assert "interrupted" in err
    assert "Traceback" not in err
    assert not Path("out/.metadata.json").exists()
    assert main(command) == 0
    assert len(list(easydata.ParquetShardedSource("out"))) == 80


@pytest.mark.alone
def test_a_check_of_a_large_file_ends_soon(folder: Path) -> None:
    jsonl("a.jsonl", [{"n": 1}])
    easydata.save_dataset(easydata.JsonShardedSource("a.jsonl"), "out", "jsonl")
    (shard,) = Path("out").glob("shard-*")
    size = 1 << 40  # a hole, which takes minutes to read
    os.truncate(shard, size)
    metadata = Path("out/.metadata.json")
    written = json.loads(metadata.read_text())
    (record,) = written["shards"]
    record["bytes"] = size
    metadata.write_text(json.dumps(written))
    process = run("verify", "out")
    time.sleep(2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert time.monotonic() - begin < 5


def run_on_terminal(*command: str) -> tuple[str, str]:
    """What a command prints where standard error is a terminal: to it, and to standard output."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (40, 120))
    process = subprocess.Popen(
        [sys.executable, "-m", "easydata.cli", *command],
        stdout=subprocess.PIPE,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(follower)
    said = b""
    while select.select([leader], [], [], 60)[0]:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(leader)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    return said.decode(errors="replace"), out.decode()


def test_progress_on_a_terminal(folder: Path, gpt2: str) -> None:
    big_corpus("a.jsonl")
    command = ["tokenize", "a.jsonl", "--tokenizer", gpt2, "--output-dir", "out"]
    text, out = run_on_terminal(*command, "--max-length", "100000")
    assert "tokens/s" in text
    assert "rows/s" in text
    assert "ETA" in text
    assert "400 rows" in out


@pytest.mark.parametrize(
    ("options", "drawn"),
    [
        ({"progress_type": "none"}, None),
        ({"progress_enabled": False}, None),
        ({"progress_type": "tqdm"}, "dataset_0: |"),
        ({}, "ETA"),
    ],
)
def test_a_config_says_what_shows_progress(
    options: dict[str, Any], drawn: str | None, folder: Path
) -> None:
    jsonl("a.jsonl", [{"text": "one"}])
    config = {"datasets": [{"data_files": "a.jsonl"}], "observability": options}
    Path("c.json").write_text(json.dumps(config))
    shown, _ = run_on_terminal("convert", "--config", "c.json", "--output-dir", "out")
    assert (drawn in shown) if drawn else not shown


def test_a_second_config_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["convert"], ["inspect", "--mask"]):
        assert main([*command, "--config", "a.json", "--config", "b.json"]) == 2
        assert "--config is given 2 times: a.json, b.json; give one" in capsys.readouterr().err


def test_a_tokenizer_flag_keeps_the_options_of_the_config(folder: Path, gpt2: str) -> None:
    text = "one two three four five six"
    jsonl("a.jsonl", [{"text": text}])
    named = {"name_or_path": "elsewhere", "max_length": 3}
    configs: list[dict[str, Any]] = [
        {"datasets": [{"data_files": "a.jsonl", "tokenizer": named}]},
        {"datasets": [{"data_files": "a.jsonl"}], "tokenize": {"default_tokenizer": named}},
        {"datasets": [{"data_files": "a.jsonl"}], "default_tokenizer": named},
    ]
    for number, config in enumerate(configs):
        Path("c.json").write_text(json.dumps(config))
        flags = ["--config", "c.json", "--tokenizer", gpt2, "--output-dir", f"out{number}"]
        assert main(["tokenize", *flags]) == 0
        (row,) = easydata.ParquetShardedSource(f"out{number}")
        assert row["input_ids"] == ids(gpt2, text)[0][:3]


def test_importing_the_package_does_not_import_the_command_line() -> None:
    code = (
        "import sys, easydata, easydata.cli; print('typer' in sys.modules, 'rich' in sys.modules)"
    )
    assert run_python("-c", code).stdout.strip() == "False False"
