"""The layer check finds what it is for."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "script" / "check_layers.py"


def run(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SCRIPT, root], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("file", "include", "complaint"),
    [
        ("stream/a.h", '"easydata/source/jsonl.h"', "'source' stands above 'stream'"),
        ("transform/a.cc", '"easydata/tokenizer/tokenizer.h"', "neighbour"),
        ("io/a.cc", '"easydata/stream/batch.h"', "neighbour"),
        ("config/a.cc", '"easydata/exec/thread_pool.h"', "neighbour"),
        ("loader/a.cc", "<Python.h>", "knows nothing of Python"),
        ("mix/a.cc", "<nanobind/nanobind.h>", "knows nothing of Python"),
        ("pack/a.cc", "<parquet/arrow/reader.h>", "know Parquet"),
        ("base/a.cc", '"easydata/Utils/x.h"', "no room 'Utils'"),
        ("helpers/a.cc", "<string>", "has no place"),
        ("source/a.cc", "<fcntl.h>", "only base and io call the system about files"),
        ("sink/a.cc", "<sys/stat.h>", "use io/file_system.h"),
        ("verify/a.h", "<filesystem>", "call the system about files"),
    ],
)
def test_broken_rule_is_named(tmp_path: Path, file: str, include: str, complaint: str) -> None:
    path = tmp_path / "src" / "easydata" / file
    path.parent.mkdir(parents=True)
    path.write_text(f"#pragma once\n#include {include}\n")
    result = run(tmp_path)
    assert result.returncode == 1
    assert f"src/easydata/{file}" in result.stdout
    assert complaint in result.stdout


def test_lower_rooms_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "src" / "easydata" / "sink" / "a.cc"
    path.parent.mkdir(parents=True)
    path.write_text(
        '#include <parquet/arrow/writer.h>\n#include "easydata/stream/batch.h"\n'
        '#include "easydata/sink/a.h"\n#include "easydata/base/status.h"\n'
    )
    assert run(tmp_path).returncode == 0


def test_files_are_the_business_of_io_and_of_tests(tmp_path: Path) -> None:
    for file in ("io/a.cc", "source/a_test.cc", "sink/output_folder.cc"):
        path = tmp_path / "src" / "easydata" / file
        path.parent.mkdir(parents=True)
        path.write_text("#include <filesystem>\n")
    assert run(tmp_path).returncode == 0


def test_this_repository_keeps_the_rules() -> None:
    result = run(ROOT)
    assert result.returncode == 0, result.stdout
