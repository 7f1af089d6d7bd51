"""What nobody in Python holds any more is freed: its threads, its handles, its memory."""

import contextlib
import gc
import json
import traceback
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from easydata.transforms import FilterTransform, MapTransform
from programs import run_python
from resident_memory import GIVES_BACK
from small_tokenizer import small_tokenizer
from thread_count import threads

import easydata as ed
from easydata import _native

HERE = Path(__file__).parent
MOST_GROWTH = 16 << 20
HAVE_GC = 1 << 14  # Py_TPFLAGS_HAVE_GC
Row = dict[str, Any]


def lines(program: str, *arguments: object) -> list[dict[str, Any]]:
    # Else glibc gives threads arenas of their own, and keeps in each what its threads once needed.
    done = run_python(HERE / program, *arguments, variables=GIVES_BACK)
    return [json.loads(line) for line in done.stdout.splitlines()]


def check_kinds(found: list[dict[str, Any]]) -> None:
    assert len(found) >= 45
    wrong = [
        each
        for each in found
        if each["threads"][1] > each["threads"][0]
        or each["handles"][1] > each["handles"][0]
        or each["alive"] > 0
        or each["grown"] > MOST_GROWTH
    ]
    assert not wrong


@pytest.mark.alone
def test_a_hundred_of_each_kind_leave_nothing(tmp_path: Path) -> None:
    check_kinds(lines("lifetime_kinds.py", tmp_path, 100))


@pytest.mark.sliced
@pytest.mark.alone
def test_a_thousand_of_each_kind_leave_nothing(tmp_path: Path) -> None:
    check_kinds(lines("lifetime_kinds.py", tmp_path, 1000))


@pytest.mark.alone
@pytest.mark.parametrize(
    ("loaders", "rows"), [(40, 1500), pytest.param(500, 6000, marks=pytest.mark.sliced)]
)
def test_rows_that_fail_at_random_leave_nothing(tmp_path: Path, loaders: int, rows: int) -> None:
    found = lines("lifetime_rows.py", tmp_path, loaders, rows)
    assert len(found) == 10
    first, last = found[1], found[-1]
    assert last["failed"] > 0
    if loaders == 500:
        assert last["rows"] >= 1_000_000
    assert last["threads"] <= first["threads"]
    assert last["handles"] <= first["handles"]
    # Memory goes up and down by what was last open: the least of some counts.
    memory = [each["memory"] for each in found]
    assert min(memory[-3:]) <= min(memory[:3]) + MOST_GROWTH, memory


# One by one, without a garbage collector: what it would have to find is not freed in time.


@pytest.fixture
def source(tmp_path: Path) -> ed.JsonShardedSource:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{{"text": "row {i}"}}\n' for i in range(100)), encoding="utf-8")
    return ed.JsonShardedSource([path])


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
def test_a_loader_that_failed_goes_with_its_last_name(source: ed.JsonShardedSource) -> None:
    def fail() -> weakref.ref[Any]:
        loader = ed.AsyncDataLoader(source.map(lambda row: 1 // 0), 8)
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                next(iter(loader))
        return weakref.ref(loader)

    fail()  # pytest.raises keeps no frames; the first call imports things
    assert fail()() is None


@pytest.mark.usefixtures("uncollected")
def test_a_trainer_transform_goes_with_its_last_name(tmp_path: Path) -> None:
    step = ed.DPOPreprocessTransform(
        small_tokenizer(tmp_path), max_prompt_length=8, max_completion_length=8
    )
    assert step({"prompt": "a", "chosen": "b", "rejected": "c"})
    gone = weakref.ref(step)
    del step
    assert gone() is None


def test_an_error_has_the_frames_of_the_function_once(source: ed.JsonShardedSource) -> None:
    def function_of_a_user(row: Row) -> Row:
        raise ValueError("no", row["text"])

    loader = ed.AsyncDataLoader(source.map(function_of_a_user), 8)
    raised = []
    for _ in range(3):
        with pytest.raises(ValueError, match="no") as caught:
            next(iter(loader))
        raised.append(caught.value)
    shown = ["".join(traceback.format_exception(each)) for each in raised]
    assert ["function_of_a_user" in each for each in shown] == [True, False, False]
    assert {each.args for each in raised} == {("no", "row 0")}
    assert [each.__notes__ for each in raised] == [raised[0].__notes__] * 3
    assert "rows.jsonl row 0" in raised[0].__notes__[0]


class OwnError(OSError):
    def __init__(self, first: int, second: str) -> None:
        super().__init__(5, f"{first} and {second}")
        self.second = second


class NeedyError(Exception):
    def __new__(cls, *, word: str) -> "NeedyError":
        return super().__new__(cls, word)

    def __init__(self, *, word: str) -> None:
        super().__init__(word)
        self.word = word


def own() -> None:
    raise OwnError(1, "two")


def needy() -> None:
    raise NeedyError(word="a word")


def group() -> None:
    raise ExceptionGroup("some", [ValueError("a"), KeyError("b")])


def end_of_rows() -> None:
    raise StopIteration


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (own, OwnError),
        (needy, NeedyError),
        (group, ExceptionGroup),
        (lambda: b"\xff".decode(), UnicodeDecodeError),
        (lambda: __import__("no_such_module"), ModuleNotFoundError),
        (lambda: Path("/nowhere").read_text(encoding="utf-8"), FileNotFoundError),
        (lambda: json.loads("{"), json.JSONDecodeError),
        (end_of_rows, RuntimeError),
    ],
)
def test_an_error_comes_again_as_it_was(
    source: ed.JsonShardedSource, call: Callable[[], Any], kind: type[BaseException]
) -> None:
    rows = iter(source.map(lambda row: call()))
    loader = ed.AsyncDataLoader(source.map(lambda row: call()), 8)
    for read in (lambda: next(iter(loader)), lambda: next(rows)):
        said = set()
        for _ in range(3):
            try:
                read()
            except kind as error:
                said.add((str(error), repr(sorted(vars(error)))))
            except StopIteration:
                break  # an iterator ends with its error
        assert len(said) == 1


