"""The flags of a command in groups, as --help shows them, with what they take."""

import re
from typing import Any

import typer.core

COMMAND = "Command"

_DATA = "Data"
_FILES = "How files are read"
_BAD = "Bad rows and files"
_ROWS = "What is made of rows"
_TOKENS = "Tokens"
_CACHE = "Cache"
_HUB = "Hugging Face Hub"
_OUTPUT = "Output"
_OF_CONFIG = {
    "TokenizeStageConfig": _TOKENS,
    "PackStageConfig": "Packing",
    "MixStageConfig": "Mixing (the datasets of a --config)",
    "LoadStageConfig": "Loading",
    "SaveStageConfig": _OUTPUT,
}
# The options of datasets, which belong to many matters, and others that are not of their config's.
_OF_OPTIONS = {
    _FILES: (
        "type delimiter quotechar encoding header column_names comment sample_by field decode "
        "zstd_max_window hive_partitioning identity storage_options dtype document_eos row_tokens"
    ),
    _BAD: "on_error on_missing quarantine_path",
    _ROWS: (
        "format_callback format_fields transform chat_template template_date chat_template_kwargs"
    ),
    _TOKENS: "tokenizer tokenizer_kwargs content_field additional_fields view",
    _CACHE: "cache_path cache_enabled cache_tokenized",
    _HUB: "split dataset_split_name push_to_hub hub_repo_id hub_private hub_token",
}
_GROUPS = {name: group for group, names in _OF_OPTIONS.items() for name in names.split()}
OF_FILES = frozenset(_OF_OPTIONS[_FILES].split())
"""The options that say how files are read."""
# As they are shown; others come before the last.
_ORDER = ("Arguments", COMMAND, _DATA, _FILES, _BAD, _ROWS, _TOKENS, *_OF_CONFIG.values(), _CACHE)


def group_of(config: str, option: str) -> str:
    """The group of an option's flag."""
    return _GROUPS.get(option) or _OF_CONFIG.get(config, _DATA)


def metavar_of(annotation: str) -> str | None:
    """What a flag takes, in a word."""
    if annotation.startswith("Literal["):
        return "[" + "|".join(re.findall(r'"([^"]*)"', annotation)) + "]"
    base = annotation.removesuffix(" | None")
    if base.startswith("dict["):
        return "NAME=VALUE,..."
    if base.startswith("list["):
        return "NAME,..."
    return {"int": "NUMBER", "float": "NUMBER", "bool": None}.get(base, "TEXT")


class GroupedCommand(typer.core.TyperCommand):
    """A command whose --help has its flags in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the groups, each in the order of its flags."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                name, text = record
                groups.setdefault("Arguments", []).append((name.split()[0], text))
            else:
                panel = getattr(parameter, "rich_help_panel", None) or COMMAND
                groups.setdefault(panel, []).append(record)
        for title in sorted(groups, key=_place):
            with formatter.section(title):
                formatter.write_dl(groups[title])


def _place(title: str) -> int:
    return _ORDER.index(title) if title in _ORDER else len(_ORDER)
