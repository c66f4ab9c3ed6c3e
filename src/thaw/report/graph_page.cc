#include "thaw/report/graph_page.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "thaw/ir/graph/location.h"
#include "thaw/report/collect_graph.h"
#include "thaw/report/dim_text.h"
#include "thaw/report/findings.h"
#include "thaw/report/frozen_sizes.h"
#include "thaw/report/html_page.h"
#include "thaw/report/members.h"
#include "thaw/report/printable.h"
#include "thaw/run/providers.h"

namespace thaw::report {
namespace {

constexpr std::string_view kGraphStyle =
#include "thaw/report/pages/graph.css.inc"
    ;
constexpr std::string_view kGraphMarkup =
#include "thaw/report/pages/graph.html.inc"
    ;
// Each uses those before it.
constexpr std::string_view kGraphScripts[] = {
#include "thaw/report/pages/graph_elements.js.inc"
    ,
#include "thaw/report/pages/graph_model.js.inc"
    ,
#include "thaw/report/pages/graph_level.js.inc"
    ,
#include "thaw/report/pages/graph_layout.js.inc"
    ,
#include "thaw/report/pages/graph_picture.js.inc"
    ,
#include "thaw/report/pages/graph_gestures.js.inc"
    ,
#include "thaw/report/pages/graph_details.js.inc"
    ,
#include "thaw/report/pages/graph_search.js.inc"
    ,
#include "thaw/report/pages/graph.js.inc"
};

constexpr size_t kMostRows = 500;  // of a table; the JSON has them all

using Rows = std::vector<std::vector<HtmlCell>>;

std::string file_name(const ir::Model& model) { return model.path.empty() ? "model" : model.path.filename().string(); }

void add_graph(HtmlPage& page, const std::string& json) {
  page.style(kGraphStyle);
  page.markup(kGraphMarkup);
  page.data("graph", json);
  for (const std::string_view script : kGraphScripts) page.script(script);
}

void add_table(HtmlPage& page, std::string_view heading, const std::vector<std::string>& columns, Rows rows) {
  if (rows.empty()) return;
  const size_t all = rows.size();
  rows.erase(rows.begin() + static_cast<ptrdiff_t>(std::min(all, kMostRows)), rows.end());
  page.heading(heading);
  page.table(columns, rows);
  if (all > kMostRows)
    page.sentence(fmt::format("{} more are left out; --format json has them all.", grouped(all - kMostRows)));
}

void add_interface(HtmlPage& page, const Inspection& seen) {
  DimText dims;
  Rows rows;
  const auto add = [&](const auto& values, std::string_view kind) {
    for (const ir::Value* value : values) {
      const ops::Fact& fact = seen.result.fact(value);
      rows.push_back({HtmlCell::text(kind), HtmlCell::code(value->name()), HtmlCell::code(type_text(fact)),
                      HtmlCell::code(dims.show(fact.shape))});
    }
  };
  add(seen.inputs(), "input");
  add(seen.model->graph->outputs(), "output");
  add_table(page, "Inputs and outputs", {"", "name", "type", "sizes"}, std::move(rows));
}

void add_findings(HtmlPage& page, const std::vector<Finding>& findings) {
  Rows rows;
  for (const Finding& finding : findings)
    rows.push_back({HtmlCell::code(finding.code), HtmlCell::code(describe(finding.where)),
                    HtmlCell::text(finding.message), HtmlCell::text(finding.fix)});
  add_table(page, "Frozen sizes", {"rule", "where", "what", "fix"}, std::move(rows));
}

void add_problems(HtmlPage& page, const Inspection& seen) {
  Rows rows;
  for (const infer::Problem& problem : seen.result.problems())
    rows.push_back({HtmlCell::code(describe(ir::location_of(*problem.node))), HtmlCell::text(problem.message)});
  add_table(page, "Nodes that cannot run", {"where", "why"}, std::move(rows));
}

void add_items(HtmlPage& page, std::string_view heading, const std::vector<DiffItem>& items) {
  constexpr std::string_view kChanges[] = {"added", "removed", "changed"};
  constexpr Outcome kOutcomes[] = {Outcome::kGood, Outcome::kBad, Outcome::kOpen};
  Rows rows;
  for (const DiffItem& item : items) {
    std::vector<std::string> lines;
    for (const Difference& difference : item.differences) lines.push_back(describe(difference));
    const auto change = static_cast<size_t>(item.change);
    rows.push_back(
        {HtmlCell::verdict(kOutcomes[change], kChanges[change]), HtmlCell::code(item.name), HtmlCell::list(lines)});
  }
  add_table(page, heading, {"", "what", "differences"}, std::move(rows));
}

void add_differences(HtmlPage& page, std::string_view heading, const std::vector<Difference>& differences) {
  Rows rows;
  for (const Difference& difference : differences)
    rows.push_back({HtmlCell::text(difference.what), HtmlCell::code(difference.a), HtmlCell::code(difference.b),
                    HtmlCell::text(difference.note)});
  add_table(page, heading, {"", "A", "B", ""}, std::move(rows));
}

}  // namespace

std::string inspection_page(const Inspection& seen, size_t most_bytes) {
  const ir::Model& model = *seen.model;
  HtmlPage page(fmt::format("thaw inspect: {}", file_name(model)));
  const FrozenSizes frozen = frozen_sizes(model);
  add_graph(page, graph_json({.seen = seen, .frozen = &frozen}, most_bytes));
  add_interface(page, seen);
  add_findings(page, frozen.findings);
  add_problems(page, seen);
  return page.finish();
}

std::string placement_page(const RunReport& report, const Inspection& seen, size_t most_bytes) {
  const Placement placement = report.placement.value_or(Placement());
  HtmlPage page(fmt::format("thaw run: {}", file_name(*seen.model)));
  page.sentence(fmt::format("Ran in {:.3g} s on {}.", report.seconds, where_it_ran(report.runtime)));
  if (placement.nodes.empty())
    page.sentence("ONNX Runtime tells which provider has which node from version 1.24 on.");
  else
    page.sentence(
        "Nodes that ONNX Runtime folded into constants or merged with others are not marked, nor those without a "
        "name.");
  add_graph(page, graph_json({.seen = seen, .placement = &placement}, most_bytes));
  constexpr double kMilliseconds = 1e3;
  Rows rows;
  for (const TimedNode& node : placement.timed)
    rows.push_back({HtmlCell::number(node.seconds * kMilliseconds), HtmlCell::text(run::short_provider(node.provider)),
                    HtmlCell::code(node.op_type), HtmlCell::code(node.name)});
  add_table(page, "What ran", {"ms", "provider", "operator", "name"}, std::move(rows));
  rows.clear();
  for (const PlacedNode& node : placement.nodes)
    rows.push_back(
        {HtmlCell::text(run::short_provider(node.provider)), HtmlCell::code(node.op_type), HtmlCell::code(node.name)});
  add_table(page, "Nodes of the model", {"provider", "operator", "name"}, std::move(rows));
  return page.finish();
}

std::string diff_page(const ModelDiff& diff, const ir::Model& model_a, const ir::Model& model_b, size_t most_bytes) {
  HtmlPage page(fmt::format("thaw diff: {} → {}", file_name(model_a), file_name(model_b)));
  page.verdict(diff.equal() ? Outcome::kGood : Outcome::kOpen, diff.equal() ? "equal" : "differ", describe(diff));
  const Inspection a = inspect(model_a), b = inspect(model_b);
  add_graph(page, graph_json({.seen = b, .former = &a, .diff = &diff}, most_bytes));
  add_differences(page, "Header", diff.header);
  add_items(page, "Inputs", diff.inputs);
  add_items(page, "Outputs", diff.outputs);
  add_differences(page, "Operators", diff.operators);
  add_items(page, "Nodes", diff.nodes);
  add_items(page, "Weights", diff.weights);
  add_items(page, "Declared sizes", diff.value_info);
  add_items(page, "Inferred sizes", diff.inferred_shapes);
  return page.finish();
}

}  // namespace thaw::report
