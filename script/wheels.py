"""Names the engines of a wheel, merges wheels of one engine each, and checks what is in them.

wheels.py engines: the versions of pyarrow, a line each
wheels.py merge FOLDER WHEEL...: one wheel with the engines of all
wheels.py check WHEEL: names of symbols, versions of symbols, size
"""

import importlib.metadata
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_BYTES = 12_000_000
# What manylinux_2_28 promises (auditwheel's policy), and what nobody else may see of the module.
NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11)}
# What is linked in, and where its licence lies: Debian's copyright files, and packages of Python.
INSIDE: dict[str, Path | str] = {
    "PCRE2": Path("/usr/share/doc/libpcre2-dev/copyright"),
    "xxHash": Path("/usr/share/doc/libxxhash-dev/copyright"),
    "JSON for Modern C++": Path("/usr/share/doc/nlohmann-json3-dev/copyright"),
    "parts of libstdc++ (GCC Runtime Library Exception)": Path(
        "/usr/share/doc/gcc-12-base/copyright"
    ),
    "simdjson": "pysimdjson",
    "nanobind": "nanobind",
}
FOREIGN = re.compile(r"simdjson|pcre2_|XXH")


def settings() -> dict[str, list[str]]:
    """What pyproject.toml says of pyarrow: `engines`, oldest first, and `unsound` versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, list[str]] = project["tool"]["easydata"]
    return found


def requirement() -> str:
    """What of pyarrow a wheel with all engines runs with: each minor version has an engine."""
    minors = [tuple(map(int, each.split(".")[:2])) for each in settings()["engines"]]
    (major, minor), (last_major, last_minor) = minors[0], minors[-1]
    left_out = [f"!={version}" for version in settings()["unsound"]]
    return ",".join([f">={major}.{minor}", f"<{last_major}.{last_minor + 1}", *left_out])


def notice() -> str:
    """The licences of what is linked into an engine."""
    parts = ["EasyData is under the Apache License 2.0 (LICENSE). Its engines contain:"]
    for name, source in INSIDE.items():
        if isinstance(source, Path):
            texts = [source.read_text(encoding="utf-8")]
        else:
            files = importlib.metadata.files(source) or []
            texts = [file.read_text() for file in files if file.name.startswith("LICENSE")]
        if not texts:
            raise SystemExit(f"wheels.py: {source} has no licence to copy")
        parts += [f"\n{'=' * 80}\n{name}\n{'=' * 80}\n", *texts]
    parts.append(
        "\nsimdjson, whose sources pysimdjson carries, is under the Apache License 2.0 or the "
        "MIT License, as you choose.\n"
    )
    return "\n".join(parts)


def merge(folder: Path, wheels: list[Path]) -> None:
    """Writes one wheel with the engines of all: the first one's files, the others' engines."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as unpacked:
        roots = []
        for number, wheel in enumerate(wheels):
            place = Path(unpacked) / str(number)
            _run("wheel", "unpack", str(wheel), "-d", str(place))
            roots.append(next(place.iterdir()))
        first, *others = roots
        for other in others:
            for engine in (other / "easydata").glob("_pa[0-9]*"):
                engine.rename(first / "easydata" / engine.name)
        metadata = next(first.glob("*.dist-info")) / "METADATA"
        text = metadata.read_text(encoding="utf-8")
        merged, found = re.subn(
            r"^Requires-Dist: pyarrow.*$",
            f"Requires-Dist: pyarrow{requirement()}",
            text,
            flags=re.MULTILINE,
        )
        if found != 1:
            raise SystemExit("wheels.py: METADATA requires pyarrow in no line, or in several")
        metadata.write_text(merged, encoding="utf-8")
        licences = metadata.parent / "licenses"
        licences.mkdir(exist_ok=True)
        (licences / "NOTICE").write_text(notice(), encoding="utf-8")
        _run("wheel", "pack", str(first), "-d", str(folder))


def check(wheel: Path) -> None:
    """Ends with a sentence where the wheel is too large, or a module binds to what it must not."""
    size = wheel.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{wheel.name}: {size:,} bytes, more than {MOST_BYTES:,}")
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(wheel).extractall(folder)
        modules = sorted(Path(folder).glob("easydata/_pa*/_native.*.so"))
        engines = settings()["engines"]
        if len(modules) != len(engines):
            raise SystemExit(f"{wheel.name}: {len(modules)} engines for {', '.join(engines)}")
        notices = list(Path(folder).glob("*.dist-info/licenses/NOTICE"))
        if not notices or any(name not in notices[0].read_text("utf-8") for name in INSIDE):
            raise SystemExit(f"{wheel.name}: a licence of what is inside is missing")
        for module in modules:
            for problem in problems(module):
                raise SystemExit(f"{wheel.name}: {module.relative_to(folder)}: {problem}")


def problems(module: Path) -> Iterator[str]:
    """What a module binds to that other libraries define, or that older systems lack."""
    for line in _run("nm", "-DC", str(module)).splitlines():
        if FOREIGN.search(line):
            yield f"other libraries see, or give it: {line.strip()}"
    for line in _run("objdump", "-T", str(module)).splitlines():
        bound = re.search(r"\b(GLIBC|GLIBCXX|CXXABI)_([0-9.]+)\)?\s+(\S+)$", line)
        if bound is None:
            continue
        family, version, symbol = bound.groups()
        newest = NEWEST[family]
        if tuple(map(int, version.split("."))) > newest:
            ends = ".".join(map(str, newest))
            yield f"needs {symbol}@{family}_{version}; manylinux_2_28 ends at {family}_{ends}"


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    """Does what the command line says."""
    match sys.argv[1:]:
        case ["engines"]:
            print("\n".join(settings()["engines"]))
        case ["merge", folder, *wheels] if wheels:
            merge(Path(folder), [Path(each) for each in wheels])
        case ["check", wheel]:
            check(Path(wheel))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
