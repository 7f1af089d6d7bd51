"""What flags, `--set` and `--config -` say, and how messages name them."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from easydata.cli import main
from easydata.cli.app import app
from easydata.cli.flag_words import FlagWords
from programs import environment, run_python
from small_data import jsonl

import easydata

ROWS = [{"text": f"one two {n}", "a": n, "b,c": n, "d": "x"} for n in range(20)]
CONFIG = """
datasets:
- {data_files: a.jsonl, name: web}
- {data_files: a.jsonl, name: code}
save: {output_dir: out, format: jsonl}
"""


@pytest.fixture
def data(folder: Path) -> Path:
    jsonl("a.jsonl", ROWS)
    Path("p.yaml").write_text(CONFIG)
    return folder


def rows(path: str) -> list[dict[str, Any]]:
    return list(easydata.create_source(path))


def help_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*command.split(), "-h"]) == 0
    return capsys.readouterr().out


def test_help_has_groups_and_choices(capsys: pytest.CaptureFixture[str]) -> None:
    out = help_of("pack", capsys)
    groups = re.findall(r"^(\w[^:\n]*):$", out, re.MULTILINE)
    assert groups[:3] == ["Arguments", "Command", "Data"]
    packing = out[out.index("Packing:") : out.index("Mixing")]
    assert "--seq-length NUMBER" in packing
    assert "--strategy [greedy|pool|first_fit|best_fit" in packing
    assert "--output-dir" not in packing
    assert "-o, --output-dir TEXT" in out[out.index("Output:") :]
    assert "<str>" not in out
    assert "<list" not in out
    for command in ("", "tokenize", "stats", "inspect", "verify", "cache list", "bench"):
        assert "Show this message" in help_of(command, capsys)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"easydata {easydata.__version__}\n"


def test_what_changes_nothing_is_not_offered(capsys: pytest.CaptureFixture[str]) -> None:
    out = help_of("pack", capsys)
    for flag in ("--num-workers", "--batch-size", "--tokenizer-kwargs", "--enabled"):
        assert not re.search(rf"{flag}\b", out), flag


def test_flags_of_a_mix_need_one(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", "a.jsonl", "--stop-strategy", "restart"]) == 2
    assert "--stop-strategy: there is nothing to mix" in capsys.readouterr().err


def test_short_flags_and_lists_with_commas(data: Path) -> None:
    flags = ["-f", "jsonl", "-o", "out", "--columns", "a,d", "--columns", r"b\,c"]
    assert main(["convert", "a.jsonl", *flags, "--column-types", "a=float64,d=string"]) == 0
    found = rows("out")
    assert found == [{"a": float(row["a"]), "b,c": row["b,c"], "d": "x"} for row in ROWS]
    assert isinstance(found[0]["a"], float)


def test_a_config_from_standard_input(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(CONFIG))
    assert main(["convert", "--config", "-", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["datasets"]) == {"web", "code"}
    as_json = {"datasets": [{"data_files": "a.jsonl"}], "save": {"output_dir": "o2"}}
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(as_json)))
    assert main(["convert", "--config", "-"]) == 0
    monkeypatch.setattr(sys, "stdin", io.StringIO("- a\n"))
    assert main(["convert", "--config", "-"]) == 2
    assert "standard input: must hold the options" in capsys.readouterr().err


def test_a_file_that_is_no_config_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", "--config", "a.jsonl"]) == 2
    assert "easydata: a.jsonl: is not a config file" in capsys.readouterr().err


def test_set_reaches_any_option(data: Path, gpt2: str) -> None:
    settings = {
        "default_tokenizer": gpt2,
        "default_tokenizer.max_length": "2",
        "datasets.web.num_rows": "3",
        "datasets.1.num_rows": "4",
        "datasets[1].additional_fields": "a,d",
        "datasets.web.transforms": "[{drop: [d]}, {add_field: {lang: en}}]",
        "datasets.web.transforms.0.drop": "[a]",
        "datasets.web.additional_fields": "[lang]",
        "save.output_dir": "set",
        "observability.progress_enabled": "false",
        "save.compression": "null",
    }
    flags = [part for path, value in settings.items() for part in ("--set", f"{path}={value}")]
    assert main(["tokenize", "--config", "p.yaml", "-o", "elsewhere", *flags]) == 0
    web, code = rows("set/web"), rows("set/code")
    assert (len(web), len(code)) == (3, 4)
    assert {len(row["input_ids"]) for row in web} == {2}
    assert set(web[0]) == {"input_ids", "attention_mask", "lang"}
    assert set(code[0]) == {"input_ids", "attention_mask", "a", "d"}


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("pack.seq_lenght=8", "PackStageConfig has no option 'seq_lenght'; did you mean \"seq_le"),
        ("pakc.seq_length=8", "PipelineConfig has no option 'pakc'; did you mean \"pack\""),
        ("pack.seq_length=long", 'pack.seq_length must be a whole number, not "long"'),
        ("pack.seq_length=1.5", "pack.seq_length must be a whole number, not 1.5"),
        ("datasets.wep.num_rows=8", "none is called 'wep'; did you mean \"web\""),
        ("datasets.7.num_rows=8", "there are 2 members, counted from 0"),
        ("pack.seq_length", "--set takes PATH=VALUE"),
        ("pack.seq_length.x=8", "seq_length is no options by name, but a whole number"),
        ("datasets.0.tokenizer.max_lenght=8", "TokenizerConfig has no option 'max_lenght'; did"),
        ("mix.weights={a: ", "cannot be read as YAML"),
        ("save.format=parkett", "save.format must be one of"),
    ],
)
def test_what_set_cannot_mean(
    setting: str, said: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", "--config", "p.yaml", "--set", setting]) == 2
    assert said in capsys.readouterr().err
    assert not Path("out").exists()


def test_text_stays_text(data: Path) -> None:
    """A value is read as its option's type, and not as YAML has a word without one."""
    assert main(["convert", "--config", "p.yaml", "--set", "save.shard_prefix=on"]) == 0
    assert Path("out/web/on_00000.jsonl").exists() or list(Path("out/web").glob("on_*"))


