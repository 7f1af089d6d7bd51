"""What the manual's pages find in the folder that they are run in."""

import json
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_server import HubServer
from manual_pages import Block, blocks

# The pages' model names, and the folders of ../shared that have their files.
MODELS = {
    "meta-llama/Llama-2-7b": "llama2",
    "bigcode/starcoder": "gpt2",
}
# The pages' data sets: what their rows are called, and how many there are.
DATASETS = {
    "bigcode/starcoderdata": ("code", 37),
    "HuggingFaceFW/fineweb": ("text", 50),
    "hendrycks/competition_math": ("math", 37),
}
CHAT_MODEL = "meta-llama/Llama-2-7b-chat-hf"
CHAT_TEMPLATE = (
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}\n{% endfor %}"
)


@pytest.fixture
def models(
    shared: Path, tmp_path: Path, hub_here: HubServer, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Path]:
    """Runs the test in an empty folder, with a Hub that has the pages' models.

    They are gated, as the real ones; who asks may read them. The folders have the same files.
    """
    (work := tmp_path / "work").mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HF_TOKEN", hub_here.token("reader"))
    found = {}
    for name, folder in MODELS.items():
        found[name] = shared / "data/tokenizers" / folder
    chat = found[CHAT_MODEL] = tmp_path / CHAT_MODEL
    shutil.copytree(found["meta-llama/Llama-2-7b"], chat)
    config = json.loads((chat / "tokenizer_config.json").read_text())
    config["chat_template"] = CHAT_TEMPLATE
    (chat / "tokenizer_config.json").chmod(0o644)
    (chat / "tokenizer_config.json").write_text(json.dumps(config))
    for name, path in found.items():
        files = {file.name: file.read_bytes() for file in path.iterdir()}
        hub_here.repo("models", name, files, gated="manual", allowed=["reader"])
    return found


@pytest.fixture
def hub_datasets(models: dict[str, Path], hub_here: HubServer) -> HubServer:
    """The Hub has the pages' data sets, too: rows that tell which one they are of."""
    for name, (kind, rows) in DATASETS.items():
        lines = [json.dumps({"k": kind, "i": i}) + "\n" for i in range(rows)]
        hub_here.repo("datasets", name, {"train.jsonl": "".join(lines).encode()})
    return hub_here


@pytest.fixture
def page(request: pytest.FixtureRequest, shared: Path, models: dict[str, Path]) -> list[Block]:
    """The blocks of the page that the test file is named after, in the folder of `models`."""
    return blocks(shared, request.module.__name__.removeprefix("test_page_"))


@pytest.fixture(autouse=True)
def _no_warning_of_a_claim(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """What the manual writes is sound: nothing of it is told to have no effect."""
    yield
    told = [
        record.getMessage()
        for record in caplog.get_records("call")
        if record.name == "easydata" and record.levelno >= logging.WARNING
    ]
    known = ("the tokenizers differ", "AutoTokenizer would make", "documents were cut to")
    known += ("documents are being cut to", "the weight schedule counts the steps of a loader")
    assert [text for text in told if not any(each in text for each in known)] == []
