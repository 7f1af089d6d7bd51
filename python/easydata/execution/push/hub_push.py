"""Pushing finished outputs to a dataset repository of the Hub.

Shards go up first, in as many commits as it takes, into a folder of this push that no reader looks
into (`.easydata/...`); a push that is run again resumes there. One last commit then puts them in
their places, deletes what an earlier push left, and tells in the card and in `_metadata.json` what
is there: until then readers see what was there before, and never a part of what comes.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from easydata.core.config import SaveStageConfig
from easydata.core.config_class import require
from easydata.execution.push.card import (
    Entry,
    configs_of,
    merged,
    reader_of,
    values_of,
)
from easydata.execution.push.fitness import (
    Plan,
    check_formats,
    check_repository,
    named_shards,
    pushed_shards,
)
from easydata.execution.push.outputs import Output, Shard, outputs_in
from easydata.execution.push.repository import (
    CARD,
    METADATA,
    HubRepository,
    Snapshot,
    metadata_text,
)
from easydata.execution.push.section import section_of

_log = logging.getLogger("easydata")

# Shards of one commit.
FILES_A_COMMIT = 50
# What is copied from a store before it is sent on, or one shard of any size.
BYTES_COPIED = 1 << 30
# How often others may commit between our look and our last commit.
_LOOKS = 10

# Where shards wait for the last commit. Names with a dot are hidden from readers of folders and
# from patterns.
_WAITING = ".easydata"
_NUMBERED = re.compile(r"(.*?)[0-9]+(\.[a-z][a-z0-9.]*)")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The library's bars are drawn on a terminal only."""
    import huggingface_hub

    bars: Any = huggingface_hub.utils
    is_said = huggingface_hub.constants.HF_HUB_DISABLE_PROGRESS_BARS is not None
    if is_said or sys.stderr.isatty() or bars.are_progress_bars_disabled():
        yield
        return
    bars.disable_progress_bars()
    try:
        yield
    finally:
        bars.enable_progress_bars()


