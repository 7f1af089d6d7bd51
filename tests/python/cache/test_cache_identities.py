"""What tells a transform from others for a cache: names, versions, options, templates."""

import functools
import hashlib
import json
import subprocess
import sys
from typing import Any

import pytest
import row_functions
from easydata.trainers import (
    BCOPreprocessTransform,
    DPOPreprocessTransform,
    EmbeddingPreprocessTransform,
    GRPOPreprocessTransform,
    KTOPreprocessTransform,
    PPOPreprocessTransform,
)
from easydata.transforms.base import _Step
from easydata.transforms.identity import UnrecognisedError, identity_of
from programs import ROOT
from row_functions import Suffix, Twice, Unversioned, loud, not_short, unversioned

from easydata import (
    AddField,
    CastFields,
    ChatTemplateTransform,
    CombineFields,
    FilterByField,
    FilterTransform,
    HFDatasetShardedSource,
    MapField,
    MapTransform,
    SFTPreprocessTransform,
    Tokenizer,
)

TEMPLATE = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"


def why_not(step: _Step) -> str:
    with pytest.raises(UnrecognisedError) as caught:
        identity_of(step)
    return str(caught.value)


def test_functions_need_a_name_and_a_version() -> None:
    one, two = (identity_of(MapTransform(loud, version=version)) for version in ("1", "2"))
    assert one != two
    assert identity_of(MapTransform(loud, version="1")) == one
    assert identity_of(FilterTransform(not_short, version=1)) != one
    assert 'version="1"' in why_not(MapTransform(unversioned))
    assert "unversioned has no version" in why_not(MapTransform(unversioned))
    lambda_ = MapTransform(lambda row: row, version="1")
    assert "<lambda> is one without a name of its own" in why_not(lambda_)

    def closure(row: dict[str, Any]) -> dict[str, Any]:
        return row

    assert "put it into a module" in why_not(FilterTransform(closure, version=2))
    steps: list[_Step] = [
        MapField("a", unversioned),
        AddField("a", unversioned),
        CombineFields(["a"], "b", unversioned),
    ]
    for step in steps:
        assert "no version" in why_not(step)
    assert identity_of(FilterByField("a", bool))  # of Python itself


def test_a_function_may_have_its_version_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unversioned, "version", "1", raising=False)
    one = identity_of(MapTransform(unversioned))
    monkeypatch.setattr(unversioned, "version", "2")
    assert identity_of(MapTransform(unversioned)) != one
    # What the step is told goes before.
    assert '"1"]' in identity_of(MapTransform(unversioned, version="1"))
    partial = functools.partial(unversioned, more=1)
    assert identity_of(MapTransform(partial)) != identity_of(MapTransform(unversioned))


def test_transforms_of_others_have_versions_and_options(monkeypatch: pytest.MonkeyPatch) -> None:
    assert identity_of(Suffix("a")) != identity_of(Suffix("b"))
    assert identity_of(Suffix("a")) == identity_of(Suffix("a"))
    before = identity_of(Suffix("a"))
    monkeypatch.setattr(Suffix, "version", "2")
    assert identity_of(Suffix("a")) != before
    assert "Unversioned has no version" in why_not(Unversioned())
    assert identity_of(Twice())

    class Inner(Suffix):
        pass

    assert "put its class into a module" in why_not(Inner("a"))
    with_object = Suffix("a")
    with_object._word = object()  # type: ignore[assignment]
    assert "the object object has no version" in why_not(with_object)


def test_trainers_transforms_are_what_they_were() -> None:
    """What is kept of their examples is found by a later EasyData."""
    tokenizer = Tokenizer(str(ROOT / "tests/data/tokenizers/byte-level/tokenizer.json"))
    sft = SFTPreprocessTransform(tokenizer, max_length=16)
    recorded = {
        sft: "03be47269ac0",
        DPOPreprocessTransform(tokenizer): "6169996750be",
        KTOPreprocessTransform(tokenizer): "6684256f3899",
        BCOPreprocessTransform(tokenizer): "0bac437e811a",
        GRPOPreprocessTransform(tokenizer): "351cbd917368",
        PPOPreprocessTransform(tokenizer): "160d9d1e1e51",
        EmbeddingPreprocessTransform(tokenizer): "35b8f64e39fb",
    }
    for transform, known in recorded.items():
        identity = hashlib.sha256(identity_of(transform).encode()).hexdigest()
        assert identity[:12] == known, identity_of(transform)


def test_templates_and_their_options_count(tiny: str) -> None:
    def rendered(**options: Any) -> str:
        given = {"tokenizer": Tokenizer(tiny), **options}
        return identity_of(ChatTemplateTransform(**given))

    plain = rendered()
    assert rendered() == plain
    for options in (
        {"messages_field": "chat"},
        {"output_field": "body"},
        {"add_generation_prompt": True},
        {"drop_messages": False},
        {"role_mapping": {"human": "user"}},
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
    ):
        assert rendered(**options) != plain, options
    sft = identity_of(SFTPreprocessTransform(tiny, 16))
    assert identity_of(SFTPreprocessTransform(tiny, 16)) == sft
    for other in (
        SFTPreprocessTransform(tiny, 17),
        SFTPreprocessTransform(tiny, 16, chat_template=TEMPLATE),
        SFTPreprocessTransform(tiny, 16, chat_template_kwargs={"a": 1}),
        SFTPreprocessTransform(tiny, 16, mask_prompt=True),
    ):
        assert identity_of(other) != sft
    assert identity_of(DPOPreprocessTransform(tiny)) != sft
    assert "no version" in why_not(
        SFTPreprocessTransform(tiny, 16, formatting_func=unversioned)._steps()[0]
    )


def test_work_changes_no_identity(tiny: str) -> None:
    """What a step finds out as it works is no part of what it is."""
    row = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    steps: list[_Step] = [
        ChatTemplateTransform(tiny, role_mapping={}),
        SFTPreprocessTransform(tiny, 16),
        AddField("a", 1),
        CastFields({"a": "int32"}),
        Suffix("x"),
    ]
    for step in steps:
        before = identity_of(step)
        step({**row, "text": "words", "a": 1})
        assert identity_of(step) == before, step


def test_a_stream_says_what_it_is_made_with() -> None:
    source = HFDatasetShardedSource([{"text": "a b c d"}])
    assert source.map(loud, version="1")._stream().has_identity
    assert source.filter(not_short, version="1")._stream().has_identity
    assert source.transform(Suffix("a"))._stream().has_identity
    assert not source.map(loud)._stream().has_identity
    assert not source.filter(not_short)._stream().has_identity
    assert not source.transform(Unversioned())._stream().has_identity
    # Saved states know nothing of it.
    plain = source.map(loud)._stream().description
    assert source.map(loud, version="1")._stream().description == plain


def test_another_process_says_the_same(tiny: str) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from row_functions import Suffix, loud;"
        "from easydata import MapTransform, SFTPreprocessTransform;"
        "from easydata.transforms.identity import identity_of;"
        "import json;"
        "print(json.dumps([identity_of(s) for s in (MapTransform(loud, version='1'),"
        " Suffix('a'), SFTPreprocessTransform(sys.argv[2], 16))]))"
    )
    folder = row_functions.__file__.rpartition("/")[0]
    done = subprocess.run(
        [sys.executable, "-c", program, folder, tiny], capture_output=True, text=True, check=True
    )
    own = [MapTransform(loud, version="1"), Suffix("a"), SFTPreprocessTransform(tiny, 16)]
    assert json.loads(done.stdout) == [identity_of(step) for step in own]
