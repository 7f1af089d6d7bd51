"""The card of a repository of the Hub: what `datasets` reads of it, and what a push puts there.

A card is text of its owner. A push sets the keys `configs` and `dataset_info` in the YAML at its
top, in these the entries of its own configs, and a section between two comments; all other text
stays as it is, letter for letter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

# As huggingface_hub has it.
_YAML_BLOCK = re.compile(r"^(\s*---[\r\n]+)([\S\s]*?)([\r\n]+---(?:\r\n|\n|$))")
# What begins a top-level key of YAML, and not one that goes on.
_TOP_LEVEL = re.compile(r"[^\s#\-\]}]")
# How `datasets` calls who reads files of these names.
_READERS = {
    "csv": "csv",
    "tsv": "csv",
    "json": "json",
    "jsonl": "json",
    "ndjson": "json",
    "parquet": "parquet",
    "geoparquet": "parquet",
    "gpq": "parquet",
    "arrow": "arrow",
    "txt": "text",
    "tar": "webdataset",
    "xml": "xml",
    "lance": "lance",
    "h5": "hdf5",
    "hdf5": "hdf5",
    **dict.fromkeys(("png", "jpg", "jpeg", "webp", "gif", "bmp", "tif", "tiff"), "imagefolder"),
    **dict.fromkeys(("mp3", "wav", "flac", "ogg", "opus", "m4a"), "audiofolder"),
    **dict.fromkeys(("mp4", "mkv", "avi", "mov", "webm"), "videofolder"),
    "pdf": "pdffolder",
}


@dataclass(frozen=True)
class Entry:
    """What a push says of one config.

    Attributes:
        config: Its name.
        pattern: The files of its split "train".
        info: What `datasets` keeps of it in `dataset_info`.
        section: Where the rows come from, for people.
    """

    config: str
    pattern: str
    info: Mapping[str, Any]
    section: str


def reader_of(name: str) -> str | None:
    """Who of `datasets` reads a file of this name; None where the name does not tell."""
    for ending in name.rpartition("/")[2].lower().split(".")[1:]:
        if ending in _READERS:
            return _READERS[ending]
    return None


def values_of(card: str) -> dict[str, Any]:
    """The YAML at the top of a card.

    Raises:
        ValueError: When it is none, or its configs are not as `datasets` has them.
    """
    block = _YAML_BLOCK.match(card)
    try:
        values = yaml.safe_load(block[2]) if block else None
    except yaml.YAMLError as error:
        said = " ".join(str(error).split())
        raise ValueError(f"README.md begins with what is no YAML ({said})") from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise ValueError("README.md begins with YAML that has no keys")
    configs = values.get("configs")
    if configs is not None:
        is_list = isinstance(configs, list)
        if not is_list or not all(
            isinstance(each, dict) and isinstance(each.get("config_name"), str) for each in configs
        ):
            raise ValueError("configs in README.md is no list of configs, each with a config_name")
    infos = values.get("dataset_info")
    if infos is not None and not all(isinstance(each, dict) for each in _infos(infos)):
        raise ValueError("dataset_info in README.md is neither a mapping nor a list of them")
    return values


def configs_of(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The configs that a card names."""
    return {each["config_name"]: each for each in values.get("configs") or ()}


def patterns_of(config: Mapping[str, Any]) -> list[str]:
    """The files of all splits of a config, as the card has them."""
    given = config.get("data_files")
    found = []
    for each in [given] if isinstance(given, str) else given or ():
        paths = each.get("path", ()) if isinstance(each, dict) else each
        found += [paths] if isinstance(paths, str) else list(paths)
    folder = config.get("data_dir")
    if folder and not found:
        return [f"{str(folder).strip('/')}/**"]
    return [f"{str(folder).strip('/')}/{path}" if folder else str(path) for path in found]


def matching(pattern: str, files: Iterable[str]) -> Iterator[str]:
    """The files that a pattern of a card stands for."""
    compiled = re.compile(_expression(pattern))
    return (file for file in files if compiled.fullmatch(file))


