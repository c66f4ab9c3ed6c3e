// Terms that are written in one way wherever they come from: element by element, reductions, products of matrices.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <ranges>
#include <utility>

#include "thaw/dim/expr/scope.h"
#include "thaw/prove/laws.h"

namespace thaw::proving {

using ops::Shape;

namespace {

bool is_single(const Shape& shape) { return std::ranges::all_of(shape, is_one); }

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

// A Transpose, or a Reshape where there is no order.
struct View {
  std::vector<int64_t> order;
  Shape from, to;
};

}  // namespace

// The operand whose views go outwards: of those that are as large as the result the one of the first term, in whichever layout each
// is given. A constant has no layout of its own. nullopt where there is none.
std::optional<size_t> Algebra::leading(std::span<const TermId> operands, const Shape& whole) const {
  std::optional<size_t> leading;
  TermId first = kNoTerm;
  for (size_t i = 0; i < operands.size(); ++i) {
    TermId bare = operands[i];
    while (terms[bare].is("Reshape") || terms[bare].is("Transpose")) bare = terms[bare].arguments[0];
    const bool is_leaf = terms[bare].kind == Term::Kind::kConstant || terms[bare].kind == Term::Kind::kSizes;
    if (is_leaf || bare >= first || !is_same(whole, *terms[operands[i]].shape)) continue;
    leading = i;
    first = bare;
  }
  return leading;
}

TermId Algebra::combined(const Term& of, std::span<const TermId> arguments) {
  std::vector<Scaled> addends;
  std::vector<Power> factors;
  for (size_t i = 0; i < arguments.size(); ++i) {
    addends.push_back({of.numbers[i], arguments[i]});
    factors.push_back({arguments[i], of.numbers[i]});
  }
  return of.kind == Term::Kind::kSum ? arithmetic.sum(addends, of.dtype) : arithmetic.product(factors, of.dtype);
}

TermId Algebra::transposed(TermId x, std::span<const int64_t> order) {
  Shape shape = *terms[x].shape;
  if (is_single(shape)) return x;
  shape.insert(shape.begin(), order.size() - shape.size(), dim::Dim(1));
  return views.unexpanded(views.transpose(views.reshape(x, shape), order));
}

std::optional<TermId> Algebra::reshaped_as(TermId x, const Shape& from, const Shape& to) {
  if (is_single(*terms[x].shape)) return x;
  const auto shape = reshaped_alike(*terms[x].shape, from, to);
  if (!shape) return std::nullopt;
  return views.unexpanded(views.reshape(x, *shape));
}

// Views of a sum or a product are those of what is added or multiplied, so that it may become part of another.
TermId Algebra::views_inside(TermId x) {
  size_t left = 64;  // terms that are written anew
  return views_inside(x, left);
}

TermId Algebra::views_inside(TermId x, size_t& left) {
  const Term view = terms[x];
  if ((!view.is("Transpose") && !view.is("Reshape")) || !is_known(view.shape)) return x;
  const Term of = terms[views_inside(view.arguments[0], left)];
  const bool may_go_inside = (of.kind == Term::Kind::kSum || of.kind == Term::Kind::kProduct) && is_known(of.shape) &&
                             of.arguments.size() <= left &&
                             std::ranges::all_of(of.arguments, [&](TermId id) { return is_known(terms[id].shape); });
  if (!may_go_inside) return x;
  left -= of.arguments.size();
  std::vector<TermId> arguments;
  for (const TermId one : of.arguments) {
    const auto made = view.is("Transpose") ? transposed(one, view.ints) : reshaped_as(one, *of.shape, *view.shape);
    if (!made) return x;
    arguments.push_back(views_inside(*made, left));
  }
  return combined(of, arguments);
}

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
  if (const auto made = elementwise_without_ones(operands, write)) return views.conform(*made, *result);
  // Views go outwards: what is done to each element is done to it wherever it stands.
  std::optional<Shape> whole = Shape{};  // of what is made, before the views
  for (const TermId id : operands) whole = whole ? broadcast_shapes(*whole, *terms[id].shape) : std::nullopt;
  if (!whole) return std::nullopt;
  std::vector<View> undone;
  constexpr int kMostViews = 8;
  const auto lead = leading(operands, *whole);
  for (int round = 0; round < kMostViews; ++round) {
    if (lead && terms[operands[*lead]].is("Reshape")) {
      const Term view = terms[operands[*lead]];
      if (!is_known(terms[view.arguments[0]].shape) || !is_same(*view.shape, *whole)) break;
      const Shape from = without_ones(*terms[view.arguments[0]].shape);
      if (is_same(from, *whole)) break;  // axes of size 1 alone
      std::vector<TermId> before;
      for (const TermId id : operands)
        if (const auto made = reshaped_as(id, *whole, from)) before.push_back(*made);
      if (before.size() == operands.size()) {
        operands = std::move(before);
        undone.push_back({{}, from, *whole});
        whole = from;
        continue;
      }
    }
    const auto moved = lead ? operands.begin() + static_cast<ptrdiff_t>(*lead)
                            : std::ranges::find_if(operands, [&](TermId id) { return terms[id].is("Transpose"); });
    if (moved == operands.end()) break;
    const std::vector<int64_t> order = terms[*moved].is("Transpose")
                                           ? terms[*moved].ints
                                           : views.order_behind(*moved).value_or(std::vector<int64_t>());
    if (order.empty() || order.size() != whole->size()) break;
    const std::vector<int64_t> inverse = inverse_of(order);
    Shape from;
    for (const int64_t axis : inverse) from.push_back((*whole)[static_cast<size_t>(axis)]);
    for (TermId& id : operands) id = transposed(id, inverse);
    undone.push_back({order, from, *whole});
    whole = from;
  }
  for (TermId& id : operands) id = views_inside(id);
  if (!std::ranges::all_of(operands, [&](TermId id) { return is_known(terms[id].shape); })) return std::nullopt;
  const auto by_parts = elementwise_by_parts(operands, write);
  TermId made = by_parts ? *by_parts : write(operands);
  for (const View& view : undone | std::views::reverse) {
    made = views.conform(made, view.from);
    made = view.order.empty() ? views.reshape(made, view.to) : views.transpose(made, view.order);
  }
  return views.conform(made, *result);
}

