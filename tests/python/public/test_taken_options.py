"""Classes that take the engine's options have the signatures that the engine declares."""

import inspect
import pydoc
import random
from pathlib import Path
from typing import Any

import pytest
from easydata.core.signatures import GreedyPackerSignature
from easydata.core.takes_options import ArgumentBinder, TakesOptions, declared_options
from easydata.transforms.trainer_examples import EmbeddingPreprocessTransform

import easydata
from easydata import JsonShardedSource, PackedShardedSource

# Classes, the struct of each, and how many parameters of their own they have.
TAKERS: list[tuple[Any, str, int]] = [
    (easydata.PackedShardedSource, "PackedOptions", 1),
    (easydata.MixedShardedSource, "MixOptions", 3),
    (easydata.AsyncDataLoader, "LoadOptions", 3),
    (easydata.SFTPreprocessTransform, "SftOptions", 6),
    (easydata.DPOPreprocessTransform, "PreferenceOptions", 6),
    (easydata.KTOPreprocessTransform, "UnpairedOptions", 7),
    (easydata.BCOPreprocessTransform, "UnpairedOptions", 7),
    (easydata.GRPOPreprocessTransform, "PromptOptions", 6),
    (easydata.RewardPreprocessTransform, "RewardOptions", 5),
    (EmbeddingPreprocessTransform, "EmbeddingOptions", 1),
]


@pytest.mark.parametrize("taker", TAKERS, ids=lambda taker: taker[0].__name__)
def test_every_option_is_a_parameter_with_its_text(taker: tuple[Any, str, int]) -> None:
    cls, struct, own = taker
    parameters = inspect.signature(cls).parameters
    declared = declared_options(struct)
    assert set(declared) <= set(parameters)
    assert len(parameters) == len(declared) + own
    shown = pydoc.render_doc(cls, renderer=pydoc.plaintext)
    for name, option in declared.items():
        assert f"{name}: {option['doc']}" in shown


def test_parameters_of_own_have_a_text() -> None:
    shown = pydoc.render_doc(easydata.AsyncDataLoader.__init__, renderer=pydoc.plaintext)
    assert "    padding: {column: PadSpec}; other columns of lists are padded" in shown
    assert "sharding_map: Mapping[str, Any] | Any = None" in shown.replace("'", "")


def test_an_option_may_have_another_name() -> None:
    parameters = inspect.signature(easydata.FirstFitPacker).parameters
    assert list(parameters)[:4] == ["seq_length", "eos_token_id", "pad_token_id", "buffer_size"]
    assert "pack_window" not in parameters
    packer = easydata.FirstFitPacker(4, 0, 0, 2)
    assert packer.add([1, 2]) == []
    rows = packer.add([1])  # the window has two documents
    assert [row.input_ids.tolist() for row in rows] == [[1, 2, 0, 0], [1, 0, 0, 0]]


def test_what_is_not_given_right_is_named(tmp_path: Path) -> None:
    source = JsonShardedSource.__new__(JsonShardedSource)
    with pytest.raises(TypeError, match=r"^PackedShardedSource.__init__\(\) .*'seq_length'"):
        PackedShardedSource(source)  # type: ignore[call-arg]
    with pytest.raises(
        TypeError, match=r"__init__\(\) got an unexpected keyword argument 'seq_len'"
    ):
        PackedShardedSource(source, 8, 0, seq_len=8)  # type: ignore[call-arg]
    with pytest.raises(
        TypeError, match=r"^GreedyPacker.__init__\(\) too many positional arguments"
    ):
        easydata.GreedyPacker(8, 0, 0, True, "split")  # type: ignore[misc]
    with pytest.raises(
        TypeError, match=r"^save_dataset\(\) got an unexpected keyword .*'overwrit'"
    ):
        easydata.save_dataset(source, tmp_path, overwrit=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^save_iterator\(\) got an unexpected .*'num_shards'"):
        easydata.save_iterator([], tmp_path, num_shards=2)  # type: ignore[call-arg]


def random_signature(choose: random.Random) -> inspect.Signature:
    """A signature of up to five parameters, of which some have defaults."""
    kinds = inspect.Parameter
    by_position = [kinds.POSITIONAL_OR_KEYWORD] * choose.randint(0, 3)
    if choose.random() < 0.1:
        by_position += [kinds.VAR_POSITIONAL]
    by_name = [kinds.KEYWORD_ONLY] * choose.randint(0, 2)
    if choose.random() < 0.1:
        by_name += [kinds.VAR_KEYWORD]
    parameters: list[inspect.Parameter] = []
    has_default = False
    for name, kind in zip("abcdef", [*by_position, *by_name], strict=False):
        if kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD):
            parameters.append(kinds(name, kind))
            continue
        by_chance = choose.random() < 0.5
        has_default = by_chance or (has_default and kind is kinds.POSITIONAL_OR_KEYWORD)
        parameters.append(kinds(name, kind, default=f"{name}0" if has_default else kinds.empty))
    return inspect.Signature(parameters)


