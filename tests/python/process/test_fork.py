"""B3: a process may be forked whatever its threads are in the middle of."""

import multiprocessing
from pathlib import Path

import pytest
from byte_tokenizer import write_tokenizer
from programs import run_python

import easydata as ed

pytestmark = pytest.mark.alone

WORKS = ("encode,encode_one,decode", "load,rows", "call,save", "drop,drop,drop")


def fork(folder: Path, works: str, times: int) -> None:
    script = Path(__file__).with_name("forks.py")
    done = run_python(script, folder, works, times, timeout=600)
    # A fork waits for what is being done, not for all that is to do, which has no end here: after
    # five seconds it would go on in the middle of it. (It takes a tenth of a second.)
    assert float(done.stdout.split()[-2]) < 5


@pytest.mark.one_in(2)
@pytest.mark.parametrize("works", WORKS)
def test_children_of_a_busy_process_work(tmp_path: Path, works: str) -> None:
    write_tokenizer(tmp_path)
    fork(tmp_path, works, 10)


@pytest.mark.sliced
@pytest.mark.parametrize("works", WORKS)
def test_a_hundred_children_of_a_busy_process_work(tmp_path: Path, works: str) -> None:
    write_tokenizer(tmp_path)
    fork(tmp_path, works, 100)


def rows_of(file: str, queue: "multiprocessing.Queue[list[int]]") -> None:
    loader = ed.AsyncDataLoader(ed.JsonShardedSource(file), batch_size=10)
    queue.put([int(n) for batch in loader for n in batch["n"]])


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_multiprocessing_read(tmp_path: Path, method: str) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(f'{{"n": {n}}}\n' for n in range(100)))
    loader = ed.AsyncDataLoader(ed.JsonShardedSource(str(file)), batch_size=10)
    iterator = iter(loader)
    next(iterator)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    workers = [context.Process(target=rows_of, args=(str(file), queue)) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        assert [queue.get(timeout=60) for _ in workers] == [list(range(100))] * 3
        for worker in workers:
            worker.join(60)
            assert worker.exitcode == 0
    finally:
        for worker in workers:
            worker.kill()
    assert [int(n) for batch in iterator for n in batch["n"]] == list(range(10, 100))


def test_an_iterator_of_the_parent_says_that_it_is_none_of_the_child(tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    (tmp_path / "rows.txt").write_text("a\nb\n" * 5000)
    script.write_text(
        "import os, sys\n"
        "import easydata as ed\n"
        "source = ed.TextShardedSource(sys.argv[1])\n"
        "rows = source.open_shard(source.shard_names[0])\n"
        "iterator = iter(rows)\n"
        "first = next(iterator)\n"
        "if os.fork() == 0:\n"
        "    try:\n"
        "        list(iterator)\n"
        "    except RuntimeError as error:\n"
        "        print(error, flush=True)\n"
        "    sys.exit(0)\n"
        "os.wait()\n"
        "print(1 + sum(1 for _ in iterator))\n"
    )
    done = run_python(script, tmp_path / "rows.txt", timeout=60)
    said, count = done.stdout.splitlines()
    assert "make a new one here" in said
    assert count == "10000"
