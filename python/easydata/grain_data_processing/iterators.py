"""Iterators over batches of global JAX arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from easydata.execution.async_loader import AsyncDataLoader
from easydata.grain_data_processing.configs import (
    AnyDataConfig,
    GrainArrayRecordsDataConfig,
    HFHubDataConfig,
    SyntheticDataConfig,
)
from easydata.grain_data_processing.llm_batch import LLMBatch, register_with_jax
from easydata.grain_data_processing.preprocess import (
    LOGGER,
    LLMRowDataset,
    Order,
    Overlong,
    mixed,
    preprocess_dataset,
)
from easydata.grain_data_processing.record_datasets import (
    RandomAccess,
    load_array_record_dataset,
    load_huggingface_dataset,
)

if TYPE_CHECKING:
    from easydata.grain_data_processing.global_arrays import GlobalBatchSharding

__all__ = [
    "MultiHostDataLoadIterator",
    "SyntheticDataIterator",
    "create_data_iterator",
    "create_mixed_data_iterator",
    "get_process_loading_data",
    "make_grain_iterator",
]

_TextDataConfig = HFHubDataConfig | GrainArrayRecordsDataConfig

# More than a pass has.
_MOST_STEPS = 1 << 40

# Fields that batches are made by: those of the first config count.
_OF_FIRST = (
    "global_batch_size",
    "worker_count",
    "worker_buffer_size",
    "drop_remainder",
    "batch_rampup_factors",
)


def make_grain_iterator(
    configs: _TextDataConfig | Sequence[_TextDataConfig],
    global_mesh: Any,
    process_indices: Sequence[int],
    dataset_weights: Sequence[float] | None = None,
    *,
    order: Order = "host",
    overlong: Overlong | None = None,
    exact: bool = False,
) -> MultiHostDataLoadIterator:
    """Loads datasets, mixes their rows, and hands out batches as global arrays.

    Batches never end; an epoch is a number of them, `iterator_length`: the documents of the largest
    dataset by its weight, divided by the global batch size. Where documents are packed there are
    more documents than rows, so such an epoch is several passes.

    Args:
        configs: One dataset, or several whose rows are mixed as Grain's `IterDataset.mix` does.
            Batch size, workers, remainder and ramp-up are those of the first; others that differ
            are warned of.
        global_mesh: A `jax.sharding.Mesh`; rows are split over all of its axes.
        process_indices: The processes that load data. This one's index among them is its host
            number.
        dataset_weights: Shares of the datasets; None: equal ones. Not looked at for one dataset.
        order: "host": the original's, which depends on the number of hosts; "global": one order of
            all documents, from whose states any number of hosts can resume.
        overlong: What becomes of documents that are longer than a row; see preprocess_dataset().
        exact: An epoch of one dataset is exactly the batches of one pass, which are counted when
            it begins (it is read for that), as each pass packs in an order of its own. With
            `max_steps_per_epoch`, it is exactly so many batches, after which the next epoch
            continues in the data. Else `max_steps_per_epoch` is a number of documents: so many
            batches' worth, the same ones in every epoch.

    Raises:
        ValueError: When rows cannot be split evenly over the hosts or devices; the message names
            the axes and sizes. For several datasets with `exact` and no `max_steps_per_epoch`.
        NotImplementedError: In a process that is not among `process_indices`.
    """
    # lazy: it imports jax, which not everybody has
    from easydata.grain_data_processing.global_arrays import GlobalBatchSharding, process_index

    several = [configs] if isinstance(configs, _TextDataConfig) else list(configs)
    if not several:
        raise ValueError("configs: there is no dataset")
    first = several[0]
    _check_together(several, exact, len(process_indices))
    if process_index() not in process_indices:
        raise NotImplementedError(
            f"process {process_index()} loads no data by process_indices={process_indices}; "
            "hosts that load none are not supported: choose a mesh with devices of each process"
        )
    host = list(process_indices).index(process_index())
    hosts = len(process_indices)
    counts_pass = exact and first.max_steps_per_epoch is None
    if first.worker_count > 0:
        LOGGER.info(
            "worker_count=%d needs no processes: the engine's threads do the work, and the order "
            "of batches is that of one worker",
            first.worker_count,
        )
    made = [
        _rows_of(config, host, hosts, order, overlong, exact, 1 if counts_pass else None)
        for config in several
    ]
    rows = made[0][0]
    weights = _shares(dataset_weights, len(several))
    if len(several) > 1:
        rows = mixed([each for each, _ in made], weights)
    dataset_size = max(
        int(len(data) / weight) for (_, data), weight in zip(made, weights, strict=True)
    )
    divided = dataset_size / first.global_batch_size
    length: int | None = math.floor(divided) if first.drop_remainder else math.ceil(divided)
    if exact:
        length = first.max_steps_per_epoch
    batches = _BatchSizes.of(first, hosts, order)
    ranks = (host, hosts) if order == "global" else (0, 1)
    sharding = GlobalBatchSharding(global_mesh)
    for size in batches.sizes(hosts, order):
        sharding.check(size)

    loader = AsyncDataLoader(
        rows,
        batch_size=batches.base,
        batch_rampup=batches.factors,
        drop_last=first.drop_remainder,
        rank=ranks[0],
        world_size=ranks[1],
        prefetch_buffer_size=max(1, first.worker_count) * first.worker_buffer_size,
    )
    return MultiHostDataLoadIterator(
        loader,
        sharding,
        iterator_length=length,
        dataset_size=dataset_size,
        identity={"order": order, **({} if order == "global" else {"hosts": hosts, "host": host})},
    )


def _check_together(configs: Sequence[_TextDataConfig], exact: bool, hosts: int) -> None:
    """Warns of fields that do not count, and refuses what cannot be counted."""
    first = configs[0]
    for config in configs[1:]:
        for name in _OF_FIRST:
            if getattr(config, name) != getattr(first, name):
                LOGGER.warning(
                    "%s of the first dataset counts, %r; that of %s, %r, does not",
                    name,
                    getattr(first, name),
                    config.name or "another one",
                    getattr(config, name),
                )
    if not exact or first.max_steps_per_epoch is not None:
        return
    if len(configs) > 1:
        raise ValueError(
            "exact=True counts the batches of one dataset; with several, which never end, set "
            "max_steps_per_epoch"
        )
    if first.grain_packing and not first.drop_remainder and hosts > 1:
        raise ValueError(
            "exact=True: the last batches of a pass over packed rows are smaller, and differ from "
            "host to host; set drop_remainder=True"
        )


def _rows_of(
    config: _TextDataConfig,
    host: int,
    hosts: int,
    order: Order,
    overlong: Overlong | None,
    exact: bool,
    num_epochs: int | None,
) -> tuple[LLMRowDataset, RandomAccess]:
    if config.max_target_length is None:
        raise ValueError("max_target_length: say how many tokens a row has")
    data: RandomAccess
    tokenize = True
    if isinstance(config, GrainArrayRecordsDataConfig):
        path = str(config.data_path).rstrip("/")
        data = load_array_record_dataset(
            f"{path}/{config.split}" if "://" in path else Path(path) / config.split
        )
        tokenize = config.tokenize_data
    else:
        data = load_huggingface_dataset(config)
    return preprocess_dataset(
        host,
        hosts,
        data,
        data_column_name=config.data_column,
        tokenize=tokenize,
        global_batch_size=config.global_batch_size,
        max_target_length=config.max_target_length,
        shuffle=config.shuffle_data,
        data_shuffle_seed=config.data_shuffle_seed,
        tokenizer_path=config.tokenizer_path,
        hf_access_token=config.hf_access_token,
        add_bos=config.add_bos,
        add_eos=config.add_eos,
        add_eod=config.add_eod,
        grain_packing=config.grain_packing,
        grain_packing_bin_count=config.grain_packing_bin_count,
        drop_remainder=config.drop_remainder,
        num_epochs=num_epochs,
        tokenizer_cache_dir=config.hf_cache_dir,
        max_steps_per_epoch=None if exact else config.max_steps_per_epoch,
        overlong=overlong,
        order=order,
        name=config.name or "",
    )


def _shares(weights: Sequence[float] | None, count: int) -> list[float]:
    if count == 1 or weights is None:
        return [1 / count] * count
    if len(weights) != count:
        raise ValueError(f"dataset_weights: {len(weights)} weights for {count} datasets")
    if any(weight <= 0 for weight in weights):
        raise ValueError(f"dataset_weights must all be above 0; they are {list(weights)}")
    return [weight / sum(weights) for weight in weights]


@dataclass(frozen=True)
class _BatchSizes:
    """The sizes of a loader's steps: multiples of one."""

    base: int
    factors: dict[int, int] | None

    @classmethod
    def of(cls, config: _TextDataConfig, hosts: int, order: Order) -> _BatchSizes:
        """Those of a config; a loader of one host's rows gives its share alone."""
        full = config.global_batch_size if order == "global" else config.global_batch_size // hosts
        if not config.batch_rampup_factors:
            return cls(full, None)
        sizes = {0: full}
        for step, factor in sorted(config.batch_rampup_factors.items()):
            size = int(full * factor)
            if size < 1:
                raise ValueError(
                    f"batch_rampup_factors: a batch must have rows; at step {step} the factor "
                    f"{factor} of {full} rows leaves none"
                )
            if order == "global" and size % hosts != 0:
                raise ValueError(
                    f"batch_rampup_factors: {size} rows, from step {step} on, cannot be split "
                    f"evenly over {hosts} hosts"
                )
            sizes[int(step)] = size
        base = math.gcd(*sizes.values())
        return cls(base, {step: size // base for step, size in sizes.items()})

    def sizes(self, hosts: int, order: Order) -> list[int]:
        """Rows that a host has of a batch, all sizes that there are."""
        factors = [1] if self.factors is None else list(self.factors.values())
        return [factor * self.base // (hosts if order == "global" else 1) for factor in factors]


class MultiHostDataLoadIterator(Iterator[LLMBatch]):
    """Batches of global arrays, epoch by epoch.

    `for batch in iterator` gives the rest of an epoch; the next `for` gives the next one. What was
    left of an epoch that was broken off is not repeated: the data continues where it was.

    Attributes:
        iterator_length: Batches of an epoch.
        dataset_size: Documents of an epoch.
    """

    def __init__(
        self,
        loader: AsyncDataLoader,
        sharding: GlobalBatchSharding,
        *,
        iterator_length: int | None,
        dataset_size: int,
        identity: Mapping[str, object],
    ) -> None:
        """Use make_grain_iterator().

        Args:
            loader: The loader of this host's rows, at their start.
            sharding: Puts them on the mesh.
            iterator_length: Batches of an epoch; None: those of each pass of the loader, counted
                when it begins.
            dataset_size: Documents of an epoch.
            identity: What a state must agree with beside the loader's own.
        """
        register_with_jax()
        self._loader = loader
        self._sharding = sharding
        self._counts = iterator_length is None
        self._steps_before = 0  # of the passes before the one that is counted
        self.iterator_length = iterator_length or 0
        self.dataset_size = dataset_size
        self._identity = dict(identity)
        self._step = 0
        self._is_restored = False
        self._batches = iter(self._loader)
        if self._counts:
            self._count_pass()

    def _count_pass(self) -> None:
        """Counts the batches of the pass that begins: each packs in an order of its own."""
        steps = self._loader._native.steps_up_to(_MOST_STEPS) - self._steps_before
        # Hosts with an order each may differ by a batch: all stop with the first one.
        self.iterator_length = self._sharding.least(steps)

    def __iter__(self) -> MultiHostDataLoadIterator:
        if not self._is_restored:
            self.reset()
        self._is_restored = False
        return self

    def __len__(self) -> int:
        return self.iterator_length

    def __repr__(self) -> str:
        name = type(self).__name__
        return f"{name}({self._step} of {self.iterator_length} batches, {self._loader!r})"

    def reset(self) -> None:
        """Begins the next epoch."""
        if self._step == 0:
            return
        done, self._step = self._step, 0
        if self._counts:
            # What was left, and what another host has no batch for.
            self._steps_before += done + sum(1 for _ in self._batches)
            self._batches = iter(self._loader)
            self._count_pass()

    def __next__(self) -> LLMBatch:
        if self._step >= self.iterator_length:
            raise StopIteration
        batch = next(self._batches)
        arrays = {name: self._sharding.put(values) for name, values in batch.items()}
        self._step += 1
        return LLMBatch(**arrays)

    def get_state(self) -> dict[str, Any]:
        """The position after the batch that was handed out last: JSON, at most a few KiB.

        Hosts of `order="host"` have one each; of `order="global"` all have the same.
        """
        return {
            **self._identity,
            "step": self._step,
            "iterator_length": self.iterator_length,
            **({"steps_before": self._steps_before} if self._counts else {}),
            "iterator": self._loader.state_dict(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state; the next `for` gives the rest of its epoch.

        Raises:
            ValueError: When it is of another order, number of hosts, host, epoch length or
                configuration; the message names which.
        """
        expected = dict(self._identity)
        if "iterator" not in state:
            shown = ", ".join(map(repr, state)) or "nothing"
            raise ValueError(
                f"this is not a state of such an iterator: it has {shown}; give what get_state() "
                "returned"
            )
        if not self._counts:
            expected["iterator_length"] = self.iterator_length
        elif "steps_before" not in state:
            raise ValueError(
                "the state is of an iterator without exact=True; resume with the "
                "configuration that it was saved with"
            )
        for name, value in expected.items():
            if state.get(name) == value:
                continue
            raise ValueError(
                f"the state is of {name}={state.get(name)!r}, this iterator of {name}={value!r}; "
                + (
                    "the original's order depends on the number of hosts: resume with as many, or "
                    'use order="global", from whose states any number of hosts can resume'
                    if name in ("hosts", "host")
                    else "resume with the configuration that the state was saved with"
                )
            )
        self._loader.load_state_dict(state["iterator"])
        self._batches = iter(self._loader)
        self._step = int(state["step"])
        if self._counts:
            self._steps_before = int(state["steps_before"])
            self.iterator_length = int(state["iterator_length"])
        self._is_restored = True

    state_dict = get_state
    load_state_dict = set_state

    def close(self) -> None:
        """Ends the loader's threads."""
        self._loader.close()

    def __enter__(self) -> MultiHostDataLoadIterator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SyntheticDataIterator(Iterator[LLMBatch]):
    """Batches of zeros on the devices, `num_batches` an epoch, all of them tokens."""

    def __init__(self, config: SyntheticDataConfig, mesh: Any) -> None:
        # lazy: it imports jax, which not everybody has
        from easydata.grain_data_processing.global_arrays import GlobalBatchSharding

        register_with_jax()
        if config.max_target_length is None:
            raise ValueError("max_target_length: say how many tokens a row has")
        self.config = config
        hosts = len(get_process_loading_data(config, mesh))
        sharding = GlobalBatchSharding(mesh)
        if config.global_batch_size % hosts != 0:
            raise ValueError(
                f"global_batch_size: {config.global_batch_size} rows cannot be split evenly over "
                f"{hosts} hosts"
            )
        rows = config.global_batch_size // hosts
        sharding.check(rows)
        sample = LLMBatch.get_sample(rows, config.max_target_length)
        self._batch = LLMBatch(
            **{name: sharding.put(array) for name, array in sample.arrays().items()}
        )
        self._step = 0

    def __iter__(self) -> SyntheticDataIterator:
        self._step = 0
        return self

    def __len__(self) -> int:
        return self.config.num_batches

    def __next__(self) -> LLMBatch:
        if self._step >= self.config.num_batches:
            raise StopIteration
        self._step += 1
        return self._batch

    def get_state(self) -> dict[str, Any]:
        """Nothing: every batch is the same."""
        return {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Takes what get_state() gave."""
        if state:
            raise ValueError("a synthetic iterator has no state; this one is of another iterator")


def get_process_loading_data(config: AnyDataConfig, mesh: Any) -> list[int]:
    """The processes that hold a part of a batch, in the order of their parts.

    Args:
        config: The dataset; each of its batches is split over all axes of the mesh.
        mesh: A `jax.sharding.Mesh`.
    """
    return list(dict.fromkeys(device.process_index for device in mesh.devices.flat))


def create_data_iterator(
    config: AnyDataConfig, mesh: Any
) -> MultiHostDataLoadIterator | SyntheticDataIterator:
    """The iterator of a config.

    Args:
        config: The dataset.
        mesh: A `jax.sharding.Mesh`.
    """
    if isinstance(config, SyntheticDataConfig):
        return SyntheticDataIterator(config, mesh)
    return make_grain_iterator(config, mesh, get_process_loading_data(config, mesh))


def create_mixed_data_iterator(
    configs: Sequence[_TextDataConfig],
    mesh: Any,
    dataset_weights: Sequence[float] | None = None,
) -> MultiHostDataLoadIterator:
    """The iterator of several datasets, mixed by their weights.

    Args:
        configs: The datasets.
        mesh: A `jax.sharding.Mesh`.
        dataset_weights: Their shares; None: equal ones.
    """
    processes = get_process_loading_data(configs[0], mesh)
    return make_grain_iterator(configs, mesh, processes, dataset_weights)
