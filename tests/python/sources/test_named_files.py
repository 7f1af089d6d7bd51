"""What a path, a pattern or a folder stands for: training data alone, each file once."""

import errno
import json
import os
from pathlib import Path

import datasets
import pytest

import easydata
from easydata import DatasetConfig, Pipeline, PipelineConfig, SaveStageConfig, create_source


def write(path: str | Path, text: str = "once") -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps({"text": text}) + "\n")
    return str(path)


def texts(data_files: str | list[str]) -> list[str]:
    return [row["text"] for row in create_source(DatasetConfig(data_files))]


def test_folders_of_other_writers_hold_no_data(folder: Path) -> None:
    for name in ("part-0", "_temporary/0/part-1", ".hidden/part-2", "a/_delta_log/part-3"):
        write(f"out/{name}.jsonl", name)
    for data_files in ("out", "out/**/*.jsonl", "out/**"):
        assert texts(data_files) == ["part-0"]
    # What is spelled out is meant.
    assert texts("out/_temporary") == ["_temporary/0/part-1"]
    assert texts("out/_*/0/*.jsonl") == ["_temporary/0/part-1"]
    assert texts("out/a/_delta_log/part-3.jsonl") == ["a/_delta_log/part-3"]
    # The folder above is not looked at.
    assert texts(str(folder / "out/_temporary/**")) == ["_temporary/0/part-1"]


@pytest.mark.parametrize(
    "again",
    ["data/a.jsonl", "./data/a.jsonl", "{folder}/data/a.jsonl", "file://{folder}/data/a.jsonl"],
)
def test_a_file_of_two_names_is_read_once(again: str, folder: Path) -> None:
    write("data/a.jsonl")
    write("data/b.jsonl")
    names = ["data/*.jsonl", again.format(folder=folder)]
    assert easydata.expand_data_files(names) == ["data/a.jsonl", "data/b.jsonl"]
    assert texts(names) == ["once", "once"]
    os.symlink(folder / "data" / "a.jsonl", "link.jsonl")
    assert easydata.expand_data_files(["data", "link.jsonl"]) == ["data/a.jsonl", "data/b.jsonl"]
    # Copies are files of their own, and so is another file of the same size and time.
    for name in ("data/b.jsonl", "data/a.jsonl"):
        os.utime(name, ns=(10**18, 10**18))
    assert len(easydata.expand_data_files("data")) == 2


def test_a_saved_dict_of_data_sets_asks_for_its_split(folder: Path) -> None:
    train = datasets.Dataset.from_dict({"text": ["train"] * 4})
    test = datasets.Dataset.from_dict({"text": ["test"] * 2})
    datasets.DatasetDict({"train": train, "test": test}).save_to_disk("saved")
    expected = "saved is a DatasetDict that was saved to disk, with the splits test, train"
    with pytest.raises(ValueError, match=expected):
        create_source(DatasetConfig("saved"))
    assert texts("saved/train") == ["train"] * 4
    assert sorted(texts("saved/**/*.arrow")) == ["test"] * 2 + ["train"] * 4


def test_the_home_folder_is_one_of_this_machine(
    folder: Path, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder / "home"))
    write("home/rows.jsonl")
    (folder / "home" / "bad.jsonl").write_text("broken\n")
    os.symlink(tiny, "home/tokenizer")
    assert texts("~/rows.jsonl") == ["once"]
    config = PipelineConfig(
        datasets=[
            DatasetConfig(
                ["~/rows.jsonl", "~/bad.jsonl"],
                tokenizer="~/tokenizer",
                on_error="quarantine",
                quarantine_path="~/left/bad.jsonl",
            )
        ],
        save=SaveStageConfig(output_dir="~/out"),
    )
    (folder / "home" / "left").mkdir()
    written = Pipeline(config).source().tokenize().save().build()
    assert [stats.num_examples for stats in written.values()] == [1]
    assert not (folder / "~").exists()
    assert (folder / "home" / "left" / "bad.jsonl").exists()
    assert list((folder / "home" / "out").glob("*.parquet"))
    with pytest.raises(ValueError, match="another user's home folder"):
        texts("~somebody/rows.jsonl")


def test_a_folder_named_like_the_home_folder_is_one(folder: Path) -> None:
    write("~/rows.jsonl")
    assert texts("~/rows.jsonl") == ["once"]


@pytest.mark.parametrize("path", ["$OUT/rows.jsonl", "${OUT}/rows.jsonl", "data/$OUT/rows.jsonl"])
def test_variables_of_a_shell_are_refused(path: str, folder: Path) -> None:
    expected = r"has the variable \$\{?OUT\}?, which a shell replaces and nobody else"
    with pytest.raises(ValueError, match=expected):
        texts(path)
    source = create_source(DatasetConfig([{"text": "a"}]))
    with pytest.raises(ValueError, match=expected):
        easydata.save_dataset(source, path)
    assert list(folder.iterdir()) == []
    # A file that has such a name is a file.
    assert texts(write(path)) == ["once"]


def test_outputs_go_to_addresses_of_files(folder: Path) -> None:
    source = create_source(DatasetConfig([{"text": "a"}]))
    easydata.save_dataset(source, f"file://{folder}/out%20put")
    assert texts("out put") == ["a"]
    config = PipelineConfig(
        datasets=[DatasetConfig([{"text": "a"}])],
        save=SaveStageConfig(output_dir=f"file://{folder}/other"),
    )
    Pipeline(config).source().save().build()
    assert texts("other") == ["a"]


def test_names_that_are_not_utf8_are_refused_with_a_sentence(folder: Path) -> None:
    """Found in a folder, named in each way, written to: never Python's own TypeError."""
    name = os.fsdecode(b"caf\xe9.jsonl")
    write(name)
    write(os.fsdecode(b"d\xe9/a.jsonl"))
    says = r"the name of .*\\xe9.* is not UTF-8, and files are known by names that are; rename it"
    for data_files in (".", "*.jsonl", "**"):
        with pytest.raises(OSError, match=says) as error:
            create_source(DatasetConfig(data_files))
        assert error.value.errno == errno.EILSEQ
    for named in (name, Path(name), os.fsdecode(b"d\xe9")):
        with pytest.raises(
            ValueError, match=r"data_files is not UTF-8: b'.*\\xe9.*; rename a file"
        ):
            create_source(DatasetConfig(named))
        for take in (
            easydata.JsonShardedSource,
            easydata.expand_data_files,
            easydata.ArrayRecordDataSource,
            easydata.Tokenizer,
            lambda path: easydata.save_dataset(easydata.JsonShardedSource("a.jsonl"), path),
            lambda path: easydata.JsonShardedSource(
                "a.jsonl", on_error="quarantine", quarantine_path=path
            ),
        ):
            write("a.jsonl")
            with pytest.raises(OSError, match=says):
                take(named)  # type: ignore[operator]
