"""A step of a weight schedule is the loader's, wherever the rows go; windows do not blur it."""

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from easydata.cli import main
from easydata.core.config import ConfigError, WeightSchedulePoint

from easydata import (
    AsyncDataLoader,
    DatasetConfig,
    HFDatasetShardedSource,
    LoadStageConfig,
    MixedShardedSource,
    MixStageConfig,
    PackedShardedSource,
    PackStageConfig,
    ParquetShardedSource,
    Pipeline,
    PipelineConfig,
    SaveStageConfig,
    WeightScheduler,
    save_dataset,
)

SEQ = 64
DATA = {
    name: [{"input_ids": [token] * (5 + n % 13)} for n in range(4000)]
    for name, token in (("code", 11), ("prose", 22))
}
POINTS = [
    WeightSchedulePoint(0, {"code": 0.8, "prose": 0.2}),
    WeightSchedulePoint(60, {"code": 0.2, "prose": 0.8}),
]


def config(**options: Any) -> PipelineConfig:
    mix = {"weight_schedule_type": "linear", **options.pop("mix", {})}
    return PipelineConfig(
        datasets=[DatasetConfig(rows, name=name) for name, rows in DATA.items()],
        mix=MixStageConfig(
            weight_schedule=POINTS,
            stop_strategy="first_exhausted",
            unit="tokens",
            block_size=20,
            **mix,
        ),
        pack=PackStageConfig(seq_length=SEQ, eos_token_id=1, **options.pop("pack", {})),
        **options,
    )


def packed(options: PipelineConfig) -> Any:
    return Pipeline.from_config(options).source().tokenize().mix().pack()


