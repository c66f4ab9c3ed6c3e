"""One grammar: an option means the same in every verb that has it; former names are read, with a warning, and shown nowhere."""

import re
import shutil

import numpy as np
import onnx.parser
import pytest

from conftest import SOURCE

# Frozen at a batch of 1 where the second Reshape says so; a small integer input; two outputs.
MODEL = """<ir_version: 9, opset_import: ["" : 17]>
net (float[height,width] x, int64[2] grid) => (float[rows,4] y, float[height,width] z) {
  shape = Constant<value_ints=[-1,4]>()
  z = Relu(x)
  y = Reshape(z, shape)
  sum = ReduceSum<keepdims=0>(grid)
}"""
STATIC = MODEL.replace("[height,width]", "[4,8]").replace("[rows,4]", "[8,4]")

# Every former name: the verb, what a call said, and what it says now. "": a flag that is no more.
FORMER = [
    ("inspect", ["--values"], ["--tensors"]),
    ("inspect", ["--set", "height=4,width=8"], ["--sizes", "height=4,width=8"]),
    ("check", ["--dims", "height=2..8:2,width=4..8:2"], ["--sizes", "height=2..8:2,width=4..8:2"]),
    ("check", ["--rule", "THAW003"], ["--select", "THAW003"]),
    ("fix", ["--at", "height=4"], ["--sizes", "height=4"]),
    ("lift", ["--values", "no.json"], ["--trace-values", "no.json"]),
    ("batch", ["--sample", "height=4", "--dry-run"], ["--sizes", "height=4", "--dry-run"]),
    ("build", ["--input", "image"], ["--vision-input", "image"]),
    ("convert", ["--to", "f16", "--dry-run", "--input", "x"], ["--to", "f16", "--dry-run", "--image-input", "x"]),
    ("convert", ["--to", "f16", "--dry-run", "--size", "64"], ["--to", "f16", "--dry-run", "--image-size", "64"]),
    ("convert", ["--to", "f16", "--dry-run", "--explain"], ["--to", "f16", "--dry-run", "--all"]),
    ("sensitivity", ["--input", "x"], ["--image-input", "x"]),
    ("sensitivity", ["--size", "64"], ["--image-size", "64"]),
    ("sensitivity", ["--output-names", "none"], ["--outputs", "none"]),
    ("plan", ["--input", "x"], ["--image-input", "x"]),
    ("plan", ["--size", "64"], ["--image-size", "64"]),
    ("inputs", ["--input", "x", "-o", "in.npz"], ["--image-input", "x", "-o", "in.npz"]),
    ("inputs", ["--size", "64", "-o", "in.npz"], ["--image-size", "64", "-o", "in.npz"]),
    ("optimize", ["--dry-run", "--check"], ["--dry-run"]),
    ("pin", ["--dims", "height=4,width=8", "--dry-run"], ["--sizes", "height=4,width=8", "--dry-run"]),
    ("pin", ["--feed", "grid=1,2", "--dims", "height=4,width=8", "--dry-run"],
     ["--check-values", "grid=1,2", "--sizes", "height=4,width=8", "--dry-run"]),
    ("split", ["--set", "height=8"], ["--sizes", "height=8"]),
    ("verify", ["--against", "model.onnx", "--sweep", "height=4|8,width=8"], ["--against", "model.onnx", "--sizes", "height=4|8,width=8"]),
    ("verify", ["--against", "model.onnx", "--sweep", "height=4|8", "--sizes", "width=8"],
     ["--against", "model.onnx", "--sizes", "height=4|8,width=8"]),
]


@pytest.fixture
def folder(tmp_path):
    onnx.save(onnx.parser.parse_model(MODEL), tmp_path / "model.onnx")
    onnx.save(onnx.parser.parse_model(STATIC), tmp_path / "static.onnx")
    return tmp_path


def verbs(thaw):
    body = thaw("--help", code=0).stdout.split("\nOptions\n")[0].split("Usage:")[1]
    return re.findall(r"^  ([a-z]+) ", body, re.M)


def options(thaw, verb):
    """name -> type, as --help shows them; "" of a flag."""
    text = thaw(verb, "--help", code=0).stdout
    return {name: kind.strip() for name, kind in re.findall(r"^  (?:-\w, )?(--[a-z-]+)((?: \S+)?)", text, re.M)}


