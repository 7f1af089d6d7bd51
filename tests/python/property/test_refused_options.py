"""An option that cannot be is refused, whatever the pipeline, by an error that names it."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from build_pipeline import Data, loader_of
from easydata.transforms import LimitedShardedSource
from hypothesis import HealthCheck, given, settings
from pipeline_specs import PipelineSpec, SourceSpec, pipelines

from easydata import (
    AsyncDataLoader,
    MixedShardedSource,
    PackedShardedSource,
    PadSpec,
    WeightScheduler,
)

LOADER: list[Any] = [
    ({"batch_size": 0}, "batch_size"),
    ({"batch_size": -3}, "batch_size"),
    ({"batch_size": 7, "world_size": 2}, "batch_size|world_size"),
    ({"world_size": 0}, "world_size"),
    ({"rank": 1}, "rank"),
    ({"rank": -1}, "rank"),
    ({"lanes": 0}, "lanes"),
    ({"lanes": 4, "batch_size": 6, "steps": 1}, "batch_size|lanes"),
    ({"steps": 0}, "steps"),
    ({"steps": 2, "epochs": 2}, "epochs|steps"),
    ({"epochs": 0}, "epochs"),
    ({"num_threads": -1}, "num_threads"),
    ({"num_threads": 0}, r"^num_threads: must be at least 1 \(None: one for each core\), not 0$"),
    ({"prefetch_workers": 0}, "prefetch_workers"),
    ({"prefetch_buffer_size": 0}, "prefetch_buffer|prefetch_batches"),
    ({"shuffle_buffer_size": 0}, "shuffle_buffer_size"),
    ({"seed": -1}, "seed"),
    ({"batch_rampup": {5: 0}}, "batch_rampup"),
    ({"batch_rampup": {-1: 2}}, "batch_rampup"),
    ({"padding": {"input_ids": 3}}, "padding"),
]
TYPES: list[tuple[dict[str, Any], str]] = [
    ({"batch_size": "4"}, "^batch_size: must be a whole number, not '4'$"),
    ({"batch_size": 4.0}, r"^batch_size: must be a whole number, not 4\.0$"),
    ({"batch_size": None}, "^batch_size: must be a whole number, not None$"),
    ({"batch_size": 2**70}, "^batch_size: must be from .* to 9223372036854775807, not 1180"),
    ({"batch_size": 10**5000}, "^batch_size: must be from .*, not a value of type int$"),
    ({"batch_size": "9" * 200}, r"^batch_size: must be a whole number, not '9{79}\.\.\. \(str\)$"),
    ({"drop_last": "no"}, "^drop_last: must be True or False, not 'no'$"),
    ({"rank": "0"}, "^rank: must be a whole number, not '0'$"),
    ({"world_size": "2"}, "^world_size: must be a whole number, not '2'$"),
    ({"lanes": 2.0}, r"^lanes: must be a whole number, not 2\.0$"),
    ({"lanes": True}, "^lanes: must be a whole number, not True$"),
    ({"epochs": 1.0}, r"^epochs: must be a whole number, not 1\.0$"),
    ({"steps": 1.5}, r"^steps: must be a whole number, not 1\.5$"),
    ({"num_threads": 2.0}, r"^num_threads: must be a whole number, not 2\.0$"),
    ({"num_threads": 2**40}, "^num_threads: must be from .* to 2147483647, not 1099511627776$"),
    ({"prefetch_enabled": 1}, "^prefetch_enabled: must be True or False, not 1$"),
    ({"prefetch_workers": "2"}, "^prefetch_workers: must be a whole number, not '2'$"),
    ({"prefetch_buffer_size": 1.5}, r"^prefetch_buffer_size: must be a whole number, not 1\.5$"),
    ({"shuffle_buffer_size": "8"}, "^shuffle_buffer_size: must be a whole number, not '8'$"),
    ({"seed": 2**64}, "^seed: must be from 0 to 18446744073709551615, not 18446744073709551616$"),
    ({"seed": -1}, "^seed: must be from 0 to 18446744073709551615, not -1$"),
    ({"seed": "1"}, "^seed: must be a whole number, not '1'$"),
    ({"batch_rampup": {"a": 2}}, "^batch_rampup, a step: must be a whole number, not 'a'$"),
    ({"batch_rampup": {5: 1.5}}, r"^batch_rampup\[5\]: must be a whole number, not 1\.5$"),
    ({"batch_rampup": 3}, "^batch_rampup: must be a mapping, not 3$"),
    ({"padding": ["ids"]}, r"^padding: must be a mapping, not \['ids'\]$"),
    ({"padding": {"ids": 3}}, r"^padding\['ids'\]: must be a PadSpec, not 3$"),
    ({"padding": {3: PadSpec()}}, "^padding, a column: must be a string, not 3$"),
    (
        {"padding": {"ids": PadSpec(length=[4, "x"])}},  # type: ignore[list-item]
        r"^padding\['ids'\]\.length: must be a whole number, not 'x'$",
    ),
    ({"padding": {"ids": PadSpec("x")}}, r"^padding\['ids'\]\.value: must be a number, not 'x'$"),
    (
        {"padding": {"ids": PadSpec(length=2.5)}},
        r"^padding\['ids'\]\.length: must be a whole number, not 2\.5$",
    ),
]
PACK: list[Any] = [
    ({"seq_length": 0}, "seq_length"),
    ({"seq_length": 1}, "seq_length"),
    ({"eos_token_id": -1}, "eos_token_id"),
    ({"pad_token_id": 2**40}, "pad_token_id"),
    ({"strategy": "best"}, "strategy"),
    ({"overlong": "cut"}, "overlong"),
    ({"strategy": "pool", "num_packers": 0}, "num_packers"),
    ({"strategy": "first_fit", "pack_window": 0}, "pack_window"),
    ({"shuffle_buffer_factor": 0}, "shuffle_buffer_factor"),
    ({"seed": -1}, "seed"),
]
MIX: list[tuple[dict[str, Any], str]] = [
    ({"block_size": 0}, "block_size"),
    ({"seed": -1}, "seed"),
    ({"stop_strategy": "never"}, "stop"),
    ({"weights": {"a": 1.0}}, "weight|missing"),
    ({"weights": {"a": 1.0, "b": -1.0}}, "weight"),
    ({"weights": {"a": 0.0, "b": 0.0}}, "weight"),
    ({"weights": {"a": float("nan"), "b": 1.0}}, "weight"),
    ({"unit": "bytes"}, "unit"),
    ({"order": "rows"}, "order"),
    ({"order": "grain", "unit": "tokens"}, 'order="grain".*unit="tokens"'),
    ({"order": "grain", "weights": {"a": 0.0, "b": 1.0}}, 'order="grain".*weight'),
    ({"schedule_unit": "tokens"}, "schedule_unit"),
]
PACK_TYPES: list[tuple[dict[str, Any], str]] = [
    ({"seq_length": "x"}, "^seq_length: must be a whole number, not 'x'$"),
    ({"seq_length": 2**40}, "^seq_length: must be from .* to 2147483647, not 1099511627776$"),
    ({"eos_token_id": 0.0}, r"^eos_token_id: must be a whole number, not 0\.0$"),
    ({"pad_token_id": 0.0}, r"^pad_token_id: must be a whole number, not 0\.0$"),
    ({"strategy": None}, ": strategy must be .+, not None$"),
    ({"num_packers": "4"}, "^num_packers: must be a whole number, not '4'$"),
    ({"include_segment_ids": 1}, "^include_segment_ids: must be True or False, not 1$"),
    ({"input_field": 3}, ": input_field must be .+, not 3$"),
    ({"shuffle": "no"}, "^shuffle: must be True or False, not 'no'$"),
    ({"shuffle_buffer_factor": None}, "^shuffle_buffer_factor: must be a whole number, not None$"),
    ({"shuffle_buffer_factor": 2**62}, "^shuffle_buffer_factor: so many rows cannot be counted$"),
    ({"seed": "a"}, "^seed: must be a whole number, not 'a'$"),
    ({"seed": -1}, "^seed: must be from 0 to 18446744073709551615, not -1$"),
    ({"overlong": None}, ": overlong must be .+, not None$"),
    ({"token_fields": "labels"}, "^token_fields: must be a collection of names .*, not 'labels'$"),
    ({"token_fields": [3]}, r": token_fields\[0\] must be text, not 3$"),
    ({"pack_window": 1.5}, r"^pack_window: must be a whole number, not 1\.5$"),
    ({"balance_groups": "2"}, "^balance_groups: must be a whole number, not '2'$"),
]
MIX_TYPES: list[tuple[dict[str, Any], str]] = [
    ({"weights": {"a": "x", "b": 1.0}}, r"^weights\['a'\]: must be a number, not 'x'$"),
    ({"weights": [1.0, None]}, r"^weights\['b'\]: must be a number, not None$"),
    ({"weights": 3}, "^weights: must be a mapping or a list, .*, not 3$"),
    ({"weights": "ab"}, "^weights: must be a mapping or a list, .*, not 'ab'$"),
    ({"block_size": 1.5}, r"^block_size: must be a whole number, not 1\.5$"),
    ({"block_size": None}, "^block_size: must be a whole number, not None$"),
    ({"seed": "a"}, "^seed: must be a whole number, not 'a'$"),
    ({"stop_strategy": None}, ": stop_strategy must be .+, not None$"),
    ({"weight_scheduler": 3}, "^weight_scheduler: must be a WeightScheduler, not 3$"),
    ({"schedule_unit": None}, ": schedule_unit must be .+, not None$"),
    ({"unit": None}, ": unit must be .+, not None$"),
    ({"order": 3}, ": order must be .+, not 3$"),
]
SCHEDULE_TYPES: list[tuple[Any, Any, Any, str]] = [
    (1.5, 1.0, "step", r"^a schedule's step: must be a whole number, not 1\.5$"),
    (0, "x", "step", r"^weights\['a'\]: must be a number, not 'x'$"),
    (0, 1.0, None, ": interpolation must be .+, not None$"),
]
SOURCE_TYPES: list[tuple[dict[str, Any], str]] = [
    ({"mode": None}, ": mode must be .+, not None$"),
    ({"mode": "rows", "seed": "1"}, "^seed: must be a whole number, not '1'$"),
    ({"mode": "rows", "seed": ""}, "^seed: must be a whole number, not ''$"),
    ({"mode": "rows", "seed": 2**64}, "^seed: must be from 0 to 1844.*, not 18446744073709551616$"),
    (
        {"mode": "rows", "window_bytes": "64MB"},
        "^window_bytes: must be a whole number, not '64MB'$",
    ),
]
SOURCE: list[tuple[dict[str, Any], str]] = [
    ({"mode": "row"}, "mode"),
    ({"seed": -1}, "seed"),
    ({"mode": "rows", "window_bytes": 0}, "window_bytes"),
    ({"mode": "blocks", "window_bytes": 10}, "window_bytes"),
    ({"mode": "grain", "seed": 2**32}, "seed"),
]


@pytest.fixture(scope="module")
def source(data: Data) -> Any:
    from build_pipeline import one_source

    return one_source(SourceSpec(kind="parquet"), data)


def says(error: pytest.ExceptionInfo[Exception], what: str) -> None:
    """The error is a sentence about the option, and not the C++ binding's list of signatures."""
    assert error.match(what)
    assert len(str(error.value).split()) >= 4
    assert "incompatible function arguments" not in str(error.value)


