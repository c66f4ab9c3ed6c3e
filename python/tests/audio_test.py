"""Recordings are read by the libraries that the extra `audio` brings, where the system has none."""
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import onnx_thaw
from conftest import SOURCE, python

FIXTURES = SOURCE / "tests" / "fixtures" / "inputs"
RECORDING = FIXTURES / "stereo.flac"  # of 44,100 samples a second: it is resampled
PACKAGES = ("_soundfile_data", "audresample")
LIBRARIES = ("libsndfile", "libaudresample")
PACKAGE = Path(onnx_thaw.__file__).parent

pytestmark = pytest.mark.skipif(not all(map(find_spec, PACKAGES)), reason="soundfile and audresample are not installed")


@pytest.fixture
def hidden(tmp_path):
    """Variables with which the system's loader finds neither libsndfile nor libsoxr."""
    folder = tmp_path / "hidden"
    folder.mkdir()
    for name in ("libsndfile.so.1", "libsoxr.so.0"):
        (folder / name).write_text("no library")
    return {"LD_LIBRARY_PATH": str(folder)}


def site(folder, *packages):
    """A folder of packages with this one, and of others what is installed."""
    shutil.copytree(PACKAGE, folder / "onnx_thaw")
    shutil.copytree(PACKAGE.parent / "onnx_thaw.libs", folder / "onnx_thaw.libs")
    for name in packages:
        (folder / name).symlink_to(find_spec(name).submodule_search_locations[0], target_is_directory=True)
    return folder


def command(program, out, tmp_path, **env):
    """What `thaw inputs` makes of the recording, and the libraries that it opens."""
    done = subprocess.run([program, "inputs", RECORDING, "--for", "qwen3_asr", "-o", out], capture_output=True, text=True, timeout=120,
                          check=False, env={**env, "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(tmp_path / "opened")})
    opened = [line.rpartition(" ")[2] for path in tmp_path.glob("opened.*") for line in path.read_text().splitlines() if "calling init:" in line]
    return done, [path for path in opened if "sndfile" in path or "soxr" in path or "audresample" in path]


def are_those_of_the_feature_extractor(made):
    golden = np.load(FIXTURES / "recordings.npz")
    np.testing.assert_allclose(made["input_features"], golden["stereo.input_features"], rtol=0, atol=1e-4)
    np.testing.assert_array_equal(made["input_features_mask"], golden["stereo.attention_mask"])


READ = """
import sys
import onnx_thaw
onnx_thaw.inputs([sys.argv[1]], sys.argv[2], preset="qwen3_asr")
print(*{line.split()[-1] for line in open("/proc/self/maps") if "sndfile" in line or "soxr" in line or "audresample" in line})
"""


def test_those_of_the_packages_are_used_where_the_system_has_none(tmp_path, hidden):
    done = python(READ, RECORDING, tmp_path / "api.npz", **hidden)
    assert done.returncode == 0, done.stderr
    assert sorted(Path(path).name.partition("_x")[0].partition(".")[0] for path in done.stdout.split()) == sorted(LIBRARIES)
    are_those_of_the_feature_extractor(np.load(tmp_path / "api.npz"))
    done, opened = command(PACKAGE / "bin" / "thaw", tmp_path / "cli.npz", tmp_path, **hidden)
    assert done.returncode == 0, done.stderr
    assert len(opened) == 2 and all(any(name in path for path in opened) for name in PACKAGES)
    are_those_of_the_feature_extractor(np.load(tmp_path / "cli.npz"))


def test_those_beside_the_package_come_before_those_of_the_system(tmp_path):
    packages = site(tmp_path / "site", *PACKAGES)
    done, opened = command(packages / "onnx_thaw" / "bin" / "thaw", tmp_path / "in.npz", tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(opened) == 2 and all(path.startswith(str(packages)) for path in opened)
    are_those_of_the_feature_extractor(np.load(tmp_path / "in.npz"))


@pytest.mark.parametrize("there, missing", [((), "libsndfile.so.1"), (PACKAGES[:1], "libsoxr.so.0")])
def test_the_extra_is_named_where_there_are_none(tmp_path, hidden, there, missing):
    packages = site(tmp_path / "site", *there)
    done, _ = command(packages / "onnx_thaw" / "bin" / "thaw", tmp_path / "in.npz", tmp_path, **hidden)
    assert done.returncode == 2 and not (tmp_path / "in.npz").exists()
    assert f"{missing} is not found" in done.stderr and "pip install 'onnx-thaw[audio]'" in done.stderr


def test_a_library_without_its_functions_is_an_error_with_its_path(tmp_path, hidden):
    packages = site(tmp_path / "site")
    (packages / "_soundfile_data").mkdir()
    shutil.copy(next((PACKAGE.parent / "onnx_thaw.libs").glob("libjpeg*")), packages / "_soundfile_data" / "libsndfile_any.so")
    done, _ = command(packages / "onnx_thaw" / "bin" / "thaw", tmp_path / "in.npz", tmp_path, **hidden)
    assert done.returncode == 2 and "libsndfile_any.so" in done.stderr and "has no function sf_" in done.stderr


def test_why_a_library_does_not_open_is_said(tmp_path, hidden):
    packages = site(tmp_path / "site")
    (packages / "_soundfile_data").mkdir()
    (packages / "_soundfile_data" / "libsndfile_any.so").write_text("no library")
    done, _ = command(packages / "onnx_thaw" / "bin" / "thaw", tmp_path / "in.npz", tmp_path, **hidden)
    assert done.returncode == 2 and "libsndfile_any.so: file too short" in done.stderr
