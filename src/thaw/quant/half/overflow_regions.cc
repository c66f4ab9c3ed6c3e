#include "thaw/quant/half/overflow_regions.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <ranges>

#include <fmt/format.h>

#include "thaw/infer/cost.h"
#include "thaw/ops/rule/magnitude.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::quantizing {
namespace {

// Elements of a constant that is read here: larger ones are matrices and tables, of which trained ones are ordinary.
constexpr int64_t kMostRead = int64_t{1} << 20;

bool is_constant(const ir::Value& value) { return value.constant() && !value.is_input(); }

}  // namespace

class OverflowRegions::Context final : public ops::MagnitudeContext {
 public:
  Context(OverflowRegions& overflows, const ir::Node& node) : overflows_(overflows), node_(node) {}

  const ir::Node& node() const override { return node_; }

  ops::Magnitude input(int i) override {
    const ir::Value* value = node_.input(i);
    return value && is_constant(*value) ? of_constant(*value, i) : overflows_.magnitudes_.of(value);
  }

  std::optional<double> number(int i) override {
    const ir::Value* value = node_.input(i);
    if (!value || !is_constant(*value) || value->constant()->num_elements() != 1) return std::nullopt;
    return value->constant()->to_double().front();
  }

  double log_summed() override {
    const auto elements = [&](const ir::Value* value) {
      return dim::evaluate(overflows_.facts_.fact(value).num_elements(), overflows_.sizes_);
    };
    const auto before = elements(node_.input(0)), after = elements(node_.output(0));
    constexpr double kUsual = 6;
    if (!before || !after || *before < 1 || *after < 1) return kUsual;
    return std::max(0.0, std::log2(static_cast<double>(*before)) - std::log2(static_cast<double>(*after)));
  }

 private:
  ops::Magnitude of_constant(const ir::Value& value, int i) {
    if (value.constant()->data_type != ir::DataType::kFloat) {
      const auto one = number(i);
      return one && *one != 0 ? ops::Magnitude::within(std::log2(std::abs(*one))) : ops::Magnitude::ordinary();
    }
    if (value.constant()->num_elements() > kMostRead) return ops::Magnitude::ordinary();
    const WeightRange& range = overflows_.fallback_.range(value);
    const ops::Sign sign = range.negative == 0   ? ops::Sign::kNotNegative
                           : range.positive == 0 ? ops::Sign::kNotPositive
                                                 : ops::Sign::kAny;
    const bool is_number = range.largest > 0 && !overflows_.fallback_.is_mask(node_, i);
    return ops::Magnitude::within(is_number ? std::log2(range.largest) : 0, sign);
  }

  OverflowRegions& overflows_;
  const ir::Node& node_;
};

OverflowRegions::OverflowRegions(const ir::Model& model, const infer::Result& facts, const dim::Assignment& sizes,
                                 Float32Fallback& fallback, bool io_is_wide)
    : facts_(facts), sizes_(sizes), fallback_(fallback) {
  magnitudes_.follow(*model.graph, [&](const ir::Node& node) { return Context(*this, node); });
  hold(*model.graph, io_is_wide);
}

bool OverflowRegions::leaves(const ir::Value* value) const {
  const ops::Magnitude* found = magnitudes_.find(value);
  return found && found->leaves_float16() && !fallback_.is_settled(value);
}

bool OverflowRegions::loses_small(const ir::Value* value) const {
  const ops::Magnitude* found = magnitudes_.find(value);
  return found && found->loses_small() && !fallback_.is_settled(value);
}

const ir::Value* OverflowRegions::leaving_input(const ir::Node& node) const {
  const auto at = std::ranges::find_if(node.inputs(), [&](const ir::Value* value) { return value && leaves(value); });
  return at == node.inputs().end() ? nullptr : *at;
}

std::string OverflowRegions::why_over(const ir::Node& node, bool outputs_are_wide) const {
  const ir::Value* read = leaving_input(node);
  const auto why = [&] {
    return read ? fmt::format("it reads '{}', which may overflow float16", read->name())
                : std::string("its output may overflow float16");
  };
  bool gives = false, is_assumed = false;
  for (const ir::Value* value : node.outputs()) {
    if (!value) continue;
    is_assumed = is_assumed || magnitudes_.of(value).is_assumed;
    if (!leaves(value)) continue;
    gives = true;
    const auto is_held = [&](const ir::Use& use) { return over_.contains(use.node); };
    if ((value->is_output() && outputs_are_wide) || std::ranges::any_of(value->uses(), is_held)) return why();
  }
  return read && !gives && !is_assumed ? why() : std::string();
}

std::string OverflowRegions::why_small(const ir::Node& node) const {
  const ops::Operator* op = ops::registry().find(node);
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i)
    if (const ir::Value* value = node.input(i); value && loses_small(value) && op && op->counts_small == i)
      return fmt::format("it depends on small values of '{}', which underflow in float16", value->name());
  for (const ir::Value* value : node.outputs()) {
    if (!value || !loses_small(value)) continue;
    const auto is_held = [&](const ir::Use& use) { return over_.contains(use.node) || small_.contains(use.node); };
    if (std::ranges::any_of(value->uses(), is_held))
      return fmt::format("a later node depends on small values of '{}', which underflow in float16", value->name());
  }
  return {};
}

void OverflowRegions::hold(const ir::Graph& graph, bool outputs_are_wide) {
  std::vector<const ir::Node*> nodes;
  for (const ir::Node* node : graph.nodes()) nodes.push_back(node);
  for (const ir::Node* node : std::views::reverse(nodes)) {
    for (const ir::Graph* inner : node->subgraphs()) hold(*inner, true);
    if (std::string why = why_over(*node, outputs_are_wide); !why.empty()) {
      over_.emplace(node, std::move(why));
    } else if (why = why_small(*node); !why.empty()) {
      small_.emplace(node, std::move(why));
    }
  }
}

std::string OverflowRegions::keeps_wide(const ir::Node& node) const {
  if (const auto found = over_.find(&node); found != over_.end()) return found->second;
  const auto found = small_.find(&node);
  return found == small_.end() ? std::string() : found->second;
}

}  // namespace thaw::quantizing
