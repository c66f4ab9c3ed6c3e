#include "thaw/infer/frozen/frozen.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "thaw/infer/engine.h"
#include "thaw/infer/frozen/explain.h"
#include "thaw/infer/frozen/hints.h"
#include "thaw/infer/frozen/source.h"
#include "thaw/ops/registry.h"

namespace thaw::infer {

using dim::Dim;
using ops::Fact;
using ops::Obligation;
using ops::ObligationKind;

namespace {

constexpr int kArchitectureRounds = 4;

struct NodeMeeting {
  const ir::Node* node;
  Meeting meeting;
};

bool reads_input_data(const ir::Node& node, const std::unordered_set<const ir::Value*>& data) {
  if (node.op_type() == "Shape" || node.op_type() == "Size") return false;
  return std::any_of(node.inputs().begin(), node.inputs().end(), [&](const ir::Value* v) { return data.contains(v); });
}

// The side of an obligation that the inputs size, and the constant that it meets; false where there is no such pair.
struct Sides {
  Dim expression;
  int64_t constant;
  int input;  // of the constant
  int axis;
};

std::optional<Sides> sides_of(const Obligation& o) {
  if (o.kind != ObligationKind::kEqual && o.kind != ObligationKind::kBroadcast) return std::nullopt;
  if (o.a.is_symbolic() && o.b.is_constant()) return Sides{o.a, *o.b.constant(), o.input_b, o.axis_b};
  if (o.b.is_symbolic() && o.a.is_constant()) return Sides{o.b, *o.a.constant(), o.input_a, o.axis_a};
  return std::nullopt;
}

// The operand of a contraction or normalization that a constant size was read from, when it is a weight.
const ir::Value* weight_operand(const Obligation& o, const Sides& sides) {
  const ops::OpEntry* entry = ops::registry().find(o.node->domain(), o.node->op_type());
  if (!entry || entry->op_class == ops::OpClass::kElementwise || entry->op_class == ops::OpClass::kMovement ||
      entry->op_class == ops::OpClass::kGenerator)
    return nullptr;
  auto is_weight = [](const ir::Value* v) {
    const ir::Tensor* t = v ? v->constant() : nullptr;
    return t && !t->dims.empty() && !ir::is_integer(t->data_type);
  };
  if (sides.input >= 0) return is_weight(o.node->input(sides.input)) ? o.node->input(sides.input) : nullptr;
  // Quantized and exotic operators state sizes without their place: any weight that has one of that size.
  for (const ir::Value* v : o.node->inputs()) {
    const ir::Tensor* t = v ? v->constant() : nullptr;
    if (t && std::find(t->dims.begin(), t->dims.end(), sides.constant) != t->dims.end()) return v;
  }
  return nullptr;
}

class Analysis {
 public:
  Analysis(const ir::Model& model, dim::Scope& scope) : model_(model), scope_(scope) {}

  FrozenAnalysis run() {
    choose_inputs();
    Result plain = infer(model_, scope_, options_);
    for (int round = 0; out_.all_inputs_static && round < kArchitectureRounds && drop_architecture(plain); ++round)
      plain = infer(model_, scope_, options_);
    out_.hints = solve_hints(scope_, plain.obligations(), std::move(out_.hints));
    // Where nothing met a constant the model was not frozen at any size: what looks like a meeting would be chance.
    options_.prefer_symbols = true;
    options_.hints = out_.hints;
    options_.after_node = [this](const NodeVisit& visit) { visit_node(visit); };
    for (const ir::Value* input : model_.graph->inputs())
      if (!input->initializer()) data_.insert(input);
    out_.result = infer(model_, scope_, options_);
    collect_obligations();
    attribute();
    return std::move(out_);
  }

 private:
  // Inputs without any symbol are taken as frozen: every dim becomes one, equal sizes of one axis the same one.
  void choose_inputs() {
    std::vector<std::pair<const ir::Value*, Fact>> facts;
    bool any_symbol = false;
    for (const ir::Value* input : model_.graph->inputs()) {
      if (input->initializer()) continue;
      Fact fact = declared_input_fact(model_, *input, scope_);
      if (fact.shape)
        for (Dim d : *fact.shape) any_symbol |= !d.is_constant();
      else
        any_symbol |= fact.is_tensor();
      facts.emplace_back(input, std::move(fact));
    }
    out_.all_inputs_static = !any_symbol;
    if (any_symbol) return;
    for (auto& [input, fact] : facts) {
      if (!fact.shape) continue;
      for (size_t axis = 0; axis < fact.shape->size(); ++axis) {
        int64_t size = *(*fact.shape)[axis].constant();
        Dim& symbol = static_symbols_[{axis, size}];
        if (symbol.is_unknown()) {
          symbol = scope_.fresh(fmt::format("{}_dim{}", input->name(), axis), dim::SymbolKind::kInputDim);
          out_.hints[scope_.symbol_id(symbol)] = size;
        }
        (*fact.shape)[axis] = symbol;
      }
      options_.inputs[input] = fact;
    }
  }

  // A size that a weight fixes (channels) is the architecture's: it goes back to being a number. True if there was one.
  bool drop_architecture(const Result& result) {
    std::set<int> fixed;
    for (const Obligation& o : result.obligations()) {
      auto sides = sides_of(o);
      if (!sides || !weight_operand(o, *sides)) continue;
      int id = scope_.symbol_id(sides->expression);
      if (id >= 0 && out_.hints.contains(id)) fixed.insert(id);
    }
    if (fixed.empty()) return false;
    for (auto& [input, fact] : options_.inputs)
      for (Dim& d : *fact.shape)
        if (int id = d.is_symbolic() ? scope_.symbol_id(d) : -1; fixed.contains(id)) d = out_.hints.at(id);
    for (int id : fixed) out_.hints.erase(id);
    return true;
  }

