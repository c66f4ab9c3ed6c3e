"""Every option of the command is a keyword of a function of the package."""
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import onnx_thaw as thaw

PROGRAM = Path(sys.executable).with_name("thaw")

# The functions that do what a verb does.
FUNCTIONS = {
    "inspect": (thaw.inspect, thaw.annotate),
    "check": (thaw.check,),
    "diff": (thaw.diff,),
    "rule": (thaw.rules,),
    "fix": (thaw.fix, thaw.fix_with_reference),
    "lift": (thaw.lift,),
    "batch": (thaw.batch,),
    "optimize": (thaw.optimize,),
    "convert": (thaw.convert,),
    "sensitivity": (thaw.sensitivity, thaw.merge_reports),
    "plan": (thaw.plan,),
    "pin": (thaw.pin, thaw.pin_each),
    "split": (thaw.split, thaw.cut_points),
    "build": (thaw.build,),
    "run": (thaw.run, thaw.generate),
    "verify": (thaw.verify,),
    "inputs": (thaw.inputs,),
}
# Verbs of the shell, and the server of tools.
NO_FUNCTION = {"mcp", "completion"}

# Of all verbs: what a result has as methods, what is of the process (`set_limits`, `set_providers`, `set_onnxruntime`), and what is of the
# terminal.
EVERYWHERE = {"format", "report", "all", "dry-run", "timeout", "no-sandbox", "provider", "onnxruntime", "max-memory", "max-visits", "help", "quiet", "verbose", "color"}
# Of a verb: exit codes and settings of a folder are the command's.
OF_THE_COMMAND = {"check": {"config", "exit-zero"}}
# Options that go by another name: of a word that Python keeps for itself, of one that says no, or of one that two options share.
OTHERWISE = {"output": {"path", "folder"}, "input": {"inputs"}, "for": {"preset", "checkpoint"}, "as": {"whole_images"},
             "image": {"files"}, "audio": {"files"}, "frames": {"clips"}, "image-size": {"size"}, "resize": {"fit"},
             "no-upright": {"upright"}, "no-weights": {"weights"}, "no-infer": {"infer"}, "no-check": {"check"},
             "no-optimize": {"optimize"}}
OTHERWISE_OF = {("inspect", "annotate"): {"external"},  # a function of its own, which has the options of what is written
                ("batch", "inputs"): {"only"},
                ("check", "profiles"): {"opt"}}  # the report has them, and `profiles_json` makes the file of them


def help_of(*verb):
    return subprocess.run([PROGRAM, *verb, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout


def options_of(verb):
    return re.findall(r"^  (?:-\w, )?--([\w-]+)", help_of(verb), re.M)


def keywords_of(verb):
    return {name for function in FUNCTIONS[verb] for name in inspect.signature(function).parameters}


PREPROCESSING = set(options_of("plan")) & set(options_of("inputs"))


def test_every_verb_is_known():
    listed = set(re.findall(r"^  ([a-z]+)  ", help_of(), re.M))
    assert listed == set(FUNCTIONS) | NO_FUNCTION


@pytest.mark.parametrize("verb", sorted(FUNCTIONS))
def test_every_option_is_a_keyword(verb):
    keywords = keywords_of(verb)
    missing = []
    for option in options_of(verb):
        if option in EVERYWHERE or option in OF_THE_COMMAND.get(verb, ()):
            continue
        names = OTHERWISE_OF.get((verb, option)) or OTHERWISE.get(option, set()) | {option.replace("-", "_")}
        if keywords & names:
            continue
        # Images and recordings: as options of `thaw inputs` in words, or as the arrays of `thaw.inputs`.
        of_images = option in PREPROCESSING | {"image", "audio", "frames", "fps", "text", "as"}
        if of_images and ("preprocessing" in keywords or "inputs" in keywords) and verb != "inputs":
            continue
        missing.append(option)
    assert missing == []


@pytest.mark.parametrize("verb", sorted(FUNCTIONS))
def test_no_exception_is_left_over(verb):
    options = set(options_of(verb))
    assert OF_THE_COMMAND.get(verb, set()) <= options
    assert {option for of, option in OTHERWISE_OF if of == verb} <= options


def test_exceptions_are_options():
    every = {option for verb in FUNCTIONS for option in options_of(verb)}
    assert set(OTHERWISE) <= every and every >= EVERYWHERE - {"h"}
