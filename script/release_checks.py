"""Checks whether a commit can be released: version, changelog, digests, documentation, wheel.

release_checks.py --dry-run
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import wheels

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Runs all checks, prints a line for each, and ends with 1 where one does not hold."""
    if sys.argv[1:] != ["--dry-run"]:
        raise SystemExit("usage: script/release --dry-run; a person tags and publishes")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version: str = project["version"]
    checks: list[tuple[str, Callable[[], str]]] = [
        ("everything is committed", committed),
        (f"{version} is not released yet", lambda: untagged(version)),
        (f"CHANGELOG.md begins with {version}", lambda: changelog(version)),
        (
            "recorded digests are those of this build",
            lambda: tests("tests/python/resume/test_golden_digests.py"),
        ),
        ("pages say what is so", lambda: tests("tests/python/docs")),
        ("wheels are of this commit, small, and bound to nothing new", lambda: wheel(version)),
    ]
    failed = 0
    for name, check in checks:
        problem = check()
        failed += bool(problem)
        print(f"{'NO ' if problem else 'yes'} {name}{': ' if problem else ''}{problem}", flush=True)
    if failed:
        raise SystemExit(f"release: {failed} of {len(checks)} do not hold")
    print(
        f"Left for a person: `git tag v{version}`, `git push --tags`, upload the wheels of "
        "build/wheel, and then say `pip install easydata` on docs/install.md."
    )


def committed() -> str:
    """Files that are not committed."""
    return " ".join(_git("status", "--porcelain").split()[1::2])


def untagged(version: str) -> str:
    """The tag of the version, where there is one."""
    return _git("tag", "--list", f"v{version}").strip()


def changelog(version: str) -> str:
    """What the first section of the changelog is called, where it is another version."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(r"^## (\S+)", text, re.MULTILINE)
    first = found.group(1) if found else "nothing"
    return "" if first == version else f"it begins with {first}"


def tests(*paths: str) -> str:
    """The last line of pytest, where tests fail."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "not sliced", *paths],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else done.stdout.strip().splitlines()[-1]


def wheel(version: str) -> str:
    """What is wrong with the wheels that script/wheel made: one for each Python it was given."""
    made = sorted((ROOT / "build/wheel").glob(f"easydata-{version}-*.whl"))
    if not made:
        return "there is none: script/wheel makes it"
    for each in made:
        if each.stat().st_mtime < int(_git("log", "-1", "--format=%ct")):
            return f"{each.name} is older than the commit: script/wheel makes it anew"
        try:
            wheels.check(each)
        except SystemExit as problem:
            return str(problem)
    return ""


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout


if __name__ == "__main__":
    main()
