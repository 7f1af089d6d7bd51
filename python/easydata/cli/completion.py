"""Completion in shells: their scripts, and the words that may come next."""

import re
from collections.abc import Sequence
from typing import Any

from easydata.cli.usage import UsageError

_SCRIPTS = {
    "bash": """\
_easydata_words() {
    local IFS=$'\\n'
    COMPREPLY=($(easydata completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _easydata_words easydata
""",
    "zsh": """\
#compdef easydata
_easydata_words() {
    local -a words_found
    words_found=("${(@f)$(easydata completion words -- "${(@)words[2,$CURRENT]}" 2>/dev/null)}")
    if [[ -n "${words_found[*]}" ]]; then compadd -- "${words_found[@]}"; else _files; fi
}
compdef _easydata_words easydata
""",
    "fish": """\
function __easydata_words
    set -l found (commandline -opc)
    easydata completion words -- $found[2..-1] (commandline -ct) 2>/dev/null
end
complete -c easydata -a '(__easydata_words)'
""",
}


def script(shell: str) -> str:
    """What a shell reads to complete `easydata`.

    Raises:
        UsageError: There is none for this shell.
    """
    if shell not in _SCRIPTS:
        raise UsageError(f"there is completion for {', '.join(_SCRIPTS)}, not for {shell!r}")
    return _SCRIPTS[shell]


def next_words(command: Any, words: Sequence[str]) -> list[str]:
    """The words that the last of `words` may be the beginning of; none: names of files.

    Args:
        command: The program, as typer makes it.
        words: Those after the program's name; the last is the one that is completed.
    """
    *before, begun = words or [""]
    value_of = None
    for word in before:
        if value_of is not None:
            value_of = None
        elif word in getattr(command, "commands", {}):
            command = command.commands[word]
        elif (option := _options(command).get(word)) is not None and not option.is_flag:
            value_of = option
    if value_of is not None:
        found = _choices(value_of)
    elif begun.startswith("-"):
        found = [name for name in _options(command) if name.startswith("--")]
    else:
        found = list(getattr(command, "commands", {}))
    return sorted(word for word in found if word.startswith(begun))


def _options(command: Any) -> dict[str, Any]:
    """The flags of a command by each of their names."""
    found = {}
    for parameter in command.params:
        if parameter.param_type_name == "option":
            names = [*parameter.opts, *parameter.secondary_opts]
            found.update(dict.fromkeys(names, parameter))
    return found


def _choices(option: Any) -> list[str]:
    metavar = option.metavar or ""
    return re.findall(r"[^\[\]|]+", metavar) if metavar.startswith("[") else []