class HubPush:
    """A push to the repository `repo_id`: checked before the outputs are made, and done after.

    Raises:
        ConfigError: When `repo_id` is none.
        ImportError: huggingface_hub is not installed.
    """

    def __init__(
        self, repo_id: str | None, *, private: bool = False, token: str | None = None
    ) -> None:
        config = SaveStageConfig(push_to_hub=True, hub_repo_id=repo_id)
        require(config, "hub_repo_id")
        self.repo_id = str(repo_id)
        self._repository = HubRepository(self.repo_id, token)
        self._private = private

    @_quiet()
    def check(self, plans: Mapping[str, Plan]) -> Snapshot | None:
        """Says before anything is written why outputs could not be pushed.

        Args:
            plans: What is known of each output, by its config.

        Returns:
            What the repository holds; None where there is none.

        Raises:
            ConfigError: They cannot be configs of this repository.
            PermissionError: Who asks may not write there.
            OSError: The Hub is not reached.
        """
        check_formats(self.repo_id, plans)
        self._repository.check_rights()
        found = self._repository.look()
        if found is not None:
            check_repository(self.repo_id, found, plans, private=self._private)
        return found

    @_quiet()
    def push(self, outputs: Mapping[str, Output]) -> str:
        """Pushes outputs as configs of the repository; gives its address.

        Raises:
            ConfigError, PermissionError, OSError: As check() has it.
            ValueError: An output is damaged.
        """
        for output in outputs.values():
            output.check_files()
        plans = {name: Plan(out.format, _name_parts(out)[0]) for name, out in outputs.items()}
        try:
            found = self.check(plans)
            if found is None:
                self._repository.create(private=self._private)
                found = self._look()
            self._say_unnamed(found)
            for name, output in outputs.items():
                self._send(name, output, found)
            self._finish(outputs, plans)
        except (OSError, KeyboardInterrupt) as error:
            folders = ", ".join(output.folder for output in outputs.values())
            error.add_note(f"{folders} is whole; push it again to resume")
            raise
        return self._repository.url

    def _say_unnamed(self, found: Snapshot) -> None:
        """Says what `datasets` finds by its name today, and in a repository with configs not."""
        if configs_of(values_of(found.card)):
            return
        unnamed = [
            path
            for path in found.files
            if reader_of(path) and not path.startswith((".", METADATA)) and "/." not in path
        ]
        if unnamed:
            _log.warning(
                "%s: its card has no configs; now it gets some, and `datasets` reads only files "
                "that they name, so %d that are there are read no more (%s ...): name them in the "
                "card's configs",
                self.repo_id,
                len(unnamed),
                unnamed[0],
            )

    def _send(self, name: str, output: Output, found: Snapshot) -> None:
        """Commits the shards that are not there yet."""
        waiting = _waiting_room(name, output)
        there = self._kept(name, output, found)
        missing = [
            shard
            for shard in output.shards
            if shard not in there and not _has(found, f"{waiting}/{shard.name}", shard)
        ]
        told = metadata_text({name: output.public_values()}).encode()
        for begin in range(0, len(missing), FILES_A_COMMIT):
            batch = missing[begin : begin + FILES_A_COMMIT]
            # Whose files these are, for a push of something else that finds them.
            additions = [self._repository.addition(f"{waiting}/{METADATA}", told)]
            with tempfile.TemporaryDirectory() as folder:
                for piece in _pieces(batch):
                    additions += self._uploaded(output, piece, waiting, Path(folder))
                sent = begin + len(batch)
                self._repository.commit(additions, f"Upload {name}: {sent} of {len(missing)} files")

    def _uploaded(
        self, output: Output, shards: Sequence[Shard], waiting: str, folder: Path
    ) -> list[Any]:
        """Shards that are ready to be committed; copies of what was sent are gone."""
        paths = output.local_files(shards, folder)
        additions = [
            self._repository.addition(f"{waiting}/{shard.name}", path)
            for shard, path in zip(shards, paths, strict=True)
        ]
        self._repository.upload(additions)
        if output.is_remote:
            for path, addition in zip(paths, additions, strict=True):
                if self._repository.is_sent(addition):
                    path.unlink()
        return additions

    def _finish(self, outputs: Mapping[str, Output], plans: Mapping[str, Plan]) -> None:
        """The last commit, from which on readers see the outputs."""
        for _ in range(_LOOKS):
            found = self._look()
            check_repository(self.repo_id, found, plans, private=self._private)
            if self._is_committed(found, outputs):
                return
        raise OSError(
            f"{self.repo_id}: others keep committing there; push again when they are done"
        )

    def _is_committed(self, found: Snapshot, outputs: Mapping[str, Output]) -> bool:
        """Makes the last commit, if one is needed; false: others came before it."""
        moved: list[tuple[str, str]] = []
        deleted: list[str] = []
        for name, output in outputs.items():
            waiting = _waiting_room(name, output)
            there = self._kept(name, output, found)
            moved += [
                (f"{waiting}/{shard.name}", f"{name}/{shard.name}")
                for shard in output.shards
                if shard not in there
            ]
            names = {shard.name for shard in output.shards}
            deleted += [
                path
                for shard in pushed_shards(self.repo_id, name, found)
                if shard.name not in names and (path := f"{name}/{shard.name}") in found.files
            ]
            deleted += self._left_waiting(name, found)
        sources = {source for source, _ in moved}
        pushed = {**found.pushed, **{n: _told(n, out, found) for n, out in outputs.items()}}
        entries = [_entry(name, output) for name, output in outputs.items()]
        title = self.repo_id.rpartition("/")[2]
        texts = [
            (METADATA, metadata_text(found.pushed), metadata_text(pushed)),
            (CARD, found.card, merged(found.card, title, entries)),
        ]
        added = [
            (path, new.encode("utf-8", "surrogateescape"))
            for path, old, new in texts
            if new != old or path not in found.files
        ]
        deleted = [path for path in deleted if path not in sources]
        if not moved and not deleted and not added:
            return True
        rows = sum(shard.rows for output in outputs.values() for shard in output.shards)
        made = f"Push {', '.join(outputs)} with EasyData: {rows} rows"
        return self._repository.change(found.sha, added, moved, deleted, made)

    def _kept(self, name: str, output: Output, found: Snapshot) -> set[Shard]:
        """The shards that lie where they belong since an earlier push."""
        pushed = {
            shard.content: shard.identity for shard in pushed_shards(self.repo_id, name, found)
        }
        return {
            shard
            for shard in output.shards
            if (path := f"{name}/{shard.name}") in found.files
            and pushed.get(shard.content) == found.files[path].identity
            and _has(found, path, shard)
        }

    def _left_waiting(self, name: str, found: Snapshot) -> list[str]:
        """What pushes of a config, this one or others that did not end, have waiting."""
        rooms = [
            path.rpartition("/")[0]
            for path in found.files
            if path.startswith(f"{_WAITING}/{name}/") and path.endswith(f"/{METADATA}")
        ]
        left = []
        for room in rooms:
            told = self._repository.waiting_in(room, found.sha)
            if name not in told:
                continue
            named = [f"{room}/{shard.name}" for shard in named_shards(told[name], self.repo_id)]
            left += [path for path in [*named, f"{room}/{METADATA}"] if path in found.files]
        return left

    def _look(self) -> Snapshot:
        found = self._repository.look()
        if found is None:
            raise OSError(
                f"{self.repo_id}: the repository is not there, or the token does not see it"
            )
        return found


