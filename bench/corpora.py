"""The texts that benchmarks and the demo work on, made from what is on every machine.

`distinct` is text that hardly repeats: Python's own sources and documentation. `prose` is English
prose put together from paragraphs that come again and again, as web text does; it needs the texts
in ../shared.
"""

import json
import random
import re
import sys
import sysconfig
from collections.abc import Collection, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
CACHE = ROOT / "build" / "bench"

_SUFFIXES = frozenset((".py", ".rst", ".txt", ".md", ".pyi", ".h", ".html"))


def installed_texts(suffixes: Collection[str] = _SUFFIXES) -> Iterator[str]:
    """Texts of this machine: Python's sources, those of its packages, Debian's documentation.

    Each file with one of the suffixes comes once, in a fixed order.
    """
    roots = [
        Path(sysconfig.get_paths()["stdlib"]),
        Path(sysconfig.get_paths()["purelib"]),
        Path(sysconfig.get_paths()["include"]),
        Path("/usr/share/doc"),
        Path("/usr/lib/python3"),
        Path("/usr/include"),
    ]
    seen: set[int] = set()
    for root in roots:
        for path in sorted(root.rglob("*")):
            if path.suffix not in suffixes or not path.is_file():
                continue
            try:
                text = path.read_text(encoding="utf-8")
            except (UnicodeDecodeError, OSError):
                continue  # not text, or not ours to read: another file serves as well
            if len(text) > 200 and hash(text) not in seen:
                seen.add(hash(text))
                yield text


def documents(text: str, size: int) -> Iterator[str]:
    """Cuts a text into documents of about `size` characters at line ends."""
    start = 0
    while start < len(text):
        end = start + size
        newline = text.find("\n", end)
        end = len(text) if newline < 0 else newline + 1
        yield text[start:end]
        start = end


def write_distinct(path: Path, num_bytes: int, document_size: int = 3000) -> int:
    """Writes JSON lines of installed texts until they hold `num_bytes` of text.

    Returns:
        The bytes of text written.
    """
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for text in installed_texts():
            for document in documents(text, document_size):
                file.write(json.dumps({"text": document}, ensure_ascii=False) + "\n")
                written += len(document.encode())
            if written >= num_bytes:
                break
    return written


def write_prose(path: Path, num_bytes: int) -> int:
    """Writes JSON lines of documents put together from the paragraphs of the prose in ../shared."""
    paragraphs: list[str] = []
    for source in sorted((SHARED / "data" / "text" / "prose").glob("*")):
        if source.suffix == ".jsonl":
            rows = [json.loads(line)["text"] for line in source.open(encoding="utf-8")]
            text = "\n\n".join(rows)
        else:
            text = source.read_text(encoding="utf-8")
        paragraphs += [p for p in re.split(r"\n\s*\n", text) if len(p) > 40]
    choose = random.Random(0)
    written = 0
    with path.open("w", encoding="utf-8") as file:
        while written < num_bytes:
            document = "\n\n".join(choose.choices(paragraphs, k=choose.randint(2, 12)))
            file.write(json.dumps({"text": document}, ensure_ascii=False) + "\n")
            written += len(document.encode())
    return written


def corpus(name: str, megabytes: int) -> Path:
    """The JSONL file of a corpus, made once."""
    path = CACHE / f"{name}-{megabytes}.jsonl"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        write = {"distinct": write_distinct, "prose": write_prose}[name]
        written = write(part, megabytes << 20)
        if written < megabytes << 20:
            print(f"only {written >> 20} MB of {name} text on this machine", file=sys.stderr)
        part.rename(path)
    return path


def available() -> list[str]:
    """The corpora that can be made here."""
    return ["prose", "distinct"] if SHARED.is_dir() else ["distinct"]


def gpt2() -> Path:
    """The folder of the GPT-2 tokenizer."""
    return SHARED / "data" / "tokenizers" / "gpt2"
