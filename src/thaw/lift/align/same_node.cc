#include "thaw/lift/align/same_node.h"

#include <algorithm>
#include <cstring>

namespace thaw::lifting {

bool same_tensor(const ir::Tensor& a, const ir::Tensor& b) {
  if (a.data_type != b.data_type || a.dims != b.dims) return false;
  if (a.data_type == ir::DataType::kString) return a.to_strings() == b.to_strings();
  const auto left = a.bytes(), right = b.bytes();
  if (left.size() != right.size()) return false;
  // Weights are the same bytes throughout: of a large tensor, some pages tell.
  constexpr size_t kLarge = size_t{1} << 20, kPage = 4096, kPages = 32;
  if (left.size() <= kLarge) return left.empty() || std::memcmp(left.data(), right.data(), left.size()) == 0;
  for (size_t i = 0; i < kPages; ++i) {
    const size_t at = (left.size() - kPage) / (kPages - 1) * i;
    if (std::memcmp(left.data() + at, right.data() + at, kPage) != 0) return false;
  }
  return true;
}

namespace {

bool same_value(const ir::Value* a, const ir::Value* b) {
  if (!a || !b) return a == b;
  const ir::Tensor *left = a->constant(), *right = b->constant();
  if (left && right) return same_tensor(*left, *right);
  if ((left == nullptr) != (right == nullptr)) return false;
  const ir::Node *x = a->producer(), *y = b->producer();
  return (x == nullptr) == (y == nullptr) && a->producer_index() == b->producer_index() &&
         (!x || (x->op_type() == y->op_type() && x->domain() == y->domain()));
}

bool same_node(const ir::Node& a, const ir::Node& b) {
  if (a.op_type() != b.op_type() || a.domain() != b.domain() || a.attributes().size() != b.attributes().size())
    return false;
  for (const ir::Attribute& attribute : a.attributes()) {
    const ir::Attribute* other = b.attribute(attribute.name);
    if (!other || !same_attribute(attribute, *other)) return false;
  }
  return std::equal(a.inputs().begin(), a.inputs().end(), b.inputs().begin(), b.inputs().end(), same_value);
}

// What they do; what is declared of their tensors may differ.
bool same_graph(const ir::Graph& a, const ir::Graph& b) {
  const auto left = a.nodes(), right = b.nodes();
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const ir::Node* x, const ir::Node* y) { return same_node(*x, *y); }) &&
         std::equal(a.outputs().begin(), a.outputs().end(), b.outputs().begin(), b.outputs().end(), same_value);
}

}  // namespace

bool same_attribute(const ir::Attribute& a, const ir::Attribute& b) {
  if (a.name != b.name || a.value.index() != b.value.index()) return false;
  if (const auto* x = a.as<int64_t>()) return *x == *b.as<int64_t>();
  if (const auto* x = a.as<float>()) return *x == *b.as<float>();
  if (const auto* x = a.as<std::string>()) return *x == *b.as<std::string>();
  if (const auto* x = a.as<std::vector<int64_t>>()) return *x == *b.as<std::vector<int64_t>>();
  if (const auto* x = a.as<std::vector<float>>()) return *x == *b.as<std::vector<float>>();
  if (const auto* x = a.as<std::vector<std::string>>()) return *x == *b.as<std::vector<std::string>>();
  if (const auto* x = a.as<std::shared_ptr<ir::Tensor>>())
    return same_tensor(**x, **b.as<std::shared_ptr<ir::Tensor>>());
  if (const auto* x = a.as<std::shared_ptr<ir::Graph>>()) return same_graph(**x, **b.as<std::shared_ptr<ir::Graph>>());
  return true;
}

bool holds_graph(const ir::Attribute& attribute) {
  return attribute.as<std::shared_ptr<ir::Graph>>() || attribute.as<std::vector<std::shared_ptr<ir::Graph>>>();
}

}  // namespace thaw::lifting
