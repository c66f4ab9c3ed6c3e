"""The completion scripts complete verbs, options, words and files."""

import shutil
import subprocess

import pytest


@pytest.fixture
def complete(thaw, tmp_path):
    """complete(words...): what bash would offer for the last of these words, in a folder of two models."""
    script = thaw("completion", "bash", code=0).stdout
    for name in ("model.onnx", "other model.onnx"):
        (tmp_path / name).touch()

    def offer(*words):
        line = " ".join(f"'{word}'" for word in words)
        ask = f'COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _thaw; printf "%s\\n" "${{COMPREPLY[@]}}"'
        run = subprocess.run(["bash", "--norc", "-c", script + ask], capture_output=True, text=True, timeout=60,
                             cwd=tmp_path, check=True)
        assert run.stderr == ""
        return [word for word in run.stdout.splitlines() if word]

    return offer


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_parses(thaw, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    run = subprocess.run([shell, "-n"], input=thaw("completion", shell).stdout, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")


def test_verbs(complete):
    assert complete("thaw", "comp") == ["completion"]
    assert "help" in complete("thaw", "")


def test_words_of_an_argument(complete):
    assert complete("thaw", "completion", "") == ["bash", "zsh", "fish", "man", "table"]
    assert complete("thaw", "completion", "z") == ["zsh"]


def test_options(complete):
    assert complete("thaw", "completion", "--h") == ["--help"]


def test_values_of_an_option(complete):
    assert complete("thaw", "inspect", "--format", "") == ["text", "json"]
    assert complete("thaw", "inspect", "--format", "=", "j") == ["json"]
    assert complete("thaw", "inspect", "--format", "=") == ["text", "json"]


def test_files(complete):
    assert sorted(complete("thaw", "inspect", "")) == ["model.onnx", "other model.onnx"]
    assert complete("thaw", "diff", "model.onnx", "o") == ["other model.onnx"]


def test_free_text_completes_to_nothing(complete):
    assert complete("thaw", "inspect", "--sizes", "m") == []


def test_help_completes_verbs(complete):
    assert complete("thaw", "help", "comp") == ["completion"]


def test_zsh_offers_the_verbs(thaw):
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    script = thaw("completion", "zsh").stdout
    probe = 'compdef() { :; }; _describe() { print -l -- "${verbs[@]}"; };\n' + script + "\nCURRENT=2 words=(thaw ''); _thaw"
    run = subprocess.run(["zsh", "-f", "-c", probe], capture_output=True, text=True, timeout=60, check=True)
    assert "completion:print a completion script, the man page or the table of options" in run.stdout.splitlines()
