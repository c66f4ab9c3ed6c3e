#include "thaw/report/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace thaw::report {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<Finding> examples() {
  Finding note{.code = "THAW018", .severity = Severity::kNote, .title = "the batch merged", .message = "merged here"};
  Finding clash{.code = "THAW003",
                .severity = Severity::kError,
                .title = "one dim_param for two sizes",
                .message = "'?' stands for 40 and for 80",
                .where = {.node = "Resize_119", .op = "Resize", .tensor = "401", .graph = ""},
                .source = "input 'image' axis 2",
                .fix = "`thaw fix` names each size",
                .related = {{{.node = "Add_1", .op = "Add", .tensor = "402", .graph = ""}, "'?' here too"}},
                .details = {{"smallest size", "h=96"}}};
  Finding second = clash;
  second.where.tensor = "403";
  return {note, clash, second};
}

TEST(Findings, TextPutsTheWorstFirstAndEveryPartOnItsLine) {
  const std::string text = findings_text("m.onnx", examples(), Style());
  EXPECT_EQ(text, R"(m.onnx

error THAW003 one dim_param for two sizes
  Resize 'Resize_119', tensor '401': '?' stands for 40 and for 80
    ×2: '401', '403'
    comes from: input 'image' axis 2
    smallest size: h=96
    also: Add 'Add_1', tensor '402': '?' here too
  fix: `thaw fix` names each size

note THAW018 the batch merged
  the model: merged here

2 errors, 1 note
)");
}

TEST(Findings, TextCutsALongListAndSaysSo) {
  std::vector<Finding> findings = examples();
  findings[2].message = "'?' stands for 40 and for 160";  // another matter, not the same elsewhere
  const std::string text = findings_text("m.onnx", findings, Style(), 1);
  EXPECT_THAT(text, HasSubstr("tensor '401'"));
  EXPECT_THAT(text, Not(HasSubstr("tensor '403'")));
  EXPECT_THAT(text, HasSubstr("and 1 more"));
  EXPECT_THAT(text, HasSubstr("2 errors, 1 note"));
}

TEST(Findings, TextCutsALongListOfLocationsToo) {
  std::vector<Finding> one = {examples()[1]};
  one[0].related.resize(9, one[0].related[0]);
  EXPECT_THAT(findings_text("m.onnx", one, Style(), 5), HasSubstr("also: 3 more locations (--all prints them)"));
  EXPECT_THAT(findings_text("m.onnx", one, Style()), Not(HasSubstr("--all")));
}

TEST(Findings, TextOfNone) { EXPECT_EQ(findings_text("m.onnx", {}, Style()), "m.onnx\n  no findings\n"); }

TEST(Findings, ColourOnlyWhenAsked) {
  EXPECT_THAT(findings_text("m.onnx", examples(), Style(true)), HasSubstr("\x1b[1;31merror THAW003\x1b[0m"));
  EXPECT_THAT(findings_text("m.onnx", examples(), Style(false)), Not(HasSubstr("\x1b")));
}

TEST(Findings, JsonHasAllParts) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  write_findings(writer, examples());
  writer.end_object();
  const json report = json::parse(text);
  EXPECT_EQ(report["counts"], json::parse(R"({"errors": 2, "warnings": 0, "notes": 1})"));
  ASSERT_EQ(report["findings"].size(), 3u);
  EXPECT_EQ(report["findings"][0], json::parse(R"({
    "code": "THAW003", "severity": "error", "title": "one dim_param for two sizes", "message": "'?' stands for 40 and for 80",
    "location": {"node": "Resize_119", "op": "Resize", "tensor": "401"}, "source": "input 'image' axis 2",
    "fix": "`thaw fix` names each size",
    "related": [{"location": {"node": "Add_1", "op": "Add", "tensor": "402"}, "message": "'?' here too"}],
    "details": {"smallest size": "h=96"}})"));
  EXPECT_EQ(report["findings"][2]["location"], json::object());
}

TEST(Sarif, HasWhatTheStandardRequires) {
  const json log = json::parse(findings_sarif("some dir/m.onnx", examples()));
  EXPECT_EQ(log["version"], "2.1.0");
  const json& run = log["runs"].at(0);
  EXPECT_EQ(run["tool"]["driver"]["name"], "thaw");
  const json& rules = run["tool"]["driver"]["rules"];
  ASSERT_EQ(run["results"].size(), 3u);
  for (const json& result : run["results"]) {
    EXPECT_EQ(rules.at(result["ruleIndex"].get<size_t>())["id"], result["ruleId"]);
    EXPECT_TRUE(result["message"]["text"].is_string());
    EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "some%20dir/m.onnx");
  }
  EXPECT_EQ(run["results"][0]["level"], "error");
  EXPECT_EQ(run["results"][0]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"], "Resize_119/401");
  EXPECT_EQ(run["results"][0]["relatedLocations"][0]["message"]["text"], "'?' here too");
  EXPECT_EQ(run["results"][2]["level"], "note");
}

TEST(Sarif, FingerprintsTellLocationsApartAndStayFromRunToRun) {
  std::vector<Finding> findings = examples();
  const auto prints = [](const std::vector<Finding>& list) {
    std::vector<std::string> out;
    const json log = json::parse(findings_sarif("/m.onnx", list));
    for (const json& result : log["runs"][0]["results"]) {
      out.push_back(result["partialFingerprints"]["thawPlace/v1"]);
    }
    return out;
  };
  const std::vector<std::string> before = prints(findings);
  EXPECT_NE(before[0], before[1]);
  findings[1].message = "other words";
  EXPECT_EQ(prints(findings), before);
  findings.push_back(findings[1]);  // the same rule at the same location again
  EXPECT_NE(prints(findings)[2], before[0]);
}

TEST(Sarif, AnAbsolutePathIsAFileUri) {
  const json log = json::parse(findings_sarif("/a b/m#1.onnx", {}));
  EXPECT_EQ(log["runs"][0]["artifacts"][0]["location"]["uri"], "file:///a%20b/m%231.onnx");
  EXPECT_EQ(log["runs"][0]["results"], json::array());
}

TEST(Sarif, AModelFromNoFileHasAName) {
  const json log = json::parse(findings_sarif("", examples()));
  for (const json& result : log["runs"][0]["results"])
    EXPECT_EQ(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "model.onnx");
}

TEST(Github, ALineEachWithWhatItsActionsEscape) {
  Finding finding = examples()[1];
  finding.message = "100 % of\nit: a,b";
  const CheckedModel model{"some,dir/m.onnx", {finding}};
  EXPECT_EQ(findings_github(std::span(&model, 1)),
            "::error title=Thaw (THAW003),file=some%2Cdir/m.onnx::some,dir/m.onnx: THAW003 Resize 'Resize_119', tensor "
            "'401': 100 %25 of\\x0ait: a,b\n");
}

TEST(BySeverity, KeepsTheOrderOfEquals) { EXPECT_THAT(by_severity(examples()), ElementsAre(1, 2, 0)); }

}  // namespace
}  // namespace thaw::report
