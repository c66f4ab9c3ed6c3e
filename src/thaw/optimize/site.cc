#include "thaw/optimize/site.h"

#include <algorithm>

#include "thaw/infer/facts_view.h"
#include "thaw/ir/graph/schema.h"
#include "thaw/ops/rule/adapter.h"
#include "thaw/ops/rule/registry.h"

namespace thaw::optimizing {
namespace {

constexpr int64_t kMostLooked = 64;  // elements of a constant that are looked at

}  // namespace

bool have_same_shape(const ops::Fact& a, const ops::Fact& b) {
  return a.shape && b.shape && std::ranges::equal(*a.shape, *b.shape, dim::same);
}

bool is_read_once(const ir::Value& value) {
  return value.uses().size() == 1 && !value.is_output() && value.graph()->returned_by(&value).empty();
}

const ir::Tensor* constant_of(const ir::Value* value) {
  return value && !value->is_input() ? value->constant() : nullptr;
}

const ir::Node* producer_of(const ir::Value* value, std::string_view op) {
  const ir::Node* node = value ? value->producer() : nullptr;
  return node && node->op_type() == op && node->domain().empty() && node->output(0) == value ? node : nullptr;
}

bool Site::is_only_reader_of(const ir::Value* value) const {
  return is_read_once(*value) && value->uses().front().node == &node_;
}

std::optional<std::vector<int64_t>> Site::integers(const ir::Node& node, int input, std::string_view attribute) const {
  if (const ir::Value* value = node.input(input)) {
    const ir::Tensor* tensor = constant_of(value);
    if (!tensor || frozen_.contains(value) || !ir::is_integer(tensor->data_type) ||
        tensor->num_elements() > kMostLooked)
      return std::nullopt;
    return tensor->to_int64();
  }
  const ir::Attribute* given = attribute.empty() ? nullptr : node.attribute(attribute);
  if (!given) return std::nullopt;
  if (const auto* one = given->as<int64_t>()) return std::vector<int64_t>{*one};
  if (const auto* list = given->as<std::vector<int64_t>>()) return *list;
  return std::nullopt;
}

std::optional<double> Site::number(const ir::Value* value) const {
  const ir::Tensor* tensor = constant_of(value);
  if (!tensor || tensor->num_elements() == 0 || tensor->num_elements() > kMostLooked) return std::nullopt;
  if (!ir::is_integer(tensor->data_type) && !ir::is_floating(tensor->data_type) &&
      tensor->data_type != ir::DataType::kBool)
    return std::nullopt;
  const std::vector<double> numbers = tensor->to_double();
  if (std::ranges::any_of(numbers, [&](double number) { return number != numbers.front(); })) return std::nullopt;
  return numbers.front();
}

std::optional<std::vector<int64_t>> Site::axes(const ir::Node& node, int input, int rank) const {
  auto found = integers(node, input, "axes");
  if (!found || rank < 0) return std::nullopt;
  for (int64_t& axis : *found) {
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return std::nullopt;
  }
  return found;
}

ir::Value* Site::in_older_operators() const {
  const ops::Operator* entry = ops::registry().find(node_);
  const auto schema = ir::find_schema("", node_.op_type(), opset_);
  if (!entry || !entry->older || !schema) return nullptr;
  infer::FactsView<ops::AdapterContext> view(facts_, node_, opset_);
  view.begin(node_, at_, schema->since_version, 0);
  try {
    entry->older(view);
  } catch (const ops::NoEqual&) {
    return nullptr;
  }
  return view.replacements().empty() ? nullptr : view.replacements().front();
}

bool Site::keeps_shape_of(int i) const {
  return in(i).is_tensor() && out().is_tensor() && in(i).dtype == out().dtype && have_same_shape(in(i), out());
}

}  // namespace thaw::optimizing
