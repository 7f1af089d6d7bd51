"""The rows of small_files.py as a private data set on a stub of the Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from faults import Asked
from hub_server import HubServer
from served_files import HASTY

from easydata import DatasetConfig, create_source


class HubFiles:
    """A data set on the Hub, whose files lie in the store, but for one that the Hub serves."""

    def __init__(self, hub: HubServer, folder: Path) -> None:
        self.hub = hub
        self.token = hub.token("ann", "read", orgs=["org"])
        data = {path.name: path.read_bytes() for path in folder.iterdir()}
        data["small/lines.jsonl"] = data["rows.jsonl"]
        self.repo = hub.repo("datasets", "org/name", data, private=True, lfs=["rows.*"])
        self.options: dict[str, Any] = {**HASTY, "token": self.token}

    def address(self, name: str, revision: str = "") -> str:
        return f"hf://datasets/org/name{revision}/{name}"

    def source(self, name: str, **options: Any) -> Any:
        given = {**self.options, **options}
        return create_source(DatasetConfig(self.address(name), storage_options=given))

    def read(self, name: str, **options: Any) -> list[Any]:
        return list(self.source(name, **options))

    @property
    def faults(self) -> list[Asked]:
        return [each for each in self.hub.log if each.fault is not None]

    def check_secrets(self, *texts: object) -> None:
        """No text has the token, or what was signed."""
        for text in texts:
            for secret in (self.token, "X-Amz-Signature", "X-Amz-", "xet-bridge", "localhost"):
                assert secret not in str(text) + repr(text), secret
