"""Records what Jinja2 makes of small templates, for the tests of the native engine in C++.

    PYTHONPATH=tests/python/chat .venv/bin/python tests/data/record_templates.py [--check]

Jinja2 is set up as chat templates expect it (easydata.tokenizers.template_engine). The file has
three lists: "documented", what Jinja2's documentation says of tests, filters, loops and white space
that our engine has; "pitfalls", those of tests/python/chat, some of which it leaves to Jinja2; and
"values", of which expressions are made by pairs. A case is [template, text], with null in place of
the text where Jinja2 has none.
"""

import itertools
import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

from easydata.tokenizers.template_engine import compile_template
from pitfalls import PITFALLS

OUT = Path(__file__).resolve().parent / "golden" / "templates.json"

# What the templates read: what JSON can say.
VARIABLES: dict[str, Any] = {
    "n": 3,
    "s": "Text",
    "d": {"a": 1, "b": {"c": [1.0, None]}},
    "nums": [1, 2, 3, 4],
    "messages": [
        {"role": "system", "content": "You are the harbour master."},
        {"role": "user", "content": "Is the mail there?"},
        {"role": "assistant", "content": "Not <b>yet</b> & no."},
    ],
    "words": ["b", "A", "a", "C"],
    "html": "<a href='x'>1 & 2</a>",
    "text": "  The quick brown fox's den,\n\tat Kiel.  ",
    "letters": "Größe ÄÖÜ ß straße \U0001f642",
    "empty": "",
    "nothing": None,
    "x": 7,
    "y": -2.5,
    "yes": True,
    "users": [
        {"name": "Ann", "age": 31, "admin": True, "tags": ["x"]},
        {"name": "bob", "age": 25, "admin": False, "tags": []},
        {"name": "Cleo", "age": 25},
    ],
}