def shares(rows: np.ndarray[Any, Any], batch: int, steps: int) -> list[float]:
    """The share of code in each so many steps."""
    rows = rows[: len(rows) // (batch * steps) * batch * steps]
    parts = rows.reshape(-1, batch * steps * SEQ)
    return [float((part == 11).sum() / np.isin(part, (11, 22)).sum()) for part in parts]


def streamed(options: PipelineConfig) -> np.ndarray[Any, Any]:
    with packed(options).load().build() as loader:
        return np.concatenate([batch["input_ids"] for batch in loader])


def saved(options: PipelineConfig, folder: Path) -> np.ndarray[Any, Any]:
    options.save = SaveStageConfig(output_dir=str(folder))
    packed(options).save().build()
    rows = ParquetShardedSource(str(folder / "*.parquet"))
    return np.array([row["input_ids"] for row in rows])


@pytest.mark.parametrize("batch", [2, 8])
def test_saved_rows_are_those_that_are_streamed(tmp_path: Path, batch: int) -> None:
    load = LoadStageConfig(batch_size=batch, drop_last=False)
    rows = streamed(config(load=load))
    assert (saved(config(load=load), tmp_path / "out") == rows).all()


def test_another_step_is_another_output(tmp_path: Path) -> None:
    made = {}
    for batch in (2, 8):
        made[batch] = saved(config(load=LoadStageConfig(batch_size=batch)), tmp_path / str(batch))
    assert made[2].shape != made[8].shape or (made[2] != made[8]).any()
    rampup = LoadStageConfig(batch_size=2, batch_rampup={0: 1, 20: 4}, drop_last=False)
    assert (saved(config(load=rampup), tmp_path / "ramp") == streamed(config(load=rampup))).all()
    # A job of other steps does not go on with the shards of this one.
    with pytest.raises(FileExistsError):
        saved(config(load=LoadStageConfig(batch_size=4)), tmp_path / "8")


def test_steps_that_nobody_set_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"set load\.batch_size.* or mix\.schedule_unit: examples"
    ):
        saved(config(), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    # The default is a number like others where somebody writes it.
    assert len(saved(config(load=LoadStageConfig(batch_size=8)), tmp_path / "set")) > 0
    assert len(saved(config(mix={"schedule_unit": "examples"}), tmp_path / "examples")) > 0
    plain = PipelineConfig(
        **{**vars(config()), "mix": MixStageConfig(stop_strategy="first_exhausted")}
    )
    assert len(saved(plain, tmp_path / "plain")) > 0


def test_the_same_file_feeds_both(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, rows in DATA.items():
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = {
        "datasets": [{"data_files": f"{name}.jsonl", "name": name} for name in DATA],
        "mix": {
            "weight_schedule": [{"step": p.step, "weights": dict(p.weights)} for p in POINTS],
            "weight_schedule_type": "linear",
            "stop_strategy": "first_exhausted",
            "unit": "tokens",
        },
        "pack": {"seq_length": SEQ, "eos_token_id": 1},
        "save": {"output_dir": "out"},
    }
    Path("p.yaml").write_text(yaml.safe_dump(options))
    assert main(["pack", "--config", "p.yaml"]) == 2
    assert "set load.batch_size" in capsys.readouterr().err
    Path("p.yaml").write_text(yaml.safe_dump({**options, "load": {"batch_size": 8}}))
    assert main(["pack", "--config", "p.yaml", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["datasets"]["mixed"]
    assert told["mix_end"]["ended_by"] in DATA
    loaded = streamed(PipelineConfig.from_file("p.yaml"))
    assert len(loaded) == told["rows"] // 8 * 8


def test_a_ramp_comes_out_as_it_is_written() -> None:
    """Packed rows are shuffled within a tenth of it, not within a window of 125 steps."""
    batch = 8
    for shuffle in (True, False):
        options = config(load=LoadStageConfig(batch_size=batch), pack={"shuffle_packed": shuffle})
        found = shares(streamed(options), batch, 10)
        expected = [0.8 - 0.1 * step for step in range(6)]
        assert len(found) >= 6
        for step, share in enumerate(expected):
            # The mean over its ten steps, less half a step's rise; blocks are read at their start.
            assert abs(found[step] - (share - 0.05)) < 0.09, (shuffle, step, found)
    unshuffled = streamed(
        config(load=LoadStageConfig(batch_size=batch), pack={"shuffle_packed": False})
    )
    shuffled = streamed(config(load=LoadStageConfig(batch_size=batch)))
    window = 60 // 10 * batch
    assert (shuffled[:window] != unshuffled[:window]).any()
    for first in range(0, len(shuffled) // window * window, window):
        mine, theirs = (
            sorted(map(bytes, rows[first : first + window])) for rows in (shuffled, unshuffled)
        )
        assert mine == theirs, "a window of 6 steps has the rows of these steps"


@pytest.mark.parametrize(
    ("pack", "load", "said"),
    [
        ({}, {}, None),
        ({}, {"shuffle_buffer_size": 1000}, r"1,000 rows \(shuffle_buffer_size\) is 125 steps"),
        ({}, {"shuffle_buffer_size": 48}, None),
        ({"strategy": "best_fit", "pack_window": 50}, {}, None),
        ({"strategy": "best_fit"}, {}, r"1,000 documents \(pack_window\) is about \d+ steps"),
    ],
)
def test_windows_that_blur_it_are_said(
    caplog: pytest.LogCaptureFixture, pack: Any, load: Any, said: str | None
) -> None:
    caplog.set_level(logging.WARNING, "easydata")
    packed(config(pack=pack, load=LoadStageConfig(batch_size=8, **load))).load().build().close()
    told = [record.getMessage() for record in caplog.records if "ramp" in record.getMessage()]
    assert len(told) == (said is not None), told
    if said is not None:
        import re

        assert re.search(said, told[0])
        assert "shortest ramp has 60" in told[0]
        assert "=48 keeps" in told[0] or "pack_window=" in told[0]


def test_a_mix_by_itself_counts_examples_and_says_so(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.WARNING, "easydata")

    def mixed(unit: str) -> MixedShardedSource:
        sources = {name: HFDatasetShardedSource(rows) for name, rows in DATA.items()}
        return MixedShardedSource(
            sources,
            weight_scheduler=WeightScheduler(POINTS, "linear"),
            schedule_unit=unit,
            stop_strategy="first_exhausted",
            block_size=10,
        )

    steps, examples = mixed("steps"), mixed("examples")
    picks = [row["__source__"] for row in examples]
    assert [record.getMessage() for record in caplog.records] == []
    assert [row["__source__"] for row in steps] == picks
    list(steps)
    (told,) = [record.getMessage() for record in caplog.records]
    assert "each example counts as a step" in told
    save_dataset(mixed("steps"), tmp_path / "out")
    assert len(caplog.records) == 2
    with AsyncDataLoader(mixed("steps"), 8) as loader:
        next(iter(loader))
    assert len(caplog.records) == 2


def test_an_edit_may_bring_a_schedule() -> None:
    """A window that was begun with another bound keeps it."""

    def loader(*, schedule: bool) -> AsyncDataLoader:
        sources = {name: HFDatasetShardedSource(rows) for name, rows in DATA.items()}
        points = WeightScheduler([*POINTS, WeightSchedulePoint(80, POINTS[0].weights)], "linear")
        weights = {"weight_scheduler": points} if schedule else {"weights": {"code": 1, "prose": 1}}
        mix = MixedShardedSource(
            sources, schedule_unit="steps", block_size=20, unit="tokens", **weights
        )
        return AsyncDataLoader(PackedShardedSource(mix, SEQ, 1), 4)

    for before, after in ((False, True), (True, False)):
        with loader(schedule=before) as first:
            batches = iter(first)
            for _ in range(3):
                next(batches)
            state = first.state_dict()
            # Of the window that is open: 1,000 rows, or 8 in two steps of a ramp of 20.
            old = [next(batches)["input_ids"] for _ in range(1 if before else 3)]
        with loader(schedule=after) as second:
            second.load_state_dict(state, allow=("mix",))
            batches = iter(second)
            for expected in old:
                assert (next(batches)["input_ids"] == expected).all()
            middle = second.state_dict()
            rest = [next(batches)["input_ids"] for _ in range(20)]
        with loader(schedule=after) as third:
            third.load_state_dict(middle, allow=("mix",))
            for expected, batch in zip(rest, third, strict=False):
                assert (batch["input_ids"] == expected).all()
