"""Words that YAML 1.1 reads as something else: each gets a sentence."""

from pathlib import Path

import pytest
from easydata.core.config import ConfigError

from easydata import PipelineConfig

HEAD = "datasets:\n  - {data_files: a.jsonl, name: a"


@pytest.mark.parametrize(
    ("text", "line", "read", "quoted"),
    [
        (HEAD + ", format_fields: {no: text}}\n", 2, "YAML reads no as False", "no"),
        (HEAD + "}\nmix:\n  weights: {a: .5, No: .5}\n", 4, "YAML reads No as False", "No"),
        (HEAD + ", format_fields: {1: text}}\n", None, "", ""),
        (HEAD + ", storage_options: {key: 0123}}\n", 2, "YAML reads 0123 of key as 83", "0123"),
        (HEAD + ", storage_options: {secret: no}}\n", 2, "reads no of secret as False", "no"),
        (HEAD + ", additional_fields: [id, on]}\n", 2, "on of additional_fields as True", "on"),
        (HEAD + ", shard_column: yes}\n", 2, "YAML reads yes of shard_column as True", "yes"),
        (HEAD + "}\n  - {data_files: b.jsonl, name: 2024-01-01}\n", 3, "as a date", "2024-01-01"),
        (HEAD + "}\nseed: 12:30\n", 3, "YAML reads 12:30 of seed as 750", "12:30"),
        (HEAD + "}\nload: {batch_size: 010}\n", 3, "010 of batch_size as 8", "010"),
        (HEAD + ", format_fields: {~: text}}\n", 2, "YAML reads ~ as nothing", "~"),
    ],
)
def test_it_is_said(folder: Path, text: str, line: int | None, read: str, quoted: str) -> None:
    Path("c.yaml").write_text(text)
    if line is None:
        PipelineConfig.from_file("c.yaml")
        return
    with pytest.raises(ConfigError) as error:
        PipelineConfig.from_file("c.yaml")
    said = str(error.value)
    assert f"line {line}: " in said
    assert read in said
    assert f'put it in quotes, "{quoted}"' in said


def test_what_is_meant_is_read(folder: Path) -> None:
    Path("c.yaml").write_text(
        HEAD
        + ", format_fields: {'no': text}, storage_options: {key: '0123', anon: true},\n"
        + "     transform: {name: sft, max_length: null, mask_prompt: yes, add_eos: off}}\n"
        + "pack: {enabled: yes, shuffle_packed: off, seq_length: 0x40}\n"
        + "load: {drop_last: no, batch_rampup: {0: 1, 10: 2}, steps: 1_000, seed: ~}\n"
        + "mix: {weights: {a: 1.0}}\n"
    )
    config = PipelineConfig.from_file("c.yaml")
    dataset = config.datasets[0]
    assert dataset.format_fields == {"no": "text"}
    assert dataset.storage_options == {"key": "0123", "anon": True}
    assert dataset.transform["mask_prompt"] is True
    assert dataset.transform["add_eos"] is False
    assert config.pack.enabled is True
    assert config.pack.shuffle_packed is False
    assert config.load.drop_last is False
    assert config.load.batch_rampup == {0: 1, 10: 2}
    assert (config.load.steps, config.load.seed, config.pack.seq_length) == (1000, None, 64)
