"""`easydata status`: how far an output is, read from its folder alone."""

from __future__ import annotations

import datetime
import os
import socket
import time
from collections.abc import Iterator, Mapping
from typing import Any

from easydata import _native
from easydata.cli.report import Report
from easydata.core.shown_text import rounded
from easydata.execution.output_paths import path_in

# Seconds without a sign of life after which what is elsewhere is taken for dead.
_QUIET = 30.0
_MOST_TOLD = 20


def status(folders: list[str], report: Report) -> None:
    """Prints how far outputs are.

    Raises:
        FileNotFoundError: There is no output in a folder, nor in the folders in it.
    """
    result = {}
    for path in folders:
        for folder, found in _outputs(path):
            progress = summary(found, time.time())
            result[folder] = progress
            for line in lines(folder, progress):
                report.line(line)
    report.result({"outputs": result})


def _outputs(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The output in a folder, or the outputs in the folders in it, and how far they are."""
    path = _native.user_path(path)
    found = _native.output_progress(path)
    if found["state"] != "none":
        yield path, found
        return
    inner = sorted(os.listdir(path)) if os.path.isdir(path) else []
    count = 0
    for name in inner:
        folder = path_in(path, name)
        if not os.path.isdir(folder):
            continue
        found = _native.output_progress(folder)
        if found["state"] != "none":
            count += 1
            yield folder, found
    if not count:
        raise FileNotFoundError(
            f"{path}: there is no output of EasyData, finished or begun; name the folder that a "
            "job writes to (save.output_dir, --output-dir), or one of folders of outputs"
        )


def summary(found: Mapping[str, Any], now: float) -> dict[str, Any]:
    """What a report of the engine means at a time (seconds since 1970)."""
    state = "finished" if found["state"] == "finished" else _life(found, now)
    running = [_at_work(each, now) for each in found["running"]] if state != "finished" else []
    is_by_units = found["units"] is not None
    done = len(found["written"])
    rate = _tokens_per_second(found, running, now) if state == "running" else None
    return {
        "state": state,
        "units": found["units"],
        "units_done": done if is_by_units else None,
        "shards": found["shards"],
        "rows": found["rows"],
        "tokens": found["tokens"],
        "bytes": found["bytes"],
        "tokens_per_second": rate,
        "seconds_left": _seconds_left(found, now) if state == "running" else None,
        "finished": found["finished"],
        "running": running,
        "failed": found["failed"],
        "coordinator": found["coordinator"],
    }


def _life(found: Mapping[str, Any], now: float) -> str:
    """Whether an unfinished job runs: "running", "stopped", or "unknown"."""
    owner = found["coordinator"]
    if owner is None:
        return "stopped"
    if owner["alive"] is not None:
        return "running" if owner["alive"] else "stopped"
    signs = [each["updated"] for each in found["running"] if each["updated"]]
    signs += [each["ended"] for each in found["written"] if each.get("ended")]
    if not signs:
        return "unknown"
    return "running" if now - max(signs) < _QUIET else "unknown"


def _at_work(unit: Mapping[str, Any], now: float) -> dict[str, Any]:
    """A unit that is worked on, and whether its process is there."""
    quiet = max(now - (unit["updated"] or 0), 0.0)
    alive: bool | None = None
    if unit["host"] == socket.gethostname():
        alive = _is_there(unit["pid"])
    return {**unit, "seconds_since_update": round(quiet, 1), "alive": alive}


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


def _begun(found: Mapping[str, Any]) -> float:
    """When the present run of a job began."""
    owner = found["coordinator"] or {}
    since = owner.get("since")
    begun = datetime.datetime.fromisoformat(since).timestamp() if since else 0.0
    return max(begun, found["began"] or 0)


def _of_this_run(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    begun = _begun(found)
    # Clocks of other machines, and times without fractions, are not exact.
    return [each for each in found["written"] if (each.get("ended") or 0) >= begun - 1]


def _tokens_per_second(
    found: Mapping[str, Any], running: list[dict[str, Any]], now: float
) -> float | None:
    seconds = now - _begun(found)
    tokens = sum(each["tokens"] for each in _of_this_run(found))
    tokens += sum(each["tokens"] or 0 for each in running if each["alive"] is not False)
    return tokens / seconds if seconds > 0 and tokens else None


def _seconds_left(found: Mapping[str, Any], now: float) -> float | None:
    """As long as the units that are left take at the pace of this run; None: not known."""
    done = len(_of_this_run(found))
    if found["units"] is None or not done:
        return None
    left: int = found["units"] - len(found["written"]) - len(found["failed"])
    return left * max(now - _begun(found), 0.0) / done


def lines(path: str, progress: Mapping[str, Any]) -> Iterator[str]:
    """What people read of it."""
    counts = f"{progress['rows']:,} rows, {rounded(progress['tokens'])} tokens"
    shards = f"{progress['shards']:,} shards"
    if progress["state"] == "finished":
        when = f" at {progress['finished']}" if progress["finished"] else ""
        yield f"{path}: finished{when}: {shards}, {counts}"
        return
    if progress["units"] is not None:
        units = progress["units"]
        share = 100 * progress["units_done"] / max(units, 1)
        shards = f"{progress['units_done']:,} of {units:,} units ({share:.0f} %)"
    yield f"{path}: {progress['state']}: {shards}, {counts}"
    owner = progress["coordinator"]
    if progress["state"] == "running":
        rate, left = progress["tokens_per_second"], progress["seconds_left"]
        pace = [f"{rounded(rate)} tokens/s"] if rate else []
        pace += [f"about {_duration(left)} left"] if left is not None else []
        pace += [f"process {owner['pid']} on {owner['host']}"] if owner else []
        yield "  " + ", ".join(pace)
    elif progress["state"] == "stopped":
        who = f"process {owner['pid']} on {owner['host']} has ended; " if owner else ""
        yield f"  {who}run the same job again to resume: what is written is kept"
    else:
        yield (
            f"  process {owner['pid']} on {owner['host']}, which is another machine, has not "
            "been heard of for a while"
        )
    yield from _units(progress)


def _units(progress: Mapping[str, Any]) -> Iterator[str]:
    for unit in progress["running"][:_MOST_TOLD]:
        if progress["state"] == "stopped" or unit["alive"] is False:
            how = "was begun, and is left"
        else:
            how = f"heard of {unit['seconds_since_update']:.0f} s ago"
        yield (
            f"  unit {unit['unit']}: process {unit['pid']} on {unit['host']}, "
            f"{rounded(unit['rows'] or 0)} rows, {how}"
        )
    if len(progress["running"]) > _MOST_TOLD:
        yield f"  and {len(progress['running']) - _MOST_TOLD:,} units more at work"
    for unit in progress["failed"][:_MOST_TOLD]:
        log = f" (log: {unit['log']})" if unit["log"] else ""
        yield f"  unit {unit['unit']} failed: {unit['error']}{log}"
    if len(progress["failed"]) > _MOST_TOLD:
        yield f"  and {len(progress['failed']) - _MOST_TOLD:,} failed units more"


def _duration(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
