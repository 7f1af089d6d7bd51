"""Completion: the words that may come next, and the shells that ask for them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from easydata.cli import main
from programs import environment


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["to"], ["tokenize"]),
        (["pack", "--strat"], ["--strategy"]),
        (["pack", "--strategy", "p"], ["pool"]),
        (["pack", "--format", ""], ["array_record", "arrow", "jsonl", "parquet"]),
        (["pack", "-f", "j"], ["jsonl"]),
        (["pack", "--no-shuffle"], ["--no-shuffle-packed"]),
        (["cache", "fi"], ["fill"]),
        (["cache", "fill", "--pac"], ["--packed"]),
        # Files: the shell knows them.
        (["pack", "da"], []),
        (["pack", "--tokenizer", ""], []),
    ],
)
def test_words(words: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "words", "--", *words]) == 0
    assert capsys.readouterr().out.split() == expected


def test_a_shell_that_there_is_none_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "completion for bash, zsh, fish, not for 'tcsh'" in capsys.readouterr().err


SHELLS = {
    "bash": 'eval "$(easydata completion bash)"; COMP_WORDS=(easydata pack --strategy po); '
    'COMP_CWORD=3; _easydata_words; echo "${COMPREPLY[@]}"',
    "fish": "easydata completion fish | source; complete -C 'easydata pack --strategy po'",
    "zsh": "autoload -Uz compinit; compinit -u; compadd() { shift; print -r -- $@ }; "
    'eval "$(easydata completion zsh)"; words=(easydata pack --strategy po); CURRENT=4; '
    "_easydata_words",
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    program = tmp_path / "easydata"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m easydata.cli "$@"\n')
    program.chmod(0o755)
    found = subprocess.run(
        [shell, "-c", SHELLS[shell]],
        env={**environment(), "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["pool"], found.stderr
