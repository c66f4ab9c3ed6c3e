"""One shard of `sensitivity` as a process of its own, which may be ended at any time: `python -m onnx_thaw._shard`.

On stdin it reads a pickled `Shard`. On stdout it writes pickled pairs: ("progress", (done, total)) as it goes on, at last
("report", the JSON text) or ("error", the exception). It ends when stdin does, so that it never outlives who started it.
"""
from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from onnx_thaw import _thaw


@dataclass(frozen=True)
class Shard:
    """What is measured, and with how much of the machine.

    Attributes:
        measure: `sensitivity` with its options but those that are named here.
        model: Path of the model.
        data: Path of the samples; None of a folder of models, which is measured on the prompts that `measure` has.
        folder: Of the shard's report and journal, from which it goes on; None: none.
        shard: Which of how many, from 1.
        threads: At most so many compute at a time.
        max_memory: In bytes; 0: what there is.
    """

    measure: Callable[..., _thaw.SensitivityReport]
    model: Path
    data: Path | None
    folder: Path | None
    shard: tuple[int, int]
    threads: int
    max_memory: int


def _end_with_stdin() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


def _report_of(given: Shard, progress: Callable[[int, int], None]) -> str:
    limits = _thaw.Limits()
    limits.threads, limits.max_memory = given.threads, given.max_memory
    _thaw.set_limits(limits)
    report = given.measure(given.model, given.folder, data=given.data, shard=given.shard, resume=given.folder is not None,
                           progress=progress)
    return report.to_json()


def main() -> None:
    """Measures the shard that stdin names."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints is no answer
    with os.fdopen(os.dup(0), "rb") as asked:  # buffered: one read of a pipe gives 64 KiB at most
        given = pickle.load(asked)
    threading.Thread(target=_end_with_stdin, daemon=True).start()

    def say(kind: str, what: object) -> None:
        answers.write(pickle.dumps((kind, what)))
        answers.flush()

    try:
        say("report", _report_of(given, lambda done, total: say("progress", (done, total))))
    except Exception as error:
        say("error", error)
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