_FILTERS = [
    *(f"{{{{ {value}|abs }}}}" for value in ("y", "-3", "x", "yes", "s")),
    *(f"{{{{ {value}|capitalize }}}}" for value in ("s", "'hELLO wORLD'", "''", "x", "nothing")),
    *(f"{{{{ {value}|title }}}}" for value in ("text", "'it''s a-b (c) [d]'", "\"they're\"", "x")),
    *(f"{{{{ {value}|upper }}}}{{{{ {value}|lower }}}}" for value in ("s", "html", "x", "none")),
    *(f"{{{{ {value}|trim }}}}|" for value in ("text", "'xxaxx'", "x", "empty")),
    "{{ 'xxaxx'|trim('x') }}",
    "{{ text|trim(' .\\n') }}|",
    *(f"{{{{ {value}|length }}}}" for value in ("s", "letters", "nums", "d", "empty", "range(9)")),
    "{{ n|length }}",
    "{{ nums|count }}",
    *(f"{{{{ {value}|first }}}}" for value in ("nums", "s", "d", "words|reverse", "empty", "[]")),
    *(f"{{{{ {value}|last }}}}" for value in ("nums", "s", "d", "empty", "[]")),
    *(f"{{{{ {value}|reverse|list }}}}" for value in ("nums", "words", "d")),
    *(f"{{{{ {value}|reverse }}}}" for value in ("s", "letters", "empty")),
    *(f"{{{{ {value}|list }}}}" for value in ("s", "nums", "d", "range(3)", "n", "(1, 2)")),
    *(f"{{{{ {value}|string }}}}" for value in ("s", "nums", "d", "y", "nothing", "yes")),
    *(
        f"{{{{ {value}|{name} }}}}"
        for value in ("'12'", "' 7 '", "'3.9'", "'-1e2'", "'a'", "''", "y", "x", "yes", "'1_0'",
                      "nothing", "[]", "'0x1f'", "'٣'", "1e3")
        for name in ("int", "float")
    ),
    "{{ 'a'|int(5) }} {{ 'a'|int(default=6) }}",
    "{{ 'a'|float(1.5) }}",
    "{{ 'ff'|int(0, 16) }}",
    *(f"{{{{ {value}|default('d') }}}}" for value in ("missing", "s", "empty", "nothing", "d.z")),
    *(f"{{{{ {value}|default('d', true) }}}}" for value in ("missing", "s", "empty", "nothing")),
    "{{ missing|default }}|{{ missing|d(1) }}|{{ empty|d(default_value=2, boolean=true) }}",
    *(f"{{{{ {value}|join }}}}" for value in ("nums", "words", "s", "d", "[]", "[1, 'a', none]")),
    *(f"{{{{ {value}|join(', ') }}}}" for value in ("nums", "words", "s", "d", "[[1], (2,)]")),
    "{{ users|join('-', attribute='name') }}",
    "{{ users|join('-', attribute='tags') }}",
    "{{ messages|map(attribute='role')|join('/') }}",
    "{{ users|map(attribute='tags', default='none')|list }}",
    "{{ users|map(attribute='age')|map('string')|join('+') }}",
    "{{ words|map('upper')|list }}",
    "{{ words|map('replace', 'a', 'o')|list }}",
    "{{ words|map('default', 'x')|list }}",
    "{{ nums|map('nofilter')|list }}",
    "{{ nums|map|list }}",
    "{{ nums|select('odd')|list }} {{ nums|reject('odd')|list }}",
    "{{ nums|select('divisibleby', 2)|list }} {{ nums|select('gt', 2)|list }}",
    "{{ nums|select('in', [1, 9])|list }} {{ [0, 1, '', 'a', none]|select|list }}",
    "{{ [0, 1, '', 'a', none]|reject|list }} {{ [1, 'a', none]|select('string')|list }}",
    "{{ users|selectattr('admin')|map(attribute='name')|list }}",
    "{{ users|rejectattr('admin')|map(attribute='name')|list }}",
    "{{ users|selectattr('age', 'equalto', 25)|map(attribute='name')|list }}",
    "{{ users|selectattr('tags', 'defined')|list|length }}",
    "{{ users|selectattr('tags.0', 'defined')|list|length }}",
    "{{ messages|selectattr('role', 'in', ['user', 'system'])|map(attribute='content')|list }}",
    *(f"{{{{ {value}|unique|list }}}}" for value in ("words", "[1, 1.0, true, 2]", "'aAbB'", "[]")),
    "{{ words|unique(true)|list }} {{ users|unique(attribute='age')|map(attribute='name')|list }}",
    *(f"{{{{ {value}|dictsort }}}}" for value in ("d", "{'b': 1, 'A': 3, 'a': 2}", "{}")),
    "{{ {'b': 1, 'A': 3, 'a': 2}|dictsort(true) }}",
    "{{ {'b': 1, 'A': 3, 'a': 2}|dictsort(false, 'value') }}",
    "{{ {'b': 1, 'A': 3, 'a': 2}|dictsort(reverse=true) }}",
    "{{ {'b': 1, 'a': 'x'}|dictsort(by='value') }}",
    "{{ d|items|list }} {{ missing|items|list }} {{ nums|items|list }}",
    "{{ s|replace('T', 'b') }} {{ s|replace('t', '') }} {{ 'aaa'|replace('a', 'b', 2) }}",
    "{{ 'aaa'|replace('', '-') }} {{ x|replace('7', '8') }} {{ html|replace('<', '&lt;') }}",
    "{{ html|safe }} {{ html|safe ~ '<' }} {{ html|safe|upper }}",
    *(
        f"{{{{ {value}|tojson }}}}"
        for value in ("d", "nums", "s", "html", "letters", "y", "nothing", "yes", "users", "1e16",
                      "1.0", "-0.0", "(1, 2)", "{}", "[]", "'\\u2028\\x7f\\x00'", "missing",
                      "1e400")
    ),
    "{{ d|tojson(indent=2) }}",
    "{{ users|tojson(indent=1) }}",
    "{{ {'b': 1, 'a': [true, {}]}|tojson(sort_keys=true) }}",
    "{{ d|tojson(separators=(',', ':')) }} {{ letters|tojson(ensure_ascii=true) }}",
    "{{ [1, [2, []]]|tojson(indent=4) }} {{ d|tojson(2) }}",
    "{{ {1: 2, none: 3, true: 4, 1.5: 5}|tojson }}",
]  # fmt: skip

_TESTED = ("x", "y", "s", "empty", "nothing", "yes", "nums", "d", "missing", "messages[0]", "1.0",
           "0", "'a'", "range(2)", "(1,)", "d.items()", "nums|map('string')")  # fmt: skip
