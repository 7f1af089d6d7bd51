"""Repositories of the stub of the Hub that outputs are pushed to, and what readers see of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import yaml
from hub_repositories import Commit, Repository
from hub_server import HubServer

import easydata

REPO = "org/rows"


def rows(count: int, first: int = 0) -> list[dict[str, Any]]:
    return [
        {"n": number, "text": f"row {number} €", "ids": list(range(number % 4)), "s": {"x": 0.5}}
        for number in range(first, first + count)
    ]


def save(data: list[dict[str, Any]], folder: Path | str, **options: Any) -> easydata.WriteStats:
    options = {"format": "parquet", "overwrite": True, **options}
    return easydata.save_dataset(easydata.wrap_hf_dataset(data), folder, **options)


def writer(hub: HubServer) -> str:
    """A token that may write to `org`."""
    return hub.token("ann", "write", orgs=["org"])


def repository(hub: HubServer, name: str = REPO) -> Repository:
    return hub.access.repositories["datasets", name]


def head(hub: HubServer, name: str = REPO) -> Commit:
    found = repository(hub, name).resolved("main")
    assert found is not None
    return found


def history(hub: HubServer, name: str = REPO) -> list[Commit]:
    """The commits of main, the oldest first."""
    return repository(hub, name).history(head(hub, name))[::-1]


def files(hub: HubServer, name: str = REPO) -> dict[str, bytes]:
    return {path: blob.data for path, blob in head(hub, name).files.items()}


def shards(hub: HubServer, name: str = REPO) -> list[str]:
    """What lies there beside the card and metadata."""
    known = ("README.md", "_metadata.json", ".gitattributes")
    return [path for path in files(hub, name) if path not in known]


def card(hub: HubServer, name: str = REPO) -> tuple[dict[str, Any], str]:
    """The YAML of the card, and its text."""
    text = files(hub, name)["README.md"].decode()
    return yaml.safe_load(text.split("---\n")[1]), text


def loaded(token: str, config: str | None = None, revision: str | None = None) -> list[Any]:
    """What `datasets` reads."""
    options: dict[str, Any] = {"split": "train", "token": token, "revision": revision}
    found = datasets.load_dataset(REPO, config, **options)
    assert found.info.splits["train"].num_examples == len(found)
    return list(found)


def uploads(hub: HubServer) -> list[str]:
    """What of files' content went to the large store."""
    return [each.path for each in hub.asked("cdn", "PUT")]


def texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from (key, *texts(each))
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


def pushed(hub: HubServer) -> dict[str, Any]:
    """What `_metadata.json` says of each config."""
    configs: dict[str, Any] = json.loads(files(hub)["_metadata.json"])["configs"]
    return configs
