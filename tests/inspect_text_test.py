"""`inspect` for people: a summary that fits a screen, every tensor with --values, colour on a terminal only."""

import os
import pty
import subprocess

from onnx import helper

from inspect_json_test import FLOAT, INT64, conv_net, model


def test_the_summary(thaw, save):
    path = save(conv_net())
    lines = thaw("inspect", path, code=0).stdout.splitlines()
    assert lines[0] == f"{path}  IR 8, opset 17, made by a maker 3.5"
    assert lines[1] == "3 nodes, 1 weight of 756 bytes"
    assert "  image  float32  [n, 3, h, 11]" in lines
    assert lines[-1] == "Shapes are known for 3 of 3 tensors."
    assert "features" not in "\n".join(lines)


def test_values_lists_every_tensor(thaw, save):
    text = thaw("inspect", save(conv_net()), "--tensors", code=0).stdout
    row = next(line for line in text.splitlines() if line.startswith("  features"))
    assert row.split()[1:3] == ["Conv", "float32"]
    values = text.split("\nTensors\n")[1]
    assert "n, 7, " in next(line for line in values.splitlines() if line.startswith("  shape "))


def test_a_long_list_of_sizes_is_cut(thaw, save):
    m = model([helper.make_node("Tile", ["x", "repeats"], ["y"])],
              [("x", FLOAT, ["n"] * 40), ("repeats", INT64, [40])], [("y", FLOAT, None)])
    text = thaw("inspect", save(m), code=0).stdout
    assert "repeats[3]" in text and "… and 17 more" in text


def on_a_terminal(thaw, *args, **environment):
    ours, theirs = pty.openpty()
    env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")} | {"TERM": "xterm"} | environment
    process = subprocess.Popen([thaw.path, *map(str, args)], stdout=theirs, stdin=subprocess.DEVNULL, env=env)
    os.close(theirs)
    text = b""
    try:
        while chunk := os.read(ours, 65536):
            text += chunk
    except OSError:  # the terminal ends with its last process
        pass
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return text.decode()


def test_colour_on_a_terminal_only(thaw, save):
    path = save(conv_net())
    assert "\x1b[" in on_a_terminal(thaw, "inspect", path)
    assert "\x1b[" not in on_a_terminal(thaw, "inspect", path, NO_COLOR="1")
    assert "\x1b[" not in on_a_terminal(thaw, "inspect", path, TERM="dumb")
    assert "\x1b[" not in thaw("inspect", path).stdout


def test_names_cannot_drive_the_terminal(thaw, save):
    m = conv_net()
    m.graph.output[0].name = m.graph.node[2].output[0] = "out\x1b[2J\nmore"
    text = thaw("inspect", save(m), "--tensors", code=0).stdout
    assert "\x1b" not in text and "out\\x1b[2J\\x0amore" in text


def test_a_missing_file_is_one_line(thaw, tmp_path):
    line = thaw.error("inspect", tmp_path / "nothing.onnx")
    assert "nothing.onnx" in line
