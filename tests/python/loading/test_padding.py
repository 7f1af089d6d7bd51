"""Columns with a value for each token are padded alike, or it is said."""

from typing import Any

import pytest
from easydata.core.config_class import ConfigError

from easydata import AsyncDataLoader, HFDatasetShardedSource, LoadStageConfig, PadSpec, Pipeline

ROWS = [
    {"input_ids": [1] * n, "attention_mask": [1] * n, "labels": [1] * n, "tags": [7] * (n % 2)}
    for n in (3, 16, 9, 4)
]


def batch_of(padding: Any) -> dict[str, Any]:
    with AsyncDataLoader(HFDatasetShardedSource(ROWS), 4, padding=padding) as loader:
        return next(iter(loader))


@pytest.mark.parametrize(
    ("padding", "other"),
    [
        ({"input_ids": PadSpec(length=64)}, "attention_mask"),
        ({"input_ids": {"length": 64}}, "attention_mask"),
        ({"input_ids": PadSpec(length=[8, 64])}, "attention_mask"),
        ({"input_ids": PadSpec(side="left")}, "attention_mask"),
        ({"attention_mask": PadSpec(length=64)}, "input_ids"),
        ({"input_ids": PadSpec(length=64), "attention_mask": PadSpec(length=64)}, "labels"),
    ],
)
def test_one_of_several_columns_is_not_padded_alone(padding: Any, other: str) -> None:
    with pytest.raises(ValueError, match=rf"padding: .* and '{other}', which has as many values"):
        batch_of(padding)


def test_all_of_them_are() -> None:
    every = {name: PadSpec(length=64) for name in ("input_ids", "attention_mask", "labels")}
    batch = batch_of(every)
    assert {batch[name].shape for name in every} == {(4, 64)}
    assert batch["tags"].shape == (4, 1)  # of other lengths: not asked
    assert batch_of({"input_ids": PadSpec(value=-1)})["input_ids"].shape == (4, 16)
    assert batch_of({"input_ids": PadSpec(length=16)})["attention_mask"].shape == (4, 16)


def test_options_of_a_pad_spec_are_known() -> None:
    with pytest.raises(ConfigError, match=r"padding\['input_ids'\].*'len'.*length"):
        batch_of({"input_ids": {"len": 64}})
    load = LoadStageConfig(batch_size=4, padding={"input_ids": {"lenght": 64}})
    chain = Pipeline.from_config({"datasets": [{"data_files": ROWS}], "load": load}).source()
    with pytest.raises(ConfigError, match=r'"length"'):
        chain.load()
