"""Memory of EasyData in `examples`: a million rows go through, which come from a folder of files.

Arguments: a folder of Arrow files, a tokenizer, "sft" or "dpo", a template (its file, or "" for the
tokenizer's own), and numbers of rows, after each of which the memory is looked at. Prints
`{rows: [resident MB, peak MB]}`.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import easydata.execution.async_loader
import easydata.sources
import easydata.transforms.trainer_examples

import easydata


def memory() -> tuple[float, float]:
    """What is resident, and the most that was so far, in MB."""
    status = Path("/proc/self/status").read_text()
    found = [int(status.split(f"{name}:")[1].split()[0]) for name in ("VmRSS", "VmHWM")]
    return found[0] / 1024, found[1] / 1024


def main() -> None:
    """Takes batches of 64 rows until the largest number is reached."""
    folder, tokenizer, kind, template, *numbers = sys.argv[1:]
    marks = sorted(map(int, numbers))
    given: dict[str, Any] = {"layout": "trl", "chat_template": template or None}
    made: Any = (
        easydata.SFTPreprocessTransform(tokenizer, 1024, mask_prompt=True, **given)
        if kind == "sft"
        else easydata.DPOPreprocessTransform(tokenizer, max_length=1024, **given)
    )
    source = easydata.ArrowShardedSource(folder).transform(made)
    seen: dict[int, tuple[float, float]] = {}
    rows = 0
    start = time.perf_counter()
    with easydata.AsyncDataLoader(source, 64, num_threads=2) as loader:
        for batch in loader:
            rows += len(batch["input_ids" if kind == "sft" else "prompt_ids"])
            if rows >= marks[len(seen)]:
                seen[marks[len(seen)]] = memory()
                if len(seen) == len(marks):
                    break
    assert len(seen) == len(marks), f"there are only {rows} rows"
    print(json.dumps({"seconds": time.perf_counter() - start, "memory": seen}))


if __name__ == "__main__":
    main()
