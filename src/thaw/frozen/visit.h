// A node just inferred, as the frozen rules of its operator see it. Internal to frozen/.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "thaw/infer/engine.h"
#include "thaw/ops/rule/frozen_rule.h"

namespace thaw::frozen {

// What the rules set goes into the visit's outputs.
class VisitContext final : public ops::FrozenContext {
 public:
  VisitContext(const infer::NodeVisit& visit, const dim::Assignment& assumed_sizes, int64_t opset,
               const std::set<int>& batches)
      : visit_(visit), assumed_sizes_(assumed_sizes), batches_(batches) {
    node_ = &visit.node;
    opset_ = opset;
  }

  const ops::Fact& input(int i) const override { return visit_.input(i); }
  const ops::Fact& output(int i) const override { return visit_.outputs[static_cast<size_t>(i)]; }
  const ops::Elements* elements(int i) override { return input(i).elements.get(); }
  const ir::Tensor* constant(int i) const override {
    const ir::Value* value = node().input(i);
    return value ? value->constant() : nullptr;
  }
  const ir::Attribute* attribute(std::string_view name) const override { return node().attribute(name); }
  const dim::Assignment& assumed_sizes() const override { return assumed_sizes_; }
  bool is_batch(int symbol) const override { return batches_.contains(symbol); }
  std::span<const ops::Obligation> stated() const override { return visit_.stated; }
  void set_shape(int i, ops::Shape shape) override { visit_.outputs[static_cast<size_t>(i)].shape = std::move(shape); }
  void meet(const ops::Meeting& meeting) override { meetings.push_back(meeting); }
  void pick(dim::Dim size, int64_t first, int64_t last) override { picks.push_back({size, first, last}); }
  void suspect(dim::Dim size, int64_t value) override { suspects.push_back({size, value}); }
  void suggest(dim::Dim a, dim::Dim b, std::string_view what) override {
    equations.push_back({&node(), dim::Relation::kEqual, a, b, what});
  }

  struct Pick {
    dim::Dim size;
    int64_t first, last;
  };
  std::vector<ops::Meeting> meetings;
  struct Suspect {
    dim::Dim size;
    int64_t value;
  };
  std::vector<Pick> picks;
  std::vector<Suspect> suspects;
  std::vector<ops::Obligation> equations;

 private:
  const infer::NodeVisit& visit_;
  const dim::Assignment& assumed_sizes_;
  const std::set<int>& batches_;
};

}  // namespace thaw::frozen
