"""What is printed fits the terminal that it goes to, and is plain where it goes elsewhere."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import unicodedata

import pytest
from onnx import helper

from check_help_test import clash, frozen
from inspect_json_test import FLOAT, model

ESCAPES = re.compile(r"\x1b\[[0-9;]*[mK]|\r")
DRAWN_OVER = re.compile(r"\r\x1b\[K[^\r\n]*(?=\r\x1b\[K)")


def as_shown(text):
    """What stands there in the end: lines of progress are drawn over."""
    return ESCAPES.sub("", DRAWN_OVER.sub("", text))


def width_of(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


@pytest.fixture
def on_terminal(thaw):
    """on_terminal(columns, args…): (what a terminal of that width shows, exit code)."""
    def show(columns, *args, env=None, cwd=None):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "NO_COLOR", "FORCE_COLOR")}
        environment |= {"TERM": "xterm"} | (env or {})
        process = subprocess.Popen([thaw.path, *map(str, args)], stdout=theirs, stderr=theirs, env=environment, cwd=cwd)
        os.close(theirs)
        seen = b""
        try:
            while piece := os.read(ours, 1 << 16):
                seen += piece
        except OSError:
            pass  # the other side is closed
        os.close(ours)
        return seen.decode(), process.wait()
    return show


def deep(names=("image", "height", "width")):
    """Sizes whose expressions grow, of inputs with names of any script."""
    x, h, w = names
    nodes, last = [], x
    for i in range(5):
        nodes.append(helper.make_node("AveragePool", [last], [f"p{i}"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]))
        last = f"p{i}"
    return model(nodes, [(x, FLOAT, ["batch", 3, h, w])], [(last, FLOAT, None)])


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("make", [clash, lambda: frozen(9), deep, lambda: deep(("画像", "高さ", "幅"))])
def test_no_screen_is_wider_than_the_terminal(on_terminal, save, tmp_path, columns, make):
    path = save(make())
    for args in (["inspect", path], ["inspect", path, "--tensors"], ["check", path], ["check", path, "--sizes", "batch=1..8"],
                 ["fix", path, "--dry-run"], ["optimize", path, "--dry-run", "--explain"], ["rule"], ["rule", "THAW010"],
                 ["run", path, "--random"], ["verify", path, "--against", path], ["--help"], ["check", "--help"]):
        text, _ = on_terminal(columns, *args)
        # A word that is wider by itself, as a path is, stays whole: it is to be copied.
        wide = [line for line in as_shown(text).splitlines()
                if width_of(line) > columns and any(width_of(word) < columns / 2 for word in line.split()[1:])
                and max(map(width_of, line.split())) < columns - 10]
        assert wide == [], (args, wide)


def test_help_fits_and_its_second_column_stands(on_terminal, thaw):
    verbs = re.findall(r"^  ([a-z]+) {2,}", thaw("--help", code=0).stdout.split("\nOptions")[0], re.M)
    assert len(verbs) > 15
    for verb in verbs:
        lines = as_shown(on_terminal(80, verb, "--help")[0]).splitlines()
        wide = [line for line in lines if width_of(line) > 80]
        assert wide == [] or all(len(line.split()) == 1 for line in wide), (verb, wide)
        body = [line for line in lines[lines.index("General") + 1:] if line]
        assert len(body) > 4 and all(re.match(r"  -| {28}\S", line) for line in body), verb


def test_in_a_pipe_lines_stay_whole(thaw, save, on_terminal):
    path = save(clash())
    piped = thaw("check", path, code=1, env=os.environ | {"COLUMNS": "50"}).stdout
    assert max(map(len, piped.splitlines())) > 80 and "\x1b" not in piped
    narrow, _ = on_terminal(200, "check", path, env={"COLUMNS": "60"})
    assert len(narrow.splitlines()) > len(piped.splitlines())


def test_colour(thaw, save, on_terminal, tmp_path):
    path = save(clash())
    plain = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    coloured = lambda env, *options: "\x1b[" in thaw("check", path, *options, env=plain | env).stdout
    assert not coloured({}) and coloured({"FORCE_COLOR": "1"}) and not coloured({"FORCE_COLOR": "0"})
    assert not coloured({"FORCE_COLOR": "1", "NO_COLOR": "1"})
    assert coloured({"NO_COLOR": "1"}, "--color", "always") and not coloured({"FORCE_COLOR": "1"}, "--color=never")
    assert "\x1b[1" in on_terminal(100, "check", path)[0]
    assert "\x1b[1" not in on_terminal(100, "check", path, env={"NO_COLOR": "1"})[0]
    assert "\x1b[1" not in on_terminal(100, "check", path, env={"TERM": "dumb"})[0]
    fixed, _ = on_terminal(100, "fix", path, "-o", tmp_path / "fixed.onnx")
    assert "\x1b[32mwrote\x1b[0m" in fixed
    assert "\x1b[32magrees\x1b[0m" in on_terminal(100, "verify", tmp_path / "fixed.onnx", "--against", tmp_path / "fixed.onnx")[0]
    assert "\x1b[1;31mthaw:\x1b[0m" in on_terminal(100, "check", tmp_path / "none.onnx")[0]


def test_quiet_prints_nothing_where_all_is_well(thaw, save, tmp_path):
    sound = save(model([helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, ["n"])], [("y", FLOAT, ["n"])]), "sound")
    for args in (["check", sound], ["optimize", sound, "-o", tmp_path / "out.onnx"], ["verify", sound, "--against", sound]):
        run = thaw(*args, "-q", code=0)
        assert (run.stdout, run.stderr) == ("", "")
    assert (tmp_path / "out.onnx").exists()
    assert "THAW003" in thaw("check", save(clash()), "--quiet", code=1).stdout
    assert thaw.json("check", sound, "-q", code=0)["findings"] == []
    assert "thaw: " in thaw("check", tmp_path / "none.onnx", "-q", code=2).stderr


def test_verbose_says_how_long_each_phase_took(thaw, save, tmp_path):
    path = save(clash())
    run = thaw("optimize", path, "-o", tmp_path / "out.onnx", "-v", code=0)
    ran = thaw("run", path, "--random", "--verbose")
    for phase, text in [("reading the model", run), ("inferring sizes", run), ("writing", run),
                        ("running in ONNX Runtime", ran)]:
        assert re.search(rf"^{phase} +\d+\.\d+ s", text.stderr, re.M), text.stderr
    assert run.stdout == thaw("optimize", path, "-o", tmp_path / "out.onnx", code=0).stdout


def test_what_takes_long_says_what_it_is_at(on_terminal, save, thaw):
    """A model whose every run takes a while: the line comes after a second, and is gone in the end."""
    loop = helper.make_graph(
        [helper.make_node("Add", ["v", "v_one"], ["v_out"]), helper.make_node("Identity", ["cond"], ["cond_out"])], "body",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("cond", 9, []),
         helper.make_tensor_value_info("v", FLOAT, None)],
        [helper.make_tensor_value_info("cond_out", 9, []), helper.make_tensor_value_info("v_out", FLOAT, None)],
        [helper.make_tensor("v_one", FLOAT, [], [1.0])])
    m = model([helper.make_node("Loop", ["trips", "", "x"], ["y"], body=loop)], [("x", FLOAT, [4])], [("y", FLOAT, None)],
              [helper.make_tensor("trips", 7, [], [3_000_000])])
    text, code = on_terminal(100, "run", save(m), "--random", "--timeout", "60")
    assert code == 0
    assert "\r\x1b[Krunning in ONNX Runtime … 1 s" in text or "ran in 0." in text
    assert "\x1b[K" not in text.split("y ")[-1]
