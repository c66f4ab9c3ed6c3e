#include "thaw/ops/rule/node_view.h"

namespace thaw::ops {

using dim::Dim;

std::optional<std::vector<int64_t>> NodeView::ints(int i) {
  const Elements* list = elements(i);
  if (!list) return std::nullopt;
  std::vector<int64_t> out;
  out.reserve(list->size());
  for (const Element& e : *list) {
    auto v = e.as_int();
    if (!v) return std::nullopt;
    out.push_back(*v);
  }
  return out;
}

std::optional<std::vector<Dim>> NodeView::dims_from(int i) {
  if (const Elements* list = elements(i)) {
    std::vector<Dim> out;
    out.reserve(list->size());
    for (const Element& e : *list) out.push_back(e.as_dim());
    return out;
  }
  const Fact& fact = input(i);
  if (!fact.is_tensor() || fact.rank() > 1) return std::nullopt;
  if (fact.rank() == 0) return std::vector<Dim>(1);
  if (fact.rank() < 0) return std::nullopt;
  auto length = fact.dim(0).constant();
  if (!length || *length < 0 || *length > kMaxElements) return std::nullopt;
  return std::vector<Dim>(static_cast<size_t>(*length));
}

std::optional<double> NodeView::number(int i) {
  const Elements* list = elements(i);
  if (!list || list->size() != 1) return std::nullopt;
  return list->front().as_double();
}

int64_t NodeView::attr_int(std::string_view name, int64_t otherwise) const {
  return attr_int(name).value_or(otherwise);
}

std::optional<int64_t> NodeView::attr_int(std::string_view name) const {
  const ir::Attribute* a = attribute(name);
  const int64_t* v = a ? a->as<int64_t>() : nullptr;
  return v ? std::optional<int64_t>(*v) : std::nullopt;
}

double NodeView::attr_float(std::string_view name, double otherwise) const {
  const ir::Attribute* a = attribute(name);
  const float* v = a ? a->as<float>() : nullptr;
  return v ? static_cast<double>(*v) : otherwise;
}

std::string_view NodeView::attr_string(std::string_view name, std::string_view otherwise) const {
  const ir::Attribute* a = attribute(name);
  const std::string* v = a ? a->as<std::string>() : nullptr;
  return v ? std::string_view(*v) : otherwise;
}

std::optional<std::vector<int64_t>> NodeView::attr_ints(std::string_view name) const {
  const ir::Attribute* a = attribute(name);
  if (!a) return std::nullopt;
  if (const auto* v = a->as<std::vector<int64_t>>()) return *v;
  return std::nullopt;
}

const ir::Tensor* NodeView::attr_tensor(std::string_view name) const {
  const ir::Attribute* a = attribute(name);
  const auto* v = a ? a->as<std::shared_ptr<ir::Tensor>>() : nullptr;
  return v ? v->get() : nullptr;
}

const ir::Graph* NodeView::attr_graph(std::string_view name) const {
  const ir::Attribute* a = attribute(name);
  const auto* v = a ? a->as<std::shared_ptr<ir::Graph>>() : nullptr;
  return v ? v->get() : nullptr;
}

}  // namespace thaw::ops
