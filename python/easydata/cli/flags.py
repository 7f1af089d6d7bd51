"""Flags out of the configs' declarations, and configs out of flags."""

import contextlib
import inspect
import logging
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from easydata.cli import help_groups
from easydata.cli.flag_words import FlagWords
from easydata.cli.settings import list_of, pairs_of, set_options, value_of
from easydata.cli.usage import UsageError
from easydata.core.config import ConfigError, PipelineConfig
from easydata.core.config_class import descriptor, problems_of
from easydata.core.config_file import read_config_file, read_config_text

# Where the options of a config stand in a pipeline's; a dataset's in each of its datasets.
_SECTIONS = {
    config[0]: option["name"]
    for option in descriptor("PipelineConfig")["fields"]
    if (config := re.search(r"\w+Config", option["type"]))
}
# Options that a flag would say twice, that are for config files only, or that change nothing.
_WITHOUT_FLAG = {
    "DatasetConfig": {
        "data_files",
        "num_shards",
        "shard_column",
        "save_path",
        "save_format",
        "name",
        "tokenizer_kwargs",
    },
    "TokenizeStageConfig": {"default_tokenizer", "batch_size", "num_workers"},
    "SaveStageConfig": {"enabled"},
    "PackStageConfig": {"enabled"},
    "MixStageConfig": {"seed"},
}
_SHORT = {"output_dir": "-o", "format": "-f"}
# It is one for what is read, and one for what is written.
_OF_PLACES = "storage_options"
_KINDS: dict[str, Any] = {"int": int, "float": float, "bool": bool, "str": str}


def _kind(annotation: str) -> Any | None:
    """The type of a flag's value; None for what only a config file can say."""
    base = annotation.removesuffix(" | None")
    if base.startswith("Literal[") or base.startswith("Callable") or base.startswith("str |"):
        return str
    if base == "list[str]" or base.startswith("dict[str"):  # a pair is NAME=VALUE
        return list[str]
    return _KINDS.get(base)


@dataclass(frozen=True)
class Choice:
    """Which options of some configs a command has flags for.

    Attributes:
        configs: The configs.
        only: Names of the options; None: all but those of `without`.
        without: Names of options that have no flag.
        called: Other names for flags, of options whose own would mean something else.
        in_all: Options that are set in all of the configs that have them; others in the first.
    """

    configs: Sequence[str]
    only: Collection[str] | None = None
    without: Collection[str] = ()
    called: Mapping[str, str] = field(default_factory=dict)
    in_all: Collection[str] = ()


def flags_of(choice: Choice) -> dict[str, str]:
    """The flag of each option of a command, but for those that are called otherwise."""
    return {
        name: f"--{name.replace('_', '-')}" for name in _flags(choice) if name not in choice.called
    }


def _flags(choice: Choice) -> dict[str, tuple[str, dict[str, Any], Any]]:
    """The flags of a command: {option: (config, its declaration, type)}."""
    out: dict[str, tuple[str, dict[str, Any], Any]] = {}
    for config in choice.configs:
        for declared in descriptor(config)["fields"]:
            name = declared["name"]
            kind = _kind(declared["type"])
            hidden = name in choice.without or name in _WITHOUT_FLAG.get(config, ())
            if choice.only is not None:
                hidden = hidden or name not in choice.only
            if kind is None or hidden or name in out:
                continue
            out[name] = (config, declared, kind)
    return out


def _help(field: Mapping[str, Any]) -> str:
    default = field["default"] if field["reads_as"] is None else field["reads_as"]
    said = "" if default is None or field["required"] else f" [default: {default}]"
    return str(field["doc"]) + said


def give_signature(
    command: Callable[..., Any],
    own: Mapping[str, tuple[Any, Any]],
    choice: Choice,
) -> None:
    """Gives `command` the parameters that typer makes flags of."""
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, kind, default=default, annotation=annotation)
        for name, (annotation, default) in own.items()
    ]
    for name, (config, declared, value_type) in _flags(choice).items():
        said = choice.called.get(name, name).replace("_", "-")
        flag = f"--{said}/--no-{said}" if value_type is bool else f"--{said}"
        names = [flag, _SHORT[name]] if name in _SHORT else [flag]
        option: Any = typer.Option(
            *names,
            help=_help(declared),
            show_default=False,
            metavar=help_groups.metavar_of(declared["type"]),
            rich_help_panel=help_groups.group_of(config, name),
        )
        annotation: Any = Annotated[value_type | None, option]
        parameters.append(inspect.Parameter(name, kind, default=None, annotation=annotation))
    seed = Annotated[
        int | None,
        typer.Option("--seed", help="Seed of everything that is shuffled.", metavar="NUMBER"),
    ]
    parameters.append(inspect.Parameter("seed", kind, default=None, annotation=seed))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}


def only_one(flag: str, given: Sequence[str] | None) -> str | None:
    """The value of a flag that is given once, or not at all."""
    if given and len(given) > 1:
        raise UsageError(f"{flag} is given {len(given)} times: {', '.join(given)}; give one")
    return given[0] if given else None


