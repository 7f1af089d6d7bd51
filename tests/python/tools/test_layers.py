"""The layer check finds what it is for."""

import subprocess
from pathlib import Path

import pytest
from programs import run_python

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "script" / "check_layers.py"


def run(root: Path) -> subprocess.CompletedProcess[str]:
    return run_python(SCRIPT, root, status=None)


@pytest.mark.parametrize(
    ("file", "include", "complaint"),
    [
        ("stream/a.h", '"easydata/source/jsonl.h"', "'source' stands above 'stream'"),
        ("transform/a.cc", '"easydata/pack/pack_stage.h"', "neighbour"),
        ("files/a.cc", '"easydata/stream/batch.h"', "'stream' stands above 'files'"),
        ("files/a.cc", '"easydata/http/http_client.h"', "'http' stands above 'files'"),
        ("http/a.cc", '"easydata/stores/object_store.h"', "'stores' stands above 'http'"),
        ("stores/a.h", '"easydata/stores/s3/s3_store.h"', "'stores/s3' stands above 'stores'"),
        ("stores/gcs/a.cc", '"easydata/stores/s3/s3_store.h"', "'stores/s3' is a neighbour"),
        ("stores/web/a.cc", '"easydata/stores/foreign/foreign_store.h"', "what is below both"),
        ("outputs/a.cc", '"easydata/stores/gcs/gcs_store.h"', "neighbour of 'outputs'"),
        ("stores/s3/a.cc", '"easydata/storage/storage.h"', "'storage' stands above 'stores/s3'"),
        ("stores/azure/a.cc", "<string>", "the module 'stores/azure' has no place"),
        ("source/a.cc", '"easydata/http/url.h"', "'http' is for the stores and storage"),
        ("stream/a.cc", '"easydata/stores/s3/s3_store.h"', "others use files, outputs, storage"),
        ("sink/a_test.cc", '"easydata/stores/object_store.h"', "and stores/foreign"),
        ("config/a.cc", '"easydata/exec/thread_pool.h"', "neighbour"),
        ("loader/a.cc", "<Python.h>", "knows nothing of Python"),
        ("mix/a.cc", "<nanobind/nanobind.h>", "knows nothing of Python"),
        ("pack/a.cc", "<parquet/arrow/reader.h>", "know Parquet"),
        ("base/a.cc", '"easydata/Utils/x.h"', "no module 'Utils'"),
        ("helpers/a.cc", "<string>", "has no place"),
        ("source/a.cc", '"tokenizers/tokenizer.h"', "only transform, trainer and plan"),
        ("source/a.cc", "<fcntl.h>", "only base, files and outputs call the system about files"),
        ("sink/a.cc", "<sys/stat.h>", "use files/file_system.h"),
        ("verify/a.h", "<filesystem>", "call the system about files"),
        ("stores/s3/a.cc", "<sys/stat.h>", "call the system about files"),
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


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("sink/a.cc", "const auto json = nlohmann::json::parse(text);", "json/bounded_json.h"),
        ("stores/s3/a.cc", "return arrow::internal::IOErrorFromErrno(5, x);", "server_error.h"),
        ("sink/a.cc", "return arrow::internal::IOErrorFromErrno(5, x);", None),
        ("sink/a_test.cc", "const auto json = nlohmann::json::parse(text);", None),
        ("json/bounded_json.cc", "auto value = nlohmann::json::parse(text);", None),
        ("mix/a.cc", "  std::thread([this] { Run(); }).detach();", "exec/start_thread.h"),
        ("mix/a.cc", "auto all = std::async(std::launch::async, f);", "exec/start_thread.h"),
        ("mix/a.cc", "  std::thread thread(f);", "exec/start_thread.h"),
        ("mix/a.h", "  std::thread thread_;", None),
        ("exec/start_thread.h", "  return std::thread(f);", None),
    ],
)
def test_what_one_file_is_for_is_done_there(
    tmp_path: Path, file: str, line: str, complaint: str | None
) -> None:
    path = tmp_path / "src" / "easydata" / file
    path.parent.mkdir(parents=True)
    path.write_text(line + "\n")
    result = run(tmp_path)
    assert result.returncode == (complaint is not None)
    assert (complaint or "") in result.stdout


