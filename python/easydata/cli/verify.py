"""`easydata verify`: files held against what is known of them."""

import dataclasses
from collections.abc import Sequence

from easydata.cli.report import Report
from easydata.core.shown_text import rounded
from easydata.execution.verify import verify as verify_files


def verify(
    data: Sequence[str], tokenizer: str | None, vocab_size: int | None, report: Report
) -> bool:
    """Prints a line for each damaged file and a summary; False where there is one."""
    found = verify_files(data, tokenizer=tokenizer, vocab_size=vocab_size)
    for file in found.damaged:
        report.line(f"{file.path}: {file.problem}")
    rows = sum(file.rows for file in found.files)
    tokens = sum(file.tokens for file in found.files)
    size = sum(file.bytes for file in found.files)
    count = len(found.damaged)
    report.line(
        f"{len(found.files)} files, {rounded(rows)} rows, {rounded(tokens)} tokens, "
        f"{size / 2**20:.1f} MB: " + (f"{count} damaged" if count else "all intact")
    )
    report.result(
        {
            "ok": found.ok,
            "rows": rows,
            "tokens": tokens,
            "bytes": size,
            "files": [dataclasses.asdict(file) for file in found.files],
        }
    )
    return found.ok
