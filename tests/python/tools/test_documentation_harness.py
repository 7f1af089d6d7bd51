"""The tests of the pages see what is wrong with a page."""

from pathlib import Path

import pages
import pytest
from pages import Ran, commands, is_as_printed, read_page, run

pytestmark = pytest.mark.sliced


def _ran(wanted: str, got: str, status: int = 0) -> Ran:
    return Ran(line=1, wanted=wanted, got=got, status=status, lines=None)


_ERROR = 'Traceback (most recent call last):\n  File "x", line 1\nValueError: no\nat row 3'


@pytest.mark.parametrize(
    ("ran", "right"),
    [
        (_ran("8 rows", "8 rows\n"), True),
        (_ran("8 rows", "9 rows\n"), False),
        (_ran("", ""), True),
        (_ran("", "a warning\n"), False),
        (_ran("8 rows", ""), False),
        (_ran("8 rows in ... s", "8 rows in 0.1 s\n"), True),
        (_ran("8 rows in ... s", "9 rows in 0.1 s\n"), False),
        (_ran("a  b", "a b\n"), False),
        # Errors: whole, but for the frames.
        (
            _ran("Traceback (most recent call last):\n  ...\nValueError: no\nat row 3", _ERROR, 1),
            True,
        ),
        (_ran("Traceback (most recent call last):\n  ...\nValueError: no", _ERROR, 1), False),
        (_ran("Traceback (most recent call last):\n  ...\nValueError: no", "", 0), False),
        (_ran("", _ERROR, 1), False),
        (_ran("...", _ERROR, 1), False),
        # A command fails only where the page says so.
        (_ran("easydata: no such file", "easydata: no such file\n", 1), True),
        (_ran("...", "easydata: no such file\n", 1), False),
    ],
)
def test_what_a_page_says_is_compared(ran: Ran, right: bool) -> None:
    assert is_as_printed(ran) == right


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    return tmp_path


def test_blocks_share_names_and_a_folder(root: Path) -> None:
    (root / "first.md").write_text(
        "```python\nn = 3\nopen('made.txt', 'w').write('by first\\n')\n```\n"
    )
    page = root / "page.md"
    page.write_text(
        "<!-- after: first.md -->\n"
        "```python\nm = 4\n```\n\n"
        "```python\nprint(m, 'n' in globals())\n```\n\n```text\n4 False\n```\n"
        "```console\n$ cat made.txt\nby first\n$ echo two \\\n  lines\ntwo lines\n```\n"
        "```yaml\n# some.yaml\nkey: 1\n```\n```console\n$ tail -1 some.yaml\nkey: 2\n```\n"
        "<!-- needs: a_module -->\n```python\nprint('there')\n```\n"
        "<!-- not run: why not -->\n```python\n1 / 0\n```\n"
    )
    (root / "run").mkdir()
    ran = run(read_page(page), root / "run")
    assert [is_as_printed(each) for each in ran] == [True, True, True, True, True, False]
    (root / "again").mkdir()
    with_module = run(read_page(page), root / "again", frozenset({"a_module"}))
    assert with_module[-1].got == "there\n"


def test_a_command_needs_its_prompt(root: Path) -> None:
    page = root / "page.md"
    page.write_text("```console\neasydata\n```\n")
    with pytest.raises(AssertionError, match="expected"):
        list(commands(read_page(page).blocks[0]))
