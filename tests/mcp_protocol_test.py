"""`thaw mcp` speaks JSON-RPC 2.0 as the Model Context Protocol has it: what is wrong is answered by an error, and the next message as if nothing was."""
import itertools
import json
import os
import re
import signal
import time

import onnx
import onnx.parser
import pytest
from onnx import helper

from conftest import SOURCE
from mcp_client import CAPABILITIES, VERSION, Server, meta
from run_limits_test import F, endless, model, value

SOUND = """<ir_version: 9, opset_import: ["" : 17]>
net (float[n,4] x) => (float[n,4] y) { y = Relu(x) }"""
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, NO_VERSION = -32700, -32600, -32601, -32602, -32022


@pytest.fixture
def folder(tmp_path):
    onnx.save(onnx.parser.parse_model(SOUND), tmp_path / "sound.onnx")
    onnx.save(endless(), tmp_path / "endless.onnx")
    return tmp_path


@pytest.fixture
def server(thaw, folder):
    with Server(thaw, cwd=folder) as one:
        yield one


def still_answers(server):
    assert server.ask("ping") == {}


@pytest.mark.parametrize("asked, given", [("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18"), ("2024-11-05", "2025-11-25"),
                                          ("2026-07-28", "2025-11-25")])
def test_initialize(thaw, folder, asked, given):
    with Server(thaw, cwd=folder, initialize=asked) as server:
        said = server.introduction
        assert said["protocolVersion"] == given and said["capabilities"] == {"tools": {}}
        assert said["serverInfo"] == {"name": "thaw", "version": thaw("--version").stdout.split()[1]}
        assert str(folder) in said["instructions"] and "resultType" not in said
        assert {tool["name"] for tool in server.ask("tools/list")["tools"]} >= {"check", "inspect", "fix"}


def test_initialize_comes_first(thaw, folder):
    with Server(thaw, cwd=folder, initialize=None) as server:
        assert server.ask("ping") == {}
        assert server.refused("tools/list")["code"] == INVALID_PARAMS
        assert server.refused("tools/call", name="rule")["code"] == INVALID_PARAMS
        assert server.refused("initialize", capabilities={})["code"] == INVALID_PARAMS


def test_requests_that_say_their_version_themselves(thaw, folder):
    """Revision 2026-07-28: no handshake, and what each result must have."""
    with Server(thaw, cwd=folder, initialize=None) as server:
        found = server.ask("server/discover", **meta())
        listed = server.ask("tools/list", **meta())
        called = server.ask("tools/call", name="check", arguments={"model": ["sound.onnx"]}, **meta())
        for result in (found, listed, called):
            assert result["resultType"] == "complete"
            assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "thaw"
        assert found["supportedVersions"][0] == "2026-07-28" and found["capabilities"] == {"tools": {}} and found["instructions"]
        assert all(type(one["ttlMs"]) is int and one["cacheScope"] == "private" for one in (found, listed))
        assert listed["tools"] == server.ask("tools/list", **meta())["tools"]
        assert called["structuredContent"]["accepted"] is True

        refusal = server.refused("tools/list", **meta("2025-11-25"))
        assert refusal["code"] == NO_VERSION
        assert refusal["data"] == {"supported": ["2026-07-28", "2025-11-25", "2025-06-18"], "requested": "2025-11-25"}
        assert server.refused("tools/list", _meta={VERSION: "2026-07-28"})["code"] == INVALID_PARAMS
        assert server.refused("tools/list", _meta={VERSION: 7, CAPABILITIES: {}})["code"] == INVALID_PARAMS
        assert server.refused("server/discover")["code"] == INVALID_PARAMS
        assert server.refused("ping", **meta())["code"] == NO_METHOD


