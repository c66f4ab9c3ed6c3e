#include "thaw/report/inspection_cost.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/infer/cost.h"
#include "thaw/report/dim_text.h"
#include "thaw/report/printable.h"
#include "thaw/report/table.h"

namespace thaw::report {
namespace {

constexpr int kMostCostTerms = 512;  // of a sum over all nodes

// Numbers first, the largest first; then expressions, those of the most nodes first.
infer::ModelCost sorted_cost(const Inspection& seen) {
  seen.scope->set_budget(std::max(seen.scope->budget(), kMostCostTerms));
  infer::ModelCost cost = infer::cost_of(*seen.model, seen.result);
  const auto rank = [](const infer::OperatorCost& one) {
    const int64_t flops = one.cost.flops.constant().value_or(-1);
    return std::tuple(flops < 0 ? 0 : 1, -flops, one.cost.flops.is_constant(0), -static_cast<int64_t>(one.nodes));
  };
  std::ranges::stable_sort(cost.operators, {}, rank);
  return cost;
}

std::string shown(dim::Dim d, size_t without, DimText& dims) {
  const auto number = d.constant();
  std::string text = number && *number >= 0 ? grouped(static_cast<uint64_t>(*number)) : dims.show(d);
  if (without > 0) text += fmt::format(" and what {} take", counted(without, "node"));
  return text;
}

}  // namespace

std::string cost_text(const Inspection& seen) {
  const infer::ModelCost cost = sorted_cost(seen);
  DimText dims;
  Table table(72);
  table.add({"operator", "nodes", "operations", "bytes read and written"});
  const auto add = [&](const std::string& name, const infer::OperatorCost& one) {
    table.add({name, grouped(one.nodes), shown(one.cost.flops, one.without_flops, dims),
               shown(one.cost.bytes, one.without_bytes, dims)});
  };
  for (const infer::OperatorCost& one : cost.operators) add(one.op, one);
  add("all", cost.total);
  return table.text();
}

void write_cost(JsonWriter& json, const Inspection& seen) {
  const infer::ModelCost cost = sorted_cost(seen);
  DimText dims;
  const auto write = [&](const infer::OperatorCost& one) {
    json.member("nodes", one.nodes);
    json.key("flops");
    dims.write(json, one.cost.flops);
    json.key("bytes_moved");
    dims.write(json, one.cost.bytes);
    json.member("nodes_without_flops", one.without_flops);
    json.member("nodes_without_bytes_moved", one.without_bytes);
  };
  json.member_object("cost");
  write(cost.total);
  json.member_array("operators");
  for (const infer::OperatorCost& one : cost.operators) {
    json.begin_object(kLine);
    json.member("op", one.op);
    write(one);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace thaw::report
