"""What the manual's pages find in the folder that they are run in."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from manual_pages import Block, blocks

# The pages' model names, and the folders of ../shared that stand for them.
MODELS = {
    "meta-llama/Llama-2-7b": "llama2",
    "bigcode/starcoder": "gpt2",
}
CHAT_MODEL = "meta-llama/Llama-2-7b-chat-hf"
CHAT_TEMPLATE = (
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}\n{% endfor %}"
)


@pytest.fixture
def models(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Runs the test in an empty folder where the pages' model names are folders of tokenizers."""
    monkeypatch.chdir(tmp_path)
    # No page may reach for the network, however a library treats a name that looks local.
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    found = {}
    for name, folder in MODELS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(shared / "data/tokenizers" / folder)
        found[name] = tmp_path / name
    chat = tmp_path / CHAT_MODEL
    chat.mkdir(parents=True)
    llama = shared / "data/tokenizers/llama2"
    (chat / "tokenizer.json").symlink_to(llama / "tokenizer.json")
    config = json.loads((llama / "tokenizer_config.json").read_text())
    config["chat_template"] = CHAT_TEMPLATE
    (chat / "tokenizer_config.json").write_text(json.dumps(config))
    found[CHAT_MODEL] = chat
    return found


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
