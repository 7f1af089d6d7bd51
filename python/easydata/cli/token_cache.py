"""`easydata cache`: what is kept of rows, what is missing and why."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.cli.flags import only_one, read_config
from easydata.cli.plan_difference import nearest
from easydata.cli.report import Report
from easydata.cli.usage import UsageError
from easydata.core.config import PipelineConfig
from easydata.core.shown_text import rounded
from easydata.core.sizes import parse_size
from easydata.execution.cache_stage import keeping_of
from easydata.execution.chain import Pipeline
from easydata.execution.progress import Progress
from easydata.execution.units.coordinate import executor_of, threads_of
from easydata.execution.units.fill import fill_by_units
from easydata.sources.rows_in_shards import rows_known
from easydata.sources.seen_files import listings_of, named_files, seen_files
from easydata.sources.sharded_source import CachedShardedSource, ShardedDataSource
from easydata.sources.token_stores import DEFAULT_FOLDER, Keeping

# More than there is: what looks at a store removes nothing.
_NO_LIMIT = 2**62
_MOST_FILES_TOLD = 10
_EVICTED = "evicted or never filled"
# What a file holds is seen when it is read, and not noted with its size and time.
_EVICTED_OR_CHANGED = f"{_EVICTED}, or changed at equal size and time"
_UNITS = (("d", 86400), ("h", 3600), ("min", 60))


def _config(file: str | None, config: Sequence[str] | None) -> PipelineConfig:
    """The config that a command names."""
    named = only_one("--config", config)
    if file is not None and named is not None:
        raise UsageError("the config is named twice; name it once")
    if file is None and named is None:
        raise UsageError("name the config: --config FILE")
    return read_config(str(file or named))


def _folders(folder: str | None, config: Sequence[str] | None) -> dict[str, Keeping]:
    """The folders that a command is for: the one named, those of a config, or the default one."""
    named = only_one("--config", config)
    if folder is not None and named is not None:
        raise UsageError("name a folder or a --config, not both")
    if named is None:
        keeping = Keeping.at(folder or DEFAULT_FOLDER)
        return {keeping.folder: keeping}
    options = read_config(named)
    found = [keeping_of(dataset, options) for dataset in options.datasets]
    kept = {each.folder: each for each in found if each is not None and each.folder}
    if not kept:
        raise UsageError(_NOTHING_IS_KEPT)
    return kept


_NOTHING_IS_KEPT = (
    "the config keeps nothing in files: give it a cache, `cache: {}`, or a dataset a cache_path"
)


def list_plans(folder: str | None, config: Sequence[str] | None, report: Report) -> None:
    """Prints what is kept in folders, by what it was made with."""
    result = {}
    for name, keeping in _folders(folder, config).items():
        stored = _stored(keeping)
        report.line(name if stored else f"{name}: nothing is kept here")
        report.table(
            ["plan", "made by", "blocks", "rows", "tokens", "MB", "last used"],
            [
                [
                    plan["plan"][:8],
                    _steps(plan["json"]),
                    f"{plan['blocks']:,}",
                    f"{plan['rows']:,}",
                    f"{plan['tokens']:,}",
                    f"{plan['bytes'] / 2**20:,.1f}",
                    _ago(plan["used_seconds_ago"]),
                ]
                for plan in stored
            ],
        )
        result[name] = [
            {**plan, "json": json.loads(plan["json"]) if plan["json"] else None} for plan in stored
        ]
    report.result({"folders": result})


def explain(
    file: str | None, config: Sequence[str] | None, packed: bool | None, report: Report
) -> None:
    """Prints of each dataset what is kept, and of what is not, why."""
    options = _config(file, config)
    result = {}
    for name, source in _tokens_of(options).items():
        found = _explained(source, options, name, _is_packed(options, packed))
        result[name] = found
        report.line(f"{name}: {_summary(found)}")
        for why in found["missing"]:
            report.line(f"  {why}")
    report.result({"datasets": result})


def fill(
    file: str | None,
    config: Sequence[str] | None,
    packed: bool | None,
    processes: int | None,
    ray: bool,
    report: Report,
) -> None:
    """Makes what is missing, of all datasets: in this process, several, or those of Ray."""
    options = _config(file, config)
    if processes is not None and (ray or options.ray.enabled):
        raise UsageError("--processes is for this machine; leave it out where Ray does it")
    options = dataclasses.replace(
        options,
        ray=dataclasses.replace(options.ray, enabled=ray or options.ray.enabled),
        save=dataclasses.replace(options.save, processes=processes),
    )
    executor, threads = executor_of(options), threads_of(options)
    sources = _tokens_of(options)
    if not any(isinstance(source, CachedShardedSource) for source in sources.values()):
        raise UsageError(_NOTHING_IS_KEPT)
    result = {}
    is_packed = _is_packed(options, packed)
    for name, source in sources.items():
        before = _explained(source, options, name, is_packed)
        if before["reason"] or not isinstance(source, CachedShardedSource):
            report.line(f"{name}: {_summary(before)}")
            result[name] = before
            continue
        if before["kept_blocks"] < before["blocks"]:
            if executor is None:
                _read_all(source, options, name, is_packed, report)
            else:
                with _progress(source, options, name, report) as progress:
                    fill_by_units(
                        options,
                        name,
                        executor,
                        packed=is_packed,
                        threads=threads,
                        progress=progress.update,
                    )
        after = _explained(source, options, name, is_packed)
        made = after["kept_blocks"] - before["kept_blocks"]
        result[name] = {**after, "made_blocks": made}
        report.line(f"{name}: {made:,} blocks made; {_summary(after)}")
        for why in after["missing"]:
            report.line(f"  {why}")
    report.result({"datasets": result})


def verify_stores(folder: str | None, config: Sequence[str] | None, report: Report) -> bool:
    """Reads all that is kept and checks it; False where something is damaged."""
    result = {}
    for name, keeping in _folders(folder, config).items():
        found = _native.verify_store(name, storage_options=_options(keeping))
        problems = [{"file": file, "what": what} for file, what in found]
        for problem in problems:
            report.line(f"{problem['file']}: {problem['what']}")
        count = len(problems)
        report.line(f"{name}: " + (f"{count} files cannot be used" if count else "all intact"))
        result[name] = problems
    is_intact = not any(result.values())
    report.result({"ok": is_intact, "folders": result})
    return is_intact


def prune(
    folder: str | None,
    config: Sequence[str] | None,
    max_bytes: str | None,
    older_than: str | None,
    report: Report,
) -> None:
    """Removes what was used longest ago, until a folder has so many bytes."""
    folders = _folders(folder, config)
    if max_bytes is None and older_than is None:
        raise UsageError("say what is to go: --max-bytes 50GB, --older-than 7d, or both")
    limit = None if max_bytes is None else _size(max_bytes)
    age = None if older_than is None else _seconds(older_than)
    result = {}
    for name in folders:
        if "://" in name:
            raise UsageError(
                f"{name}: nothing is removed from an object store; give the bucket a rule that "
                "removes old objects"
            )
        freed = _native.prune_store(name, max_bytes=limit, older_than_seconds=age)
        report.line(f"{name}: {freed / 2**20:,.1f} MB removed")
        result[name] = {"freed_bytes": freed}
    report.result({"folders": result})


def _tokens_of(config: PipelineConfig) -> dict[str, ShardedDataSource[Any]]:
    """The datasets up to where their rows are kept."""
    return dict(Pipeline(config).source().tokenize().get_data())


def _is_packed(config: PipelineConfig, packed: bool | None) -> bool:
    return config.pack.enabled if packed is None else packed


def _explained(
    source: ShardedDataSource[Any], config: PipelineConfig, name: str, is_packed: bool
) -> dict[str, Any]:
    """What is kept of a dataset, and why not more."""
    found: dict[str, Any] = {"reason": "", "missing": []}
    if not isinstance(source, CachedShardedSource):
        return {**found, "reason": _why_not_asked(config, name)}
    below = source.source._plan
    if reason := _native.why_nothing_is_kept(below):
        return {**found, "reason": reason}
    keeping = source._keeping
    if not keeping.folder:
        reason = "its rows are kept in the memory of a process, and end with it"
        return {**found, "reason": reason}
    found["folder"] = keeping.folder
    look: Mapping[str, Any] = _native.look_for_kept(
        below, _opened(keeping).native, whole_documents=is_packed
    )
    found |= {key: look[key] for key in ("plan", "blocks", "kept_blocks", "bytes", "kept_bytes")}
    if look["kept_blocks"] < look["blocks"]:
        found["missing"] = _why_missing(look, keeping, named_files(listings_of(source)))
    return found


def _why_not_asked(config: PipelineConfig, name: str) -> str:
    dataset = config.get_dataset_by_name(name)
    if not config.cache.enabled:
        return "cache.enabled is false"
    if dataset is not None and not dataset.cache_enabled:
        return "its cache_enabled is false"
    if not config.tokenize.cache_tokenized:
        return "tokenize.cache_tokenized is false"
    return "nothing asks for it: give the config a cache, `cache: {}`, or it a cache_path"


def _why_missing(look: Mapping[str, Any], keeping: Keeping, files: Mapping[str, str]) -> list[str]:
    stored = _stored(keeping)
    if not stored:
        return [f"nothing was kept in {keeping.folder} yet"]
    if any(plan["plan"] == look["plan"] and plan["blocks"] for plan in stored):
        return _missing_files(look, keeping, files)
    known = [plan for plan in stored if plan["json"]]
    if not known:
        return [_EVICTED]
    _, changed = nearest([plan["json"] for plan in known], look["described"])
    if not changed:
        return [_EVICTED]
    more = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
    return [changed[0] + more]


def _missing_files(
    look: Mapping[str, Any], keeping: Keeping, files: Mapping[str, str]
) -> list[str]:
    """Why rows of some files are missing, where others of the same plan are there."""
    seen = seen_files(keeping.folder) if keeping.is_here else {}

    def why(name: str) -> str:
        if name not in seen or name not in files:
            return "is new" if seen and name in files else _EVICTED
        return _EVICTED_OR_CHANGED if files[name] in seen[name] else "was replaced"

    said = []
    for file in look["files"]:
        reason = why(file["name"])
        said.append(f"{file['name']}{':' if reason.startswith(_EVICTED) else ''} {reason}")
    if len(said) > _MOST_FILES_TOLD:
        said[_MOST_FILES_TOLD:] = [f"and {len(said) - _MOST_FILES_TOLD:,} files more"]
    return said or [_EVICTED]


def _stored(keeping: Keeping) -> list[dict[str, Any]]:
    if keeping.is_here and not os.path.isdir(keeping.folder):
        return []
    return list(_native.list_store(keeping.folder, storage_options=_options(keeping)))


def _options(keeping: Keeping) -> dict[str, Any] | None:
    return None if keeping.storage_options is None else dict(keeping.storage_options)


def _opened(keeping: Keeping) -> Any:
    """The store of a folder, which removes nothing; one that is not there is not made."""
    if keeping.is_here and not os.path.isdir(keeping.folder):
        return Keeping("", memory_blocks=1).open()
    return dataclasses.replace(
        keeping, max_bytes=_NO_LIMIT, expiry_seconds=None, memory_blocks=0
    ).open()


def _read_all(
    source: CachedShardedSource, config: PipelineConfig, name: str, is_packed: bool, report: Report
) -> None:
    """Reads a dataset through its cache."""
    done = {"rows": 0, "tokens": 0, "bytes": 0, "shards": 0}
    stream = source._plan.stream(whole_documents=is_packed)
    batch: Any
    with _progress(source, config, name, report) as progress:
        batches = _native.iterate_batches(stream)
        for batch in batches:
            done["rows"] += batch.num_rows
            if "input_ids" in batch.schema.names:
                ids = batch.column("input_ids")
                done["tokens"] += ids.offsets[-1].as_py() - ids.offsets[0].as_py()
            if (share := batches.read_share) is not None:
                done |= {"input_parts": round(1000 * share), "total_input_parts": 1000}
            progress.update(done)
    if source._store is not None:
        source._store.native.flush()


def _progress(
    source: CachedShardedSource, config: PipelineConfig, name: str, report: Report
) -> Progress:
    """What shows how far a dataset is."""
    return report.progress(config.observability, name, rows_known(source))


def _summary(found: Mapping[str, Any]) -> str:
    if found["reason"]:
        return f"not kept: {found['reason']}"
    blocks, kept = found["blocks"], found["kept_blocks"]
    share = f"{kept:,} of {blocks:,} blocks are kept"
    return f"{share}, {found['kept_bytes'] / 2**20:,.1f} of {found['bytes'] / 2**20:,.1f} MB"


def _steps(described: str) -> str:
    if not described:
        return "unknown"
    operators = json.loads(described)["operators"]
    tokenizer = next(
        (
            str(options["tokenizer"])[:8]
            for options in (each.get("options") or {} for each in reversed(operators))
            if options.get("tokenizer")
        ),
        "",
    )
    names = " > ".join(each["operator"] for each in operators)
    return f"{names} ({tokenizer})" if tokenizer else names


def _ago(seconds: int) -> str:
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "now" if seconds < 5 else f"{rounded(seconds)} s ago"


def _size(text: str) -> int:
    try:
        return parse_size(int(text) if text.isdigit() else text)
    except ValueError as error:
        raise UsageError(f"--max-bytes: {error}") from None


def _seconds(text: str) -> int:
    """Seconds of an age as people write it: 90, 30min, 12h, 7d."""
    number, unit = text, 1
    for name, size in (*_UNITS, ("s", 1)):
        if text.endswith(name):
            number, unit = text.removesuffix(name), size
            break
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = -1
    if not 0 <= seconds < 2**53:
        raise UsageError(f"--older-than takes an age such as 90s, 30min, 12h or 7d, not {text!r}")
    return int(seconds)
