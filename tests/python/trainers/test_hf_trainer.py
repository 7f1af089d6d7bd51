"""The Trainer of transformers on what easydata.torch.dataset(loader, for_trainer=True) gives it."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed: pip install torch==2.13.0")
pytest.importorskip("accelerate", reason="accelerate is not installed: pip install accelerate")

import datasets
import easydata.torch
import torch
import transformers
from data_folders import tokenizer_folder
from tiny_models import config_of, text_model

import easydata
from easydata import AsyncDataLoader, PackedShardedSource, TokenizedShardedSource, TokenizerConfig

IGNORED = -100


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return transformers.PreTrainedTokenizerFast.from_pretrained(tokenizer_folder("split"))


def texts(folder: Path) -> TokenizedShardedSource:
    lines = ({"text": f"{n} and " * (n * 5 % 7 + 1)} for n in range(24))
    (folder / "texts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    name = str(tokenizer_folder("split"))
    source = easydata.JsonShardedSource(folder / "texts.jsonl")
    return TokenizedShardedSource(source, name, TokenizerConfig(name))


def for_trainer(source: Any, batch_size: int, **options: Any) -> Any:
    loader = AsyncDataLoader(source, batch_size=batch_size, **options)
    return easydata.torch.dataset(loader, for_trainer=True)


def losses(
    data: Any, tokenizer: Any, folder: Path, resume: Path | None = None, **options: Any
) -> list[float]:
    """The losses of a Trainer, step by step; of what it goes on with, too."""
    options = {"dataloader_pin_memory": False, "lr_scheduler_type": "constant", **options}
    collator, strict = options.pop("data_collator", None), options.pop("strict", True)
    trainer = transformers.Trainer(
        text_model(tokenizer),
        config_of(transformers.TrainingArguments, folder, **options),
        train_dataset=data,
        data_collator=collator,
    )
    with warnings.catch_warnings():
        if strict:  # of memory that may not be written to, and such
            warnings.simplefilter("error")
        trainer.train(resume_from_checkpoint=None if resume is None else str(resume))
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def own_losses(source: Any, tokenizer: Any, folder: Path, **options: Any) -> list[float]:
    """Those on a data set of the same rows, in order, with labels of the trained tokens."""
    rows = []
    for row in source:
        ids, mask = ([int(n) for n in row[name]] for name in ("input_ids", "attention_mask"))
        labels = [n if kept else IGNORED for n, kept in zip(ids, mask, strict=True)]
        rows.append({"input_ids": ids, "attention_mask": mask, "labels": labels})
    return losses(
        datasets.Dataset.from_list(rows),
        tokenizer,
        folder,
        data_collator=transformers.DataCollatorForSeq2Seq(tokenizer),
        train_sampling_strategy="sequential",
        strict=False,
        **options,
    )


@pytest.mark.parametrize(
    "loaded", [6, *(pytest.param(size, marks=pytest.mark.sliced) for size in (3, 4, 24))]
)
def test_losses_are_those_of_a_data_set_of_the_rows(
    loaded: int, tokenizer: Any, tmp_path: Path
) -> None:
    source = texts(tmp_path)
    expected = own_losses(source, tokenizer, tmp_path, max_steps=4)
    found = losses(for_trainer(source, loaded), tokenizer, tmp_path, max_steps=4)
    assert found == pytest.approx(expected, rel=1e-5)


def test_a_length_tells_the_steps_of_an_epoch(tokenizer: Any, tmp_path: Path) -> None:
    options = {"max_steps": -1, "num_train_epochs": 2, "per_device_train_batch_size": 10}
    found = losses(for_trainer(texts(tmp_path), 6), tokenizer, tmp_path, **options)
    assert len(found) == 6  # three steps an epoch
    filtered = texts(tmp_path).filter(lambda row: True)
    with pytest.raises(ValueError, match="max_steps has to be specified"):
        losses(for_trainer(filtered, 6), tokenizer, tmp_path, **options)


def test_packed_rows(tokenizer: Any, tmp_path: Path) -> None:
    packed = PackedShardedSource(texts(tmp_path), 48, tokenizer.eos_token_id, shuffle=False)
    # Which begin anew with each segment, and are nothing of own_losses().
    unpositioned = packed.drop_fields(["position_ids"])
    expected = own_losses(packed, tokenizer, tmp_path, max_steps=2)
    data = for_trainer(unpositioned, 3, drop_last=False)
    found = losses(data, tokenizer, tmp_path, max_steps=2)
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.sliced
def test_packed_documents_are_kept_apart_without_an_attention_mask(
    tokenizer: Any, tmp_path: Path
) -> None:
    """The loss is that of the documents one by one, but for the first token of each."""
    packed = PackedShardedSource(
        texts(tmp_path),
        48,
        tokenizer.eos_token_id,
        shuffle=False,
        labels=True,
        ignore_first_label=True,
    )
    row = next(iter(packed))
    model = text_model(tokenizer)
    sums, count = 0.0, 0
    for segment in range(int(row["segment_ids"].max()) + 1):
        here = row["segment_ids"] == segment
        ids = torch.tensor(row["input_ids"][here][None]).long()
        labels = torch.tensor(row["labels"][here][None]).long()
        trained = int((labels[:, 1:] != IGNORED).sum())
        if trained > 0:
            sums += float(model(input_ids=ids, labels=labels).loss) * trained
            count += trained
    data = for_trainer(packed.drop_fields(["attention_mask"]), 2)
    options = {"max_steps": 1, "per_device_train_batch_size": 1}
    (found,) = losses(data, tokenizer, tmp_path, **options)
    assert found == pytest.approx(sums / count, rel=1e-5)
    together = for_trainer(packed, 2)
    assert losses(together, tokenizer, tmp_path, **options) != pytest.approx([found], rel=1e-5)


def test_packed_rows_by_to_hf_have_labels_that_a_loss_takes(tokenizer: Any, tmp_path: Path) -> None:
    packed = PackedShardedSource(
        texts(tmp_path), 48, tokenizer.eos_token_id, shuffle=False, labels=True
    )
    row = next(iter(packed.to_hf()))
    assert row["labels"].dtype == "int64"
    assert row["labels"].tolist() == next(iter(packed))["labels"].tolist()
    by_loader = losses(for_trainer(packed, 4), tokenizer, tmp_path, max_steps=2)
    assert losses(packed.to_hf(), tokenizer, tmp_path, max_steps=2) == pytest.approx(by_loader)


@pytest.mark.sliced
def test_collators_that_pad_and_make_labels_take_the_rows(tokenizer: Any, tmp_path: Path) -> None:
    assert tokenizer.pad_token_id != tokenizer.eos_token_id
    source = texts(tmp_path)
    expected = losses(for_trainer(source, 6), tokenizer, tmp_path)
    for collator in (
        transformers.DataCollatorForLanguageModeling(tokenizer, mlm=False),
        transformers.DataCollatorForSeq2Seq(tokenizer),
    ):
        options = {"data_collator": collator, "strict": False}
        found = losses(for_trainer(source, 6), tokenizer, tmp_path, **options)
        assert found == pytest.approx(expected, rel=1e-5)


def test_it_resumes_as_if_nothing_had_happened(tokenizer: Any, tmp_path: Path) -> None:
    """Within an epoch, between two, and in a later one; each has an order of its own."""

    def data() -> Any:
        return for_trainer(texts(tmp_path), 5, shuffle_buffer_size=24, seed=1, drop_last=False)

    options = {"max_steps": 11, "save_strategy": "steps", "save_steps": 3}
    whole = losses(data(), tokenizer, tmp_path, **options)
    assert len(whole) == 11  # six an epoch
    for step in (3, 6, 9):
        checkpoint = tmp_path / "out" / f"checkpoint-{step}"
        again = losses(data(), tokenizer, tmp_path, resume=checkpoint, **options)
        assert again == whole, step


def test_it_is_evaluated_on_all_rows_each_time(tokenizer: Any, tmp_path: Path) -> None:
    source = texts(tmp_path)
    trainer = transformers.Trainer(
        text_model(tokenizer),
        config_of(transformers.TrainingArguments, tmp_path, dataloader_pin_memory=False),
        train_dataset=for_trainer(source, 5),
        eval_dataset=for_trainer(source, 7, drop_last=False),
    )
    first = trainer.evaluate()["eval_loss"]
    assert trainer.evaluate()["eval_loss"] == first
    whole = for_trainer(source, 24)
    assert trainer.evaluate(whole)["eval_loss"] == pytest.approx(first, rel=1e-5)


def test_what_is_handed_over_wrongly_is_answered_with_the_call(
    tokenizer: Any, tmp_path: Path
) -> None:
    loader = AsyncDataLoader(texts(tmp_path), batch_size=4)
    call = r"train_dataset=easydata\.torch\.dataset\(loader, for_trainer=True\)"
    with pytest.raises(TypeError, match=call):
        losses(loader, tokenizer, tmp_path)
    with pytest.raises(ValueError, match=call):
        losses(easydata.torch.dataset(loader, batches=True), tokenizer, tmp_path)
    with pytest.raises(ValueError, match=r"make the loader without \*\*easydata\.torch\.ranks"):
        losses(for_trainer(texts(tmp_path), 4, world_size=2), tokenizer, tmp_path)
    assert len(losses(for_trainer(texts(tmp_path), 4), tokenizer, tmp_path)) == 3
