"""Distinct text of one language or kind, for the tokenizer benchmark.

English documentation and code are what is installed. The other languages are the sentences in
../shared and the translations of LibreOffice's help and user interface, out of Debian packages that
are fetched (not installed) when a benchmark first asks for them. No line comes twice.
"""

import gettext
import html
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import corpora

_ENGLISH = frozenset((".rst", ".txt", ".md"))
_CODE = frozenset((".py", ".pyi", ".h"))

# Debian packages by language, and the characters that tell its lines from English ones.
_LANGUAGES = {
    "zh": (("libreoffice-help-zh-cn", "libreoffice-l10n-zh-cn"), "\u3400-\u9fff"),
    "ja": (("libreoffice-help-ja", "libreoffice-l10n-ja"), "\u3040-\u30ff\u3400-\u9fff"),
    "ko": (("libreoffice-help-ko", "libreoffice-l10n-ko"), "\uac00-\ud7af"),
    "ru": (("libreoffice-help-ru", "libreoffice-l10n-ru"), "\u0400-\u04ff"),
    "ar": (("libreoffice-l10n-ar",), "\u0600-\u06ff"),
    "hi": (("libreoffice-help-hi", "libreoffice-l10n-hi"), "\u0900-\u097f"),
    "th": (("libreoffice-l10n-th",), "\u0e00-\u0e7f"),
}

NAMES = ("english", "code", *_LANGUAGES)

_DOCUMENT_SIZE = 3000  # characters


def text(name: str, megabytes: int) -> Path:
    """The JSONL file ({"text": ...} per document) of a language or kind, made once."""
    path = corpora.CACHE / f"{name}-{megabytes}.jsonl"
    if path.exists():
        return path
    corpora.CACHE.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    limit = megabytes * 1_000_000
    written = 0
    with part.open("w", encoding="utf-8") as file:
        for document in _documents(name):
            file.write(json.dumps({"text": document}, ensure_ascii=False) + "\n")
            written += len(document.encode())
            if written >= limit:
                break
    if written == 0:
        raise SystemExit(f"no {name} text: neither in ../shared nor by apt-get download")
    if written < limit:
        print(f"{name}: only {written / 1e6:.1f} MB of distinct text here", file=sys.stderr)
    part.rename(path)
    return path


def _documents(name: str) -> Iterator[str]:
    if name in ("english", "code"):
        for installed in corpora.installed_texts(_ENGLISH if name == "english" else _CODE):
            yield from corpora.documents(installed, _DOCUMENT_SIZE)
        return
    kept: list[str] = []
    size = 0
    for line in _distinct_lines(name):
        kept.append(line)
        size += len(line) + 1
        if size >= _DOCUMENT_SIZE:
            yield "\n".join(kept)
            kept, size = [], 0
    if kept:
        yield "\n".join(kept)


def _distinct_lines(name: str) -> Iterator[str]:
    packages, characters = _LANGUAGES[name]
    own = re.compile(f"[{characters}]")
    seen: set[str] = set()
    for line in _lines(name, packages):
        # Lines of mostly foreign words are names and code.
        if line not in seen and 3 * len(own.findall(line)) >= len(line.replace(" ", "")) > 0:
            seen.add(line)
            yield line


def _lines(name: str, packages: tuple[str, ...]) -> Iterator[str]:
    source = corpora.SHARED / "data" / "text" / "multilingual" / f"ud_{name}.jsonl"
    if source.is_file():
        for row in source.open(encoding="utf-8"):
            yield from json.loads(row)["text"].splitlines()
    for package in packages:
        with tempfile.TemporaryDirectory(prefix="easydata-bench-") as folder:
            if not _unpack(package, Path(folder)):
                continue
            for path in sorted(Path(folder).rglob("*")):
                if path.suffix == ".html" and path.is_file():
                    yield from _html_lines(path.read_text(encoding="utf-8", errors="ignore"))
                elif path.suffix == ".mo":
                    with path.open("rb") as file:
                        catalog = gettext.GNUTranslations(file)
                    for translation in catalog._catalog.values():  # type: ignore[attr-defined]
                        yield from str(translation).splitlines()


def _unpack(package: str, folder: Path) -> bool:
    """Downloads a Debian package and unpacks it; says so where that is not possible."""
    fetch = ["apt-get", "download", "-qq", package]
    try:
        done = subprocess.run(fetch, cwd=folder, capture_output=True, text=True, check=False)
        archive = next(folder.glob("*.deb"), None)
        if archive is None:
            reason = (done.stderr.strip().splitlines() or ["no such package"])[-1]
            print(f"{package} is left out: {reason}", file=sys.stderr)
            return False
        subprocess.run(["dpkg-deb", "-x", str(archive), str(folder)], check=True)
    except OSError as error:
        print(f"{package} is left out: {error}", file=sys.stderr)
        return False
    return True


def _html_lines(page: str) -> Iterator[str]:
    page = re.sub(r"(?s)<(script|style|head)\b.*?</\1>", "\n", page)
    page = re.sub(r"</(p|h\d|li|td|th|div|dt|dd)>|<br ?/?>", "\n", page)
    for line in re.sub(r"<[^>]*>", "", page).split("\n"):
        stripped = html.unescape(line).strip()
        if stripped:
            yield stripped
