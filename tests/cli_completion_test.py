"""The completion scripts complete verbs, options, words and files."""

import shutil
import subprocess

import pytest
from thaw_command import thaw


def complete(*words, cwd=None):
    """What bash would offer for the last of these words."""
    script = thaw("completion", "bash").stdout
    line = " ".join(f"'{word}'" for word in words)
    run = subprocess.run(
        ["bash", "--norc", "-c", script + f'COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _thaw; printf "%s\\n" "${{COMPREPLY[@]}}"'],
        capture_output=True, text=True, timeout=60, cwd=cwd, check=True)
    assert run.stderr == ""
    return [word for word in run.stdout.splitlines() if word]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_script_parses(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    run = subprocess.run([shell, "-n"], input=thaw("completion", shell).stdout, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")


def test_verbs():
    assert complete("thaw", "comp") == ["completion"]
    assert "help" in complete("thaw", "")


def test_words_of_an_argument():
    assert complete("thaw", "completion", "") == ["bash", "zsh"]
    assert complete("thaw", "completion", "z") == ["zsh"]


def test_options():
    assert complete("thaw", "completion", "--h") == ["--help"]


def test_help_completes_verbs():
    assert complete("thaw", "help", "comp") == ["completion"]


def test_zsh_offers_the_verbs():
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    script = thaw("completion", "zsh").stdout
    probe = 'compdef() { :; }; _describe() { print -l -- "${verbs[@]}"; };\n' + script + "\nCURRENT=2 words=(thaw ''); _thaw"
    run = subprocess.run(["zsh", "-f", "-c", probe], capture_output=True, text=True, timeout=60, check=True)
    assert "completion:prints a completion script for bash or zsh" in run.stdout.splitlines()
