#include "thaw/ops/rule/rule_help.h"

#include <algorithm>
#include <string>

namespace thaw::ops {

using dim::Dim;

std::optional<int> normalize_axis(Context& ctx, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    ctx.invalid("axis " + std::to_string(axis) + " is outside [" + std::to_string(-rank) + ", " +
                std::to_string(rank - 1) + "] for a tensor of rank " + std::to_string(rank));
    return std::nullopt;
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::optional<std::vector<int>> normalize_axes(Context& ctx, std::span<const int64_t> axes, int rank) {
  std::vector<int> out;
  out.reserve(axes.size());
  std::vector<bool> seen(static_cast<size_t>(std::max(rank, 0)));
  for (int64_t axis : axes) {
    auto a = normalize_axis(ctx, axis, rank);
    if (!a) return std::nullopt;
    if (seen[static_cast<size_t>(*a)]) {
      ctx.invalid("axis " + std::to_string(axis) + " is named twice");
      return std::nullopt;
    }
    seen[static_cast<size_t>(*a)] = true;
    out.push_back(*a);
  }
  return out;
}

std::optional<Shape> broadcast_inputs(Context& ctx, std::span<const int> inputs) {
  size_t rank = 0;
  for (int i : inputs) {
    if (!ctx.input(i).has_rank()) return std::nullopt;
    rank = std::max(rank, ctx.input(i).shape->size());
  }
  Shape out(rank, Dim(1));
  // For messages: which input, and which of its axes, each dim of `out` came from last.
  std::vector<At> from(rank);
  for (int i : inputs) {
    const Shape& shape = *ctx.input(i).shape;
    size_t shift = rank - shape.size();
    for (size_t k = 0; k < shape.size(); ++k) {
      At here{i, static_cast<int>(k)};
      if (from[shift + k].input < 0) {
        out[shift + k] = shape[k];
        from[shift + k] = here;
        continue;
      }
      Dim before = out[shift + k];
      out[shift + k] = ctx.require_broadcast(before, shape[k], "broadcast sizes", from[shift + k], here);
      if (before.is_constant(1)) from[shift + k] = here;
    }
  }
  return out;
}

std::optional<Shape> require_same_shape(Context& ctx, const std::optional<Shape>& a, const std::optional<Shape>& b,
                                        std::string_view what) {
  if (!a) return b;
  if (!b) return a;
  if (a->size() != b->size()) {
    ctx.invalid("ranks " + std::to_string(a->size()) + " and " + std::to_string(b->size()) +
                " differ where they must be equal (" + std::string(what) + ")");
    return std::nullopt;
  }
  Shape out(a->size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = ctx.require_equal((*a)[i], (*b)[i], what);
  return out;
}

Dim require_axis(Context& ctx, int input, int rank, int axis, Dim size, std::string_view what) {
  const Fact& fact = ctx.input(input);
  if (!ctx.has_input(input) || fact.rank() != rank) return size;
  return ctx.require_equal(size, fact.dim(axis), what, {}, {input, axis});
}

Shape unknown_shape(int rank) { return Shape(static_cast<size_t>(std::max(rank, 0))); }

void same_as_input(Context& ctx, int o, int i, bool with_elements) {
  Fact fact = ctx.input(i);
  if (!with_elements) fact.elements = nullptr;
  ctx.set_output(o, std::move(fact));
  if (!with_elements) return;
  if (const Elements* list = ctx.elements(i)) ctx.set_elements(o, *list);
}

void shape_of_input(Context& ctx, int o, int i, ir::DataType dtype) { ctx.set_tensor(o, dtype, ctx.input(i).shape); }

namespace {

// Offsets into `shape`'s elements for each element of the broadcast shape `out`.
std::vector<size_t> broadcast_offsets(const std::vector<int64_t>& out, const std::vector<int64_t>& shape,
                                      size_t count) {
  size_t rank = out.size();
  std::vector<size_t> stride(rank, 0);
  size_t step = 1;
  for (size_t k = shape.size(); k-- > 0;) {
    if (shape[k] != 1) stride[rank - shape.size() + k] = step;
    step *= static_cast<size_t>(shape[k]);
  }
  std::vector<size_t> offsets(count);
  std::vector<int64_t> index(rank, 0);
  size_t at = 0;
  for (size_t n = 0; n < count; ++n) {
    offsets[n] = at;
    for (size_t k = rank; k-- > 0;) {
      at += stride[k];
      if (++index[k] < out[k]) break;
      at -= stride[k] * static_cast<size_t>(out[k]);
      index[k] = 0;
    }
  }
  return offsets;
}

// All dims of the fact, when constant; nullopt otherwise.
std::optional<std::vector<int64_t>> constant_dims(const Fact& fact) {
  if (!fact.has_rank()) return std::nullopt;
  std::vector<int64_t> dims;
  dims.reserve(fact.shape->size());
  for (Dim d : *fact.shape) {
    auto v = d.constant();
    if (!v || *v < 0) return std::nullopt;
    dims.push_back(*v);
  }
  return dims;
}

}  // namespace

void set_elementwise_values(Context& ctx, ElementFunction f) {
  int count = ctx.num_inputs();
  if (count == 0) return;
  std::vector<const Elements*> lists(count);
  std::vector<std::vector<int64_t>> shapes(count);
  std::vector<int64_t> out;
  for (int i = 0; i < count; ++i) {
    lists[i] = ctx.elements(i);
    if (!lists[i]) return;
    auto shape = constant_dims(ctx.input(i));
    if (!shape) return;
    shapes[i] = std::move(*shape);
    if (shapes[i].size() > out.size()) out.insert(out.begin(), shapes[i].size() - out.size(), 1);
    for (size_t k = 0; k < shapes[i].size(); ++k) {
      int64_t& d = out[out.size() - shapes[i].size() + k];
      if (d == 1)
        d = shapes[i][k];
      else if (shapes[i][k] != 1 && shapes[i][k] != d)
        return;  // cannot run; the shape rule says so
    }
  }
  int64_t total = 1;
  for (int64_t d : out) {
    if (d > kMaxElements) return;
    total *= d;
    if (total > kMaxElements) return;
  }
  std::vector<std::vector<size_t>> offsets(count);
  for (int i = 0; i < count; ++i) offsets[i] = broadcast_offsets(out, shapes[i], static_cast<size_t>(total));
  Elements result;
  result.reserve(static_cast<size_t>(total));
  std::vector<Element> operands(count);
  for (size_t n = 0; n < static_cast<size_t>(total); ++n) {
    for (int i = 0; i < count; ++i) operands[i] = (*lists[i])[offsets[i][n]];
    result.push_back(f(operands));
  }
  ctx.set_elements(0, std::move(result));
}

ir::DataType data_type_from_attr(int64_t value) {
  if (value < 0 || value > static_cast<int64_t>(ir::DataType::kInt2)) return ir::DataType::kUndefined;
  return static_cast<ir::DataType>(value);
}

}  // namespace thaw::ops
