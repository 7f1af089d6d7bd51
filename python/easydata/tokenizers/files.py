"""Where tokenizers come from: folders, files, names, live objects; two views of a folder."""

from __future__ import annotations

import json
import logging
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from easydata.tokenizers.hub_errors import not_there
from easydata.tokenizers.hub_files import NamedTokenizer, hub_files, path_of
from easydata.tokenizers.older_files import auto_tokenizer, converted, older_files

View = Literal["json", "transformers"]
Side = Literal["left", "right"]

_log = logging.getLogger("easydata")

_CONFIG_NAME = "tokenizer_config.json"
_FILE_NAME = "tokenizer.json"
_ROLES = [f"{name}_token" for name in ("bos", "eos", "pad", "unk", "sep", "cls", "mask")]
COMPONENTS = ("normalizer", "pre_tokenizer", "model", "post_processor", "decoder")
_STEPS = ("added_tokens", *COMPONENTS, "truncation", "padding")

_noticed: set[tuple[str, str]] = set()
_chosen: set[str] = set()


@dataclass
class TokenizerSource:
    """What a tokenizer is made of.

    Attributes:
        name: what it was made from, as it was given; of a live object its name or class.
        json: the text of the tokenizer.json that runs.
        view: "json" for the file as it is, "transformers" for what `AutoTokenizer` makes of it.
        tokens: special tokens by role.
        chat_templates: Jinja2 texts by name.
        padding_side: where rows are filled up.
        truncation_side: which end of a text a `max_length` cuts off.
        split_special_tokens: whether text that spells special tokens is text like any other.
        repository: the repository on the Hub that its files are of; None for others.
        commit: which state of that.
    """

    name: str
    json: bytes
    view: View = "json"
    tokens: dict[str, str] = field(default_factory=dict)
    chat_templates: dict[str, str] = field(default_factory=dict)
    padding_side: Side = "right"
    truncation_side: Side = "right"
    split_special_tokens: bool = False
    repository: str | None = None
    commit: str | None = None


def read_source(source: Any, view: View) -> TokenizerSource:
    """Reads a folder, the path of a tokenizer.json, a name on the Hub, or a live tokenizer.

    Raises:
        FileNotFoundError: `source` is a path that does not exist, or a name of nothing.
        PermissionError: it is a name on the Hub that not everybody may read.
        ConnectionError: it is a name on the Hub, which cannot be reached.
        ValueError: a file holds no JSON object, or transformers cannot load the folder.
        TypeError: `source` is something else.
        ImportError: what it takes is not installed: transformers for `view="transformers"` and
            for folders without a tokenizer.json, huggingface_hub for names.
    """
    if not isinstance(source, (str, os.PathLike, NamedTokenizer)):
        return _of_live(source, view)
    named = source if isinstance(source, NamedTokenizer) else NamedTokenizer(str(source))
    path = path_of(source.name if isinstance(source, NamedTokenizer) else source)
    return _of_hub(named, view) if path is None else _of_path(named.name, path, view)


def _of_hub(named: NamedTokenizer, view: View) -> TokenizerSource:
    files = hub_files(named, older=view == "transformers")
    if view == "json" and not (files.folder / _FILE_NAME).is_file():
        files = hub_files(named, older=True)
    if not (files.folder / _FILE_NAME).is_file() and not older_files(files.folder):
        held = files.listed
        if held is None:
            held = tuple(file.name for file in files.folder.iterdir())
        raise FileNotFoundError(
            f"tokenizer {named.name}: {files.repository} "
            f"{'has' if files.listed is not None else 'has, as far as the cache knows,'} no "
            f"{_FILE_NAME}, nor files that one is made of; it holds: {_some_of(held)}"
        )
    made = _of_path(named.name, files.folder, view)
    made.repository, made.commit = files.repository, files.commit
    _log.info("tokenizer %s is %s@%s", made.name, files.repository, files.commit)
    if files.listed is None and not (files.folder / _CONFIG_NAME).is_file():
        _notice(
            made.name,
            "the Hub is not asked for %s, since HF_HUB_OFFLINE is set, and its cache has no %s of "
            "it: special tokens and chat template are those of its other files, if any",
            made.name,
            _CONFIG_NAME,
        )
    return made


def _of_path(name: str, path: Path, view: View) -> TokenizerSource:
    if view == "transformers":
        return _through_transformers(name, path)
    if path.is_dir() and not (path / _FILE_NAME).is_file() and older_files(path):
        made = _of_live(converted(name, path), "transformers")
        made.name = name
        return made
    file = _find_file(path)
    made = TokenizerSource(name, file.read_bytes())
    _read_folder(made, file.parent)
    return made


