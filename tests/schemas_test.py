"""docs/schemas: a JSON Schema for each verb, valid itself, that what is wrong does not pass; library_command_test.py holds reports against them."""
import json
import re

import jsonschema
import onnx.parser
import pytest

from conftest import SOURCE, validate

FOLDER = SOURCE / "docs" / "schemas"
OLD_KEYS = re.findall(r"^\| [\w`, -]+ \| `(\w+)` \|", (FOLDER / "README.md").read_text("utf-8").split("Keys that go on")[0], re.MULTILINE)
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))
MODEL = onnx.parser.parse_model('''<ir_version: 8, opset_import: ["" : 18]>
    g (float["?", 4] x) => (float["?", 4] y) { z = Abs(x)  y = Neg(z) }''')


def verbs_with_json(thaw):
    listed = [line.split()[0] for line in thaw("--help").stdout.splitlines() if line.startswith("  ") and not line.startswith("   ")]
    verbs = [word for word in listed if word.isalpha()]
    return [verb for verb in verbs if "--format" in thaw(verb, "--help").stdout]


def test_every_verb_that_prints_json_has_one(thaw):
    assert sorted([*verbs_with_json(thaw), "error", "proof"]) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_schema(name):
    jsonschema.Draft202012Validator.check_schema(json.loads((FOLDER / f"{name}.json").read_text("utf-8")))


def schemas_in(schema):
    """The schema and all inside it."""
    if isinstance(schema, dict):
        yield schema
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else []:
        yield from schemas_in(inner)


def keys_of(schema):
    return {key for one in schemas_in(schema) if isinstance(one.get("properties"), dict) for key in one["properties"]}


@pytest.mark.parametrize("name", NAMES)
def test_keys_and_words_are_snake_case_and_none_is_an_old_one(name):
    schema = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    words = {word for one in schemas_in(schema) for word in one.get("enum", []) if isinstance(word, str)}
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", key) for key in keys_of(schema) | words), name
    assert len(OLD_KEYS) > 30 and not keys_of(schema) & set(OLD_KEYS)


def test_one_version_of_the_schemas():
    header = (SOURCE / "include" / "thaw" / "report.h").read_text("utf-8")
    version = int(re.search(r"kJsonSchema = (\d+);", header)[1])
    for name in NAMES:
        schema = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
        versions = [one["properties"]["schema"] for one in schemas_in(schema) if "schema" in one.get("properties", {})]
        assert versions and all(one["const"] == version for one in versions), name


def test_what_is_missing_or_new_or_of_another_type_does_not_pass(thaw, save):
    report = thaw.json("check", save(MODEL))
    validate(report, "check")
    for changed in ({key: value for key, value in report.items() if key != "counts"}, dict(report, more=1), dict(report, findings={}),
                    dict(report, schema=0)):
        with pytest.raises(jsonschema.ValidationError):
            validate(changed, "check")


def test_several_models_and_what_a_verb_can_say_besides(thaw, save, tmp_path):
    path = save(MODEL)
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    validate(thaw.json("check", path, broken, code=2), "check")
    validate(thaw.json("check", path, "--sizes", "x_dim0=1..4"), "check")
    validate(thaw.json("rule"), "rule")
    validate(thaw.json("rule", "THAW003"), "rule")
    validate(thaw.json("split", path), "split")
    validate(thaw.json("optimize", path, "-o", tmp_path / "o.onnx", "--explain", "--target", "directml"), "optimize")
    validate(thaw.json("inspect", path, "--annotate", "-o", tmp_path / "a.onnx"), "inspect")
    validate(thaw.json("inspect", path, "--sizes", "x_dim0=3", "--tensors", "--cost", "--weights"), "inspect")
    validate(thaw.json("inspect", tmp_path / "none.onnx", code=2), "error")
