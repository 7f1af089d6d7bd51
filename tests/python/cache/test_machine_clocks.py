"""Machines whose clocks are an hour apart share what is kept, whatever its expiry.

Each run is a program of its own, which is this file, before whose libraries stands one that shifts
the clock; the times of files are those of the file system, as on a disk that machines share.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from kept_data import texts
from programs import run_python

from easydata import Pipeline, PipelineConfig, TreeCacheManager

HOUR = 3600
EXPIRY = 1800
SHIFT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long ahead(void) { return atol(getenv("CLOCK_AHEAD")); }

int clock_gettime(clockid_t clock, struct timespec* now) {
  static int (*real)(clockid_t, struct timespec*);
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "clock_gettime");
  const int status = real(clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec += ahead();
  return status;
}

int gettimeofday(struct timeval* now, void* zone) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* now) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now != NULL) *now = precise.tv_sec;
  return precise.tv_sec;
}
"""


@pytest.fixture(scope="module")
def shift(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that shifts a program's clock."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("shift")
    (folder / "shift.c").write_text(SHIFT)
    made = [str(folder / "shift.so"), str(folder / "shift.c"), "-ldl"]
    subprocess.run([compiler, "-shared", "-fPIC", "-o", *made], check=True)
    return folder / "shift.so"


class Machine:
    """Runs this file with its clock so many seconds ahead."""

    def __init__(self, shift: Path, ahead: int) -> None:
        self._variables = {"LD_PRELOAD": str(shift), "CLOCK_AHEAD": str(ahead)}
        self._ahead = ahead

    def __call__(self, *arguments: object) -> Any:
        done = run_python(__file__, *arguments, variables=self._variables, cwd=os.getcwd())
        clock, result = json.loads(done.stdout)
        assert abs(clock - time.time() - self._ahead) < 120, "the clock is not shifted"
        return result


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
def test_tokens_are_as_old_as_the_disk_says(
    ahead: int, shift: Path, folder: Path, tiny: str
) -> None:
    texts()
    here, there = Machine(shift, 0), Machine(shift, ahead)
    # A plan for each length; what a run does not use expires as the next file is written.
    assert there("tokens", tiny, 3) == [[0, 2]]
    assert here("tokens", tiny, 4, 3) == [[0, 2], [2, 0]]
    assert there("tokens", tiny, 5, 4, 3) == [[0, 2], [2, 0], [2, 0]]
    assert here("tokens", tiny, 6, 5, 4, 3) == [[0, 2], [2, 0], [2, 0], [2, 0]]
    # That it expires at all: the disk says that two hours went by.
    for file in Path("kept").glob("*.tokens"):
        os.utime(file, (time.time() - 2 * HOUR,) * 2)
    assert there("tokens", tiny, 7, 3) == [[0, 2], [0, 2]]


def test_values_are_found_by_either(shift: Path, folder: Path) -> None:
    here, there = Machine(shift, 0), Machine(shift, HOUR)
    assert there("values", 2 * HOUR, "a") == [False]
    assert here("values", 2 * HOUR, "b", "a") == [False, True]
    assert there("values", 2 * HOUR, "b", "a") == [True, True]


def tokens(tokenizer: str, lengths: list[str]) -> list[list[int]]:
    """Hits and misses of reading all, cut at each of the lengths in turn."""
    counts = []
    for length in lengths:
        dataset = {
            "data_files": "data/*.jsonl",
            "name": "a",
            "tokenizer": {"name_or_path": tokenizer, "max_length": int(length)},
        }
        cache = {"cache_dir": "kept", "cache_type": "disk", "disk_cache_expiry": EXPIRY}
        config = PipelineConfig.from_dict({"datasets": [dataset], "cache": cache})
        (source,) = Pipeline(config).source().tokenize().get_data().values()
        assert len(list(source)) == 80
        source._store.native.flush()
        stats = source._store.native.stats()
        counts.append([stats["hits"], stats["misses"]])
        del source
    return counts


def values(expiry: str, keys: list[str]) -> list[bool]:
    """Which keys are there; those that are not are put."""
    cache = TreeCacheManager("values", disk_expiry=int(expiry))
    found = [cache.get(key) == (key, None) for key in keys]
    for key in keys:
        cache.put(key, key)
    return found


if __name__ == "__main__":
    work, first, *others = sys.argv[1:]
    print(json.dumps([time.time(), {"tokens": tokens, "values": values}[work](first, others)]))
