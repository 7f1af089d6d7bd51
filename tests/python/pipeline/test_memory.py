"""Peak memory at default settings, whatever the input's size."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import run_python

MEGABYTE = 1 << 20
LIMIT = 400 * MEGABYTE
LONG_LINES = 6  # of 8 MB

SAVE = """
from easydata import tokenize_and_save
tokenize_and_save(data, tokenizer, folder + "/out")
"""
LOAD = """
from easydata import create_pipeline
pipeline = create_pipeline([{"data_files": data}], tokenizer, **options).source().tokenize()
with pipeline.pack().load().build() as loader:
    rows = sum(len(batch["input_ids"]) for batch in loader)
assert rows > 1000, rows
"""
# The threads of two cores: what is held grows with the number of cores.
TWO_CORES = """
import os
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
"""
# Not ru_maxrss, which begins with what the process that started this one held.
PEAK = """
from pathlib import Path
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """About 200 MB of JSONL: short documents, long ones, and now and then a line of 8 MB.

    They are cut out of the Python library's sources.
    """
    choose = random.Random(5)
    library = sorted(Path(os.__file__).parent.rglob("*.py"))
    text = "".join(file.read_text("utf-8", "replace") for file in library[:1500])
    text *= 1 + 10 * MEGABYTE // len(text)  # some systems leave modules out
    path = tmp_path_factory.mktemp("memory") / "corpus.jsonl"
    size = 0
    with path.open("w", encoding="utf-8") as file:
        for number in range(1 << 30):
            if size > 200 * MEGABYTE:
                break
            length = choose.choice([300, 2_000, 10_000, 60_000])
            if number % 1500 == 700 and number < 1500 * LONG_LINES:
                length = 8 * MEGABYTE - 100
            start = choose.randrange(len(text) - length)
            size += file.write(json.dumps({"text": text[start : start + length]}) + "\n")
    yield path
    path.unlink()


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(SAVE, id="tokenize_and_save"),
        pytest.param("options = {}" + LOAD, id="packed loader"),
        pytest.param("options = {'tokenize': {'max_length': 10**8}}" + LOAD, id="whole documents"),
    ],
)
def test_peak_memory_is_bounded(gpt2: str, corpus: Path, tmp_path: Path, work: str) -> None:
    assert corpus.stat().st_size > 200 * MEGABYTE
    variables = {
        "data": str(corpus),
        "tokenizer": gpt2,
        "folder": str(tmp_path),
    }
    names = "".join(f"{name} = {value!r}\n" for name, value in variables.items())
    peak = int(run_python("-c", TWO_CORES + names + work + PEAK).stdout) * 1024
    assert peak < LIMIT, f"{peak / MEGABYTE:.0f} MB"
