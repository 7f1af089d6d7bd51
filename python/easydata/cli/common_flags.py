"""Flags that many commands have."""

from typing import Annotated

import typer

CONFIG = Annotated[
    list[str] | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help='YAML or JSON file with the options of a pipeline; "-": standard input.',
    ),
]
JSON = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
