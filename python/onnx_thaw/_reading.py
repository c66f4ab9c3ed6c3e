"""Verbs that read a model and change nothing."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from onnx_thaw import _thaw
from onnx_thaw._calls import verb
from onnx_thaw._models import ModelLike, load
from onnx_thaw._options import Inputs, Sizes, Values, feeds, many, named_sizes, text_of_sizes


class Inspection:
    """What `inspect` found: dims of every tensor as expressions of the inputs' sizes.

    Attributes:
        found: inputs, outputs, tensors, symbols, problems and counts.
    """

    def __init__(self, model: _thaw.Model, options: _thaw.InspectOptions) -> None:
        self._model = model
        self._options = options
        self.found: _thaw.Inspection = _thaw.inspect(model, options)

    @property
    def inputs(self) -> list[_thaw.TensorInfo]:
        """Inputs with their dims."""
        return self.found.inputs

    @property
    def outputs(self) -> list[_thaw.TensorInfo]:
        """Outputs with their dims."""
        return self.found.outputs

    @property
    def tensors(self) -> list[_thaw.TensorInfo]:
        """Outputs of all nodes, in the file's order."""
        return self.found.tensors

    @property
    def symbols(self) -> list[_thaw.SizeSymbol]:
        """The sizes that dims are expressions of."""
        return self.found.symbols

    def to_json(self) -> str:
        """What `thaw inspect --format json` prints."""
        return _thaw.inspect_json(self._model, self._options)

    def to_text(self, *, all: bool = False) -> str:
        """What `thaw inspect` prints."""
        return _thaw.inspect_text(self._model, self._options, all)

    def to_pandas(self) -> Any:
        """`tensors` as a pandas.DataFrame, a row each."""
        return self.found.to_pandas()

    def to_html(self) -> str:
        """The graph as a page."""
        return _thaw.inspect_html(self._model, self._options)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from onnx_thaw._notebook import frame
        return frame(self.to_html())


@verb
def inspect(model: ModelLike, *, sizes: Sizes = "", tensors: bool = False, weights: bool = False, cost: bool = False,
            only: str = "") -> Inspection:
    """Describes a model without running it: dims of every tensor as expressions of the inputs' sizes.

    Args:
        model: The model.
        sizes: One number for each size that is known; the others stay symbols.
        tensors: List the elements of small integer tensors, and every tensor in text.
        weights: List the initializers.
        cost: Operations and bytes moved, as expressions of the sizes.
        only: Shell pattern for the names of listed tensors.

    Returns:
        What was found. No weight is read.

    Raises:
        InvalidArgument: a size that the model does not have.

    Examples:
        >>> tower = thaw.inspect("tower.onnx")
        >>> tower.outputs[0].dims
        ['batch', 'seq', '64']
        >>> thaw.inspect("tower.onnx", sizes={"batch": 2, "seq": 7}).outputs[0].dims
        ['2', '7', '64']
    """
    options = _thaw.InspectOptions()
    options.sizes = named_sizes(sizes)
    options.tensors, options.weights, options.cost, options.only = tensors, weights, cost, only
    return Inspection(load(model), options)


@verb
def diff(a: ModelLike, b: ModelLike, *, weights: bool = True, infer: bool = True,
         progress: Callable[[int, int], None] | None = None) -> _thaw.DiffResult:
    """Compares two models: inputs and outputs, opsets, nodes, attributes, weights, declared and inferred dims.

    Args:
        a: The first model.
        b: The second model.
        weights: Compare the elements of weights; else only their types.
        infer: Compare inferred dims.
        progress: Called with bytes of weights done and in total.

    Returns:
        The differences; `accepted` where there are none.

    Examples:
        >>> thaw.diff("tower.onnx", "tower.onnx").accepted
        True
        >>> thaw.diff("trace_1x7.onnx", "trace_2x11.onnx").accepted
        False
    """
    options = _thaw.DiffOptions()
    options.weights, options.infer = weights, infer
    if progress is not None:
        options.progress = progress
    return _thaw.diff(load(a), load(b), options)


@verb
def check(model: ModelLike, *, sizes: Sizes = "", target: str = "", select: str | Iterable[str] = (),
          ignore: str | Iterable[str] = (), run: bool = False, inputs: Inputs | None = None, values: Values | None = None,
          seed: int = 0, opt: Sizes = "") -> _thaw.CheckReport:
    """Finds errors in sizes, types and declarations, with cause and fix; and proves a model over ranges of sizes.

    Args:
        model: The model.
        sizes: Ranges to prove the model over: "batch=1..8,height=64..1024:32".
        target: One of `targets()`: find what this backend does not support. "all": how far each supports the model, in
            `targets` of the report.
        select: Codes of rules that apply, or how they begin ("THAW03"); all by default.
        ignore: Codes of rules that do not apply.
        run: Run the model at the sizes that the proof finds to fail, and add the outcome to the finding.
        inputs: For these runs: arrays by input name; the rest is drawn.
        values: For these runs: elements of small inputs.
        seed: Of what is drawn.
        opt: With `sizes`: the best size in each range, for `profiles` of the report, as TensorRT wants them.

    Returns:
        The findings; `accepted` where none is an error or a warning.

    Raises:
        InvalidArgument: an unknown code, size or target.

    Examples:
        >>> report = thaw.check("detector.onnx")
        >>> report.accepted, report.findings[0].code
        (False, 'THAW003')
        >>> thaw.check("tower.onnx", sizes={"batch": range(1, 9), "seq": range(1, 513)}).accepted
        True
    """
    options = _thaw.CheckOptions()
    options.sizes, options.target, options.run = text_of_sizes(sizes), target, run
    options.only, options.ignore = many(select), many(ignore)
    options.feeds = feeds(inputs, values, seed)
    options.opt = named_sizes(opt) if opt else []
    return _thaw.check(load(model), options)


@verb
def prove(statement: str) -> _thaw.SizeStatement:
    """Proves a statement on sizes for all values of its symbols, which are 0 or more.

    Args:
        statement: Conditions with ==, <=, >=, < or > between expressions, joined by "and"; what is given stands before "=>":
            "h % 32 == 0 and w <= h => floor(h/8) % 4 == 0".

    Returns:
        The verdict, with the smallest counterexample that was found.

    Raises:
        InvalidArgument: the text is no statement.

    Examples:
        >>> thaw.prove("h % 28 == 0 => floor(h/14) % 2 == 0").holds
        True
        >>> refuted = thaw.prove("h % 14 == 0 => floor(h/14) % 2 == 0")
        >>> refuted.holds, refuted.counterexample
        (False, [('h', 14)])
    """
    return _thaw.prove(statement)


@verb
def rules() -> list[_thaw.RuleInfo]:
    """The rules of `check`, sorted by code.

    Examples:
        >>> [rule.code for rule in thaw.rules()][:3]
        ['THAW001', 'THAW002', 'THAW003']
    """
    return _thaw.rules()


@verb
def targets() -> list[str]:
    """The names that `check` takes as targets.

    Examples:
        >>> "cuda" in thaw.targets()
        True
    """
    return _thaw.targets()


@verb
def profiles_json(profiles: Iterable[_thaw.ShapeProfile]) -> str:
    """What `thaw check --profiles` writes: profiles by input, as arguments of trtexec, and as options of ONNX Runtime's provider.

    Args:
        profiles: Those of `check` with `opt`.
    """
    return _thaw.profiles_json(list(profiles))
