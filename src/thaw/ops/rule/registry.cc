#include "thaw/ops/rule/registry.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>

#include "thaw/ir/graph/graph.h"
#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/families.h"

namespace thaw::ops {

Role Operator::role_of_attribute(std::string_view attribute) const {
  const auto at = std::ranges::find(attributes, attribute, &AttributeRole::name);
  return at == attributes.end() ? Role::kSetting : at->role;
}

void Registry::add(Operator op) {
  if (!op.axes.is_stated() && op.is_elementwise()) op.axes = kBroadcastAxes;
  if (!op.batch.is_stated()) {
    if (op.is_elementwise()) {
      op.batch = batch_with(batch_elementwise);
    } else if (!op.axes.why_not.empty()) {
      op.batch = no_batch(op.axes.why_not);
    } else if (op.axes.is_stated()) {
      op.batch = batch_with(batch_by_axes);
    }
  }
  if (!op.deterministic || op.op_class == OpClass::kControl) op.evaluation = Evaluation::kNever;
  const Key key{op.domain, op.name};
  if (!entries_.emplace(key, std::move(op)).second)
    throw std::logic_error("operator registered twice: " + std::string(key.domain) + "." + std::string(key.name));
}

void Registry::add(std::initializer_list<std::string_view> names, Operator like) {
  for (const std::string_view name : names) {
    like.name = name;
    add(like);
  }
}

const Operator* Registry::find(std::string_view domain, std::string_view name) const {
  auto it = entries_.find(Key{domain, name});
  return it == entries_.end() ? nullptr : &it->second;
}

const Operator* Registry::find(const ir::Node& node) const { return find(node.domain(), node.op_type()); }

std::vector<const Operator*> Registry::all() const {
  std::vector<const Operator*> list;
  list.reserve(entries_.size());
  for (const auto& [key, entry] : entries_) list.push_back(&entry);
  std::sort(list.begin(), list.end(), [](const Operator* a, const Operator* b) {
    return std::tie(a->domain, a->name) < std::tie(b->domain, b->name);
  });
  return list;
}

Role role_of(const ir::Node& node, int input) {
  const Operator* op = registry().find(node);
  return op ? op->operands[input] : Role::kData;
}

Registry& registry_for_tests() {
  static Registry instance = [] {
    Registry r;
    for (const auto add_family : kFamilies) add_family(r);
    return r;
  }();
  return instance;
}

const Registry& registry() { return registry_for_tests(); }

}  // namespace thaw::ops
