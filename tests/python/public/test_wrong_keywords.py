"""A wrong keyword is answered with the one that was meant, by everything that is public (N30)."""

import enum
import inspect
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import easydata
from easydata import AsyncDataLoader, JsonShardedSource, Tokenizer, create_source

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def parameters(function: Callable[..., Any]) -> list[str]:
    found = inspect.signature(function).parameters.values()
    return [each.name for each in found if each.kind in _NAMED and each.name != "self"]


def takes_all(function: Callable[..., Any]) -> bool:
    found = inspect.signature(function).parameters.values()
    return any(each.kind is inspect.Parameter.VAR_KEYWORD for each in found)


def public() -> Iterator[tuple[str, Callable[..., Any], list[str]]]:
    """All functions, classes and methods that take keywords, with their parameters."""
    for name in easydata.__all__:
        value = getattr(easydata, name)
        if not callable(value) or not value.__module__.startswith("easydata."):
            continue
        if inspect.isclass(value) and issubclass(value, (BaseException, enum.Enum)):
            continue
        if not inspect.isclass(value):
            yield name, value, parameters(value)
            continue
        if "__init__" in dir(value) and not takes_all(value) and not inspect.isabstract(value):
            yield name, value, parameters(value)
        for member, function in inspect.getmembers(value, inspect.isfunction):
            home = inspect.unwrap(function).__module__
            if not member.startswith("_") and home.startswith("easydata."):
                yield f"{name}.{member}", function, parameters(function)


PUBLIC = [
    (name, function, names)
    for name, function, names in public()
    if names and not takes_all(function) and not inspect.iscoroutinefunction(function)
]


def test_there_are_many() -> None:
    assert len(PUBLIC) > 200
    assert {"create_source", "Tokenizer.encode", "Pipeline.load"} <= {name for name, *_ in PUBLIC}


@pytest.mark.parametrize("name", [name for name, *_ in PUBLIC])
def test_a_wrong_keyword_is_answered_with_the_right_one(name: str) -> None:
    function, names = next((each[1], each[2]) for each in PUBLIC if each[0] == name)
    meant = max(names, key=len)
    others = [None] if "." in name else []  # self
    with pytest.raises(TypeError) as failed:
        function(*others, **{f"{meant}s": 1})
    said = str(failed.value)
    assert f"'{meant}s'; did you mean \"{meant}\"?" in said, said


def test_one_that_is_near_nothing_is_answered_with_all() -> None:
    with pytest.raises(
        TypeError, match=r"unexpected keyword argument 'rows'; there are: value, side, length$"
    ):
        easydata.PadSpec(rows=1)  # type: ignore[call-arg]


def test_errors_of_what_is_called_stay_what_they_are(tmp_path: Any) -> None:
    def broken(row: Any) -> Any:
        return dict(row, wrong=int(nonsense=1))  # type: ignore[call-overload]

    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a"}\n')
    with pytest.raises(TypeError) as failed:
        list(JsonShardedSource(data_files=path).map(fn=broken))
    assert "did you mean" not in str(failed.value)
    assert "there are:" not in str(failed.value)


def test_what_a_function_of_the_user_does_wrong_is_not_laid_on_the_call(folder: Path) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"a": "text".append(1)}  # type: ignore[attr-defined]

    class Rows:
        def __iter__(self) -> Iterator[dict[str, Any]]:
            return rows()

    with pytest.raises(AttributeError, match="'str' object has no attribute 'append'"):
        easydata.save_dataset(Rows(), "out")  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="'str' object has no attribute 'append'"):
        list(easydata.collate_batch(Rows()))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"batch_iterator\(\): batch_size must be a whole number"):
        easydata.batch_iterator(Rows(), "2")  # type: ignore[arg-type]


def test_what_is_public_stays_itself() -> None:
    assert pickle.loads(pickle.dumps(create_source)) is create_source
    assert pickle.loads(pickle.dumps(easydata.PadSpec(1))) == easydata.PadSpec(1)
    assert next(iter(inspect.signature(create_source).parameters)) == "config"
    assert inspect.signature(Tokenizer.encode).parameters["text"].name == "text"
    assert isinstance(inspect.getattr_static(easydata.Pipeline, "from_config"), classmethod)
    assert inspect.iscoroutinefunction(AsyncDataLoader.aget)