def test_namespaces_are_those_of_modules(tmp_path: Path) -> None:
    path = tmp_path / "src" / "easydata" / "mix" / "a.cc"
    path.parent.mkdir(parents=True)
    path.write_text("namespace easydata::exec {\nclass ThreadPool;\n}\nnamespace easydata::mix {\n")
    assert run(tmp_path).returncode == 0
    path.write_text("namespace easydata {\n")
    result = run(tmp_path)
    assert result.returncode == 1
    assert "mix/a.cc:1: the names of this module belong into easydata::mix" in result.stdout


def test_tokenizers_know_two_modules(tmp_path: Path) -> None:
    path = tmp_path / "src" / "tokenizers" / "model" / "a.cc"
    path.parent.mkdir(parents=True)
    allowed = ("tokenizers/utf8.h", "easydata/base/status.h", "easydata/exec/parallel_for.h")
    path.write_text("".join(f'#include "{header}"\n' for header in allowed))
    assert run(tmp_path).returncode == 0
    path.write_text('#include "easydata/config/problem.h"\n')
    result = run(tmp_path)
    assert result.returncode == 1
    assert "src/tokenizers/model/a.cc:1" in result.stdout
    assert "use base and exec alone" in result.stdout


def test_lower_modules_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "src" / "easydata" / "sink" / "a.cc"
    path.parent.mkdir(parents=True)
    path.write_text(
        '#include <parquet/arrow/writer.h>\n#include "easydata/stream/batch.h"\n'
        '#include "easydata/sink/a.h"\n#include "easydata/base/status.h"\n'
    )
    assert run(tmp_path).returncode == 0


def test_modules_within_a_folder_have_namespaces_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "src" / "easydata" / "stores" / "s3" / "a.cc"
    path.parent.mkdir(parents=True)
    path.write_text(
        '#include "easydata/stores/object_store.h"\n'
        '#include "easydata/stores/credentials/aws_signature.h"\n'
        "namespace easydata::s3 {\n"
    )
    assert run(tmp_path).returncode == 0
    path.write_text("namespace easydata::stores {\n")
    result = run(tmp_path)
    assert result.returncode == 1
    assert "the names of this module belong into easydata::s3" in result.stdout


def test_operators_know_nothing_of_what_binds_them(tmp_path: Path) -> None:
    for name in ("bindings/bind_a.h", "operators/a.h", "operators/b.cc"):
        path = tmp_path / "python" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('#include "operators/a.h"\n')
    assert run(tmp_path).returncode == 0
    path.write_text('#include "bind_a.h"\n')
    result = run(tmp_path)
    assert result.returncode == 1
    assert "python/operators/b.cc:1: 'bind_a.h': python/bindings binds operators" in result.stdout


@pytest.mark.parametrize("folder", ["python/bindings", "python/operators", "tests/cpp"])
def test_all_others_use_four_of_the_modules_that_reach_files(tmp_path: Path, folder: str) -> None:
    path = tmp_path / folder / "a.cc"
    path.parent.mkdir(parents=True)
    faces = ("files/a.h", "outputs/a.h", "storage/a.h", "stores/foreign/a.h")
    path.write_text("".join(f'#include "easydata/{header}"\n' for header in faces))
    assert run(tmp_path).returncode == 0
    path.write_text('#include "easydata/stores/web/web_store.h"\n')
    result = run(tmp_path)
    assert result.returncode == 1
    assert f"{folder}/a.cc:1: 'easydata/stores/web/web_store.h'" in result.stdout
    assert "others use files, outputs, storage and stores/foreign" in result.stdout


def test_files_are_the_business_of_few_modules_and_of_tests(tmp_path: Path) -> None:
    for file in ("files/a.cc", "outputs/a.cc", "source/a_test.cc", "sink/plan_inputs.cc"):
        path = tmp_path / "src" / "easydata" / file
        path.parent.mkdir(parents=True)
        path.write_text("#include <filesystem>\n")
    assert run(tmp_path).returncode == 0


def test_this_repository_keeps_the_rules() -> None:
    result = run(ROOT)
    assert result.returncode == 0, result.stdout


def package(root: Path, files: dict[str, str]) -> Path:
    """A tree with these modules in python/easydata, and the faces above them."""
    top = root / "python" / "easydata"
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for folder in path.relative_to(top).parents:
            (top / folder / "__init__.py").touch()
    return root


