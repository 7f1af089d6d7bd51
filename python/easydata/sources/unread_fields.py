"""Fields that rows have and that nobody reads."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from easydata import _native
from easydata.sources.first_rows import LOOKED_AT, first_rows
from easydata.sources.rows_in_shards import RowsInShards, made_of
from easydata.transforms.base import ColumnTransform, Example, _Step, run_steps

_log = logging.getLogger("easydata")

# Rows of so many forms are looked at: rows of one form have the same fields.
_MOST_FORMS = 64


@dataclass(frozen=True)
class UnreadFields:
    """What a look at the first rows of a dataset found of fields that nobody reads.

    Attributes:
        meaningful: Those that change what is trained: system, tools, loss_weight, ...
        texts: The others that hold text.
    """

    meaningful: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.meaningful or self.texts)


def find_unread(
    source: RowsInShards[Any],
    steps: Sequence[_Step],
    fields_read: Callable[[Example], Iterable[str]],
) -> UnreadFields:
    """Looks at the first 1,000 rows that `steps` make of a source's rows, or those of a block.

    Of rows with a schema the first one is looked at, and those columns alone that carry meaning and
    that it does not read. Rows that a function of the user's has made are not looked at: it has
    seen all fields, and is not called before its time.

    Args:
        source: Where the rows come from, below all steps.
        steps: What is done to them before they are read.
        fields_read: Names of the fields of a row that are read.

    Raises:
        ValueError: `fields_read` refuses a row.
    """
    if not all(isinstance(step, ColumnTransform) for step in steps):
        return UnreadFields()
    known = set(_native.meaningful_fields())
    plan = source._plan
    if steps:
        plan = _native.transformed_rows(plan, [step._plan_step() for step in steps])
    names = plan.column_names()
    forms: set[frozenset[str]] = set()
    unread: dict[str, None] = {}
    for whole in _rows_to_look_at(source, steps, has_schema=names is not None):
        row = {name: value for name, value in whole.items() if names is None or name in names}
        form = frozenset(name for name, value in row.items() if _says_something(value))
        if form in forms or len(forms) == _MOST_FORMS:
            continue
        forms.add(form)
        read = set(fields_read(row))
        unread.update(
            dict.fromkeys(
                name
                for name in row
                if name in form
                and name not in read
                and (name in known or isinstance(row[name], str))
            )
        )
        if names is not None:
            candidates = [name for name in names if name in known - form - read]
            unread.update(dict.fromkeys(_saying_something(plan, candidates)))
    meaningful = tuple(name for name in unread if name in known)
    return UnreadFields(meaningful, tuple(name for name in unread if name not in known))


def _rows_to_look_at(
    source: RowsInShards[Any], steps: Sequence[_Step], *, has_schema: bool
) -> Iterator[Example]:
    """The rows that are looked at: as many as are at hand at once, and one where none is."""
    if has_schema:
        return itertools.islice(first_rows(source, steps), 1)
    if not steps and (rows := source._plan.first_rows_of_forms()):
        return iter(rows)
    peeked = source._plan.peek(LOOKED_AT)
    if peeked is None or not peeked[0]:
        most = LOOKED_AT if source._plan.is_at_hand else 1
        return itertools.islice(first_rows(source, steps), most)
    return (dict(made) for row in peeked[0] for made in run_steps(steps, row))


def _saying_something(plan: _native.Plan, names: list[str]) -> Iterator[str]:
    """Which of the columns hold something in the first rows."""
    if not names:
        return
    stream = plan.stream(dict.fromkeys(names, "any"), is_look=True)
    missing = list(names)
    for row in itertools.islice(_native.iterate_rows(stream, ahead=False), LOOKED_AT):
        for name in [each for each in missing if _says_something(row.get(each))]:
            missing.remove(name)
            yield name
        if not missing:
            return


def tell_unread(source: RowsInShards[Any], found: UnreadFields, reader: str) -> None:
    """Logs what was found: a warning of fields that carry meaning, a line at INFO of other text.

    Args:
        source: The dataset.
        found: What nobody reads of it.
        reader: What reads its rows, such as "SFTPreprocessTransform".
    """
    name = dataset_of(source)
    where = f"dataset {name!r}: " if name else ""
    if found.meaningful:
        _log.warning(
            "%srows have %s, of which nothing reaches the tokens: %s does not read it. If that is "
            "meant, leave it out: by columns= of the dataset, or drop_fields()",
            where,
            _listed(found.meaningful),
            reader,
        )
    if found.texts:
        _log.info(
            "%sno token is made of %s: %s does not read it", where, _listed(found.texts), reader
        )


def unread_of(sources: Mapping[str, RowsInShards[Any]]) -> dict[str, list[str]]:
    """The fields that nobody reads, by dataset, as far as the rows were looked at."""
    found: dict[str, list[str]] = {}
    for name, source in sources.items():
        for each in made_of(source):
            if unread := getattr(each, "_unread", None):
                of = found.setdefault(dataset_of(each) or name, [])
                of += [field for field in (*unread.meaningful, *unread.texts) if field not in of]
    return found


def dataset_of(source: RowsInShards[Any]) -> str:
    """The name of the dataset that a source is made of; "" where there is none, or several."""
    while not source._dataset_name and len(source._inputs) == 1:
        source = source._inputs[0]
    return source._dataset_name


def _says_something(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip() not in ("", "[]", "{}", "null")
    return value is not None and not (isinstance(value, list | dict | tuple) and not value)


def _listed(names: Sequence[str]) -> str:
    shown = [repr(name) for name in names[:10]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} others" if more else "")
