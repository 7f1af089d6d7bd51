"""B8: config files that no person means are refused at once, with the location."""

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from easydata.core.config import ConfigError, config_hash

from easydata import MixStageConfig, PackStageConfig, PipelineConfig

DATA = "datasets: [{data_files: a.jsonl}]\n"
_LEVELS = "abcdefghij"
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in pairwise(_LEVELS)
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{b}: &{b} {{<<: [{', '.join([f'*{a}'] * 10)}]}}\n" for a, b in pairwise(_LEVELS)
)


def refused(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    begin = time.monotonic()
    with pytest.raises(ConfigError) as raised:
        PipelineConfig.from_file(folder / name)
    assert time.monotonic() - begin < 1
    assert str(raised.value).startswith((str(folder / name), "PipelineConfig: "))
    return str(raised.value)


@pytest.mark.alone
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB + DATA, "line 5: stands for more than 100,000 values once its aliases are put in"),
        (MERGES + DATA, "stands for more than 100,000 values"),
        ("datasets: &d\n  - *d\n", "line 2: *d stands within what it stands for"),
        (DATA + "pack: &b\n  seq_length: *b\n", "line 3: *b stands within"),
        ("datasets: " + "[" * 5000 + "]" * 5000, "line 1: there are more than 100 levels"),
        (DATA + "pack: {seq_length: .nan}\n", "pack.seq_length must be a finite number, not nan"),
        (DATA + "mix: {weights: {a: .inf}}\n", "mix.weights.a must be a finite number, not inf"),
        (
            "seed: 1\n" + DATA + "seed: 1\n",
            "line 3: 'seed' is given twice (first in line 1); take one of them out",
        ),
        (
            DATA + "pack:\n  seq_length: 8\n  seq_length: 16\n",
            "line 4: 'seq_length' is given twice",
        ),
        (DATA + 'pack: {"seq_length": 8, seq_length: 8}\n', "line 2: 'seq_length' is given twice"),
        (DATA + f"seed: {'9' * 5000}\n", "holds a value that cannot be read"),
        (DATA + f"seed: {2**64}\n", "seed must be a number of at most 64 bits"),
        ('datasets: [{data_files: a, name: "\\ud800"}]\n', "is not YAML"),
        (DATA + "x: *nobody\n", "is not YAML"),
        (DATA + "x: !!python/object/apply:os.getcwd []\n", "is not YAML"),
    ],
)
def test_hostile_yaml(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path, "p.yaml", text)


@pytest.mark.alone
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{"seed": 1,\n "datasets": [{"data_files": "a"}],\n "seed": 2}',
            "line 3: 'seed' is given twice (first in line 1)",
        ),
        (
            '{"datasets": [{"data_files": "a",\n\t"name": "a", "name": "b"}]}',
            "'name' is given twice",
        ),
        (
            '{"datasets": [{"data_files": "a"}], "pack": {"seq_length": NaN}}',
            "pack.seq_length must",
        ),
        ('{"datasets": [{"data_files": "a"}], "seed": Infinity}', "seed must be a finite number"),
        ('{"datasets": [{"data_files": "a", "name": "\\ud800"}]}', "holds a lone surrogate"),
        ('{"datasets": [{"data_files": "a"}], "\\udc00": 1}', "lone surrogate in its name"),
        ('{"seed": ' + "9" * 5000 + "}", "holds a value that cannot be read"),
        ("[" * 100_000, "levels"),
    ],
)
def test_hostile_json(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path, "p.json", text)


def test_aliases_that_people_use_are_read(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(
        "datasets:\n"
        "- &first {data_files: a.jsonl, name: a, content_field: body}\n"
        "- {<<: *first, data_files: b.jsonl, name: b}\n"
        "mix: {weights: {a: 0.5, b: 0.5}}\n"
    )
    datasets = PipelineConfig.from_file(file).datasets
    assert [(each.name, each.content_field) for each in datasets] == [("a", "body"), ("b", "body")]


def test_a_large_config_is_read(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(
        "datasets:\n" + "".join(f"- {{data_files: f{n}.jsonl, name: n{n}}}\n" for n in range(2000))
    )
    assert len(PipelineConfig.from_file(file).datasets) == 2000


def test_values_that_are_no_numbers_are_named_in_python_too() -> None:
    nested: dict[str, Any] = {"datasets": [{"data_files": "a"}]}
    nested["pack"] = nested
    with pytest.raises(ConfigError, match="stands within itself"):
        PipelineConfig.from_dict(nested)
    config = PipelineConfig.from_dict({"datasets": [{"data_files": "a"}]})
    config.pack = PackStageConfig(enabled=True, seq_length=float("nan"))  # type: ignore[arg-type]
    assert config.validate() == ["pack.seq_length must be a finite number, not nan"]
    with pytest.raises(ConfigError, match=r"pack\.seq_length must be a finite number"):
        config_hash(config)
    with pytest.raises(ConfigError, match=r"weights\.a must be a finite number"):
        MixStageConfig(weights={"a": float("inf")})
