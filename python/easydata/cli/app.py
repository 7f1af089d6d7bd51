"""The commands, and how they end."""

import json
import os
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from easydata.cli import cache_commands, flags, help_groups
from easydata.cli.common_flags import CONFIG as _CONFIG
from easydata.cli.common_flags import JSON as _JSON
from easydata.cli.completion import next_words, script
from easydata.cli.help_groups import GroupedCommand
from easydata.cli.lazy_calls import DONE, FAILED, call, calls
from easydata.cli.report import InterruptedJobError
from easydata.cli.usage import UsageError
from easydata.core.config import ConfigError
from easydata.core.config_class import config_names
from easydata.core.shown_text import shown

WRONG_USE, INTERRUPTED = 2, 130

_FILES = Annotated[
    list[str] | None,
    typer.Argument(metavar="DATA", help="Files, folders or glob patterns to read."),
]
_SET = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Set any option by its path, before all else: pack.seq_length=4096, "
        "datasets.0.shuffle=rows, mix.weights.web=0.3. May be repeated.",
    ),
]
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

_DRY_RUN = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Tell files, rows, bytes, tokens (± by a sample) and outputs, and write nothing.",
    ),
]
_OF_JOBS = {"ray": (_RAY, False), "dry_run": (_DRY_RUN, False)}

app = typer.Typer(
    name="easydata",
    help="Tokenize, pack and look at training data.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _tell_version(is_asked: bool) -> None:
    if is_asked:
        print("easydata", sys.modules["easydata"].__version__)
        raise typer.Exit


@app.callback()
def _easydata(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Tell the version."),
    ] = False,
) -> None:
    """Tokenize, pack and look at training data."""


def _command(
    path: str,
    help: str,
    choice: flags.Choice,
    own: Mapping[str, tuple[Any, Any]],
) -> None:
    """Adds a command with a flag for each chosen option and `own` ones, for the function at `path`.

    It has the function's name.
    """

    def command(
        data: list[str] | None,
        config: list[str] | None,
        settings: list[str] | None,
        as_json: bool,
        **options: Any,
    ) -> int:
        given = {option: options.pop(option) for option in own}
        set_by: dict[str, str] = {}
        with flags.saying_flags(choice, set_by):
            file = flags.only_one("--config", config)
            values = flags.config_values(data, file, options, choice, settings or (), set_by)
            return call(path, as_json, values=values, **given)

    every = {
        "data": (_FILES, None),
        "config": (_CONFIG, None),
        "settings": (_SET, None),
        "as_json": (_JSON, False),
    }
    flags.give_signature(command, {**every, **own}, choice)
    app.command(path.partition(":")[2], help=help, cls=GroupedCommand)(command)


_command(
    "jobs:tokenize",
    "Tokenize text and write the tokens.",
    flags.Choice(("DatasetConfig", "TokenizeStageConfig", "SaveStageConfig")),
    _OF_JOBS,
)
_command(
    "jobs:pack",
    "Tokenize text (unless it is tokenized), pack it into rows of one length and write them.",
    flags.Choice(
        (
            "DatasetConfig",
            "TokenizeStageConfig",
            "PackStageConfig",
            "SaveStageConfig",
            "MixStageConfig",
        )
    ),
    _OF_JOBS,
)
_command(
    "jobs:convert",
    "Write data in another format, row by row as it is.\n\n"
    "ArrayRecord files have one column, or rows as JSON (--encode json).",
    flags.Choice(
        ("DatasetConfig", "SaveStageConfig"),
        # Nothing is made of the rows, and nothing is kept of them elsewhere.
        without=(
            "format_callback",
            "format_fields",
            "transform",
            "chat_template",
            "template_date",
            "chat_template_kwargs",
            "tokenizer",
            "additional_fields",
            "view",
            "cache_path",
            "cache_enabled",
        ),
        in_all=("column_types",),
    ),
    _OF_JOBS,
)
_command(
    "stats:stats",
    "Tell shards, blocks, rows and bytes of data; with --tokens how many tokens it has.\n\n"
    "With --shuffle it tells how well the data is shuffled.",
    flags.Choice(
        ("DatasetConfig", "LoadStageConfig"),
        only=(
            *(help_groups.OF_FILES - {"decode", "identity"}),
            "split",
            "dataset_split_name",
            "content_field",
            "additional_fields",
            "columns",
            "shuffle",
            "shuffle_window_bytes",
            "tokenizer",
            "shuffle_buffer_size",
        ),
        called={"shuffle": "shuffle_mode"},
    ),
    {
        "shuffle_quality": (_SHUFFLE, False),
        "batch_size": (_BATCH_SIZE, None),
        "tokens": (_TOKENS, False),
    },
)


