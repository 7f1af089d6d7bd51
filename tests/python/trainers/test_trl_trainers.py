"""Trainers of TRL on prepared sources: what they take, skip, add, and refuse."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="trl is not installed: pip install trl==1.16.0")

import datasets
import trl
from easydata.trainers import transforms
from easydata.trainers.trl import kl_completions, prepared
from edge_rows import EdgeRows
from tiny_models import config_of, reward_model, text_model
from trl_preparation import live_tokenizer

import easydata

Row = dict[str, Any]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return live_tokenizer("split", "qwen3.jinja")


@pytest.fixture
def rows_of(tokenizer: Any, tmp_path: Path) -> Callable[..., easydata.JsonShardedSource]:
    """Makes a source of so many rows of a kind, in two files."""

    def make(kind: str, count: int = 30) -> easydata.JsonShardedSource:
        maker = EdgeRows(4, (tokenizer.eos_token,))
        row = {"sft": maker.completion, "kto": maker.answer}.get(kind, maker.pair)
        for part in range(2):
            lines = [json.dumps(row()) + "\n" for _ in range(count // 2)]
            (tmp_path / f"{kind}-{part}.jsonl").write_text("".join(lines))
        return easydata.JsonShardedSource(str(tmp_path / f"{kind}-*.jsonl"))

    return make


def batches(trainer: Any) -> list[Row]:
    """What a trainer's loop would get, as plain values."""
    return [
        {name: values.tolist() for name, values in batch.items()}
        for batch in trainer.get_train_dataloader()
    ]


TRAINERS = {
    "sft": (trl.SFTTrainer, trl.SFTConfig, transforms.SFTPreprocessTransform),
    "dpo": (trl.DPOTrainer, trl.DPOConfig, transforms.DPOPreprocessTransform),
    "kto": (trl.KTOTrainer, trl.KTOConfig, transforms.KTOPreprocessTransform),
    "reward": (trl.RewardTrainer, trl.RewardConfig, transforms.RewardPreprocessTransform),
}


def new_trainer(
    kind: str, tokenizer: Any, folder: Path, data: Any, wrapped: bool = True, **options: Any
) -> Any:
    base, config, _ = TRAINERS[kind]
    model = reward_model if kind == "reward" else text_model
    given: Row = {"ref_model": text_model(tokenizer)} if kind in ("dpo", "kto") else {}
    evaluated = options.pop("eval_dataset", None)
    return (prepared(base) if wrapped else base)(
        model(tokenizer),
        args=config_of(config, folder, **options),
        train_dataset=data,
        eval_dataset=evaluated,
        processing_class=tokenizer,
        **given,
    )


@pytest.mark.parametrize("kind", TRAINERS)
def test_batches_of_a_source_are_those_of_trl(
    kind: str, tokenizer: Any, rows_of: Any, tmp_path: Path
) -> None:
    source = rows_of(kind)
    transform = TRAINERS[kind][2](tokenizer, layout="trl", max_length=24)
    own = new_trainer(kind, tokenizer, tmp_path, source.to_hf(), wrapped=False, max_length=24)
    expected = batches(own)
    made = source.transform(transform)
    for data in (made, made.to_hf(), datasets.Dataset.from_list(list(made))):
        trainer = new_trainer(kind, tokenizer, tmp_path, data, max_length=24)
        assert isinstance(trainer, TRAINERS[kind][0])
        assert type(trainer).__name__ == TRAINERS[kind][0].__name__
        if isinstance(data, datasets.Dataset):
            trainer.args.train_sampling_strategy = "sequential"
        assert batches(trainer) == expected
    assert len(expected) >= 3
    if kind == "kto":  # whose last batch has fewer rows, and a rotation of its own
        assert len(expected[-1]["label"]) < 4


def test_what_a_smaller_limit_of_the_trainer_leaves_out_is_left_out(
    tokenizer: Any, rows_of: Any, tmp_path: Path
) -> None:
    for kind in ("dpo", "kto"):
        source = rows_of(kind)
        made = source.transform(TRAINERS[kind][2](tokenizer, layout="trl", max_length=200))
        own = new_trainer(kind, tokenizer, tmp_path, source.to_hf(), wrapped=False, max_length=9)
        trainer = new_trainer(kind, tokenizer, tmp_path, made, max_length=9)
        assert batches(trainer) == batches(own)
        assert len(batches(trainer)) < len(list(made)) / 4


def test_other_data_goes_the_trainer_s_own_way(
    tokenizer: Any, rows_of: Any, tmp_path: Path
) -> None:
    data = rows_of("dpo").to_hf()
    own = new_trainer("dpo", tokenizer, tmp_path, data, wrapped=False)
    assert batches(new_trainer("dpo", tokenizer, tmp_path, data)) == batches(own)


