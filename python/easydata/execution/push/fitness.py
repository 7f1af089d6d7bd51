"""Whether outputs can be configs of a repository: looked at before they are made, and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from easydata.core.config_class import ConfigError
from easydata.execution.push.card import configs_of, matching, patterns_of, reader_of, values_of
from easydata.execution.push.outputs import DEFAULT_CONFIG, Shard, shards_of
from easydata.execution.push.repository import METADATA, Snapshot

# What patterns take for something else.
_MEANS_MORE = set("*?[]{}")
_READERS = {"parquet": "parquet", "arrow": "arrow", "jsonl": "json"}


@dataclass(frozen=True)
class Plan:
    """What is known of an output before it is written.

    Attributes:
        format: Of its files.
        prefix: What their names begin with.
    """

    format: str
    prefix: str


def check_formats(repo_id: str, plans: Mapping[str, Plan]) -> None:
    """Says why outputs cannot be configs of any repository.

    Raises:
        ConfigError: They cannot.
    """
    wrong = []
    for name, plan in plans.items():
        if plan.format not in _READERS:
            wrong.append(
                f"{name!r} is {plan.format}, which `datasets` does not read; push "
                "parquet, arrow or jsonl"
            )
        if not _is_config_name(name):
            wrong.append(
                f"the dataset {name!r} cannot be a config of the Hub: its name may "
                'not begin with a dot or have any of <>:/\\|?*"[]{} in it'
            )
        if _MEANS_MORE & set(plan.prefix):
            wrong.append(
                f"shard_prefix: names on the Hub may not have any of *?[]{{}}: {plan.prefix!r}"
            )
    if len({plan.format for plan in plans.values()}) > 1:
        formats = ", ".join(f"{name!r} is {plan.format}" for name, plan in plans.items())
        wrong.append(f"datasets of one repository have one format; {formats}")
    if wrong:
        raise ConfigError(f"push to {repo_id}", wrong)


def check_repository(
    repo_id: str, found: Snapshot, plans: Mapping[str, Plan], *, private: bool
) -> None:
    """Says why outputs cannot be configs of a repository as it is.

    Raises:
        ConfigError: They cannot.
        ValueError: Its `_metadata.json` is damaged.
    """
    wrong = []
    if private and not found.private:
        wrong.append(
            "the repository is there already, and public, and hub_private is set; "
            "make it private in its settings, or push to another one"
        )
    script = f"{repo_id.rpartition('/')[2]}.py"
    if script in found.files:
        wrong.append(
            f"it has a loading script, {script}, for which `datasets` loads nothing "
            "from it; delete that, or push to another one"
        )
    try:
        configs = configs_of(values_of(found.card))
    except ValueError as error:
        raise ConfigError(f"push to {repo_id}", [*wrong, f"{error}; mend it"]) from None
    for name in plans:
        if name in configs and name not in found.pushed:
            wrong.append(
                f"its card has a config {name!r} that EasyData did not push; push "
                "under another name (config_name=, --config-name), or take it out of "
                "the card's configs (its files may stay)"
            )
    (reader, *_) = (_READERS[plan.format] for plan in plans.values())
    for name, config in configs.items():
        if name in plans:
            continue
        other = _reader_of_config(config, found)
        if other is not None and other != reader:
            wrong.append(
                f"`datasets` reads all configs of a repository as one format: its "
                f"config {name!r} is {other}, and these are {reader}; write them as "
                "that (format=), or push to another repository"
            )
        if config.get("default") is True and DEFAULT_CONFIG in plans:
            wrong.append(
                f"its config {name!r} is marked as the default one, which "
                f"{DEFAULT_CONFIG!r} would be, too; push under another name "
                "(config_name=, --config-name)"
            )
    for name, plan in plans.items():
        ours = {f"{name}/{shard.name}" for shard in pushed_shards(repo_id, name, found)}
        wrong += [
            f"{path} in it is not of a push of EasyData, and would be taken for one of its files; "
            "move it"
            for path in matching(f"{name}/{plan.prefix}*", found.files)
            if path not in ours and reader_of(path) == reader
        ]
    if wrong:
        raise ConfigError(f"push to {repo_id}", wrong)


def pushed_shards(repo_id: str, name: str, found: Snapshot) -> Sequence[Shard]:
    """The files of an earlier push of a config."""
    return named_shards(found.pushed[name], repo_id) if name in found.pushed else ()


def named_shards(values: Mapping[str, Any], repo_id: str) -> Sequence[Shard]:
    """The files that a `_metadata.json` of a repository names; ValueError where it is damaged."""
    try:
        return shards_of(values)
    except ValueError as error:
        raise ValueError(
            f"{repo_id}: {METADATA} in it is damaged: {error}; nothing was deleted that it names; "
            "mend or delete it"
        ) from None


def _is_config_name(name: str) -> bool:
    is_plain = bool(name) and not name.startswith(".") and name.isprintable()
    return is_plain and not any(letter in '<>:/\\|?*"[]{}' for letter in name)


def _reader_of_config(config: Mapping[str, Any], found: Snapshot) -> str | None:
    """Who of `datasets` reads a config of the card, as far as names tell."""
    for pattern in patterns_of(config):
        for name in [pattern, *matching(pattern, found.files)]:
            if (reader := reader_of(name)) is not None:
                return reader
    return None
