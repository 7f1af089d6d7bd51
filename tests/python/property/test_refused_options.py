"""An option that cannot be is refused, whatever the pipeline, by an error that names it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from build_pipeline import Data, loader_of
from easydata.transforms import LimitedShardedSource
from hypothesis import HealthCheck, given, settings
from pipeline_specs import PipelineSpec, SourceSpec, pipelines

from easydata import AsyncDataLoader, MixedShardedSource, PackedShardedSource

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
    ({"prefetch_workers": 0}, "prefetch_workers"),
    ({"prefetch_buffer_size": 0}, "prefetch_buffer|prefetch_batches"),
    ({"shuffle_buffer_size": 0}, "shuffle_buffer_size"),
    ({"seed": -1}, "seed"),
    ({"batch_rampup": {5: 0}}, "batch_rampup"),
    ({"batch_rampup": {-1: 2}}, "batch_rampup"),
    ({"padding": {"input_ids": 3}}, "padding"),
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
    ({"schedule_unit": "tokens"}, "schedule_unit"),
]
SOURCE: list[tuple[dict[str, Any], str]] = [
    ({"mode": "row"}, "mode"),
    ({"seed": -1}, "seed"),
    ({"mode": "rows", "window_bytes": 0}, "window_bytes"),
    ({"mode": "blocks", "window_bytes": 10}, "window_bytes"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return Data(tmp_path_factory.mktemp("refused"))


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


@pytest.mark.parametrize(("options", "what"), PACK)
def test_packers(source: Any, options: dict[str, Any], what: str) -> None:
    with pytest.raises(REFUSED) as error:
        PackedShardedSource(source, **{"seq_length": 8, "eos_token_id": 1, **options})
    says(error, what)


@pytest.mark.parametrize(("options", "what"), MIX)
def test_mixes(source: Any, options: dict[str, Any], what: str) -> None:
    with pytest.raises(REFUSED) as error:
        MixedShardedSource({"a": source, "b": source}, **options)
    says(error, what)


@pytest.mark.parametrize(("options", "what"), SOURCE)
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
        says(error, "loader|pack|mix|source|transforms|tokenize|order|shuffle|repeat")
        assert loader.state_dict() == before
