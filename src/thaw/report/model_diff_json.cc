#include "thaw/report/json_writer.h"
#include "thaw/report/members.h"
#include "thaw/report/model_diff.h"

namespace thaw::report {
namespace {

void write_differences(JsonWriter& json, const char* name, const std::vector<Difference>& differences,
                       JsonWriter::Layout layout) {
  json.member_array(name, layout);
  for (const Difference& difference : differences) {
    json.begin_object(kLine);
    json.member("property", difference.what);
    if (difference.note.empty()) {
      json.member("a", difference.a);
      json.member("b", difference.b);
    } else {
      json.member("message", difference.note);
    }
    json.end_object();
  }
  json.end_array();
}

void write_items(JsonWriter& json, const char* name, const std::vector<DiffItem>& items) {
  constexpr const char* kChanges[] = {"added", "removed", "changed"};
  json.member_array(name);
  for (const DiffItem& item : items) {
    json.begin_object(kLine);
    json.member("name", item.name);
    json.member("change", kChanges[static_cast<size_t>(item.change)]);
    if (!item.differences.empty()) write_differences(json, "differences", item.differences, kLine);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

}  // namespace thaw::report

namespace thaw {

using report::JsonWriter;

std::string to_json(const ModelDiff& diff) {
  std::string text;
  JsonWriter json(text);
  report::begin_report(json);
  json.member("a", diff.a);
  json.member("b", diff.b);
  json.member("equal", diff.equal());
  json.member("equal_except_names", diff.equal_except_names());
  json.member("weights_compared", diff.weights_compared);
  json.member("matched_nodes", diff.matched_nodes);
  report::write_differences(json, "header", diff.header, JsonWriter::Layout::kLines);
  report::write_items(json, "inputs", diff.inputs);
  report::write_items(json, "outputs", diff.outputs);
  report::write_differences(json, "operators", diff.operators, JsonWriter::Layout::kLines);
  report::write_items(json, "nodes", diff.nodes);
  report::write_items(json, "weights", diff.weights);
  report::write_items(json, "value_info", diff.value_info);
  report::write_items(json, "inferred_shapes", diff.inferred_shapes);
  json.member_array("renamed");
  for (const auto& [a, b] : diff.renamed) {
    json.begin_object(JsonWriter::Layout::kLine);
    json.member("a", a);
    json.member("b", b);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return text + "\n";
}

}  // namespace thaw
