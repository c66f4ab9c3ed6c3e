"""`sensitivity` on the workers of a Dask cluster: a future for each shard. Dask schedules, Thaw measures.

A shard is a process that the worker starts (`_shard`), one at a time on each worker, with the worker's threads and memory. So it ends
at once when the call does, and what crashes it leaves the worker alone.
"""
from __future__ import annotations

import contextlib
import os
import pickle
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from distributed import Client, Future, Worker, WorkerPlugin, get_worker

from onnx_thaw import _thaw
from onnx_thaw._errors import Error, InvalidArgument, RuntimeFailed
from onnx_thaw._models import ModelLike, as_file, load
from onnx_thaw._shard import Shard

_MOST_SENT = 1 << 30  # bytes of files that are sent to workers
_BETWEEN = 0.2  # seconds between two messages on a shard's progress
_RESOURCE = "onnx_thaw"  # of which a worker has one and a shard takes one: they do not share its threads


@dataclass(frozen=True)
class _Files:
    """The files of a call.

    Attributes:
        model: The model, then its external data, all below one folder; of a folder of models all that is in it.
        samples: Those that may be samples.
        data: The file or the folder of samples; None of a folder of models, which are measured on prompts.
    """

    model: list[Path]
    samples: list[Path]
    data: Path | None

    def states(self) -> dict[Path, tuple[int, int]]:
        """Size and time of each."""
        found = {path: path.stat() for path in [*self.model, *self.samples]}
        return {path: (state.st_size, state.st_mtime_ns) for path, state in found.items()}


@dataclass(frozen=True)
class _Sight:
    """What a worker has of a call."""

    version: str
    unseen: Path | None  # the first file that is another one there, or none
    writes_folder: bool


def _look(states: dict[Path, tuple[int, int]], folder: Path | None) -> _Sight:
    """Runs on workers."""
    def state_of(path: Path) -> tuple[int, int] | None:
        try:
            state = path.stat()
        except OSError:
            return None
        return state.st_size, state.st_mtime_ns

    return _Sight(_thaw.version(), next((path for path, state in states.items() if state_of(path) != state), None),
                  folder is not None and os.access(folder, os.W_OK | os.X_OK))


