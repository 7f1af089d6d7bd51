"""Tokenizers by name: hf_access_token and tokenizer_cache_dir are those of transformers."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from easydata.grain_data_processing import preprocess_dataset
from programs import run_python

TOKEN = "hf_of_the_test"

# Rows of one document, tokenized by a tokenizer of the Hub.
JOB = """
import sys
from easydata.grain_data_processing import preprocess_dataset

token, cache = sys.argv[1:]
rows, _ = preprocess_dataset(
    0, 1, [{"text": "abc"}], "text", True, 1, 8, False, 1, "some/tokenizer",
    hf_access_token=token or None, tokenizer_cache_dir=cache, add_bos=False, add_eos=False,
    num_epochs=1,
)
(row,) = rows
print(row["targets"].tolist())
"""


class Hub(http.server.ThreadingHTTPServer):
    """The files of one private tokenizer, for those who have the token."""

    def __init__(self, folder: str) -> None:
        super().__init__(("127.0.0.1", 0), Files)
        self.files = Path(folder)
        self.asked: list[tuple[str, str | None]] = []


class Files(http.server.BaseHTTPRequestHandler):
    """Answers as the Hub does."""

    server: Hub

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        said = self.headers.get("Authorization")
        self.server.asked.append((self.path, said))
        file = self.server.files / self.path.rsplit("/", 1)[-1]
        if said != f"Bearer {TOKEN}":
            self._say(401, {"X-Error-Code": "RepoNotFound"}, b"")
        elif not self.path.startswith("/some/tokenizer/resolve/main/") or not file.is_file():
            self._say(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": "1" * 40}, b"")
        else:
            body = file.read_bytes()
            headers = {"X-Repo-Commit": "1" * 40, "ETag": f'"{len(body):040}"'}
            self._say(200, headers, body, with_body=with_body)

    def _say(
        self, status: int, headers: dict[str, str], body: bytes, *, with_body: bool = True
    ) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(tokens: str) -> Iterator[Hub]:
    with Hub(tokens) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(
    hub: Hub, token: str, cache: Path, home: Path, status: int = 0, **variables: str
) -> subprocess.CompletedProcess[str]:
    """What the job said, in a process of its own that ends with `status`."""
    settings = {
        "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_port}",
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_XET": "1",
        **variables,
    }
    kept = {name: text for name, text in os.environ.items() if not name.startswith("HF_")}
    options = {"env": {**kept, **settings}, "status": status, "timeout": 120}
    return run_python("-c", JOB, token, cache, **options)


def test_a_tokenizer_of_the_hub(hub: Hub, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    cache, home = tmp_path / "cache", tmp_path / "home"
    assert "some/tokenizer" in run(hub, "", cache, home, status=1).stderr
    assert all(authorization is None for _, authorization in hub.asked)

    done = run(hub, TOKEN, cache, home)
    assert done.stdout == "[97, 98, 99, 256, 0, 0, 0, 0]\n"
    assert TOKEN not in done.stderr
    assert list(cache.rglob("tokenizer.json"))
    assert not list(home.rglob("tokenizer.json"))

    # What is kept there needs neither network nor token.
    hub.asked.clear()
    done = run(hub, "", cache, home, HF_HUB_OFFLINE="1")
    assert done.stdout == "[97, 98, 99, 256, 0, 0, 0, 0]\n"
    assert hub.asked == []


def test_a_path_needs_neither(tokens: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    rows, _ = preprocess_dataset(
        0, 1, [{"text": "abc"}], "text", True, 1, 8, False, 1, tokens,
        add_bos=False, add_eos=False, num_epochs=1,
    )  # fmt: skip
    assert [row["targets"].tolist() for row in rows] == [[97, 98, 99, 256, 0, 0, 0, 0]]
    with pytest.raises(ModuleNotFoundError, match=r"no file or folder 'some/tokenizer'.*transform"):
        preprocess_dataset(
            0, 1, [{"text": "abc"}], "text", True, 1, 8, False, 1, "some/tokenizer"
        )  # fmt: skip