REFUSED = (ValueError, TypeError, NotImplementedError, KeyError)


@pytest.mark.parametrize(("options", "what"), LOADER)
def test_loaders(source: Any, options: dict[str, Any], what: str) -> None:
    with pytest.raises(REFUSED) as error:
        AsyncDataLoader(source, **options).close()
    says(error, what)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("options", "what"), TYPES)
def test_types_of_loaders(source: Any, options: dict[str, Any], what: str, packed: bool) -> None:
    # A packer is told of batch sizes before the loader is made.
    given = PackedShardedSource(source, seq_length=8, eos_token_id=1) if packed else source
    with pytest.raises((TypeError, ValueError)) as error:
        AsyncDataLoader(given, **options).close()
    says(error, what)


def test_numbers_of_numpy_are_whole_numbers(source: Any) -> None:
    two = np.int32(2)
    options: dict[str, Any] = {"batch_size": two, "seed": two, "num_threads": two, "epochs": two}
    rampup = {np.int64(1): two}
    with AsyncDataLoader(source, batch_rampup=rampup, **options) as loader:
        assert len(next(iter(loader))["input_ids"]) == 2
        assert len(loader.at(np.int64(1))["input_ids"]) == 4


def test_positions_of_loaders(source: Any) -> None:
    with AsyncDataLoader(source, batch_size=2) as loader:
        state = loader.state_dict()
        calls: list[tuple[Any, str]] = [
            (lambda: loader.at(1.5), r"^step: must be a whole number, not 1\.5$"),
            (lambda: loader.at(2**70), "^step: must be from .*, not 1180591620717411303424$"),
            (
                lambda: loader.load_state_dict({**state, "step": 2**70}),
                r"^state\['step'\]: must be a number of at most 64 bits, not 118059162071741130",
            ),
            (
                lambda: loader.load_state_dict({**state, "cursor": [0, {1, 2}]}),
                r"^state\['cursor'\]\[1\]: JSON cannot hold a value of type set$",
            ),
            (
                lambda: loader.load_state_dict(None),
                r"^state: must be what state_dict\(\) returned, not None$",
            ),
            (
                lambda: loader.load_state_dict(state, allow="mix"),
                "^allow: must be a collection of names such as .*, not 'mix'$",
            ),
            (
                lambda: loader.load_state_dict(state, allow=(3,)),
                r": allow\[0\] must be text, not 3$",
            ),
        ]
        for call, what in calls:
            with pytest.raises((TypeError, ValueError)) as error:
                call()
            says(error, what)
        assert loader.state_dict() == state
        loader.load_state_dict(MappingProxyType(state), allow=iter(["mix"]))


