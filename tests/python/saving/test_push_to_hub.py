"""Outputs that are pushed to the Hub: what is there in between and in the end."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

import pytest
from easydata.cli.app import run
from easydata.execution.push import hub_push
from easydata.execution.push import repository as hub_repository
from easydata.execution.push.outputs import Output
from hub_server import HubServer, Rule
from programs import environment, run_python
from pushed import (
    REPO,
    card,
    files,
    head,
    history,
    loaded,
    pushed,
    repository,
    rows,
    save,
    shards,
    texts,
    uploads,
    writer,
)
from stores import S3Store

import easydata
from easydata import DatasetConfig, PipelineConfig, SaveStageConfig

datasets = pytest.importorskip("datasets")


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_repository, "_FIRST_WAIT", 0.01)
    monkeypatch.setattr(hub_repository, "_SILENCE", 1.0)


@pytest.mark.parametrize(
    ("format", "compression"),
    [("parquet", "zstd"), ("arrow", None), ("jsonl", None), ("jsonl", "gzip")],
)
def test_datasets_reads_what_was_pushed(
    hub_here: HubServer, tmp_path: Path, format: str, compression: str | None
) -> None:
    token = writer(hub_here)
    stats = save(
        rows(40),
        tmp_path / "out",
        format=format,
        compression=compression,
        max_shard_rows=15,
        push_to_hub=True,
        hub_repo_id=REPO,
        hub_token=token,
    )
    assert stats.hub_url == f"{hub_here.endpoint}/datasets/{REPO}"
    assert [Path(path).name for path in stats.output_paths] == [
        path.removeprefix("default/") for path in shards(hub_here)
    ]
    assert loaded(token) == rows(40)
    assert list(datasets.load_dataset(REPO, split="train", streaming=True)) == rows(40)
    told, text = card(hub_here)
    ending = shards(hub_here)[0].partition(".")[2]
    files = [{"split": "train", "path": f"default/shard-*.{ending}"}]
    assert told["configs"] == [{"config_name": "default", "data_files": files}]
    assert "40 rows in 3 files" in text
    if format != "jsonl":  # as `datasets` itself writes them
        features = datasets.Dataset.from_list(rows(40)).features
        assert told["dataset_info"]["features"] == features._to_yaml_list()


def test_tokens_keep_their_types(hub_here: HubServer, tmp_path: Path) -> None:
    token = writer(hub_here)
    tokens = [{"input_ids": [1, 2, 3]}, {"input_ids": []}]
    kept = {"column_types": {"input_ids": "list<int32>"}}
    save(tokens, tmp_path / "out", **kept)
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    read = datasets.load_dataset(REPO, split="train")
    assert list(read) == tokens
    assert read.features["input_ids"] == datasets.List(datasets.Value("int32"))


def test_readers_see_the_old_rows_until_the_last_commit(
    hub_here: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_push, "FILES_A_COMMIT", 2)
    token = writer(hub_here)
    save(rows(5), tmp_path / "out", max_shard_rows=1)
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    first = history(hub_here)
    for commit in first[:-1]:  # nothing is there before all is
        with pytest.raises(FileNotFoundError):
            loaded(token, revision=commit.sha)
    save(rows(7, first=100), tmp_path / "out", max_shard_rows=1)
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    second = history(hub_here)[len(first) :]
    assert len(second) == 5, "7 files, two a commit, and the last commit"
    for commit in second[:-1]:
        assert loaded(token, revision=commit.sha) == rows(5)
    assert loaded(token) == rows(7, first=100)


def test_a_push_with_fewer_shards_leaves_none_behind(hub_here: HubServer, tmp_path: Path) -> None:
    token = writer(hub_here)
    others = {
        "notes/shard-00001.parquet": b"of somebody",
        "default/notes.txt": b"mine",
        "default/other.parquet": b"mine, too",
        ".easydata/theirs": b"who knows",
    }
    save(rows(5), tmp_path / "out", max_shard_rows=1)
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    hub_here.commit(repository(hub_here), others)
    save(rows(2), tmp_path / "out", max_shard_rows=1)
    sent = len(uploads(hub_here))
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    ours = ["default/shard-00000.parquet", "default/shard-00001.parquet"]
    assert sorted(shards(hub_here)) == sorted([*ours, *others])
    assert others.items() <= files(hub_here).items()
    assert loaded(token) == rows(2)
    assert len(uploads(hub_here)) == sent, "both were there already"


def test_what_is_there_is_not_sent_again(hub_here: HubServer, tmp_path: Path) -> None:
    token = writer(hub_here)
    save(rows(4), tmp_path / "out", max_shard_rows=1)
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    commits = len(history(hub_here))
    hub_here.log.clear()
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    assert len(history(hub_here)) == commits, "nothing has changed"
    assert not uploads(hub_here)
    save([*rows(4), *rows(1, first=9)], tmp_path / "out", max_shard_rows=1)
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    assert len(uploads(hub_here)) == 1
    assert loaded(token) == [*rows(4), *rows(1, first=9)]


def test_a_file_that_somebody_changed_is_sent_again(hub_here: HubServer, tmp_path: Path) -> None:
    token = writer(hub_here)
    save(rows(4), tmp_path / "out", max_shard_rows=2)
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    whole = files(hub_here)
    path = "default/shard-00001.parquet"
    hub_here.commit(repository(hub_here), {path: bytes(len(whole[path]))})
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    assert files(hub_here) == whole


def test_files_of_the_same_names_are_replaced(hub_here: HubServer, tmp_path: Path) -> None:
    token = writer(hub_here)
    for first in (0, 100):
        save(rows(3, first=first), tmp_path / "out")
        easydata.push_to_hub(tmp_path / "out", REPO, token=token)
        assert shards(hub_here) == ["default/shard-00000.parquet"]
        assert loaded(token) == rows(3, first=first)


def test_other_columns_and_formats_replace_the_old_ones(
    hub_here: HubServer, tmp_path: Path
) -> None:
    token = writer(hub_here)
    other = [{"score": 0.5}, {"score": 1.5}]
    for data, format in ((rows(3), "parquet"), (other, "parquet"), (rows(2), "jsonl")):
        save(data, tmp_path / "out", format=format)
        easydata.push_to_hub(tmp_path / "out", REPO, token=token)
        assert loaded(token) == data
        assert len(shards(hub_here)) == 1


CARD = """---
license: mit   # as agreed
tags:
- physics
configs:
- config_name: en
  data_files:
  - split: train
    path: en/train-*.parquet
  - split: test
    path: en/test.parquet