def _expression(pattern: str) -> str:
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]*\])", pattern)
    meant = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return "".join(
        meant.get(part) or (part if part.startswith("[") and len(part) > 2 else re.escape(part))
        for part in parts
    )


def merged(card: str, title: str, entries: Sequence[Entry]) -> str:
    """The card with what a push says in it.

    Args:
        card: The text that is there; empty where there is none.
        title: The heading of a new card.
        entries: The configs that are pushed.
    """
    values = values_of(card)
    newline = "\r\n" if "\r\n" in card else "\n"
    block = _YAML_BLOCK.match(card)
    body = card[block.end() :] if block else card
    if not card:
        body = f"\n# {title}\n"
    configs = _with_configs(values.get("configs") or [], entries)
    infos = _with_infos(values.get("dataset_info"), entries)
    top = _with_keys(block[2] if block else "", {"configs": configs, "dataset_info": infos})
    for entry in entries:
        body = _with_section(body, entry, newline)
    opening, closing = (block[1], block[3]) if block else ("---\n", "\n---\n")
    head = "".join([opening, top.rstrip("\r\n"), closing])
    return _lines_as(head, newline) + body


def _lines_as(text: str, newline: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", newline)


def _with_configs(configs: Sequence[Any], entries: Sequence[Entry]) -> list[dict[str, Any]]:
    made = [dict(each) for each in configs]
    places = {each["config_name"]: number for number, each in enumerate(made)}
    for entry in entries:
        files = [{"split": "train", "path": entry.pattern}]
        if entry.config in places:
            # What else its owner says of it ("default: true") stays.
            made[places[entry.config]]["data_files"] = files
        else:
            made.append({"config_name": entry.config, "data_files": files})
    return made


def _infos(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


def _with_infos(given: Any, entries: Sequence[Entry]) -> Any:
    """What stands under dataset_info: one mapping of one config, or a list."""
    infos = {each.get("config_name", "default"): each for each in (_infos(given) if given else ())}
    for entry in entries:
        infos.pop(entry.config, None)  # what is pushed comes last
        infos[entry.config] = entry.info
    listed = [{"config_name": name, **info} for name, info in infos.items()]
    if len(listed) > 1:
        return listed
    if listed[0]["config_name"] == "default":
        del listed[0]["config_name"]
    return listed[0]


def _with_keys(block: str, values: Mapping[str, Any]) -> str:
    """YAML with some top-level keys set; its other lines as they are."""
    wanted = {**(yaml.safe_load(block) or {}), **values}
    lines = block.splitlines(keepends=True)
    for key, value in values.items():
        begin = next((i for i, line in enumerate(lines) if _is_key(line, key)), len(lines))
        end = begin + 1
        while end < len(lines) and not _TOP_LEVEL.match(lines[end]):
            end += 1
        while end > begin + 1 and end <= len(lines) and _is_aside(lines[end - 1]):
            end -= 1  # a comment on the next key
        if begin == len(lines) and lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        lines[begin:end] = [_as_yaml({key: value})]
    made = "".join(lines)
    try:
        is_right = yaml.safe_load(made) == wanted
    except yaml.YAMLError:
        is_right = False
    # Anchors that others refer to, keys in braces and the like.
    return made if is_right else _as_yaml(wanted)


def _is_key(line: str, key: str) -> bool:
    return re.match(rf"""(["']?){key}\1\s*:""", line) is not None


def _is_aside(line: str) -> bool:
    return not line.strip() or line.startswith("#")


def _as_yaml(values: Any) -> str:
    return str(yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=1000))


def _with_section(body: str, entry: Entry, newline: str) -> str:
    begin, end = f"<!-- easydata: {entry.config} -->", f"<!-- easydata: end of {entry.config} -->"
    text = _lines_as(f"{begin}\n{entry.section.strip()}\n{end}", newline)
    first, last = body.find(begin), body.find(end)
    if 0 <= first < last:
        return body[:first] + text + body[last + len(end) :]
    return body.rstrip("\r\n") + newline * 2 + text + newline
