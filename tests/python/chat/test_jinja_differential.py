"""The native engine of chat templates against Jinja2: on real templates, random ones, and bounds.

What must hold is in compare.py. A failure of the fuzz shows the least template that differs, and
the seed; `random_case(seed, draws)` makes the whole one.
"""

import json
import time
from collections import Counter
from pathlib import Path

import chats
import compare as comparing
import pytest
from compare import by_jinja2, compare, shrink
from pitfalls import PITFALLS, VALUES
from programs import run_python
from template_grammar import random_case
from templates import all_templates

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")

_FUZZ_SECONDS = 10
_LONG_RENDERS = 1_000_000
# Most of it is what no chat template does: letters beyond ASCII in lower case, large integers.
_MAX_OUTSIDE = 0.25
# So many differences are shrunk and shown; each takes seconds.
_MAX_SHOWN = 5


@pytest.mark.one_in(3)
@pytest.mark.parametrize("source", all_templates())
def test_template_files(source: str) -> None:
    """Every chat with all options; nothing in these files may be outside of the subset.

    But for what is known: Jinja2 has the text then.
    """
    counts: Counter[str] = Counter()
    different: list[str] = []
    outside: Counter[str] = Counter()
    for name, variables in chats.cases():
        difference = compare(source, variables, counts)
        if difference is not None:
            different.append(f"{name}\njinja2: {difference.expected}\nnative: {difference.actual}")
            continue
        actual = comparing.by_engine(source, variables)
        # Where Jinja2 has no text either, the other way costs time alone.
        if (
            actual.kind == "outside"
            and comparing.KNOWN_OUTSIDE not in actual.value
            and by_jinja2(source, variables).kind == "text"
        ):
            outside[f"{name}: {actual.value}"] += 1
    print({name: count for name, count in counts.items() if not name.startswith("outside: ")})
    print(*(line for line in counts.items() if line[0].startswith("outside: ")), sep="\n")
    assert not different, f"{len(different)} differ, the first:\n" + "\n\n".join(different[:2])
    assert not outside, f"{outside.total()} are outside of the subset: {outside.most_common(3)}"


def _fuzz(first_seed: int, draws: int, seconds: float, max_renders: float) -> Counter[str]:
    """Renders until the time or the number is over; fails with what differs."""
    counts: Counter[str] = Counter()
    shown: dict[str, str] = {}
    until = time.monotonic() + seconds
    seed = first_seed
    while time.monotonic() < until and counts["renders"] < max_renders:
        source, all_variables = random_case(seed, draws)
        for variables in all_variables:
            difference = compare(source, variables, counts)
            if difference is not None:
                least = shrink(difference)
                shown.setdefault(least.source, f"seed {seed}\n{least}")
                break
        if len(shown) == _MAX_SHOWN:
            break
        seed += 1
    kinds = ("renders", "text", "error", "outside")
    print(f"seeds {first_seed}-{seed}:", {kind: counts[kind] for kind in kinds})
    print(
        *(
            f"{times:7} {what}"
            for what, times in counts.most_common()
            if what.startswith("outside: ")
        ),
        sep="\n",
    )
    assert not shown, f"{len(shown)} least templates differ:\n\n" + "\n\n".join(shown.values())
    return counts


def _check_shares(counts: Counter[str]) -> None:
    assert counts["text"] > 0.6 * counts["renders"]
    assert counts["outside"] <= _MAX_OUTSIDE * counts["renders"], counts.most_common(12)


def test_random_templates() -> None:
    _check_shares(_fuzz(0, 4, _FUZZ_SECONDS, float("inf")))


@pytest.mark.sliced
def test_a_million_random_renders() -> None:
    counts = _fuzz(1_000_000, 25, float("inf"), _LONG_RENDERS)
    assert counts["renders"] >= _LONG_RENDERS
    _check_shares(counts)


@pytest.mark.parametrize("source", PITFALLS)
def test_pitfalls(source: str) -> None:
    difference = compare(source, VALUES)
    assert difference is None, f"\n{difference}"


# --- Bounds. Each runs in a process of its own, which must end by itself.

