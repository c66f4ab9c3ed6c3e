#include "thaw/cli/check_page.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "thaw/dim/expr/scope.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/graph/place.h"
#include "thaw/report/dim_text.h"
#include "thaw/report/findings.h"
#include "thaw/report/html_page.h"
#include "thaw/report/printable.h"

namespace thaw::cli {
namespace {

using report::HtmlCell;
using report::Outcome;

Outcome outcome_of(Severity severity) {
  return severity == Severity::kError     ? Outcome::kBad
         : severity == Severity::kWarning ? Outcome::kOpen
                                          : Outcome::kGood;
}

void add_findings(report::HtmlPage& page, const std::vector<Finding>& findings) {
  std::map<std::pair<int, std::string>, std::vector<const Finding*>> by_rule;  // the worst first
  for (const Finding& finding : findings)
    by_rule[{-static_cast<int>(finding.severity), finding.code}].push_back(&finding);
  for (const auto& [key, found] : by_rule) {
    const Finding& first = *found.front();
    page.heading(fmt::format("{} {} ({})", first.code, first.title, report::name_of(first.severity)));
    if (!first.happens.empty()) page.sentence(fmt::format("What happens: {}.", first.happens));
    if (!first.fix.empty()) page.sentence(fmt::format("What mends it: {}.", first.fix));
    for (const std::string& command : first.commands)
      page.markup(fmt::format("<pre><code>{}</code></pre>\n", report::html_text(command)));
    // Columns that say nothing of any of them are left out.
    const bool has_source = std::ranges::any_of(found, [](const Finding* f) { return !f->source.empty(); });
    const bool has_more =
        std::ranges::any_of(found, [](const Finding* f) { return !f->details.empty() || !f->related.empty(); });
    std::vector<std::string> columns{"where", "what"};
    if (has_source) columns.emplace_back("comes from");
    if (has_more) columns.emplace_back("more");
    std::vector<std::vector<HtmlCell>> rows;
    for (const Finding* finding : found) {
      std::vector<std::string> more;
      for (const auto& [name, text] : finding->details) more.push_back(fmt::format("{}: {}", name, text));
      for (const Related& related : finding->related)
        more.push_back(fmt::format("{}: {}", report::describe(related.where), related.message));
      rows.push_back({HtmlCell::verdict(outcome_of(finding->severity), report::describe(finding->where)),
                      HtmlCell::text(finding->message)});
      if (has_source) rows.back().push_back(HtmlCell::text(finding->source));
      if (has_more) rows.back().push_back(HtmlCell::list(more));
    }
    page.table(columns, rows);
  }
}

// "/layers/3/attn/MatMul" stands in "/layers/3/attn", "layers.3.attn.MatMul" in "layers.3.attn"; at most so deep.
std::string module_of(std::string_view node) {
  constexpr size_t kDeepest = 4;
  const char separator = node.find('/') != std::string_view::npos ? '/' : '.';
  const size_t last = node.rfind(separator);
  if (last == std::string_view::npos || last == 0) return "(the model)";
  std::string_view module = node.substr(0, last);
  size_t end = 0;
  for (size_t depth = 0; depth <= kDeepest; ++depth) {
    end = module.find(separator, end == 0 ? 0 : end + 1);
    if (end == std::string_view::npos) return std::string(module);
  }
  return std::string(module.substr(0, end));
}

struct Module {
  std::string name;
  size_t nodes = 0, marked = 0;
  const ir::Value* last = nullptr;  // what comes out of it in the end
  std::vector<std::string> findings;
};

void add_graph(report::HtmlPage& page, const ir::Model& model, const std::vector<Finding>& findings) {
  constexpr size_t kMostModules = 1000;
  std::unordered_map<std::string_view, std::vector<const Finding*>> by_node;
  for (const Finding& finding : findings)
    if (!finding.where.node.empty()) by_node[finding.where.node].push_back(&finding);
  dim::Scope scope;
  const infer::Result facts = infer::infer(model, scope);
  std::vector<Module> modules;
  std::unordered_map<std::string, size_t> known;
  for (const ir::Node* node : model.graph->nodes()) {
    const ir::Value* output = nullptr;
    for (const ir::Value* value : node->outputs())
      if (value != nullptr && output == nullptr) output = value;
    const std::string name = ir::place_of(*node).node;  // as findings name it
    const auto [at, is_new] = known.try_emplace(module_of(name), modules.size());
    if (is_new) modules.push_back({.name = at->first, .findings = {}});
    Module& module = modules[at->second];
    ++module.nodes;
    if (output != nullptr) module.last = output;
    if (const auto found = by_node.find(name); found != by_node.end()) {
      ++module.marked;
      for (const Finding* finding : found->second)
        module.findings.push_back(fmt::format("{} {}", finding->code, report::describe(finding->where)));
    }
  }
  page.heading("The graph by module");
  page.sentence(
      "In the order in which they first run: what comes out of each, with its sizes, and the findings in it.");
  report::DimText dims;
  std::vector<std::vector<HtmlCell>> rows;
  for (const Module& module : modules) {
    if (rows.size() == kMostModules) break;
    const std::string sizes = module.last == nullptr
                                  ? std::string()
                                  : fmt::format("{} {}", module.last->name(), dims.show(facts.fact(module.last).shape));
    rows.push_back({HtmlCell::code(module.name), HtmlCell::count(module.nodes), HtmlCell::code(sizes),
                    module.marked == 0 ? HtmlCell::text("")
                                       : HtmlCell::verdict(Outcome::kBad, report::counted(module.marked, "node")),
                    HtmlCell::list(module.findings)});
  }
  page.table({"module", "nodes", "comes out", "marked", "findings"}, rows);
  if (modules.size() > kMostModules)
    page.sentence(fmt::format("{} more modules are left out.", report::grouped(modules.size() - kMostModules)));
}

}  // namespace

std::string check_page(const std::string& path, const ir::Model& model, const CheckReport& report) {
  report::HtmlPage page(fmt::format("thaw check: {}", path));
  const report::FindingCounts counts = report::count(report.findings);
  const bool fails = report::worth_failing(counts);
  page.verdict(counts.errors > 0 ? Outcome::kBad
               : fails           ? Outcome::kOpen
                                 : Outcome::kGood,
               fails ? "findings" : "fine", report::describe(counts));
  if (report.proof.statements > 0)
    page.sentence(
        fmt::format("Over the sizes that were asked for: {} statements about sizes, {} proven, {} broken, {} open.",
                    report.proof.statements, report.proof.proven, report.proof.broken, report.proof.open));
  add_findings(page, report.findings);
  add_graph(page, model, report.findings);
  return page.finish();
}

}  // namespace thaw::cli