WRONG = [
    ("{", PARSE_ERROR), ("nonsense", PARSE_ERROR), ('{"jsonrpc": "2.0", "id": 9', PARSE_ERROR), ("\x00", PARSE_ERROR),
    (b'{"jsonrpc":"2.0","id":9,"method":"\xff"}\n', PARSE_ERROR), ('{"jsonrpc":"2.0","id":9,"method":"ping"} {}', PARSE_ERROR),
    ('[{"jsonrpc":"2.0","id":9,"method":"ping"}]', INVALID_REQUEST), ("[]", INVALID_REQUEST), ("7", INVALID_REQUEST),
    ('"ping"', INVALID_REQUEST), ("null", INVALID_REQUEST), ("{}", INVALID_REQUEST),
    ('{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID_REQUEST), ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', INVALID_REQUEST),
    ('{"jsonrpc":"2.0","id":{},"method":"ping"}', INVALID_REQUEST), ('{"jsonrpc":"2.0","id":9,"method":7}', INVALID_REQUEST),
    ('{"jsonrpc":"1.0","id":9,"method":"ping"}', INVALID_REQUEST), ('{"id":9,"method":"ping"}', INVALID_REQUEST),
    ('{"jsonrpc":"2.0","id":9}', INVALID_REQUEST), ('{"jsonrpc":"2.0","id":9,"method":"ping","params":[1]}', INVALID_PARAMS),
    ('{"jsonrpc":"2.0","id":9,"method":"ping","params":' + '{"a":' * 100 + "1" + "}" * 101, INVALID_REQUEST),
    ("[" * 100_000 + "]" * 100_000, INVALID_REQUEST), ('{"a":' * 500_000, PARSE_ERROR), ("x" * (5 << 20), INVALID_REQUEST),
    ('{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":"' + "x" * (5 << 20) + '"}}', INVALID_REQUEST),
]


@pytest.mark.parametrize("line, code", WRONG, ids=range(len(WRONG)))
def test_what_is_no_request_is_answered_by_an_error(server, line, code):
    server.write(line)
    said = server.read()
    assert said["error"]["code"] == code and said["error"]["message"] and len(json.dumps(said)) < 1000
    assert said["id"] in (None, 9)
    still_answers(server)


def test_methods_and_tools_that_are_not_there(server):
    for method in ("resources/list", "tools", "", "initialise", "\u202e"):
        assert server.refused(method)["code"] == NO_METHOD
    said = server.refused("tools/call", name="chekc", arguments={})
    assert said["code"] == INVALID_PARAMS and "check" in said["message"]
    for params in ({}, {"name": 7}, {"name": "check", "arguments": [1]}, {"name": "mcp"}, {"name": "completion"}):
        assert server.refused("tools/call", **params)["code"] == INVALID_PARAMS
    assert server.refused("tools/list", cursor="2")["code"] == INVALID_PARAMS
    still_answers(server)


def test_nothing_answers_a_notification_or_an_answer(server):
    server.notify("notifications/initialized")
    server.notify("notifications/of/another/kind", a=[1])
    server.notify("notifications/cancelled", requestId=99)
    server.notify("notifications/cancelled")
    server.notify("ping")
    server.write('{"jsonrpc":"2.0","method":"ping","params":[1]}')
    server.write('{"jsonrpc":"2.0","id":5,"result":{}}')
    server.write('{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"no"}}')
    server.write("")
    server.write(" \r")
    still_answers(server)


@pytest.mark.parametrize("number", [0, -7, 2**60, "", "a b", "7", "\u202e\n"])
def test_an_answer_has_the_id_of_its_request(server, number):
    server.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}))
    assert server.read() == {"jsonrpc": "2.0", "id": number, "result": {}}
    server.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "rule", "arguments": {}}}))
    assert server.read()["id"] == number


def test_a_message_in_pieces_and_several_at_once(server):
    for piece in (b'{"jsonrpc":"2.0","id"', b':7,"method":', b'"ping"}\n{"jsonrpc":"2.0","id":8,"method":"ping"}\n{"jsonrpc"'):
        server.write(piece)
        time.sleep(0.02)
    assert [server.read()["id"], server.read()["id"]] == [7, 8]
    server.write(b':"2.0","id":9,"method":"ping"}\n')
    assert server.read()["id"] == 9


def test_calls_in_a_row(server):
    numbers = [server.send("tools/call", name=name, arguments={"model": model}) for name, model in
               [("check", ["sound.onnx"]), ("inspect", "sound.onnx"), ("check", ["none.onnx"]), ("fix", "sound.onnx")]]
    results = [server.answer(number)["result"] for number in numbers]
    assert [result["isError"] for result in results] == [False, False, True, False]
    assert results[1]["structuredContent"]["inputs"][0]["dims"] == ["n", 4]


def test_a_call_that_goes_on_holds_up_no_other_message(server):
    started = server.send("tools/call", name="run", arguments={"model": "endless.onnx", "random": True})
    still_answers(server)
    assert len(server.ask("tools/list")["tools"]) > 10
    server.write(json.dumps({"jsonrpc": "2.0", "id": started, "method": "ping"}))  # an id that is in use
    assert server.read()["error"]["code"] == INVALID_REQUEST
    waiting = server.send("tools/call", name="rule", arguments={})
    server.notify("notifications/cancelled", requestId=waiting)
    last = server.send("tools/call", name="rule", arguments={"code": "THAW003"})
    begun = time.monotonic()
    server.notify("notifications/cancelled", requestId=started, reason="enough")
    # Neither of the cancelled calls is answered.
    assert server.answer(last)["result"]["structuredContent"]["code"] == "THAW003"
    assert time.monotonic() - begun < 10


