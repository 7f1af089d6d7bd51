"""Datasets of the Hugging Face Hub, by their names."""

from __future__ import annotations

import bisect
import dataclasses
import glob
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from easydata import _native
from easydata.core.config import DatasetConfig
from easydata.sources.data_files import list_data_files
from easydata.sources.files import FileSource
from easydata.sources.formats import of_format
from easydata.sources.hub.index import HubIndex, is_offline, raise_hub_error
from easydata.sources.hub.split_files import address_of, find_splits
from easydata.sources.hub.split_spec import parse_split
from easydata.sources.hub.splits import HubSplits
from easydata.sources.rows_in_shards import ShardInfo
from easydata.sources.sharded_source import PlannedSource, Rewrite, Selection, ShardedDataSource
from easydata.transforms.fields import CastFields

Row = dict[str, Any]


def names_hub_dataset(config: DatasetConfig) -> bool:
    """Whether a config names a dataset of the Hub, and not files."""
    data: Any = config.data_files
    names = [data] if isinstance(data, str | os.PathLike) else data
    if not isinstance(names, list | tuple):
        return False
    named = [os.fspath(name) for name in names if isinstance(name, str | os.PathLike)]
    kind = None if config.type is None else str(config.type)
    return len(named) == len(names) and _native.names_hub_dataset(kind, named)