def _read_folder(made: TokenizerSource, folder: Path) -> None:
    config = read_object(folder / _CONFIG_NAME)
    for source in (read_object(folder / "special_tokens_map.json"), config):
        made.tokens.update(tokens_by_role(source.get))
    made.chat_templates.update(templates_in(folder, config))
    made.padding_side = _side(config.get("padding_side"))
    made.truncation_side = _side(config.get("truncation_side"))
    reasons = list(_sure_differences(config, made.json))
    if reasons:
        _notice(
            made.name,
            "AutoTokenizer would make a tokenizer of %s that gives other ids than its "
            'tokenizer.json, which runs here: %s; view="transformers" of the dataset runs '
            'AutoTokenizer\'s, and view="json" says that the file is meant, which ends this notice',
            made.name,
            "; ".join(reasons),
        )


def tokens_by_role(get: Callable[[str], Any], roles: Iterable[str] = _ROLES) -> dict[str, str]:
    """The special tokens that `get` gives for their roles, as far as it does."""
    return {role: text for role in roles if (text := token_text(get(role))) is not None}


def templates_in(folder: Path, config: Mapping[str, Any]) -> dict[str, str]:
    """The chat templates of a folder by name; `config`: what its tokenizer_config.json says."""
    template = config.get("chat_template")
    sources: dict[str, str] = {}
    if isinstance(template, str):
        sources["default"] = template
    elif isinstance(template, list):
        sources.update({entry["name"]: entry["template"] for entry in template})
    if (folder / "chat_template.jinja").is_file():
        sources["default"] = (folder / "chat_template.jinja").read_text(encoding="utf-8")
    for extra in sorted((folder / "additional_chat_templates").glob("*.jinja")):
        sources[extra.stem] = extra.read_text(encoding="utf-8")
    return sources


def _of_live(source: Any, view: View) -> TokenizerSource:
    backend = getattr(source, "backend_tokenizer", source)
    if not callable(getattr(backend, "to_str", None)):
        raise TypeError(
            "tokenizer must be a folder, the path of a tokenizer.json, a tokenizers.Tokenizer or a "
            f"fast transformers tokenizer; got {type(source).__name__}"
        )
    name = getattr(source, "name_or_path", None) or type(source).__name__
    text = backend.to_str()
    made = TokenizerSource(
        str(name), (text if backend is source else _as_called(text)).encode(), view
    )
    made.tokens.update(tokens_by_role(lambda role: getattr(source, role, None)))
    template = getattr(source, "chat_template", None)
    if isinstance(template, str):
        made.chat_templates["default"] = template
    elif isinstance(template, dict):
        made.chat_templates.update(template)
    made.padding_side = _side(getattr(source, "padding_side", None))
    made.truncation_side = _side(getattr(source, "truncation_side", None))
    # A tokenizer of transformers tells its backend with each call.
    own = getattr(source, "split_special_tokens", None)
    if own is None:
        own = getattr(backend, "encode_special_tokens", False)
    made.split_special_tokens = bool(own)
    return made


def _through_transformers(name: str, path: Path) -> TokenizerSource:
    """What `AutoTokenizer` makes of a folder, given as such or by its tokenizer.json."""
    folder = path
    if not path.is_dir():
        folder = _find_file(path).parent
        if path.name != _FILE_NAME:
            raise ValueError(
                f'{path}: view="transformers" needs a folder whose file is called {_FILE_NAME}, '
                "since AutoTokenizer reads folders"
            )
    live = auto_tokenizer(
        name,
        folder,
        "view=\"transformers\" needs the transformers library: pip install 'easydata[hf]'",
    )
    made = _of_live(live, "transformers")
    made.name = name
    file = folder / _FILE_NAME
    if not file.is_file():
        return made  # made of older files: there is no other view
    differing = differing_steps(file.read_bytes(), made.json)
    if made.split_special_tokens:
        differing.append("split_special_tokens")
    if differing:
        _notice(
            name,
            "AutoTokenizer's tokenizer, which runs here, is not the tokenizer.json of %s: %s "
            'differ, so ids or texts may; view="json" runs the file as it is',
            name,
            ", ".join(differing),
        )
    return made


def _as_called(text: str) -> str:
    """The backend of a tokenizer of transformers as a call uses it that asks for nothing else.

    Such a call switches off the truncation and the padding that the file has.
    """
    values = json.loads(text)
    if values.get("truncation") is None and values.get("padding") is None:
        return text
    return json.dumps({**values, "truncation": None, "padding": None}, ensure_ascii=False)


def choose_view(name: object) -> None:
    """Takes note that somebody has said what of a tokenizer runs, which need not be told then."""
    _chosen.add(str(name))


def _notice(name: str, message: str, *arguments: str) -> None:
    """Logs a warning, once for each tokenizer and kind."""
    if name not in _chosen and (name, message) not in _noticed:
        _noticed.add((name, message))
        _log.warning(message, *arguments)


def differing_steps(one: bytes, other: bytes) -> list[str]:
    """The parts in which two tokenizer.json texts differ, if what they compute may differ.

    Fields that have no influence on ids and texts, and the last digits of scores, do not count.
    """
    first, second = (_effective(json.loads(_canonical(text))) for text in (one, other))
    return [step for step in _STEPS if not _same(first.get(step), second.get(step))]