// Axes that are 1 in all operands are put in afterwards; nullopt where there is none behind another axis.
std::optional<TermId> Algebra::elementwise_without_ones(const std::vector<TermId>& operands, const Write& write) {
  size_t rank = 0;
  for (const TermId id : operands) rank = std::max(rank, terms[id].shape->size());
  std::vector<bool> is_kept(rank, false);
  for (const TermId id : operands) {
    const Shape& shape = *terms[id].shape;
    for (size_t i = 0; i < shape.size(); ++i)
      if (!is_one(shape[i])) is_kept[rank - shape.size() + i] = true;
  }
  const auto first = std::ranges::find(is_kept, true);
  if (first == is_kept.end() || std::find(first, is_kept.end(), false) == is_kept.end()) return std::nullopt;
  std::vector<TermId> fewer;
  for (const TermId id : operands) {
    const Shape shape = *terms[id].shape;
    Shape kept;
    for (size_t i = 0; i < shape.size(); ++i)
      if (is_kept[rank - shape.size() + i]) kept.push_back(shape[i]);
    fewer.push_back(views.reshape(id, kept));
  }
  const auto made = elementwise(std::move(fewer), write);
  if (!made || !is_known(terms[*made].shape)) return std::nullopt;
  Shape shape = *terms[*made].shape, whole;
  shape.insert(shape.begin(), static_cast<size_t>(std::ranges::count(is_kept, true)) - shape.size(), dim::Dim(1));
  for (size_t i = 0, at = 0; i < rank; ++i) whole.push_back(is_kept[i] ? shape[at++] : dim::Dim(1));
  return views.reshape(*made, whole);
}

