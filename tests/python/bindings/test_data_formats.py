"""The formats of data files: one list, in the engine, that everything else reads."""

from pathlib import Path

import pytest
from easydata.core.types import DatasetType
from easydata.sources.files import FormatSource
from easydata.utils import infer_builder_from_ext

from easydata import DatasetConfig, _native, create_source

FORMATS = {known.name: known for known in _native.data_formats()}


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_has_a_source_and_is_told_by_a_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"a.{name}"
    path.touch()
    for kind in (None, name):
        source = create_source(DatasetConfig(data_files=str(path), type=kind))
        assert source.shard_names == (str(path),)
    assert _native.format_of_name(str(path)) == name
    assert DatasetType.infer_from_path(str(path)) == FORMATS[name].kind
    assert infer_builder_from_ext(path) == (FORMATS[name].builder or None)


def test_what_names_tell() -> None:
    assert DatasetType.infer_from_path("a.feather") is DatasetType.ARROW
    assert DatasetType.infer_from_path("a.docx") is None
    assert infer_builder_from_ext("a.ndjson.zst") == "json"
    assert infer_builder_from_ext("a.docx") is None


def test_a_format_needs_no_class_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    source = FormatSource(str(path), "txt", name="s")
    assert list(source) == [{"text": "one"}, {"text": "two"}]


def test_files_whose_name_tells_no_format(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.touch()
    known = "json, jsonl, parquet, csv, tsv, arrow, txt, array_record, bin or npy"
    with pytest.raises(ValueError, match=rf"a\.docx is not clear .* give type= \({known}\)"):
        create_source(DatasetConfig(data_files=str(path)))
