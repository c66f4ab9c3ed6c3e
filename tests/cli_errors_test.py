"""A wrong call gives one line that helps, and exit code 2; --format json gives it as an object too."""

import os
import subprocess

import pytest


def test_no_arguments_print_the_help_on_stderr(thaw):
    run = thaw(code=2)
    assert run.stdout == "" and "Usage: thaw VERB" in run.stderr


def test_a_mistyped_verb_is_suggested(thaw):
    assert "(did you mean 'completion'?)" in thaw.error("compeltion")


def test_a_verb_like_no_other_gets_no_suggestion(thaw):
    line = thaw.error("zzzzzz")
    assert "unknown verb 'zzzzzz'" in line and "did you mean" not in line and "thaw --help" in line


def test_a_mistyped_option_is_suggested(thaw):
    assert "unknown option '--hepl' (did you mean '--help'?)" in thaw.error("completion", "bash", "--hepl")


def test_a_missing_argument_is_named(thaw):
    assert "WHAT is required" in thaw.error("completion")


def test_an_argument_too_many_is_named(thaw):
    assert "unexpected argument 'zsh'" in thaw.error("completion", "bash", "zsh")


def test_a_choice_that_is_none_names_the_choices(thaw):
    assert "takes bash|zsh|fish|man|table, not 'bahs' (did you mean 'bash'?)" in thaw.error("completion", "bahs")


def test_json_carries_the_parts_of_the_error(thaw):
    error = thaw.json("completion", "nushell", code=2)["error"]
    assert set(error) == {"code", "what", "where", "expected", "next"} and error["code"] == "invalid_argument"
    assert error["where"] == "completion" and "--help" in error["next"]


def test_bytes_that_are_not_text_stay_off_the_terminal(thaw):
    run = subprocess.run([thaw.path, b"\x1b[31m\xff\n"], capture_output=True, timeout=60)
    assert run.returncode == 2
    assert run.stderr.startswith(b"thaw: unknown verb '\\x1b[31m\\xff\\x0a'")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_output_that_cannot_be_written_is_an_error(thaw):
    with open("/dev/full", "w", encoding="utf-8") as full:
        run = subprocess.run([thaw.path, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert run.returncode == 2 and "cannot write" in run.stderr


@pytest.mark.parametrize("ignored", [False, True])
def test_a_reader_that_has_gone_ends_it_quietly(thaw, ignored):
    before = "trap '' PIPE; " if ignored else ""
    script = f'{before}{{ "$0" completion zsh; echo "code $?" >&2; }} | true; exit 0'
    # The reader may be slow to go; what must not happen is an error message.
    run = subprocess.run(["bash", "-c", script, thaw.path], capture_output=True, text=True, timeout=60)
    assert run.stderr in ("code 141\n", "code 0\n")