class HuggingFaceShardedSource(PlannedSource[Row]):
    """A dataset of the Hugging Face Hub as one shard, named "{dataset_name}:{split}".

    Its rows, and their order, are those of `datasets.load_dataset(dataset_name, subset,
    split=split)`. Its files are its blocks: what several processes share, and what a shuffle
    permutes. Nothing is asked before the first use; then the revision is resolved to a commit, for
    good.

    Args:
        dataset_name: "org/name", or "org/name@revision" for a branch, a tag or a commit.
        split: A split, several ("train+test"), or slices of them: "train[100:200]", and where rows
            are counted "train[:1%]".
        subset: One of the configs that the dataset's card names, or a folder; None: the default.
        streaming: Whether files are read as they are needed. If not they are downloaded first, into
            the cache that huggingface_hub has, and `len()` is known.
        cache_dir: The folder of that cache; None: HF_HUB_CACHE. Files that it has are read from
            there.
    """

    def __init__(
        self,
        dataset_name: str,
        split: str = "train",
        subset: str | None = None,
        streaming: bool = True,
        cache_dir: str | None = None,
    ) -> None:
        self._address = address_of(dataset_name)
        self._dataset = dataset_name
        self._split = split
        self._parts = parse_split(split)
        self._subset = subset
        self._streaming = streaming
        # How it is read beside that; a dataset's config has more to say.
        options = None if cache_dir is None else {"cache_dir": cache_dir}
        self._config = DatasetConfig(data_files=self._address, storage_options=options)
        self._commits: dict[str, str] | None = None
        self._splits: HubSplits | None = None
        self._listing: _native.FileListing | None = None
        self._inputs: tuple[_OneShard, ...] = ()

    @classmethod
    def _of_config(
        cls,
        config: DatasetConfig,
        commits: dict[str, str] | None,
        splits: HubSplits | None = None,
        listing: _native.FileListing | None = None,
    ) -> HuggingFaceShardedSource:
        """The source of a dataset's config; what is known of it needs not be asked for."""
        source = cls(str(config.data_files), config.split or "train", config.dataset_split_name)
        source._config = config
        source._commits = commits
        source._splits = splits
        source._listing = listing
        return source

    @property
    def splits(self) -> HubSplits:
        """What the dataset has, at the commit that is read."""
        if self._splits is None:
            options = self._config.storage_options
            self._splits = find_splits(self._address, self._subset, options, self._commits)
        return self._splits

    @property
    def listing(self) -> _native.FileListing:
        """The files of the splits that are read, in the order of their rows."""
        if self._listing is None:
            self._listing = self._list()
        return self._listing

    def _list(self) -> _native.FileListing:
        uris = [uri for name in self._names() for uri in self._files_of(name)]
        options = self._config.storage_options
        if not self._streaming and not is_offline():
            self._download(uris)
        listed = list_data_files(uris, options)
        index = {uri: number for number, uri in enumerate(listed.uris)}
        return listed.in_order([index[uri] for uri in uris])

    def _names(self) -> list[str]:
        """The splits that are read, each once."""
        return list(dict.fromkeys(part.split for part in self._parts))

    def _files_of(self, name: str) -> Sequence[str]:
        known = self.splits.files
        if name not in known:
            raise ValueError(
                f"{self._dataset}: there is no split {name!r}, but {', '.join(map(repr, known))}"
            )
        return known[name]

    def _download(self, uris: Sequence[str]) -> None:
        """Has huggingface_hub get the files into its cache."""
        from huggingface_hub import snapshot_download

        index = HubIndex(self._config.storage_options or {})
        root, _ = _native.split_hub_address(self.splits.root)
        name, commit = root.removeprefix("hf://datasets/").rstrip("/").split("@")
        endpoint, token, _ = index.access()
        try:
            snapshot_download(
                name,
                repo_type="dataset",
                revision=commit,
                allow_patterns=[glob.escape(uri[len(root) :]) for uri in uris],
                cache_dir=(self._config.storage_options or {}).get("cache_dir"),
                token=token or False,
                endpoint=endpoint,
            )
        except Exception as error:
            raise_hub_error(error, index.api, "datasets", name, commit)

    @property
    def files(self) -> FileSource:
        """What reads the files of the splits."""
        return self._one_shard._files

    @property
    def _one_shard(self) -> _OneShard:
        # Only then is it known what it is made of: nothing asks the Hub before it must.
        if not self._inputs:
            self._inputs = (_OneShard(self),)
        return self._inputs[0]

    @property
    def _rows(self) -> ShardedDataSource[Row]:
        """The rows, as the features of the card have them."""
        return self._with_types(self._one_shard)

    def _with_types(self, rows: ShardedDataSource[Row]) -> ShardedDataSource[Row]:
        types, columns = self.splits.column_types, self.splits.columns or ()
        return rows.transform(CastFields(types, columns)) if types or columns else rows

    def _make_plan(self) -> _native.Plan:
        return self._rows._plan

    @property
    def shard_names(self) -> Sequence[str]:
        """The one shard's name."""
        return (f"{self._dataset}:{self._split}",)

    def open_shard_at_row(self, shard_name: str, row: int) -> Iterator[Row]:
        """The rows from one on, of the one shard, whatever it is called.

        Those before are not read where files tell their number.
        """
        return super().open_shard_at_row(self.shard_names[0], row)

    def get_shard_info(self, shard_name: str) -> ShardInfo | None:
        """The shard's number and name; its rows where they were downloaded."""
        rows = None if self._streaming else len(self)
        return ShardInfo(shard_id=0, shard_name=self.shard_names[0], num_rows=rows)

    def __len__(self) -> int:
        if self._streaming:
            raise TypeError("Streaming HuggingFace datasets don't support len()")
        return self._one_shard.num_rows()

    def _rewritten(self, rewrite: Rewrite) -> ShardedDataSource[Row] | None:
        if not isinstance(rewrite, Selection):
            return None
        numbers, rows = rewrite.numbers, self._one_shard
        in_files = Selection(lambda total: rows.numbers_in_files(numbers(rows.num_rows())))
        return self._with_types(in_files.of(self.files))

    def _shown(self) -> tuple[Sequence[Any], Mapping[str, Any]]:
        return (self._dataset,), {"split": self._split, "subset": self._subset}

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_inputs": ()}


