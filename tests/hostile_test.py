"""Files that no one should trust: one clear error and exit code 2; damaged ones never crash or hang the command."""
import pytest

from models import hostile


@pytest.mark.parametrize("name", hostile.REFUSED)
def test_a_hostile_file_gives_one_clear_error(thaw, tmp_path, name):
    path = hostile.REFUSED[name](tmp_path)
    run = thaw("inspect", path, code=2, timeout=20)
    lines = run.stderr.strip().splitlines()
    assert len(lines) == 1 and path.name in lines[0], run.stderr
    assert run.stdout == ""


@pytest.mark.parametrize("name", hostile.REFUSED_WHEN_RUN)
def test_weights_that_lie_stop_a_run(thaw, tmp_path, name):
    path = hostile.REFUSED_WHEN_RUN[name](tmp_path)
    thaw("inspect", path, code={0, 2}, timeout=20)
    run = thaw("run", path, code=2, timeout=20)
    assert len(run.stderr.strip().splitlines()) == 1 and path.name in run.stderr


@pytest.mark.parametrize("verb", ["inspect", "check"])
def test_damaged_files_never_crash_or_hang(thaw, tmp_path, verb):
    for seed in range(60):
        path = tmp_path / f"damaged{seed}.onnx"
        path.write_bytes(hostile.damaged(seed))
        run = thaw(verb, path, code={0, 1, 2}, timeout=20)
        assert run.returncode != 2 or run.stderr.strip(), f"seed {seed}: exit 2 without a word"