# Jinja2 would compute some of these for minutes, or for all of the memory.
MUST_FAIL = {
    "range": "{% for i in range(10 ** 6) %}{% endfor %}",
    "range as list": "{{ range(n)|list|length }}",
    "repeated text": "{{ 'a' * 10 ** 9 }}",
    "repeated text, by a variable": "{{ s * n * n }}",
    "endless macro": "{% macro m(a) %}{{ m(a) }}{% endmacro %}{{ m(1) }}",
    "endless macros": "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}"
    "{{ a() }}",
    "endless macro in a loop": "{% macro m(a) %}{% for i in [1] %}{% if 1 %}{{ m(a) ~ m(a) }}"
    "{% endif %}{% endfor %}{% endmacro %}{{ m(1) }}",
    "parentheses": "{{ " + "(" * 10_000 + "1" + ")" * 10_000 + " }}",
    "lists": "{{ " + "[" * 10_000 + "]" * 10_000 + " }}",
    "dicts": "{{ " + "{'a':" * 10_000 + "1" + "}" * 10_000 + " }}",
    "open parentheses": "{{ " + "(" * 100_000,
    "blocks": "{% if 1 %}" * 10_000 + "{% endif %}" * 10_000,
    "output": "{% for i in range(10000) %}{% for j in range(10000) %}{{ long }}{% endfor %}"
    "{% endfor %}",
    "output into a name": "{% set x %}{% for i in range(90000) %}{{ long }}{% endfor %}"
    "{% endset %}",
}

# Here a text, ValueError and NotImplementedError are all right: but soon, and in little memory.
MUST_END = {
    "nots": "{{ " + "not " * 10_000 + "1 }}",
    "signs": "{{ " + "-" * 10_000 + "1 }}",
    "sums": "{{ " + "1 + " * 10_000 + "1 }}",
    "joins": "{{ " + "1 ~ " * 10_000 + "1 }}",
    "powers": "{{ " + "1 ** " * 10_000 + "1 }}",
    "or": "{{ " + "0 or " * 10_000 + "1 }}",
    "conditions": "{{ " + "1 if 0 else " * 10_000 + "1 }}",
    "comparisons": "{{ " + "1 == " * 10_000 + "1 }}",
    "attributes": "{{ d" + ".a" * 10_000 + " }}",
    "subscripts": "{{ d" + "[0]" * 10_000 + " }}",
    "filters": "{{ s" + "|trim" * 10_000 + " }}",
    "tests": "{{ s" + " is string" * 10_000 + " }}",
    "calls": "{{ s" + ".strip()" * 10_000 + " }}",
    "elifs": "{% if 0 %}" + "{% elif 0 %}a" * 10_000 + "{% endif %}",
    "loops": "{% for i in [1] %}" * 500 + "{% endfor %}" * 500,
    "macros within macros": "{% macro m() %}" * 500 + "{% endmacro %}" * 500,
    "many names": "".join(f"{{% set x{i} = {i} %}}" for i in range(20_000)),
    "a long literal": "{{ '" + "é" * 1_000_000 + "'|length }}",
    "many digits": "{{ " + "9" * 100_000 + " }}",
    "exponent": "{{ 1e99999999999999999999 }}",
    "doubled text": "{% set ns = namespace(a='ab') %}{% for i in range(60) %}"
    "{% set ns.a = ns.a ~ ns.a %}{% endfor %}",
    "doubled text, added": "{% set ns = namespace(a='ab') %}{% for i in range(60) %}"
    "{% set ns.a = ns.a + ns.a %}{% endfor %}",
    "doubled list": "{% set ns = namespace(a=[1]) %}{% for i in range(60) %}"
    "{% set ns.a = ns.a + ns.a %}{% endfor %}",
    "repeated list": "{{ [1] * 10 ** 10 }}",
    "list of lists": "{% set ns = namespace(a=1) %}{% for i in range(60) %}"
    "{% set ns.a = [ns.a, ns.a] %}{% endfor %}{{ ns.a }}",
    "list of lists, as JSON": "{% set ns = namespace(a=1) %}{% for i in range(60) %}"
    "{% set ns.a = [ns.a, ns.a] %}{% endfor %}{{ ns.a|tojson }}",
    "list of lists, compared": "{% set ns = namespace(a=1, b=1) %}{% for i in range(60) %}"
    "{% set ns.a = [ns.a, ns.a] %}{% set ns.b = [ns.b, ns.b] %}{% endfor %}{{ ns.a == ns.b }}",
    "deep list": "{% set ns = namespace(a=1) %}{% for i in range(99999) %}"
    "{% set ns.a = [ns.a] %}{% endfor %}{{ ns.a }}",
    "deep list, as JSON": "{% set ns = namespace(a=1) %}{% for i in range(99999) %}"
    "{% set ns.a = [ns.a] %}{% endfor %}{{ ns.a|tojson }}",
    "deep lists, compared": "{% set ns = namespace(a=1, b=1) %}{% for i in range(99999) %}"
    "{% set ns.a = [ns.a] %}{% set ns.b = [ns.b] %}{% endfor %}{{ ns.a == ns.b }}",
    "namespace within itself": "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}",
    "namespace within itself, as list": "{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns.a }}"
    "{{ ns.a == ns.a }}{{ ns.a|tojson }}",
    "powers of powers": "{{ n ** n ** n }}",
    "squares": "{% set ns = namespace(a=n) %}{% for i in range(60) %}{% set ns.a = ns.a * ns.a %}"
    "{% endfor %}{{ ns.a }}",
    "replaced": "{{ long|replace('a', long)|replace('a', long) }}",
    "replaced, by a method": "{{ long.replace('a', long).replace('a', long) }}",
    "joined": "{{ range(99999)|join(long) }}",
    "joined, by a method": "{{ long.join(long).join(long) }}",
    "indented": "{{ [1]|tojson(indent=10 ** 9) }}",
    "indented deep": "{% set ns = namespace(a=1) %}{% for i in range(150) %}{% set ns.a = [ns.a] %}"
    "{% endfor %}{{ ns.a|tojson(indent=10 ** 6) }}",
    "formatted": "{{ '%1000000000d' % 1 }}",
    "split": "{% set ns = namespace(a=[]) %}{% for i in range(90000) %}"
    "{% set ns.a = [long.split('a'), ns.a] %}{% endfor %}",
    "upper case": "{% set ns = namespace(a=long) %}{% for i in range(90000) %}"
    "{% set ns.a = long|upper %}{% endfor %}",
    "sorted": "{{ d|dictsort|string|length }}{{ deep }}{{ deep|tojson }}",
}

