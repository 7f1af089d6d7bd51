"""The cluster of Ray that work goes to: found, or started here, and left or ended."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from easydata.core.config import RayConfig

_log = logging.getLogger("easydata")


@dataclass
class _OwnConnection:
    """The connection that was made here; nobody holds one where this process had it already."""

    holders: set[int] = field(default_factory=set)
    is_local: bool = False  # to a cluster that was started for it


_own = _OwnConnection()


def ray_library() -> Any:
    """The module `ray`, which is imported where it is needed.

    Raises:
        ImportError: It is not installed.
    """
    try:
        import ray
    except ImportError as error:
        if error.name != "ray":
            raise
        raise ImportError(
            "work on a cluster needs Ray, which is not installed: pip install ray; processes of "
            "this machine need none (SaveStageConfig.processes)",
            name="ray",
        ) from None
    return ray


def own_version() -> str:
    """The version of EasyData of this process, which its package's face alone knows."""
    return str(sys.modules["easydata"].__version__)


@dataclass(frozen=True)
class WorkerNeeds:
    """What of the cluster a worker takes.

    Attributes:
        amounts: By name, as Ray counts what a cluster has: CPU, GPU, memory (bytes that it sets
            aside), and resources that nodes were started with.
    """

    amounts: Mapping[str, float]

    @classmethod
    def of(cls, config: RayConfig) -> WorkerNeeds:
        """Those that a config names."""
        usual = {"CPU": 1, "GPU": 1 if config.use_gpu else 0}
        named = {**usual, **(config.resources_per_worker or {})}
        return cls({name: amount for name, amount in named.items() if amount})

    @property
    def threads(self) -> int:
        """Threads that it may work on."""
        return max(1, int(self.amounts.get("CPU", 0)))

    def options(self) -> dict[str, Any]:
        """The same, for tasks and actors of Ray."""
        others = dict(self.amounts)
        made = {"num_cpus": others.pop("CPU", 0), "num_gpus": others.pop("GPU", 0)}
        memory = {"memory": others.pop("memory")} if "memory" in others else {}
        return {**made, **memory, **({"resources": others} if others else {})}

    def __str__(self) -> str:
        return _shown(self.amounts)


class Cluster:
    """A connection to a cluster, as a config says.

    One that this process has already is used, and is there when the work is done; one that is made
    here ends with the last who holds it, and so does a cluster that is started for it.

    Raises:
        ValueError: The options do not fit the cluster.
        ConnectionError: There is no cluster at the address.
        ImportError: Ray is not installed.
    """

    def __init__(self, config: RayConfig) -> None:
        self.ray = ray_library()
        self.needs = WorkerNeeds.of(config)
        self._is_held = True
        is_own = not self.ray.is_initialized()
        if is_own:
            _own.holders.clear()
            _own.is_local = False
            self._connect(config)
        else:
            self._fit(config)
        if is_own or _own.holders:
            _own.holders.add(id(self))
        self._look_for_room()

    def _connect(self, config: RayConfig) -> None:
        address = config.address or "auto"
        if address != "local":
            try:
                self.ray.init(address=address, logging_level=logging.WARNING)
            except ConnectionError:
                if config.address is not None or os.environ.get("RAY_ADDRESS"):
                    raise
            else:
                if config.object_store_memory is not None:
                    found = self._address()
                    self.ray.shutdown()
                    raise _not_ours(found)
                return
        # Nobody is told of a cluster that was started for a job.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        self.ray.init(
            address="local",
            include_dashboard=False,
            object_store_memory=config.object_store_memory,
            logging_level=logging.WARNING,
        )
        _own.is_local = True
        _log.info("started Ray on this machine: %s", _shown(self.ray.cluster_resources()))

    def _fit(self, config: RayConfig) -> None:
        """Looks whether the connection that is there is one that the config can mean."""
        found = self._address()
        is_local = bool(_own.holders) and _own.is_local
        if config.object_store_memory is not None and not is_local:
            raise _not_ours(found)
        if config.address not in (None, "auto", found, "local" if is_local else None):
            raise ValueError(
                f"address: {config.address!r} is not where this process is connected to Ray "
                f"({found}); leave it out, or call ray.shutdown() before"
            )

    def _address(self) -> str:
        return str(self.ray.get_runtime_context().gcs_address)

    def _look_for_room(self) -> None:
        """Says of a worker that no node has room for that it may never start."""
        wanted = self.needs.amounts
        nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        if any(all(node.get(name, 0) >= wanted[name] for name in wanted) for node in nodes):
            return
        said = (
            f"resources_per_worker: a worker takes {self.needs}, and no node of the cluster "
            f"has as much; they have {'; '.join(_shown(node) for node in nodes) or 'nothing'}"
        )
        if _own.holders and _own.is_local:
            self.leave()
            raise ValueError(f"{said}. No worker could ever start: make them smaller")
        _log.warning("%s. Work waits until a larger one joins", said)

    def room(self) -> str:
        """What of the cluster is free now, for people."""
        return _shown(self.ray.available_resources())

    def leave(self) -> None:
        """Ends the connection, where it was made here and nobody else holds it."""
        if not self._is_held:
            return
        self._is_held = False
        if id(self) in _own.holders:
            _own.holders.discard(id(self))
            if not _own.holders and self.ray.is_initialized():
                self.ray.shutdown()


def _not_ours(address: str) -> ValueError:
    return ValueError(
        f"object_store_memory: the cluster runs already ({address}), with a store of its own; "
        'leave the option out, or start one for this job with address="local"'
    )


def _shown(resources: Mapping[str, float]) -> str:
    """Amounts for people, without what Ray adds of its own."""
    amounts = {
        name: f"{amount:g}"
        for name, amount in sorted(resources.items())
        if not name.startswith("node:") and name != "object_store_memory"
    }
    return ", ".join(f"{name} {amount}" for name, amount in amounts.items()) or "nothing"
