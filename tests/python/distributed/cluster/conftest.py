"""A cluster for all tests of this folder, which another pytest runs in a network of its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session", autouse=True)
def cluster() -> Iterator[Any]:
    """A node of four CPUs, to which this process is connected as a user's own."""
    import ray  # pytest reads this file where Ray is not installed, too

    for left in reversed(range(4)):
        try:
            ray.init(
                address="local",
                num_cpus=4,
                include_dashboard=False,
                object_store_memory=300_000_000,
                logging_level="ERROR",
            )
            break
        except Exception as error:  # Ray gives up after 30 s, which a busy machine may take
            ray.shutdown()
            if "timed out during startup" not in str(error) or left == 0:
                raise
    yield ray
    ray.shutdown()


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
