"""The pages of docs/, and README.md, as blocks that can be run.

    python tests/python/support/pages.py docs/quickstart.md [--write]

runs a page and shows where its blocks print something else than it says; with --write, it then says
what they print.
"""

import doctest
import importlib.util
import itertools
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from programs import run_python

ROOT = Path(__file__).resolve().parents[3]
DRIVER = Path(__file__).with_name("run_blocks.py")

# What a page may hold, and no other fence: a block that nobody runs is a block that is wrong.
RUNS = ("python", "console", "yaml")
OUTPUT = "text"
SHOWN = ("bash", "cpp", "cmake")

_FENCE = re.compile(r"^```(\S*)\s*$")
_MARK = re.compile(r"^<!-- (after|needs|not run): (.+?) -->$")
# A block that begins so is a file: all YAML, and programs that a later command starts.
_FILE = re.compile(r"^# (\S+\.(?:ya?ml|py))$|^# (\S+\.ya?ml)\b")


@dataclass
class Block:
    """What stands between two fences.

    Attributes:
        kind: The language of the fence.
        text: What stands between.
        line: Number of the fence's line, from 1.
        marks: The comments right above: `{"needs": "torch", "not run": "why"}`.
        output: What the page says that the block prints; None where it says nothing.
        output_lines: Where in the page that stands: first line and the one behind the last.
    """

    kind: str
    text: str
    line: int
    marks: dict[str, str] = field(default_factory=dict)
    output: str | None = None
    output_lines: tuple[int, int] | None = None

    @property
    def needs(self) -> frozenset[str]:
        """Modules that the block cannot run without."""
        return frozenset(self.marks.get("needs", "").split())

    @property
    def is_run(self) -> bool:
        return self.kind in RUNS and "not run" not in self.marks


@dataclass
class Page:
    path: Path
    lines: list[str]
    blocks: list[Block]
    after: list[str]

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()


def all_pages() -> list[Path]:
    """The pages that people read; the generated reference has no blocks."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def read_page(path: Path) -> Page:
    """Finds the blocks of a page, and what it says that they print."""
    lines = path.read_text(encoding="utf-8").splitlines()
    blocks: list[Block] = []
    after: list[str] = []
    marks: dict[str, str] = {}
    at = 0
    while at < len(lines):
        fence, mark = _FENCE.match(lines[at]), _MARK.match(lines[at])
        if mark and mark[1] == "after":
            after.append(mark[2])
        elif mark:
            marks[mark[1]] = mark[2]
        if fence is None:
            at += 1
            continue
        end = next(i for i in range(at + 1, len(lines)) if lines[i] == "```")
        text = "\n".join(lines[at + 1 : end])
        if fence[1] == OUTPUT and blocks and blocks[-1].kind == "python":
            assert blocks[-1].output is None, f"{path}:{at + 1}: a second output of one block"
            blocks[-1].output, blocks[-1].output_lines = text, (at + 1, end)
        else:
            blocks.append(Block(fence[1], text, at + 1, marks))
        marks = {}
        at = end + 1
    return Page(path, lines, blocks, after)


def before(page: Page) -> list[Page]:
    """The pages whose blocks run first, in order."""
    named = [read_page((page.path.parent / name).resolve()) for name in page.after]
    return [each for first in named for each in (*before(first), first)]


@dataclass
class Command:
    """A line behind `$` and what the page says that it prints."""

    text: str
    output: str
    lines: tuple[int, int]


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block; a backslash at the end of a line goes on in the next."""
    lines = block.text.split("\n")
    at = 0
    while at < len(lines):
        assert lines[at].startswith("$ "), f"line {block.line + 1 + at}: expected `$ command`"
        command = lines[at][2:]
        while lines[at].endswith("\\"):
            at += 1
            command += "\n" + lines[at]
        begin = at = at + 1
        while at < len(lines) and not lines[at].startswith("$ "):
            at += 1
        yield Command(command, "\n".join(lines[begin:at]), (block.line + begin, block.line + at))


@dataclass
class Ran:
    """What a block or command of a page printed, and where the page says what it should."""

    line: int
    wanted: str
    got: str
    status: int
    lines: tuple[int, int] | None
    text: str = ""
    seconds: float = 0


FIRST_BATCH = ".pack().load()"
"""What the block of the quickstart has that gives the first packed batch."""


def to_first_batch(ran: Sequence[Ran]) -> list[Ran]:
    """What a newcomer types or pastes, up to the first packed batch and with it."""
    last = next(i for i, each in enumerate(ran) if FIRST_BATCH in each.text)
    return list(ran[: last + 1])