_CHILD = """\
import json, resource, sys, time
from engine_parts import JinjaTemplate
source = json.load(sys.stdin)
deep = []
for _ in range(10_000):
    deep = [deep]
names = {"s": "abc", "n": 10**6, "d": {"a": 1}, "long": "a" * 10_000, "deep": deep}
if "deep" not in source:
    del names["deep"]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time()
try:
    JinjaTemplate(source).render(names)
    kind = "text"
except NotImplementedError:
    kind = "outside"
except ValueError:
    kind = "error"
seconds = time.process_time() - start
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
print(json.dumps([kind, seconds, grown / 1024]))
"""

_MAX_CPU_SECONDS = 5
_MAX_MEGABYTES = 1024


def _ends(source: str, tmp_path: Path) -> str:
    """How it ends in a process of its own, soon and within bounds of memory."""
    child = run_python("-c", _CHILD, input=json.dumps(source), cwd=tmp_path, timeout=30)
    kind, seconds, megabytes = json.loads(child.stdout)
    assert seconds < _MAX_CPU_SECONDS
    assert megabytes < _MAX_MEGABYTES
    return str(kind)


@pytest.mark.alone
@pytest.mark.parametrize("name", MUST_FAIL)
def test_bound_is_an_error(name: str, tmp_path: Path) -> None:
    assert _ends(MUST_FAIL[name], tmp_path) == "error"


@pytest.mark.alone
@pytest.mark.parametrize("name", MUST_END)
def test_ends_soon(name: str, tmp_path: Path) -> None:
    assert _ends(MUST_END[name], tmp_path) in ("text", "error", "outside")


@pytest.mark.parametrize("depth", [1, 5, 20, 50])
def test_what_is_nested_little_is_no_error(depth: int) -> None:
    """Bounds do not touch what people write."""
    sources = (
        "{{ " + "(" * depth + "n" + ")" * depth + " }}",
        "{{ " + "[" * depth + "n" + "]" * depth + " }}",
        "{% if n %}" * min(depth, 18) + "x" + "{% endif %}" * min(depth, 18),
        "{% macro m(a) %}{% if a %}({{ m(a - 1) }}){% endif %}{% endmacro %}{{ m("
        + f"{depth}) }}}}",
        "{{ n" + " + 1" * depth + " }}{{ s" + "|trim" * depth + " }}",
        "{% for i in range(1000) %}{{ long }}{% endfor %}",
    )
    for source in sources:
        variables = {**VALUES, "long": "a" * 1000}
        assert compare(source, variables) is None
        assert comparing.by_engine(source, variables).kind == "text"
