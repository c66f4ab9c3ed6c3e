"""The tools of `thaw mcp` are the verbs: their schemas are the options of --help, and what they give is the JSON that the verbs print."""
import json
import re

import jsonschema
import onnx
import onnx.parser
import pytest

from conftest import validate
from mcp_client import Server
from schemas_test import verbs_with_json

# Frozen where a Reshape says so; a small integer input.
MODEL = """<ir_version: 9, opset_import: ["" : 17]>
net (float[height,width] x, int64[2] grid) => (float[rows,4] y, float[height,width] z) {
  shape = Constant<value_ints=[-1,4]>()
  z = Relu(x)
  y = Reshape(z, shape)
  sum = ReduceSum<keepdims=0>(grid)
}"""
GENERAL = {"help", "quiet", "verbose", "color"}
OF_SERVER = {"format", "no-sandbox", "onnxruntime", "provider", "against-provider"}
WRITES = {"evidence", "output", "in-place", "report", "annotate"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    onnx.save(onnx.parser.parse_model(MODEL), folder / "model.onnx")
    return folder


@pytest.fixture(scope="module")
def servers(thaw, folder):
    with Server(thaw, cwd=folder) as reading, Server(thaw, "--write", cwd=folder) as writing:
        yield {"read": reading, "write": writing}


@pytest.fixture(scope="module")
def tools(servers):
    return {mode: {tool["name"]: tool for tool in server.ask("tools/list")["tools"]} for mode, server in servers.items()}


def help_of(thaw, verb):
    """name -> (type, is an argument), as --help shows them."""
    text = thaw(verb, "--help", code=0).stdout
    options = {name: kind.strip() for name, kind in re.findall(r"^  (?:-\w, )?--([a-z0-9-]+)((?: \S+)?)(?:  |\n|$)", text, re.M)}
    part = re.search(r"\nArguments\n(.*?)\n\n", text, re.S)
    positions = re.findall(r"^  ([A-Z]+)", part[1], re.M) if part else []
    return options, [name.lower() for name in positions]


def test_every_verb_that_prints_json_is_a_tool(thaw, tools):
    verbs = set(verbs_with_json(thaw))
    assert set(tools["write"]) == verbs and len(verbs) >= 17
    # What cannot do without writing.
    assert set(tools["read"]) == verbs - {"build"}


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_tool_is_described_as_the_protocol_has_it(tools, mode):
    for name, tool in tools[mode].items():
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", name) and tool["title"] and len(tool["description"]) > 40
        schema = tool["inputSchema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object" and schema["additionalProperties"] is False
        assert set(schema["required"]) <= set(schema["properties"])
        # As models' interfaces take the names of parameters.
        assert all(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", key) for key in schema["properties"])
        assert all(one["description"] for one in schema["properties"].values())


def test_hints_say_what_writes(tools):
    assert all(tool["annotations"]["readOnlyHint"] for tool in tools["read"].values())
    reading = {name for name, tool in tools["write"].items() if tool["annotations"]["readOnlyHint"]}
    assert reading == {"rule"}
    assert all("dry run" in tools["read"][name]["description"] for name in ("fix", "optimize", "plan", "sensitivity", "inputs"))
    assert not any("dry run" in tool["description"] for tool in tools["write"].values())


def test_the_schema_has_each_option_of_help(thaw, tools):
    for mode, hidden in (("read", WRITES | {"dry-run"}), ("write", set())):
        for verb, tool in tools[mode].items():
            options, positions = help_of(thaw, verb)
            wanted = (set(options) - GENERAL - OF_SERVER - hidden) | set(positions)
            assert set(tool["inputSchema"]["properties"]) == wanted, verb


def test_types_are_those_of_help(thaw, tools):
    for verb, tool in tools["write"].items():
        options, positions = help_of(thaw, verb)
        for name, schema in tool["inputSchema"]["properties"].items():
            kind = "FILE" if name in positions and name not in options else options[name]
            inner = schema
            while inner.get("type") == "array":
                inner = inner["items"]
            assert (schema["type"] == "boolean") == (kind == ""), (verb, name)
            words = kind.split("|")
            if len(words) > 1 and all(re.fullmatch(r"[a-z][a-z0-9-]*", word) for word in words):
                assert inner["enum"] == words, (verb, name)
            elif kind == "SECONDS":
                assert inner["type"] == "number", (verb, name)
    run, check = tools["write"]["run"]["inputSchema"]["properties"], tools["write"]["check"]["inputSchema"]
    assert run["seed"] == {"description": run["seed"]["description"], "type": "integer", "minimum": 0}
    assert run["threads"]["maximum"] == 1024 and run["frames"]["items"]["type"] == "array"
    assert check["properties"]["model"]["type"] == "array" and check["required"] == ["model"]
    assert tools["write"]["inspect"]["inputSchema"]["properties"]["model"]["type"] == "string"
    assert tools["write"]["verify"]["inputSchema"]["required"] == ["model"]


def example_of(schema):
    """A value that the schema takes."""
    kind = schema["type"]
    if "enum" in schema:
        return schema["enum"][-1]
    if kind == "array":
        return [example_of(schema["items"])]
    if kind == "boolean":
        return True
    if kind in ("integer", "number"):
        return max(schema.get("minimum", 1), min(2, schema.get("maximum", 2)))
    return "1" if kind == "string" else 64 << 20


def test_what_the_schema_takes_the_command_takes(servers, tools):
    """Each argument by itself: what comes of it, if it is an error, is not that the command does not know the option."""
    server = servers["read"]
    for verb, tool in tools["read"].items():
        schema = tool["inputSchema"]
        for name, one in schema["properties"].items():
            if (verb, name) == ("sensitivity", "report"):  # which the verb itself refuses beside a model
                continue
            arguments = {other: example_of(schema["properties"][other]) for other in schema["required"]} | {name: example_of(one)}
            jsonschema.validate(arguments, schema)
            result = server.ask("tools/call", name=verb, arguments=arguments)
            text = result["content"][0]["text"]
            assert result["isError"] or verb in ("rule", "inspect"), (verb, arguments, text)
            for wrong in ("unknown option", "unexpected argument", "inputSchema", "signal", "required"):
                assert wrong not in text, (verb, arguments, text)


WRONG = [("check", {"model": "model.onnx"}, "'model' is \"model.onnx\"; expected a list"), ("check", {}, "MODEL"),
         ("check", {"model": ["model.onnx"], "sizse": "a=1"}, "did you mean 'sizes'"), ("check", {"model": [7]}, "expected text"),
         ("check", {"model": [""]}, "one character"), ("check", {"model": ["model.onnx"], "sizes": "a\0b"}, "one character"),
         ("check", {"model": ["model.onnx"], "select": ["THAW001,THAW002"]}, "without commas"),
         ("check", {"model": ["model.onnx"], "run": "yes"}, "true or false"), ("check", {"model": ["model.onnx"], "target": "none"}, "portable|ort|"),
         ("check", {"model": ["model.onnx"], "format": "text"}, "no argument 'format'"), ("check", {"model": ["model.onnx"], "no-sandbox": True}, "no argument"),
         ("run", {"model": "model.onnx", "seed": 1.5}, "whole number"), ("run", {"model": "model.onnx", "seed": "7"}, "whole number"),
         ("run", {"model": "model.onnx", "threads": 4096}, "from 0 to 1024"), ("run", {"model": "model.onnx", "max-memory": True}, "number of bytes"),
         ("run", {"model": "model.onnx", "frames": [["a.jpg", "--help"]]}, "does not begin with"), ("run", {"model": "model.onnx", "frames": [[]]}, "one element"),
         ("fix", {"model": "model.onnx", "output": "a.onnx"}, "`thaw mcp --write` allows outputs"), ("inspect", {"model": "--help"}, "--help: "), ("inspect", {"model": "model.onnx", "only": "--version"}, None),
         ("inspect", {"model": "model.onnx", "help": True}, "no argument"), ("inspect", {"model": "model.onnx", "-h": True}, "no argument")]


@pytest.mark.parametrize("tool, arguments, expected", WRONG, ids=range(len(WRONG)))
def test_what_the_schema_does_not_take_is_an_error(servers, tool, arguments, expected):
    """And no value is ever read as an option."""
    result = servers["read"].ask("tools/call", name=tool, arguments=arguments)
    assert result["isError"] == (expected is not None)
    assert expected is None or expected in result["content"][0]["text"]


CALLS = [("inspect", {"model": "model.onnx", "tensors": True, "only": "z"}, ["model.onnx", "--tensors", "--only", "z"]),
         ("check", {"model": ["model.onnx"], "ignore": ["THAW01", "THAW002"]}, ["model.onnx", "--ignore", "THAW01,THAW002"]),
         ("check", {"model": ["model.onnx", "model.onnx"]}, ["model.onnx", "model.onnx"]), ("diff", {"a": "model.onnx", "b": "model.onnx"}, ["model.onnx", "model.onnx"]),
         ("rule", {}, []), ("rule", {"code": "THAW003"}, ["THAW003"]), ("fix", {"model": "model.onnx"}, ["model.onnx", "--dry-run"]),
         ("optimize", {"model": "model.onnx", "level": "clean"}, ["model.onnx", "--level", "clean", "--dry-run"]),
         ("split", {"model": "model.onnx"}, ["model.onnx", "--dry-run"]),
         ("pin", {"model": "model.onnx", "sizes": ["height=4,width=8"]}, ["model.onnx", "--sizes", "height=4,width=8", "--dry-run"]),
         ("run", {"model": "model.onnx", "sizes": "height=4,width=8", "values": ["grid=1,2"], "seed": 3}, ["model.onnx", "--sizes", "height=4,width=8", "--values", "grid=1,2", "--seed", "3"]),
         ("verify", {"model": "model.onnx", "against": "model.onnx", "sizes": ["height=4|8,width=8"]}, ["model.onnx", "--against", "model.onnx", "--sizes", "height=4|8,width=8"])]


@pytest.mark.parametrize("tool, arguments, words", CALLS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_tool_gives_what_the_verb_prints(thaw, servers, folder, tool, arguments, words):
    def settled(text):
        return json.loads(re.sub(r'"(model_|reference_)?seconds": [0-9.e-]+', '"seconds": 0', text))

    report = servers["read"].report(tool, **arguments)
    printed = thaw(tool, *words, "--format", "json", cwd=folder, code={0, 1}).stdout
    assert settled(json.dumps(report)) == settled(printed)
    validate(report, tool)


def test_an_error_is_the_sentence_of_the_command(thaw, servers, folder):
    result = servers["read"].call("inspect", model="none.onnx")
    line = thaw.error("inspect", "none.onnx", cwd=folder)
    assert result["isError"] and [part["text"] for part in result["content"]] == [line]
    assert result["structuredContent"] == json.loads(thaw("inspect", "none.onnx", "--format", "json", cwd=folder, code=2).stdout)
    validate(result["structuredContent"], "error")


def test_findings_are_no_error(servers):
    result = servers["read"].call("check", model=["model.onnx"], sizes="height=3,width=5")
    assert result["structuredContent"]["accepted"] is False and result["isError"] is False


def test_of_several_models_one_may_not_be_there(servers):
    result = servers["read"].call("check", model=["model.onnx", "none.onnx"])
    assert result["isError"] and "none.onnx" in result["content"][0]["text"] and len(result["structuredContent"]["models"]) == 2