def test_sources_to_evaluate_on(tokenizer: Any, rows_of: Any, tmp_path: Path) -> None:
    made = rows_of("dpo").transform(
        transforms.DPOPreprocessTransform(tokenizer, layout="trl", max_length=24)
    )
    one = new_trainer("dpo", tokenizer, tmp_path, made, eval_dataset=made)
    several = new_trainer("dpo", tokenizer, tmp_path, made, eval_dataset={"a": made})
    loss = one.evaluate()["eval_loss"]
    assert loss > 0
    assert several.evaluate()["eval_a_loss"] == loss
    assert one.evaluate(made)["eval_loss"] == loss
    assert one.evaluate({"b": made})["eval_b_loss"] == loss


# Completions of other rows.


def answers(rows_of: Any, tokenizer: Any, count: int = 30) -> Any:
    transform = transforms.KTOPreprocessTransform(tokenizer, layout="trl", max_length=100)
    return rows_of("kto", count).transform(transform)


def test_kl_completions_move_on_by_one_in_each_batch(rows_of: Any, tokenizer: Any) -> None:
    source = answers(rows_of, tokenizer, 10)
    plain = list(source)
    made = kl_completions(source, 4)
    rows = list(made)
    assert [row["completion_ids"] for row in rows] == [row["completion_ids"] for row in plain]
    order = [3, 0, 1, 2, 7, 4, 5, 6, 9, 8]
    assert [row["KL_completion_ids"] for row in rows] == [plain[n]["completion_ids"] for n in order]
    assert list(made) == rows
    # In another order it is the others of that order.
    shuffled = list(made.shuffle("rows", seed=1))
    others = list(source.shuffle("rows", seed=1))
    assert others != plain
    assert shuffled[1]["KL_completion_ids"] == others[0]["completion_ids"]
    for size in (0, 1):
        with pytest.raises(ValueError, match="batch_size must be at least 2"):
            kl_completions(source, size)
    with pytest.raises(KeyError, match=r"have no .*completion_ids.*KTOPreprocessTransform"):
        kl_completions(rows_of("kto"), 4)


def test_rows_with_kl_completions_are_for_one_batch_size(
    tokenizer: Any, rows_of: Any, tmp_path: Path
) -> None:
    source = answers(rows_of, tokenizer)
    made = kl_completions(source, 4)
    expected = batches(new_trainer("kto", tokenizer, tmp_path, source))
    assert batches(new_trainer("kto", tokenizer, tmp_path, made)) == expected
    assert "KL_input_ids" in expected[0]
    with pytest.raises(
        ValueError,
        match=r"KL_completion_ids completions of other batches .* leave the column out.* "
        r"they are of batches of 4 rows, and per_device_train_batch_size is 8",
    ):
        new_trainer("kto", tokenizer, tmp_path, made, per_device_train_batch_size=8)
    turned = datasets.Dataset.from_list(list(made)[1:])
    with pytest.raises(ValueError, match="per_device_train_batch_size is 4"):
        new_trainer("kto", tokenizer, tmp_path, turned)
    # A loss that needs none takes them or not.
    trainer = new_trainer("kto", tokenizer, tmp_path, source, loss_type="apo_zero_unpaired")
    assert "KL_input_ids" not in batches(trainer)[0]


def test_a_row_among_kl_completions_cannot_be_left_out(
    tokenizer: Any, rows_of: Any, tmp_path: Path
) -> None:
    made = kl_completions(answers(rows_of, tokenizer), 4)
    trainer = new_trainer("kto", tokenizer, tmp_path, made, max_length=5)
    with pytest.raises(ValueError, match=r"leaves no room.*max_length is 5"):
        batches(trainer)


# What is refused.


def test_rows_that_are_not_made_yet_are_refused(
    tokenizer: Any, rows_of: Any, tmp_path: Path
) -> None:
    for kind, (base, _, transform) in TRAINERS.items():
        with pytest.raises(TypeError, match=rf"{base.__name__} reads; .*{transform.__name__}\("):
            new_trainer(kind, tokenizer, tmp_path, rows_of(kind))
    easydel = rows_of("dpo").transform(transforms.DPOPreprocessTransform(tokenizer, 8, 8))
    with pytest.raises(TypeError, match=r"train_dataset has no 'chosen_ids', 'prompt_ids'"):
        new_trainer("dpo", tokenizer, tmp_path, easydel)
    made = rows_of("dpo").transform(transforms.DPOPreprocessTransform(tokenizer, layout="trl"))
    with pytest.raises(TypeError, match=r"eval_dataset\['a'\] has no "):
        new_trainer("dpo", tokenizer, tmp_path, made, eval_dataset={"a": easydel})


def test_loaders_are_refused(tokenizer: Any, rows_of: Any, tmp_path: Path) -> None:
    made = rows_of("sft").transform(transforms.SFTPreprocessTransform(tokenizer, 24, layout="trl"))
    with (
        easydata.AsyncDataLoader(made, batch_size=4) as loader,
        pytest.raises(TypeError, match=r"train_dataset is a loader.*source\.to_hf\(\)"),
    ):
        new_trainer("sft", tokenizer, tmp_path, loader)


def test_a_class_is_prepared_once() -> None:
    assert prepared(trl.DPOTrainer) is prepared(trl.DPOTrainer)
    assert prepared(trl.DPOTrainer).__doc__ == trl.DPOTrainer.__doc__
