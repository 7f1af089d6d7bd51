"""The check of what the bindings hold finds what it is for."""

from pathlib import Path

import binding_lifetimes
import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = binding_lifetimes.FOLDERS


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.cc", 'void Bind(nb::module_& m) {\n  nb::class_<T>(m, "T");\n}', "BindOwner"),
        ("a.cc", 'void Bind(nb::module_& m) {\n  nb::class_<T> t(m, "T");\n}', "BindOwner"),
        ("a.cc", "class A {\n  nb::object callable_;\n};", "member"),
        ("a.h", "struct A {\n  std::map<int, nb::list> lists;\n};", "member"),
        ("a.h", "struct A final : B {\n  PyObject* type = nullptr;\n};", "member"),
        ("a.h", "struct A {\n  std::array<PyObject*, 3> keys{};\n};", "member"),
        ("a.cc", "A() {\n  struct B {\n    nb::callable f;\n  };\n}", "member"),
        ("a.cc", "auto f = SharedObject(std::move(o));\n", "does not see"),
        ("a.h", "struct A {\n  std::shared_ptr<nb::object> o;\n};", "does not see"),
        ("a.cc", "auto f = [o = nb::borrow(h)] { return o; };\n", "lambda"),
    ],
)
def test_what_hides_an_object_is_named(name: str, text: str, complaint: str) -> None:
    found = list(binding_lifetimes.problems_of(name, text))
    assert found, text
    assert complaint in found[0][1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.cc", "void F() {\n  nb::object local;\n  if (x) {\n    nb::list rows;\n  }\n}"),
        ("a.cc", "class A {\n  nb::object Get() const { nb::dict made; return made; }\n};"),
        ("a.cc", "class A {\n  A(nb::object o) : a_(std::move(o)) { nb::list rows; }\n};"),
        ("a.cc", "class A {\n  // nb::object o;\n  const Borrowed callable_;\n};"),
        ("a.h", "nb::class_<O> BindOptions(nb::module_& m) {\n  return BindPlain<O>(m);\n}"),
        ("lending.h", "class Owned {\n  std::vector<nb::object> lent_;\n};"),
    ],
)
def test_what_hides_none_passes(name: str, text: str) -> None:
    assert list(binding_lifetimes.problems_of(name, text)) == []


def test_files_that_hold_objects_are_there() -> None:
    for name in binding_lifetimes.HOLDERS:
        (path,) = (ROOT / folder / name for folder in FOLDERS if (ROOT / folder / name).exists())
        assert "nb::object" in path.read_text(encoding="utf-8"), name
