"""What cannot be pushed is told before anything is written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from easydata.core.config import ConfigError
from hub_server import HubServer, Rule
from programs import run_python
from pushed import REPO, history, rows, save, writer

import easydata
from easydata import DatasetConfig, PipelineConfig, SaveStageConfig

pytest.importorskip("huggingface_hub")

Prepare = Callable[[HubServer], str]


def of_reader(hub: HubServer) -> str:
    return hub.token("ann", "read", orgs=["org"])


def of_stranger(hub: HubServer) -> str:
    return hub.token("bob", "write")


def unknown(hub: HubServer) -> str:
    return "hf_unknown"


def with_files(files: dict[str, str], **options: Any) -> Prepare:
    def prepare(hub: HubServer) -> str:
        hub.repo("datasets", REPO, {k: v.encode() for k, v in files.items()}, **options)
        return writer(hub)

    return prepare


def card(*configs: str) -> str:
    return "---\nconfigs:\n" + "".join(f"- {each}\n" for each in configs) + "---\n"


CSV = "{config_name: tables, data_files: t/*.csv}"
BY_FOLDER = "{config_name: tables, data_files: [{split: train, path: 'tables/**'}]}"
CASES: dict[str, tuple[Prepare, type[Exception], str]] = {
    "no token": (lambda hub: "", PermissionError, "no token to push with; set hub_token"),
    "unknown token": (unknown, PermissionError, "the token is not valid: set hub_token"),
    "reader": (of_reader, PermissionError, "the token may only read there; make one that may"),
    "stranger": (of_stranger, PermissionError, "of 'bob', who is no member of 'org'"),
    "other format": (
        with_files({"README.md": card(CSV), "t/a.csv": "a\n1\n"}),
        ConfigError,
        "its config 'tables' is csv, and these are parquet; write them as that",
    ),
    "other format by files": (
        with_files({"README.md": card(BY_FOLDER), "tables/deep/a.jsonl": "{}\n"}),
        ConfigError,
        "its config 'tables' is json, and these are parquet",
    ),
    "config of a user": (
        with_files({"README.md": card("{config_name: default, data_files: '*.parquet'}")}),
        ConfigError,
        "its card has a config 'default' that EasyData did not push",
    ),
    "two default ones": (
        with_files(
            {"README.md": card("{config_name: en, data_files: e/*.parquet, default: true}")}
        ),
        ConfigError,
        "'en' is marked as the default one, which 'default' would be, too",
    ),
    "script": (
        with_files({"rows.py": "import datasets\n"}),
        ConfigError,
        "it has a loading script, rows.py",
    ),
    "file in the way": (
        with_files({"default/shard-00007.parquet": "PAR1"}),
        ConfigError,
        "default/shard-00007.parquet in it is not of a push of EasyData",
    ),
    "metadata of a user": (
        with_files({"_metadata.json": "{}"}),
        ValueError,
        "_metadata.json in it is not one that EasyData pushed",
    ),
    "metadata of tomorrow": (
        with_files({"_metadata.json": '{"kind": "easydata.push", "version": 2}'}),
        ValueError,
        "is of another version of EasyData (2)",
    ),
    "a card that is none": (
        with_files({"README.md": "---\nconfigs: {a: 1}\n---\n"}),
        ConfigError,
        "configs in README.md is no list of configs",
    ),
    "public": (
        with_files({}),
        ConfigError,
        "the repository is there already, and public, and hub_private is set",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_push_that_cannot_be_is_told_of_before(
    hub_here: HubServer, tmp_path: Path, case: str
) -> None:
    prepare, kind, said = CASES[case]
    token = prepare(hub_here)
    private = case == "public"
    before = history(hub_here) if hub_here.access.repositories else []
    with pytest.raises(kind, match=re.escape(said)) as error:
        save(
            rows(3),
            tmp_path / "out",
            push_to_hub=True,
            hub_repo_id=REPO,
            hub_token=token or None,
            hub_private=private,
        )
    assert REPO in str(error.value)
    assert not token or token not in str(error.value)
    assert not (tmp_path / "out").exists(), "nothing is written"
    assert not hub_here.asked("hub", "POST", "/commit/|/repos/create")
    assert before == (history(hub_here) if hub_here.access.repositories else [])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, 'hub_repo_id must name the repository, such as "org/name"'),
        ({"hub_repo_id": "rows"}, 'hub_repo_id must be "org/name", as the Hub has it, not "rows"'),
        ({"hub_repo_id": "a/b/c"}, "hub_repo_id must be"),
        ({"hub_repo_id": "https://huggingface.co/datasets/a/b"}, "hub_repo_id must be"),
        ({"hub_repo_id": "org/"}, "hub_repo_id must be"),
        ({"hub_repo_id": "org/a b"}, "hub_repo_id must be"),
        ({"hub_repo_id": REPO, "format": "array_record"}, "`datasets` does not read ArrayRecord"),
    ],
    ids=str,
)
def test_what_a_config_says_is_checked_first(
    hub_here: HubServer, tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    save_options = SaveStageConfig(output_dir=str(tmp_path / "out"), push_to_hub=True, **options)
    config = PipelineConfig([DatasetConfig("absent.jsonl")], save=save_options)
    with pytest.raises(ConfigError, match=re.escape(said)):
        easydata.Pipeline(config).source()
    if "format" not in options:
        with pytest.raises(ConfigError, match=re.escape(said)):
            save(rows(1), tmp_path / "out", push_to_hub=True, **options)
    assert not hub_here.log


def test_options_without_a_push_are_refused(tmp_path: Path) -> None:
    for options in ({"hub_repo_id": REPO}, {"hub_private": True}, {"hub_token": "hf_x"}):
        with pytest.raises(ValueError, match="set push_to_hub=True, too"):
            save(rows(1), tmp_path / "out", **options)


def test_array_records_and_two_formats_are_refused(hub_here: HubServer, tmp_path: Path) -> None:
    token = writer(hub_here)
    with pytest.raises(ConfigError, match="array_record, which `datasets` does not read"):
        save(
            [{"text": "a"}],
            tmp_path / "out",
            format="array_record",
            push_to_hub=True,
            hub_repo_id=REPO,
            hub_token=token,
        )
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "a"}) + "\n")
    config = PipelineConfig(
        [
            DatasetConfig(str(tmp_path / "a.jsonl"), name=format, save_format=format)
            for format in ("parquet", "jsonl")
        ],
        save=SaveStageConfig(
            output_dir=str(tmp_path / "out"), push_to_hub=True, hub_repo_id=REPO, hub_token=token
        ),
    )
    with pytest.raises(ConfigError, match="datasets of one repository have one format"):
        easydata.Pipeline(config).source().save()
    assert not hub_here.log
    assert not (tmp_path / "out").exists()


def test_damaged_and_foreign_outputs_are_refused(hub_here: HubServer, tmp_path: Path) -> None:
    token = writer(hub_here)
    with pytest.raises(FileNotFoundError, match="holds no finished output of EasyData"):
        easydata.push_to_hub(tmp_path / "absent", REPO, token=token)
    save(rows(3), tmp_path / "out")
    metadata = tmp_path / "out/.metadata.json"
    told = json.loads(metadata.read_text())
    told["shards"][0]["name"] = "../../secret"
    metadata.write_text(json.dumps(told))
    with pytest.raises(ValueError, match="is not the plain name of a shard"):
        easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    assert not hub_here.log
    save(rows(3), tmp_path / "other")
    shard = tmp_path / "other/shard-00000.parquet"
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"easydata verify .* says what is damaged"):
        easydata.push_to_hub(tmp_path / "other", REPO, token=token)


def test_a_metadata_file_that_names_foreign_files_deletes_none(
    hub_here: HubServer, tmp_path: Path
) -> None:
    token = writer(hub_here)
    save(rows(3), tmp_path / "out")
    shard = {"name": "../README.md", "bytes": 1, "rows": 1, "tokens": 0, "xxh3": "0" * 16}
    told = {"kind": "easydata.push", "version": 1, "configs": {"default": {"shards": [shard]}}}
    hub_here.repo("datasets", REPO, {"_metadata.json": json.dumps(told).encode()})
    with pytest.raises(ValueError, match="nothing was deleted that it names"):
        easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    assert len(history(hub_here)) == 1


def answer(role: str, *, org: str = "", scope: str = "", right: str = "repo.write") -> bytes:
    """Who the Hub says that a token is of."""
    token: dict[str, Any] = {"role": role}
    if scope:
        rights = {"entity": {"type": "org", "name": scope}, "permissions": [right]}
        token["fineGrained"] = {"scoped": [rights]}
    orgs = [{"name": "org", "roleInOrg": org}] if org else []
    who = {"type": "user", "name": "ann", "orgs": orgs, "auth": {"accessToken": token}}
    return json.dumps(who).encode()


@pytest.mark.parametrize(
    ("who", "said"),
    [
        (answer("write", org="admin"), ""),
        (answer("write", org="read"), "ask an administrator of the organization"),
        (answer("fineGrained", scope="Org"), ""),
        (answer("fineGrained", scope=REPO), ""),
        (answer("fineGrained", scope="other"), "the token may only read there"),
        (answer("fineGrained", scope="org", right="repo.content.read"), "may only read there"),
    ],
)
def test_the_rights_of_a_token(hub_here: HubServer, tmp_path: Path, who: bytes, said: str) -> None:
    save(rows(3), tmp_path / "out")
    hub_here.rules = [Rule("status", status=200, body=who, path="whoami")]
    token = writer(hub_here)
    if not said:
        easydata.push_to_hub(tmp_path / "out", REPO, token=token)
        return
    with pytest.raises(PermissionError, match=said):
        easydata.push_to_hub(tmp_path / "out", REPO, token=token)


@pytest.mark.parametrize("status", [400, 403, 404, 500])
def test_errors_of_the_hub_are_named(
    hub_here: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr("easydata.execution.push.repository._FIRST_WAIT", 0.01)
    token = writer(hub_here)
    save(rows(3), tmp_path / "out")
    hub_here.rules = [Rule("status", status=status, method="POST", path="/commit/")]
    kind = PermissionError if status == 403 else OSError
    with pytest.raises(kind, match=rf"{REPO}: committing failed: .*{status}") as error:
        easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    assert token not in str(error.value)
    asked = len(hub_here.asked("hub", "POST", "/commit/"))
    assert asked == (5 if status == 500 else 1)


def test_a_hub_that_is_not_reached_is_an_error(
    hub_here: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    save(rows(3), tmp_path / "out")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(OSError, match="HF_HUB_OFFLINE is set: unset it to push"):
        easydata.push_to_hub(tmp_path / "out", REPO, token=writer(hub_here))


def test_the_package_that_is_missing_is_named(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['huggingface_hub'] = None\n"
        "import easydata\n"
        "easydata.push_to_hub('out', 'org/rows')"
    )
    done = run_python("-c", program, status=1)
    assert "ImportError: pushing to the Hub needs huggingface_hub: pip install" in done.stderr
