"""Every recorded case of the reference, through `easydata.Tokenizer`.

The cases are tiny tokenizer.json files, one group per component and flag, with what `tokenizers`
0.23.3 did with them: some recorded by us, in tests/data, more in ../shared. Nothing here runs that
library, unless a file is outside the native engine's reach: which ones may be is listed below.
"""

import contextlib
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from data_folders import OWN, OWN_TOKENIZERS, ROOTS, needs_shared, tokenizer_folder

from easydata import Tokenizer

GOLDEN = Path("golden/tokenizers")

# Groups that the native engine need not take, and why. All others must run on it.
NOT_NATIVE: dict[str, str] = {}


def read_groups() -> dict[str, dict[str, Any]]:
    """All groups by "root/component/name", of each root that is here."""
    groups = {}
    for root in ROOTS:
        for path in sorted((root.values[0] / GOLDEN).glob("*.json")):
            if path.stem not in ("bytes_model", "own_files"):
                for group in json.loads(path.read_text(encoding="utf-8"))["groups"]:
                    groups[f"{root.id}/{path.stem}/{group['name']}"] = group
    return groups


def names_of(kept: Callable[[dict[str, Any]], bool]) -> list[Any]:
    """Parameters; where ../shared is absent, one that is skipped for its groups."""
    names: list[Any] = [name for name, group in GROUPS.items() if kept(group)]
    if not any(name.startswith("shared/") for name in names):
        names.append(pytest.param("shared", marks=needs_shared))
    return names


GROUPS = read_groups()
LOADED = names_of(lambda group: "load" not in group)
REFUSED = names_of(lambda group: "load" in group)
BATCHES = names_of(
    lambda group: "load" not in group and any("batch" in case for case in group["cases"])
)


@cache
def bytes_model() -> Any:
    return json.loads((OWN / GOLDEN / "bytes_model.json").read_text(encoding="utf-8"))


def text_of(name: str) -> str:
    """The tokenizer.json of a group."""
    group = GROUPS[name]
    if "tokenizer_raw" in group:
        return str(group["tokenizer_raw"])
    value = dict(group["tokenizer"])
    if value.get("model") == "$bytes":
        value["model"] = bytes_model()
    return json.dumps(value, ensure_ascii=False)


def load(name: str, folder: Path) -> Tokenizer:
    file = folder / "tokenizer.json"
    file.write_text(text_of(name), encoding="utf-8")
    return Tokenizer(file)


@pytest.mark.parametrize("name", LOADED)
def test_runs_natively(name: str, tmp_path: Path) -> None:
    tokenizer = load(name, tmp_path)
    expected = "huggingface" if name in NOT_NATIVE else "native"
    assert tokenizer.engine == expected, tokenizer.describe().get("why_not_native")


@pytest.mark.parametrize("name", REFUSED)
def test_refuses_what_the_reference_refuses(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"tokenizer\.json"):
        load(name, tmp_path)


@pytest.mark.parametrize("name", LOADED)
def test_ids(name: str, tmp_path: Path) -> None:
    tokenizer = load(name, tmp_path)
    texts: dict[bool, tuple[list[str], list[list[int]]]] = {True: ([], []), False: ([], [])}
    for case in GROUPS[name]["cases"]:
        if "text" not in case or "pair" in case:
            continue
        special = case["special"]
        if case.get("error", "").startswith("panic"):
            with contextlib.suppress(ValueError):  # may be refused, may not crash
                tokenizer.encode(case["text"], special)
            continue
        if "error" in case:
            with pytest.raises(ValueError):
                tokenizer.encode(case["text"], special)
            with pytest.raises(ValueError):
                tokenizer.encode_batch(["", case["text"]], special)
            continue
        ids = tokenizer.encode(case["text"], special).tolist()
        assert ids == case["ids"], case
        texts[special][0].append(case["text"])
        texts[special][1].append(case["ids"])
    if GROUPS[name].get("tokenizer", {}).get("padding") is None:
        for special, (batch, expected) in texts.items():
            assert tokenizer.encode_batch(batch, special).to_pylist() == expected


@pytest.mark.parametrize("name", LOADED)
def test_decoding(name: str, tmp_path: Path) -> None:
    tokenizer = load(name, tmp_path)
    for case in GROUPS[name]["cases"]:
        ids = case.get("decode", case.get("ids"))
        if ids is None:
            continue
        assert tokenizer.decode(ids, skip_special_tokens=True) == case["decoded"], case
        whole = case.get("decoded_with_special", case["decoded"])
        assert tokenizer.decode(ids, skip_special_tokens=False) == whole, case


@pytest.mark.parametrize("name", BATCHES)
def test_batches(name: str, tmp_path: Path) -> None:
    tokenizer = load(name, tmp_path)
    for case in GROUPS[name]["cases"]:
        batch = case.get("batch", [])
        if not all(isinstance(item, str) for item in batch):
            continue  # pairs are not ours
        if batch:
            expected = [encoding["ids"] for encoding in case["encodings"]]
            got = tokenizer.encode_batch(batch, case.get("special", True))
            assert got.to_pylist() == expected, case


@pytest.mark.parametrize("name", LOADED)
def test_offsets(name: str, tmp_path: Path) -> None:
    tokenizer = load(name, tmp_path)
    for case in GROUPS[name]["cases"]:
        if "offsets" not in case or "pair" in case:
            continue
        ids, offsets = tokenizer.encode(case["text"], case["special"], return_offsets=True)
        assert ids.tolist() == case["ids"]
        assert offsets.tolist() == case["offsets"], case


@pytest.mark.parametrize("name", OWN_TOKENIZERS)
def test_ids_of_our_own_files(name: str) -> None:
    """As the library gave them when they were recorded: one by one, in batches, on threads."""
    recorded = json.loads((OWN / GOLDEN / "own_files.json").read_text(encoding="utf-8"))
    texts, short = recorded["texts"], recorded["short"]
    expected = recorded["tokenizers"][name]
    tokenizer = Tokenizer(tokenizer_folder(name))
    assert tokenizer.engine == "native"
    assert [tokenizer.encode(text).tolist() for text in texts] == expected["ids"]
    assert [tokenizer.encode(text, False).tolist() for text in short] == expected["bare"]
    for threads in (1, 2, 5):
        assert tokenizer.encode_batch(texts * 3, num_threads=threads).to_pylist() == (
            expected["ids"] * 3
        )
    chunks = pa.chunked_array([texts[:7], [], texts[7:]], pa.large_string())
    assert tokenizer.encode_batch(chunks).to_pylist() == expected["ids"]
    ids = [tokenizer.encode(text) for text in short]
    assert [tokenizer.decode(each, skip_special_tokens=True) for each in ids] == expected["decoded"]
