// THAW043: `check --sizes`. What nodes ask of the numbers that an input holds: token ids below the rows of their table. No size decides
// it, so that it is neither proven nor broken.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "thaw/check/rule.h"
#include "thaw/dim/text/text.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::checking {

namespace {

constexpr size_t kMaxReported = 20;

bool is_free_number(const dim::SymbolInfo& symbol) {
  return symbol.kind == dim::SymbolKind::kInputValue && symbol.lower == dim::SymbolInfo::kNoLower;
}

// "max(ids) must be at most 9": what a statement asks of one number of an input; nullopt where it asks more than that.
std::optional<std::string> bound_of(const ops::Obligation& o) {
  const dim::Dim slack = o.b - o.a;
  const dim::Scope* scope = dim::scope_of(slack);
  if (o.kind != dim::Relation::kAtMost || !scope) return std::nullopt;
  for (const int id : dim::symbols_of(slack)) {
    const dim::SymbolInfo& symbol = scope->symbols()[static_cast<size_t>(id)];
    if (!is_free_number(symbol)) continue;
    const dim::Dim number = scope->symbol_at(id);
    for (const int sign : {1, -1}) {
      const dim::Dim rest = sign == 1 ? slack + number : slack - number;
      if (rest.is_unknown()) continue;
      const auto left = dim::symbols_of(rest);
      if (std::ranges::find(left, id) != left.end()) continue;
      const std::string end = dim::to_string(sign == 1 ? rest : -rest);
      return fmt::format("{} must be at {} {}", symbol.name, sign == 1 ? "most" : "least", end);
    }
  }
  return std::nullopt;
}

constexpr size_t kMaxWalked = 100'000;  // values behind one operand

}  // namespace

const ir::Value* input_behind(const ops::Obligation& o) {
  const ir::Value* start = o.of_values && o.a.is_unknown() && o.input_a >= 0 ? o.node->input(o.input_a) : nullptr;
  if (!start) return nullptr;
  const ir::Value* found = nullptr;
  std::vector<const ir::Value*> waiting{start};
  std::unordered_set<const ir::Value*> seen{start};
  while (!waiting.empty()) {
    const ir::Value* value = waiting.back();
    waiting.pop_back();
    if (value->constant()) continue;
    const ir::Node* node = value->producer();
    if (!node) {
      // What a body is given is somebody else's.
      const bool is_given = value->is_input() && value->graph()->parent_node() == nullptr;
      if (!is_given || !ir::is_integer(value->type.elem_type)) return nullptr;
      found = value;
      continue;
    }
    if (seen.size() > kMaxWalked || !node->subgraphs().empty()) return nullptr;
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const ir::Value* input = node->inputs()[i];
      if (input && !ops::is_unread(ops::role_of(*node, static_cast<int>(i))) && seen.insert(input).second)
        waiting.push_back(input);
    }
  }
  return found;
}

bool is_condition_on_inputs(const ops::Obligation& o) {
  if (!o.of_values) return false;
  for (const dim::Dim side : {o.a, o.b}) {
    const dim::Scope* scope = dim::scope_of(side);
    if (!scope) continue;
    for (const int id : dim::symbols_of(side))
      if (is_free_number(scope->symbols()[static_cast<size_t>(id)])) return true;
  }
  return false;
}

std::string numbers_of(const ops::Obligation& o) {
  const ir::Value* value = o.input_a >= 0 ? o.node->input(o.input_a) : nullptr;
  return value ? fmt::format("the numbers in '{}'", value->name()) : std::string("its numbers");
}

void look_for_conditions_on_inputs(Evidence& evidence, Findings& findings) {
  if (evidence.dims().empty()) return;
  std::set<std::string> reported;
  for (const ops::Obligation* o : evidence.size_proofs().conditions) {
    const auto bound = bound_of(*o);
    const std::string text = bound.value_or(statement_text(*o));
    if (reported.size() == kMaxReported || !reported.insert(text).second) continue;
    Finding& f = findings.add(fmt::format("{}: {} ({})", name_of(*o->node), text, o->what), location_of(*o->node));
    f.details.emplace_back("statement", statement_text(*o));
    f.fix = "give inputs with such values; sizes do not decide this";
  }
  for (const OpenStatement& open : evidence.size_proofs().open) {
    const ir::Value* input = input_behind(*open.obligation);
    if (!input) continue;
    const std::string text = fmt::format("{} is not proven: {} depend on the values of input '{}'",
                                         open.obligation->what, numbers_of(*open.obligation), input->name());
    if (reported.size() == kMaxReported || !reported.insert(text).second) continue;
    Finding& f =
        findings.add(fmt::format("{}: {}", name_of(*open.obligation->node), text), location_of(*open.obligation->node));
    f.fix = "give the inputs that the model was made for; sizes do not decide this";
  }
}

}  // namespace thaw::checking
