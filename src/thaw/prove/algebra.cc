// Terms that are written in one way wherever they come from: element by element, reductions, products of matrices.
#include <algorithm>
#include <numeric>
#include <utility>

#include "thaw/prove/laws.h"

namespace thaw::proving {

using ops::Shape;

namespace {

bool is_single(const Shape& shape) { return std::ranges::all_of(shape, is_one); }

// How many axes at the end two shapes share.
size_t common_end(const Shape& a, const Shape& b) {
  size_t count = 0;
  while (count < a.size() && count < b.size() && dim::same(a[a.size() - 1 - count], b[b.size() - 1 - count])) ++count;
  return count;
}

// Two shapes that broadcast, without the axes that are 1 in both.
std::pair<Shape, Shape> without_common_ones(const Shape& a, const Shape& b) {
  std::pair<Shape, Shape> kept;
  const size_t rank = std::max(a.size(), b.size());
  for (size_t i = 0; i < rank; ++i) {
    const bool in_a = i + a.size() >= rank, in_b = i + b.size() >= rank;
    const dim::Dim of_a = in_a ? a[i + a.size() - rank] : dim::Dim(1),
                   of_b = in_b ? b[i + b.size() - rank] : dim::Dim(1);
    if (is_one(of_a) && is_one(of_b)) continue;
    if (in_a) kept.first.push_back(of_a);
    if (in_b) kept.second.push_back(of_b);
  }
  return kept;
}

struct View {
  bool is_transpose = false;
  std::vector<int64_t> order;
  Shape shape;  // of a Reshape's result
};

}  // namespace

std::optional<TermId> Algebra::elementwise(std::vector<TermId> operands, const Write& write) {
  std::optional<Shape> result = Shape{};
  for (const TermId id : operands) {
    if (!is_known(terms[id].shape)) return std::nullopt;
    result = broadcast_shapes(*result, *terms[id].shape);
    if (!result) return std::nullopt;
  }
  for (TermId& id : operands) {
    const TermId bare = views.unexpanded(id);
    if (is_known(terms[bare].shape)) id = bare;
  }
  // Views go outwards: what is done to each element is done to it wherever it stands.
  std::vector<View> undone;
  constexpr int kMostViews = 8;
  for (int round = 0; round < kMostViews; ++round) {
    size_t rank_of_others = 0;
    const Term* view = nullptr;
    bool may_reshape = true;
    for (const TermId id : operands) {
      const Term& term = terms[id];
      if (is_single(*term.shape)) continue;
      if (!term.is("Reshape") || !is_known(terms[term.arguments[0]].shape)) {
        rank_of_others = std::max(rank_of_others, term.shape->size());
        continue;
      }
      if (!view) view = &term;
      may_reshape = may_reshape && is_same(*view->shape, *term.shape) &&
                    is_same(*terms[view->arguments[0]].shape, *terms[term.arguments[0]].shape);
    }
    if (view && may_reshape) {
      const Shape from = *terms[view->arguments[0]].shape, to = *view->shape;
      // Nothing else may make the result larger than what is reshaped.
      std::optional<Shape> whole = from;
      for (const TermId id : operands)
        if (whole && (!terms[id].is("Reshape") || is_single(*terms[id].shape)))
          whole = broadcast_shapes(*whole, *terms[id].shape);
      if (common_end(from, to) >= rank_of_others && whole && is_same(*whole, from)) {
        for (TermId& id : operands)
          if (terms[id].is("Reshape") && !is_single(*terms[id].shape)) id = terms[id].arguments[0];
        undone.push_back({false, {}, to});
        continue;
      }
    }
    const auto moved = std::ranges::find_if(operands, [&](TermId id) { return terms[id].is("Transpose"); });
    if (moved == operands.end()) break;
    const std::vector<int64_t> order = terms[*moved].ints;
    const bool may_transpose =
        std::ranges::all_of(operands, [&](TermId id) { return terms[id].shape->size() <= order.size(); });
    if (!may_transpose) break;
    std::vector<int64_t> inverse(order.size());
    for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    for (TermId& id : operands) {
      Shape shape = *terms[id].shape;
      if (is_single(shape)) continue;
      shape.insert(shape.begin(), order.size() - shape.size(), dim::Dim(1));
      id = views.unexpanded(views.transpose(views.reshape(id, shape), inverse));
    }
    undone.push_back({true, order, {}});
  }
  std::optional<Shape> inner = Shape{};
  for (const TermId id : operands) {
    if (is_known(terms[id].shape)) inner = broadcast_shapes(*inner, *terms[id].shape);
    if (!is_known(terms[id].shape) || !inner) return std::nullopt;
  }
  TermId made = write(operands);
  for (size_t i = undone.size(); i-- > 0;) {
    if (undone[i].is_transpose) {
      Shape shape = *inner;
      shape.insert(shape.begin(), undone[i].order.size() - std::min(shape.size(), undone[i].order.size()), dim::Dim(1));
      made = views.transpose(views.conform(made, shape), undone[i].order);
      inner = *terms[made].shape;
    } else {
      made = views.reshape(views.conform(made, *inner), undone[i].shape);
      inner = undone[i].shape;
    }
  }
  return views.conform(made, *result);
}

TermId Algebra::extremum(std::string_view op, std::span<const TermId> operands) {
  const ir::DataType type = terms[operands[0]].dtype;
  std::optional<double> number;
  std::vector<TermId> flat;
  const auto take = [&](TermId id) {
    if (const auto value = arithmetic.number_of(id)) {
      number = !number ? *value : op == "Max" ? std::max(*number, *value) : std::min(*number, *value);
    } else {
      flat.push_back(id);
    }
  };
  for (const TermId id : operands) {
    if (terms[id].is(op) && terms[id].arguments.size() <= 8) {
      for (const TermId inner : terms[id].arguments) take(inner);
    } else {
      take(id);
    }
  }
  std::ranges::sort(flat);
  flat.erase(std::ranges::unique(flat).begin(), flat.end());
  if (number) flat.push_back(arithmetic.number(*number, type));
  if (flat.size() == 1) return flat[0];
  std::optional<Shape> shape = Shape{};
  for (const TermId id : flat)
    shape = shape && terms[id].shape ? broadcast_shapes(*shape, *terms[id].shape) : std::nullopt;
  return terms.apply(std::string(op), flat, type, shape);
}

TermId Algebra::reduce(std::string_view op, TermId x, std::span<const int64_t> axes) {
  Shape shape = *terms[x].shape;
  std::vector<int64_t> left;
  for (const int64_t axis : axes)
    if (!is_one(shape[static_cast<size_t>(axis)])) left.push_back(axis);
  std::ranges::sort(left);
  const bool keeps =
      op == "ReduceSum" || op == "ReduceMean" || op == "ReduceMax" || op == "ReduceMin" || op == "ReduceProd";
  if (left.empty() && keeps) return x;
  for (const int64_t axis : left) shape[static_cast<size_t>(axis)] = 1;
  double factor = 1;
  const bool is_linear = is_real(terms[x].dtype) && (op == "ReduceSum" || op == "ReduceMean");
  if (is_linear) {
    const Scaled parts = without_factor(x);
    factor = parts.factor;
    x = parts.term;
  }
  Term term;
  term.op = op;
  term.ints = left;
  term.arguments = {x};
  term.dtype = terms[x].dtype;
  term.shape = shape;
  const TermId made = terms.add(std::move(term));
  return factor == 1 ? made : views.conform(arithmetic.times(factor, made), shape);
}

TermId Algebra::mean(TermId x, std::span<const int64_t> axes) {
  int64_t count = 1;
  for (const int64_t axis : axes) {
    const auto size = (*terms[x].shape)[static_cast<size_t>(axis)].constant();
    if (!size || *size <= 0) return reduce("ReduceMean", x, axes);
    count *= *size;
  }
  const TermId sum = reduce("ReduceSum", x, axes);
  return views.conform(arithmetic.times(1.0 / static_cast<double>(count), sum), *terms[sum].shape);
}

TermId Algebra::softmax(const std::string& op, TermId x, int64_t axis) {
  // Each row by itself, wherever it stands.
  if (const Term& view = terms[x]; view.is("Transpose")) {
    const auto rank = static_cast<int64_t>(view.ints.size());
    const std::vector<int64_t> order = view.ints;
    return views.transpose(softmax(op, view.arguments[0], order[static_cast<size_t>(axis + rank)] - rank), order);
  } else if (view.is("Reshape") && axis == -1) {
    const auto& inner = terms[view.arguments[0]].shape;
    if (is_known(inner) && !inner->empty() && dim::same(inner->back(), view.shape->back()))
      return views.reshape(softmax(op, view.arguments[0], -1), Shape(*view.shape));
  }
  Term term;
  term.op = op;
  term.ints = {axis};
  term.arguments = {x};
  term.dtype = terms[x].dtype;
  term.shape = terms[x].shape;
  return terms.add(std::move(term));
}

std::optional<TermId> Algebra::by_channel(TermId row, size_t rank) {
  const auto& of = terms[row].shape;
  if (!is_known(of) || of->size() != 1) return std::nullopt;
  Shape shape(rank - 1, dim::Dim(1));
  shape[0] = of->front();
  return views.reshape(row, shape);
}

TermId Algebra::of_each(const std::string& op, TermId x) {
  const auto write = [&](const std::vector<TermId>& o) {
    return terms.apply("node " + op, {o[0]}, terms[o[0]].dtype, terms[o[0]].shape, settings_of_plain(op));
  };
  return elementwise({x}, write).value_or(write({x}));
}

// The number that all elements are multiplied by, and the rest: behind views too.
Scaled Algebra::without_factor(TermId x) {
  std::vector<TermId> outer;
  TermId bare = x;
  while (terms[bare].is("Reshape") || terms[bare].is("Transpose")) {
    outer.push_back(bare);
    bare = terms[bare].arguments[0];
  }
  const Scaled parts = arithmetic.factored(bare);
  const auto &inner = terms[parts.term].shape, &whole = terms[bare].shape;
  if (parts.factor == 1 || !is_known(inner) || !is_known(whole) || !is_same(*inner, *whole)) return {1, x};
  TermId made = parts.term;
  for (size_t i = outer.size(); i-- > 0;) {
    const Term& view = terms[outer[i]];
    made = view.is("Reshape") ? views.reshape(made, *view.shape) : views.transpose(made, view.ints);
  }
  return {parts.factor, made};
}

TermId Algebra::matmul(TermId a, TermId b) {
  const ir::DataType type = terms[a].dtype;
  double factor = 1;
  for (TermId* side : {&a, &b}) {
    const Scaled parts = without_factor(*side);
    factor *= parts.factor;
    *side = parts.term;
  }
  const Shape &left = *terms[a].shape, &right = *terms[b].shape;
  // Rows of a matrix are multiplied one by one, however they are counted.
  if (right.size() == 2 && terms[a].is("Reshape")) {
    const TermId base = terms[a].arguments[0];
    if (is_known(terms[base].shape) && terms[base].shape->size() >= 2 &&
        dim::same(terms[base].shape->back(), left.back())) {
      Shape result = left;
      result.back() = right.back();
      TermId made = matmul(base, b);
      if (factor != 1) made = views.conform(arithmetic.times(factor, made), *terms[made].shape);
      return views.reshape(made, result);
    }
  }
  const Shape left_batch(left.begin(), left.end() - 2), right_batch(right.begin(), right.end() - 2);
  std::optional<Shape> shape = broadcast_shapes(left_batch, right_batch);
  if (shape) {
    shape->push_back(left[left.size() - 2]);
    shape->push_back(right.back());
  }
  // Axes of one batch are none. Where the right side is one matrix, they are rows.
  const auto [fewer, others] = without_common_ones(left_batch, right_batch);
  TermId made = kNoTerm;
  if (shape && right.size() > 2 && (fewer.size() < left_batch.size() || others.size() < right_batch.size())) {
    Shape rows = fewer, columns = others;
    rows.insert(rows.end(), left.end() - 2, left.end());
    columns.insert(columns.end(), right.end() - 2, right.end());
    made = views.reshape(matmul(views.reshape(a, rows), views.reshape(b, columns)), *shape);
  } else {
    made = terms.apply("MatMul", {a, b}, type, shape);
  }
  if (factor == 1) return made;
  const TermId scaled = arithmetic.times(factor, made);
  return shape ? views.conform(scaled, *shape) : scaled;
}

}  // namespace thaw::proving