@pytest.mark.parametrize(("options", "what"), [*PACK, *PACK_TYPES])
def test_packers(source: Any, options: dict[str, Any], what: str) -> None:
    with pytest.raises(REFUSED) as error:
        PackedShardedSource(source, **{"seq_length": 8, "eos_token_id": 1, **options})
    says(error, what)


@pytest.mark.parametrize(("options", "what"), [*MIX, *MIX_TYPES])
def test_mixes(source: Any, options: dict[str, Any], what: str) -> None:
    with pytest.raises(REFUSED) as error:
        MixedShardedSource({"a": source, "b": source}, **options)
    says(error, what)


@pytest.mark.parametrize(("step", "weight", "interpolation", "what"), SCHEDULE_TYPES)
def test_schedules(step: Any, weight: Any, interpolation: Any, what: str) -> None:
    point = SimpleNamespace(step=step, weights={"a": weight})
    with pytest.raises(REFUSED) as error:
        WeightScheduler([point], interpolation)
    says(error, what)


@pytest.mark.parametrize(("options", "what"), [*SOURCE, *SOURCE_TYPES])
def test_shuffles(source: Any, options: dict[str, Any], what: str) -> None:
    with pytest.raises(REFUSED) as error:
        source.shuffle(**options)
    says(error, what)


def test_limits(source: Any) -> None:
    with pytest.raises(ValueError, match="max_rows"):
        LimitedShardedSource(source, -1)


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(one=pipelines(), other=pipelines())
def test_a_state_of_another_pipeline_is_refused(
    data: Data, one: PipelineSpec, other: PipelineSpec
) -> None:
    """Unless the two differ in nothing that determines the rows."""
    other = replace(other, load=replace(other.load, batch_size=one.load.batch_size + 1, rampup=()))
    if other.pack is not None:
        other = replace(other, pack=replace(other.pack, balance_groups=1))
    with loader_of(one, data) as loader:
        state = loader.state_dict()
    with loader_of(other, data) as loader:
        before = loader.state_dict()
        with pytest.raises(ValueError) as error:
            loader.load_state_dict(state)
        says(
            error,
            "loader|pack|mix|source|concat|limit|map|filter|expand|select|drop|rename|tokenize|order|shuffle|repeat",
        )
        assert loader.state_dict() == before
