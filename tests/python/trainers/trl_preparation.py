"""What the installed TRL makes of rows: its trainers' own preparation, row by row."""

import copy
import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets
import trl
from data_folders import tokenizer_folder
from transformers import PreTrainedTokenizerFast

datasets.disable_progress_bars()

Row = dict[str, Any]

TRAINERS = {
    "sft": trl.SFTTrainer,
    "dpo": trl.DPOTrainer,
    "kto": trl.KTOTrainer,
    "reward": trl.RewardTrainer,
}
CONFIGS = {
    "sft": trl.SFTConfig,
    "dpo": trl.DPOConfig,
    "kto": trl.KTOConfig,
    "reward": trl.RewardConfig,
}
COLUMNS = {
    "sft": ("input_ids", "labels"),
    "dpo": ("prompt_ids", "chosen_ids", "rejected_ids"),
    "kto": ("prompt_ids", "completion_ids", "label"),
    "reward": ("chosen_ids", "rejected_ids"),
}


@functools.cache
def live_tokenizer(name: str, template: str | None = None) -> PreTrainedTokenizerFast:
    """A tokenizer of a folder by its name, as transformers has it.

    Args:
        name: The name of the folder.
        template: The file of one of TRL's chat templates, in place of the folder's own.
    """
    folder = tokenizer_folder(name)
    config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    special = {}
    for role in ("bos_token", "eos_token", "unk_token", "pad_token"):
        token = config.get(role)
        if token is not None:
            special[role] = token["content"] if isinstance(token, dict) else token
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), clean_up_tokenization_spaces=False, **special
    )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token  # as TRL does
    tokenizer.chat_template = config.get("chat_template")
    if template is not None:
        path = Path(trl.__file__).parent / "chat_templates" / template
        tokenizer.chat_template = path.read_text(encoding="utf-8")
    return tokenizer


@functools.cache
def config_of(kind: str, options: tuple[tuple[str, Any], ...]) -> Any:
    """A config of one of TRL's trainers."""
    return CONFIGS[kind](output_dir="unused", report_to="none", use_cpu=True, **dict(options))


def columns_of(kind: str, row: Mapping[str, Any]) -> Row:
    """The columns that a trainer of this kind reads."""
    return {name: row[name] for name in COLUMNS[kind]}


def prepare(
    kind: str, rows: datasets.Dataset | datasets.IterableDataset, tokenizer: Any, **options: Any
) -> Any:
    """What `_prepare_dataset` of a trainer of this kind makes of rows.

    The trainer has just what that method reads of it: no model is needed for it.
    """
    config = config_of(kind, tuple(sorted(options.items())))
    trainer = TRAINERS[kind].__new__(TRAINERS[kind])
    trainer._tokenizer = tokenizer
    trainer.chat_template = None
    trainer.calculate_KL = False  # needs batches: see test_trl_trainers.py
    trainer.desirable_weight = trainer.undesirable_weight = 1.0
    if kind != "sft":
        return trainer._prepare_dataset(rows, tokenizer, config, "train")
    # As SFTTrainer.__init__ decides it.
    first = next(iter(rows))
    trainer.completion_only_loss = config.completion_only_loss
    if config.completion_only_loss is None:
        trainer.completion_only_loss = "prompt" in first and "completion" in first
    return trainer._prepare_dataset(rows, tokenizer, config, False, None, "train")


def prepare_each(kind: str, rows: Sequence[Row], tokenizer: Any, **options: Any) -> Iterator[Any]:
    """For each row alone what TRL makes of it: a list of rows, or the error that it raises."""
    for row in rows:
        try:
            yield [
                columns_of(kind, made)
                for made in prepare(kind, stream([row]), tokenizer, **options)
            ]
        except Exception as error:
            yield error


def prepare_by_number(
    kind: str, rows: Sequence[Row], tokenizer: Any, **options: Any
) -> dict[int, list[Row]]:
    """What TRL makes of rows with a field `number`: all that it makes of each, by that number.

    Texts and chats go by themselves, as do rows with other fields: TRL takes the format of the
    first row for that of all.
    """
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        form = tuple(sorted((name, type(value).__name__) for name, value in row.items()))
        groups.setdefault(form, []).append(row)
    made: dict[int, list[Row]] = {}
    for group in groups.values():
        for row in prepare(kind, stream(group), tokenizer, **options):
            made.setdefault(row["number"], []).append(columns_of(kind, row))
    return made


def stream(rows: Sequence[Row]) -> datasets.IterableDataset:
    """Rows as they are: without the columns that other rows have, and in no common form."""
    return datasets.IterableDataset.from_generator(_copies, gen_kwargs={"rows": tuple(rows)})


def _copies(rows: Sequence[Row]) -> Iterator[Row]:
    for row in rows:
        yield copy.deepcopy(row)
