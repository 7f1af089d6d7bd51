"""Runs give the same batches whatever is kept, misses, is damaged or removed, or dies."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kept_run
import pytest
from full_disk import small_disk
from kept_run import config_of, run
from programs import environment
from small_data import jsonl

Damage = Callable[[Path], None]


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Files of two datasets, each of several blocks."""
    folder = tmp_path_factory.mktemp("data")
    words = random.Random(5)
    for letter in "ab":
        for number in range(2):
            jsonl(
                folder / f"{letter}{number}.jsonl",
                [
                    {"text": f"{letter}{number} row {i} " + "of ducks " * words.randrange(60)}
                    for i in range(20000)
                ],
            )
    return f"{folder}/{{}}*.jsonl"


def test_whatever_is_kept(pattern: str, tiny: str, tmp_path: Path) -> None:
    cache = tmp_path / "kept"
    wanted = run(config_of(pattern, tiny, None), 400)
    half = config_of(pattern, tiny, None)
    for part in ("nothing", "all", "half"):
        if part == "half":
            for file in sorted(cache.glob("*.tokens"))[::2]:
                file.unlink()
        kept = config_of(pattern, tiny, str(cache))
        done = run(kept, 400)
        assert done.end == wanted.end, part
        assert bool(done.stats["hits"]) == (part != "nothing")
        # Of all, one run may read further ahead than the one before.
        assert done.stats["misses"] < done.stats["hits"] or part != "all"
        assert done.stats["misses"] > 0 or part == "all"
    # Where it stands belongs to nobody: a state goes on with and without.
    early = run(half, 150).state
    kept = config_of(pattern, tiny, str(cache))
    assert run(kept, 250, state=early).sums == wanted.sums[150:]
    assert run(half, 250, state=run(kept, 150).state).sums == wanted.sums[150:]


@pytest.mark.parametrize(("world_size", "lanes"), [(2, 1), (3, 1), (2, 4)])
def test_for_any_ranks_and_lanes(
    world_size: int, lanes: int, pattern: str, tiny: str, tmp_path: Path
) -> None:
    cache = str(tmp_path / "kept")
    for rank in range(world_size):
        how = {"rank": rank, "world_size": world_size, "lanes": lanes}
        wanted = run(config_of(pattern, tiny, None), 60, **how)
        for _ in ("cold", "warm"):
            assert run(config_of(pattern, tiny, cache), 60, **how).end == wanted.end


def _delete(folder: Path) -> None:
    for file in folder.glob("*.tokens"):
        file.unlink()


def _flip(folder: Path) -> None:
    for file in folder.glob("*.tokens"):
        content = bytearray(file.read_bytes())
        for at in range(1000, len(content), len(content) // 50):
            content[at] ^= 0x10
        file.write_bytes(content)


def _remove_all(folder: Path) -> None:
    subprocess.run(["rm", "-rf", str(folder)], check=True)


@pytest.mark.parametrize("damage", [_delete, _flip, _remove_all])
def test_files_that_are_lost_or_damaged_in_mid_run(
    damage: Damage, pattern: str, tiny: str, tmp_path: Path
) -> None:
    cache = tmp_path / "kept"
    wanted = run(config_of(pattern, tiny, None), 300)
    kept = config_of(pattern, tiny, str(cache))
    assert run(kept, 300).end == wanted.end
    assert list(cache.glob("*.tokens"))

    def between(step: int) -> None:
        if step == 1:
            damage(cache)

    done = run(kept, 300, between=between)
    assert done.end == wanted.end
    again = run(kept, 300)
    assert again.end == wanted.end
    # Files that were open when they were deleted were read to their end.
    assert done.stats["misses"] + again.stats["misses"] > 0


def test_a_full_disk_costs_the_cache_alone(pattern: str, tiny: str, tmp_path: Path) -> None:
    wanted = run(config_of(pattern, tiny, None), 300)
    with small_disk(tmp_path / "disk", "600k") as disk:
        kept = config_of(pattern, tiny, str(disk / "kept"))
        for _ in range(2):
            assert run(kept, 300).end == wanted.end


def _start(*arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, str(kept_run.__file__), *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def test_four_processes_make_each_block_once(pattern: str, tiny: str, tmp_path: Path) -> None:
    wanted = run(config_of(pattern, tiny, None), 400)
    alone = run(config_of(pattern, tiny, str(tmp_path / "alone")), 400)
    cache = tmp_path / "kept"
    programs = [_start(pattern, tiny, cache, 400) for _ in range(4)]
    said: list[dict[str, Any]] = []
    for program in programs:
        out, _ = program.communicate(timeout=120)
        assert program.returncode == 0
        said.append(json.loads(out.splitlines()[-1]))
    assert {each["digest"] for each in said} == {wanted.digest}
    blocks = alone.stats["written_blocks"]
    assert blocks > 5
    # How far one reads ahead, and so how many blocks there are, is a matter of time.
    assert sum(each["stats"]["written_blocks"] for each in said) <= blocks + 2


def test_what_a_killed_run_left_is_right(pattern: str, tiny: str, tmp_path: Path) -> None:
    cache = tmp_path / "kept"
    wanted = run(config_of(pattern, tiny, None), 400)
    for pause in (0.0, 0.002, 0.01):
        program = _start(pattern, tiny, cache, 400, pause)
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        time.sleep(0.4 + 40 * pause)
        os.kill(program.pid, signal.SIGKILL)
        program.communicate()
        assert run(config_of(pattern, tiny, str(cache)), 400).end == wanted.end
