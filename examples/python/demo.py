"""From the text that this machine has to packed training batches, and back to where it stopped.

Run it with script/demo. It builds a corpus out of Python's own sources and documentation, trains a
small tokenizer on a part of it, tokenizes and packs everything to Parquet, loads batches, stops in
the middle, goes on from the saved position, shows a packed row, and says how fast that was beside
other tools on a sample of the same text.
"""

import argparse
import json
import shutil
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import numpy as np  # noqa: E402
from corpora import write_distinct  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402
from rich.text import Text  # noqa: E402

import easydata as ed  # noqa: E402

SEQ_LENGTH = 1024
BATCH_SIZE = 8
COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "red")

console = Console(width=110)


def step(title: str) -> None:
    """Prints the headline of a step."""
    console.print(f"\n[bold]{title}[/bold]")


def train_tokenizer(corpus: Path, folder: Path, sample_bytes: int) -> None:
    """Trains a byte-level BPE of 8,192 ids on the first `sample_bytes` of the corpus."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    def texts() -> "list[str]":
        chosen: list[str] = []
        size = 0
        with corpus.open(encoding="utf-8") as file:
            for line in file:
                if size >= sample_bytes:
                    break
                chosen.append(json.loads(line)["text"])
                size += len(line)
        return chosen

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=8192,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts(), trainer)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text('{"eos_token": "<|endoftext|>"}\n')


def pipeline_config(corpus: Path, tokenizer: Path) -> "ed.PipelineConfig":
    """Tokenizes whole documents and packs them into rows of SEQ_LENGTH."""
    return ed.PipelineConfig(
        datasets=[ed.DatasetConfig(data_files=str(corpus), tokenizer=str(tokenizer))],
        tokenize=ed.TokenizeStageConfig(max_length=1 << 30),
        pack=ed.PackStageConfig(
            enabled=True,
            seq_length=SEQ_LENGTH,
            eos_token_id=ed.Tokenizer(str(tokenizer)).eos_token_id,
            shuffle_packed=False,
        ),
        load=ed.LoadStageConfig(batch_size=BATCH_SIZE),
    )


def open_loader(config: "ed.PipelineConfig") -> "ed.AsyncDataLoader":
    """The batches of a pipeline."""
    loader: ed.AsyncDataLoader = (
        ed.Pipeline.from_config(config).source().tokenize().pack().load().build()
    )
    return loader


def show_row(batch: dict[str, np.ndarray], tokenizer: "ed.Tokenizer") -> None:
    """Prints the beginning of each document in the first row that holds more than one."""
    rows = range(len(batch["input_ids"]))
    row = max(rows, key=lambda r: int(batch["segment_ids"][r].max()))
    ids, segments = batch["input_ids"][row], batch["segment_ids"][row]
    text = Text()
    for number, segment in enumerate(np.unique(segments)):
        of_segment = ids[segments == segment]
        words = tokenizer.decode(of_segment.tolist()).replace("\n", "⏎")
        shown = words if len(words) < 260 else words[:180] + " … " + words[-60:]
        text.append(f"│{len(of_segment)} tokens│ ", style="bold white on grey23")
        text.append(shown + "\n", style=COLOURS[number % len(COLOURS)])
    console.print(text)


def resume(config: "ed.PipelineConfig") -> tuple[int, float]:
    """Stops in the middle, goes on in a new loader, and compares with an undisturbed run.

    Returns the number of tokens and the seconds of the undisturbed run.
    """
    with open_loader(config) as loader:
        start = time.perf_counter()
        tokens = sum(batch["input_ids"].size for batch in loader)
        seconds = time.perf_counter() - start
        whole = loader.digest()
    stop = max(1, tokens // (SEQ_LENGTH * BATCH_SIZE) // 2)
    with open_loader(config) as loader:
        for number, _ in enumerate(loader, start=1):
            if number == stop:
                break
        state = json.dumps(loader.state_dict())
        first_half = int(loader.digest(), 16)
    with open_loader(config) as loader:
        loader.load_state_dict(json.loads(state))
        began = time.perf_counter()
        batches = iter(loader)
        next(batches)
        waited = time.perf_counter() - began
        for _ in batches:
            pass
        second_half = int(loader.digest(), 16)
    same = (first_half + second_half) % (1 << 64) == int(whole, 16)
    console.print(
        f"stopped after batch {stop}; the state is {len(state)} bytes of JSON; "
        f"the next batch came {1000 * waited:.0f} ms after the restart"
    )
    verdict = "[green]identical[/green]" if same else "[red]DIFFERENT[/red]"
    console.print(f"both halves against the undisturbed run, bit for bit: {verdict}")
    if not same:
        raise SystemExit(1)
    return tokens, seconds


def peers(corpus: Path, tokenizer: Path, folder: Path, sample_bytes: int) -> Table:
    """Tokens per second of other tools and of EasyData on a sample of the corpus."""
    import datasets
    from tokenizers import Tokenizer

    sample = folder / "sample.jsonl"
    size = 0
    with corpus.open(encoding="utf-8") as source, sample.open("w", encoding="utf-8") as out:
        for line in source:
            if size >= sample_bytes:
                break
            size += len(line.encode())
            out.write(line)
    reference = Tokenizer.from_file(str(tokenizer / "tokenizer.json"))
    rates: dict[str, float] = {}

    texts = [json.loads(line)["text"] for line in sample.open(encoding="utf-8")]
    start = time.perf_counter()
    tokens = sum(len(encoding.ids) for encoding in reference.encode_batch_fast(texts))
    rates["tokenizers: encode_batch_fast (no reading, no writing)"] = tokens / (
        time.perf_counter() - start
    )

    datasets.disable_progress_bars()
    start = time.perf_counter()
    rows = datasets.load_dataset(
        "json", data_files=str(sample), split="train", cache_dir=str(folder / "hf-cache")
    )
    rows.map(
        lambda batch: {"input_ids": [e.ids for e in reference.encode_batch_fast(batch["text"])]},
        batched=True,
        remove_columns=["text"],
    ).to_parquet(str(folder / "hf.parquet"))
    rates["datasets: load_dataset, map, to_parquet"] = tokens / (time.perf_counter() - start)

    ours = ed.Tokenizer(str(tokenizer))
    start = time.perf_counter()
    ed.tokenize_and_save(str(sample), ours, str(folder / "ed"), max_length=1 << 30)
    rates["EasyData: JSONL to Parquet"] = tokens / (time.perf_counter() - start)

    table = Table("on the same sample", "tokens/s", "times tokenizers")
    base = next(iter(rates.values()))
    for name, rate in rates.items():
        table.add_row(name, f"{rate:,.0f}", f"{rate / base:.1f}")
    return table


def main() -> None:
    """Runs all steps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "demo-output")
    parser.add_argument("--megabytes", type=int, default=60, help="size of the corpus")
    arguments = parser.parse_args()
    folder: Path = arguments.output
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    corpus, tokenizer = folder / "corpus.jsonl", folder / "tokenizer"

    step("1. A corpus out of this machine's Python sources and documentation")
    written = write_distinct(corpus, arguments.megabytes << 20)
    console.print(f"{written / 1e6:.0f} MB of text in {corpus}")

    step("2. A byte-level BPE tokenizer, trained on a part of it")
    start = time.perf_counter()
    train_tokenizer(corpus, tokenizer, 8 << 20)
    console.print(f"8,192 ids in {time.perf_counter() - start:.0f} s (by the tokenizers library)")

    step(f"3. Tokenized and packed to rows of {SEQ_LENGTH}, saved as Parquet")
    config = pipeline_config(corpus, tokenizer)
    config.save = ed.SaveStageConfig(enabled=True, output_dir=str(folder / "packed"))
    start = time.perf_counter()
    done = ed.Pipeline.from_config(config).source().tokenize().pack().save().build()
    seconds = time.perf_counter() - start
    stats = next(iter(done.values()))
    packed_tokens = stats.num_examples * SEQ_LENGTH
    console.print(
        f"{stats.num_examples:,} rows, {stats.total_bytes / 1e6:.0f} MB in "
        f"{stats.num_shards} file(s), {packed_tokens / seconds / 1e6:.1f} M tokens/s"
    )

    step("4. Text to training batches, stopped in the middle and resumed")
    config = pipeline_config(corpus, tokenizer)
    tokens, seconds = resume(config)
    console.print(
        f"undisturbed: {tokens:,} tokens in batches at {tokens / seconds / 1e6:.1f} M tokens/s"
    )

    step("5. One packed row, a colour for each document")
    with open_loader(config) as loader:
        show_row(next(iter(loader)), ed.Tokenizer(str(tokenizer)))

    step("6. Beside other tools")
    console.print(peers(corpus, tokenizer, folder, 12 << 20))
    console.print(f"\neverything is in {folder}")


if __name__ == "__main__":
    main()
