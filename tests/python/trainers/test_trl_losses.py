"""Losses of TRL's trainers on our rows are those on rows that they make themselves."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="trl is not installed: pip install trl==1.16.0")

import easydata.torch
import torch
import transformers
import trl
from easydata.trainers import transforms
from easydata.trainers.trl import prepared
from edge_rows import EdgeRows
from tiny_models import config_of, reward_model, text_model
from trl_preparation import live_tokenizer

import easydata

Row = dict[str, Any]

TRAINERS = {
    "sft": (trl.SFTTrainer, trl.SFTConfig, transforms.SFTPreprocessTransform),
    "dpo": (trl.DPOTrainer, trl.DPOConfig, transforms.DPOPreprocessTransform),
    "kto": (trl.KTOTrainer, trl.KTOConfig, transforms.KTOPreprocessTransform),
    "reward": (trl.RewardTrainer, trl.RewardConfig, transforms.RewardPreprocessTransform),
}


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return live_tokenizer("split", "qwen3.jinja")


def source_of(kind: str, form: str, tokenizer: Any, folder: Path) -> easydata.JsonShardedSource:
    """A file of rows for a kind of trainer: texts, or chats."""
    maker = EdgeRows(8, (tokenizer.eos_token,))
    row = {
        ("sft", "text"): maker.completion,
        ("sft", "chat"): maker.chat,
        ("kto", "text"): maker.answer,
        ("kto", "chat"): maker.chat_answer,
        ("dpo", "text"): maker.pair,
        ("dpo", "chat"): maker.chat_pair,
        ("reward", "text"): maker.bare_pair,
        ("reward", "chat"): maker.bare_chat_pair,
    }[kind, form]
    lines = [json.dumps(row()) + "\n" for _ in range(24)]
    (folder / "rows.jsonl").write_text("".join(lines))
    return easydata.JsonShardedSource(folder / "rows.jsonl")


def losses_of(trainer: Any, checkpoint: str | None = None) -> list[float]:
    """The loss of each step of training, as it is computed: the log has rounded ones."""
    losses = []
    compute = trainer.compute_loss

    def kept(*args: Any, **kwargs: Any) -> Any:
        loss = compute(*args, **kwargs)
        losses.append((loss[0] if isinstance(loss, tuple) else loss).item())
        return loss

    trainer.compute_loss = kept
    trainer.train(resume_from_checkpoint=checkpoint)
    return losses


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("sft", {"max_length": 80}),
        ("sft", {"max_length": 30, "truncation_mode": "keep_end"}),
        ("dpo", {"max_length": 80}),
        ("dpo", {"max_length": 30, "truncation_mode": "keep_end"}),
        ("kto", {"max_length": 80}),
        ("reward", {"max_length": 200}),
    ],
    ids=["sft", "sft-keep_end", "dpo", "dpo-keep_end", "kto", "reward"],
)
@pytest.mark.parametrize("form", ["text", "chat"])
def test_losses_are_those_of_trl_s_own_preparation(
    kind: str, options: Row, form: str, tokenizer: Any, tmp_path: Path
) -> None:
    base, config, transform = TRAINERS[kind]
    source = source_of(kind, form, tokenizer, tmp_path)
    made = source.transform(transform(tokenizer, layout="trl", **options))
    model = reward_model if kind == "reward" else text_model
    losses = []
    for trainer, data in ((base, source.to_hf()), (prepared(base), made)):
        given: Row = {"ref_model": text_model(tokenizer)} if kind in ("dpo", "kto") else {}
        losses.append(
            losses_of(
                trainer(
                    model(tokenizer),
                    args=config_of(config, tmp_path, **options),
                    train_dataset=data,
                    processing_class=tokenizer,
                    **given,
                )
            )
        )
    own, ours = losses
    assert ours == pytest.approx(own, rel=1e-6)
    # It learns something from each batch.
    assert len(own) == 3
    assert len(set(own)) == 3
    assert all(loss > 0 for loss in own)


# Going on.


class BatchTrainer(transformers.Trainer):
    """Trains on the batches of a loader; its checkpoints have the loader's position."""

    def __init__(self, *args: Any, loader: easydata.AsyncDataLoader, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.batches = easydata.torch.dataset(loader, batches=True)

    def get_train_dataloader(self) -> Any:
        return torch.utils.data.DataLoader(self.batches, batch_size=None, collate_fn=_whole)

    def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        super()._save_checkpoint(*args, **kwargs)
        path = Path(self.args.output_dir, f"checkpoint-{self.state.global_step}", "data.json")
        path.write_text(json.dumps(self.batches.state_dict()))


def _whole(batch: Row) -> Row:
    return {name: values.long() for name, values in batch.items()}


def test_a_run_goes_on_with_the_losses_of_an_undisturbed_one(
    tokenizer: Any, tmp_path: Path
) -> None:
    """Stopped within the second epoch, in an order of its own, with batches made ahead."""
    source = source_of("sft", "chat", tokenizer, tmp_path).transform(
        transforms.SFTPreprocessTransform(
            tokenizer, max_length=60, mask_prompt=True, labels=True, fixed_shapes=False
        )
    )
    shown = source.select_fields(["input_ids", "attention_mask", "labels"])

    def train(steps: int, checkpoint: Path | None = None) -> list[float]:
        args = config_of(
            transformers.TrainingArguments,
            tmp_path,
            max_steps=8,
            save_strategy="steps",
            save_steps=steps,
            gradient_accumulation_steps=2,
            ignore_data_skip=True,
        )
        loader = easydata.AsyncDataLoader(
            shown, batch_size=4, epochs=9, shuffle_buffer_size=16, seed=3, prefetch_buffer_size=4
        )
        with loader:
            trainer = BatchTrainer(
                text_model(tokenizer), args=args, train_dataset=[], loader=loader
            )
            if checkpoint is not None:
                state = json.loads((checkpoint / "data.json").read_text())
                assert 0 < state["epoch"] < 9
                trainer.batches.load_state_dict(state)
            return losses_of(trainer, None if checkpoint is None else str(checkpoint))

    undisturbed = train(5)
    assert len(undisturbed) == 16
    assert len(set(undisturbed)) == 16
    checkpoint = tmp_path / "out" / "checkpoint-5"
    assert train(100, checkpoint) == pytest.approx(undisturbed[10:], rel=1e-6)
    # It is the state that does it.
    loader_state = json.loads((checkpoint / "data.json").read_text())
    assert len(json.dumps(loader_state)) < 4096
