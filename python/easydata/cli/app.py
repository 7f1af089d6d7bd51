"""The commands, and how they end."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from easydata.cli import flags, token_cache
from easydata.cli.bench import bench_files
from easydata.cli.bench import bench_tokenizer as run_bench
from easydata.cli.inspect_batches import inspect_batches
from easydata.cli.inspect_masks import inspect_masks
from easydata.cli.inspect_rows import inspect_rows
from easydata.cli.jobs import convert, pack, tokenize
from easydata.cli.push import push as push_output
from easydata.cli.report import InterruptedJobError, Report
from easydata.cli.stats import stats
from easydata.cli.status import status as tell_status
from easydata.cli.verify import verify as verify_files
from easydata.core.config import ConfigError, PipelineConfig
from easydata.core.shown_text import shown

DONE, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130

_FILES = Annotated[
    list[str] | None,
    typer.Argument(metavar="DATA", help="Files, folders or glob patterns to read."),
]
_CONFIG = Annotated[
    list[str] | None,
    typer.Option("--config", help="YAML or JSON file with the options of a pipeline."),
]
_JSON = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
_SHUFFLE = Annotated[
    bool,
    typer.Option("--shuffle", help="Measure the order of the rows, and better ones with costs."),
]
_BATCH_SIZE = Annotated[
    int | None,
    typer.Option(
        "--batch-size", min=1, help="Rows of a batch; unset: the config file's, else 1024."
    ),
]
_TOKENS = Annotated[
    bool,
    typer.Option("--tokens", help="Count tokens, of much data by a sample: ± holds 95 of 100."),
]
_RAY = Annotated[
    bool, typer.Option("--ray", help="Let tasks of Ray do it, as the config's `ray` says.")
]

app = typer.Typer(
    name="easydata",
    help="Tokenize, pack and look at training data.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _command(
    name: str,
    choice: flags.Choice,
    run: Callable[..., Any],
    own: Mapping[str, tuple[Any, Any]] | None = None,
) -> None:
    """Adds a command with a flag for each chosen option, and `own` ones, which `run` is given."""
    own = {} if own is None else own

    def command(
        data: list[str] | None, config: list[str] | None, as_json: bool, **options: Any
    ) -> None:
        given = {option: options.pop(option) for option in own}
        values = flags.config_values(data, flags.only_one("--config", config), options, choice)
        run(values, Report(as_json=as_json), **given)

    every = {"data": (_FILES, None), "config": (_CONFIG, None), "as_json": (_JSON, False)}
    flags.give_signature(command, {**every, **own}, choice)
    app.command(name, help=run.__doc__)(command)


def _tokenize(values: dict[str, Any], report: Report, ray: bool) -> None:
    """Tokenize text and write the tokens."""
    tokenize(flags.with_ray(values, ray), report)


def _pack(values: dict[str, Any], report: Report, ray: bool) -> None:
    """Tokenize text (unless it is tokenized), pack it into rows of one length and write them."""
    pack(flags.with_ray(values, ray), report)


def _convert(values: dict[str, Any], report: Report, ray: bool) -> None:
    """Write data in another format, row by row as it is.

    ArrayRecord files have one column, or rows as JSON (--encode json).
    """
    convert(flags.with_ray(values, ray), report)


def _stats(
    values: dict[str, Any],
    report: Report,
    shuffle_quality: bool,
    batch_size: int | None,
    tokens: bool,
) -> None:
    """Tell shards, blocks, rows and bytes of data; with --tokens how many tokens it has.

    With --shuffle it tells how well the data is shuffled.
    """
    stats(values, report, shuffle=shuffle_quality, batch_size=batch_size, tokens=tokens)


# How files are read.
_OF_FILES = (
    "split",
    "dataset_split_name",
    "delimiter",
    "quotechar",
    "encoding",
    "header",
    "column_names",
    "comment",
    "dtype",
    "document_eos",
    "row_tokens",
    "sample_by",
    "field",
    "zstd_max_window",
    "hive_partitioning",
)

_command(
    "tokenize",
    flags.Choice(("DatasetConfig", "TokenizeStageConfig", "SaveStageConfig")),
    _tokenize,
    {"ray": (_RAY, False)},
)
_command(
    "pack",
    flags.Choice(
        (
            "DatasetConfig",
            "TokenizeStageConfig",
            "PackStageConfig",
            "SaveStageConfig",
            "MixStageConfig",
        )
    ),
    _pack,
    {"ray": (_RAY, False)},
)
_command(
    "convert",
    flags.Choice(
        ("DatasetConfig", "SaveStageConfig"),
        only=(
            "name",
            "type",
            "num_rows",
            "parts",
            "part",
            "part_seed",
            "part_by",
            "content_field",
            "decode",
            *_OF_FILES,
            "columns",
            "column_types",
            "shuffle",
            "shuffle_window_bytes",
            "on_error",
            "on_missing",
            "quarantine_path",
            "identity",
            "output_dir",
            "format",
            "num_shards",
            "max_shard_rows",
            "shard_column",
            "shard_prefix",
            "encode",
            "writer_options",
            "compression",
            "max_shard_size",
            "units",
            "processes",
            "overwrite",
            "push_to_hub",
            "hub_repo_id",
            "hub_private",
            "hub_token",
            "num_threads",
        ),
        in_all=("column_types",),
    ),
    _convert,
    {"ray": (_RAY, False)},
)
_command(
    "stats",
    flags.Choice(
        ("DatasetConfig", "LoadStageConfig"),
        only=(
            "type",
            "content_field",
            *_OF_FILES,
            "additional_fields",
            "columns",
            "shuffle",
            "shuffle_window_bytes",
            "tokenizer",
            "shuffle_buffer_size",
        ),
        called={"shuffle": "shuffle_mode"},
    ),
    _stats,
    {
        "shuffle_quality": (_SHUFFLE, False),
        "batch_size": (_BATCH_SIZE, None),
        "tokens": (_TOKENS, False),
    },
)


@app.command()
def inspect(
    data: Annotated[
        list[str] | None, typer.Argument(metavar="DATA", help="Files, folders or patterns.")
    ] = None,
    config: _CONFIG = None,
    mask: Annotated[
        bool,
        typer.Option(
            "--mask",
            help="Show what the transforms of --config make of rows: what of them is trained on.",
        ),
    ] = False,
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, help="Rows to show.")] = 3,
    skip: Annotated[int, typer.Option("--skip", min=0, help="Rows to pass over first.")] = 0,
    tokenizer: Annotated[
        str | None, typer.Option("--tokenizer", help="Show tokens as text, with this tokenizer.")
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(
            "--width",
            min=1,
            help="Tokens or characters of a value to show. [default: 400; of a segment: 150]",
        ),
    ] = None,
    as_json: _JSON = False,
) -> None:
    """Show rows of data files, or what a config makes of its datasets.

    Of files: columns, tokens, and where documents begin. Of a config: rows as training gets them,
    with the text, dataset, file and row of each segment; with --mask what is trained on.
    """
    report = Report(as_json=as_json)
    file = flags.only_one("--config", config)
    if mask:
        if file is None or data:
            raise flags.UsageError("--mask shows rows of a config: inspect --config FILE --mask")
        inspect_masks(PipelineConfig.from_file(file), rows, skip, report)
        return
    if file is not None:
        if data:
            raise flags.UsageError("give DATA or --config, not both: a config names its own data")
        inspect_batches(file, rows, skip, tokenizer, width, report)
        return
    if not data:
        raise flags.UsageError("name the files to show, or a --config FILE")
    inspect_rows(data, rows, skip, tokenizer, 400 if width is None else width, report)


@app.command()
def verify(
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="Folders, files or patterns.")],
    tokenizer: Annotated[
        str | None, typer.Option("--tokenizer", help="Ids must be below its vocabulary's size.")
    ] = None,
    vocab_size: Annotated[
        int | None, typer.Option("--vocab-size", min=1, help="Ids must be below it.")
    ] = None,
    as_json: _JSON = False,
) -> int:
    """Read files whole and compare them with what is known of them; exit 1 if one is damaged."""
    intact = verify_files(data, tokenizer, vocab_size, Report(as_json=as_json))
    return DONE if intact else FAILED


@app.command()
def status(
    folders: Annotated[
        list[str], typer.Argument(metavar="OUT", help="Outputs, or folders of several.")
    ],
    as_json: _JSON = False,
) -> None:
    """Tell how far a job is that runs or was stopped, of its output alone; also on a store."""
    tell_status(folders, Report(as_json=as_json))


@app.command()
def push(
    folder: Annotated[
        str, typer.Argument(metavar="DIR", help="A finished output, or a folder of several.")
    ],
    repo_id: Annotated[str, typer.Argument(metavar="ORG/NAME", help="The dataset repository.")],
    private: Annotated[
        bool, typer.Option("--private", help="Make the repository a private one.")
    ] = False,
    token: Annotated[
        str | None, typer.Option("--token", help="A token that may write; else HF_TOKEN's.")
    ] = None,
    config_name: Annotated[
        str | None, typer.Option("--config-name", help='Its config; else "default".')
    ] = None,
    as_json: _JSON = False,
) -> None:
    """Push a finished output to a dataset repository of the Hub; run again, it resumes."""
    push_output(folder, repo_id, private, token, config_name, Report(as_json=as_json))


class _BenchGroup(typer.core.TyperGroup):
    """`easydata bench DATA` is `easydata bench pipeline DATA`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, "--help"):
            args.insert(0, "pipeline")
        return super().parse_args(ctx, args)


