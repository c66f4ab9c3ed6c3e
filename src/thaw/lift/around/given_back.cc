#include "thaw/lift/around/given_back.h"

#include <algorithm>

#include "thaw/ops/rule/registry.h"

namespace thaw::lifting {

bool resizes(const ir::Node& node) {
  const ops::Operator* op = ops::registry().find(node);
  return op && op->operands.find(ops::Role::kScales) >= 0;
}

GivenBack::GivenBack(const TracedShapes& shapes) : shapes_(shapes) {
  for (size_t place = 0; place < shapes.num_places(); ++place) {
    const ir::Node& node = shapes.node(place);
    const bool reshapes = ops::role_of(node, 1) == ops::Role::kShape && shapes.keeps_elements(place);
    if (!reshapes && !resizes(node)) continue;
    auto from = shapes.operand(place), to = shapes.result(place);
    if (from && to) (reshapes ? reshapes_ : resizes_)[{std::move(*from), std::move(*to)}].push_back(place);
  }
}

template <typename Counts>
ops::Shape GivenBack::data_before(const Places& places, const std::pair<TracedAxes, TracedAxes>& key, size_t place,
                                  const Counts& counts) const {
  const auto known = places.find(key);
  if (known == places.end()) return {};
  ops::Shape found;
  for (const size_t before : known->second) {
    if (before >= place) break;
    const ir::Node& node = shapes_.node(before);
    const ops::Shape* data = shapes_.shape_of(node.input(0));
    if (!data || !counts(node, *data)) continue;
    if (!found.empty() && !std::ranges::equal(found, *data, dim::same)) return {};
    found = *data;
  }
  return found;
}

ops::Shape GivenBack::by_reshape(size_t place, const TracedAxes& made, dim::Dim elements) const {
  const auto data = elements.is_symbolic() ? shapes_.operand(place) : std::nullopt;
  if (!data) return {};
  return data_before(reshapes_, {made, *data}, place, [&](const ir::Node&, const ops::Shape& shape) {
    return dim::same(dim::product(shape), elements);
  });
}

ops::Shape GivenBack::by_resize(size_t place) const {
  const auto from = shapes_.operand(place), to = shapes_.result(place);
  const ops::Shape* data = shapes_.shape_of(shapes_.node(place).input(0));
  if (!from || !to || !data) return {};
  return data_before(resizes_, {*to, *from}, place, [&](const ir::Node& node, const ops::Shape&) {
    const ops::Shape* made = shapes_.shape_of(node.output(0));
    return made && std::ranges::equal(*made, *data, dim::same);
  });
}

}  // namespace thaw::lifting
