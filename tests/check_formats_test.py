"""`check` in its three formats: what it says is the same, and each is well formed."""

import pytest
from onnx import TensorProto, helper

from inspect_json_test import FLOAT, model


@pytest.fixture
def broken(save):
    """A node that cannot run, and an operator that no one knows."""
    m = model([helper.make_node("Transpose", ["x"], ["y"], name="turn", perm=[0, 1, 2]),
               helper.make_node("Mystery", ["x"], ["z"], domain="my.domain")],
              [("x", FLOAT, ["n", 5])], [("y", FLOAT, None), ("z", FLOAT, [3])])
    m.opset_import.append(helper.make_opsetid("my.domain", 1))
    return save(m)


@pytest.fixture
def sound(save):
    return save(model([helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, ["n", 5])], [("y", FLOAT, ["n", 5])]))


def test_a_sound_model_passes(thaw, sound):
    report = thaw.json("check", sound, code=0)
    assert report["findings"] == [] and report["counts"] == {"errors": 0, "warnings": 0, "notes": 0}
    assert "no findings" in thaw("check", sound, code=0).stdout


def test_nodes_of_subgraphs_say_where_they_are(thaw, save):
    def branch(name, node):
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(node.output[0], FLOAT, None)])

    m = model([helper.make_node("If", ["c"], ["y"], name="choose",
                                then_branch=branch("t", helper.make_node("Transpose", ["x"], ["t_out"], perm=[0, 1, 2])),
                                else_branch=branch("e", helper.make_node("Exp", ["x"], ["e_out"])))],
              [("c", TensorProto.BOOL, []), ("x", FLOAT, ["n", 5])], [("y", FLOAT, None)])
    finding = thaw.json("check", save(m), code=1)["findings"][0]
    assert finding["location"] == {"node": "t_out", "op": "Transpose", "graph": "If 'choose'.then_branch"}


def test_json(thaw, broken):
    report = thaw.json("check", broken, code=1)
    finding = report["findings"][0]
    assert (finding["code"], finding["severity"]) == ("THAW001", "error")
    assert finding["location"] == {"node": "turn", "op": "Transpose"}
    assert finding["title"] and finding["message"]
    counts = report["counts"]
    severities = [f["severity"] for f in report["findings"]]
    assert counts == {"errors": severities.count("error"), "warnings": severities.count("warning"),
                      "notes": severities.count("note")}
    assert severities == sorted(severities, key=["error", "warning", "note"].index)


def test_text_names_every_rule_that_json_names(thaw, broken):
    text = thaw("check", broken, "--all", code=1).stdout
    findings = thaw.json("check", broken, code=1)["findings"]
    assert all(f["code"] in text and f["title"] in text for f in findings)


def test_sarif_is_what_the_standard_requires(thaw, broken):
    import json

    log = json.loads(thaw("check", broken, "--format", "sarif", code=1).stdout)
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-2.1.0.json")
    run, = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "thaw" and driver["version"]
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    assert all(rule["shortDescription"]["text"] for rule in driver["rules"])
    assert len(run["results"]) == len(thaw.json("check", broken, code=1)["findings"]) > 0
    fingerprints = set()
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note") and result["message"]["text"]
        for location in result["locations"] + result.get("relatedLocations", []):
            artifact = location["physicalLocation"]["artifactLocation"]
            assert run["artifacts"][artifact["index"]]["location"]["uri"] == artifact["uri"]
            assert artifact["uri"].startswith("file:///")
            assert all(place["kind"] for place in location.get("logicalLocations", []))
        fingerprints.add(result["partialFingerprints"]["thawPlace/v1"])
    assert len(fingerprints) == len(run["results"])


def test_notes_alone_do_not_fail(thaw, broken):
    report = thaw.json("check", broken, "--select", "THAW002", code=0)
    assert [f["severity"] for f in report["findings"]] == ["note"]


def test_rules_are_chosen_by_code(thaw, broken):
    assert {f["code"] for f in thaw.json("check", broken, "--select", "THAW001")["findings"]} == {"THAW001"}
    assert "THAW001" not in {f["code"] for f in thaw.json("check", broken, "--ignore", "THAW001,THAW003")["findings"]}
    assert "THAW999" in thaw.error("check", broken, "--select", "THAW999")


def test_a_list_does_not_swallow_the_model(thaw, broken):
    assert {f["code"] for f in thaw.json("check", "--select", "THAW001", broken)["findings"]} == {"THAW001"}
