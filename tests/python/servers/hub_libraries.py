"""Fixtures: a Hub of the test's own, and the libraries of this process pointed at it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_server import HubServer


@pytest.fixture
def hub() -> Iterator[HubServer]:
    """A Hub without repositories; the test fails where a token reached its store."""
    with HubServer() as server:
        yield server
    server.check()


@pytest.fixture
def hub_here(hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HubServer:
    """The same, which huggingface_hub, datasets and transformers ask as if it were the real one.

    No token is known but those that are given. A process started anew needs only
    `hub.environment(home)`.
    """
    point_at(hub, tmp_path / "hf", monkeypatch)
    return hub


def point_at(hub: HubServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points the libraries of this process at a Hub, with all their caches under `home`.

    They read the environment when they are imported, which they may have been long ago.
    """
    huggingface_hub = pytest.importorskip("huggingface_hub", minversion="2.0")
    from huggingface_hub import constants, hf_api

    for name, value in hub.environment(home).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
    template = hub.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HOME", str(home))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
    monkeypatch.setattr(constants, "HF_XET_CACHE", str(home / "xet"))
    monkeypatch.setattr(constants, "HF_ASSETS_CACHE", str(home / "assets"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
    monkeypatch.setattr(constants, "HF_STORED_TOKENS_PATH", str(home / "stored_tokens"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setattr(hf_api.api, "endpoint", hub.endpoint)
    huggingface_hub.HfFileSystem.clear_instance_cache()  # they remember what they listed
    if (transformers := sys.modules.get("transformers.utils.hub")) is not None:
        monkeypatch.setattr(transformers, "_hf_api", None)  # made once, for the Hub of that time
    _point_datasets_at(hub, home, monkeypatch)


def _point_datasets_at(hub: HubServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        import datasets
    except ImportError:
        return
    files = "/datasets/{repo_id}/resolve/{revision}/{path}"
    for name, value in {
        "HF_ENDPOINT": hub.endpoint,
        "HUB_DATASETS_URL": hub.endpoint + files,
        "HF_CACHE_HOME": str(home),
        "HF_DATASETS_CACHE": home / "datasets",
        "HF_MODULES_CACHE": home / "modules",
        "DOWNLOADED_DATASETS_PATH": home / "datasets" / "downloads",
        "EXTRACTED_DATASETS_PATH": home / "datasets" / "downloads" / "extracted",
        "HF_HUB_OFFLINE": False,
        "HF_DATASETS_OFFLINE": False,
    }.items():
        assert hasattr(datasets.config, name), name
        monkeypatch.setattr(datasets.config, name, value)
