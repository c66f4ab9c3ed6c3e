"""Sensitivity on a Dask cluster: the report of one process, whatever happens to the workers."""
import contextlib
import dataclasses
import functools
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import onnx
import pytest

import onnx_thaw as thaw
from conftest import SOURCE, mlp, numbers
from onnx_thaw import _shard

distributed = pytest.importorskip("distributed")
WIDTH = 64


@pytest.fixture
def model(save):
    return save(mlp(width=WIDTH, layers=8), "m")


@pytest.fixture
def samples(tmp_path):
    folder = tmp_path / "samples"
    folder.mkdir()
    for i in range(8):
        np.savez(folder / f"{i}.npz", x=numbers(2, 5 + i, WIDTH))
    return folder


@contextlib.contextmanager
def cluster(folder, workers=2, **options):
    with distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", local_directory=str(folder / "dask"),
                                  **options) as local, distributed.Client(local) as client:
        yield client


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


def parent_of(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def all_shards():
    """Processes of shards, by their parents."""
    found = {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            if b"onnx_thaw._shard" in file.read():
                found[pid] = parent_of(pid)
    return found


def shards_of(client):
    """Processes of shards of these workers."""
    workers = set(client.run(os.getpid).values())
    return [pid for pid, parent in all_shards().items() if parent in workers]


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_the_report_is_that_of_one_process(client, model, samples, tmp_path):
    seen = []
    options = {"data": samples, "to": ["int4", "int8-blocks"], "metric": thaw._thaw.ErrorMetric.COSINE, "keep": "a3"}
    alone = thaw.sensitivity(model, tmp_path / "alone", **options)
    shared = thaw.sensitivity(model, tmp_path / "shared", **options, client=client, shards=3, progress=lambda *each: seen.append(each))
    assert alone.accepted and shared.to_json() == alone.to_json()
    for name in ("report.json", "errors.csv", "report.html"):
        assert (tmp_path / "shared" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
    assert [path.name for path in tmp_path.glob("shared*")] == ["shared"]
    assert seen and seen == sorted(seen) and seen[-1][0] == seen[-1][1] and len({total for _, total in seen}) == 1
    assert thaw.plan(shared, max_bytes=shared.weight_bytes // 3).plan.precisions == thaw.plan(alone, max_bytes=alone.weight_bytes // 3).plan.precisions


def test_shards_and_models_in_memory(client, samples):
    proto = mlp(width=WIDTH, layers=3)
    alone = thaw.sensitivity(proto, data=samples, to="int4").to_json()
    assert thaw.sensitivity(proto, data=samples, to="int4", client=client).to_json() == alone
    assert thaw.sensitivity(thaw.load(proto), data=samples, to="int4", client=client, shards=7).to_json() == alone


def test_a_worker_that_is_lost_costs_its_shard(client, model, samples):
    alone = thaw.sensitivity(model, data=samples, to=["int4", "int8-blocks"]).to_json()
    lost = []

    def kill(done, total):
        if not lost and done >= total // 3:
            lost.append(next(pid for pid in client.run(os.getpid).values()))
            os.kill(lost[0], signal.SIGKILL)

    before = set(client.run(os.getpid).values())
    assert thaw.sensitivity(model, data=samples, to=["int4", "int8-blocks"], client=client, shards=4, progress=kill).to_json() == alone
    until(lambda: len(client.nthreads()) == 2)
    assert lost and set(client.run(os.getpid).values()) != before
    until(lambda: lost[0] not in all_shards().values() and 1 not in all_shards().values())


def test_a_shard_that_is_killed_is_measured_again(client, model, samples):
    alone = thaw.sensitivity(model, data=samples, to="int4").to_json()
    killed = []

    def kill(done, total):
        if not killed:
            killed.extend(shards_of(client)[:1])
            os.kill(killed[0], signal.SIGKILL)

    assert thaw.sensitivity(model, data=samples, to="int4", client=client, shards=2, progress=kill).to_json() == alone
    assert killed


def test_a_shard_that_always_ends_is_an_error(client, model, samples):
    workers, is_over = set(client.run(os.getpid).values()), threading.Event()

    def kill():
        while not is_over.is_set():
            for pid, parent in all_shards().items():
                if parent in workers:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(thaw.RuntimeFailed, match=r"shard \d of 2 was ended by signal 9"):
        thaw.sensitivity(model, data=samples, to="int4", client=client, shards=2, retries=1)
    is_over.set()
    killer.join()


def test_what_the_library_refuses_is_its_error_and_tried_once(client, model, samples, tmp_path):
    begun = time.monotonic()
    with pytest.raises(thaw.InvalidArgument, match="no output 'nix'") as alone:
        thaw.sensitivity(model, data=samples, outputs=["nix"])
    with pytest.raises(thaw.InvalidArgument) as shared:
        thaw.sensitivity(model, data=samples, outputs=["nix"], client=client, shards=4, retries=5)
    assert str(shared.value) == str(alone.value) and shared.value.expected == alone.value.expected
    assert time.monotonic() - begun < 30
    for options, error, message in [
            ({"data": tmp_path / "none"}, thaw.InvalidArgument, "no samples"), ({"data": samples, "metric": "nix"}, thaw.InvalidArgument, "nix"),
            ({"data": samples, "shards": -1}, thaw.InvalidArgument, "shards"),
            ({"data": samples, "shard": (1, 2)}, thaw.InvalidArgument, "one of both"),
            ({"data": samples, "resume": True}, thaw.InvalidArgument, "folder")]:
        with pytest.raises(error, match=message):
            thaw.sensitivity(model, **{"client": client, **options})
    until(lambda: not shards_of(client))
    assert thaw.sensitivity(model, data=samples, to="int4", client=client).accepted


def test_files_that_workers_do_not_see_are_sent(client, samples, tmp_path, monkeypatch):
    from onnx_thaw import _dask
    path = tmp_path / "m.onnx"
    onnx.save(mlp(width=WIDTH, layers=3), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    alone = thaw.sensitivity(path, data=samples, to="int4").to_json()
    one = thaw.sensitivity(path, data=samples / "3.npz", to="int4").to_json()
    states = _dask._Files.states
    monkeypatch.setattr(_dask._Files, "states", lambda self: {each: (size, 0) for each, (size, _) in states(self).items()})
    given, send = [], _dask._sent
    monkeypatch.setattr(_dask, "_sent", lambda *args: given.append(send(*args)) or given[-1])
    assert thaw.sensitivity(path, data=samples, to="int4", client=client).to_json() == alone
    assert sorted(given[0]) == sorted(["model/m.onnx", "model/weights.bin", *(f"data/samples/{i}.npz" for i in range(8))])
    assert thaw.sensitivity(path, data=samples / "3.npz", to="int4", client=client).to_json() == one
    assert not [name for _, folders, _ in os.walk(client.cluster.workers[0].local_directory) for name in folders if name.startswith("onnx_thaw_")]
    monkeypatch.setattr(_dask, "_MOST_SENT", 1000)
    with pytest.raises(thaw.InvalidArgument, match="more than the 1000 that are sent"):
        thaw.sensitivity(path, data=samples, to="int4", client=client)


@pytest.mark.parametrize("how", ["interrupt", "error"])
def test_a_call_that_ends_early_leaves_nothing_running(client, save, samples, tmp_path, how):
    path = save(mlp(width=WIDTH, layers=16), "long")
    kind = KeyboardInterrupt if how == "interrupt" else ZeroDivisionError

    sent = []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    def end(done, total):
        if how == "error":
            raise ZeroDivisionError
        if not sent:  # while it waits for the next message
            sent.append(None)
            threading.Timer(0.1, interrupt).start()

    with pytest.raises(kind):
        thaw.sensitivity(path, tmp_path / "report", data=samples, to=["int4", "int3"], client=client, shards=2, progress=end)
    assert how == "error" or time.monotonic() - sent[1] < 5  # a second on a machine that has nothing else to do
    begun = time.monotonic()
    until(lambda: not shards_of(client), 10)
    assert time.monotonic() - begun < 5
    assert client.submit(sum, [1, 2]).result() == 3
    assert not (tmp_path / "report").exists()
    # It goes on from there.
    alone = thaw.sensitivity(path, data=samples, to=["int4", "int3"]).to_json()
    before = sum(file.read_bytes().count(b"\n") for file in (tmp_path / "report.shards").glob("*/measured.jsonl"))
    went_on = thaw.sensitivity(path, tmp_path / "report", data=samples, to=["int4", "int3"], client=client, resume=True)
    assert before > 0 and went_on.to_json() == alone
    assert not (tmp_path / "report.shards").exists()


def test_what_is_no_cluster(model, samples, tmp_path):
    with pytest.raises(thaw.InvalidArgument, match="asynchronous"):
        thaw.sensitivity(model, data=samples, client=object())
    with cluster(tmp_path, workers=0) as empty, pytest.raises(thaw.InvalidArgument, match="no workers"):
        thaw.sensitivity(model, tmp_path / "report", data=samples, client=empty)
    assert not list(tmp_path.glob("report*"))


def test_journals_are_left_out_where_a_worker_cannot_write_them(client, model, samples, tmp_path, monkeypatch):
    from onnx_thaw import _dask
    sights = _dask._sights
    monkeypatch.setattr(_dask, "_sights", lambda *given: {name: dataclasses.replace(each, writes_folder=False) for name, each in sights(*given).items()})
    alone = thaw.sensitivity(model, data=samples, to="int4").to_json()
    assert thaw.sensitivity(model, tmp_path / "report", data=samples, to="int4", client=client).to_json() == alone
    with pytest.raises(thaw.InvalidArgument, match=r"write to .*report\.shards"):
        thaw.sensitivity(model, tmp_path / "report", data=samples, to="int4", client=client, resume=True)
    assert [path.name for path in tmp_path.glob("report*")] == ["report"]
    with pytest.raises(thaw.InvalidArgument, match="no samples"):
        thaw.sensitivity(model, tmp_path / "other", data=tmp_path / "none", client=client)
    assert not list(tmp_path.glob("other*"))


def test_a_shard_has_the_threads_and_the_memory_of_its_worker(model, samples, tmp_path, monkeypatch):
    from onnx_thaw import _dask
    alone = thaw.sensitivity(model, data=samples, to="int4").to_json()
    given, answer = [], _dask._Measuring._answer
    monkeypatch.setattr(_dask._Measuring, "_answer", lambda self, *args: given.append(args[-1]) or answer(self, *args))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=3, processes=False, memory_limit="3GB", dashboard_address=":0",
                                  local_directory=str(tmp_path / "dask")) as local, distributed.Client(local) as client:
        assert thaw.sensitivity(model, data=samples, to="int4", client=client).to_json() == alone
    assert sorted(each.shard for each in given) == [(1, 2), (2, 2)]
    assert all(each.threads == 3 and 1e9 < each.max_memory < 3e9 for each in given)


def test_the_example_of_the_guide(client, tmp_path, monkeypatch, capsys):
    block, = re.findall(r"^```python\n(.*?)^```", (SOURCE / "docs" / "guide" / "sensitivity.md").read_text("utf-8"), re.M | re.S)
    folder = tmp_path / "example"
    subprocess.run([sys.executable, SOURCE / "tools" / "example.py", folder], check=True, capture_output=True, timeout=300)
    names = {}
    with monkeypatch.context() as there:
        there.chdir(folder)
        try:
            exec(block.replace('"scheduler:8786"', repr(client.scheduler.address)), names)
        finally:
            names["client"].close()
    assert names["report"].accepted and (folder / "shared" / "report.html").exists()
    assert "int4: the most sensitive of" in capsys.readouterr().out


def test_errors_pass_between_processes():
    for kind in vars(thaw).values():
        if isinstance(kind, type) and issubclass(kind, thaw.Error) and kind is not thaw.Refused:
            error = kind("what")
            error.code, error.what, error.where, error.next_step = "c", "what", "where", "next"
            again = pickle.loads(pickle.dumps(error))
            assert type(again) is kind and str(again) == "what" and vars(again) == vars(error)


def test_a_shard_of_several_mebibytes_is_read_whole(tmp_path):
    """Larger than what one read of a pipe gives."""
    measure = functools.partial(thaw.sensitivity, keep=["x" * (5 << 20)])
    asked = pickle.dumps(_shard.Shard(measure, tmp_path / "none.onnx", tmp_path / "none.npz", None, (1, 1), 1, 0))
    with subprocess.Popen([sys.executable, "-m", "onnx_thaw._shard"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        run.stdin.write(asked)
        run.stdin.flush()
        kind, error = pickle.load(run.stdout)
    assert kind == "error" and "none.onnx" in str(error)
