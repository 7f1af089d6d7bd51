"""Distinct text of one language or kind, for the tokenizer benchmark.

English documentation and code are what is installed. The other languages are the sentences in
../shared and translated documentation, manuals and user interfaces out of Debian packages, which
are downloaded (not installed) when a benchmark first asks for them. No line comes twice.
"""

import gettext
import gzip
import html
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import corpora

_ENGLISH = frozenset((".rst", ".txt", ".md"))
_CODE = frozenset((".py", ".pyi", ".h"))

# Debian packages by language, the name of its folders in packages of many languages, and the
# characters that tell its lines from English ones.
_LANGUAGES = {
    "zh": (
        (
            "libreoffice-help-zh-cn",
            "libreoffice-l10n-zh-cn",
            "manpages-zh",
            "debian-reference-zh-cn",
        ),
        "zh_CN",
        "\u3400-\u9fff",
    ),
    "ja": (
        (
            "libreoffice-help-ja",
            "libreoffice-l10n-ja",
            "manpages-ja",
            "manpages-ja-dev",
            "debian-reference-ja",
            "aptitude-doc-ja",
        ),
        "ja",
        "\u3040-\u30ff\u3400-\u9fff",
    ),
    "ko": (("libreoffice-help-ko", "libreoffice-l10n-ko"), "ko", "\uac00-\ud7af"),
    "ru": (
        ("libreoffice-help-ru", "libreoffice-l10n-ru", "manpages-ru", "aptitude-doc-ru"),
        "ru",
        "\u0400-\u04ff",
    ),
    "ar": (("libreoffice-l10n-ar",), "ar", "\u0600-\u06ff"),
    "hi": (("libreoffice-help-hi", "libreoffice-l10n-hi"), "hi", "\u0900-\u097f"),
    "th": (("libreoffice-l10n-th",), "th", "\u0e00-\u0e7f"),
}

# Packages of translations into many languages.
_SHARED_PACKAGES = (
    "vlc-l10n",
    "iso-codes",
    "gnucash-common",
    "gnome-control-center-data",
    "evolution-common",
    "gnome-user-docs",
    "gimp-data",
)

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
    own = re.compile(f"[{_LANGUAGES[name][2]}]")
    seen: set[str] = set()
    for line in _lines(name):
        # Lines of mostly foreign words are names and code.
        if line not in seen and 3 * len(own.findall(line)) >= len(line.replace(" ", "")) > 0:
            seen.add(line)
            yield line


def _lines(name: str) -> Iterator[str]:
    packages, folder_name, _ = _LANGUAGES[name]
    source = corpora.SHARED / "data" / "text" / "multilingual" / f"ud_{name}.jsonl"
    if source.is_file():
        for row in source.open(encoding="utf-8"):
            yield from json.loads(row)["text"].splitlines()
    for package in (*packages, *_SHARED_PACKAGES):
        folder = _unpacked(package)
        for path in sorted(folder.rglob("*")) if folder else ():
            of_all = package in _SHARED_PACKAGES and folder_name not in path.parts
            if not of_all and path.is_file() and not path.is_symlink():
                yield from _file_lines(path)


def _file_lines(path: Path) -> Iterator[str]:
    if path.suffix == ".mo":
        with path.open("rb") as file:
            catalog = gettext.GNUTranslations(file)
        for translation in catalog._catalog.values():  # type: ignore[attr-defined]
            yield from str(translation).splitlines()
        return
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    if "man" in path.parts:
        for line in data.decode(errors="ignore").split("\n"):
            text = re.sub(r"\\f.|\\[&|,/%]", "", re.sub(r"^\.\S+\s*", "", line))
            yield text.replace("\\-", "-").strip()
    elif path.name.removesuffix(".gz").endswith((".html", ".page")):
        yield from _html_lines(data.decode(errors="ignore"))


def _unpacked(package: str) -> Path | None:
    """The files of a Debian package, downloaded once; None, and a word, where that cannot be."""
    folder = corpora.CACHE / "debs" / package
    if folder.is_dir():
        return folder
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    fetch = ["apt-get", "download", "-qq", package]
    try:
        done = subprocess.run(fetch, cwd=part, capture_output=True, text=True, check=False)
        archive = next(part.glob("*.deb"), None)
        if archive is None:
            reason = (done.stderr.strip().splitlines() or ["no such package"])[-1]
            print(f"{package} is left out: {reason}", file=sys.stderr)
            return None
        subprocess.run(["dpkg-deb", "-x", str(archive), str(part)], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{package} is left out: {error}", file=sys.stderr)
        return None
    archive.unlink()
    part.rename(folder)
    return folder


def _html_lines(page: str) -> Iterator[str]:
    page = re.sub(r"(?s)<(script|style|head)\b.*?</\1>", "\n", page)
    page = re.sub(r"</(p|h\d|li|td|th|div|dt|dd|title|item)>|<br ?/?>", "\n", page)
    for line in re.sub(r"<[^>]*>", "", page).split("\n"):
        stripped = html.unescape(line).strip()
        if stripped:
            yield stripped
