#include <algorithm>
#include <span>
#include <unordered_map>

#include <fmt/format.h>

#include "thaw/ir/graph/location.h"
#include "thaw/prove/stated_proof.h"
#include "thaw/report/dim_text.h"
#include "thaw/report/findings.h"
#include "thaw/report/inspection.h"
#include "thaw/report/inspection_cost.h"
#include "thaw/report/printable.h"
#include "thaw/report/table.h"
#include "thaw/rewrite/constant_weights.h"

namespace thaw::report {
namespace {

constexpr size_t kMostListed = 12;  // conditions, problems and operators in the summary; JSON has them all

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  if (bytes < 1000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  if (bytes < 1000'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.2f} GB", static_cast<double>(bytes) / 1e9);
}

class InspectionText {
 public:
  InspectionText(const Inspection& seen, const InspectionView& view, const Style& style)
      : seen_(seen), view_(view), style_(style), model_(*seen.model) {}

  std::string write() {
    write_header();
    write_interface();
    write_sizes();
    write_operators();
    write_problems();
    write_conditions();
    if (view_.cost) {
      heading("Cost");
      text_ += cost_text(seen_);
    }
    if (view_.weights) write_weights();
    if (view_.values) write_values();
    write_completeness();
    return std::move(text_);
  }

 private:
  void heading(std::string_view name) { text_ += "\n" + style_(Style::Look::kBold, name) + "\n"; }

  void more(size_t left) {
    if (left > 0) text_ += fmt::format("  … and {} more (--format json has them all)\n", grouped(left));
  }

  void write_header() {
    std::vector<std::string> parts = {fmt::format("IR {}", model_.ir_version)};
    for (const ir::OpsetImport& import : model_.opset_imports) {
      parts.push_back(import.domain.empty() ? fmt::format("opset {}", import.version)
                                            : fmt::format("{} {}", import.domain, import.version));
    }
    const std::string producer = producer_of(model_);
    if (!producer.empty()) parts.push_back("made by " + producer);
    text_ += style_(Style::Look::kBold, printable(model_.path.empty() ? "model" : model_.path.string())) + "  " +
             printable(fmt::format("{}", fmt::join(parts, ", "))) + "\n";
    const WeightTotals weights = weigh(model_);
    text_ += fmt::format("{}, {} of {}", counted(model_.graph->nodes().size(), "node"),
                         counted(weights.count, "weight"), bytes_text(weights.bytes));
    if (weights.external > 0) text_ += fmt::format(" ({} in other files)", bytes_text(weights.external));
    if (weights.constants > 0) {
      text_ += fmt::format(", {} of {}", counted(weights.constants, "constant"), bytes_text(weights.constant_bytes));
    }
    if (!model_.functions.empty()) text_ += ", " + counted(model_.functions.size(), "function");
    text_ += "\n";
    if (const auto proof = proving::stated_proof(model_))
      text_ += fmt::format("states: {} of {} proven equal to the outputs of the model {}\n", proof->proven,
                           counted(proof->outputs, "output"), proof->origin);
    text_ += rewrite::describe_taken_weights(rewrite::count_replaceable(model_));
  }

  std::string dims_of(const ops::Fact& fact) {
    const bool tensor = fact.kind == ops::Fact::Kind::kTensor || fact.kind == ops::Fact::Kind::kSparseTensor;
    return tensor ? dims_.show(fact.shape) : "";
  }

  std::string type_of(const ops::Fact& fact) {
    const std::string type = type_text(fact);
    return type.empty() ? "?" : type;
  }

  void write_interface() {
    const auto write_list = [&](std::string_view name, const auto& values) {
      Table table;
      for (const ir::Value* value : values) {
        const ops::Fact& fact = seen_.result.fact(value);
        table.add({value->name(), type_of(fact), dims_of(fact)});
      }
      heading(name);
      text_ += table.empty() ? "  none\n" : table.text();
    };
    write_list("Inputs", seen_.inputs());
    write_list("Outputs", model_.graph->outputs());
  }

  void write_sizes() {
    Table table;
    for (const auto& [name, value] : seen_.sizes) table.add({name, fmt::format("set to {}", value)});
    const std::vector<dim::SymbolInfo> symbols = symbols_of(seen_);
    const size_t shown = std::min(symbols.size(), 2 * kMostListed);
    for (const dim::SymbolInfo& symbol : std::span(symbols).first(shown)) {
      std::string what;
      if (symbol.kind == dim::SymbolKind::kInputValue) {
        what = "an element of an input";
      } else if (symbol.kind == dim::SymbolKind::kDataDependent) {
        what = "known only at run time";
      } else {
        what = symbol.upper ? fmt::format("{} to {}", symbol.lower, *symbol.upper)
                            : fmt::format("{} or more", symbol.lower);
      }
      if (symbol.modulus != 1) what += fmt::format(", {} modulo {}", symbol.remainder, symbol.modulus);
      table.add({symbol.name, what});
    }
    if (table.empty()) return;
    heading("Sizes");
    text_ += table.text();
    more(symbols.size() - shown);
  }

  void write_operators() {
    const auto counts = operator_counts(model_);
    if (counts.empty()) return;
    heading("Operators");
    std::string line = " ";
    for (size_t i = 0; i < std::min(counts.size(), kMostListed); ++i) {
      line += fmt::format(" {} {}{}", printable(counts[i].first), grouped(counts[i].second),
                          i + 1 < std::min(counts.size(), kMostListed) ? "," : "");
    }
    text_ += line + "\n";
    more(counts.size() - std::min(counts.size(), kMostListed));
    const auto& unknown = seen_.result.unknown_operators();
    if (!unknown.empty()) {
      text_ += "  " + style_(Style::Look::kYellow, "no shape rule for") + " " +
               printable(fmt::format("{}", fmt::join(unknown, ", "))) + "\n";
    }
  }

  void write_problems() {
    const auto& problems = seen_.result.problems();
    if (problems.empty()) return;
    heading("Problems");
    for (size_t i = 0; i < std::min(problems.size(), kMostListed); ++i) {
      text_ += "  " + style_(Style::Look::kRed, describe(ir::location_of(*problems[i].node))) + ": " +
               printable(problems[i].message) + "\n";
    }
    more(problems.size() - std::min(problems.size(), kMostListed));
  }

  // Each condition once, with the first node that asks for it.
  void write_conditions() {
    struct Condition {
      std::string text;
      const ops::Obligation* first;
      size_t nodes;
    };
    std::vector<Condition> conditions;
    std::unordered_map<std::string, size_t> index;
    // What ties sizes to each other says more than what they must exceed.
    std::vector<ops::Obligation> sorted = seen_.result.obligations();
    std::ranges::stable_sort(sorted, {}, &ops::Obligation::kind);
    for (const ops::Obligation& obligation : sorted) {
      if (obligation.a.is_unknown() || obligation.b.is_unknown()) continue;
      std::string text = condition_text(obligation, dims_);
      const auto [it, fresh] = index.emplace(text, conditions.size());
      if (fresh) conditions.push_back({std::move(text), &obligation, 0});
      ++conditions[it->second].nodes;
    }
    if (conditions.empty()) return;
    heading("Size conditions");
    Table table(72);
    for (size_t i = 0; i < std::min(conditions.size(), kMostListed); ++i) {
      const Condition& condition = conditions[i];
      std::string where = describe(ir::location_of(*condition.first->node));
      if (condition.nodes > 1) where += fmt::format(" and {} more", condition.nodes - 1);
      table.add({condition.text, fmt::format("{} ({})", where, condition.first->what)});
    }
    text_ += table.text();
    more(conditions.size() - std::min(conditions.size(), kMostListed));
  }

  void write_weights() {
    Table table;
    for (const ir::Value* value : model_.graph->initializers()) {
      if (!is_listed(view_, value->name())) continue;
      const ir::Tensor& tensor = *value->initializer();
      table.add({value->name(), std::string(ir::name_of(tensor.data_type)),
                 fmt::format("[{}]", fmt::join(tensor.dims, ", ")),
                 tensor.external() ? "in " + tensor.external()->location : ""});
    }
    heading("Weights");
    text_ += table.empty() ? "  none\n" : table.text();
  }

  void write_values() {
    Table table;
    table.add({"name", "op", "type", "shape", "elements"});
    const size_t head = table.size();
    seen_.each_value([&](const ir::Value& value, const ir::Node& node) {
      if (!is_listed(view_, value.name())) return;
      const ops::Fact& fact = seen_.result.fact(&value);
      std::string elements;
      for (const dim::Dim dim : integer_elements(fact)) elements += (elements.empty() ? "" : ", ") + dims_.show(dim);
      table.add({value.name(), ir::operator_name(node), type_of(fact), dims_of(fact), elements});
    });
    heading("Tensors");
    text_ += table.size() == head ? "  none\n" : table.text();
  }

  void write_completeness() {
    size_t all = 0;
    size_t full = 0;
    seen_.each_value([&](const ir::Value& value, const ir::Node&) {
      const ops::Fact& fact = seen_.result.fact(&value);
      ++all;
      full += fact.shape && std::ranges::all_of(*fact.shape, [](dim::Dim dim) { return dim.is_known(); });
    });
    text_ += fmt::format("\nShapes are known for {} of {} tensors.\n", grouped(full), grouped(all));
    if (seen_.result.out_of_budget())
      text_ += fmt::format("The rest is unknown: over budget ({}).\n", model_.budget->text());
  }

  const Inspection& seen_;
  const InspectionView& view_;
  const Style& style_;
  const ir::Model& model_;
  DimText dims_;
  std::string text_;
};

}  // namespace

std::string inspection_text(const Inspection& seen, const InspectionView& view, const Style& style) {
  return InspectionText(seen, view, style).write();
}

}  // namespace thaw::report