def wait_for_child(server, seconds=20):
    end = time.monotonic() + seconds
    while not server.children() and time.monotonic() < end:
        time.sleep(0.02)
    child, = server.children()
    return child


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_call_that_crashes_is_an_error(server):
    number = server.send("tools/call", name="run", arguments={"model": "endless.onnx", "random": True})
    os.kill(wait_for_child(server), signal.SIGSEGV)
    result = server.answer(number)["result"]
    assert result["isError"] and "signal 11" in result["content"][0]["text"]
    still_answers(server)


def test_a_call_that_takes_too_long_is_an_error(thaw, folder):
    with Server(thaw, "--timeout", "0.5", cwd=folder) as server:
        assert "was ended after 0.5 s" in server.error("run", model="endless.onnx", random=True)
        assert server.report("check", model=["sound.onnx"])["accepted"]


@pytest.mark.parametrize("how", ["end of input", "killed"])
def test_the_calls_end_with_the_server(thaw, folder, how):
    with Server(thaw, cwd=folder) as server:
        server.send("tools/call", name="run", arguments={"model": "endless.onnx", "random": True})
        server.send("tools/call", name="rule", arguments={})
        child, begun = wait_for_child(server), time.monotonic()
        if how == "killed":
            time.sleep(0.2)  # for the call to be under way
            server.process.kill()
            server.process.wait()
        else:
            assert server.end() == (0, b"", "")
        while is_there(child) and time.monotonic() - begun < 20:
            time.sleep(0.05)
        assert not is_there(child) and time.monotonic() - begun < 10


def test_a_result_that_is_too_long_is_an_error(thaw, folder):
    long = "x" * 1000
    names = [f"{long}{i}" for i in range(40_000)]
    nodes = [helper.make_node("Relu", [before], [after]) for before, after in itertools.pairwise(["x", *names])]
    onnx.save(model(nodes, [value("x", F, ["n"])], [value(names[-1], F, ["n"])]), folder / "long.onnx")
    with Server(thaw, cwd=folder) as server:
        assert "prints more than" in server.error("inspect", model="long.onnx", tensors=True)
        assert server.report("inspect", model="long.onnx", only="none")["nodes"] == 40_000


def test_a_last_message_without_a_line_end_counts(server):
    server.write(b'{"jsonrpc":"2.0","id":7,"method":"ping"}')
    code, rest, errors = server.end()
    assert (code, json.loads(rest), errors) == (0, {"jsonrpc": "2.0", "id": 7, "result": {}}, "")


def test_many_calls_are_refused_and_none_is_forgotten(server):
    first = server.send("tools/call", name="run", arguments={"model": "endless.onnx", "random": True})
    wait_for_child(server)
    numbers = [server.send("tools/call", name="rule", arguments={"code": "THAW003"}) for _ in range(70)]
    refused = [server.answer(number)["result"] for number in numbers[64:]]
    assert all(result["isError"] and "64 calls wait" in result["content"][0]["text"] for result in refused)
    server.notify("notifications/cancelled", requestId=first)
    assert all(not server.answer(number)["result"]["isError"] for number in numbers[:64])


def test_a_client_that_is_gone_ends_the_server(thaw, folder):
    server = Server(thaw, cwd=folder)
    server.process.stdout.close()
    server.send("ping")
    assert server.process.wait(timeout=20) == -signal.SIGPIPE
    server.process.stderr.close()


def test_the_configuration_of_the_page_starts_it(thaw, folder):
    page = (SOURCE / "docs" / "guide" / "mcp.md").read_text()
    configuration, = re.findall(r"```json\n(.*?)```", page, re.S)
    entry = json.loads(configuration)["mcpServers"]["thaw"]
    assert entry["command"] == "thaw" and entry["args"][:2] == ["mcp", "--root"]
    words = [folder if word.startswith("/") else word for word in entry["args"][1:]]
    more = [json.loads(f"[{words}]") for words in re.findall(r"^\|.*\| `(\".*?)`", page, re.M)]
    assert len(more) == 3
    for added in [[], *more]:
        with Server(thaw, *words, *[folder if str(word).startswith("/") else word for word in added]) as server:
            assert server.report("check", model=["sound.onnx"])["accepted"]
