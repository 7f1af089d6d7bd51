"""Every block of docs/ and README.md runs as printed, and every link leads somewhere."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pages import (
    OUTPUT,
    ROOT,
    RUNS,
    SHOWN,
    Page,
    all_pages,
    before,
    commands,
    difference,
    is_as_printed,
    read_page,
    run,
    to_first_batch,
)

PAGES = [read_page(path) for path in all_pages()]
RUNNING = [page for page in PAGES if any(block.is_run for block in page.blocks)]


def _needed(page: Page) -> list[frozenset[str]]:
    """The sets of modules that blocks of a page need; the empty one first."""
    sets = {block.needs for block in page.blocks if block.is_run}
    return sorted(sets | {frozenset()}, key=sorted)


_CASES = [(page, needs) for page in RUNNING for needs in _needed(page)]


@pytest.fixture(scope="session")
def folder_after(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Page], Path | None]:
    """Where the pages that a page builds on were run: once for all pages."""
    made: dict[str, Path] = {}

    def find(page: Page) -> Path | None:
        first = before(page)
        if not first:
            return None
        name = first[-1].name
        if name not in made:
            made[name] = tmp_path_factory.mktemp("before")
            run(first[-1], made[name])
        return made[name]

    return find


@pytest.mark.parametrize(
    ("page", "needs"), _CASES, ids=["-".join((p.name, *sorted(n))) for p, n in _CASES]
)
def test_every_block_prints_what_the_page_says(
    page: Page,
    needs: frozenset[str],
    tmp_path: Path,
    folder_after: Callable[[Page], Path | None],
) -> None:
    for module in sorted(needs):
        pytest.importorskip(module, reason=f"blocks of {page.name} need {module}")
    pytest.importorskip("tokenizers", reason="the quickstart trains a tokenizer with tokenizers")
    ran = run(page, tmp_path, needs, folder_after(page))
    assert ran
    wrong = [difference(page, each) for each in ran if not is_as_printed(each)]
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_a_block_runs_or_says_why_not(page: Page) -> None:
    for block in page.blocks:
        where = f"{page.name}:{block.line}"
        assert block.kind in (*RUNS, *SHOWN, OUTPUT), f"{where}: what is a {block.kind!r} block?"
        if block.kind in (*SHOWN, OUTPUT):
            assert "not run" in block.marks, f"{where}: say `<!-- not run: why -->` above it"
        if block.kind == "console" and block.is_run:
            assert list(commands(block)), where


def _anchors(text: str) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} (.+)$", outside, flags=re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number = 1
        while anchor in found:
            anchor, number = f"{anchor.removesuffix(f'-{number - 1}')}-{number}", number + 1
        found.add(anchor)
    return found


def _links(text: str) -> list[str]:
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    outside = re.sub(r"`[^`\n]*`", "", outside)
    return re.findall(r"\[[^]]*\]\(([^)\s]+)\)", outside)


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_lead_somewhere(page: Page) -> None:
    text = page.path.read_text(encoding="utf-8")
    for link in _links(text):
        if link.startswith(("http://", "https://")):
            continue
        file, _, anchor = link.partition("#")
        target = (page.path.parent / file).resolve() if file else page.path
        assert target.exists(), f"{page.name}: {link}: there is no such file"
        assert target.is_relative_to(ROOT), f"{page.name}: {link} leads out of the repository"
        if anchor:
            assert anchor in _anchors(target.read_text(encoding="utf-8")), f"{page.name}: {link}"


def test_the_index_has_every_page() -> None:
    index = ROOT / "docs/index.md"
    linked = {
        (index.parent / link.partition("#")[0]).resolve()
        for link in _links(index.read_text(encoding="utf-8"))
    }
    missing = [page.name for page in PAGES if (ROOT / "docs") in page.path.parents]
    missing = [name for name in missing if ROOT / name not in linked and name != "docs/index.md"]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_no_page_leans_on_what_is_not_here(page: Page) -> None:
    text = page.path.read_text(encoding="utf-8")
    for word in ("../shared", "easydel.data", "behaviour.md", "trials.md"):
        assert word not in text, f"{page.name} names {word}"


def test_debian_packages_of_the_install_page_are_those_of_bootstrap() -> None:
    page = next(page for page in PAGES if page.name == "docs/install.md")
    said = next(block.text for block in page.blocks if "apt-get install" in block.text)
    bootstrap = (ROOT / "script/bootstrap").read_text(encoding="utf-8")
    listed = re.search(r"packages=\((.*?)\)", bootstrap, flags=re.DOTALL)
    assert listed is not None
    known = set(listed[1].split())
    named = {word for word in said.replace("\\\n", " ").split() if word.startswith("lib")}
    libraries = {word for word in known if word.startswith("lib")}
    tests_only = {"libgtest-dev", "libgmock-dev", "libbenchmark-dev"}
    assert named | {"nlohmann-json3-dev"} >= libraries - tests_only
    assert "nlohmann-json3-dev" in said


def test_the_install_page_says_which_package_a_missing_library_is_in() -> None:  # N27
    page = next(page for page in PAGES if page.name == "docs/install.md")
    said = next(block.text for block in page.blocks if "apt-get install" in block.text)
    wanted = set(said.replace("\\\n", " ").split()) - {"sudo", "apt-get", "install"}
    text = page.path.read_text(encoding="utf-8")
    rows = re.findall(r"^\| .*`.* \| `([^`]+)` \|$", text, flags=re.MULTILINE)
    assert set(rows) == wanted
    assert "minutes" in text.partition("```")[0], (
        "how long it takes stands before the first command"
    )


def test_the_first_packed_batch_comes_after_a_few_steps(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason="the quickstart trains a tokenizer with tokenizers")
    quickstart = next(page for page in PAGES if page.name == "docs/quickstart.md")
    steps = to_first_batch(run(quickstart, tmp_path))
    assert len(steps) <= 12
    assert sum(step.seconds for step in steps) <= 600
    assert "(8, 128)" in steps[-1].got, "a batch came"


_FIGURES = "<!-- figures: bench/RESULTS.md -->"


def test_figures_of_pages_are_those_that_were_measured() -> None:
    results = (ROOT / "bench/RESULTS.md").read_text(encoding="utf-8")
    known = set(re.findall(r"\d[\d,.]*\d|\d", results))
    tables = [
        (page, table.partition("\n\n")[0])
        for page in PAGES
        for table in page.path.read_text(encoding="utf-8").split(f"{_FIGURES}\n")[1:]
    ]
    assert len(tables) == 2
    for page, table in tables:
        rows = table.strip().split("\n")[2:]
        for cell in (cell for row in rows for cell in row.split("|")[2:]):
            for figure in re.findall(r"\d[\d,.]*\d|\d", cell):
                assert figure in known, f"{page.name}: nobody measured {figure}"


# What newcomers looked for in vain, and the page on which they look.
_STANDS_ON = {
    "parse_arguments": "docs/guide/transforms_and_chats.md",
    "to_hf()": "docs/guide/fine_tuning_data.md",
    "get_data()": "docs/guide/reading.md",
    "AWS_ENDPOINT_URL": "docs/guide/stores.md",
    "loader.reset()": "docs/guide/loading.md",  # C17
    "hf download": "docs/quickstart.md",  # N26
}


@pytest.mark.parametrize("word", _STANDS_ON)
def test_what_is_looked_for_stands_where_people_look(word: str) -> None:
    assert word in (ROOT / _STANDS_ON[word]).read_text(encoding="utf-8")


# Say takes precedence, resume or continue, credentials, dataset, reports, after.
_NOT_ENGLISH = re.compile(
    r"\b(go(es)? before|go(es)? on|going on|gone on|who asks|data sets?|(is|are) told|behind)\b",
    re.IGNORECASE,
)


_FOR_USERS = [
    page
    for page in PAGES
    if page.path.parent.name in ("guide", "reference", "docs") or page.name == "README.md"
    if page.name != "docs/architecture.md"
]


@pytest.mark.parametrize("page", _FOR_USERS, ids=[page.name for page in _FOR_USERS])
def test_pages_for_users_are_plain_english(page: Page) -> None:
    text = page.path.read_text(encoding="utf-8")
    assert not (found := _NOT_ENGLISH.search(text)), f"{page.name}: {found[0]!r}"