def test_arguments_are_bound_as_python_binds_them() -> None:
    choose = random.Random(0)
    bound, refused = 0, 0
    for _ in range(5_000):
        signature = random_signature(choose)
        args = [choose.random() for _ in range(choose.randint(0, 4))]
        names = choose.sample("abcdefg", choose.randint(0, 3))
        kwargs = {name: choose.random() for name in names}
        binder = ArgumentBinder("f", signature)
        try:
            expected = signature.bind(*args, **kwargs)
        except TypeError:
            refused += 1
            with pytest.raises(TypeError, match=r"^f\(\) "):
                binder.bound(args, kwargs)
            continue
        expected.apply_defaults()
        bound += 1
        assert list(binder.bound(args, kwargs).items()) == list(expected.arguments.items())
    assert bound > 500
    assert refused > 500


def test_subclasses_inherit_the_signature_or_have_their_own() -> None:
    class Short(easydata.GreedyPacker):
        def __init__(self, eos_token_id: int) -> None:
            super().__init__(4, eos_token_id, include_segment_ids=False)

    class Same(easydata.GreedyPacker):
        pass

    assert list(inspect.signature(Short).parameters) == ["eos_token_id"]
    assert inspect.signature(Same) == inspect.signature(easydata.GreedyPacker)
    (row,) = Short(0).add([1, 2, 3])
    assert row.input_ids.tolist() == [1, 2, 3, 0]
    assert row.segment_ids is None
    assert Same(2, 0).add([5])[0].input_ids.tolist() == [5, 0]


def test_a_class_of_its_own_takes_options() -> None:
    class Reader(
        GreedyPackerSignature,
        options="PackOptions",
        positional=("name", "width=seq_length"),
        keywords=("overlong",),
        types={"width": "int | str"},
        texts={"name": "Its name.", "size": "Its size."},
    ):
        def _take(self, name: str, size: int = 3, *, options: dict[str, Any]) -> None:
            self.taken = (name, size, options)

    assert issubclass(Reader, TakesOptions)
    made: Any = Reader
    assert str(inspect.signature(made)) == (
        "(name: str, width: 'int | str' = 2048, *, overlong: "
        '\'Literal["split", "truncate", "drop", "error"]\' = \'split\', size: int = 3) -> \'None\''
    )
    assert made("a", overlong="drop").taken == ("a", 3, {"seq_length": 2048, "overlong": "drop"})
    with pytest.raises(KeyError, match="no_such"):
        type("Wrong", (GreedyPackerSignature,), vars(Reader) | {}, options="no_such")


def test_functions_have_the_options_of_the_writer() -> None:
    saved = inspect.signature(easydata.save_dataset).parameters
    iterated = inspect.signature(easydata.save_iterator).parameters
    writer = inspect.signature(easydata.ParquetWriter).parameters
    assert set(saved) == {"source", "format", *writer}
    assert set(iterated) == {"iterator", "format", *writer} - {"num_shards"}
    for name in ("overwrite", "num_threads", "encode", "progress"):
        assert saved[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert saved[name].default == writer[name].default
