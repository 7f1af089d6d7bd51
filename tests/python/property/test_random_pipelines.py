"""Pipelines out of all stages and options: restored anywhere, cut for any ranks, nothing lost."""

from __future__ import annotations

import json
import operator
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batches import END, Batch, difference, first_rows, joined, rows_in
from build_pipeline import FILE_SOURCES, Data, left_out_of_files, loader_of
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st
from pipeline_model import (
    Tokens,
    blocks,
    check_packed_rows,
    check_padded_rows,
    cut_documents,
    ends_in_error,
    grain_picks,
    greedy_rows,
    is_exact,
    is_overlong,
    left_out_rows,
    packed_document,
    plain_rows,
    sources_of,
    token_counts,
    tokens_by_source,
    tokens_of_pass,
)
from pipeline_runs import QUICK, Run, run, saved
from pipeline_specs import (
    LINE_KINDS,
    PLAIN,
    STRIDE,
    TABLE_KINDS,
    LoadSpec,
    MixSpec,
    PackSpec,
    PipelineSpec,
    RunSpec,
    SourceSpec,
    mixes,
    pipelines,
    runs,
)

from easydata import AsyncDataLoader, merge_states

LONG = settings(
    max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
# Batches of a pass, and ends of passes, that a test looks at.
EVENTS = 40
# Packed rows that are shuffled together, with a shuffle_buffer_factor of 1.
ROWS_PER_FACTOR = 100

# What thousands of rows that are left out on purpose would tell.
pytestmark = pytest.mark.usefixtures("quiet")


def made(
    spec: PipelineSpec, data: Data, how: RunSpec = PLAIN, events: int = EVENTS, passes: int = 2
) -> Run:
    """Runs a pipeline; one that cannot be built must say so in a sentence."""
    try:
        loader = loader_of(spec, data, how)
    except (ValueError, NotImplementedError, TypeError) as error:
        event(f"refused: {error}")
        if len(str(error).split()) < 5 or "incompatible function arguments" in str(error):
            raise AssertionError(f"no sentence about an option: {error!r}") from error
        assume(False)
        raise
    with loader:
        done = run(loader, events, passes)
    if done.failed is not None:
        check_error(spec, data, done.failed)
    return done


def check_error(spec: PipelineSpec, data: Data, error: str) -> None:
    """An error while running must be one of those that the pipeline has coming."""
    parts = [
        tokens_of_pass(part, data, whole=not is_exact(part)) for part in spec.sources
    ]  # fmt: skip
    if "documents could be packed" in error:
        assert spec.pack is not None, error
        assert spec.pack.overlong == "drop", error
        gone = [
            all(not tokens or is_overlong(tokens, spec.pack) for tokens in part) for part in parts
        ]
        assert any(gone), error
    elif "overlong" in error:
        assert spec.pack is not None, error
        assert ends_in_error(spec.pack), error
        assert any(is_overlong(tokens, spec.pack) for part in parts for tokens in part), error
    elif "is empty: a mix cannot" in error or "has no tokens in any row" in error:
        names = [part.name for part in spec.sources if f'"{part.name}"' in error]
        assert names, error
        (name,) = names
        source = next(part for part in spec.sources if part.name == name)
        few = spec.load.lanes > 1 and "use fewer lanes" in error
        has_rows = any(parts[source.index]) if "tokens" in error else bool(parts[source.index])
        assert few or not is_exact(source) or not has_rows, error
    elif any(part in error for part in ("lanes: ", "multiple of lanes", "but it has no rows")):
        assert spec.load.lanes > 1, error
    elif "of its padding" in error:
        lengths = [pad.length for _, pad in spec.load.padding if pad.length is not None]
        assert any(len(tokens) > min(lengths) for part in parts for tokens in part), error
    elif "unit" in error and "tokens" in error:
        assert spec.mix is not None, error
        assert spec.mix.unit == "tokens", error
    else:
        raise AssertionError(error)


# ---- 1 and 2: restored anywhere ------------------------------------------------------------------


def check_restoring(spec: PipelineSpec, data: Data, draw: Any) -> None:
    whole = made(spec, data, draw.draw(runs, label="whole"))
    steps = len(whole.states)
    chosen = {0, steps - 1, *draw.draw(st.sets(st.integers(0, steps - 1), max_size=4))}
    edges = [index + 1 for index, each in enumerate(whole.events) if each == END]
    chosen |= {step for edge in edges for step in (edge - 1, edge) if step < steps}
    for step in sorted(chosen):
        state = whole.states[step]
        with loader_of(spec, data, draw.draw(runs)) as loader:
            loader.load_state_dict(json.loads(json.dumps(state)))
            assert loader.state_dict() == state
            check_at(loader, whole, step, draw)
            rest = run(loader, len(whole.events) - step, 2 - whole.events[:step].count(END))
        problem = difference(rest.events, whole.events[step:])
        assert problem is None, f"restored at {step}: {problem}"
        same_states(rest.states, whole.states[step:], f"restored at {step}")
    check_sizes(spec, whole)
    check_three_deep(spec, data, whole, draw)


def check_at(loader: AsyncDataLoader, whole: Run, position: int, draw: Any) -> None:
    """Any step up to the end of the pass that a loader is in is the batch that iterating gives."""
    passes = whole.events[:position].count(END) + 1
    ends = [index for index, each in enumerate(whole.events) if isinstance(each, str)]
    end = ends[passes - 1] if passes <= len(ends) else len(whole.events)
    steps = sum(not isinstance(each, str) for each in whole.events[:end])
    state = saved(loader)
    if steps > 0:
        step = draw.draw(st.integers(0, steps - 1), label="step asked for")
        problem = difference([loader.at(step)], [whole.batches[step]])
        assert problem is None, f"at {position}, asked for step {step}: {problem}"
    if end < len(whole.events) and whole.events[end] == END:
        with pytest.raises(IndexError, match=f"there are {steps} steps"):
            loader.at(steps)
    elif end < len(whole.events):
        with pytest.raises((ValueError, NotImplementedError, TypeError, KeyError)) as error:
            loader.at(steps)
        assert f"{error.type.__name__}: {error.value}" == whole.events[end]
    assert saved(loader) == state


def check_sizes(spec: PipelineSpec, whole: Run) -> None:
    """Positions are small and do not grow; the plan beside them is the same at every step."""
    plans = [state["plan"] for state in whole.states]
    assert all(plan == plans[0] for plan in plans)
    sizes = [len(json.dumps({**state, "plan": None})) for state in whole.states]
    # A streaming data set's own state is some hundred bytes.
    streaming = sum(source.kind == "streaming" for source in spec.sources)
    assert max(sizes) <= 1024 + 320 * len(spec.sources) + 512 * streaming
    assert max(sizes) <= max(sizes[:3]) + 160 * (1 + len(spec.sources)) + 512 * streaming


def same_states(left: list[Any], right: list[Any], where: str) -> None:
    """The positions that follow are those that would have come, counts included."""
    for index, (one, other) in enumerate(zip(left, right, strict=True)):
        assert meant(one) == meant(other), f"{where}: the state {index} events later differs"


def meant(state: Any) -> Any:
    """A state in which rows used of a batch count from the beginning of the shard.

    A source in Python that is slow gives what it has after 20 ms. So time decides where its batches
    end, and the same position in a mix is 57 rows behind row 0, or 56 behind row 1.
    """
    if isinstance(state, list):
        return [meant(each) for each in state]
    if not isinstance(state, dict):
        return state
    made = {key: meant(value) for key, value in state.items()}
    upstream = made.get("upstream")
    # Of a packer, whose bins are used, too, rows of batches are in another place.
    of_batch = isinstance(made.get("used"), int)
    if of_batch and isinstance(upstream, dict) and set(upstream) == {"row", "shard"}:
        # Of a source that begins again, its pass stands beside the row.
        row, *passed = upstream["row"] if isinstance(upstream["row"], list) else [upstream["row"]]
        row += made["used"]
        made["upstream"] = {**upstream, "row": [row, *passed] if passed else row}
        made["used"] = 0
    return made


def check_three_deep(spec: PipelineSpec, data: Data, whole: Run, draw: Any) -> None:
    """Resume of a resume of a resume, with batches in flight."""
    done, state = 0, whole.states[0]
    for _ in range(3):
        count = draw.draw(st.integers(0, 5), label="events till the next restart")
        with loader_of(spec, data, draw.draw(runs)) as loader:
            loader.load_state_dict(state)
            count = min(count, len(whole.states) - 1 - done)
            part = run(loader, count, 3)
            assert difference(part.events, whole.events[done : done + count]) is None
            state = part.states[-1]
        done += count
    with loader_of(spec, data) as loader:
        loader.load_state_dict(state)
        rest = run(loader, len(whole.events) - done, 2 - whole.events[:done].count(END))
    problem = difference(rest.events, whole.events[done:])
    assert problem is None, f"restored for the third time, at {done}: {problem}"


# ---- 3: any number of ranks and threads ----------------------------------------------------------


def check_ranks(spec: PipelineSpec, data: Data, draw: Any) -> None:
    whole = made(spec, data, events=20)
    worlds = [size for size in (1, 2, 3, 5) if spec.load.batch_size % size == 0]
    world = draw.draw(st.sampled_from(worlds), label="world")
    with_ranks(spec, data, draw, world, whole, None)
    # One of the ranks saves; other numbers of ranks go on, and others yet.
    step = 0
    for _ in range(2):
        step += draw.draw(st.integers(0, len(whole.states) - 1 - step), label="steps")
        world = draw.draw(st.sampled_from(worlds), label="world")
        with_ranks(spec, data, draw, world, whole, step)


def with_ranks(
    spec: PipelineSpec, data: Data, draw: Any, world: int, whole: Run, restored_at: int | None
) -> None:
    """So many ranks go on from a step, or begin: together they give and save what one does."""
    step = restored_at or 0
    parts = []
    for rank in range(world):
        with loader_of(spec, data, draw.draw(runs), rank, world) as loader:
            if restored_at is not None:
                loader.load_state_dict(whole.states[step])
            left = 2 - whole.events[:step].count(END)
            parts.append(run(loader, len(whole.events) - step, left))
            if parts[-1].batches:
                mine = draw.draw(st.integers(0, len(parts[-1].batches) - 1), label="asked for")
                before = sum(not isinstance(each, str) for each in whole.events[:step])
                asked = loader.at(before + mine)
                assert difference([asked], [parts[-1].batches[mine]]) is None
        if spec.load.lanes == 1:
            same_states(parts[-1].states, whole.states[step:], f"rank {rank} of {world}")
    where = f"{world} ranks from step {step}"
    merged = [merge_states(states) for states in zip(*(part.states for part in parts), strict=True)]
    same_states(merged, whole.states[step:], where)
    for index, wanted in enumerate(whole.events[step:]):
        shares = [part.events[index] for part in parts]
        if isinstance(wanted, str):
            assert shares == [wanted] * world
            continue
        batches = [share for share in shares if not isinstance(share, str)]
        assert len(batches) == world
        batch, count = joined(batches), rows_in(wanted)
        problem = difference([first_rows(batch, count)], [wanted])
        assert problem is None, f"{where}, then {index}: {problem}"
        # Only the last batch of a stream that ends is filled up.
        assert rows_in(batch) == count or (spec.load.lanes == 1 and not spec.load.drop_last)
        check_filling(batch, count, spec)
    digests = [sum(each) % 2**64 for each in zip(*(part.digests for part in parts), strict=True)]
    assert digests == [(each - whole.digests[step]) % 2**64 for each in whole.digests[step:]]


def check_filling(batch: Batch, rows: int, spec: PipelineSpec) -> None:
    """Rows that make a last batch full count for nothing."""
    if "attention_mask" in batch:
        assert not batch["attention_mask"][rows:].any()
    if "labels" in batch:
        assert (batch["labels"][rows:] == spec.load.pad_of("labels").value).all()


def check_lanes(spec: PipelineSpec, data: Data, draw: Any) -> None:
    """Lanes give the same batches whoever reads them, and go on from their joined states."""
    worlds = [size for size in (1, 2, 3, 4, 6) if spec.load.batch_size % size == 0]
    lanes = draw.draw(st.sampled_from(worlds[1:]), label="lanes")
    steps = draw.draw(st.integers(1, 9), label="steps")
    # Without, lanes that end need rows that are counted: else the first batch is an error.
    if draw.draw(st.booleans(), label="without steps"):
        steps = None
    load = replace(spec.load, lanes=lanes, steps=steps, epochs=None)
    spec = replace(spec, load=load)
    if spec.pack is not None:
        # A lane of documents none of which can be packed is looked through for a long time.
        for part in spec.sources:
            documents = tokens_of_pass(part, data, whole=not is_exact(part))
            assume(all(packed_document(tokens, spec.pack) for tokens in documents))
    whole = made(spec, data, draw.draw(runs), events=8)
    if whole.failed is not None:
        return
    event(f"steps given: {steps is not None}, ends: {END in whole.events}")
    step = 0
    for _ in range(2):
        world = draw.draw(st.sampled_from(worlds), label="world")
        with_ranks(spec, data, draw, world, whole, step)
        left = len(whole.events) - step
        step += draw.draw(st.integers(0, left), label="steps till the next restart")


# ---- 2 and 4: a mix that is edited on the way ----------------------------------------------------


def check_edits(spec: PipelineSpec, data: Data, draw: Any) -> None:
    """An edited mix goes on where its sources were, and is restored like any other."""
    assert spec.mix is not None
    edited = replace(spec, mix=draw.draw(mixes(len(spec.sources)), label="the new mix"))
    whole = made(spec, data, draw.draw(runs), events=30, passes=1)
    at = draw.draw(st.integers(0, min(len(whole.states) - 1, 12)), label="edited at")
    if END in whole.events[:at]:
        return
    with loader_of(edited, data, draw.draw(runs)) as loader:
        try:
            loader.load_state_dict(whole.states[at], allow=("mix",))
        except ValueError as error:
            assert edited.mix is not None
            if 'order="grain"' in str(error):
                assert "grain" in (spec.mix.order, edited.mix.order)
                return
            # Between two passes that follow each other the mix has no block to act at.
            if "cannot be edited there" not in str(error) or spec.load.epochs in (None, 1):
                raise
            return
        after = run(loader, EVENTS, passes=1)
    if after.failed is not None:
        check_error(edited, data, after.failed)
    for step in draw.draw(st.sets(st.integers(0, len(after.states) - 1), max_size=3)):
        with loader_of(edited, data, draw.draw(runs)) as loader:
            loader.load_state_dict(after.states[step])
            rest = run(loader, len(after.events) - step, 1 - after.events[:step].count(END))
        problem = difference(rest.events, after.events[step:])
        assert problem is None, f"edited at {at}, restored {step} later: {problem}"
        same_states(rest.states, after.states[step:], f"edited at {at}, restored {step} later")
    if not spec.traced or (spec.load.epochs or 1) > 1:
        return
    batches = [each for each in whole.events[:at] if not isinstance(each, str)] + after.batches
    if spec.endless and edited.endless:
        check_passes(spec, data, batches)
    if rows_of_disorder(spec) == 0:
        # Each source gives what it would have given undisturbed; how much of it differs.
        undisturbed = tokens_by_source(spec, whole.batches)
        for one, other in zip(tokens_by_source(spec, batches), undisturbed, strict=True):
            assert all(map(operator.eq, one, other)), f"edited at {at}"


# ---- 4 and 6: nothing lost, nothing twice --------------------------------------------------------


def check_conservation(spec: PipelineSpec, data: Data, draw: Any) -> None:
    short = spec
    spec = replace(spec, load=replace(spec.load, drop_last=False))
    for part in spec.sources:
        data.quarantine(part).unlink(missing_ok=True)
    whole = made(spec, data, draw.draw(runs), events=60 if spec.endless else 3000)
    check_quarantine(spec, data, whole)
    if short.load.drop_last and not short.load.rampup:
        check_drop_last(short, data, whole)
    check_tokens_at_every_step(spec, whole)
    for batch in whole.batches:
        if spec.pack is not None:
            check_packed_rows(batch, spec)
        else:
            check_padded_rows(batch, spec)
    for number, batches in enumerate(whole.passes()):
        if spec.mix is None:
            check_one_source(spec, data, batches)
        elif spec.traced:
            check_mixed_sources(spec, data, batches)
        if number == 0 and whole.failed is None and spec.mix is None:
            check_dropped(spec, data, batches, whole.stats[whole.events.index(END) + 1])
    if spec.endless and spec.pack is None and not spec.load.reorders and spec.traced:
        check_mixed_sources(replace(spec, load=replace(spec.load, epochs=1)), data, whole.batches)
    if spec.endless and spec.traced:
        check_passes(spec, data, whole.batches)


def check_quarantine(spec: PipelineSpec, data: Data, whole: Run) -> None:
    """What could not be used lies in the quarantine file, once for all passes, and nothing else."""
    for part in spec.sources:
        path = data.quarantine(part)
        rows = list(map(json.loads, path.read_text().splitlines())) if path.exists() else []
        assert part.on_error == "quarantine" or not rows
        if part.on_error != "quarantine" or part.kind not in FILE_SOURCES:
            continue
        addresses = Counter((Path(row["shard"]).name.split(".")[0], row["row"]) for row in rows)
        wanted = left_out_rows(replace(part, limit=None))
        assert addresses.keys() <= wanted
        if spec.mix is None and part.limit is None and whole.failed is None:
            assert addresses.keys() == wanted
            halves = 2 ** sum(step == "expand" for step, _ in part.steps)
            assert all(count <= halves for count in addresses.values())


def check_drop_last(spec: PipelineSpec, data: Data, whole: Run) -> None:
    """Leaving out a last batch that is not full changes no other batch."""
    size = spec.load.batch_size
    full = [
        each for each in whole.events if isinstance(each, str) or rows_in(each) == size
    ]  # fmt: skip
    shorter = made(spec, data, events=3000 if not spec.endless else 60)
    assert difference(shorter.events, full) is None


def check_tokens_at_every_step(spec: PipelineSpec, whole: Run) -> None:
    """stats() counts the tokens that came, step by step and by source."""
    total = 0
    counts: Counter[str] = Counter()
    for index, each in enumerate(whole.events[: len(whole.states) - 1]):
        stats = whole.stats[index + 1]
        if not isinstance(each, str):
            if spec.pack is not None:
                total += int(each["attention_mask"].sum())
            else:
                total += sum(map(len, plain_rows(each, spec)))
                if spec.mix is not None:
                    for name, tokens in zip(sources_of(each), plain_rows(each, spec), strict=True):
                        counts[name] += len(tokens)
        assert stats["tokens"] == total
        by_source = {name: value["tokens"] for name, value in stats["sources"].items()}
        assert sum(by_source.values()) == total
        if spec.mix is not None and spec.pack is None:
            assert all(by_source[name] == count for name, count in counts.items())


def check_one_source(spec: PipelineSpec, data: Data, batches: list[Batch]) -> None:
    (source,) = spec.sources
    documents = tokens_of_pass(source, data, whole=not is_exact(source))
    epochs = spec.load.epochs or 1
    unshuffled = source.shuffle is None and not spec.load.reorders
    if spec.pack is None:
        rows = [tokens for batch in batches for tokens in plain_rows(batch, spec)]
        if is_exact(source):
            assert Counter(rows) == Counter(documents * epochs)
        else:
            assert source.limit is not None
            taken = Counter(rows)
            assert not taken - Counter(documents * epochs)
        if unshuffled:
            assert rows == documents * epochs
        return
    kept = [packed_document(tokens, spec.pack) for tokens in documents] * epochs
    wanted = Counter(token for tokens in kept for token in tokens)
    if is_exact(source):
        assert token_counts(batches) == wanted
    else:
        assert not token_counts(batches) - wanted
    if unshuffled and not spec.pack.shuffle and spec.pack.strategy == "greedy":
        packed = [tuple(row) for batch in batches for row in batch["input_ids"].tolist()]
        assert spec.pack.balance_groups > 1 or packed == greedy_rows(kept, spec.pack.seq_length)


def check_mixed_sources(spec: PipelineSpec, data: Data, batches: list[Batch]) -> None:
    """Every source's documents come equally often, but for the pass that the end cuts short."""
    assert spec.mix is not None
    epochs = spec.load.epochs or 1
    counts: dict[str, Counter[Any]] = {part.name: Counter() for part in spec.sources}
    if spec.pack is None:
        for batch in batches:
            for name, tokens in zip(sources_of(batch), plain_rows(batch, spec), strict=True):
                counts[name][tokens] += 1
    else:
        tokens_seen = token_counts(batches)
    whole_passes = []
    for part in spec.sources:
        documents = tokens_of_pass(part, data, whole=not is_exact(part))
        if spec.pack is None:
            per_pass: Counter[Any] = Counter(documents)
            seen = counts[part.name]
        else:
            kept = [packed_document(tokens, spec.pack) for tokens in documents]
            per_pass = Counter(token for tokens in kept for token in tokens if token > 2)
            seen = Counter({token: tokens_seen[token] for token in per_pass})
        assert not seen.keys() - per_pass.keys()
        if not per_pass or not is_exact(part):
            continue
        # With k passes begun each document came k or k - 1 times (each repetition of the mix).
        least = min(-(-seen[key] // times) for key, times in per_pass.items())
        most = max(-(-seen[key] // times) for key, times in per_pass.items())
        assert most - least <= epochs, f"{part.name}: from {least} to {most} times"
        whole_passes.append((least, most))
    if spec.mix.stop == "all_exhausted" and spec.mix.unit == "examples":
        assert all(least >= epochs for least, _ in whole_passes)
    if spec.mix.stop == "first_exhausted":
        assert all(most <= epochs for _, most in whole_passes)


def check_passes(spec: PipelineSpec, data: Data, batches: list[Batch]) -> int | None:
    """A document's turn in the next pass comes after all documents have had theirs in this one.

    Told by the documents' first tokens; a document that is in a window with others may change
    places with them. Returns how many passes were gone through; None where no bound is known.
    """
    slack = rows_of_disorder(spec)
    if slack is None:
        return None
    rows = [row for batch in batches for row in tokens_of_rows(spec, batch)]
    passes = []
    for part in spec.sources:
        if not is_exact(part):
            continue
        documents = tokens_of_pass(part, data)
        if spec.pack is not None:
            documents = [packed_document(tokens, spec.pack) for tokens in documents]
        occurrences: dict[int, list[tuple[int, int]]] = {each[0]: [] for each in documents if each}
        for number, row in enumerate(rows):
            for index, token in enumerate(row):
                if token in occurrences:
                    occurrences[token].append((number, index))
        if not occurrences:
            continue
        most = max(map(len, occurrences.values()))
        for turn in range(most - 1):
            next_begins = min(
                came[turn + 1] for came in occurrences.values() if len(came) > turn + 1
            )
            # A document that has not come yet comes behind the last row.
            for token, came in occurrences.items():
                last = came[turn] if len(came) > turn else (len(rows), 0)
                late = last > next_begins if slack == 0 else last[0] - next_begins[0] > slack
                where = f"{part.name}: pass {turn + 1} begins at {next_begins}"
                assert not late, f"{where}, and token {token} of the one before it is at {last}"
        passes.append(most)
    return min(passes, default=None)


def tokens_of_rows(spec: PipelineSpec, batch: Batch) -> list[Tokens]:
    if spec.pack is None:
        return plain_rows(batch, spec)
    masks = batch["attention_mask"] == 1
    return [tuple(row[mask].tolist()) for row, mask in zip(batch["input_ids"], masks, strict=True)]


def rows_of_disorder(spec: PipelineSpec) -> int | None:
    """Rows by which the windows of a pipeline may take a row out of its turn; None: any number."""
    windows = []
    if spec.pack is not None:
        if spec.pack.strategy not in ("greedy", "first_fit", "best_fit"):
            return None
        if spec.pack.strategy != "greedy":
            pieces = -(-(STRIDE + 1) // spec.pack.seq_length)
            windows.append(spec.pack.window * pieces)
        if spec.pack.shuffle:
            windows.append(ROWS_PER_FACTOR)
        if spec.pack.balance_groups > 1:
            factors = [factor for _, factor in spec.load.rampup]
            windows.append(spec.load.batch_size * max(factors, default=1))
    windows.append(spec.load.shuffle_rows or 1)
    windows.append((spec.load.buckets or 0) * spec.load.batch_size)
    # The first window brings two rows of its own out of order; those behind it move both rows of
    # such a pair, away from each other.
    first, *more = [window - 1 for window in windows if window > 1] or [0]
    return first + 2 * sum(more)


def check_dropped(spec: PipelineSpec, data: Data, batches: list[Batch], stats: Any) -> None:
    """Rows that do not come are counted, with the reason."""
    (source,) = spec.sources
    epochs = spec.load.epochs or 1
    dropped: Counter[str] = Counter()
    for each in stats["sources"].values():
        dropped.update(each["dropped"])
    if not is_exact(source):
        return
    documents = tokens_of_pass(source, data) * epochs
    came = len(documents)
    if spec.pack is not None:
        pack = spec.pack
        overlong = sum(is_overlong(tokens, pack) for tokens in documents)
        assert dropped["empty"] == sum(not tokens for tokens in documents)
        assert dropped["overlong"] == (overlong if pack.overlong == "drop" else 0)
        cut = overlong if pack.overlong == "truncate" else 0
        assert dropped["truncated"] == cut + epochs * cut_documents(source, data)
        came = sum(bool(packed_document(tokens, pack)) for tokens in documents)
    if source.limit is None and not any(step == "expand" for step, _ in source.steps):
        lost = sum(count for reason, count in dropped.items() if reason != "truncated")
        unreadable = len(left_out_of_files(source, nulls=set()))
        assert came + lost == (source.rows + unreadable) * epochs, dropped


# ---- 7: mixing bounds ----------------------------------------------------------------------------


def check_shares(spec: PipelineSpec, data: Data, draw: Any) -> None:
    """At every block's end each source is within one example of its share, or the order Grain's."""
    assert spec.mix is not None
    mix = spec.mix
    load = replace(
        spec.load, shuffle_rows=None, buckets=None, epochs=None, drop_last=False, rampup=()
    )
    spec = replace(spec, pack=None, load=load)
    # What is looked at is the order of rows.
    whole = made(spec, data, events=60, passes=1)
    order = [name for batch in whole.batches for name in sources_of(batch)]
    if mix.unit == "tokens":
        lengths = [len(tokens) for batch in whole.batches for tokens in plain_rows(batch, spec)]
        check_token_shares(spec, order, lengths)
        return
    if mix.order == "grain":
        assert order == [spec.sources[index].name for index in islice(grain_picks(mix), len(order))]
        return
    counts: Counter[str] = Counter()
    for block, shares in zip(
        range(len(order) // mix.block_size), blocks(mix, load.batch_size), strict=False
    ):
        counts.update(order[block * mix.block_size : (block + 1) * mix.block_size])
        for part, share in zip(spec.sources, shares, strict=True):
            assert abs(counts[part.name] - share) <= 1 + 1e-6, f"block {block}: {part.name}"


def check_token_shares(spec: PipelineSpec, order: list[str], lengths: list[int]) -> None:
    """At every prefix each source's tokens are within one document of its share."""
    assert spec.mix is not None
    if len(spec.mix.points) > 1 or not lengths:
        return
    weights = np.array(spec.mix.points[0][1])
    names = [part.name for part in spec.sources]
    tokens = np.zeros(len(names))
    for name, length in zip(order, lengths, strict=True):
        tokens[names.index(name)] += length
        shares = tokens.sum() * weights / weights.sum()
        assert (abs(tokens - shares) <= max(lengths) + 1e-6).all()


# ---- the tests -----------------------------------------------------------------------------------

CHECKS = {
    "restoring": (check_restoring, pipelines()),
    "ranks": (check_ranks, pipelines()),
    "lanes": (check_lanes, pipelines()),
    "conservation": (check_conservation, pipelines()),
    "shares": (check_shares, pipelines(mixed=True)),
    "edits": (check_edits, pipelines(mixed=True)),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", CHECKS)
def test_random_pipelines(name: str, data: Data) -> None:
    check, drawn = CHECKS[name]

    # Every lane goes over its part of these tiny sources many times, for every rank.
    @settings(QUICK, max_examples=20 if name in ("lanes", "edits") else 40)
    @given(spec=drawn, draw=st.data())
    def some(spec: PipelineSpec, draw: Any) -> None:
        check(spec, data, draw)

    some()


PACKERS = {
    "greedy": PackSpec(16, shuffle=False),
    "first_fit": PackSpec(16, "first_fit", shuffle=False, window=7),
    "best_fit": PackSpec(16, "best_fit", shuffle=False, window=4),
    "shuffled": PackSpec(16, overlong="truncate"),
    "rows": None,
}


@pytest.mark.parametrize("shuffle_rows", [None, 13])
@pytest.mark.parametrize("name", PACKERS)
def test_endless_mixes_give_their_sources_pass_by_pass(
    name: str, shuffle_rows: int | None, data: Data
) -> None:
    """Sources that are larger than the windows, so that the bound says something."""
    sources = (
        SourceSpec(0, "jsonl", 60, "long", shards=3, shuffle=("rows", 3, 300, "before")),
        SourceSpec(1, "parquet", 47, steps=(("keep", 5), ("expand", 4)), shards=2),
        SourceSpec(2, "list", 31, "bimodal", text=True, nulls=True),
    )
    load = LoadSpec(20, shuffle_rows=shuffle_rows)
    mix = MixSpec(((0, (0.5, 0.3, 0.2)),), block_size=10)
    spec = PipelineSpec(sources, mix, PACKERS[name], load)
    whole = made(spec, data, events=60)
    passes = check_passes(spec, data, whole.batches)
    assert passes is not None
    assert passes > 4


@pytest.mark.parametrize("kind", FILE_SOURCES)
def test_rows_that_cannot_be_read_are_counted_and_put_aside(kind: str, data: Data) -> None:
    """In files of every kind: a small random pipeline seldom has nothing else that hides them."""
    source = SourceSpec(
        0,
        kind,
        rows=31,
        shards=3,
        empty_shard=1,
        text=kind not in LINE_KINDS,
        nulls=kind in TABLE_KINDS,
        bad=4,
        on_error="quarantine",
        shuffle=("rows", 3, 300, "before"),
    )
    spec = PipelineSpec((source,), None, PackSpec(16), LoadSpec(6, epochs=2))

    @settings(QUICK, max_examples=2)
    @given(draw=st.data())
    def some(draw: Any) -> None:
        check_conservation(spec, data, draw)

    some()


@pytest.mark.sliced
@pytest.mark.parametrize("name", CHECKS)
def test_many_random_pipelines(name: str, data: Data) -> None:
    check, drawn = CHECKS[name]

    @LONG
    @given(spec=drawn, draw=st.data())
    def many(spec: PipelineSpec, draw: Any) -> None:
        check(spec, data, draw)

    many()
