"""Every option that takes a number, of every verb: what is no number, or none that the option can have, is an error that names the option."""
import re

import pytest

VERBS = ["inspect", "diff", "check", "lift", "batch", "fix", "optimize", "convert", "sensitivity", "plan", "pin", "split", "build", "verify",
         "inputs", "run"]
# What --help shows behind an option that takes a number.
TYPES = ["N", "SECONDS", "SIZE", "BYTES", "PERCENT", "ALPHA", "ERROR", "DB", "FLOPS", "X", "A", "A,B,C", "0..255", "0|1|2|3|4", "N|WxH"]
NONE = ["nan", "-nan", "inf", "-inf", "infinity", "1e999", "-1e999", "", " ", "1x", "--1", "+1", "٣", "1e", "0x", "0x10", " 1", "1 ", "99999999999999999999999"]
OF_SIGN = {"--target-sqnr", "--cosine", "--mean", "--scale"}  # of which -1 is one
FLOATS = {"--fps"}  # whose type is N too
OF_FLOATS = {"SECONDS", "PERCENT", "ALPHA", "ERROR", "DB", "FLOPS", "X", "A", "A,B,C"}
CALLS = {"lift": ["none", "none", "-o", "o"], "plan": ["none", "-o", "p"], "build": ["none", "-o", "b"], "diff": ["none", "none"],
         "inputs": ["none", "-o", "o.npz"], "sensitivity": ["none", "--data", "d", "-o", "r"], "verify": ["none", "--against", "none"],
         **{verb: ["none", "-o", "o"] for verb in ("batch", "fix", "optimize", "convert", "pin", "split")}}


def options(thaw, verb):
    text = thaw(verb, "--help", code=0).stdout
    return re.findall(r"^  (?:-\w, )?(--[a-z0-9-]+)(?:, --[a-z0-9-]+)* (\S+)", text, re.M)


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_number_is_an_error(thaw, tmp_path, verb):
    found = [(name, type) for name, type in options(thaw, verb) if type in TYPES]
    assert "--max-memory" in dict(found) and "--max-visits" in dict(found)
    for name, shown in found:
        type = "X" if name in FLOATS else shown
        wrong = [*NONE, *([] if name in OF_SIGN else ["-1", "-9223372036854775809"]), *([] if type in OF_FLOATS | {"SIZE", "BYTES"} else ["1.5", "1e300"])]
        for text in wrong:
            if (type in OF_FLOATS and text.startswith("99")) or (type in ("SIZE", "BYTES") and text == "1 "):  # 1 GB may have a space
                continue
            line = thaw.error(verb, *CALLS.get(verb, ["none"]), f"{name}={text}", cwd=tmp_path)
            assert name in line and "internal" not in line, (text, line)
            assert text in line or text == "", (name, text, line)
        # Any that is one is taken: the call goes on to say that there is no file.
        for text in ("1", "100", "18", "2"):
            run = thaw(verb, *CALLS.get(verb, ["none"]), f"{name}={text}", cwd=tmp_path, code=2)
            if f"{name} takes " not in run.stderr:
                break
        else:
            raise AssertionError(run.stderr)
    assert not list(tmp_path.iterdir())


def test_large_numbers_mean_what_they_say(thaw, save):
    from run_limits_test import doubled
    path = save(doubled())
    for option in (["--timeout", 1e9], ["--max-memory", 2**62], ["--max-visits", 10**18], ["--threads", 64], ["--seed", 10**18]):
        assert thaw("run", path, "--sizes", "n=3", *option, code=0).stdout.startswith("y "), option
    for option in (["--timeout", 1e-9], ["--max-memory", 1]):
        assert thaw.error("run", path, "--sizes", "n=3", *option)
    assert thaw("check", path, "--max-visits", "1", code={0, 1}).stdout
    assert "0 visits" not in thaw("check", path, "--max-visits", "0", code=0).stdout  # what a model of its size may cost
