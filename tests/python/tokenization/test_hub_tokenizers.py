"""Tokenizers by their names on the Hub: the files, everywhere a tokenizer is named, and errors."""

from __future__ import annotations

import json
import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from easydata.cli import main
from easydata.grain_data_processing import preprocess_dataset
from easydata.tokenizers import hub_files
from easydata.transforms import compute_tokenizer_hash
from hub_server import HUB, STORE, HubServer, Rule
from programs import run_python
from small_tokenizer import small_tokenizer

import easydata
from easydata import DatasetConfig, Pipeline, PipelineConfig, Tokenizer, TokenizerConfig

constants = pytest.importorskip("huggingface_hub.constants")

TEXT = "naïve\n 日本"
NAME = "org/model"


def read(folder: Path | str) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in Path(folder).iterdir()}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    """The files of a tokenizer, which `tmp_path / "local"` has, too."""
    return read(small_tokenizer(tmp_path / "local"))


@pytest.fixture
def models(hub_here: HubServer, files: dict[str, bytes]) -> HubServer:
    """A Hub that has the tokenizer under NAME, beside weights."""
    hub_here.repo("models", NAME, {**files, "model.safetensors": b"w" * 1000}, lfs=["*.safe*"])
    return hub_here


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What huggingface_hub waited between attempts, without waiting."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Sets HF_HUB_OFFLINE, in a process that knows nothing yet."""

    def set_offline() -> None:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        forget()

    return set_offline


def forget() -> None:
    """As a new process."""
    hub_files._commits.clear()


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    forget()
    yield
    forget()


def refused(name: str, kind: type[Exception], *parts: str) -> str:
    with pytest.raises(kind) as caught:
        Tokenizer(name)
    text = str(caught.value)
    assert type(caught.value) is kind
    for part in parts:
        assert part in text, text
    return text


def paths(models: HubServer) -> list[str]:
    return [f"{each.method} {each.path}" for each in models.log]


# Files


def test_a_name_is_the_folder_that_the_hub_has(models: HubServer, tmp_path: Path) -> None:
    local, named = Tokenizer(tmp_path / "local"), Tokenizer(NAME)
    assert named.encode(TEXT).tolist() == local.encode(TEXT).tolist()
    assert named.fingerprint == local.fingerprint
    assert named.special_tokens == local.special_tokens
    assert named.chat_templates == local.chat_templates
    assert named.name == NAME
    assert (local.commit, len(str(named.commit))) == (None, 40)
    assert named.describe()["commit"] == named.commit
    asked = paths(models)
    assert asked[:2] == [
        "GET /api/models/org/model/revision/main",
        f"GET /api/models/org/model/tree/{named.commit}",
    ]
    fetched = [each for each in asked if each.startswith("GET") and "/resolve/" in each]
    at = f"GET /org/model/resolve/{named.commit}"
    assert sorted(fetched) == [f"{at}/tokenizer.json", f"{at}/tokenizer_config.json"]
    Tokenizer(NAME)  # the same process
    assert paths(models) == asked
    forget()
    Tokenizer(NAME)  # another one, with the same cache
    assert paths(models) == [*asked, asked[0]]


def test_no_thread_of_a_progress_bar_stays(models: HubServer) -> None:
    Tokenizer(NAME)
    before = threading.active_count()
    for _ in range(3):
        forget()
        Tokenizer(NAME)
    assert threading.active_count() == before


def test_files_of_the_large_store(hub_here: HubServer, files: dict[str, bytes]) -> None:
    hub_here.repo("models", NAME, files, lfs=["tokenizer.json"])
    assert Tokenizer(NAME).encode("ab").tolist() == [97, 98]
    assert len(hub_here.asked("cdn", "GET")) == 1


