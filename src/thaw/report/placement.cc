#include "thaw/report/placement.h"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "thaw/report/printable.h"
#include "thaw/report/table.h"
#include "thaw/run/providers.h"

namespace thaw::report {
namespace {

constexpr size_t kShown = 10;
constexpr double kMilliseconds = 1e3;

struct ProviderShare {
  std::string name;
  size_t nodes = 0, timed = 0;
  double seconds = 0;
};

// In the order in which they first ran.
std::vector<ProviderShare> shares_of(const Placement& placement) {
  std::vector<ProviderShare> shares;
  const auto of = [&](const std::string& name) -> ProviderShare& {
    const auto found = std::ranges::find(shares, name, &ProviderShare::name);
    return found != shares.end() ? *found : shares.emplace_back(ProviderShare{.name = name});
  };
  for (const TimedNode& node : placement.timed) {
    if (node.is_copy) continue;
    ProviderShare& share = of(node.provider);
    ++share.timed;
    share.seconds += node.seconds;
  }
  for (const PlacedNode& node : placement.nodes) ++of(node.provider).nodes;
  return shares;
}

std::string milliseconds(double seconds) { return fmt::format("{:.3g} ms", seconds * kMilliseconds); }

std::string provider_text(const std::string& name) { return run::short_provider(name); }

std::string shares_text(const Placement& placement, const std::vector<ProviderShare>& shares) {
  const bool knows_nodes = !placement.nodes.empty();
  Table table;
  table.add({"provider", knows_nodes ? "nodes" : "", "ran as", "time"});
  for (const ProviderShare& share : shares)
    table.add({provider_text(share.name), knows_nodes ? fmt::format("{}", share.nodes) : "",
               fmt::format("{}", share.timed), milliseconds(share.seconds)});
  size_t copies = 0;
  double seconds = 0;
  for (const TimedNode& node : placement.timed) {
    copies += node.is_copy ? 1 : 0;
    seconds += node.is_copy ? node.seconds : 0;
  }
  std::string text = table.text(0);
  if (copies > 0)
    text += fmt::format("{} between devices: {}\n", copies == 1 ? "1 copy" : fmt::format("{} copies", copies),
                        milliseconds(seconds));
  return text;
}

// Of those that another provider could have had.
std::string fallen_text(const Placement& placement, bool all) {
  std::vector<std::vector<std::string>> fallen;
  const auto is_cpu = [](const std::string& provider) { return run::provider_word(provider) == run::kCpu; };
  for (const PlacedNode& node : placement.nodes)
    if (is_cpu(node.provider)) fallen.push_back({node.op_type, node.name});
  if (placement.nodes.empty())
    for (const TimedNode& node : placement.timed)
      if (is_cpu(node.provider)) fallen.push_back({node.op_type, node.name});
  if (fallen.empty()) return {};
  std::string text = fmt::format("\nfell to the CPU: {}\n", counted(fallen.size(), "node"));
  Table table;
  const size_t shown = all ? fallen.size() : std::min(fallen.size(), kShown);
  for (size_t i = 0; i < shown; ++i) table.add(std::move(fallen[i]));
  text += table.text();
  if (shown < fallen.size()) text += fmt::format("  and {} more (--all)\n", fallen.size() - shown);
  return text;
}

std::string slowest_text(const Placement& placement, bool all) {
  if (placement.timed.empty()) return {};
  std::vector<const TimedNode*> order;
  for (const TimedNode& node : placement.timed) order.push_back(&node);
  std::ranges::stable_sort(order, std::ranges::greater(), &TimedNode::seconds);
  const size_t shown = all ? order.size() : std::min(order.size(), kShown);
  std::string text = all ? "\nwhat ran\n" : "\nwhat took longest\n";
  Table table;
  for (size_t i = 0; i < shown; ++i)
    table.add({milliseconds(order[i]->seconds), provider_text(order[i]->provider), order[i]->op_type, order[i]->name});
  return text + table.text();
}

// What PlacedNode and TimedNode share.
template <typename Node>
void begin_node(JsonWriter& json, const Node& node) {
  json.begin_object(JsonWriter::Layout::kLine);
  json.member("name", node.name);
  json.member("op_type", node.op_type);
  json.member("provider", node.provider);
}

}  // namespace

std::string placement_text(const Placement& placement, const TextOptions& how) {
  const std::vector<ProviderShare> shares = shares_of(placement);
  std::string text = shares_text(placement, shares);
  if (shares.size() > 1) text += fallen_text(placement, how.all);
  return text + slowest_text(placement, how.all);
}

void write_placement(JsonWriter& json, const Placement& placement) {
  json.member_object("placement");
  json.member("runs", placement.runs);
  json.member("seconds", placement.seconds);
  json.member_array("nodes");
  for (const PlacedNode& node : placement.nodes) {
    begin_node(json, node);
    json.end_object();
  }
  json.end_array();
  json.member_array("timed");
  for (const TimedNode& node : placement.timed) {
    begin_node(json, node);
    json.member("seconds", node.seconds);
    json.member("is_copy", node.is_copy);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace thaw::report
