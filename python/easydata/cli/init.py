"""`easydata init`: a commented pipeline.yaml for the data of a folder, found by looking at it."""

import itertools
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from easydata import _native
from easydata.cli.report import Report
from easydata.cli.usage import UsageError
from easydata.core.config import DatasetConfig
from easydata.sources.create import create_source
from easydata.tokenizers.tokenizer import Tokenizer
from easydata.transforms.chat import find_messages_field, is_conversational
from easydata.transforms.conversation import is_instruction

# Rows that are looked at, files that are looked into one by one, levels of folders that a
# tokenizer is looked for in, characters of a long text.
_ROWS = 3
_FILES = 64
_DEEPEST = 3
_TEXT = 20
_LINE = 120
_TOKENIZER = "tokenizer.json"


@dataclass
class _Found:
    """Files of one format in one folder, and what is to be done with them."""

    name: str
    data_files: str | list[str]
    files: int
    size: int
    columns: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    what: str = ""
    why_not: str = ""

    @property
    def named(self) -> list[str]:
        """The files, or the pattern of them."""
        return [self.data_files] if isinstance(self.data_files, str) else self.data_files

    @property
    def files_text(self) -> str:
        """The files, for people."""
        return ", ".join(self.named[:3]) + (", ..." if len(self.named) > 3 else "")


def init(folder: str, tokenizer: str | None, config: str, overwrite: bool, report: Report) -> None:
    """Looks at the data of a folder, and writes a config that can be run as it is.

    Raises:
        UsageError: There is nothing to read, no tokenizer, or the config is there already.
    """
    if os.path.exists(config) and not overwrite:
        raise UsageError(f"{config} is there already; give --overwrite to replace it")
    groups = list(_groups(Path(folder)))
    if not groups:
        raise UsageError(
            f"{folder}: there are no data files in it; names end in {', '.join(_suffixes())}"
        )
    named = tokenizer or _tokenizer_near(Path(folder))
    for found in groups:
        _look(found, named)
    usable = [found for found in groups if not found.why_not]
    if named is None and any("no tokenizer" in found.why_not for found in groups):
        raise UsageError(
            f"{folder}: no tokenizer is in it or here (a folder with {_TOKENIZER}); name one: "
            "--tokenizer FOLDER"
        )
    if not usable:
        reasons = "; ".join(f"{found.files_text}: {found.why_not}" for found in groups)
        raise UsageError(f"nothing of {folder} can be tokenized: {reasons}")
    is_packed = not any("transform" in found.options for found in usable)
    command = f"easydata {'pack' if is_packed else 'tokenize'} --config {config}"
    text = "\n".join(_lines(groups, named, command, is_packed)) + "\n"
    Path(config).write_text(text, encoding="utf-8")
    for found in groups:
        said = f"left out: {found.why_not}" if found.why_not else found.what
        report.line(f"{found.name}: {found.files_text}: {said}")
    report.line(f"{config} is written; look at it, and run: {command}")
    report.result(
        {
            "config": config,
            "command": command,
            "datasets": {
                each.name: {"data_files": each.data_files, **each.options} for each in usable
            },
            "left_out": {", ".join(each.named): each.why_not for each in groups if each.why_not},
        }
    )


def _suffixes() -> list[str]:
    return sorted({f".{known.name}" for known in _native.data_formats()})


def _groups(folder: Path) -> Iterator[_Found]:
    """The data files below a folder, by where they are and what their names end in."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    groups: dict[tuple[Path, str], list[Path]] = {}
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith((".", "_")))
        if _TOKENIZER in names:  # its JSON files are no data
            folders.clear()
            continue
        for name in sorted(names):
            if not name.startswith((".", "_")) and _native.format_of_name(name):
                suffix = "".join(re.findall(r"\.[A-Za-z][A-Za-z0-9_]*", name)[-2:])
                known = suffix if _native.format_of_name("a" + suffix) else Path(name).suffix
                groups.setdefault((Path(here), known), []).append(Path(here, name))
    taken: dict[str, int] = {}
    for (place, suffix), together in groups.items():
        alike = _alike(together)
        for files in alike:
            alone = len(files) == 1
            stem = files[0].name.partition(".")[0] if alone else place.resolve().name
            name = re.sub(r"\W+", "_", stem).strip("_") or "data"
            taken[name] = taken.get(name, 0) + 1
            named: str | list[str] = [os.fspath(file) for file in files]
            if alone:
                named = os.fspath(files[0])
            elif len(alike) == 1:
                named = os.fspath(place / f"*{suffix}")
            size = sum(file.stat().st_size for file in files)
            number = "" if taken[name] == 1 else f"_{taken[name]}"
            yield _Found(name + number, named, len(files), size)


def _alike(files: list[Path]) -> list[list[Path]]:
    """Files whose rows are of one form together; where there are very many, all of them."""
    if not 1 < len(files) <= _FILES:
        return [files]
    groups: dict[str, list[Path]] = {}
    for file in files:
        try:
            row: dict[str, Any] = next(iter(create_source(os.fspath(file))), {})
        except (OSError, ValueError, TypeError, KeyError):
            form = "not readable"
        else:
            form = repr(["input_ids" in row, *(each for each in _candidates(row))])
        groups.setdefault(form, []).append(file)
    return list(groups.values())


def _tokenizer_near(folder: Path) -> str | None:
    """The first folder with a tokenizer in or beside the data."""
    for place in (Path(), folder):
        for here, folders, names in os.walk(place):
            folders[:] = sorted(each for each in folders if not each.startswith("."))
            if len(Path(here).relative_to(place).parts) >= _DEEPEST:
                folders.clear()
            if _TOKENIZER in names:
                return here
    return None


def _look(found: _Found, tokenizer: str | None) -> None:
    """Finds what the files hold, and options that make tokens of it, by trying them."""
    try:
        rows = list(itertools.islice(create_source(DatasetConfig(found.data_files)), _ROWS))
    except (OSError, ValueError, TypeError, KeyError) as error:
        found.why_not = f"cannot be read: {_sentence(error)}"
        return
    if not rows:
        found.why_not = "has no rows"
        return
    found.columns = list(dict.fromkeys(name for row in rows for name in row))
    if isinstance(rows[0].get("input_ids"), list):
        found.why_not = (
            f"has tokens already; pack them: easydata pack {shlex.join(found.named)} "
            "--eos-token-id ID"
        )
        return
    if tokenizer is None:
        found.why_not = "no tokenizer was found; give --tokenizer FOLDER"
        return
    reasons = []
    for what, options in _candidates(rows[0]):
        try:
            _try(found.data_files, options, tokenizer)
        except (OSError, ValueError, TypeError, KeyError, RuntimeError) as error:
            reasons.append(_sentence(error))
            continue
        found.what, found.options = what, options
        return
    found.why_not = reasons[0] if reasons else "has no column of text"


def _candidates(row: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a row may be, and the options for it, the likeliest first."""
    sft = {"name": "sft", "mask_prompt": True, "fixed_shapes": False}
    if "chosen" in row and "rejected" in row:
        yield "pairs of answers", {"transform": {"name": "dpo", "layout": "trl"}}
    elif isinstance(row.get("label"), bool):
        yield "answers with labels", {"transform": {"name": "kto", "layout": "trl"}}
    elif is_conversational(row) or find_messages_field(row):
        yield "chats", {"transform": sft}
    elif is_instruction(row) or ("prompt" in row and "completion" in row):
        yield "instructions with answers", {"transform": sft}
    texts = {name: value for name, value in row.items() if isinstance(value, str)}
    for name in sorted(texts, key=lambda each: (each != "text", -len(texts[each]))):
        if name == "text" or len(texts[name]) >= _TEXT:
            yield "text", {} if name == "text" else {"content_field": name}
            return


