"""`easydata cache`: looks at what is kept of rows, fills and empties it."""

from typing import Annotated

import typer

from easydata.cli.common_flags import CONFIG as _CONFIG
from easydata.cli.common_flags import JSON as _JSON
from easydata.cli.lazy_calls import calls
from easydata.sources.token_stores import DEFAULT_FOLDER

commands = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

_FOLDER = Annotated[
    str | None,
    typer.Argument(metavar="DIR", help=f"Folder of the cache; unset: {DEFAULT_FOLDER}."),
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


@commands.command("list")
@calls("token_cache:list_plans")
def cache_list(folder: _FOLDER = None, config: _CACHES = None, as_json: _JSON = False) -> None:
    """Tell what is kept: by what it was made, rows, tokens, size and last use."""


@commands.command("explain")
@calls("token_cache:explain")
def cache_explain(
    file: _CFG = None, config: _CONFIG = None, packed: _PACKED = None, as_json: _JSON = False
) -> None:
    """Tell of each dataset how much is kept, and why the rest is not; nothing is made."""


@commands.command("fill")
@calls("token_cache:fill")
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


@commands.command("verify")
@calls("token_cache:verify_stores")
def cache_verify(folder: _FOLDER = None, config: _CACHES = None, as_json: _JSON = False) -> None:
    """Read all that is kept and check its hashes; exit 1 where something is damaged."""


@commands.command("prune")
@calls("token_cache:prune")
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