def push_to_hub(
    folder: str | os.PathLike[str],
    repo_id: str,
    *,
    private: bool = False,
    token: str | None = None,
    config_name: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> str:
    """Pushes a finished output to a dataset repository of the Hub.

    Readers see what was there before until the last commit, and then what is pushed. A push that
    was interrupted and is run again resumes where it was. Files of an earlier push that this one
    does not have are deleted, and no others.

    Args:
        folder: What save_dataset(), .save() or `easydata tokenize` wrote, here or at a prefix of an
            object store; or a folder of several datasets, each in one of its own.
        repo_id: The repository, "org/name"; it is made where there is none.
        private: Make it a private one; one that is there already must be.
        token: A token that may write; None: HF_TOKEN, or the one that `hf auth login` keeps.
        config_name: The name that `datasets` has for it; None: "default", and for several datasets
            their own names.
        storage_options: Who reads the output from an object store; see docs/guide/stores.md.

    Returns:
        The address of the repository; `datasets.load_dataset(repo_id)` gives the rows.

    Raises:
        FileNotFoundError: When the folder holds no finished output.
        ConfigError: When it cannot be pushed there: its format, or what the repository has.
        PermissionError: When the token may not write there.
        OSError: When the Hub is not reached, or refuses.
        ImportError: When huggingface_hub is not installed.
    """
    push = HubPush(repo_id, private=private, token=token)
    return push.push(outputs_in(os.fspath(folder), storage_options, config_name))


def _name_parts(output: Output) -> tuple[str, str]:
    """What comes before and after the numbers of shards: "shard-" and ".parquet"."""
    matches = [_NUMBERED.fullmatch(shard.name) for shard in output.shards]
    parts = {(match[1], match[2]) for match in matches if match is not None}
    if len(parts) != 1 or None in matches:
        raise ValueError(f"{output.shards[0].name} and the others are not numbered as shards are")
    return parts.pop()


def _has(found: Snapshot, path: str, shard: Shard) -> bool:
    return path in found.files and found.files[path].size == shard.bytes


def _told(name: str, output: Output, found: Snapshot) -> dict[str, Any]:
    """What `_metadata.json` says of a config whose shards are there, or waiting."""
    values = output.public_values()
    waiting = _waiting_room(name, output)
    shards = []
    for shard in values["shards"]:
        paths = (f"{waiting}/{shard['name']}", f"{name}/{shard['name']}")
        path = next((path for path in paths if path in found.files), None)
        if path is None:
            raise OSError(f"{paths[0]} was uploaded, and somebody deleted it; push again")
        shards.append({**shard, "identity": found.files[path].identity})
    return {**values, "shards": shards}


def _waiting_room(name: str, output: Output) -> str:
    return f"{_WAITING}/{name}/{output.digest}"


def _pieces(shards: Sequence[Shard]) -> Iterator[list[Shard]]:
    piece: list[Shard] = []
    for shard in shards:
        if piece and sum(each.bytes for each in piece) + shard.bytes > BYTES_COPIED:
            yield piece
            piece = []
        piece.append(shard)
    yield piece


def _entry(name: str, output: Output) -> Entry:
    size = sum(shard.bytes for shard in output.shards)
    rows = sum(shard.rows for shard in output.shards)
    split = {"name": "train", "num_bytes": size, "num_examples": rows}
    info = {"splits": [split], "download_size": size, "dataset_size": size}
    if (features := _features(output)) is not None:
        info = {"features": features, **info}
    # The shards, and nothing else that may come to lie beside them.
    prefix, ending = _name_parts(output)
    pattern = f"{name}/{prefix}*{ending}"
    return Entry(name, pattern, info, section_of(name, output.public_values()))


def _features(output: Output) -> Any:
    """The types of the columns as `datasets` writes them; None where it is not installed."""
    try:
        from datasets import Features
    except ImportError:
        return None
    schema = output.schema()
    return None if schema is None else Features.from_arrow_schema(schema)._to_yaml_list()