def _canonical(text: bytes) -> str | bytes:
    """The text as the tokenizers library writes it, every default spelled out."""
    import tokenizers

    try:
        return tokenizers.Tokenizer.from_str(text.decode()).to_str()
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException:  # it refuses the file, or panics: what others read in it stands
        return text


def _effective(value: dict[str, Any]) -> dict[str, Any]:
    value = dict(value)
    for token in value.get("added_tokens") or ():
        token.pop("id", None)  # the library does not look at it
    decoder = value.get("decoder")
    if isinstance(decoder, dict) and decoder.get("type") == "ByteLevel":
        value["decoder"] = {"type": "ByteLevel"}
    value["pre_tokenizer"] = _without_offsets(value.get("pre_tokenizer"))
    value["post_processor"] = _adding(value.get("post_processor"))
    return value


def _adding(value: Any) -> Any:
    """A post-processor, or None for one that adds no id to a text."""
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    if kind == "Sequence" and isinstance(value.get("processors"), list):
        parts = [part for part in map(_adding, value["processors"]) if part is not None]
        return parts[0] if len(parts) == 1 else parts or None
    bare = [{"Sequence": {"id": "A", "type_id": 0}}]
    if kind == "ByteLevel" or (kind == "TemplateProcessing" and value.get("single") == bare):
        return None
    return value


def _without_offsets(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_offsets(part) for key, part in value.items()}
        if kept.get("type") == "ByteLevel":
            kept.pop("trim_offsets", None)
        return kept
    if isinstance(value, list):
        return [_without_offsets(part) for part in value]
    return value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-12)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _sure_differences(config: Mapping[str, Any], text: bytes) -> Iterator[str]:
    """Why AutoTokenizer gives other ids than the file; cheap, so only what is sure is told."""
    if not config:
        return
    if config.get("split_special_tokens") is True:
        yield "split_special_tokens is set"
    listed: list[Any] = next(_values_of(text, "added_tokens", "["), [])
    known = {token.get("content") for token in listed if isinstance(token, Mapping)}
    named = [value for key, value in config.items() if key.endswith("_token")]
    for key in ("additional_special_tokens", "extra_special_tokens"):
        more = config.get(key)
        named += more if isinstance(more, list) else []
    decoder = config.get("added_tokens_decoder")
    named += decoder.values() if isinstance(decoder, Mapping) else []
    missing = {token for value in named if (token := token_text(value)) and token not in known}
    if missing:
        shown = ", ".join(sorted(missing)[:3]) + (", ..." if len(missing) > 3 else "")
        yield f"it adds the tokens that only {_CONFIG_NAME} names ({shown})"
    kind = config.get("tokenizer_class")
    if kind in ("LlamaTokenizer", "LlamaTokenizerFast"):
        normalizer = json.dumps(next(_values_of(text, "normalizer", "{"), None))
        if '"Prepend"' in normalizer and b'"ByteLevel"' not in text:
            yield f"for a {kind} it replaces the normalizer by a Metaspace pre-tokenizer"


def _values_of(text: bytes, key: str, opening: str) -> Iterator[Any]:
    """The values of a key that begin with `opening`, without parsing the rest of a large file."""
    for match in re.finditer(rf'"{key}"\s*:\s*(?=\{opening})'.encode(), text):
        size = 1 << 14
        while True:
            part = text[match.end() : match.end() + size]
            try:
                value, _ = json.JSONDecoder().raw_decode(part.decode(errors="ignore"))
            except ValueError:
                if len(part) < size:
                    return  # not JSON: loading says so
                size *= 8
                continue
            yield value
            break


def _find_file(path: Path) -> Path:
    """The tokenizer.json that a path means."""
    if path.is_file():
        return path
    if path.is_dir():
        file = path / _FILE_NAME
        if file.is_file():
            return file
        held = _some_of(entry.name for entry in path.iterdir())
        raise FileNotFoundError(
            f"tokenizer folder {path} holds no {_FILE_NAME}; save the tokenizer there with "
            f"save_pretrained(); it holds: {held}"
        )
    raise not_there(str(path))


def _some_of(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)[:10]) or "nothing"


def read_object(path: Path) -> dict[str, Any]:
    """A JSON object out of a file; empty when there is no such file."""
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path} must hold a JSON object; got {type(value).__name__}")
    return value


def token_text(value: Any) -> str | None:
    """The text of a special token, given as such, as an AddedToken or as its JSON form."""
    if isinstance(value, Mapping):
        value = value.get("content")
    content = getattr(value, "content", value)
    return content if isinstance(content, str) else None


def _side(value: Any) -> Side:
    """A side as configurations spell it; the right one where they do not."""
    return "left" if value == "left" else "right"
