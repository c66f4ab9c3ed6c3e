"""Models in ONNX Runtime."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from onnx_thaw import _thaw
from onnx_thaw._models import ModelLike, path_or_model
from onnx_thaw._options import Inputs, Providers, choice
from onnx_thaw._options import providers as _providers


class Session:
    """A model that is loaded once and runs many times, in a process of its own: a crash of it is an error here.

    Args:
        model: The model.
        threads: Intra-op threads; 0: one for each core.
        optimization: "none", "basic", "extended" or "all".
        providers: Execution providers, in their order: "cuda", ["tensorrt", "cuda:device_id=1"]; by default those of
            `set_providers`.
        profile: Record where each node runs, and for how long, for `placement`.

    Raises:
        RuntimeFailed: ONNX Runtime does not load it.
        RuntimeMissing: there is no ONNX Runtime.

    Examples:
        >>> tower = thaw.Session("tower.onnx")
        >>> tower.run({"x": np.zeros((2, 5, 64), np.float32)})["y"].shape
        (2, 5, 64)
    """

    def __init__(self, model: ModelLike, *, threads: int = 0, optimization: str = "all", providers: Providers = (),
                 profile: bool = False) -> None:
        options = _thaw.SessionOptions()
        options.threads, options.optimization = threads, choice(_thaw.Optimization, optimization)
        options.providers, options.profile = _providers(providers), profile
        path, given = path_or_model(model)
        self._session = _thaw.Session(path, options) if given is None else _thaw.Session(given, options)

    @property
    def inputs(self) -> list[_thaw.Port]:
        """Inputs, without dims."""
        return self._session.inputs

    @property
    def outputs(self) -> list[_thaw.Port]:
        """Outputs, without dims."""
        return self._session.outputs

    def run(self, inputs: Inputs, outputs: Iterable[str] = ()) -> dict[str, Any]:
        """Runs the model.

        Args:
            inputs: Arrays by input name, of the inputs' dtypes: NumPy's, or what has `__dlpack__`.
            outputs: Names of the outputs to return; all by default.

        Returns:
            NumPy arrays by output name. A sequence of tensors is NAME[0], NAME[1], …

        Raises:
            InvalidArgument: an input is missing or does not match.
            RuntimeFailed: it does not run.
        """
        return self._session.run(dict(inputs), list(outputs))

    @property
    def runtime(self) -> _thaw.Runtime:
        """ONNX Runtime's version, and the execution providers besides its CPU."""
        return self._session.runtime

    def placement(self) -> _thaw.Placement:
        """Where each node ran so far, and for how long; once, of a session with `profile`."""
        return self._session.placement()

    def take_warnings(self) -> list[str]:
        """Warnings of ONNX Runtime since the last call."""
        return self._session.take_warnings()