def _try(files: str | list[str], options: Mapping[str, Any], tokenizer: str) -> None:
    """Makes tokens of the first rows; raises what is wrong."""
    source = create_source(DatasetConfig(files, tokenizer=tokenizer, num_rows=_ROWS, **options))
    if "transform" not in options:
        Tokenizer(tokenizer)
    list(source)


def _sentence(error: Exception) -> str:
    said = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
    return " ".join(said.split())


def _lines(
    groups: list[_Found], tokenizer: str | None, command: str, is_packed: bool
) -> Iterator[str]:
    """The config as a text for people."""
    yield f"# Made by `easydata init`. Run it: {command}"
    yield f"# What it would do, without doing it: {command} --dry-run"
    yield "# All options: docs/reference/configs.md; one from the shell: --set pack.seq_length=4096"
    yield ""
    yield "seed: 0                      # of everything that is shuffled"
    if tokenizer is not None:
        yield f"default_tokenizer: {_quoted(tokenizer)}"
    yield ""
    yield "datasets:"
    for number, found in enumerate(groups):
        yield from _dataset(found, is_first=number == 0)
    yield ""
    usable = [found for found in groups if not found.why_not]
    if is_packed:
        if len(usable) > 1:
            share = round(1 / len(usable), 3)
            weights = ", ".join(f"{_quoted(found.name)}: {share}" for found in usable)
            yield "# One stream of all, in these shares; without it each is written for itself."
            yield "# mix:"
            yield f"#   weights: {{{weights}}}"
            yield "#   stop_strategy: first_exhausted"
            yield ""
        yield "pack:"
        yield "  seq_length: 2048           # tokens of a row"
        yield "  # strategy: best_fit       # fewer documents are split than by greedy, the default"
        yield ""
    yield "save:"
    yield "  output_dir: output         # a folder, or s3://bucket/prefix"
    yield "  format: parquet"
    yield "  # max_shard_size: 500MB"
    yield ""
    yield "# For training: Pipeline.from_config(...).source().tokenize()...load().build()"
    yield "load:"
    yield "  batch_size: 8"


def _dataset(found: _Found, *, is_first: bool) -> Iterator[str]:
    files = f"{found.files:,} file" + ("" if found.files == 1 else "s")
    columns = ", ".join(found.columns[:12]) + (", ..." if len(found.columns) > 12 else "")
    mark = "# " if found.why_not else ""
    reason = found.why_not if len(found.why_not) < _LINE else found.why_not[:_LINE] + "..."
    yield f"  # {files}; columns: {columns or 'not known'}; {found.what or 'left out: ' + reason}"
    yield f"  {mark}- name: {_quoted(found.name)}"
    yield f"  {mark}  data_files: {_flow(found.data_files)}"
    if found.why_not:
        return
    for option, value in found.options.items():
        yield f"    {option}: {_flow(value)}"
    if "transform" not in found.options and found.what == "text":
        others = [name for name in found.columns if name != found.options.get("content_field")]
        kept = [name for name in others if name != "text"][:3]
        if kept:
            yield f"    # additional_fields: {_flow(kept)}   # columns to keep beside the tokens"
    if not is_first:
        return
    yield "    # shuffle: rows            # blocks of the files in random order, and their rows"
    yield "    # parts: {train: 0.98, validation: 0.02}"
    yield "    # part: train"


def _quoted(text: str) -> str:
    """A text as YAML has it: plain where it can only be read as that."""
    is_word = text.lower() in ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
    is_plain = re.fullmatch(r"[A-Za-z_./][\w./-]*", text) and not is_word
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return _quoted(value) if isinstance(value, str) else json.dumps(value)
