"""Saved positions of several ranks as one."""

from collections.abc import Mapping, Sequence
from typing import Any

from easydata import _native


def merge_states(states: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One state from which any number of ranks can resume, made of the states of all ranks.

    With several lanes a rank's `state_dict()` has the lanes that the rank reads; this has all. With
    one lane the states are all the same, and this is one of them.

    Args:
        states: What `state_dict()` returned on every rank, after the same batch.

    Raises:
        ValueError: When the states are of different streams or steps, a lane is in none of them, or
            in two at different positions; the message names it.
    """
    plain = [dict(state) for state in states]
    if not plain or not all("loaders" in state for state in plain):
        return _merged(plain)
    # Of several loaders in turn: all but the loaders' own states is the same on every rank.
    first = plain[0]
    for i, state in enumerate(plain):
        for key in sorted({*first, *state} - {"loaders"}):
            if first.get(key) != state.get(key):
                raise ValueError(f"states[{i}] and states[0] differ in {key!r}: save them together")
        if set(state["loaders"]) != set(first["loaders"]):
            raise ValueError(f"states[{i}] is of other datasets than states[0]")
    merged = {
        name: merge_states([state["loaders"][name] for state in plain]) for name in first["loaders"]
    }
    return {**first, "loaders": merged}


def _merged(states: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One state of one loader; the date of its chat templates is kept beside the engine's."""
    dates = {state.pop("template_date", None): i for i, state in enumerate(states)}
    if len(dates) > 1:
        shown = ", ".join(f"{date} in states[{i}]" for date, i in dates.items())
        raise ValueError(
            "the states have other dates for their chat templates (template_date): save them "
            f"together, or give one date to all ranks; there are {shown}"
        )
    merged = _native.merge_states(states)
    date = next(iter(dates), None)
    return merged if date is None else {**merged, "template_date": date}