// What is done to each element is done to each part of a Concat. A number beside it stays: it goes out of products and sums.
std::optional<TermId> Algebra::elementwise_by_parts(const std::vector<TermId>& operands, const Write& write) {
  const auto whole = std::ranges::find_if(operands, [&](TermId id) { return views.parts(id).has_value(); });
  if (whole == operands.end()) return std::nullopt;
  const Parts parts = *views.parts(*whole);
  const auto from_end = static_cast<int64_t>(terms[*whole].shape->size()) - parts.axis;
  const dim::Dim size = (*terms[*whole].shape)[static_cast<size_t>(parts.axis)];
  size_t rank = 0;
  bool is_beside_numbers = operands.size() > 1;
  for (auto at = operands.begin(); at != operands.end(); ++at) {
    const Shape& shape = *terms[*at].shape;
    rank = std::max(rank, shape.size());
    is_beside_numbers = is_beside_numbers && (at == whole || is_single(shape));
    const auto axis = static_cast<int64_t>(shape.size()) - from_end;
    if (axis >= 0 && !is_one(shape[static_cast<size_t>(axis)]) && !dim::same(shape[static_cast<size_t>(axis)], size))
      return std::nullopt;
  }
  if (is_beside_numbers) return std::nullopt;
  std::vector<TermId> made;
  dim::Dim begin = 0;
  for (const dim::Dim length : parts.lengths) {
    std::vector<TermId> cut = operands;
    for (TermId& id : cut) {
      const Shape& shape = *terms[id].shape;
      const auto axis = static_cast<int64_t>(shape.size()) - from_end;
      if (axis < 0 || is_one(shape[static_cast<size_t>(axis)])) continue;
      id = part(id, {axis, begin, length, 1});
    }
    const auto part = elementwise(std::move(cut), write);
    if (!part || !is_known(terms[*part].shape) || terms[*part].shape->size() != rank) return std::nullopt;
    made.push_back(*part);
    begin = begin + length;
    if (begin.is_unknown()) return std::nullopt;
  }
  return views.concat(made, static_cast<int64_t>(rank) - from_end);
}

TermId Algebra::times(double factor, TermId x) {
  if (factor == 1) return x;
  const auto write = [&](const std::vector<TermId>& o) { return arithmetic.multiply(o[0], o[1]); };
  const std::vector<TermId> operands{x, arithmetic.number(factor, terms[x].dtype)};
  return elementwise(operands, write).value_or(arithmetic.times(factor, x));
}

TermId Algebra::power(TermId x, double exponent) {
  const auto write = [&](const std::vector<TermId>& o) { return arithmetic.power(o[0], exponent); };
  const auto made = elementwise({x}, write);
  return made ? *made : arithmetic.power(x, exponent);
}

TermId Algebra::without_nan(TermId x) {
  const Scaled parts = arithmetic.split(x);
  if (parts.term != x && parts.factor != 0) return times(parts.factor, without_nan(parts.term));
  if (const Term view = terms[x]; view.is("Reshape") && is_known(view.shape))
    return views.reshape(without_nan(view.arguments[0]), *view.shape);
  // A row of weights is NaN as a whole, and with it what it weighs.
  if (const Term of = terms[x]; of.is("MatMul") && of.arguments.size() == 2) {
    const TermId rows = of.arguments[0];
    TermId weights = rows;
    while ((terms[weights].is("Reshape") || terms[weights].is("Transpose")) && is_known(terms[weights].shape)) {
      const auto last = views.axis_before(weights, static_cast<int64_t>(terms[weights].shape->size()) - 1);
      const TermId inner = terms[weights].arguments[0];
      if (!last || *last != static_cast<int64_t>(terms[inner].shape->size()) - 1) break;
      weights = inner;
    }
    if (terms[weights].is("Softmax") && terms[weights].ints[0] == -1 && is_known(terms[rows].shape)) {
      const auto guarded = elementwise({rows}, [&](const std::vector<TermId>& o) { return without_nan(o[0]); });
      if (guarded) return matmul(*guarded, of.arguments[1]);
    }
  }
  return terms.apply("WithoutNan", {x}, terms[x].dtype, terms[x].shape);
}

