"""Positions in a process that knows nothing but how its pipelines are made."""

import importlib
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from programs import run_python

from easydata import AsyncDataLoader


def rests_in_a_fresh_process(
    make: Callable[..., AsyncDataLoader],
    names: Iterable[str],
    here: Sequence[Path],
    there: Sequence[Path],
    folder: Path,
) -> None:
    """Restored at five steps in another process, pipelines give the ordered rest.

    `make(name, *folders)`, of a module, makes a pipeline's loader: `here` are the folders of this
    process, `there` those of the other one, which works in `folder`.
    """
    states, expected = {}, []
    for name in names:
        with make(name, *here) as loader:
            saved, digests = [loader.state_dict()], [0]
            for _ in loader:
                saved.append(loader.state_dict())
                digests.append(int(loader.digest(), 16))
        steps = [len(digests) * part // 5 for part in range(5)]
        assert len(set(steps)) == 5
        states[name] = [saved[step] for step in steps]
        # Digests of the parts of a stream add up, and tell its order.
        rests = [(digests[-1] - digests[step]) % 2**64 for step in steps]
        expected += [f"{name}:{rest:016x}" for rest in rests]
    module = Path(inspect.getfile(make))
    options = {"modules": [module.parent], "input": json.dumps(states), "cwd": folder}
    done = run_python(__file__, module.stem, *there, **options)
    assert done.stdout.splitlines() == expected


def _main(module: str, *folders: str) -> None:
    make = importlib.import_module(module).make
    for name, states in json.load(sys.stdin).items():
        for state in states:
            with make(name, *map(Path, folders)) as loader:
                loader.load_state_dict(state)
                assert loader.state_dict() == state
                for _ in loader:
                    pass
                print(name, loader.digest(), sep=":")


if __name__ == "__main__":
    _main(*sys.argv[1:])
