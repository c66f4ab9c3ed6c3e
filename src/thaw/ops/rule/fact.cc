#include "thaw/ops/rule/fact.h"

#include <algorithm>

namespace thaw::ops {

namespace {

std::shared_ptr<const Fact> join_elements(const std::shared_ptr<const Fact>& a, const std::shared_ptr<const Fact>& b) {
  if (!a || !b) return nullptr;
  if (a == b) return a;
  return std::make_shared<const Fact>(join(*a, *b));
}

}  // namespace

Fact::Kind kind_of(ir::Type::Kind kind) {
  switch (kind) {
    case ir::Type::Kind::kTensor:
      return Fact::Kind::kTensor;
    case ir::Type::Kind::kSparseTensor:
      return Fact::Kind::kSparseTensor;
    case ir::Type::Kind::kSequence:
      return Fact::Kind::kSequence;
    case ir::Type::Kind::kOptional:
      return Fact::Kind::kOptional;
    case ir::Type::Kind::kMap:
      return Fact::Kind::kMap;
    case ir::Type::Kind::kOpaque:
      return Fact::Kind::kOpaque;
    case ir::Type::Kind::kNone:
      break;
  }
  return Fact::Kind::kUnknown;
}

namespace {

bool is_same_range(const std::shared_ptr<const ValueRange>& a, const std::shared_ptr<const ValueRange>& b) {
  if (a == b || !a || !b) return a == b;
  return dim::same(a->lowest, b->lowest) && dim::same(a->highest, b->highest) && a->is_reached == b->is_reached;
}

}  // namespace

Fact join(const Fact& a, const Fact& b) {
  Fact out;
  if (a.kind != b.kind) return out;
  out.kind = a.kind;
  if (a.dtype == b.dtype) out.dtype = a.dtype;
  if (is_same_range(a.range, b.range)) out.range = a.range;
  if (a.shape && b.shape && a.shape->size() == b.shape->size()) {
    Shape shape(a.shape->size());
    bool constant = true;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (dim::same((*a.shape)[i], (*b.shape)[i])) shape[i] = (*a.shape)[i];
      constant = constant && shape[i].is_constant();
    }
    out.shape = std::move(shape);
    if (constant && a.elements && b.elements && a.elements->size() == b.elements->size()) {
      if (a.elements == b.elements) {
        out.elements = a.elements;
      } else {
        auto elements = std::make_shared<Elements>(a.elements->size());
        for (size_t i = 0; i < elements->size(); ++i)
          if (same((*a.elements)[i], (*b.elements)[i])) (*elements)[i] = (*a.elements)[i];
        out.elements = std::move(elements);
      }
    }
  }
  out.element = join_elements(a.element, b.element);
  if (a.items == b.items) {
    out.items = a.items;
  } else if (a.items && b.items && a.items->size() == b.items->size()) {
    auto items = std::make_shared<std::vector<Fact>>();
    items->reserve(a.items->size());
    for (size_t i = 0; i < a.items->size(); ++i) items->push_back(join((*a.items)[i], (*b.items)[i]));
    out.items = std::move(items);
  }
  if (dim::same(a.length, b.length)) out.length = a.length;
  return out;
}

namespace {

bool is_same_size(dim::Dim a, dim::Dim b) { return a.is_unknown() ? b.is_unknown() : dim::same(a, b); }

bool is_same_element(const Element& a, const Element& b) {
  if (a.is_exact() && b.is_exact()) return is_same_size(a.num(), b.num()) && is_same_size(a.den(), b.den());
  return a.is_exact() == b.is_exact() && a.as_double() == b.as_double();
}

template <typename T, typename Same>
bool is_same_list(const std::shared_ptr<const std::vector<T>>& a, const std::shared_ptr<const std::vector<T>>& b,
                  Same same) {
  if (a == b || !a || !b) return a == b;
  return std::equal(a->begin(), a->end(), b->begin(), b->end(), same);
}

}  // namespace

bool is_same_knowledge(const Fact& a, const Fact& b) {
  if (a.kind != b.kind || a.dtype != b.dtype || a.shape.has_value() != b.shape.has_value()) return false;
  if (a.shape && !std::equal(a.shape->begin(), a.shape->end(), b.shape->begin(), b.shape->end(), is_same_size))
    return false;
  if (!is_same_range(a.range, b.range)) return false;
  if (!is_same_list(a.elements, b.elements, is_same_element) || !is_same_list(a.items, b.items, is_same_knowledge))
    return false;
  const bool same_element =
      a.element == b.element || (a.element && b.element && is_same_knowledge(*a.element, *b.element));
  return same_element && is_same_size(a.length, b.length);
}

}  // namespace thaw::ops
