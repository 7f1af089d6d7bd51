"""Peer of W1: datatrove's DocumentTokenizer, two processes over two halves (in .venv-bench)."""

import json
import logging
import os
import sys
import tempfile
import time
from pathlib import Path

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer
from loguru import logger

corpus, tokenizer_path, output = sys.argv[1:4]


def main() -> None:
    """Tokenizes, and prints how long it took."""
    logger.remove()
    logging.disable(logging.WARNING)
    folder = Path(tempfile.mkdtemp())
    lines = Path(corpus).read_bytes().splitlines(keepends=True)
    for half in range(2):
        (folder / f"{half}.jsonl").write_bytes(b"".join(lines[half::2]))
    start = time.perf_counter()
    LocalPipelineExecutor(
        pipeline=[
            JsonlReader(str(folder)),
            DocumentTokenizer(
                output,
                f"{tokenizer_path}/tokenizer.json",
                shuffle_documents=False,
                save_final_metadata=False,
            ),
        ],
        tasks=2,
        workers=2,
        logging_dir=str(folder / "logs"),
    ).run()
    seconds = time.perf_counter() - start
    size = sum(os.path.getsize(path) for path in Path(output).rglob("*.ds"))
    print(json.dumps({"tokens": size // 2, "seconds": seconds}))


if __name__ == "__main__":
    main()