def run(
    page: Page,
    folder: Path,
    present: frozenset[str] = frozenset(),
    start_from: Path | None = None,
) -> list[Ran]:
    """Runs a page, behind the pages that it builds on.

    Args:
        page: The page.
        folder: An empty folder, in which it runs in the folder `work`.
        present: Modules that are there; blocks that need others are left out.
        start_from: Folder in which the pages that it builds on were run already; None: run them.
    """
    folder = folder.resolve()
    first = [] if start_from is not None else before(page)
    if start_from is not None:
        shutil.copytree(start_from / "work", folder / "work")
    steps: list[dict[str, str]] = []
    ran: list[Ran] = []
    for each in (*first, page):
        steps.append({"kind": "new page", "text": each.name})
        ran.append(Ran(1, "", "", 0, None))
        for block in each.blocks:
            if not block.is_run or not block.needs <= present:
                continue
            if block.kind == "console":
                for command in commands(block):
                    steps.append({"kind": "console", "text": command.text})
                    lines = command.lines
                    ran.append(Ran(lines[0], command.output, "", 0, lines, command.text))
                continue
            name, is_file = _name(block, each)
            kind = "file" if is_file else block.kind
            steps.append({"kind": kind, "text": block.text, "name": name})
            wanted = block.output or ""
            ran.append(Ran(block.line, wanted, "", 0, block.output_lines, block.text))
    for one, done in zip(ran, _drive(steps, folder), strict=True):
        one.got, one.status, one.seconds = done
    begin = max(i for i, step in enumerate(steps) if step["kind"] == "new page")
    return ran[begin + 1 :]


def _name(block: Block, page: Page) -> tuple[str, bool]:
    """The file that a block is, or what a traceback calls it; and whether it is a file."""
    found = _FILE.match(block.text.partition("\n")[0])
    if found:
        return found[1] or found[2], True
    assert block.kind != "yaml", f"{page.name}:{block.line}: begin with `# its-name.yaml`"
    return f"{page.name}:{block.line}", False


def _drive(steps: Sequence[dict[str, str]], folder: Path) -> list[tuple[str, int, float]]:
    """Runs steps in a fresh process and folder: what each printed, its status, its seconds."""
    work, tools = folder / "work", folder / "bin"
    work.mkdir(exist_ok=True)
    tools.mkdir()
    starts = {"easydata": "-m easydata.cli", "torchrun": "-m torch.distributed.run", "python": ""}
    for name, options in starts.items():
        command = tools / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" {options} "$@"\n')
        command.chmod(0o755)
    results = folder / "results.json"
    variables = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "COLUMNS": "100",
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "NO_COLOR": "1",
        "HF_HUB_OFFLINE": "1",
    }
    run_python(
        DRIVER, results, variables=variables, input=json.dumps(list(steps)), cwd=work, timeout=600
    )
    return [tuple(each) for each in json.loads(results.read_text(encoding="utf-8"))]


_TRACEBACK = "Traceback (most recent call last):"
_checker = doctest.OutputChecker()


def _plain(text: str) -> str:
    """Without what nobody sees: blanks at the ends of lines, empty lines around."""
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def is_as_printed(ran: Ran) -> bool:
    """Whether the page says what came; `...` in the page stands for anything."""
    wanted, got = _plain(ran.wanted), _plain(ran.got)
    if ran.wanted.startswith(_TRACEBACK):
        if ran.status == 0:
            return False
        wanted, got = _error_of(wanted), _error_of(got)
    elif ran.status != 0 and "easydata: " not in wanted:
        return False
    return _checker.check_output(wanted + "\n", got + "\n", doctest.ELLIPSIS)


def _error_of(text: str) -> str:
    """What stands behind the frames of the last traceback: doctest leaves them out, too."""
    lines = text.split("\n")
    last = max(i for i, line in enumerate(lines) if line == _TRACEBACK)
    frames = itertools.dropwhile(lambda line: line.startswith(" "), lines[last + 1 :])
    return "\n".join(frames)


def difference(page: Page, ran: Ran) -> str:
    """What a failing test says."""
    return (
        f"{page.name}:{ran.line} prints something else (status {ran.status})\n"
        f"--- the page says\n{ran.wanted}\n--- what came\n{ran.got}"
    )


def _compare(path: Path, write: bool) -> None:
    """Shows where a page is wrong about what its blocks print, or mends it."""
    import tempfile

    page = read_page(path.resolve())
    present = modules_of(page)
    with tempfile.TemporaryDirectory() as folder:
        ran = run(page, Path(folder), present)
    for each in reversed(ran):
        if is_as_printed(each):
            continue
        print(difference(page, each))
        if not write:
            continue
        got = _plain(each.got)
        if each.status != 0 and _TRACEBACK in got:
            got = f"{_TRACEBACK}\n  ...\n{_error_of(got)}"
        if each.lines is None:
            _insert_output(page, each.line, got)
            continue
        page.lines[each.lines[0] : each.lines[1]] = got.split("\n") if got else []
    if write:
        path.write_text("\n".join(page.lines) + "\n", encoding="utf-8")


def _insert_output(page: Page, line: int, got: str) -> None:
    """Puts an output behind a block that has none."""
    end = next(i for i in range(line, len(page.lines)) if page.lines[i] == "```")
    page.lines[end + 1 : end + 1] = ["", "```text", *got.split("\n"), "```"]


def modules_of(page: Page) -> frozenset[str]:
    """The modules that blocks of a page need, as far as they are there."""
    named = {name for block in page.blocks for name in block.needs}
    return frozenset(name for name in named if importlib.util.find_spec(name) is not None)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        if argument != "--write":
            _compare(Path(argument), "--write" in sys.argv)
