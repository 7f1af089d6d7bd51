"""EasyDeL's own trainers take our sources as they are, and train on them as on data sets."""

import importlib
import json
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from data_folders import tokenizer_folder
from pages import read_page

import easydata

ROOT = Path(__file__).resolve().parents[3]
TRAINING = Path(__file__).with_name("easydel_training.py")
PREPARED = ("sft", "dpo", "kto", "bco", "orpo", "cpo", "reward")


# Without EasyDeL: its base of sources is an ABC in a module, and no more is asked of it.


@pytest.fixture
def their_base(monkeypatch: pytest.MonkeyPatch) -> type[ABC]:
    """What EasyDeL's module is as soon as it is imported."""

    class Base(ABC):
        @abstractmethod
        def num_shards(self) -> int: ...

    protocols = ModuleType("easydel.data.core.protocols")
    monkeypatch.setitem(sys.modules, protocols.__name__, protocols)
    base = importlib.import_module("easydata.sources.sharded_source").ShardedDataSource
    monkeypatch.setattr(base, "_in_easydel", False)
    # While it is being imported there is no base yet, which is asked for again.
    rows = easydata.create_source(easydata.DatasetConfig(data_files=[{"n": 1}]))
    assert not isinstance(rows, Base)
    protocols.ShardedDataSource = Base  # type: ignore[attr-defined]
    return Base


def test_sources_are_easydel_s_once_it_is_imported(their_base: type[ABC], tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"n": 1}\n')
    before = easydata.JsonShardedSource(tmp_path / "rows.jsonl")
    for source in (before, before.filter(bool), before.shuffle("rows"), before.take(1)):
        assert isinstance(source, their_base)
        assert source.__class__ is type(source)
    assert not isinstance(easydata.AsyncDataLoader(before, batch_size=1), their_base)
    assert not isinstance([], their_base)


def test_nothing_of_easydel_is_imported_by_us() -> None:
    code = "import sys, easydata; isinstance(easydata.create_source, easydata.ShardedDataSource)"
    shown = "print([name for name in sys.modules if name.startswith('easydel')])"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; {shown}"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_map_takes_what_trainers_give_it() -> None:
    """As `datasets` does: KTOTrainer calls it so, and asks for the names of columns."""

    def plus(row: dict[str, Any], more: int) -> dict[str, Any]:
        return {**row, "sum": row["n"] + more}

    rows = easydata.create_source(easydata.DatasetConfig(data_files=[{"n": 1}, {"n": 2}]))
    made = rows.map(plus, fn_kwargs={"more": 5}, writer_batch_size=10)
    assert list(made) == [{"n": 1, "sum": 6}, {"n": 2, "sum": 7}]
    assert rows.column_names == ["n"]
    assert made.column_names == ["n", "sum"]
    with pytest.raises(TypeError, match="more"):
        list(rows.map(plus))


def test_transforms_of_others_say_themselves_that_they_expand() -> None:
    class Twice:  # as EasyDeL's BCOPreprocessTransform
        is_filter = is_expand = True

        def __call__(self, row: dict[str, Any]) -> Any:
            yield row
            yield {"n": -row["n"]}

    rows = easydata.create_source(easydata.DatasetConfig(data_files=[{"n": 1}, {"n": 2}]))
    made = rows.transform(Twice())
    assert [row["n"] for row in made] == [1, -1, 2, -2]
    with easydata.AsyncDataLoader(made, batch_size=4) as loader:
        assert next(iter(loader))["n"].tolist() == [1, -1, 2, -2]
    with pytest.raises(TypeError, match="may drop or add rows"):
        len(made)


# With EasyDeL.


def write_rows(folder: Path) -> None:
    """Sums as prompts, with good and bad answers: JSONL, and two Parquet files; a tokenizer."""
    rows = [
        {
            "number": n,
            "prompt": f"{n} + {n} = ",
            "completion": f"{n + n}",
            "chosen": f"{n + n}",
            "rejected": f"{n + n + 1}",
        }
        for n in range(24)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for part in range(2):
        pq.write_table(pa.Table.from_pylist(rows[12 * part :][:12]), folder / f"{part}.parquet")
    for path in tokenizer_folder("split").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())


def with_easydel(*arguments: object) -> str:
    """What a program printed that ran with EasyDeL; skips where that cannot be installed."""
    done = subprocess.run(
        [str(ROOT / "script/easydel"), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 3 and "cannot be installed" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What easydel_training.py says of all trainers, in one process: EasyDeL imports slowly."""
    folder = tmp_path_factory.mktemp("easydel")
    write_rows(folder)
    lines = with_easydel(TRAINING, folder).splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def of(trained: list[dict[str, Any]], trainer: str) -> dict[str, dict[str, Any]]:
    return {each.get("form", ""): each for each in trained if each["trainer"] == trainer}


@pytest.mark.sliced
@pytest.mark.parametrize("trainer", [*PREPARED, "raw"])
def test_losses_on_a_source_are_those_on_its_rows(
    trainer: str, trained: list[dict[str, Any]]
) -> None:
    found = of(trained, trainer)
    several = {"sft": 3, "bco": 2, "raw": 2}
    assert len(found) == several.get(trainer, 1)
    for each in found.values():
        assert len(each["source"]) == 2
        assert each["source"] == pytest.approx(each["data set"], rel=1e-6)
        # The step changed the model.
        assert each["source"][0] != each["source"][1]
    if trainer == "sft":
        jsonl, parquet, mixed = (found[form]["source"] for form in ("jsonl", "parquet", "mixed"))
        assert parquet == pytest.approx(jsonl, rel=1e-6)
        assert mixed != pytest.approx(jsonl, rel=1e-6)


@pytest.mark.sliced
def test_prompts_and_masks_of_grpo_are_those_that_its_trainer_prepares(
    trained: list[dict[str, Any]],
) -> None:
    (each,) = of(trained, "grpo").values()
    assert len(each["source"]) == 2
    assert each["source"] == each["own"]
    masks = [mask for batch in each["source"] for mask in batch["attention_mask"]]
    assert len(masks) == 8
    assert all(0 in mask and mask == sorted(mask) for mask in masks)  # padded at the left


@pytest.mark.sliced
def test_what_the_page_shows_runs(tmp_path: Path) -> None:
    (tmp_path / "tokenizer").mkdir()
    write_rows(tmp_path / "tokenizer")
    (tmp_path / "tokenizer/rows.jsonl").rename(tmp_path / "rows.jsonl")
    blocks = read_page(ROOT / "docs/guide/easydel.md").blocks
    program = tmp_path / "page.py"
    shown = "\n".join(block.text for block in blocks if block.kind == "python")
    program.write_text(f"import os\nos.chdir({str(tmp_path)!r})\n{shown}")
    assert with_easydel(program).endswith("trained\n")
