"""Every recorded case of the reference, through `easydata.Tokenizer`.

The cases are tiny tokenizer.json files, one group per component and flag, with what `tokenizers`
0.23.3 did with them. Nothing here runs that library, unless a file is outside the native engine's
reach: which ones may be is listed below.
"""

import contextlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from easydata import Tokenizer

GOLDEN = Path(__file__).resolve().parents[4] / "shared" / "data" / "golden" / "tokenizers"

# Groups that the native engine need not take, and why. All others must run on it.
NOT_NATIVE: dict[str, str] = {}


def read_groups() -> dict[str, dict[str, Any]]:
    """All groups by "component/name"; none where the cases are not beside the checkout."""
    groups = {}
    for path in sorted(GOLDEN.glob("*.json")):
        if path.stem != "bytes_model":
            for group in json.loads(path.read_text(encoding="utf-8"))["groups"]:
                groups[f"{path.stem}/{group['name']}"] = group
    return groups


GROUPS = read_groups()
LOADED = [name for name, group in GROUPS.items() if "load" not in group]
REFUSED = [name for name, group in GROUPS.items() if "load" in group]

pytestmark = pytest.mark.skipif(not GROUPS, reason="../shared is not beside this checkout")


@cache
def bytes_model() -> Any:
    return json.loads((GOLDEN / "bytes_model.json").read_text(encoding="utf-8"))


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


BATCHES = [name for name in LOADED if any("batch" in case for case in GROUPS[name]["cases"])]


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
        if "ids" not in case or "text" not in case or "pair" in case:
            continue
        ids, offsets = tokenizer.encode(case["text"], case["special"], return_offsets=True)
        assert ids.tolist() == case["ids"]
        assert offsets.tolist() == case["offsets"], case