// The cut that positions are which follow each other; nullopt where they do not.
std::optional<Cut> Algebra::run_of(TermId indices, int64_t axis, dim::Dim size) const {
  if (const auto at = integers_of(terms, indices)) {
    const bool is_run =
        !at->empty() && std::ranges::adjacent_find(*at, [](int64_t a, int64_t b) { return b != a + 1; }) == at->end();
    if (!is_run || (at->front() < 0 && at->back() >= 0)) return std::nullopt;
    return Cut{axis, at->front() < 0 ? size + dim::Dim(at->front()) : dim::Dim(at->front()),
               dim::Dim(static_cast<int64_t>(at->size())), 1};
  }
  while (terms[indices].is("Reshape")) indices = terms[indices].arguments[0];
  const Term& range = terms[indices];
  if (range.op != "node Range" || range.arguments.size() != 3) return std::nullopt;
  std::array<dim::Dim, 3> said;  // start, limit, delta
  for (size_t i = 0; i < 3; ++i) {
    const Term& one = terms[range.arguments[i]];
    if (one.kind != Term::Kind::kSizes || one.dims.size() != 1) return std::nullopt;
    said[i] = one.dims[0];
  }
  const auto least = dim::range_of(said[1]).lower;
  if (!said[0].is_constant(0) || !said[2].is_constant(1) || !least || *least < 0) return std::nullopt;
  return Cut{axis, dim::Dim(0), said[1], 1};
}

// Elements of a constant at positions that are known.
std::optional<TermId> Algebra::gather_constants(TermId x, TermId indices, int64_t axis, const Shape& shape) {
  const auto from = constant_dims(terms[x].shape), to = constant_dims(shape);
  if (!from || !to || !constants.is_constant(x)) return std::nullopt;
  std::optional<std::vector<int64_t>> at = integers_of(terms, indices);
  if (const Term& read = terms[indices];
      read.kind == Term::Kind::kConstant && read.tensor && ir::is_integer(read.dtype))
    at = read.tensor->to_int64();
  if (!at) return std::nullopt;
  const int64_t size = (*from)[static_cast<size_t>(axis)];
  for (int64_t& one : *at) {
    one += one < 0 ? size : 0;
    if (one < 0 || one >= size) return std::nullopt;
  }
  const int64_t inner = product_of(std::span(*from).subspan(static_cast<size_t>(axis) + 1)),
                outer = product_of(std::span(*from).first(static_cast<size_t>(axis)));
  return constants.moved(x, *to, [&] {
    std::vector<int64_t> source;
    for (int64_t before = 0; before < outer; ++before)
      for (const int64_t one : *at)
        for (int64_t k = 0; k < inner; ++k) source.push_back((before * size + one) * inner + k);
    return source;
  });
}

std::optional<TermId> Algebra::gather(TermId x, TermId indices, int64_t axis) {
  if (!is_known(terms[indices].shape)) return std::nullopt;
  const Shape from = *terms[x].shape, positions = *terms[indices].shape;
  Shape shape(from.begin(), from.begin() + axis);
  shape.insert(shape.end(), positions.begin(), positions.end());
  shape.insert(shape.end(), from.begin() + axis + 1, from.end());
  if (const auto cut = run_of(indices, axis, from[static_cast<size_t>(axis)]); cut && cut->begin.is_known())
    return views.reshape(slice(x, std::span(&*cut, 1)), shape);
  if (const auto picked = gather_constants(x, indices, axis, shape)) return picked;
  Term term;
  term.op = "Gather";
  term.ints = {axis};
  term.arguments = {x, indices};
  term.dtype = terms[x].dtype;
  term.shape = shape;
  return terms.add(std::move(term));
}