def _with_tokenizer(dataset: Mapping[str, Any], values: Mapping[str, Any], name: str) -> Any:
    """The tokenizer `name` with the options of the one that it replaces for a dataset."""
    stage = values.get("tokenize") or {}
    named = (
        dataset.get("tokenizer"),
        stage.get("default_tokenizer"),
        values.get("default_tokenizer"),
    )
    replaced = next((each for each in named if each is not None), None)
    return {**replaced, "name_or_path": name} if isinstance(replaced, Mapping) else name


def config_options(path: str) -> Mapping[str, Any]:
    """The options in a config file; "-": in what standard input brings, YAML or JSON."""
    if path == "-":
        return read_config_text(sys.stdin.read(), "standard input")
    return read_config_file(path)


def read_config(path: str) -> PipelineConfig:
    """The config of config_options()."""
    return PipelineConfig.from_dict(config_options(path))


def config_values(
    data: list[str] | None,
    config: str | None,
    options: Mapping[str, Any],
    choice: Choice,
    settings: Sequence[str] = (),
    set_by: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The options of a PipelineConfig: those of the config file, of the flags, of `--set`.

    `set_by` is told which path was set by which flag.
    """
    values: dict[str, Any] = {}
    if config is not None:
        if data:
            raise UsageError("give DATA or --config, not both: a config has datasets of its own")
        values = read_config(config).to_dict()
    elif data:
        values = {"datasets": [{"data_files": data[0] if len(data) == 1 else data}]}
    else:
        raise UsageError("nothing to read; name DATA or a --config file")
    known = _flags(choice)
    by_flag: dict[str, str] = {}
    for name, value in options.items():
        if value is None or value == []:
            continue
        if name == "seed":
            values["seed"] = value
            continue
        first, declared, _ = known[name]
        flag = f"--{choice.called.get(name, name).replace('_', '-')}"
        value = _value(declared["type"], value, flag)
        owners = _owners(name, choice) if name in choice.in_all else [first]
        if name == _OF_PLACES:
            owners = _owners(name, choice)
        for owner in owners:
            section = _SECTIONS[owner]
            is_list = section == "datasets"
            targets = values["datasets"] if is_list else [values.setdefault(section, {})]
            for position, target in enumerate(targets):
                if name == _OF_PLACES and not _is_remote(owner, target, options):
                    continue
                is_tokenizer = is_list and name == "tokenizer"
                target[name] = _with_tokenizer(target, values, value) if is_tokenizer else value
                by_flag[f"{section}[{position}].{name}" if is_list else f"{section}.{name}"] = flag
    mixing = [flag for path, flag in by_flag.items() if path.startswith("mix.")]
    mix = values.get("mix") or {}
    if mixing and not (mix.get("weights") or mix.get("weight_schedule")):
        raise UsageError(
            f"{', '.join(mixing)}: there is nothing to mix; a --config with mix.weights says what"
        )
    set_options(values, settings)
    if set_by is not None:
        set_by.update(by_flag)
    return values


def _value(annotation: str, given: Any, flag: str) -> Any:
    """The value of an option, as its flag gives it."""
    base = annotation.removesuffix(" | None")
    if isinstance(given, list):
        if base.startswith("dict["):
            return pairs_of(base, given, flag)
        return list_of(given)
    return value_of(base, given, flag) if isinstance(given, str) else given


def _is_remote(owner: str, target: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Whether a flag of places is for this config: what is read, and what is written.

    Where nothing is on a store it is for the data, which says that it does nothing.
    """
    output = "://" in str(options.get("output_dir") or "")
    if owner == "SaveStageConfig":
        return output or "://" in str(target.get("output_dir") or "")
    files = target.get("data_files")
    named = [files] if isinstance(files, str) else list(files or ())
    return any("://" in str(each) for each in named) or not output


def _owners(name: str, choice: Choice) -> list[str]:
    """The configs of a command that have an option."""
    fields = {config: descriptor(config)["fields"] for config in choice.configs}
    return [config for config, all_ in fields.items() if any(f["name"] == name for f in all_)]


# What an error is said in.
_WORDS = "_flag_words"


@contextlib.contextmanager
def saying_flags(choice: Choice, set_by: Mapping[str, str]) -> Iterator[None]:
    """Lets notices, and said() of errors, speak of a command's flags.

    `set_by` has the paths that flags have set by the time that something is said.
    """
    words = FlagWords(flags_of(choice), set_by)
    log = logging.getLogger("easydata")
    log.addFilter(words)
    try:
        yield
    except Exception as error:
        setattr(error, _WORDS, words)
        raise
    finally:
        log.removeFilter(words)


def said(error: BaseException, text: str) -> str:
    """What is said of an error, in the words of the command that it came from."""
    words: FlagWords | None = getattr(error, _WORDS, None)
    return text if words is None else words.said(text)


def make_config(values: Mapping[str, Any]) -> PipelineConfig:
    """The config, when all of it is sound.

    Raises:
        ConfigError: With everything that is wrong.
    """
    config = PipelineConfig.from_dict(values)
    problems = [said for kind, _, said in problems_of(config) if kind != "advice"]
    if problems:
        raise ConfigError("the options", problems)
    return config