_bench = typer.Typer(cls=_BenchGroup, no_args_is_help=True, rich_markup_mode=None)
app.add_typer(
    _bench,
    name="bench",
    help="Measure your own text beside the `tokenizers` library: bench [pipeline] or tokenizer.",
)


@_bench.command("tokenizer")
def bench_tokenizer(
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="Files, folders or patterns.")],
    tokenizer: Annotated[str, typer.Option("--tokenizer", help="Folder of the tokenizer.")],
    content_field: Annotated[
        str, typer.Option("--content-field", help="Column of the text.")
    ] = "text",
    megabytes: Annotated[
        float, typer.Option("--megabytes", min=0.001, help="Text that is measured, at most.")
    ] = 64,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Times each side runs.")] = 3,
    as_json: _JSON = False,
) -> None:
    """Measure text to ids; the ids are compared, too."""
    run_bench(data, tokenizer, content_field, megabytes, rounds, Report(as_json=as_json))


@_bench.command("pipeline")
def bench(
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="Files, folders or patterns.")],
    tokenizer: Annotated[str, typer.Option("--tokenizer", help="Folder of the tokenizer.")],
    content_field: Annotated[
        str, typer.Option("--content-field", help="Column of the text.")
    ] = "text",
    seq_length: Annotated[int, typer.Option("--seq-length", min=2, help="Row length.")] = 2048,
    megabytes: Annotated[
        float, typer.Option("--megabytes", min=0.001, help="Text that is measured, at most.")
    ] = 64,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Times each side runs.")] = 3,
    as_json: _JSON = False,
) -> None:
    """Measure tokenizing and packing of your own text, beside the `tokenizers` library."""
    bench_files(
        data, tokenizer, content_field, seq_length, megabytes, rounds, Report(as_json=as_json)
    )


