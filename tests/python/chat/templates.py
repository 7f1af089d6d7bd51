"""Template texts: small ones of our own, those beside tokenizers, and those of TRL."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from data_folders import OWN, SHARED, WITHOUT_SHARED
from easydata.tokenizers.chat_template import ChatTemplate
from own_templates import OWN_TEMPLATES


def _own() -> Iterator[tuple[str, str]]:
    yield from OWN_TEMPLATES.items()


def _beside_tokenizers(root: Path) -> Iterator[tuple[str, str]]:
    for folder in sorted(root.iterdir()):
        if folder.is_dir():
            for name, source in sorted(ChatTemplate.of_folder(folder).sources.items()):
                yield f"{folder.name}:{name}", source


def _of_trl() -> Iterator[tuple[str, str]]:
    """TRL's files, which lie in the installed package; it is not imported, torch would come."""
    spec = importlib.util.find_spec("trl")
    for location in (spec and spec.submodule_search_locations) or ():
        for path in sorted(Path(location).glob("chat_templates/*.jinja")):
            yield f"trl:{path.stem}", path.read_text(encoding="utf-8")


def public_templates() -> Iterator[tuple[str, str]]:
    """Files of public projects, as published; none where they are not at hand."""
    path = SHARED / "data" / "chat_templates" / "templates.json"
    if path.is_file():
        yield from json.loads(path.read_text(encoding="utf-8")).items()


def all_templates() -> list[Any]:
    """Parameters of a test, (source): all that are here, and a skipped one for what is not."""
    found = [*_own(), *_beside_tokenizers(OWN / "tokenizers")]
    absent = []
    if SHARED.is_dir():
        found += _beside_tokenizers(SHARED / "data" / "tokenizers")
    else:
        absent.append(("shared", WITHOUT_SHARED))
    of_trl = list(_of_trl())
    if not of_trl:
        absent.append(("trl", "trl is not installed"))
    params = [pytest.param(source, id=name) for name, source in [*found, *of_trl]]
    for name, reason in absent:
        params.append(pytest.param("", id=name, marks=pytest.mark.skip(reason=reason)))
    return params
