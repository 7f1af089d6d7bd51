"""What the differential tests rest on, in Jinja2 alone: generated templates, chats, shrinking."""

from typing import Any

import chats
import compare
import pytest
from compare import Difference, Outcome, by_jinja2, shrink
from template_grammar import random_case, share_that_renders
from templates import all_templates

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")


def test_most_generated_templates_render() -> None:
    share, errors = share_that_renders(range(300), 2)
    print(f"{share:.1%} render", *errors.most_common(5), sep="\n")
    assert 0.6 < share < 0.95
    assert any(error.startswith("refused: TemplateSyntaxError") for error in errors)
    assert any(error.startswith("error: UndefinedError") for error in errors)


def test_a_seed_gives_the_same_case() -> None:
    for seed in range(50):
        assert repr(random_case(seed, 3)) == repr(random_case(seed, 3))
    assert len({random_case(seed, 1)[0] for seed in range(50)}) == 50


@pytest.mark.one_in(5)
@pytest.mark.parametrize("source", all_templates())
def test_every_template_takes_some_chats(source: str) -> None:
    texts = {
        name: outcome.value
        for name, variables in chats.cases()
        if (outcome := by_jinja2(source, variables)).kind == "text"
    }
    # The least are those of models with pictures: contents in parts only.
    assert len(set(texts.values())) > 1 or len(texts) == 10


def test_chats_and_options() -> None:
    assert len(chats.CHATS) >= 13
    assert len(list(chats.cases())) == len(chats.CHATS) * len(chats.OPTIONS)
    # isspace() takes all of the one, nothing of the other.
    assert chats.SPACES.isspace()
    assert not any(map(str.isspace, chats.NO_SPACES))


def test_shrinks_to_what_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(source: str, variables: dict[str, Any]) -> Outcome:
        """An engine that has no titles."""
        found = by_jinja2(source.replace("title", "capitalize"), variables)
        return found if found.kind != "error" else Outcome("error", "other words")

    monkeypatch.setattr(compare, "by_engine", wrong)
    source = (
        "{% for m in messages %}{% if m.role == 'user' %}a{{ (m.content ~ ' b')|title }}\n"
        "{% else %}{{ m.role }}{% endif %}{% endfor %}{% set x = 1 %}text"
    )
    variables = {"messages": [{"role": "user", "content": "one two"}], "s": "unused"}
    difference = compare.compare(source, variables)
    assert isinstance(difference, Difference)
    least = shrink(difference)
    assert len(least.source) < 40
    assert "title" in least.source
    assert "s" not in least.variables
    assert least.kind == difference.kind