def test_messages_speak_of_flags(data: Path, gpt2: str, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str, status: int) -> str:
        assert main(list(arguments)) == status
        return capsys.readouterr().err

    assert said("convert", "a.jsonl", "-o", "out", status=0) is not None
    again = said("convert", "a.jsonl", "-o", "out", "-f", "jsonl", status=1)
    assert "--overwrite" in again
    assert "overwrite=True" not in again
    window = ["--shuffle-window-bytes", "1MB"]
    assert "--shuffle-window-bytes needs --shuffle rows" in said(
        "convert", "a.jsonl", *window, status=2
    )
    assert "--seq-length must be at least 2" in said(
        "pack", "a.jsonl", "--tokenizer", gpt2, "--seq-length", "1", status=2
    )
    # What a config file says keeps its name there.
    Path("q.yaml").write_text("datasets: [{data_files: a.jsonl}]\npack: {seq_length: 1}\n")
    assert "pack.seq_length must be at least 2" in said("pack", "--config", "q.yaml", status=2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("set overwrite=True to replace it", "give --overwrite to replace it"),
        ("set overwrite=True (--overwrite) to start", "give --overwrite to start"),
        ("set its tokenizer=, or default", "set its --tokenizer, or default"),
        ('needs shuffle="rows", which', "needs --shuffle rows, which"),
        ("needs save.overwrite=False.", "needs --no-overwrite."),
        ("max_length=512; then", "--max-length 512; then"),
        # What is no option, or a part of something else.
        ("data/split=3/a.parquet, overwrite=Truely", "data/split=3/a.parquet, overwrite=Truely"),
        ('transform={"name": "sft"}', 'transform={"name": "sft"}'),
        ("pack.seq_length is 8, data.pack.seq_length", "--seq-length is 8, data.pack.seq_length"),
    ],
)
def test_words(text: str, said: str) -> None:
    names = ("overwrite", "tokenizer", "shuffle", "max_length", "split", "transform")
    flags = {name: f"--{name.replace('_', '-')}" for name in names}
    assert FlagWords(flags, {"pack.seq_length": "--seq-length"}).said(text) == said


def test_callbacks_are_found_in_the_working_directory(data: Path) -> None:
    Path("my_rows.py").write_text(
        "def kept(row):\n    return {'n': row['a']} if row['a'] % 2 else None\n"
    )
    program = "import sys; sys.path = [p for p in sys.path if p]; from easydata.cli import main; "
    flags = ["--set", "datasets.0.format_callback=my_rows:kept", "-o", "out", "-f", "jsonl"]
    command = [sys.executable, "-c", program + "sys.exit(main())", "convert", "a.jsonl", *flags]
    subprocess.run([*command], check=True, env=environment(), capture_output=True)
    assert rows("out") == [{"n": n} for n in range(1, 20, 2)]
    several = [*command[:-4], "-o", "several", "-f", "jsonl", "--units", "5", "--processes", "2"]
    subprocess.run(several, check=True, env=environment(), capture_output=True)
    assert rows("several") == rows("out")


def test_options_of_stores_have_a_flag(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--storage-options", "endpoint_url=http://127.0.0.1:9,retries=0,key=a,secret=b"]
    assert main(["convert", "s3://bucket/a.jsonl", *options, "-o", "out"]) == 1
    assert "127.0.0.1" in capsys.readouterr().err
    assert main(["convert", "a.jsonl", *options, "-o", "s3://bucket/out"]) == 1
    assert "127.0.0.1" in capsys.readouterr().err
    assert main(["convert", "a.jsonl", *options, "-o", "out"]) == 2
    assert "--storage-options has no effect" in capsys.readouterr().err


def test_every_command_has_groups() -> None:
    assert len(app.registered_commands) >= 8
    assert all(each.cls.__name__ == "GroupedCommand" for each in app.registered_commands)


def test_help_imports_no_work() -> None:
    """What a command does is imported when it runs: --help and completion stay quick."""
    program = (
        "import sys, easydata.cli.app;"
        "print([m for m in sys.modules if m.startswith(('easydata.execution', 'pyarrow'))])"
    )
    assert run_python("-c", program).stdout == "[]\n"