@app.command(cls=GroupedCommand)
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
) -> int:
    """Show rows of data files, or what a config makes of its datasets.

    Of files: columns, tokens, and where documents begin. Of a config: rows as training gets them,
    with the text, dataset, file and row of each segment; with --mask what is trained on.
    """
    file = flags.only_one("--config", config)
    shown = {"rows": rows, "skip": skip}
    if mask:
        if file is None or data:
            raise UsageError("--mask shows rows of a config: inspect --config FILE --mask")
        return call("inspect_masks:inspect_masks", as_json, file=file, **shown)
    if file is not None:
        if data:
            raise UsageError("give DATA or --config, not both: a config names its own data")
        texts = {"tokenizer": tokenizer, "width": width}
        return call("inspect_batches:inspect_batches", as_json, file=file, **shown, **texts)
    if not data:
        raise UsageError("name the files to show, or a --config FILE")
    texts = {"tokenizer": tokenizer, "width": 400 if width is None else width}
    return call("inspect_rows:inspect_rows", as_json, data=data, **shown, **texts)


@app.command(cls=GroupedCommand)
@calls("verify:verify")
def verify(
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="Folders, files or patterns.")],
    tokenizer: Annotated[
        str | None, typer.Option("--tokenizer", help="Ids must be below its vocabulary's size.")
    ] = None,
    vocab_size: Annotated[
        int | None, typer.Option("--vocab-size", min=1, help="Ids must be below it.")
    ] = None,
    as_json: _JSON = False,
) -> None:
    """Read files whole and compare them with what is known of them; exit 1 if one is damaged."""


@app.command(cls=GroupedCommand)
@calls("status:status")
def status(
    folders: Annotated[
        list[str], typer.Argument(metavar="OUT", help="Outputs, or folders of several.")
    ],
    as_json: _JSON = False,
) -> None:
    """Tell how far a job is that runs or was stopped, of its output alone; also on a store."""


@app.command(cls=GroupedCommand)
@calls("push:push")
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


@app.command(cls=GroupedCommand)
@calls("bench:bench")
def bench(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A tokenizer's folder, file or name on the Hub.")
    ],
    data: Annotated[list[str], typer.Argument(metavar="DATA", help="Files, folders or patterns.")],
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="NAMES",
            help="Libraries to measure beside, with commas: tokenizers, datasets; unset: "
            "tokenizers, where it is installed.",
        ),
    ] = None,
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
    """Measure the speed on your own text beside other libraries, whose ids must be equal."""


@app.command(cls=GroupedCommand)
@calls("init:init")
def init(
    folder: Annotated[
        str, typer.Argument(metavar="[FOLDER]", help="The folder of the data.")
    ] = ".",
    tokenizer: Annotated[
        str | None,
        typer.Option("--tokenizer", help="Folder of the tokenizer; unset: one near the data."),
    ] = None,
    config: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The config that is written.")
    ] = "pipeline.yaml",
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file that is there.")
    ] = False,
    as_json: _JSON = False,
) -> None:
    """Look at the data of a folder, and write a commented pipeline.yaml that runs as it is."""


@app.command(cls=GroupedCommand)
def completion(
    shell: Annotated[str, typer.Argument(metavar="[bash|zsh|fish]", help="The shell.")],
    words: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
) -> None:
    """Print what a shell reads to complete easydata: eval "$(easydata completion bash)"."""
    if shell == "words":
        for word in next_words(typer.main.get_command(app), words or []):
            print(word)
        return
    print(script(shell), end="")


app.add_typer(
    cache_commands.commands,
    name="cache",
    help="Look at what pipelines keep of rows: list, explain, fill, ...",
)


def run(arguments: list[str]) -> int:
    """Runs a command line and tells how it ended."""
    as_json = "--json" in arguments
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.append(os.getcwd())  # where callbacks of a config are looked for, too
    try:
        status = app(arguments, prog_name="easydata", standalone_mode=False)
        if status == INTERRUPTED:  # typer catches it in some versions
            raise KeyboardInterrupt
        return status if isinstance(status, int) else DONE
    except InterruptedJobError as error:
        return _end(INTERRUPTED, "interrupted", *error.notes, as_json=as_json)
    except KeyboardInterrupt:
        return _end(INTERRUPTED, "interrupted", as_json=as_json)
    except (ConfigError, NotImplementedError, UsageError) as error:
        return _end(WRONG_USE, *_problems(error), as_json=as_json)
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


# Of whose problems each says itself where it is.
_PLAIN_SUBJECTS = ("the options", "save", *config_names())


def _problems(error: Exception) -> list[str]:
    """What is wrong, a line each."""
    problems = getattr(error, "problems", None)
    if problems is None:
        return [flags.said(error, str(error))]
    subject = getattr(error, "subject", "")
    of = "" if subject in _PLAIN_SUBJECTS else f"{subject}: "
    return list(dict.fromkeys(flags.said(error, of + said) for said in problems))


def _with_notes(said: str, error: BaseException) -> str:
    """The message with what was noted on the error: the address of the row."""
    return flags.said(error, "; ".join([said, *getattr(error, "__notes__", ())]))


def _end(status: int, *said: str, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"status": status, "errors": list(said)}))
    else:
        for line in said:
            print(f"easydata: {shown(line)}", file=sys.stderr)
    return status