  void visit_node(const NodeVisit& visit) {
    if (reads_input_data(visit.node, data_))
      for (const ir::Value* output : visit.node.outputs()) data_.insert(output);
    for (Meeting& m : explain(visit, out_.hints)) meetings_.push_back({&visit.node, m});
  }

  void collect_obligations() {
    for (const Obligation& o : out_.result.obligations()) {
      auto sides = sides_of(o);
      if (!sides || sides->constant <= 1) continue;
      auto hinted = dim::evaluate(sides->expression, out_.hints);
      if (hinted && *hinted != sides->constant) continue;  // a contradiction, not a frozen size: other rules report it
      Meeting m;
      m.value = sides->constant;
      m.expression = sides->expression;
      m.input = sides->input;
      m.element = sides->axis;
      if (o.node->domain().empty() && o.node->op_type() == "Split") {
        m.input = 1;
        m.is_shape = true;
      } else if (o.node->domain().empty() && o.node->op_type() == "Expand" && m.input == 1) {
        m.is_shape = true;
      } else if (o.node->domain().empty() && o.node->op_type() == "Reshape") {
        continue;  // explained element by element where it can be
      }
      if (const ir::Value* weight = weight_operand(o, *sides)) {
        // A size that is data's, not the input's, met the weight by way of a constant that was frozen before.
        auto ids = dim::symbols_of(m.expression);
        bool inputs_only = std::all_of(ids.begin(), ids.end(), [&](int id) {
          return scope_.symbols()[static_cast<size_t>(id)].kind == dim::SymbolKind::kInputDim;
        });
        if (!inputs_only) continue;
        add_site({FrozenRole::kWeight, weight, o.node, 1, m.value, m.expression, false, false});
        continue;
      }
      meetings_.push_back({o.node, m});
    }
  }

  void attribute() {
    // Node order, so that what comes first is what a reader meets first.
    std::unordered_map<const ir::Node*, size_t> order;
    for (const ir::Node* node : model_.graph->nodes()) order.emplace(node, order.size());
    auto position = [&](const ir::Node* node) {
      auto it = order.find(node);
      return it == order.end() ? order.size() : it->second;
    };
    std::stable_sort(meetings_.begin(), meetings_.end(), [&](const NodeMeeting& a, const NodeMeeting& b) {
      return position(a.node) < position(b.node);
    });
    SourceTracer tracer(out_.result, out_.hints, data_);
    std::vector<FrozenSite> without_source;
    bool strong = std::any_of(meetings_.begin(), meetings_.end(), [](const NodeMeeting& m) { return !m.meeting.weak; });
    for (const NodeMeeting& m : meetings_) {
      if (m.meeting.weak && !strong) continue;
      auto sources = sources_of(tracer, m);
      for (const Source& s : sources) {
        bool silent = m.meeting.silent || s.role == FrozenRole::kIndex || s.role == FrozenRole::kSlice;
        add_site({s.role, s.constant, m.node, 1, m.meeting.value, m.meeting.expression, silent, m.meeting.product});
      }
      if (sources.empty())
        without_source.push_back(
            {FrozenRole::kShape, nullptr, m.node, 1, m.meeting.value, m.meeting.expression, m.meeting.silent, m.meeting.product});
    }
    // A meeting without source, in a model that has sites with one, is their consequence.
    if (out_.sites.empty())
      for (FrozenSite& site : without_source) add_site(site);
    std::stable_sort(out_.sites.begin(), out_.sites.end(),
                     [&](const FrozenSite& a, const FrozenSite& b) { return position(a.node) < position(b.node); });
  }

  std::vector<Source> sources_of(SourceTracer& tracer, const NodeMeeting& m) {
    const Meeting& meeting = m.meeting;
    const ir::Value* operand = meeting.input >= 0 ? m.node->input(meeting.input) : nullptr;
    if (operand && meeting.is_index) return tracer.of_index(*m.node, *operand);
    if (operand && meeting.is_shape) return tracer.of_element(*m.node, *operand, meeting.value);
    if (operand) return tracer.of_dim(*m.node, *operand, meeting.value);
    std::vector<Source> all;
    for (const ir::Value* input : m.node->inputs()) {
      if (!input) continue;
      for (const Source& s : tracer.of_dim(*m.node, *input, meeting.value)) all.push_back(s);
    }
    if (all.empty() && !m.node->attribute_ints("split").empty()) all.push_back({nullptr, m.node, FrozenRole::kAttribute});
    return all;
  }

  void add_site(const FrozenSite& site) {
    std::pair<const void*, FrozenRole> key{site.constant ? static_cast<const void*>(site.constant) : site.node, FrozenRole::kShape};
    auto [it, fresh] = index_.emplace(key, out_.sites.size());
    if (fresh) {
      out_.sites.push_back(site);
      return;
    }
    FrozenSite& known = out_.sites[it->second];
    if (known.node != site.node) ++known.num_nodes;
    known.silent |= site.silent;
  }

  const ir::Model& model_;
  dim::Scope& scope_;
  Options options_;
  FrozenAnalysis out_;
  std::map<std::pair<size_t, int64_t>, Dim> static_symbols_;
  std::unordered_set<const ir::Value*> data_;
  std::vector<NodeMeeting> meetings_;
  std::map<std::pair<const void*, FrozenRole>, size_t> index_;
};

}  // namespace

FrozenAnalysis find_frozen(const ir::Model& model, dim::Scope& scope) { return Analysis(model, scope).run(); }

}  // namespace thaw::infer