_cache = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(
    _cache, name="cache", help="Look at what pipelines keep of rows: list, explain, fill, ..."
)

_FOLDER = Annotated[
    str | None,
    typer.Argument(
        metavar="DIR", help=f"Folder of the cache; unset: {token_cache.DEFAULT_FOLDER}."
    ),
]
_CACHES = Annotated[
    list[str] | None,
    typer.Option("--config", help="YAML or JSON file: the folders that its datasets are kept in."),
]
_CFG = Annotated[
    str | None, typer.Argument(metavar="CONFIG", help="YAML or JSON file of a pipeline.")
]
_PACKED = Annotated[
    bool | None,
    typer.Option(
        "--packed/--not-packed",
        help="Documents as a packer takes them, whole where no max_length is set; unset: as the "
        "config's pack.enabled says.",
    ),
]


@_cache.command("list")
def cache_list(folder: _FOLDER = None, config: _CACHES = None, as_json: _JSON = False) -> None:
    """Tell what is kept: by what it was made, rows, tokens, size and last use."""
    token_cache.list_plans(token_cache.folders_of(folder, config), Report(as_json=as_json))


@_cache.command("explain")
def cache_explain(
    file: _CFG = None, config: _CONFIG = None, packed: _PACKED = None, as_json: _JSON = False
) -> None:
    """Tell of each dataset how much is kept, and why the rest is not; nothing is made."""
    token_cache.explain(token_cache.config_file(file, config), packed, Report(as_json=as_json))


