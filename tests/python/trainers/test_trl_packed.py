"""Rows that are packed of several examples train as each of these by itself."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("trl", reason="trl is not installed: pip install trl==1.16.0")

import torch
import trl
from easydata.trainers import SFTPreprocessTransform
from edge_rows import EdgeRows
from tiny_models import config_of, text_model
from trl_preparation import live_tokenizer

import easydata
from easydata import PackedShardedSource

LENGTH = 256


def packed_rows(form: str, strategy: str, tokenizer: Any, folder: Path) -> PackedShardedSource:
    """Rows of several examples, answers alone trained on."""
    maker = EdgeRows(8, (tokenizer.eos_token,))
    make = maker.chat if form == "chat" else maker.completion
    (folder / "rows.jsonl").write_text("".join(json.dumps(make()) + "\n" for _ in range(40)))
    examples = easydata.JsonShardedSource(folder / "rows.jsonl").transform(
        SFTPreprocessTransform(tokenizer, 96, mask_prompt=True, layout="trl")
    )
    return PackedShardedSource(
        examples,
        LENGTH,
        tokenizer.eos_token_id,
        strategy=strategy,
        shuffle=False,
        seq_lengths=True,
        ignore_first_label=True,
    )


def segments_of(row: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Ids and labels of each segment of a packed row, its padding as the last one."""
    lengths = list(row["seq_lengths"])
    parts = zip(
        torch.tensor(list(row["input_ids"])).split(lengths),
        torch.tensor(list(row["labels"])).split(lengths),
        strict=True,
    )
    return list(parts)


def loss_one_by_one(model: Any, rows: list[dict[str, Any]]) -> Any:
    """The mean loss of the trained tokens, each segment gone through by itself."""
    losses = []
    for row in rows:
        for ids, labels in segments_of(row):
            logits = model(input_ids=ids[None].long()).logits[0]
            losses.append(
                torch.nn.functional.cross_entropy(
                    logits[:-1], labels[1:].long(), ignore_index=-100, reduction="none"
                )[labels[1:] != -100]
            )
    return torch.cat(losses).mean()


def attentive_model(tokenizer: Any) -> Any:
    """One with larger weights: what a token sees before it changes its loss by much."""
    model = text_model(tokenizer)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() == 2:
                weights.mul_(8)
    return model


def slopes_of(model: Any, loss: Any) -> list[Any]:
    return list(torch.autograd.grad(loss, list(model.parameters())))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("strategy", ["greedy", "first_fit", "best_fit"])
@pytest.mark.parametrize("form", ["text", "chat"])
def test_losses_are_those_of_the_segments_one_by_one(
    form: str, strategy: str, tmp_path: Path
) -> None:
    tokenizer = live_tokenizer("split", "qwen3.jinja")
    source = packed_rows(form, strategy, tokenizer, tmp_path).select_fields(
        ["input_ids", "labels", "seq_lengths"]
    )
    trainer = trl.SFTTrainer(
        attentive_model(tokenizer),
        args=config_of(
            trl.SFTConfig,
            tmp_path,
            per_device_train_batch_size=2,
            max_length=None,
            padding_free=True,
        ),
        train_dataset=source.to_hf(),
        processing_class=tokenizer,
    )
    rows = list(source)
    assert max(len(row["seq_lengths"]) for row in rows) >= 3
    batches = list(trainer.get_train_dataloader())
    assert len(batches) == -(-len(rows) // 2) >= 2
    model = trainer.model.eval()
    for number, batch in enumerate(batches[:2]):
        assert set(batch) >= {"input_ids", "labels", "position_ids"}
        assert "attention_mask" not in batch
        inside = rows[2 * number : 2 * number + 2]
        assert batch["input_ids"].shape == (1, LENGTH * len(inside))
        theirs = trainer.compute_loss(model, dict(batch))
        alone = loss_one_by_one(model, inside)
        assert theirs.item() == pytest.approx(alone.item(), rel=1e-5)
        for theirs_of_one, ours_of_one in zip(
            slopes_of(model, theirs), slopes_of(model, alone), strict=True
        ):
            torch.testing.assert_close(theirs_of_one, ours_of_one, rtol=1e-3, atol=1e-6)
        # Segments that saw each other would have another loss.
        mixed = model(input_ids=batch["input_ids"], labels=batch["labels"]).loss
        assert abs(mixed.item() - alone.item()) > 1e-3
