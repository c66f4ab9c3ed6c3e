#include "thaw/check/target_support.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "thaw/check/islands.h"
#include "thaw/check/target_faults.h"
#include "thaw/ir/graph/location.h"

namespace thaw::checking {
namespace {

// The worst of what is said of one node.
const TargetFault* worst_of(const TargetFaults& faults) {
  const auto worst = std::ranges::max_element(faults, {}, &TargetFault::support);
  return worst == faults.end() ? nullptr : &*worst;
}

class SupportCount {
 public:
  explicit SupportCount(Evidence& evidence) : evidence_(evidence), view_(*evidence.target_view()) {}

  TargetSupport count() {
    const ops::Target& target = view_.target();
    result_.target = target.name;
    result_.title = target.title;
    result_.source = target.source;
    result_.note = target.note;
    for (const TargetNode& at : view_.nodes()) count_node(at);
    for (auto& [name, entry] : operators_) result_.operators.push_back(std::move(entry));
    std::ranges::stable_sort(result_.operators, std::ranges::greater(), &OperatorSupport::support);
    count_parts();
    return std::move(result_);
  }

 private:
  // Where a node of the main graph runs, with all that is inside it.
  enum class Place : uint8_t { kNowhere, kTarget, kElsewhere };

  void count_node(const TargetNode& at) {
    if (at.at_load) return;
    ++result_.nodes;
    if (at.on_cpu) {
      ++result_.shape_nodes;
      return;
    }
    const TargetFault* worst = worst_of(evidence_.target_faults(at));
    const Support support = worst ? worst->support : Support::kSupported;
    size_t& counted = support == Support::kSupported ? result_.supported
                      : support == Support::kUnknown ? result_.unknown
                      : support == Support::kPartial ? result_.partial
                                                     : result_.unsupported;
    ++counted;
    result_.support = std::max(result_.support, support);
    supports_[at.node] = support;
    OperatorSupport& entry = operators_[ir::operator_name(*at.node)];
    entry.op = ir::operator_name(*at.node);
    ++entry.nodes;
    if (worst && (entry.why.empty() || support > entry.support)) entry.why = worst->message;
    entry.support = std::max(entry.support, support);
  }

  static Place worse(Place a, Place b) { return std::max(a, b); }

  Place place_of(const ir::Node& node) {
    Place place = Place::kNowhere;
    if (const auto found = supports_.find(&node); found != supports_.end())
      place = found->second == Support::kUnsupported ? Place::kElsewhere : Place::kTarget;
    for (const ir::Graph* graph : node.subgraphs()) place = worse(place, place_of(*graph));
    const ir::Model& model = evidence_.model();
    const ir::Function* function =
        model.functions.empty() ? nullptr : model.find_function(node.domain(), node.op_type(), node.overload());
    if (!function) return place;
    const auto [known, is_new] = functions_.try_emplace(function, Place::kNowhere);
    if (is_new) {
      const Place inside = place_of(*function->body);
      functions_[function] = inside;
    }
    return worse(place, functions_[function]);
  }
  Place place_of(const ir::Graph& graph) {
    Place place = Place::kNowhere;
    for (const ir::Node* node : graph.nodes()) place = worse(place, place_of(*node));
    return place;
  }

  // The node of the main graph that a node is, or stands in.
  static const ir::Node* top_of(const ir::Node* node) {
    while (node && node->graph() && node->graph()->parent_node()) node = node->graph()->parent_node();
    return node;
  }

  void count_parts() {
    std::unordered_map<const ir::Node*, size_t> numbers;
    std::vector<const ir::Node*> nodes;
    std::vector<Side> sides;
    for (const ir::Node* node : evidence_.model().graph->nodes()) {
      const Place place = place_of(*node);
      if (place == Place::kNowhere) continue;
      numbers.emplace(node, nodes.size());
      nodes.push_back(node);
      sides.push_back(place == Place::kTarget ? Side::kTarget : Side::kElsewhere);
    }
    std::vector<std::pair<size_t, size_t>> edges;
    for (size_t from = 0; from < nodes.size(); ++from) {
      for (const ir::Value* value : nodes[from]->outputs()) {
        if (!value) continue;
        bool crosses = false;
        for (const ir::Use& use : value->uses()) {
          const auto to = numbers.find(top_of(use.node));
          if (to == numbers.end() || to->second == from) continue;
          edges.emplace_back(from, to->second);
          crosses |= sides[from] != sides[to->second];
        }
        result_.crossing_tensors += crosses ? 1 : 0;
      }
    }
    result_.islands = count_islands(sides, edges);
  }

  Evidence& evidence_;
  const TargetView& view_;
  TargetSupport result_;
  std::map<std::string, OperatorSupport> operators_;
  std::unordered_map<const ir::Node*, Support> supports_;
  std::unordered_map<const ir::Function*, Place> functions_;
};

}  // namespace

TargetSupport support_of(Evidence& evidence, const std::vector<Finding>& limits) {
  TargetSupport result = SupportCount(evidence).count();
  for (const Finding& finding : limits) {
    result.limits.push_back(finding.message);
    result.support =
        std::max(result.support, finding.severity == Severity::kError ? Support::kUnsupported : Support::kPartial);
  }
  return result;
}

}  // namespace thaw::checking