@_cache.command("fill")
def cache_fill(
    file: _CFG = None,
    config: _CONFIG = None,
    packed: _PACKED = None,
    processes: Annotated[
        int | None,
        typer.Option("--processes", min=1, help="Processes that make it; unset: this one."),
    ] = None,
    ray: Annotated[
        bool, typer.Option("--ray", help="Let Ray make it, as the config's `ray` says.")
    ] = False,
    as_json: _JSON = False,
) -> None:
    """Make what is missing now, so that no job has to."""
    found = token_cache.config_file(file, config)
    token_cache.fill(found, packed, Report(as_json=as_json), processes, ray)


@_cache.command("verify")
def cache_verify(folder: _FOLDER = None, config: _CACHES = None, as_json: _JSON = False) -> int:
    """Read all that is kept and check its hashes; exit 1 where something is damaged."""
    found = token_cache.folders_of(folder, config)
    return DONE if token_cache.verify_stores(found, Report(as_json=as_json)) else FAILED


@_cache.command("prune")
def cache_prune(
    folder: _FOLDER = None,
    config: _CACHES = None,
    max_bytes: Annotated[
        str | None, typer.Option("--max-bytes", help='Bytes that may stay: a number, or "50GB".')
    ] = None,
    older_than: Annotated[
        str | None, typer.Option("--older-than", help="Remove what was not used for: 12h, 7d.")
    ] = None,
    as_json: _JSON = False,
) -> None:
    """Remove what was used longest ago; what a running job has open stays."""
    found = token_cache.folders_of(folder, config)
    token_cache.prune(found, max_bytes, older_than, Report(as_json=as_json))


def run(arguments: list[str]) -> int:
    """Runs a command line and tells how it ended."""
    as_json = "--json" in arguments
    try:
        status = app(arguments, prog_name="easydata", standalone_mode=False)
        if status == INTERRUPTED:  # typer catches it in some versions
            raise KeyboardInterrupt
        return status if isinstance(status, int) else DONE
    except InterruptedJobError as error:
        return _end(INTERRUPTED, "interrupted", *error.notes, as_json=as_json)
    except KeyboardInterrupt:
        return _end(INTERRUPTED, "interrupted", as_json=as_json)
    except (ConfigError, NotImplementedError, flags.UsageError) as error:
        problems = getattr(error, "problems", None) or [str(error)]
        return _end(WRONG_USE, *problems, as_json=as_json)
    except (OSError, ValueError, KeyError, TypeError, ImportError, RuntimeError) as error:
        said = error.args[0] if isinstance(error, KeyError) and error.args else error
        return _end(FAILED, _with_notes(str(said), error), as_json=as_json)
    except Exception as error:
        # What typer says of wrong flags: its classes moved between versions, their methods did not.
        if type(error).__name__ == "Abort":
            return _end(INTERRUPTED, "interrupted", as_json=as_json)
        if hasattr(error, "format_message"):
            return _end(WRONG_USE, error.format_message(), as_json=as_json)
        if not getattr(error, "__notes__", None):
            raise
        # Of a callable, at a row: what a person needs is there.
        return _end(FAILED, _with_notes(f"{type(error).__name__}: {error}", error), as_json=as_json)


def _with_notes(said: str, error: BaseException) -> str:
    """The message with what was noted on the error: the address of the row."""
    return "; ".join([said, *getattr(error, "__notes__", ())])


def _end(status: int, *said: str, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"status": status, "errors": list(said)}))
    else:
        for line in said:
            print(f"easydata: {shown(line)}", file=sys.stderr)
    return status