_TESTS = [
    *(
        f"{{{{ {value} is {test} }}}}"
        for test in ("defined", "undefined", "none", "string", "mapping", "iterable", "sequence",
                     "boolean", "true", "false", "number", "integer", "float")
        for value in _TESTED
    ),
    *(f"{{{{ {value} is {test} }}}}" for value in ("x", "0", "-1", "y")
    for test in ("odd", "even")),
    *(
        f"{{{{ {value} is {test} }}}}"
        for value in ("x", "s", "nums")
        for test in ("equalto 7", "eq 'Text'", "ne(7)", "in [7, 'Text']", "in nums", "lt 8", "le 7",
                     "gt 7", "ge(7)", "not in []", "divisibleby 7", "sameas none", "!= 7")
    ),
    "{{ 'a' is in 'abc' }} {{ 9 is divisibleby(3) }} {{ 9 is not divisibleby 2 }}",
    "{{ x is nosuchtest }}",
    "{{ x is odd and y is even }}",
]  # fmt: skip

_METHODS = [
    *(
        f"{{{{ {value}.{call} }}}}|"
        for value in ("text", "letters", "'a,b,,c'", "''")
        for call in ("upper()", "lower()", "strip()", "lstrip()", "rstrip()", "strip(' .')",
                     "split()", "split(',')", "split(',', 1)", "splitlines()", "capitalize()",
                     "title()", "find('e')", "rfind('e')", "count('e')", "replace('e', 'E')",
                     "startswith('a')", "endswith(('c', ' '))", "isdigit()", "isspace()",
                     "removeprefix('a')", "removesuffix('c')")
    ),
    "{{ ', '.join(words) }} {{ ''.join([]) }} {{ '-'.join('abc') }} {{ ','.join(nums) }}",
    "{{ d.get('a') }} {{ d.get('z') }} {{ d.get('z', 5) }} {{ d.keys()|list }} "
    "{{ d.values()|list }}",
    "{{ d.items()|list }} {{ d.copy() }} {{ 'abc'.startswith('b', 1) }} {{ 'abc'.find('c', -1) }}",
    "{{ s.nosuchmethod() }}",
    "{{ nums.append(5) }}",
    "{{ d.update({'z': 1}) }}",
    "{{ d.pop('a') }}",
    "{{ s.__class__ }}",
    "{{ ''.__class__.__mro__ }}",
]  # fmt: skip

_LOOPS = [
    "{% for m in messages %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }};"
    "{% endfor %}",
    "{% for m in messages %}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }}"
    "{{ loop.depth }}"
    "{{ loop.depth0 }};{% endfor %}",
    "{% for n in nums %}{{ loop.previtem|default('-') }}"
    "{{ loop.nextitem|default('-') }} {% endfor %}",
    "{% for n in nums %}{{ loop.cycle('odd', 'even') }} {% endfor %}",
    "{% for n in [1, 1, 2] %}{{ loop.changed(n) }} {% endfor %}",
    "{% for n in [] %}{{ n }}{% else %}nothing{% endfor %}",
    "{% for n in nums if n > 2 %}{{ loop.index }}:{{ n }} {% else %}none{% endfor %}",
    "{% for n in nums if n > 9 %}{{ n }}{% else %}none{% endfor %}",
    "{% for key, value in d.items() %}{{ key }}={{ value }};{% endfor %}",
    "{% for a, b in [[1, 2], [3, 4]] %}{{ a + b }} {% endfor %}",
    "{% for a, b in [[1, 2, 3]] %}{{ a }}{% endfor %}",
    "{% for n in nums %}{% if n == 2 %}{% continue %}{% endif %}{% if n == 4 %}"
    "{% break %}{% endif %}"
    "{{ n }}{% endfor %}",
    "{% for a in [1, 2] %}{% for b in [3, 4] %}{{ loop.index }}{{ a * b }} {% endfor %}"
    "{% endfor %}",
    "{% for c in 'aé🙂' %}[{{ c }}]{% endfor %}",
    "{% for n in nums recursive %}{{ n }}{% endfor %}",
    "{% for n in x %}{% endfor %}",
    "{% for m in messages %}{% set found = m.role %}{% endfor %}{{ found }}",
    "{% set ns = namespace(found=false) %}{% for m in messages %}{% if m.role == 'user' %}"
    "{% set ns.found = loop.index %}{% endif %}{% endfor %}{{ ns.found }}",
    "{% macro f(a, b=2, c=none) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(1) }} {{ f(1, c=3) }} "
    "{{ f(b=1) }}",
    "{% macro f() %}{{ caller is defined }}{% endmacro %}{{ f() }}",
    "{% macro f(n) %}{% if n %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}",
    "{% set block %}{{ s }}<b>{% endset %}{{ block }}{{ block|length }}",
    "{% if x > 5 %}a{% elif x > 2 %}b{% else %}c{% endif %}{% if empty %}d{% else %}e{% endif %}",
    "{{ 'yes' if nums else 'no' }}{{ 'yes' if [] }}|{{ (1 if x else 2) + 1 }}",
    "{% generation %}{{ s }}{% endgeneration %}",
    "{% raw %}{{ x }}{% if %}{% endraw %}",
]  # fmt: skip