// Axes are moved and merged after others are reduced.
std::optional<TermId> Algebra::reduce_inside(std::string_view op, TermId x, std::span<const int64_t> axes) {
  const Term view = terms[x];
  if ((!view.is("Transpose") && !view.is("Reshape")) || axes.empty()) return std::nullopt;
  std::vector<int64_t> inner;
  Shape shape = *view.shape;
  for (const int64_t axis : axes) {
    const auto before = views.axis_before(x, axis);
    if (!before || std::ranges::find(inner, *before) != inner.end()) return std::nullopt;
    inner.push_back(*before);
    shape[static_cast<size_t>(axis)] = 1;
  }
  const TermId made = reduce(op, view.arguments[0], inner);
  return view.is("Transpose") ? views.transpose(made, view.ints) : views.reshape(made, shape);
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
  if (const auto inside = reduce_inside(op, x, left)) return *inside;
  if (const auto numbers = op == "ReduceSum" ? constants.numbers(x) : std::nullopt)
    if (const auto sum = added_up(*numbers, left)) return constants.computed(terms[x].dtype, *sum);
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
  return times(factor, made);
}

TermId Algebra::mean(TermId x, std::span<const int64_t> axes) {
  int64_t count = 1;
  for (const int64_t axis : axes) {
    const auto size = (*terms[x].shape)[static_cast<size_t>(axis)].constant();
    if (!size || *size <= 0) return reduce("ReduceMean", x, axes);
    count *= *size;
  }
  const TermId sum = reduce("ReduceSum", x, axes);
  return times(1.0 / static_cast<double>(count), sum);
}

// Of scores from which the largest of each row is taken away, the scores.
std::optional<TermId> Algebra::without_largest(TermId x, int64_t axis) {
  const Term sum = terms[x];
  if (sum.kind != Term::Kind::kSum || !is_known(sum.shape)) return std::nullopt;
  const int64_t along = axis + static_cast<int64_t>(sum.shape->size());
  for (size_t i = 0; i < sum.arguments.size(); ++i) {
    const Term& largest = terms[sum.arguments[i]];
    if (sum.numbers[i] != -1 || !largest.is("ReduceMax") || largest.ints != std::vector{along}) continue;
    std::vector<Scaled> rest;
    for (size_t k = 0; k < sum.arguments.size(); ++k)
      if (k != i) rest.push_back({sum.numbers[k], sum.arguments[k]});
    const TermId scores = largest.arguments[0];
    if (!rest.empty() && arithmetic.sum(rest, sum.dtype) == scores) return scores;
  }
  return std::nullopt;
}

TermId Algebra::softmax(const std::string& op, TermId x, int64_t axis) {
  // Each row by itself, wherever it stands.
  if (const Term& view = terms[x]; view.is("Transpose")) {
    const auto rank = static_cast<int64_t>(view.ints.size());
    const std::vector<int64_t> order = view.ints;
    return views.transpose(softmax(op, view.arguments[0], order[static_cast<size_t>(axis + rank)] - rank), order);
  } else if (view.is("Reshape")) {
    const Shape shape = *view.shape;
    const auto before = views.around(x, axis + static_cast<int64_t>(shape.size()));
    if (before && !is_same(before->first, shape)) {
      const TermId inner = views.reshape(view.arguments[0], before->first);
      return views.reshape(softmax(op, inner, before->second - static_cast<int64_t>(before->first.size())), shape);
    }
  }
  if (const auto unshifted = op == "Softmax" ? without_largest(x, axis) : std::nullopt)
    return softmax(op, *unshifted, axis);
  if (op == "Softmax")
    if (const auto by_condition = hidden(*this, x)) return softmax(op, *by_condition, axis);
  if (const auto scores = op == "Softmax" ? constants.numbers(x) : std::nullopt) {
    const auto along = axis + static_cast<int64_t>(scores->dims.size());
    if (auto weights = weights_of(*scores, along, rounding_of(terms[x].dtype)))
      return constants.computed(terms[x].dtype, std::move(*weights));
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
    if (const auto numbers = evaluated(op, o[0])) return *numbers;
    return terms.apply("node " + op, {o[0]}, terms[o[0]].dtype, terms[o[0]].shape, settings_of_plain(op));
  };
  return elementwise({x}, write).value_or(write({x}));
}