class _Measuring(WorkerPlugin):
    """What every worker has while a call lasts, those too that come later: the files, if they are sent, and the shards that run."""

    def __init__(self, name: str, shard: Shard, sent: dict[str, bytes]) -> None:
        self.name = name
        self._shard = shard
        self._sent = sent
        self._is_over = False

    async def setup(self, worker: Worker) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._files: Path | None = None
        if self._sent:
            self._files = Path(tempfile.mkdtemp(prefix="onnx_thaw_", dir=worker.local_directory))
            for name, content in self._sent.items():
                path = self._files / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            data = self._shard.data
            self._shard = replace(self._shard, model=self._files / self._shard.model, data=data and self._files / data)
            self._sent = {}
        await worker.set_resources(**{_RESOURCE: 1})

    def teardown(self, worker: Worker) -> None:
        self._is_over = True
        for process in list(self._running):
            process.kill()
        if self._files is not None:
            shutil.rmtree(self._files, ignore_errors=True)

    def measure(self, worker: Worker, number: int) -> tuple[str, Any, int]:
        """The answer of a shard's process, and of how many runs of nodes it is."""
        limit = worker.memory_manager.memory_limit
        held = worker.monitor.proc.memory_info().rss
        folder = self._shard.folder
        count = self._shard.shard[1]
        given = replace(self._shard, shard=(number, count), threads=worker.state.nthreads,
                        folder=folder and folder / _folder_name(number, count), max_memory=max(limit - held, 1) if limit else 0)
        process = subprocess.Popen([sys.executable, "-P", "-m", "onnx_thaw._shard"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._running.add(process)
        try:
            if self._is_over:
                process.kill()
            return self._answer(worker, process, given)
        finally:
            process.kill()
            process.wait()
            self._running.discard(process)

    def _answer(self, worker: Worker, process: subprocess.Popen[bytes], given: Shard) -> tuple[str, Any, int]:
        assert process.stdin is not None and process.stdout is not None
        said, total = 0.0, 0
        try:
            process.stdin.write(pickle.dumps(given))
            process.stdin.flush()
            while True:
                kind, what = pickle.load(process.stdout)
                if kind != "progress":
                    return kind, what, total
                done, total = what
                if time.monotonic() - said >= _BETWEEN:
                    said = time.monotonic()
                    worker.log_event(self.name, (given.shard[0], done, total))
        except (BrokenPipeError, EOFError, pickle.UnpicklingError):
            ended = process.wait()
        how = f"was ended by signal {-ended}" if ended < 0 else f"ended with code {ended}"
        raise RuntimeFailed(f"the process of shard {given.shard[0]} of {given.shard[1]} {how} on {worker.address}")


def _measure(name: str, number: int) -> tuple[str, Any, int]:
    """Runs on a worker, as a task."""
    worker = get_worker()
    plugin = worker.plugins[name]
    assert isinstance(plugin, _Measuring)
    return plugin.measure(worker, number)


def _folder_name(number: int, count: int) -> str:
    return f"{number}-of-{count}"


def _count_of_earlier(folder: Path) -> int | None:
    """Into how many shards the call was divided whose journals are in `folder`; None where there are none, or several such calls."""
    found = [re.fullmatch(r"\d+-of-(\d+)", path.name) for path in folder.glob("*-of-*")]
    counts = {int(each[1]) for each in found if each}
    return counts.pop() if len(counts) == 1 else None


def read_with(asked: dict[str, Any]) -> list[Path]:
    """The files that prompts for a folder of models are read from; the checkpoint's folder stands for what is in it."""
    found = [*asked.get("files", ()), *(frame for clip in asked.get("clips", ()) for frame in clip)]
    checkpoint = asked.get("checkpoint")
    return found + ([] if checkpoint is None else _inside(checkpoint))


def _inside(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_file()] if folder.is_dir() else []


def _files_of(model: Path, data: Path | None, read: list[Path]) -> _Files:
    if data is None:
        return _Files(_inside(model), read, None)
    loaded = load(model)
    if data.is_dir():
        samples = [path for path in sorted(data.iterdir()) if path.is_file()]
    else:
        samples = [data] if data.exists() else []  # that there is none is the library's to say
    return _Files([model, *(path.absolute() for path in loaded.data_files)], samples, data)


def _sent(files: _Files, preprocessing: list[str], why: str) -> dict[str, bytes]:
    """Contents by path on the worker."""
    if files.data is None:
        raise InvalidArgument(f"{why}; put the folder of models and what prompts show in folders that every worker sees")
    for word in preprocessing:
        value = word.partition("=")[2]
        if value and os.path.exists(value):
            raise InvalidArgument(f"{why}, and '{word}' names a file that is not sent to them; put all in a folder that every worker sees")
    size = sum(path.stat().st_size for path in [*files.model, *files.samples])
    if size > _MOST_SENT:
        raise InvalidArgument(f"{why}, and model and samples are {size} bytes, more than the {_MOST_SENT} that are sent to them; "
                              "put them in a folder that every worker sees")
    above = files.model[0].parent
    contents = {f"model/{path.relative_to(above)}": path.read_bytes() for path in files.model}
    data = f"data/{files.data.name}"
    contents.update({data if path == files.data else f"{data}/{path.name}": path.read_bytes() for path in files.samples})
    return contents


def _sights(client: Client, files: _Files, folder: Path | None) -> dict[str, _Sight]:
    """By the worker's address."""
    try:
        found: Any = client.run(_look, files.states(), folder)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("onnx_thaw"):
            raise
        raise InvalidArgument("a worker does not have the package onnx_thaw; install it there: "
                              f"pip install 'onnx-thaw[runtime,dask]=={_thaw.version()}'") from error
    sights: dict[str, _Sight] = found
    if not sights:
        raise InvalidArgument("the client has no workers; start some, and wait for them with client.wait_for_workers(1)")
    for address, sight in sights.items():
        if sight.version != _thaw.version():
            raise InvalidArgument(f"the worker {address} has onnx_thaw {sight.version}, and the client {_thaw.version()}; "
                                  "install the same version")
    return sights


class _Progress:
    """The sum over all shards. One that is measured anew, its worker being lost, does not take the sum back."""

    def __init__(self, count: int, call: Callable[[int, int], None] | None) -> None:
        self._count = count
        self._call = call
        self._done: dict[int, int] = {}
        self._totals: dict[int, int] = {}

    def take(self, number: int, done: int, total: int) -> None:
        self._done[number] = max(done, self._done.get(number, 0))
        self._totals[number] = max(total, self._totals.get(number, 0))
        if self._call is not None:  # shards that have not begun are as long as the longest that has
            unknown = (self._count - len(self._totals)) * max(self._totals.values())
            self._call(sum(self._done.values()), sum(self._totals.values()) + unknown)


def _answer_of(future: Future, number: int, count: int) -> tuple[str, int]:
    """The report of a shard that is done, as JSON, and of how many runs of nodes it is."""
    if future.status != "finished":
        error: Any = future.exception() if future.status == "error" else None
        if isinstance(error, Error):
            raise error
        raise RuntimeFailed(f"shard {number} of {count} has no result: {error or future.status}; where workers run out of memory, "
                            "give them more, or lower max_memory") from error
    kind, what, total = future.result()
    if kind == "error":
        raise what
    return what, total


def _gather(client: Client, name: str, count: int, retries: int, progress: _Progress) -> list[str]:
    """The reports of all shards."""
    messages: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
    client.subscribe_topic(name, lambda event: messages.put(("progress", event[1])))
    futures: list[Future] = []
    numbers: dict[Any, int] = {}
    reports: dict[int, str] = {}
    try:
        for number in range(1, count + 1):
            future = client.submit(_measure, name, number, key=f"{name}-{number}", resources={_RESOURCE: 1}, retries=retries, pure=False)
            futures.append(future)
            numbers[future.key] = number
            future.add_done_callback(lambda done: messages.put(("done", done)))
        while len(reports) < count:
            kind, what = messages.get()
            if kind == "progress":
                progress.take(*what)
            else:
                number = numbers[what.key]
                reports[number], total = _answer_of(what, number, count)
                progress.take(number, total, total)
    finally:
        client.unsubscribe_topic(name)
        client.cancel(futures)
    return [reports[number] for number in range(1, count + 1)]


@contextlib.contextmanager
def _folder_of_shards(folder: Path | None) -> Iterator[Path | None]:
    """Where shards write their journals: beside the report's folder. However the call ends, it is removed where nothing is in it."""
    if folder is None:
        yield None
        return
    beside = folder.absolute().with_name(folder.absolute().name + ".shards")
    beside.mkdir(parents=True, exist_ok=True)
    try:
        yield beside
    finally:
        with contextlib.suppress(OSError):
            beside.rmdir()


def sensitivity(client: Client, measure: Callable[..., _thaw.SensitivityReport], model: ModelLike, folder: Path | None, data: Path | None,
                preprocessing: list[str], shards: int | None, retries: int, resume: bool,
                progress: Callable[[int, int], None] | None, read: list[Path]) -> _thaw.SensitivityReport:
    """Measures shards on the workers of `client`, and merges them.

    Args:
        client: A client that is not asynchronous.
        measure: `sensitivity` with its options but those that are named here.
        model: The model, or a folder of models.
        folder: For the report; None: none.
        data: Samples; None of a folder, which is measured on prompts.
        preprocessing: Options of `thaw inputs`.
        shards: How many; None: one for each worker.
        retries: How often a shard whose process was ended is measured again.
        resume: Go on with what the folder has of this run.
        progress: Called with runs of nodes done and in total, of all shards.
        read: Of a folder of models: what its prompts are read from.

    Returns:
        The report, as one process makes it.
    """
    if not isinstance(client, Client) or client.asynchronous:
        raise InvalidArgument("client is no dask.distributed.Client that waits; expected one made without asynchronous=True")
    if shards is not None and shards < 1:
        raise InvalidArgument(f"shards is {shards}; expected 1 or more, or None for one on each worker")
    if resume and folder is None:
        raise InvalidArgument("there is nothing to resume from without a folder; name that of the call that was stopped")
    name = f"onnx_thaw-{uuid.uuid4().hex}"
    named = str(model) if data is None else str(load(model).path)
    with _folder_of_shards(folder) as beside:
        with as_file(model) as path:
            files = _files_of(path.absolute(), data and data.absolute(), read)
            sights = _sights(client, files, beside)
            of_shards = beside if all(each.writes_folder for each in sights.values()) else None
            if resume and of_shards is None:
                raise InvalidArgument(f"not every worker can write to '{beside}', from which the call would go on; "
                                      "name a folder that all workers see")
            count = shards or (_count_of_earlier(of_shards) if resume and of_shards else None) or len(sights)
            unseen = next(((address, each.unseen) for address, each in sights.items() if each.unseen), None)
            sees_all = unseen is None
            sent = {} if unseen is None else _sent(files, preprocessing, f"the worker {unseen[0]} does not have '{unseen[1]}' as it is here")
            own = path.absolute() if data is None else files.model[0]
            where = (own, files.data) if sees_all else (Path("model", path.name), data and Path("data", data.absolute().name))
            if of_shards is not None and not resume:
                for number in range(1, count + 1):
                    Path(of_shards, _folder_name(number, count), "measured.jsonl").unlink(missing_ok=True)
            client.register_plugin(_Measuring(name, Shard(measure, *where, of_shards, (1, count), 1, 0), sent), name=name)
            try:
                reports = _gather(client, name, count, retries, _Progress(count, progress))
            finally:  # what still runs on a worker ends with it
                client.unregister_worker_plugin(name)
        with tempfile.TemporaryDirectory(prefix="onnx_thaw_") as merging:
            for number, text in enumerate(reports, 1):
                Path(merging, f"{number}.json").write_text(text, "utf-8")
            merged = _thaw.merge_reports([Path(merging, f"{number}.json") for number in range(1, count + 1)],
                                         "" if folder is None else folder, "" if named == "." else named, str(data or ""))
        if of_shards is not None:
            for number in range(1, count + 1):
                shutil.rmtree(of_shards / _folder_name(number, count), ignore_errors=True)
    return merged