# of the text
language: [de, en]
dataset_info:
  config_name: en
  splits:
  - name: train
    num_bytes: 9
    num_examples: 3
  - name: test
    num_bytes: 9
    num_examples: 3
---

# Rows of ours

Some  *text*,   with a table:

| a | b |
"""


def test_the_card_of_a_user_survives(hub_here: HubServer, tmp_path: Path) -> None:
    token = writer(hub_here)
    save(rows(3), tmp_path / "old")
    data = (tmp_path / "old/shard-00000.parquet").read_bytes()
    theirs = {"en/train-0.parquet": data, "en/test.parquet": data, "README.md": CARD.encode()}
    hub_here.repo("datasets", REPO, theirs | {"image.png": b"\x89PNG"})
    for count in (4, 5):
        save(rows(count), tmp_path / "out")
        easydata.push_to_hub(tmp_path / "out", REPO, token=token)
        told, text = card(hub_here)
        old_body, old_top = CARD.split("---\n")[2], CARD.split("---\n")[1]
        assert old_body in text
        for line in old_top.splitlines():
            if "config_name" not in line and not line.startswith(" "):
                assert line in text.splitlines(), "comments and order of the YAML, too"
        assert [each["config_name"] for each in told["configs"]] == ["en", "default"]
        assert [each["config_name"] for each in told["dataset_info"]] == ["en", "default"]
        assert f"{count} rows" in text
        assert text.count("<!-- easydata: default -->") == 1
        assert theirs["en/test.parquet"] == files(hub_here)["en/test.parquet"]
        assert files(hub_here)["image.png"] == b"\x89PNG"
        assert loaded(token, "default") == rows(count)
        assert list(datasets.load_dataset(REPO, "en", split="test", token=token)) == rows(3)
    # What the user writes about our config stays, too.
    mine = text.replace("# Rows of ours", "# Rows of mine").replace("tags:\n", "tags:\n- more\n")
    hub_here.commit(repository(hub_here), {"README.md": mine.encode()})
    save(rows(6), tmp_path / "out")
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    told, text = card(hub_here)
    assert told["tags"] == ["more", "physics"]
    assert "# Rows of mine" in text


def test_somebody_commits_in_between(
    hub_here: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = writer(hub_here)
    save(rows(3), tmp_path / "out")
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    change = hub_repository.HubRepository.change
    theirs = iter([b"# first\n", b"# second\n"])

    def after_another(self: Any, *args: Any) -> bool:
        text = next(theirs, None)
        if text is not None:
            hub_here.commit(repository(hub_here), {"README.md": text})
        return change(self, *args)

    monkeypatch.setattr(hub_repository.HubRepository, "change", after_another)
    save(rows(4), tmp_path / "out")
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    assert "# second\n" in card(hub_here)[1]
    assert loaded(token) == rows(4)


def test_several_datasets_are_configs(hub_here: HubServer, tmp_path: Path) -> None:
    token = writer(hub_here)
    for name, first in (("alpha", 0), ("beta", 50)):
        lines = "".join(json.dumps(row) + "\n" for row in rows(4, first))
        (tmp_path / f"{name}.jsonl").write_text(lines)
    config = PipelineConfig(
        [DatasetConfig(str(tmp_path / f"{name}.jsonl"), name=name) for name in ("alpha", "beta")],
        save=SaveStageConfig(
            output_dir=str(tmp_path / "out"),
            push_to_hub=True,
            hub_repo_id=REPO,
            hub_private=True,
            hub_token=token,
        ),
    )
    for _ in range(2):  # what is finished is kept, and pushed
        written = easydata.Pipeline(config).source().save().build()
        assert {stats.hub_url for stats in written.values()} == {
            f"{hub_here.endpoint}/datasets/{REPO}"
        }
        assert repository(hub_here).private
        assert len(history(hub_here)) == 4
    assert shards(hub_here) == ["alpha/shard-00000.parquet", "beta/shard-00000.parquet"]
    assert loaded(token, "alpha") == rows(4)
    assert loaded(token, "beta") == rows(4, first=50)
    # The folder of all of them is pushed the same way.
    assert easydata.push_to_hub(tmp_path / "out", REPO, token=token).endswith(REPO)
    assert len(history(hub_here)) == 4
    # One of them alone leaves the others as they are.
    save(rows(9), tmp_path / "new")
    easydata.push_to_hub(tmp_path / "new", REPO, token=token, config_name="beta")
    assert loaded(token, "alpha") == rows(4)
    assert loaded(token, "beta") == rows(9)
    assert set(pushed(hub_here)) == {"alpha", "beta"}


def test_a_pipeline_is_run_again_after_its_push_failed(hub_here: HubServer, tmp_path: Path) -> None:
    token = writer(hub_here)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(4)))
    push = {"push_to_hub": True, "hub_repo_id": REPO, "hub_token": token}
    config = PipelineConfig(
        [DatasetConfig(str(tmp_path / "a.jsonl"))],
        save=SaveStageConfig(output_dir=str(tmp_path / "out"), **push),
    )
    hub_here.rules = [Rule("status", status=500, method="POST", path="/commit/")]
    with pytest.raises(OSError, match=rf"{REPO}: committing failed: .*500.*run it again") as error:
        easydata.Pipeline(config).source().save()
    assert any("is whole; push it again to resume" in note for note in error.value.__notes__)
    hub_here.rules = []
    before = (tmp_path / "out/.metadata.json").stat()
    easydata.Pipeline(config).source().save()
    assert (tmp_path / "out/.metadata.json").stat() == before, "it is not written again"
    assert loaded(token) == rows(4)
    # Rows in memory look all the same, so that an output of them is not taken for these.
    with pytest.raises(FileExistsError) as exists:
        save(rows(1), tmp_path / "out", overwrite=False, **push)
    assert any("easydata push" in note for note in exists.value.__notes__)


@pytest.mark.parametrize(
    "rules",
    [
        [Rule("status", status=503, method="POST", times=3, path="/commit/")],
        [Rule("status", status=429, method="POST", times=2, path="/commit/")],
        [Rule("lost", method="POST", times=1, path="/commit/")],
        [Rule("lost", method="POST", times=1, skip=1, path="/commit/")],
        [Rule("close", method="", times=2, path="whoami|/tree/|create")],
        [Rule("stall_headers", method="POST", times=1, path="/commit/")],
        [Rule("stall_headers", times=1, path="/tree/")],
    ],
    ids=["503", "429", "lost", "last one lost", "closed", "dead", "dead listing"],
)
def test_a_busy_hub_is_asked_again(hub_here: HubServer, tmp_path: Path, rules: list[Any]) -> None:
    token = writer(hub_here)
    hub_here.rules = rules
    save(rows(3), tmp_path / "out", max_shard_rows=1)
    begin = time.monotonic()
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    assert time.monotonic() - begin < 40, "nobody waits for the dead, who say nothing for 60 s"
    assert len(shards(hub_here)) == 3
    assert loaded(token) == rows(3)


def test_the_limit_of_the_hub_is_waited_for(hub_here: HubServer, tmp_path: Path) -> None:
    token = writer(hub_here)
    save(rows(2), tmp_path / "out", max_shard_rows=1)
    hub_here.limit("api", requests=8, seconds=1)
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    hub_here.access.limits.clear()
    assert loaded(token) == rows(2)


def test_an_output_on_a_store(
    hub_here: HubServer, moto: S3Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = writer(hub_here)
    bucket = moto.bucket("pushed")
    options = {"storage_options": moto.storage_options}
    push = {"push_to_hub": True, "hub_repo_id": REPO, "hub_token": token}
    monkeypatch.setattr(hub_push, "BYTES_COPIED", 1)
    copied = Output.local_files
    copies = []

    def counted(self: Output, shards: Any, into: Path) -> list[Path]:
        made = copied(self, shards, into)
        copies.append([path.name for path in into.iterdir()])
        return made

    monkeypatch.setattr(Output, "local_files", counted)
    save(rows(4), f"s3://{bucket}/out", max_shard_rows=2, **options, **push)
    assert copies == [["shard-00000.parquet"], ["shard-00001.parquet"]], "one at a time"
    assert len(history(hub_here)) == 3
    assert loaded(token) == rows(4)
    features = datasets.Dataset.from_list(rows(4)).features._to_yaml_list()
    assert card(hub_here)[0]["dataset_info"]["features"] == features
    for name, first in (("a", 0), ("b", 50)):
        save(rows(2, first), f"s3://{bucket}/both/{name}", format="arrow", **options)
    easydata.push_to_hub(f"s3://{bucket}/both", "org/both", token=token, **options)
    assert shards(hub_here, "org/both") == ["a/shard-00000.arrow", "b/shard-00000.arrow"]


def test_secrets_and_paths_stay_here(
    hub_here: HubServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    token = writer(hub_here)
    secret = "a-very-secret-key"
    lines = [json.dumps(row) + "\n" for row in rows(4)]
    (tmp_path / "my data").mkdir()
    (tmp_path / "my data/a.jsonl").write_text("".join([*lines, "{broken\n"]))
    save_options = SaveStageConfig(
        output_dir=str(tmp_path / "out"),
        push_to_hub=True,
        hub_repo_id=REPO,
        hub_token=token,
        storage_options={"key": "me", "secret": secret},
    )
    config = PipelineConfig(
        [DatasetConfig(str(tmp_path / "my data/*.jsonl"), on_error="skip")],
        save=save_options,
        observability={"log_level": "DEBUG"},
    )
    with caplog.at_level(logging.DEBUG):
        pipeline = easydata.Pipeline(PipelineConfig.from_dict(config.to_dict())).source().save()
    said = [caplog.text, *capfd.readouterr(), repr(save_options), repr(pipeline.build())]
    said += [repr(pipeline.get_context().config), json.dumps(pipeline.explain())]
    kept = [data.decode("latin-1") for data in files(hub_here).values()]
    local = (tmp_path / "out/.metadata.json").read_text()
    for text in [*said, *kept, local]:
        assert token not in text
        assert secret not in text
    (told,) = pushed(hub_here).values()
    assert str(tmp_path) in local
    for place in (str(tmp_path), tmp_path.name, "my data"):
        assert not any(place in text for text in texts(told))
    assert not any(str(tmp_path) in text for text in kept)
    assert told["dropped_at"]["not valid JSON"] == ['sources["dataset_0"] a.jsonl row 4']
    assert told["config"]["datasets"][0]["data_files"] == "*.jsonl"
    assert told["num_examples"] == 4
    shards = [{**each, "identity": ""} for each in told["shards"]]
    assert shards == [{**each, "identity": ""} for each in json.loads(local)["shards"]]


def test_files_without_a_config_are_told_of(
    hub_here: HubServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    token = writer(hub_here)
    save(rows(3), tmp_path / "out")
    data = (tmp_path / "out/shard-00000.parquet").read_bytes()
    hub_here.repo("datasets", REPO, {"data/train-00000-of-00001.parquet": data})
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    assert "1 that are there are read no more (data/train-00000-of-00001.parquet" in caplog.text
    assert files(hub_here)["data/train-00000-of-00001.parquet"] == data
    for commit in history(hub_here)[:-1]:
        assert loaded(token, revision=commit.sha) == rows(3), "what was there, once"


def test_the_command_line(
    hub_here: HubServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    token = writer(hub_here)
    save(rows(3), tmp_path / "out")
    home = tmp_path / "home"
    # Without `datasets` a card tells files and rows, and no columns.
    program = (
        "import sys; sys.modules['datasets'] = None\n"
        "from easydata.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    variables = environment(**hub_here.environment(home))
    del variables["HF_HUB_DISABLE_PROGRESS_BARS"]
    done = run_python(
        *("-c", program, "push", tmp_path / "out", REPO, "--private", "--token", token),
        env=variables,
    )
    assert done.stdout == f"{hub_here.endpoint}/datasets/{REPO}\n"
    assert done.stderr == ""
    assert repository(hub_here).private
    assert "features" not in card(hub_here)[0]["dataset_info"]
    assert loaded(token) == rows(3)
    monkeypatch.setenv("HF_TOKEN", token)

    def push(*arguments: object) -> tuple[int, str]:
        capsys.readouterr()
        return run(["push", *map(str, arguments)]), "".join(capsys.readouterr())

    status, said = push(tmp_path / "out", REPO, "--config-name", "more", "--json")
    assert status == 0
    assert json.loads(said) == {"url": f"{hub_here.endpoint}/datasets/{REPO}"}
    assert loaded(token, "more") == rows(3)
    capsys.readouterr()
    made = ["--output-dir", str(tmp_path / "made"), "--push-to-hub", "--hub-repo-id", "org/made"]
    assert run(["convert", str(tmp_path / "out"), "--format", "jsonl", *made]) == 0
    assert f"  {hub_here.endpoint}/datasets/org/made\n" in capsys.readouterr().out
    assert shards(hub_here, "org/made") == ["default/shard-00000.jsonl"]
    status, said = push(home, REPO)
    assert status == 1
    assert "holds no finished output of EasyData" in said
    status, said = push(tmp_path / "out", "rows")
    assert status == 2
    assert 'hub_repo_id must be "org/name"' in said


def test_another_push_that_did_not_end_is_tidied_up(
    hub_here: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = writer(hub_here)

    def stop(*args: Any) -> bool:
        raise KeyboardInterrupt

    save(rows(3), tmp_path / "out", max_shard_rows=1)
    with monkeypatch.context() as patch:
        patch.setattr(hub_repository.HubRepository, "change", stop)
        with pytest.raises(KeyboardInterrupt) as interrupt:
            easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    assert any("push it again to resume" in note for note in interrupt.value.__notes__)
    waiting = [path for path in head(hub_here).files if path.startswith(".easydata/")]
    assert len(waiting) == 4
    hub_here.log.clear()
    with monkeypatch.context() as patch:
        patch.setattr(hub_repository.HubRepository, "change", stop)
        with pytest.raises(KeyboardInterrupt):
            easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    assert not hub_here.writings, "what waits is not even looked through again"
    theirs = f"{waiting[0].rpartition('/')[0]}/theirs"
    hub_here.commit(repository(hub_here), {theirs: b"what is not named stays"})
    save(rows(2, first=50), tmp_path / "out")
    easydata.push_to_hub(tmp_path / "out", REPO, token=token)
    assert shards(hub_here) == [theirs, "default/shard-00000.parquet"]
    assert loaded(token) == rows(2, first=50)