// The number that all elements are multiplied by, and the rest: behind views too.
Scaled Algebra::without_factor(TermId x) {
  std::vector<TermId> outer;
  TermId bare = x;
  while (terms[bare].is("Reshape") || terms[bare].is("Transpose") || terms[bare].is("Expand")) {
    outer.push_back(bare);
    bare = terms[bare].arguments[0];
  }
  Scaled parts = constants.is_constant(bare) ? arithmetic.weight(bare) : arithmetic.factored(bare);
  if (arithmetic.scales_weights() && !constants.is_constant(bare)) {
    size_t left = 64;  // terms that are written anew
    const Scaled inner = without_scale(parts.term, left);
    parts = {parts.factor * inner.factor, inner.term};
    if (!std::isfinite(parts.factor) || parts.factor == 0) return {1, x};
  }
  const auto &inner = terms[parts.term].shape, &whole = terms[bare].shape;
  if (parts.factor == 1 || !is_known(inner) || !is_known(whole) || !is_same(*inner, *whole)) return {1, x};
  TermId made = parts.term;
  for (size_t i = outer.size(); i-- > 0;) {
    const Term& view = terms[outer[i]];
    made = view.is("Transpose") ? views.transpose(made, view.ints)
           : view.is("Reshape") ? views.reshape(made, *view.shape)
                                : views.expand(made, *view.shape);
  }
  return {parts.factor, made};
}

// Whether rows of a matrix are weights, behind views.
bool Algebra::is_softmax(TermId x) const {
  while (terms[x].is("Reshape") || terms[x].is("Transpose")) x = terms[x].arguments[0];
  return terms[x].is("Softmax");
}

TermId Algebra::matmul(TermId a, TermId b) {
  const ir::DataType type = terms[a].dtype;
  // What is weighed stands on the right: the transposed product of both transposed.
  if (is_softmax(b) && !is_softmax(a)) {
    const auto turned = [&](TermId x) {
      std::vector<int64_t> order(terms[x].shape->size());
      std::iota(order.begin(), order.end(), 0);
      std::swap(order[order.size() - 2], order.back());
      return views.transpose(x, order);
    };
    const TermId made = matmul(turned(b), turned(a));
    if (is_matrix(made)) return turned(made);
  }
  double factor = 1;
  for (TermId* side : {&a, &b}) {
    const Scaled parts = without_factor(*side);
    factor *= parts.factor;
    *side = parts.term;
  }
  const Shape left = *terms[a].shape, right = *terms[b].shape;
  if (constants.is_constant(a) && constants.is_constant(b) && (right.size() == 2 || right.size() == left.size())) {
    const auto of_a = constants.numbers(a), of_b = constants.numbers(b);
    if (const auto numbers = of_a && of_b ? multiplied_out(*of_a, *of_b) : std::nullopt)
      return times(factor, constants.computed(type, *numbers));
  }
  // Rows of a matrix are multiplied one by one, however they are counted.
  if (right.size() == 2 && terms[a].is("Reshape")) {
    const TermId base = terms[a].arguments[0];
    if (is_known(terms[base].shape) && terms[base].shape->size() >= 2 &&
        dim::same(terms[base].shape->back(), left.back())) {
      Shape result = left;
      result.back() = right.back();
      return views.reshape(times(factor, matmul(base, b)), result);
    }
  }
  if (right.size() == 2 && left.size() > 2) {
    Shape rows(left.begin(), left.end() - 1);
    std::erase_if(rows, is_one);
    rows.push_back(left.back());
    if (rows.size() == 1) rows.insert(rows.begin(), 1);
    if (rows.size() < left.size()) {
      Shape result = left, fewer = rows;
      result.back() = fewer.back() = right.back();
      return views.reshape(times(factor, terms.apply("MatMul", {views.reshape(a, rows), b}, type, fewer)), result);
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
  return times(factor, made);
}

}  // namespace thaw::proving
