"""Who has neither torch nor jax loses nothing but their adapters."""

import pytest
from programs import run_python


def run(code: str) -> str:
    return run_python("-c", code).stdout.strip()


def test_easydata_imports_neither() -> None:
    said = run(
        "import sys\n"
        "from easydata import *\n"
        "from easydata import execution, core, sources, transforms, distributed\n"
        "print(sorted({'torch', 'jax'} & set(sys.modules)))"
    )
    assert said == "[]"


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_an_adapter_without_its_library_says_what_to_install(name: str) -> None:
    said = run(
        "import sys\n"
        f"sys.modules[{name!r}] = None  # as if it were not installed\n"
        "try:\n"
        f"    import easydata.{name}\n"
        "except ModuleNotFoundError as error:\n"
        "    print(error, '|', error.name)"
    )
    assert said == f'easydata.{name} needs {name}; pip install "easydata[{name}]" | {name}'
