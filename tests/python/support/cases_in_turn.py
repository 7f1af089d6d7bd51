"""Parameters of tests, of which every run has some, and the slices the rest."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import pytest


def cases_in_turn(cases: Iterable[Any], *choices: Iterable[Any]) -> list[Any]:
    """Parameters: all combinations of `cases` and `choices`.

    Each case is once in every run, and the choices take turns in it: the first kind changes from
    case to case, a second one each time that the first has come round. The rest is `sliced`.

        @pytest.mark.parametrize(("name", "where"), cases_in_turn(FAULTS, SERVERS))
    """
    listed = [list(kind) for kind in choices]
    parameters = []
    for index, case in enumerate(cases):
        turns, left = [], index
        for kind in listed:
            left, turn = divmod(left, len(kind))
            turns.append(kind[turn])
        for combination in product(*listed):
            marks = () if list(combination) == turns else (pytest.mark.sliced,)
            parameters.append(pytest.param(case, *combination, marks=marks))
    return parameters


def some_in_turn(cases: Iterable[Any], turn: int, of: int = 3) -> list[Any]:
    """Parameters: all `cases`, of which every run has those whose index is `turn` modulo `of`.

    Tests of the same cases with different turns try each case in every run, in one of them.
    """
    return [
        pytest.param(case, marks=() if index % of == turn else (pytest.mark.sliced,))
        for index, case in enumerate(cases)
    ]