@pytest.mark.parametrize(
    ("file", "statement", "complaint"),
    [
        ("core/a.py", "from easydata.sources.base import Source", "'sources' stands above 'core'"),
        ("sources/a.py", "import easydata.execution.b", "'execution' stands above 'sources'"),
        ("core/a.py", "from easydata.tokenizers.b import T", "neighbour of 'core'"),
        ("legacy/a.py", "from easydata import utils", "neighbour of 'legacy'"),
        ("execution/a.py", "from easydata.sources import Source", "is a face"),
        ("execution/a.py", "import easydata", "is a face"),
        ("sources/a.py", "from . import Source", "is a face"),
        ("sources/a.py", "from ..execution import b", "'execution' stands above 'sources'"),
        ("sources/a.py", "from easydata.nowhere import x", "no module 'easydata.nowhere'"),
        ("helpers/a.py", "import os", "has no place"),
        (
            "sources/a.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
            "    from easydata.execution.b import Loader",
            "'execution' stands above 'sources'",
        ),
        (
            "core/a.py",
            "def late():\n    from easydata.sources.base import Source",
            "'sources' stands above 'core'",
        ),
        (
            "sources/a.py",
            "def late():\n    from easydata.sources.base import Source",
            "at the top of the file",
        ),
    ],
)
def test_broken_rule_of_python_is_named(
    tmp_path: Path, file: str, statement: str, complaint: str
) -> None:
    others = {
        "sources/base.py": "Source = object\n",
        "execution/b.py": "Loader = object\n",
        "tokenizers/b.py": "T = object\n",
        "utils.py": "",
    }
    result = run(package(tmp_path, {**others, file: f"{statement}\n"}))
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"python/easydata/{file}")
    assert complaint in lines[0]
    assert len(lines) == 2  # and nothing else


@pytest.mark.parametrize(
    "way_back",
    [
        "from easydata.sources.a import A\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
        "    from easydata.sources.a import A\n",
        "def late():\n    # lazy: it takes long\n    from easydata.sources.a import A\n",
    ],
)
def test_planted_circle_is_found(tmp_path: Path, way_back: str) -> None:
    modules = {
        "sources/a.py": "from easydata.sources import b\n",
        "sources/b.py": "from easydata.core.x import X\nfrom easydata.sources.c import C\n",
        "sources/c.py": way_back,
        "sources/d.py": "from easydata.sources.a import A\n",
        "core/x.py": "X = 1\n",
    }
    result = run(package(tmp_path, modules))
    assert result.returncode == 1
    assert result.stdout.splitlines()[0] == (
        "modules import each other in a circle: "
        "easydata.sources.a → easydata.sources.b → easydata.sources.c → easydata.sources.a"
    )
    assert len(result.stdout.splitlines()) == 2

    (tmp_path / "python/easydata/sources/c.py").write_text("C = 1\n")
    assert run(tmp_path).returncode == 0


def test_two_circles_are_two(tmp_path: Path) -> None:
    modules = {
        "core/a.py": "import easydata.core.b\n",
        "core/b.py": "import easydata.core.a\n",
        "sources/c.py": "from easydata.core import a\nfrom easydata.sources import d\n",
        "sources/d.py": "from easydata.sources import c\n",
    }
    result = run(package(tmp_path, modules))
    assert [line for line in result.stdout.splitlines() if "circle" in line] == [
        "modules import each other in a circle: "
        "easydata.core.a → easydata.core.b → easydata.core.a",
        "modules import each other in a circle: "
        "easydata.sources.c → easydata.sources.d → easydata.sources.c",
    ]


def test_lower_floors_and_lazy_imports_with_a_reason_are_fine(tmp_path: Path) -> None:
    modules = {
        "core/a.py": "from easydata import _native\n",
        "sources/b.py": "from easydata.core.a import A\nfrom easydata.sources import c\n",
        "sources/c.py": "",
        "cli/d.py": "def late():\n    # lazy: numpy takes long\n"
        "    from easydata.sources.b import B\n    from easydata.sources.c import C\n",
    }
    result = run(package(tmp_path, modules))
    assert result.returncode == 0, result.stdout