def test_an_error_that_holds_its_loader_is_freed(source: ed.JsonShardedSource) -> None:
    class Owner:
        loader: Any = None

        def fail(self, row: Row) -> Row:
            raise ValueError(self)

    def fail() -> weakref.ref[Owner]:
        owner = Owner()
        owner.loader = ed.AsyncDataLoader(source.map(owner.fail), 8)
        for _ in range(2):
            with contextlib.suppress(ValueError):
                next(iter(owner.loader))
        return weakref.ref(owner)

    before = threads()
    gone = [fail() for _ in range(5)]
    gc.collect()
    assert not any(each() for each in gone)
    assert threads() <= before


# The types of the engine.


def reaches(begin: object, end: object) -> bool:
    """Whether the garbage collector finds an object from another one, through native ones."""
    seen, waiting = set(), [begin]
    while waiting:
        each = waiting.pop()
        if each is end:
            return True
        # What an object holds may be in a dict of its own.
        is_ours = type(each).__module__.startswith("easydata") or type(each) is dict
        if id(each) in seen or not (each is begin or is_ours):
            continue
        seen.add(id(each))
        waiting.extend(gc.get_referents(each))
    return False


def test_the_collector_sees_functions_through_every_type(
    source: ed.JsonShardedSource, tmp_path: Path
) -> None:
    def function(row: Row) -> Row:
        return row

    stream = source._stream()
    plan = _native.transformed_rows(source._plan, [MapTransform(function)._plan_step()])
    mapped = plan.stream({"text": "text"})
    limits = {"shards": source.shard_names, "rows_within": len, "rows": None}
    limited = _native.limited_rows(plan, max_rows=3, **limits)
    other = _native.transformed_rows(plan, [FilterTransform(str)._plan_step()]).stream()
    mixed = _native.python_rows(function, lambda: ["one"], "Rows").stream()
    loader = _native.Loader(other, _native.LoadOptions(batch_size=8))
    for held in (
        mapped,
        other,
        mixed,
        loader,
        plan,
        limited,
        limited.stream(),
        _native.repeat(other),
        _native.shuffle_window(other, 10),
        _native.iterate_rows(mapped),
        _native.iterate_batches(mapped),
    ):
        assert reaches(held, function), type(held)
    assert not reaches(stream, function)
    loader.close()


def test_types_that_the_collector_does_not_see_through_are_known() -> None:
    """Those that are in neither set are new: see python/bindings/bound_type.h."""
    owners = {
        "BatchIterator",
        "ConversationRenderer",
        "ExampleContext",
        "ExampleMaker",
        "Lent",
        "Loader",
        "Plan",
        "RowIterator",
        "Step",
        "Stream",
        "WriteJob",
    }
    types = {
        name: each
        for name, each in vars(_native).items()
        if isinstance(each, type) and not issubclass(each, BaseException)
    }
    assert {name for name, each in types.items() if each.__flags__ & HAVE_GC} == owners
