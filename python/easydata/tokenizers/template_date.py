"""The date that chat templates with a clock are told: part of the plan, not of the moment."""

from __future__ import annotations

import datetime
import functools

from easydata.tokenizers.chat_template import Renderer


@functools.cache
def build_date() -> str:
    """The day on which this process first made something of a template with a clock."""
    return datetime.date.today().isoformat()


def checked_date(date: object) -> str | None:
    """A `template_date` as plans have it; None where nobody gave one.

    Raises:
        ValueError: It is no date.
    """
    if date is None:
        return None
    try:
        if isinstance(date, datetime.date):
            return date.isoformat()
        if isinstance(date, str):
            datetime.datetime.fromisoformat(date)
            return date
    except ValueError:
        pass
    raise ValueError(
        f'template_date must be a date such as "2026-11-27", or with a time such as '
        f'"2026-11-27T08:30:00", not {date!r}'
    )


def dated(render: Renderer, date: object) -> Renderer:
    """The renderer as a plan has it: its clock stands at `date`, or at the day of the build.

    Raises:
        ValueError: It is no date, or the template asks for none.
    """
    given = checked_date(date)
    if not render.uses_clock:
        if given is not None:
            raise ValueError(
                "template_date has no effect: the chat template asks for no date (strftime_now)"
            )
        return render
    return render.dated(build_date() if given is None else given, is_given=given is not None)


def open_date(render: Renderer | None) -> str | None:
    """The date of a renderer's clock where nobody gave it; None where there is none."""
    if render is None or not render.uses_clock or render.date_is_given:
        return None
    return render.date
