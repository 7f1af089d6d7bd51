"""Flags out of the configs' declarations, and configs out of flags."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from easydata.core.config import ConfigError, PipelineConfig
from easydata.core.config_class import descriptor, problems_of

# Where the options of a config stand in a pipeline's; a dataset's in each of its datasets.
_SECTIONS = {
    "DatasetConfig": "datasets",
    "TokenizeStageConfig": "tokenize",
    "MixStageConfig": "mix",
    "PackStageConfig": "pack",
    "LoadStageConfig": "load",
    "SaveStageConfig": "save",
}
# Options that a flag would say twice, or that are for config files only.
_WITHOUT_FLAG = {
    "DatasetConfig": {
        "data_files",
        "num_shards",
        "shard_column",
        "save_path",
        "save_format",
        "name",
    },
    "TokenizeStageConfig": {"default_tokenizer"},
    "SaveStageConfig": {"enabled"},
    "PackStageConfig": {"enabled"},
}
_PAIRS = "dict[str, str]"
_SHARES = "dict[str, float]"
_KINDS: dict[str, Any] = {"int": int, "float": float, "bool": bool, "str": str}


class UsageError(Exception):
    """A command line that cannot be meant."""


def _kind(annotation: str) -> Any | None:
    """The type of a flag's value; None for what only a config file can say."""
    base = annotation.removesuffix(" | None")
    if base.startswith("Literal[") or base.startswith("Callable") or base.startswith("str |"):
        return str
    if base in ("list[str]", _PAIRS, _SHARES):  # a pair is NAME=VALUE
        return list[str]
    return _KINDS.get(base)


@dataclass(frozen=True)
class Choice:
    """Which options of some configs a command has flags for.

    Attributes:
        configs: The configs.
        only: Names of the options; None: all.
        called: Other names for flags, of options whose own would mean something else.
        in_all: Options that are set in all of the configs that have them; others in the first.
    """

    configs: Sequence[str]
    only: Collection[str] | None = None
    called: Mapping[str, str] = field(default_factory=dict)
    in_all: Collection[str] = ()


def _flags(choice: Choice) -> dict[str, tuple[str, dict[str, Any], Any]]:
    """The flags of a command: {option: (config, its declaration, type)}."""
    out: dict[str, tuple[str, dict[str, Any], Any]] = {}
    for config in choice.configs:
        for declared in descriptor(config)["fields"]:
            name = declared["name"]
            kind = _kind(declared["type"])
            hidden = name in _WITHOUT_FLAG.get(config, ())
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
    for name, (_, declared, value_type) in _flags(choice).items():
        said = choice.called.get(name, name).replace("_", "-")
        flag = f"--{said}/--no-{said}" if value_type is bool else f"--{said}"
        option = typer.Option(flag, help=_help(declared), show_default=False)
        annotation: Any = Annotated[value_type | None, option]
        parameters.append(inspect.Parameter(name, kind, default=None, annotation=annotation))
    seed = Annotated[
        int | None, typer.Option("--seed", help="Seed of everything that is shuffled.")
    ]
    if not any(parameter.name == "seed" for parameter in parameters):
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


def config_values(
    data: list[str] | None, config: str | None, options: Mapping[str, Any], choice: Choice
) -> dict[str, Any]:
    """The options of a PipelineConfig: those of the config file, then those of the flags."""
    values: dict[str, Any] = {}
    if config is not None:
        if data:
            raise UsageError("give DATA or --config, not both: a config has datasets of its own")
        values = PipelineConfig.from_file(config).to_dict()
    elif data:
        values = {"datasets": [{"data_files": data[0] if len(data) == 1 else data}]}
    else:
        raise UsageError("nothing to read; name DATA or a --config file")
    known = _flags(choice)
    for name, value in options.items():
        if value is None or value == []:
            continue
        if name == "seed":
            values["seed"] = value
            continue
        first, declared, _ = known[name]
        kind = declared["type"].removesuffix(" | None")
        if kind == _PAIRS:
            value = _pairs(name, value)
        if kind == _SHARES:
            value = _shares(name, value)
        for owner in _owners(name, choice) if name in choice.in_all else [first]:
            section = _SECTIONS[owner]
            is_list = section == "datasets"
            for target in values["datasets"] if is_list else [values.setdefault(section, {})]:
                is_tokenizer = is_list and name == "tokenizer"
                target[name] = _with_tokenizer(target, values, value) if is_tokenizer else value
    return values


def _owners(name: str, choice: Choice) -> list[str]:
    """The configs of a command that have an option."""
    fields = {config: descriptor(config)["fields"] for config in choice.configs}
    return [config for config, all_ in fields.items() if any(f["name"] == name for f in all_)]


def _pairs(name: str, given: Sequence[str]) -> dict[str, str]:
    """What `--name KEY=VALUE ...` says."""
    pairs = {}
    for each in given:
        key, is_pair, value = each.partition("=")
        if not is_pair or not key:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} takes NAME=VALUE, such as score=float64, not {each!r}")
        pairs[key] = value
    return pairs


def _shares(name: str, given: Sequence[str]) -> dict[str, float]:
    """What `--name A=0.98,B=0.02` says, or the same flag for each."""
    shares: dict[str, float] = {}
    for each in (pair.strip() for several in given for pair in several.split(",")):
        key, _, value = each.partition("=")
        try:
            share = float(value)
        except ValueError:
            share = None
        if not key or share is None:
            raise UsageError(
                f"--{name} takes NAME=SHARE, such as train=0.98,validation=0.02, not {each!r}"
            )
        if key in shares:
            raise UsageError(f"--{name} names {key!r} twice")
        shares[key] = share
    return shares


def with_ray(values: dict[str, Any], ray: bool) -> dict[str, Any]:
    """The options, with Ray switched on where a flag says so."""
    if ray:
        values["ray"] = {**values.get("ray", {}), "enabled": True}
    return values


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
