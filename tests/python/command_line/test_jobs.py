"""What jobs say before they begin (`--dry-run`), at their end, and when they are run again."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from easydata.cli import main
from small_data import encode, jsonl

import easydata

TEXTS = [f"some words of row {n}" + " and more" * (n % 7) for n in range(60)]


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main([*arguments]) == status
    return capsys.readouterr().out


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "--json"))


@pytest.fixture
def data(folder: Path) -> Path:
    jsonl("a.jsonl", [{"text": text} for text in TEXTS])
    return folder


def files_here() -> set[str]:
    return {str(path) for path in Path().rglob("*")}


def test_a_dry_run_tells_what_the_job_then_does(
    data: Path, gpt2: str, capsys: pytest.CaptureFixture[str]
) -> None:
    jsonl("b.jsonl", [{"text": text} for text in TEXTS[:9]])
    command = ["pack", "a.jsonl", "b.jsonl", "--tokenizer", gpt2, "--seq-length", "16", "-o", "out"]
    before = files_here()
    plan = told(capsys, *command, "--dry-run")
    assert files_here() == before
    tokens = sum(map(len, encode(gpt2, *TEXTS, *TEXTS[:9])))
    found = plan["datasets"]["dataset_0"]
    assert (found["files"], found["rows"], found["tokens"]) == (2, 69, tokens)
    assert found["bytes"] == sum(Path(name).stat().st_size for name in ("a.jsonl", "b.jsonl"))
    assert (found["rows_plus_minus"], found["tokens_plus_minus"]) == (0, 0)
    output = plan["outputs"]["dataset_0"]
    assert (output["folder"], output["state"], output["format"]) == ("out", "new", "parquet")
    done = told(capsys, *command)["datasets"]["dataset_0"]
    assert done["rows"] == output["rows_about"]
    assert told(capsys, *command, "--dry-run")["outputs"]["dataset_0"]["state"] == (
        "is finished and kept"
    )
    other = [*command[:-4], "--seq-length", "8", "-o", "out"]
    plan = said(capsys, *other, "--dry-run")
    assert "parquet in out (holds another output: give --overwrite), about" in plan
    assert "nothing was written" in plan
    limited = told(capsys, *command, "--num-rows", "10", "--dry-run")["datasets"]["dataset_0"]
    assert limited["rows"] == 10


def test_a_dry_run_checks_what_the_job_checks(
    data: Path, gpt2: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "tokenize", "a.jsonl", "--tokenizer", gpt2, "--dry-run", "--field", "x", status=1)
    assert main(["convert", "a.jsonl", "-f", "array_record", "--encode", "x", "--dry-run"]) == 2
    capsys.readouterr()
    Path("bad.jsonl").write_text('{"text": "one"}\n{"text": \n')
    bad = ["--on-error", "quarantine", "--quarantine-path", "q.jsonl", "--cache-path", "kept"]
    said(capsys, "tokenize", "bad.jsonl", "--tokenizer", gpt2, *bad, "--dry-run")
    assert not Path("q.jsonl").exists()
    assert not Path("kept").exists()


def test_a_sample_of_much_holds_what_it_says(
    folder: Path, gpt2: str, capsys: pytest.CaptureFixture[str]
) -> None:
    draw = random.Random(3)
    many = [{"text": "word " * draw.randrange(1, 400)} for _ in range(36_000)]
    jsonl("big.jsonl", many)
    plan = told(capsys, "convert", "big.jsonl", "-o", "out", "--dry-run")
    found = plan["datasets"]["dataset_0"]
    assert 0 < found["rows_plus_minus"] < 1500
    assert abs(found["rows"] - len(many)) <= 2 * found["rows_plus_minus"]
    assert "±" in said(capsys, "convert", "big.jsonl", "-o", "out", "--dry-run")
    # Another command says the same of it: the last block of a file is smaller than the others.
    (counted,) = told(capsys, "stats", "big.jsonl")["datasets"].values()
    for what in ("rows", "rows_plus_minus"):
        assert counted[what] == found[what]


def test_a_summary_has_a_line_a_dataset_and_exact_counts(
    data: Path, gpt2: str, capsys: pytest.CaptureFixture[str]
) -> None:
    jsonl("b.jsonl", [{"text": f"x {n}"} for n in range(1234)])
    config = {
        "datasets": [{"data_files": f"{name}.jsonl", "name": name} for name in "ab"],
        "default_tokenizer": gpt2,
        "save": {"output_dir": "out", "num_shards": 3},
    }
    Path("c.json").write_text(json.dumps(config))
    lines = said(capsys, "tokenize", "--config", "c.json").splitlines()
    tokens = [sum(map(len, encode(gpt2, *texts))) for texts in (TEXTS, _texts_of("b.jsonl"))]
    assert lines[0].startswith(f"a: 60 rows, {tokens[0]:,} tokens, 3 shards, ")
    assert lines[0].endswith(", in out/a")
    assert lines[1].startswith(f"b: 1,234 rows, {tokens[1]:,} tokens, 3 shards, ")
    assert len(lines) == 3
    found = told(capsys, "tokenize", "--config", "c.json", "--overwrite")
    assert [found["datasets"][name]["tokens"] for name in "ab"] == tokens
    assert found["datasets"]["b"]["folder"] == "out/b"
    assert found["datasets"]["b"]["dropped"] == {}
    assert found["seconds"] > 0


def _texts_of(path: str) -> list[str]:
    return [json.loads(line)["text"] for line in Path(path).read_text().splitlines()]


def test_a_finished_job_that_is_run_again_keeps_what_is_there(
    data: Path, gpt2: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["tokenize", "a.jsonl", "--tokenizer", gpt2, "-o", "out"]
    first = told(capsys, *command)["datasets"]["dataset_0"]
    times = {path: path.stat().st_mtime_ns for path in Path("out").rglob("*") if path.is_file()}
    again = told(capsys, *command)["datasets"]["dataset_0"]
    assert again == {**first, "kept_shards": 1}
    assert {path: path.stat().st_mtime_ns for path in times} == times
    # Another job is not kept for it, nor from Python, where it says so.
    assert main([*command, "--max-length", "3"]) == 1
    assert "give --overwrite to replace it" in capsys.readouterr().err
    jsonl("a.jsonl", [{"text": "other"}])
    assert main(command) == 1


def test_tokens_are_counted_by_source_where_all_shards_say_them(
    data: Path, gpt2: str, capsys: pytest.CaptureFixture[str]
) -> None:
    jsonl("b.jsonl", [{"text": text} for text in TEXTS[:30]])
    config = {
        "datasets": [{"data_files": f"{name}.jsonl", "name": name} for name in "ab"],
        "default_tokenizer": gpt2,
        "mix": {"weights": {"a": 0.7, "b": 0.3}, "stop_strategy": "first_exhausted"},
        "pack": {"seq_length": 16},
        "save": {"output_dir": "out", "num_shards": 3},
    }
    Path("c.json").write_text(json.dumps(config))
    found = told(capsys, "pack", "--config", "c.json")["datasets"]["mixed"]
    tokens = found["source_tokens"]
    assert list(tokens) == ["a", "b"]
    assert sum(tokens.values()) == found["tokens"]
    (line,) = (
        line
        for line in said(capsys, "pack", "--config", "c.json").splitlines()
        if "by source" in line
    )
    share = 100 * tokens["a"] / found["tokens"]
    assert line.startswith(f"  tokens by source: a {tokens['a']:,} ({share:.1f} %), b ")
    # As an older version wrote them.
    path = Path("out/.metadata.json")
    metadata = json.loads(path.read_text())
    del metadata["shards"][0]["source_tokens"]
    path.write_text(json.dumps(metadata))
    assert told(capsys, "pack", "--config", "c.json")["datasets"]["mixed"]["source_tokens"] == {}


def test_rows_put_aside_are_there_once(
    folder: Path, gpt2: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("a.jsonl").write_bytes(b'{"text": "one"}\n{"text": \n{"text": "\xff"}\n')
    command = ["tokenize", "a.jsonl", "--tokenizer", gpt2, "-o", "out"]
    command += ["--on-error", "quarantine", "--quarantine-path", "bad.jsonl"]
    for more in ([], [], ["--overwrite"]):
        said(capsys, *command, *more)
        assert len(Path("bad.jsonl").read_text().splitlines()) == 2


def test_metadata_say_what_ran(data: Path, gpt2: str) -> None:
    config = {
        "datasets": [{"data_files": "a.jsonl"}],
        "default_tokenizer": gpt2,
        "pack": {"seq_length": 8, "enabled": False},
        "save": {"output_dir": "out"},
    }
    for command, is_packed in (("pack", True), ("tokenize", False)):
        config["save"] = {"output_dir": command}
        Path("c.json").write_text(json.dumps(config))
        assert main([command, "--config", "c.json"]) == 0
        written = json.loads(Path(command, ".metadata.json").read_text())["config"]
        assert written["pack"].get("enabled", False) is is_packed
        assert written["save"]["enabled"] is True


@pytest.mark.parametrize("variable", ["$OUT", "${OUT}"])
def test_variables_of_the_shell_are_no_folders(
    data: Path, variable: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("c.yaml").write_text(
        f"datasets: [{{data_files: a.jsonl}}]\nsave: {{output_dir: '{variable}/x'}}\n"
    )
    assert main(["convert", "--config", "c.yaml"]) == 2
    assert f"holds {variable}, which no shell has put in here" in capsys.readouterr().err
    assert not list(Path().glob("$*"))
    Path("c.yaml").write_text("datasets: [{data_files: a.jsonl}]\nsave: {output_dir: 'cost$5'}\n")
    assert main(["convert", "--config", "c.yaml"]) == 0


def test_a_view_that_was_chosen_is_not_told_again(
    data: Path, gpt2: str, caplog: pytest.LogCaptureFixture
) -> None:
    for folder, options in (("one", {}), ("two", {"view": "json"})):
        made = Path(folder)
        made.mkdir()
        (made / "tokenizer.json").write_bytes(Path(gpt2, "tokenizer.json").read_bytes())
        settings = {"tokenizer_class": "PreTrainedTokenizerFast", "split_special_tokens": True}
        (made / "tokenizer_config.json").write_text(json.dumps(settings))
        caplog.clear()
        dataset = easydata.DatasetConfig("a.jsonl", tokenizer=folder, **options)
        pipeline = easydata.Pipeline(easydata.PipelineConfig([dataset]))
        list(pipeline.source().tokenize().build())
        notices = [text for text in caplog.messages if "AutoTokenizer would make" in text]
        assert len(notices) == (1 if folder == "one" else 0)
        assert all('view="json" says that the file is meant' in text for text in notices)