def test_templates_beside_the_tokenizer(models: HubServer) -> None:
    files: dict[str, bytes | None] = {
        "chat_template.jinja": b"{{ messages[0].content }}",
        "additional_chat_templates/tools.jinja": b"tools",
        "added_tokens.json": b"{}",
    }
    models.commit(models.access.repositories["models", NAME], files)
    templates = Tokenizer(NAME).chat_templates
    assert templates == {"default": "{{ messages[0].content }}", "tools": "tools"}
    messages = [{"role": "user", "content": "hello"}]
    row = easydata.ChatTemplateTransform(NAME)({"messages": messages})
    assert row["text"] == "hello"


def test_a_path_goes_before_a_name(
    models: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small_tokenizer(tmp_path / NAME, eos_token="!")
    assert Tokenizer(NAME).eos_token == "!"
    assert Tokenizer(f"{NAME}@main").eos_token == "</s>"
    small_tokenizer(tmp_path / f"{NAME}@main", eos_token="!")
    assert Tokenizer(f"{NAME}@main").eos_token == "!"
    assert len(models.asked(path="/revision/")) == 1


@pytest.mark.parametrize("path", ["./tok", "../tok", "/x/y", "~/tok", "a/b/c", "tok.json", "a//b"])
def test_a_path_that_is_not_there_asks_nobody(models: HubServer, path: str) -> None:
    refused(path, FileNotFoundError, "does not exist")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        Tokenizer(Path("org/other"))
    assert models.log == []


def test_addresses_of_repositories_are_told_their_names(models: HubServer) -> None:
    for address in ("https://huggingface.co/org/model/tree/main", "hf://org/model"):
        refused(address, FileNotFoundError, "name it org/model")
    refused("s3://bucket/tokenizer", FileNotFoundError, "download it, and give the folder")
    refused("org model", FileNotFoundError, "org/name or org/name@revision")
    assert models.log == []


# Everywhere a tokenizer is named


def ids_of_rows(rows: Any) -> list[list[int]]:
    return [list(row["input_ids"]) for row in rows]


def test_everywhere_a_tokenizer_is_named(
    models: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text(json.dumps({"text": TEXT}) + "\n")
    ids = Tokenizer("local").encode(TEXT).tolist()

    def piped(dataset: dict[str, Any], **options: Any) -> list[list[int]]:
        config = PipelineConfig([DatasetConfig("a.jsonl", **dataset)], **options)
        return ids_of_rows(Pipeline.from_config(config).source().tokenize().build())

    assert piped({"tokenizer": NAME}) == [ids]
    assert piped({"tokenizer": TokenizerConfig(NAME, max_length=3)}) == [ids[:3]]
    assert piped({}, default_tokenizer=NAME) == [ids]
    stage = easydata.TokenizeStageConfig(default_tokenizer=NAME)
    assert piped({}, tokenize=stage) == [ids]
    easydata.tokenize_and_save("a.jsonl", NAME, "saved")
    assert pq.read_table("saved").column("input_ids").to_pylist() == [ids]
    manager = easydata.TokenizerManager()
    assert manager.get_tokenizer(TokenizerConfig(NAME)).encode(TEXT).tolist() == ids
    context = easydata.PipelineContext(PipelineConfig([DatasetConfig("a.jsonl")]))
    assert context.get_tokenizer(NAME).encode(TEXT).tolist() == ids
    assert compute_tokenizer_hash(NAME) == compute_tokenizer_hash("local")
    text = easydata.SFTPreprocessTransform(NAME, 64, add_eos=False)({"text": TEXT})
    assert text["input_ids"][: len(ids)] == ids
    rows, _ = preprocess_dataset(
        0, 1, [{"text": TEXT}], "text", True, 1, 32, False, 1, NAME,
        add_bos=False, add_eos=False, num_epochs=1,
    )  # fmt: skip
    (row,) = rows
    assert row["targets"].tolist()[: len(ids)] == ids
    command = ["tokenize", "a.jsonl", "--tokenizer", NAME, "--output-dir", "by_command"]
    assert main(command) == 0
    assert pq.read_table("by_command").column("input_ids").to_pylist() == [ids]
    # One job after the other, in one process: the revision is one commit.
    assert len(models.asked(path="/revision/")) == 1


def test_metadata_name_the_commit_and_no_token(
    models: HubServer, files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    token = models.token("ann", orgs=["org"])
    monkeypatch.setenv("HF_TOKEN", token)
    monkeypatch.chdir(tmp_path)
    repo = models.repo("models", "org/private", files, private=True)
    sha = models.commit(repo, {"README.md": b"# it"})
    Path("a.jsonl").write_text('{"text": "abc"}\n' * 5)
    caplog.set_level(logging.DEBUG)
    easydata.tokenize_and_save("a.jsonl", "org/private", "saved")
    (made_by,) = json.loads(Path("saved/.metadata.json").read_text())["tokenizers"]
    assert made_by["path"] == f"org/private@{sha}"
    tokenizer = Tokenizer("org/private")
    assert made_by["fingerprint"] == tokenizer.fingerprint
    config = PipelineConfig(
        [DatasetConfig("a.jsonl", tokenizer="org/private")],
        load=easydata.LoadStageConfig(batch_size=2),
    )
    pipeline = Pipeline.from_config(config)
    frozen = pipeline.freeze()
    with pipeline.source().tokenize().load().build() as loader:
        next(iter(loader))
        state = json.dumps(loader.state_dict())
    assert f"tokenizer org/private is org/private@{sha}" in caplog.text
    told = [state, frozen, repr(tokenizer), repr(config), str(tokenizer.describe()), caplog.text]
    told += [repr(hub_files.NamedTokenizer("a/b", token)), *map(str, capfd.readouterr())]
    told += [file.read_bytes().decode("latin-1") for file in Path("saved").iterdir()]
    assert [text for text in told if token in text] == []


def test_a_state_goes_on_over_a_local_copy(
    models: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text("".join(json.dumps({"text": "x" * n}) + "\n" for n in range(12)))

    def loader_of(tokenizer: str) -> Any:
        dataset = DatasetConfig("a.jsonl", tokenizer=tokenizer, shuffle="rows")
        load = easydata.LoadStageConfig(batch_size=2, epochs=1)
        config = PipelineConfig([dataset], load=load)
        return Pipeline.from_config(config).source().tokenize().load().build()

    with loader_of(NAME) as loader:
        batches = [next(iter(loader)) for _ in range(2)]
        state = json.loads(json.dumps(loader.state_dict()))
        rest = [batch["input_ids"].tolist() for batch in loader]
    assert len(batches) == 2
    assert len(rest) == 4
    with loader_of("local") as loader:
        loader.load_state_dict(state)
        assert [batch["input_ids"].tolist() for batch in loader] == rest


# Revisions


def test_revisions(models: HubServer, files: dict[str, bytes], tmp_path: Path) -> None:
    repo = models.access.repositories["models", NAME]
    first = repo.refs["refs/heads/main"]
    models.tag(repo, "v1.0", first)
    config = json.loads(files["tokenizer_config.json"]) | {"eos_token": "!"}
    new: dict[str, bytes | None] = {"tokenizer_config.json": json.dumps(config).encode()}
    second = models.commit(repo, new, "refs/pr/1")
    third = models.commit(repo, new)
    for revision, commit in (("v1.0", first), (first, first), ("main", third)):
        tokenizer = Tokenizer(f"{NAME}@{revision}")
        assert tokenizer.commit == commit
        assert tokenizer.eos_token == ("</s>" if commit == first else "!")
    assert second != third
    # "refs/pr/1" has no tokenizer.json of its own here: it began empty.
    refused(f"{NAME}@refs/pr/1", FileNotFoundError, "has no tokenizer.json", "tokenizer_config")
    assert models.asked(path=f"/revision/{first}") == []  # a commit is asked for by nobody


def test_a_revision_that_moves(models: HubServer, files: dict[str, bytes]) -> None:
    """One process has one commit; a new one has the new commit."""
    repo = models.access.repositories["models", NAME]
    before = Tokenizer(NAME)
    config = json.loads(files["tokenizer_config.json"]) | {"eos_token": "!"}
    moved = models.commit(repo, {"tokenizer_config.json": json.dumps(config).encode()})
    assert Tokenizer(NAME).commit == before.commit != moved
    assert Tokenizer(NAME, view="json", split_special_tokens=True).eos_token == "</s>"
    forget()
    assert (Tokenizer(NAME).commit, Tokenizer(NAME).eos_token) == (moved, "!")


RANK = """
import json, sys, easydata
from easydata import DatasetConfig, Pipeline, PipelineConfig
config = PipelineConfig([DatasetConfig("a.jsonl", tokenizer="org/model")])
pipeline = Pipeline.from_config(config)
pipeline.freeze(sys.argv[1] or None)
(row,) = pipeline.source().tokenize().build()
print(row["input_ids"], easydata.Tokenizer("org/model").eos_token)
"""


def test_ranks_take_the_commit_of_the_first(
    models: HubServer, files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text('{"text": "ab"}\n')
    config = PipelineConfig([DatasetConfig("a.jsonl", tokenizer=NAME)])
    listing = Pipeline.from_config(config).freeze()
    commit = Tokenizer(NAME).commit
    assert json.loads(listing)["tokenizers"] == {NAME: commit}
    changed = json.loads(files["tokenizer_config.json"]) | {"eos_token": "!"}
    moved: dict[str, bytes | None] = {"tokenizer_config.json": json.dumps(changed).encode()}
    models.commit(models.access.repositories["models", NAME], moved)
    asked = len(models.log)
    variables = models.environment(tmp_path / "hf")
    done = run_python("-c", RANK, listing, variables=variables)
    assert done.stdout == "[97, 98] </s>\n"
    assert len(models.log) == asked  # it has all of it: the commit, and the cache
    done = run_python("-c", RANK, "", variables=variables)
    assert done.stdout == "[97, 98] !\n"
    assert "Fetching" not in done.stderr  # no bar for small files
    with pytest.raises(ValueError, match="no commit of"):
        hub_files.pin({NAME: "main"})
    text = listing.replace(str(commit), "0" * 39)
    with pytest.raises(ValueError, match="no commit of"):
        Pipeline.from_config(config).freeze(text)
    local = PipelineConfig([DatasetConfig("a.jsonl", tokenizer="local")])
    assert "tokenizers" not in json.loads(Pipeline.from_config(local).freeze())


# Who may not, and what is not there


def test_gated(models: HubServer, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    models.repo("models", "meta-llama/Llama-2-7b", files, gated="manual", allowed=["ann"])
    page = f"open {models.endpoint}/meta-llama/Llama-2-7b"
    text = refused("meta-llama/Llama-2-7b", PermissionError, "is gated", page, "set HF_TOKEN")
    assert "hf auth login" in text
    monkeypatch.setenv("HF_TOKEN", models.token("bob"))
    said = (f"{page} with the account of the token that is set",)
    refused("meta-llama/Llama-2-7b", PermissionError, "is gated", *said)
    monkeypatch.setenv("HF_TOKEN", "hf_of_nobody")
    refused("meta-llama/Llama-2-7b", PermissionError, "does not accept the token")
    monkeypatch.setenv("HF_TOKEN", models.token("ann"))
    assert Tokenizer("meta-llama/Llama-2-7b").eos_token == "</s>"


def test_private(
    models: HubServer, files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    models.repo("models", "org/mine", files, private=True)
    refused("org/mine", FileNotFoundError, "has no repository org/mine", "needs a token")
    monkeypatch.setenv("HF_TOKEN", models.token("bob"))
    refused("org/mine", FileNotFoundError, "the token that is set may not see it")
    monkeypatch.setenv("HF_TOKEN", models.token("ann", orgs=["org"]))
    assert Tokenizer("org/mine").eos_token == "</s>"


def test_names_of_nothing(
    models: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small_tokenizer(tmp_path / "llamas")
    models.repo("models", "meta-llama/Llama-2-7b-hf")
    said = "not a repository name: names have the form org/name"
    text = refused("llama", FileNotFoundError, "llama does not exist", said)
    assert text.endswith("did you mean meta-llama/Llama-2-7b-hf?")
    assert "did you mean llamas?" in text  # of this machine
    near = "on the Hub there are meta-llama/Llama-2-7b-hf"
    refused("meta-lama/Llama-2-7b-hf", FileNotFoundError, "does not exist", near)
    refused("meta-llama/Llama2-7b", FileNotFoundError, "no repository meta-llama/Llama2-7b", near)
    refused(f"{NAME}@nope", FileNotFoundError, "has no revision nope", "branches and tags: main")
    text = refused("nobody/nothing", FileNotFoundError, "no repository nobody/nothing")
    assert "on the Hub" not in text


def test_a_name_of_one_word_that_is_there(models: HubServer, files: dict[str, bytes]) -> None:
    """As gpt2 was called before it was openai-community/gpt2."""
    repo = models.repo("models", "gpt2", files)
    models.rename(repo, "openai-community/gpt2")
    assert Tokenizer("gpt2").encode("ab").tolist() == [97, 98]


def test_a_repository_without_a_tokenizer(models: HubServer) -> None:
    models.repo("models", "org/gguf", {"model.gguf": b"weights"})
    refused("org/gguf", FileNotFoundError, "no tokenizer.json, nor files", ".gguf")


# Without a network


def test_offline(
    models: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, offline: Callable[[], None]
) -> None:
    before = Tokenizer(NAME)
    offline()
    models.log.clear()
    assert Tokenizer(NAME).commit == Tokenizer(f"{NAME}@{before.commit}").commit == before.commit
    monkeypatch.chdir(tmp_path)
    small_tokenizer(tmp_path / "gpt2")
    begin = time.monotonic()
    said = ("HF_HUB_OFFLINE", "does not have it", "give the folder")
    refused("gtp2", FileNotFoundError, "gtp2 does not exist", "did you mean gpt2?", *said)
    refused("org/other", FileNotFoundError, *said)
    refused(f"{NAME}@v2", FileNotFoundError, *said)
    assert time.monotonic() - begin < 5  # without attempts: those wait for seconds
    assert models.log == []


def test_offline_with_a_part_of_the_files(
    models: HubServer, offline: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    """What another library keeps there need not be all."""
    import huggingface_hub

    huggingface_hub.hf_hub_download(NAME, "tokenizer.json")
    offline()
    with caplog.at_level(logging.WARNING, logger="easydata"):
        assert Tokenizer(NAME).eos_token is None
    assert "has no tokenizer_config.json of it" in caplog.text
    constants.HF_HUB_OFFLINE = False
    forget()
    tokenizer = Tokenizer(NAME)
    assert tokenizer.eos_token == "</s>"
    folder = hub_files.hub_files(hub_files.NamedTokenizer(NAME)).folder
    (folder / "tokenizer_config.json").unlink()
    offline()
    refused(NAME, FileNotFoundError, "has not all of its files")


# Faults


def test_busy_for_a_moment(models: HubServer, waits: list[float]) -> None:
    busy = {"Retry-After": "3"}
    models.rules = [
        Rule("status", status=429, headers=busy, times=1, path="/revision/"),
        Rule("status", status=503, times=1, path="/tree/"),
        Rule("close", times=1, path="/resolve/"),
    ]
    assert Tokenizer(NAME).eos_token == "</s>"
    assert waits[0] >= 3


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize("path", ["/revision/", "/tree/", "/resolve/"])
def test_busy_for_good(models: HubServer, waits: list[float], path: str, status: int) -> None:
    models.rules = [Rule("status", status=status, path=path, method="GET|HEAD")]
    text = refused(NAME, ConnectionError, models.endpoint, "try again later", "give a folder")
    assert str(status) in text or path == "/tree/"
    assert len(models.log) < 30
    assert sum(waits) < 60


def test_the_hub_is_away_and_the_cache_has_it(models: HubServer, waits: list[float]) -> None:
    """An older commit in silence would be other tokens: who wants it says so."""
    commit = Tokenizer(NAME).commit
    models.rules = [Rule("status", status=503, method="")]
    forget()
    said = ("HF_HUB_OFFLINE=1", f"{NAME}@{commit}")
    refused(NAME, ConnectionError, *said)
    assert Tokenizer(f"{NAME}@{commit}").commit == commit


def test_a_part_of_the_files_is_not_taken_for_all(models: HubServer, waits: list[float]) -> None:
    """huggingface_hub gives the folder that it has where it cannot list what there should be."""
    import huggingface_hub

    huggingface_hub.hf_hub_download(NAME, "tokenizer.json")
    models.rules = [Rule("status", status=503, path="/tree/")]
    refused(NAME, ConnectionError, "its files could not be listed")


def test_files_that_are_cut_or_changed(models: HubServer, waits: list[float]) -> None:
    models.rules = [Rule("flip", at=300, times=1, path=r"/tokenizer\.json")]
    assert Tokenizer(NAME).encode("ab").tolist() == [97, 98]
    assert len(models.asked("hub", "GET", r"/tokenizer\.json")) == 2
    # A file of the cache that was damaged since.
    folder = hub_files.hub_files(hub_files.NamedTokenizer(NAME)).folder
    data = (folder / "tokenizer.json").read_bytes()
    (folder / "tokenizer.json").resolve().write_bytes(data[:-1] + b" ")
    models.rules = []
    forget()
    assert Tokenizer(NAME).encode("ab").tolist() == [97, 98]
    assert (folder / "tokenizer.json").read_bytes() == data


def test_damage_that_stays(
    models: HubServer, waits: list[float], offline: Callable[[], None]
) -> None:
    models.rules = [Rule("flip", at=300, path=r"/tokenizer\.json")]
    refused(NAME, OSError, "tokenizer.json in", "is damaged")
    offline()
    repo = models.access.repositories["models", NAME]
    refused(f"{NAME}@{repo.refs['refs/heads/main']}", OSError, "is damaged")


def test_the_large_store_fails(
    hub_here: HubServer, files: dict[str, bytes], waits: list[float]
) -> None:
    hub_here.repo("models", NAME, files, lfs=["tokenizer.json"])
    hub_here.rules = [Rule("status", status=403, path=STORE)]
    text = refused(NAME, ConnectionError, "403", "/xet-bridge/")  # no matter of the token's
    assert "X-Amz" not in text
    hub_here.rules = [Rule("reset", at=900, times=2, path=STORE)]
    assert Tokenizer(NAME).encode("ab").tolist() == [97, 98]
    assert hub_here.asked("hub", path=HUB)


# Without the libraries


def test_without_huggingface_hub(tmp_path: Path) -> None:
    program = (
        "import sys, easydata; assert 'huggingface_hub' not in sys.modules\n"
        "easydata.Tokenizer('local'); assert 'huggingface_hub' not in sys.modules\n"
        "sys.modules['huggingface_hub'] = None\n"
        "try: easydata.Tokenizer('locla')\n"
        "except ImportError as error: print(error)\n"
    )
    small_tokenizer(tmp_path / "local")
    said = run_python("-c", program, cwd=tmp_path).stdout
    assert "locla does not exist here; did you mean local?" in said
    assert re.search(r"takes huggingface_hub: pip install 'easydata\[hf\]'$", said)