class _OneShard(PlannedSource[Row]):
    """The files of splits as one shard."""

    def __init__(self, of: HuggingFaceShardedSource) -> None:
        self._of = of
        self._files = _file_source(of)
        self._inputs = (self._files,)
        self._chosen: list[tuple[int, int]] | None = None

    @property
    def shard_names(self) -> Sequence[str]:
        return self._of.shard_names

    def _ranges(self) -> list[tuple[int, int]] | None:
        """The numbers of the rows that are read; None for all."""
        parts = self._of._parts
        names = [part.split for part in parts]
        if all(part.is_whole for part in parts) and len(set(names)) == len(names):
            return None
        if self._chosen is not None:
            return self._chosen
        rows = self._rows_of_splits(any(part.is_percent for part in parts))
        begins = dict(zip(rows, itertools.accumulate(rows.values(), initial=0), strict=False))
        self._chosen = [
            (begins[part.split] + first, begins[part.split] + end)
            for part in parts
            for first, end in [part.rows_of(rows[part.split])]
        ]
        if all(first == end for first, end in self._chosen):
            raise ValueError(
                f"{self._of._dataset}: split {self._of._split!r} has no rows; there are "
                + ", ".join(f"{number} in {name!r}" for name, number in rows.items())
            )
        return self._chosen

    def _rows_of_splits(self, by_percent: bool) -> dict[str, int]:
        """How many rows the splits have that are read, in order."""
        counts = {}
        first = 0
        for name in self._of._names():
            last = first + len(self._of._files_of(name))
            counts[name] = self._rows_between(name, first, last, by_percent)
            first = last
        return counts

    def _rows_between(self, name: str, first: int, last: int, by_percent: bool) -> int:
        source = self._files._source
        known = [source.known_rows(index) for index in range(first, last)]
        if all(rows is not None for rows in known):
            return sum(rows for rows in known if rows is not None)
        told = self._of.splits.num_rows.get(name)
        if by_percent and told is None:
            raise ValueError(
                f"{self._of._dataset}: split {self._of._split!r} is a percentage of rows that "
                "nobody counted: neither these files nor the card tell how many there are; name "
                f"rows ({name}[:1000]), or limit them by num_rows"
            )
        if by_percent and told is not None:
            return told
        return sum(source.count_rows(index) for index in range(first, last))

    def num_rows(self) -> int:
        """Rows of all that is read; they are counted where files do not say."""
        ranges = self._ranges()
        if ranges is None:
            return len(self._files)
        return sum(end - begin for begin, end in ranges)

    def numbers_in_files(self, numbers: list[int]) -> list[int]:
        """The numbers that rows have among those of all files."""
        ranges = self._ranges()
        if ranges is None:
            return numbers
        ends = list(itertools.accumulate(end - begin for begin, end in ranges))
        out = []
        for number in numbers:
            index = bisect.bisect_right(ends, number)
            out.append(ranges[index][1] - (ends[index] - number))
        return out

    def _make_plan(self) -> _native.Plan:
        ranges = self._ranges()

        def made(rows: _native.Plan | None) -> _native.Plan:
            return _native.one_shard(
                self._files._plan, self._files._source, self.shard_names[0], ranges, rows
            )

        if ranges is None:
            return made(None)
        return made(self._rows_plan([made(None)], description={"kind": "rows of a split"}))


def _file_source(of: HuggingFaceShardedSource) -> FileSource:
    """What reads the files of the splits, as the card and the config say."""
    splits = of.splits
    defaults = {option.name: option.default for option in dataclasses.fields(of._config)}
    # What the user says of how files are read goes before what the card does.
    options = {
        name: value
        for name, value in splits.options.items()
        if getattr(of._config, name) == defaults[name]
    }
    config = dataclasses.replace(of._config, **options)
    source = of_format(splits.format, of.listing, config)
    if splits.columns is not None and splits.format == "parquet" and source._columns is None:
        known = source._plan.column_names() or ()
        source._columns = [name for name in splits.columns if name in known]
        source._made_plan = None
    if splits.column_types:
        source._column_types = dict(splits.column_types)
    return source
