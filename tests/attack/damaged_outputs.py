"""Goes on with, verifies and overwrites outputs whose progress or metadata is damaged.

Usage: damaged_outputs.py FIRST COUNT. Prints `CASE what` before each case, `result [case, what,
verdict]` behind it: a process of its own, because it may crash or hang.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from damage import damaged
from easydata.sources import JsonShardedSource

from easydata import save_dataset, verify

EXPECTED = (OSError, ValueError, TypeError, KeyError, IndexError, MemoryError)
VALUES: tuple[Any, ...] = (
    *(None, -1, 0, 10**15, 2**64, 1.5, "", "x", "\ud800", "..", "/", True, [], {}, [[]]),
    *("../victim.parquet", "sub/victim.parquet", "link.parquet", "shard-00001.parquet"),
)


def write(data: Path, out: Path, *, overwrite: bool = False) -> None:
    save_dataset(
        JsonShardedSource(data), out, max_shard_size="2KB", num_threads=1, overwrite=overwrite
    )


def content(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("shard-*")}


def _paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    members: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        members = enumerate(value)
    for key, member in members:
        yield (*at, key)
        yield from _paths(member, (*at, key))


def damaged_json(text: bytes, draw: random.Random) -> bytes:
    """JSON, or lines of it, with another member somewhere, or with damaged bytes."""
    if draw.random() < 0.3:
        return damaged(text, draw)
    whole = text.startswith(b"{\n")
    lines = [text] if whole else text.splitlines()
    number = draw.randrange(len(lines))
    value = json.loads(lines[number])
    for _ in range(draw.choice((1, 1, 2))):
        *path, last = draw.choice(list(_paths(value)) or [(None,)])
        if last is None:
            break
        at = value
        for key in path:
            at = at[key]
        if draw.random() < 0.2:
            del at[last]
        else:
            at[last] = draw.choice(VALUES)
    lines[number] = json.dumps(value, indent=2 if whole else None).encode()
    if not whole and draw.random() < 0.1:
        draw.shuffle(lines)
    return b"\n".join(lines) + b"\n"


class Outputs:
    """A finished output and one that was killed, with strangers' files about them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data.jsonl"
        with self.data.open("w") as file:
            for row in range(4000):
                print(json.dumps({"input_ids": [row, row + 1], "text": f"row {row}"}), file=file)
        write(self.data, folder / "whole")
        self.whole = content(folder / "whole")
        assert len(self.whole) > 3
        code = "import sys, damaged_outputs as d; d.write(d.Path(sys.argv[1]), d.Path(sys.argv[2]))"
        killed = subprocess.run(
            [sys.executable, "-c", code, str(self.data), str(folder / "killed")],
            env={**os.environ, "EASYDATA_FAULT_PLAN": "kill:rename@4"},
            cwd=Path(__file__).parent,
            check=False,
        )
        assert killed.returncode == -9
        assert content(folder / "killed")

    def copy(self, name: str) -> Path:
        box = self.folder / "box"
        shutil.rmtree(box, ignore_errors=True)
        out = box / "out"
        shutil.copytree(self.folder / name, out)
        (box / "victim.parquet").write_bytes(b"victim")
        return out

    def strangers_are_there(self, out: Path) -> bool:
        return (out.parent / "victim.parquet").read_bytes() == b"victim"

    def ends_whole(self, out: Path, *, overwrite: bool) -> str:
        try:
            write(self.data, out, overwrite=overwrite)
        except EXPECTED as error:
            return "refused" if len(str(error).split()) > 4 else f"wrong: it says {error!r}"
        return "whole" if content(out) == self.whole else "wrong: other files than undisturbed"

    def progress(self, draw: random.Random) -> str:
        out = self.copy("killed")
        progress = out / ".easydata" / "progress.jsonl"
        progress.write_bytes(damaged_json(progress.read_bytes(), draw))
        verdict = self.ends_whole(out, overwrite=draw.random() < 0.3)
        return verdict if self.strangers_are_there(out) else "wrong: a stranger's file is gone"

    def overwritten(self, draw: random.Random) -> str:
        out = self.copy("whole")
        metadata = out / ".metadata.json"
        metadata.write_bytes(damaged_json(metadata.read_bytes(), draw))
        if draw.random() < 0.3:
            (out / "link.parquet").symlink_to(out.parent / "victim.parquet")
        verdict = self.ends_whole(out, overwrite=True)
        return verdict if self.strangers_are_there(out) else "wrong: a stranger's file is gone"

    def verified(self, draw: random.Random) -> str:
        """A damaged shard is always found; damaged metadata is found, or says the same."""
        out = self.copy("whole")
        if draw.random() < 0.5:
            shard = draw.choice(sorted(out.glob("shard-*")))
            shard.write_bytes(damaged(shard.read_bytes(), draw))
            found = [file.path for file in verify(out).damaged]
            return "found" if found == [str(shard)] else f"wrong: verify found {found}"
        metadata = out / ".metadata.json"
        metadata.write_bytes(damaged_json(metadata.read_bytes(), draw))
        return "intact" if verify(out).ok else "found"


KINDS = ("progress", "overwritten", "verified")


def main(first: int, count: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        outputs = Outputs(Path(name))
        for number in range(first, first + count):
            kind = KINDS[number % len(KINDS)]
            print(number, kind, flush=True)
            verdict = getattr(outputs, kind)(random.Random(number))
            print("result", json.dumps([number, kind, verdict]), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
