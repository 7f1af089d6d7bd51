"""What the fuzzer of templates found, in Jinja2 and in the native engine."""

from pathlib import Path

import pytest
from compare_corpus import compare_corpus

# Where script/fuzz keeps it.
_CORPUS = Path(__file__).resolve().parents[3] / "build" / "asan" / "corpus" / "template_fuzz"
_SECONDS = 60


def test_reads_files_of_the_fuzzer(tmp_path: Path) -> None:
    files = {
        "plain": b"{% for m in messages %}{{ m.role }}{% endfor %}",
        "with variables": b'{{ a ~ b }}\0{"a": 1, "b": "x"}',
        "refused": b"{% if %}",
        "not UTF-8": b"\xff",
        "for hours": b"{{ 7 ** 9 ** 9 ** 9 }}",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    report = compare_corpus(tmp_path)
    assert not report.differences
    assert report.counts["files"] == len(files)
    assert report.counts["text"] >= 2
    assert report.counts["error"] >= 1


# A fuzzer goes on finding what nobody changed: that stops no other work, so it is not in every run.
@pytest.mark.sliced
@pytest.mark.skipif(not _CORPUS.is_dir(), reason="script/fuzz has not run here")
def test_corpus_of_the_fuzzer() -> None:
    report = compare_corpus(_CORPUS, _SECONDS)
    print(report.counts.most_common(12))
    assert not report.differences, "\n\n".join(report.differences)
