"""`sensitivity` on Dask: two workers of one thread each against one such worker, and what a worker costs that is lost.

    python bench/dask_sharing.py [--depth 12] [--width 256] [--rounds 3] [--lose]

With onnx_thaw (PYTHONPATH=build/python) and distributed. A tower of random weights, 8 samples of 40 to 54 tokens, INT4. One and two
workers take turns; the ratio is that of the fastest of each. A shard is a process that loads the model, optimizes it and keeps what
passes between sections before it measures, so that this is done once in each.
"""
import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import onnx_thaw as thaw
import sensitivity_nets as nets
from figures import table
from measure import machine


def measured(client, folder, options, count, progress=None):
    begun = time.perf_counter()
    report = thaw.sensitivity(folder / "tower.onnx", data=folder / "data", to="int4", mode=options.mode, client=client, shards=count,
                              progress=progress)
    return time.perf_counter() - begun, report.to_json()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, default=12)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mode", default="exact", choices=["exact", "fast"])
    parser.add_argument("--lose", action="store_true", help="also end a worker at a third of the run")
    options = parser.parse_args()
    import distributed
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        onnx.save(nets.tower(options.depth, options.width), folder / "tower.onnx")
        (folder / "data").mkdir()
        rng = np.random.default_rng(0)
        for i in range(8):
            np.savez(folder / "data" / f"{i}.npz", x=rng.standard_normal((1, 40 + 2 * i, options.width)).astype(np.float32))

        def cluster(workers):
            return distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", local_directory=f"{folder}/dask{workers}")

        with cluster(1) as one, cluster(2) as two, distributed.Client(one) as alone, distributed.Client(two) as shared:
            seconds = {1: [], 2: []}
            reports = set()
            for _ in range(options.rounds):
                for count, client in ((1, alone), (2, shared)):
                    taken, report = measured(client, folder, options, count)
                    seconds[count].append(taken)
                    if options.mode == "exact":
                        reports.add(report)
            print(f"{machine()}; exact reports are equal: {len(reports) <= 1}")
            rows = [[str(count), *(f"{each:.2f}" for each in taken)] for count, taken in seconds.items()]
            table(["workers", *(f"round {i + 1}, s" for i in range(options.rounds))], rows)
            print(f"ratio {min(seconds[2]) / min(seconds[1]):.2f}; by round " + ", ".join(f"{b / a:.2f}" for a, b in zip(seconds[1], seconds[2], strict=True)))
            if options.lose:
                lost = []

                def lose(done, total):
                    if not lost and done >= total // 3:
                        lost.append(next(iter(shared.run(os.getpid).values())))
                        os.kill(lost[0], signal.SIGKILL)

                taken, report = measured(shared, folder, options, 2, lose)
                print(f"with a worker lost at a third: {taken:.2f} s, the same report: {not reports or report in reports}")


if __name__ == "__main__":
    main()
