"""The splits of a dataset that its card or its names tell simply, without `datasets`."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import yaml

from easydata import _native
from easydata.sources.hub.index import INSTALL
from easydata.sources.hub.splits import HubSplits

# Names of splits, as they are called in the names of files and folders.
_KEYWORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
_READ = ("parquet", "json", "jsonl", "csv", "tsv", "txt", "arrow")


def splits_of_card(root: str, paths: Sequence[str], readme: bytes, subset: str | None) -> HubSplits:
    """The splits that the card's `configs` or the names of files tell.

    Raises:
        NotImplementedError: What is said takes `datasets` to know.
        FileNotFoundError: There is no such subset, or no data.
    """
    card = _card(root, readme)
    config = _config(root, card, subset)
    extra = set(config) - {"config_name", "data_files", "default", "data_dir"}
    if extra or config.get("data_dir"):
        _refuse(root, f"the card sets {', '.join(sorted(extra or {'data_dir'}))}")
    if card.get("dataset_info"):
        _refuse(root, "the card gives types to columns")
    patterns = config.get("data_files")
    files = _by_patterns(root, paths, patterns) if patterns else _by_names(paths)
    if not any(files.values()):
        raise FileNotFoundError(f"{root} has no files of data ({', '.join(_READ)})")
    return _splits(root, {split: found for split, found in files.items() if found})


def converted_splits(root: str, paths: Sequence[str], subset: str | None) -> HubSplits:
    """The splits of what the Hub converted to Parquet: CONFIG/SPLIT/0000.parquet."""
    configs: dict[str, dict[str, list[str]]] = {}
    for path in sorted(paths):
        parts = path.split("/")
        if len(parts) == 3 and parts[2].endswith(".parquet"):
            split = parts[1].removeprefix("partial-")
            configs.setdefault(parts[0], {}).setdefault(split, []).append(path)
    if subset is None and len(configs) == 1:
        subset = next(iter(configs))
    subset = subset or "default"
    if subset not in configs:
        raise ValueError(f"{root}: there is no subset {subset!r}, but {_shown(configs)}")
    return _splits(root, configs[subset])


def _splits(root: str, files: Mapping[str, Sequence[str]]) -> HubSplits:
    kinds = {_native.format_of_name(path) for found in files.values() for path in found}
    if len(kinds) != 1 or not kinds <= set(_READ):
        _refuse(root, f"it has files of several formats, or of others ({_shown(kinds)})")
    kind = kinds.pop()
    return HubSplits(
        root=root,
        files={split: [root + path for path in found] for split, found in files.items()},
        format="json" if kind == "jsonl" else kind,
    )


def _card(root: str, readme: bytes) -> dict[str, Any]:
    found = re.match(rb"\s*---[ \t]*\r?\n(.*?)\r?\n---", readme, re.DOTALL)
    if found is None:
        return {}
    try:
        card = yaml.safe_load(found[1])
    except yaml.YAMLError as error:
        raise ValueError(f"{root}README.md: its head is no YAML: {error}") from None
    return card if isinstance(card, dict) else {}


def _config(root: str, card: Mapping[str, Any], subset: str | None) -> dict[str, Any]:
    configs = {str(each.get("config_name", "default")): each for each in card.get("configs") or []}
    if subset is None:
        for config in configs.values():
            if config.get("default"):
                return dict(config)
        if "default" in configs or len(configs) == 1:
            return dict(configs.get("default") or next(iter(configs.values())))
        if not configs:
            return {}
        raise ValueError(f"{root}: it has several subsets; choose one of {_shown(configs)}")
    if subset not in configs:
        if not configs:
            _refuse(root, f"{subset!r} is no subset that the card names")
        raise ValueError(f"{root}: there is no subset {subset!r}, but {_shown(configs)}")
    return dict(configs[subset])


def _by_patterns(root: str, paths: Sequence[str], patterns: Any) -> dict[str, list[str]]:
    if isinstance(patterns, str) or all(isinstance(each, str) for each in patterns):
        patterns = [{"split": "train", "path": patterns}]
    files: dict[str, list[str]] = {}
    for item in patterns:
        wanted = [item["path"]] if isinstance(item["path"], str) else list(item["path"])
        found: list[str] = []
        for pattern in wanted:
            if "**" in pattern or "{" in pattern or "://" in pattern:
                _refuse(root, f"the card's pattern {pattern!r} is none of the simple ones")
            matches = [path for path in sorted(paths) if _matches(path, pattern)]
            if not matches:
                raise FileNotFoundError(f"{root}: the card's {pattern!r} matches no file")
            found += [path for path in matches if path not in found]
        files.setdefault(str(item["split"]), []).extend(found)
    return files


def _matches(path: str, pattern: str) -> bool:
    # A star is not for a slash.
    return path.count("/") == pattern.count("/") and all(
        fnmatch.fnmatchcase(part, wanted)
        for part, wanted in zip(path.split("/"), pattern.split("/"), strict=True)
    )


def _by_names(paths: Sequence[str]) -> dict[str, list[str]]:
    """Splits by words in the names of folders or files; all is one split where there is none."""
    data = [path for path in sorted(paths) if _is_data(path)]
    numbered: dict[str, list[str]] = {}
    for path in data:
        found = re.fullmatch(r"data/(\w+)-\d{5}-of-\d{5,}(?:-.*)?\.\w+(?:\.\w+)*", path)
        if found is not None:
            numbered.setdefault(found[1], []).append(path)
    if numbered:
        return numbered
    folders = _of_keywords(data, lambda path: path.split("/")[:-1])
    names = _of_keywords(data, lambda path: path.split("/")[-1:])
    return folders or names or {"train": data}


def _of_keywords(data: Sequence[str], parts_of: Any) -> dict[str, list[str]]:
    files: dict[str, list[str]] = {}
    for split, keywords in _KEYWORDS.items():
        word = re.compile(rf"(?:^|[^a-zA-Z])(?:{'|'.join(keywords)})(?:[^a-zA-Z]|$)")
        found = [path for path in data if any(word.search(part) for part in parts_of(path))]
        if found:
            files[split] = found
    return files


def _is_data(path: str) -> bool:
    hidden = any(part.startswith((".", "_")) for part in path.split("/"))
    return not hidden and path != "dataset_infos.json" and _native.format_of_name(path) in _READ


def _shown(names: Any) -> str:
    return ", ".join(sorted(str(name) for name in names)) or "none"


def _refuse(root: str, why: str) -> NoReturn:
    raise NotImplementedError(
        f"{root}: {why}, which the package `datasets` knows, and it is not installed: {INSTALL}"
    )