_SPACE = [
    "<div>\n    {% if true %}\n        yay\n    {% endif %}\n</div>\n",
    "<div>\n    {%- if true -%}\n        yay\n    {%- endif -%}\n</div>\n",
    "<div>\n    {%+ if true +%}\n        yay\n    {%+ endif %}\n</div>\n",
    "a  {{- x -}}  b {{ x }} c\n\n",
    "a {# note #} b\n {#- note -#} \n c {#+ note +#}\nd",
    "{% for n in nums %}\n{{ n }}\n{% endfor %}\n",
    "{% for n in nums -%}\n{{ n }}\n{%- endfor %}\n",
    "\t {% if true %}\t\n x{% endif %} \n",
    "a\r\n{% if true %}\r\nb\r\n{% endif %}\r\nc\r\n",
    "a\u3000{%- if true -%}\u3000b\x1c{%- endif %}",
    "x\n\n\n{%- set a = 1 %}\n\n\ny",
    "{{ 'a\nb' }}{{ \"it's\" }}{{ '\\x41\\u00e9\\n\\'' }}",
    "{# a {# b #} c #}",
    "{ {x} } {{ '{{' }} {{ '}}' }} %} #}",
    "a{#",
    "a {#-",
    "a{#+\n",
    "a{# ",
    "a{% raw -%}",
    "a{% raw %} ",
]

_VALUES = ("1", "0", "-7", "2.5", "-0.0", "true", "none", "'a'", "''", "'ab'", "[1]", "[]",
           "(1, 'a')",
           "{'a': 1}", "missing", "n", "s", "y", "10**20")  # fmt: skip
_OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "~", "==", "<", "<=", "in", "and", "or")

_SLICES = [
    f"{{{{ {value}[{index}] }}}}"
    for value in ("nums", "s", "(1, 2, 3)", "letters")
    for index in ("0", "-1", "99", "1:", ":2", "-2:", "::2", "::-1", "1:3", "3:1:-1", "99:", ":-99",
                  "true", "'a'", "none:2", "::0", "1.0")
]  # fmt: skip

_ADDRESS = re.compile(r"at 0x[0-9a-f]+>")


def _recorded(source: str) -> list[Any] | None:
    try:
        text = compile_template(source).render(**VARIABLES)
    except Exception:
        return [source, None]
    return None if _ADDRESS.search(text) else [source, text]


def _pairs() -> list[Any]:
    """For each operator the results of all pairs, the right operand running fastest."""
    out = []
    for operator in _OPERATORS:
        pairs = itertools.product(_VALUES, repeat=2)
        texts = [_recorded(f"{{{{ {one} {operator} {other} }}}}") for one, other in pairs]
        out.append([operator, [text and text[1] for text in texts]])
    return out


def record() -> dict[str, Any]:
    """Makes all cases."""
    warnings.simplefilter("ignore")
    documented = dict.fromkeys([*_FILTERS, *_TESTS, *_METHODS, *_LOOPS, *_SPACE, *_SLICES])
    # Those that read what no JSON says, the clock, or what takes a long time.
    pitfalls = [each for each in PITFALLS if not re.search(r"\b(nan|inf|big|strftime_now)\b", each)]
    return {
        "variables": VARIABLES,
        "documented": [case for case in map(_recorded, documented) if case],
        "pitfalls": [case for case in map(_recorded, pitfalls) if case],
        "values": list(_VALUES),
        "pairs": _pairs(),
    }


def as_text(recorded: dict[str, Any]) -> str:
    """A line for each case."""
    lines = ["{", f'"variables": {json.dumps(recorded["variables"], ensure_ascii=False)},']
    for name in ("documented", "pitfalls", "pairs"):
        cases = ",\n".join(json.dumps(case, ensure_ascii=False) for case in recorded[name])
        lines.append(f'"{name}": [\n{cases}\n],')
    lines += [f'"values": {json.dumps(recorded["values"], ensure_ascii=False)}', "}", ""]
    return "\n".join(lines)


def main() -> None:
    """Writes the file, or compares it."""
    text = as_text(record())
    if "--check" in sys.argv[1:]:
        sys.exit(0 if OUT.read_text(encoding="utf-8") == text else f"{OUT} differs")
    OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