def declared_former():
    """What the sources declare, by verb: the shared ones of preprocessing stand in the verbs that call for them."""
    shared = (SOURCE / "src/thaw/cli/shared_options.cc").read_text()
    call = re.compile(r'options\.(?:renamed|retired)\("(--[a-z-]+)"')
    found = set()
    for path in (SOURCE / "src/thaw/cli").glob("*.cc"):
        text = path.read_text()
        if path.name != "shared_options.cc":
            found |= {(path.stem, name) for name in call.findall(text)}
            if "rename_preprocessing(options)" in text:
                found |= {(path.stem, name) for name in call.findall(shared)}
    return found


def test_every_former_name_is_in_the_table():
    used = {(verb, word) for verb, former, now in FORMER for word in set(former) - set(now) if word.startswith("--")}
    assert used == declared_former()


@pytest.mark.parametrize("verb, former, now", FORMER, ids=lambda value: value if isinstance(value, str) else " ".join(value))
def test_a_former_name_does_what_the_new_one_does_and_warns(thaw, folder, verb, former, now):
    def call(words):
        run = thaw(verb, "static.onnx" if verb in ("fix", "lift") else "model.onnx", *words, "--format", "json", cwd=folder)
        return run.returncode, re.sub(r'"(model_|reference_)?seconds": [0-9.e-]+', "", run.stdout), run.stderr.splitlines()

    names = [word for word in former if word.startswith("--") and word not in now]
    old, new = call(former), call(now)
    warnings = [line for line in old[2] if line.startswith("warning: ")]
    assert len(warnings) == len(names)
    for name, line in zip(names, warnings, strict=True):
        assert line.startswith(f"warning: {name}") and line.endswith(" goes with 0.4")
    assert (old[0], old[1], old[2][len(warnings):]) == new


def test_former_names_are_shown_nowhere(thaw):
    gone = declared_former()
    for verb in verbs(thaw):
        names = {name for of, name in gone if of == verb}
        # A name that now means something else is there for that.
        names -= {"--input"} if verb == "convert" else set()
        shown = set(options(thaw, verb)) | set(re.findall(r"--[a-z-]+", thaw(verb, "-h").stdout))
        assert not names & shown, verb


def test_an_array_is_no_image_input(thaw, folder):
    """`convert --input` chose an input once: what can be an array is one."""
    np.save(folder / "x.npy", np.ones((4, 8), np.float32))
    run = thaw("convert", "model.onnx", "--to", "f16", "--dry-run", "--input", "x=x.npy", code={0, 1}, cwd=folder)
    assert run.stderr == ""


# Options whose values differ by what the verb knows.
KINDS = {"--target", "--format", "--method", "--output", "--to", "--only"}


def test_an_option_has_one_type_in_all_verbs(thaw):
    kinds = {}
    for verb in verbs(thaw):
        for name, kind in options(thaw, verb).items():
            kinds.setdefault(name, {}).setdefault(kind, []).append(verb)
    assert {name: of for name, of in kinds.items() if len(of) > 1 and name not in KINDS} == {}


def test_what_several_verbs_must_have(thaw):
    has = {verb: set(options(thaw, verb)) for verb in verbs(thaw)}
    writers = {"fix", "lift", "batch", "optimize", "convert", "pin", "split"}
    assert all("--dry-run" in has[verb] for verb in writers)
    assert all("--report" in has[verb] for verb in writers | {"inspect", "check", "diff", "verify"})
    assert all("--sizes" in has[verb] for verb in ("inspect", "check", "fix", "batch", "pin", "split", "run", "verify"))
    assert all("--image" in has[verb] and "--resize" in has[verb] for verb in ("inputs", "run", "verify"))


def test_the_table_of_the_docs_is_what_the_options_say(thaw):
    page = (SOURCE / "docs/cli.md").read_text()
    held = page.split("<!-- options: thaw completion table -->\n")[1].split("<!-- end of options -->")[0]
    assert held.strip() == thaw("completion", "table", code=0).stdout.strip(), "tools/refresh_options.py writes it anew"


def test_the_man_page_has_every_option(thaw):
    page = thaw("completion", "man", code=0).stdout
    lines = page.splitlines()
    requests = {line.split(" ")[0] for line in lines if line.startswith((".", "'"))}
    assert requests <= {".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi"} and lines[0].startswith(".TH THAW 1 ")
    assert all(0 < line.count(r"\fR") >= line.count(r"\fB") for line in lines if r"\fB" in line)
    plain = re.sub(r"\\f[BRI]", "", page).replace("\\-", "-")
    for verb in verbs(thaw):
        assert f'.SS "thaw {verb}"' in page
        assert all(name in plain for name in options(thaw, verb)), verb


def test_the_man_page_is_formatted_without_a_warning(thaw):
    import subprocess
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    run = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=thaw("completion", "man").stdout, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "") and "--max-memory" in re.sub("\x1b\\[[0-9]*m|.\x08", "", run.stdout)
