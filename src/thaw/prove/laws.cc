#include "thaw/prove/laws.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "thaw/dim/expr/scope.h"
#include "thaw/ir/data/floats.h"
#include "thaw/ops/rule/small_tensor.h"

namespace thaw::proving {

using dim::Dim;
using ir::DataType;
using ops::Shape;

std::optional<std::vector<int64_t>> integers_of(const Terms& terms, TermId id) {
  if (id == kNoTerm || terms[id].kind != Term::Kind::kSizes) return std::nullopt;
  std::vector<int64_t> values;
  for (const Dim d : terms[id].dims) {
    if (!d.is_constant()) return std::nullopt;
    values.push_back(*d.constant());
  }
  return values;
}

namespace {

using Results = std::vector<TermId>;

class Laws {
 public:
  Laws(Algebra& algebra, const NodeToRead& read) : algebra_(algebra), terms_(algebra.terms), read_(read) {}

  Results unchanged() { return {read_.operands[0]}; }

  // Before opset 7 an attribute says whether it trains, afterwards an operand.
  Results dropout() {
    if (read_.opset < 7 || read_.wants(1)) return {};
    if (read_.has(2)) {
      const auto training = integers_of(terms_, read_.operands[2]);
      if (!training || training->size() != 1 || training->front() != 0) return {};
    }
    return unchanged();
  }

  Results cast() {
    TermId x = read_.operands[0];
    const auto to = static_cast<DataType>(read_.integer("to", 0));
    if (terms_[x].dtype == DataType::kUndefined || read_.node.attribute("round_mode")) return {};
    // A type that holds all numbers of the one before changes none.
    const auto before = [&](TermId one) {
      while (to != DataType::kString && terms_[one].is("Cast") &&
             keeps_numbers(terms_[terms_[one].arguments[0]].dtype, terms_[one].dtype))
        one = terms_[one].arguments[0];
      return one;
    };
    x = before(x);
    const Term& of = terms_[x];
    if (of.dtype == to) return {x};
    if (const auto numbers = cast_constant(x, to)) return {*numbers};
    std::string settings;
    // Whether numbers that are too large become the largest or infinite matters for 8 bits and fewer.
    if (ir::is_floating(to) && !is_real(to)) settings = read_.integer("saturate", 1) != 0 ? "saturate" : "infinite";
    const auto write = [&](const std::vector<TermId>& o) {
      const TermId bare = before(o[0]);
      const Term& one = terms_[bare];
      if (one.dtype == to) return bare;
      if (const auto numbers = cast_constant(bare, to)) return *numbers;
      if (one.kind == Term::Kind::kSizes && one.dtype == DataType::kInt64 && to == DataType::kInt32)
        return algebra_.constants.sizes(to, std::vector(one.ints), std::vector(one.dims));
      return terms_.apply("Cast", {bare}, to, one.shape, settings);
    };
    return {algebra_.elementwise({x}, write).value_or(write({x}))};
  }

  // Reshape, Flatten, Squeeze, Unsqueeze: the order of elements stays.
  Results reshaped() {
    const TermId x = read_.operands[0];
    const std::optional<Shape>& result = read_.results[0].shape;
    if (read_.node.outputs().size() != 1 || !result) return {};
    // One element has one place: a Reshape of it runs for sizes of 1 alone.
    const bool is_one =
        terms_[x].shape && std::ranges::all_of(*terms_[x].shape, [](Dim d) { return d.is_constant(1); });
    if (is_one) return {algebra_.views.reshape(x, Shape(result->size(), 1))};
    const Shape* shape = read_.known_shape(0);
    if (!shape) return {};
    return {algebra_.views.reshape(x, *shape)};
  }

  Results transpose() {
    const TermId x = read_.operands[0];
    if (!is_known(terms_[x].shape)) return {};
    const auto rank = static_cast<int64_t>(terms_[x].shape->size());
    const auto given = read_.node.attribute_ints("perm");
    std::vector<int64_t> order(given.begin(), given.end());
    if (!read_.node.attribute("perm")) {
      order.resize(static_cast<size_t>(rank));
      std::iota(order.rbegin(), order.rend(), 0);
    }
    std::vector<int64_t> sorted = order;
    std::ranges::sort(sorted);
    for (int64_t i = 0; i < static_cast<int64_t>(sorted.size()); ++i)
      if (sorted[static_cast<size_t>(i)] != i) return {};
    if (static_cast<int64_t>(order.size()) != rank) return {};
    return {algebra_.views.transpose(x, order)};
  }

  Results expand() {
    const Shape* shape = read_.known_shape(0);
    if (!shape || !is_known(terms_[read_.operands[0]].shape)) return {};
    return {algebra_.views.conform(read_.operands[0], *shape)};
  }

  Results constant_of_shape() {
    const Shape* shape = read_.known_shape(0);
    if (!shape) return {};
    const ir::Attribute* value = read_.node.attribute("value");
    const auto* tensor = value ? value->as<std::shared_ptr<ir::Tensor>>() : nullptr;
    if (value && (!tensor || !*tensor || (*tensor)->num_elements() != 1)) return {};
    const float zero = 0;
    ir::Tensor one = value ? **tensor : ir::Tensor::from_float({}, {}, std::span(&zero, 1));
    one.dims.clear();
    if (const auto elements = ops::small_elements(one); elements && !is_real(one.data_type))
      return {algebra_.views.expand(algebra_.constants.sizes(one.data_type, {}, {elements->front().as_dim()}), *shape)};
    if (!is_real(one.data_type)) return {};
    return {algebra_.views.expand(algebra_.constants.read(one), *shape)};
  }

  Results slice() {
    const TermId x = read_.operands[0];
    const Shape* shape = read_.known_shape(0);
    if (!shape || !is_known(terms_[x].shape) || read_.opset < 10) return {};
    const Shape from = *terms_[x].shape;
    const auto begins = dims_of(1);
    if (!begins) return {};
    std::vector<int64_t> axes(begins->size()), steps(begins->size(), 1);
    std::iota(axes.begin(), axes.end(), 0);
    if (read_.has(3)) {
      const auto given = integers_of(terms_, read_.operands[3]);
      if (!given) return {};
      axes = *given;
    }
    if (read_.has(4)) {
      const auto given = integers_of(terms_, read_.operands[4]);
      if (!given) return {};
      steps = *given;
    }
    if (axes.size() != begins->size() || steps.size() != begins->size()) return {};
    std::vector<Cut> cuts;
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = position(axes[i], from.size());
      if (!axis || steps[i] < 1 || std::ranges::count(cuts, *axis, &Cut::axis) > 0) return {};
      const Dim size = from[static_cast<size_t>(*axis)];
      Dim begin = (*begins)[i];
      if (const auto upper = dim::range_of(begin).upper; upper && *upper < 0) {  // counted from the end
        begin = size + begin;
        if (!is_at_least_zero(begin)) begin = dim::max(begin, 0);
      } else if (upper && *upper == 0 && (size + begin).is_constant(0)) {
        begin = 0;  // so many from the end as there are, or none of none
      }
      if (begin.is_unknown() || !is_at_least_zero(begin)) return {};
      cuts.push_back({*axis, begin, (*shape)[static_cast<size_t>(*axis)], steps[i]});
    }
    return {algebra_.slice(x, cuts)};
  }

  Results split() {
    const TermId x = read_.operands[0];
    if (!is_known(terms_[x].shape)) return {};
    const auto axis = position(read_.integer("axis", 0), terms_[x].shape->size());
    if (!axis) return {};
    Results results;
    Dim begin = 0;
    for (size_t i = 0; i < read_.results.size(); ++i) {
      const Shape* shape = read_.known_shape(i);
      if (!shape) return {};
      const Cut cut{*axis, begin, (*shape)[static_cast<size_t>(*axis)], 1};
      results.push_back(algebra_.slice(x, std::span(&cut, 1)));
      begin = begin + cut.length;
      if (begin.is_unknown()) return {};
    }
    return results;
  }

  Results concat() {
    std::vector<TermId> parts;
    for (const TermId part : read_.operands) {
      if (part == kNoTerm || !is_known(terms_[part].shape)) return {};
      if (terms_[part].shape->size() != terms_[read_.operands[0]].shape->size()) return {};
      parts.push_back(part);
    }
    if (read_.opset < 4 || parts.empty()) return {};
    const auto axis = position(read_.integer("axis", 0), terms_[parts[0]].shape->size());
    if (!axis) return {};
    return {algebra_.views.concat(parts, *axis)};
  }

  Results gather() {
    const TermId x = read_.operands[0];
    if (!is_known(terms_[x].shape)) return {};
    const auto axis = position(read_.integer("axis", 0), terms_[x].shape->size());
    if (!axis) return {};
    return results_of(algebra_.gather(x, read_.operands[1], *axis));
  }

  // By 0, which a convolution takes with its own.
  Results pad() {
    const TermId x = read_.operands[0];
    auto pads = read_.opset >= 11 ? integers_of(terms_, read_.operands[1]) : std::nullopt;
    if (!pads) return {};
    if (std::ranges::all_of(*pads, [](int64_t v) { return v == 0; })) return unchanged();
    const bool is_zero = read_.node.attribute_string("mode", "constant") == "constant" &&
                         (!read_.has(2) || algebra_.arithmetic.number_of(read_.operands[2]) == 0);
    const bool fits = is_real(terms_[x].dtype) && is_known(terms_[x].shape) && !read_.has(3) &&
                      pads->size() == 2 * terms_[x].shape->size();
    if (!is_zero || !fits || std::ranges::any_of(*pads, [](int64_t v) { return v < 0; })) return {};
    Term term;
    term.op = "Pad";
    term.ints = std::move(*pads);
    term.arguments = {x};
    term.dtype = terms_[x].dtype;
    term.shape = *terms_[x].shape;
    const size_t rank = term.shape->size();
    for (size_t k = 0; k < rank; ++k)
      (*term.shape)[k] = (*term.shape)[k] + Dim(term.ints[k]) + Dim(term.ints[k + rank]);
    if (!is_known(term.shape)) return {};
    return {terms_.add(std::move(term))};
  }

  // To the size that is there already: each element stands where it is read.
  Results resize() {
    static constexpr std::array<std::string_view, 5> kExact{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                                            "asymmetric", "align_corners"};
    const TermId x = read_.operands[0];
    const Shape* shape = read_.known_shape(0);
    const auto mode = read_.node.attribute_string("coordinate_transformation_mode", "half_pixel");
    const bool is_by_size = read_.has(3) && !read_.has(2) &&
                            read_.node.attribute_string("keep_aspect_ratio_policy", "stretch") == "stretch";
    const bool is_by_one = read_.has(2) && !read_.has(3) && algebra_.arithmetic.number_of(read_.operands[2]) == 1;
    if (read_.opset < 11 || !shape || !is_known(terms_[x].shape) || !is_same(*shape, *terms_[x].shape) ||
        std::ranges::find(kExact, mode) == kExact.end() || (!is_by_size && !is_by_one))
      return {};
    return unchanged();
  }

  // What is repeated along an axis is expanded along one before it.
  Results tile() {
    const TermId x = read_.operands[0];
    const auto repeats = read_.opset >= 6 ? integers_of(terms_, read_.operands[1]) : std::nullopt;
    if (!repeats || !is_known(terms_[x].shape) || repeats->size() != terms_[x].shape->size()) return {};
    Shape before, repeated, shape;  // each axis that is repeated stands behind one of as many repeats
    for (size_t k = 0; k < repeats->size(); ++k) {
      const Dim size = (*terms_[x].shape)[k], count((*repeats)[k]);
      if ((*repeats)[k] < 1) return {};
      if ((*repeats)[k] > 1) {
        before.emplace_back(1);
        repeated.push_back(count);
      }
      before.push_back(size);
      repeated.push_back(size);
      shape.push_back(size * count);
    }
    if (!is_known(shape)) return {};
    Views& views = algebra_.views;
    return {views.reshape(views.conform(views.reshape(x, before), repeated), shape)};
  }

  Results where() {
    const auto condition = integers_of(terms_, read_.operands[0]);
    const TermId a = read_.operands[1], b = read_.operands[2];
    if (condition && !condition->empty() && is_known(terms_[a].shape) && is_known(terms_[b].shape)) {
      auto shape = broadcast_shapes(*terms_[a].shape, *terms_[b].shape);
      if (shape) shape = broadcast_shapes(*shape, *terms_[read_.operands[0]].shape);
      if (!shape) return {};
      if (std::ranges::all_of(*condition, [](int64_t v) { return v != 0; })) return {algebra_.views.conform(a, *shape)};
      if (std::ranges::all_of(*condition, [](int64_t v) { return v == 0; })) return {algebra_.views.conform(b, *shape)};
    }
    return chosen();
  }

  // Add, Sub, Sum: each operand times its sign.
  Results sum(std::span<const double> signs) {
    return real([&](const std::vector<TermId>& operands) {
      std::vector<Scaled> addends;
      for (size_t i = 0; i < operands.size(); ++i) addends.push_back({i < signs.size() ? signs[i] : 1, operands[i]});
      return algebra_.arithmetic.sum(addends, terms_[operands[0]].dtype);
    });
  }

  Results product(double exponent) {
    return real([&](const std::vector<TermId>& operands) {
      return algebra_.arithmetic.product({{operands[0], 1}, {operands[1], exponent}}, terms_[operands[0]].dtype);
    });
  }

  Results power(double exponent) {
    return real([&](const std::vector<TermId>& operands) { return algebra_.arithmetic.power(operands[0], exponent); });
  }

  Results power_by_operand() {
    if (!read_.has(1) || !is_known(terms_[read_.operands[1]].shape) || !is_known(terms_[read_.operands[0]].shape))
      return {};
    const TermId x = read_.operands[0];
    auto exponent = algebra_.arithmetic.number_of(read_.operands[1]);
    if (const auto whole = integers_of(terms_, read_.operands[1]); whole && whole->size() == 1)
      exponent = static_cast<double>(whole->front());
    if (!exponent || *exponent == 0 || !is_real(terms_[x].dtype) || read_.opset < 7) return {};
    const auto shape = broadcast_shapes(*terms_[x].shape, *terms_[read_.operands[1]].shape);
    const auto made = algebra_.elementwise(
        {x}, [&](const std::vector<TermId>& o) { return algebra_.arithmetic.power(o[0], *exponent); });
    if (!made || !shape) return {};
    return {algebra_.views.conform(*made, *shape)};
  }

  Results extremum(std::string_view op) {
    return real([&](const std::vector<TermId>& operands) { return algebra_.extremum(op, operands); });
  }

  Results relu() {
    return real([&](const std::vector<TermId>& operands) {
      const std::array both{operands[0], algebra_.arithmetic.number(0, terms_[operands[0]].dtype)};
      return algebra_.extremum("Max", both);
    });
  }

  Results clip() {
    const TermId x = read_.operands[0];
    if (!is_real(terms_[x].dtype) || read_.opset < 6) return {};
    std::optional<TermId> low, high;
    if (read_.opset < 11) {
      if (read_.node.attribute("min")) low = algebra_.arithmetic.number(read_.real("min", 0), terms_[x].dtype);
      if (read_.node.attribute("max")) high = algebra_.arithmetic.number(read_.real("max", 0), terms_[x].dtype);
    } else {
      if (read_.has(1)) low = read_.operands[1];
      if (read_.has(2)) high = read_.operands[2];
    }
    TermId made = x;
    for (const auto& [op, bound] : {std::pair("Max", low), std::pair("Min", high)}) {
      if (!bound) continue;
      const auto limited =
          algebra_.elementwise({made, *bound}, [&](const std::vector<TermId>& o) { return algebra_.extremum(op, o); });
      if (!limited) return {};
      made = *limited;
    }
    return {made};
  }

  Results reduce(std::string_view op) {
    const TermId x = read_.operands[0];
    if (!is_known(terms_[x].shape)) return {};
    const auto rank = static_cast<int64_t>(terms_[x].shape->size());
    std::vector<int64_t> axes;
    const bool is_listed = read_.node.attribute("axes") != nullptr;
    if (is_listed) {
      const auto given = read_.node.attribute_ints("axes");
      axes.assign(given.begin(), given.end());
    } else if (read_.has(1)) {
      const auto given = integers_of(terms_, read_.operands[1]);
      if (!given) return {};
      axes = *given;
    }
    if (axes.empty()) {
      if (read_.integer("noop_with_empty_axes", 0) != 0) return {};
      axes.resize(static_cast<size_t>(rank));
      std::iota(axes.begin(), axes.end(), 0);
    }
    for (int64_t& axis : axes) {
      const auto at = position(axis, static_cast<size_t>(rank));
      if (!at) return {};
      axis = *at;
    }
    std::ranges::sort(axes);
    axes.erase(std::ranges::unique(axes).begin(), axes.end());
    TermId made = x;
    if (op == "ReduceMean" || op == "ReduceL1" || op == "ReduceL2" || op == "ReduceSumSquare") {
      if (!is_real(terms_[x].dtype)) return {};
      if (op == "ReduceMean") {
        made = algebra_.mean(x, axes);
      } else if (op == "ReduceL1") {
        made = algebra_.reduce("ReduceSum", algebra_.of_each("Abs", x), axes);
      } else {
        made = algebra_.reduce("ReduceSum", algebra_.power(x, 2), axes);
        if (op == "ReduceL2") made = algebra_.power(made, 0.5);
      }
    } else {
      made = algebra_.reduce(op, x, axes);
    }
    if (read_.integer("keepdims", 1) != 0 || !is_known(terms_[made].shape)) return {made};
    Shape left;
    for (int64_t i = 0; i < rank; ++i)
      if (!std::ranges::binary_search(axes, i)) left.push_back((*terms_[made].shape)[static_cast<size_t>(i)]);
    return {algebra_.views.reshape(made, left)};
  }

  Results global_average() {
    const TermId x = read_.operands[0];
    if (!is_known(terms_[x].shape) || terms_[x].shape->size() < 3 || !is_real(terms_[x].dtype)) return {};
    std::vector<int64_t> axes(terms_[x].shape->size() - 2);
    std::iota(axes.begin(), axes.end(), 2);
    return {algebra_.mean(x, axes)};
  }

  Results softmax() {
    const TermId x = read_.operands[0];
    if (!is_known(terms_[x].shape) || terms_[x].shape->empty()) return {};
    const size_t rank = terms_[x].shape->size();
    const auto axis = position(read_.integer("axis", read_.opset < 13 ? 1 : -1), rank);
    // Before opset 13 all axes from that one on are one.
    if (!axis || (read_.opset < 13 && *axis != static_cast<int64_t>(rank) - 1)) return {};
    return {algebra_.softmax(read_.node.op_type(), x, *axis - static_cast<int64_t>(rank))};
  }

  Results matmul() {
    const TermId a = read_.operands[0], b = read_.operands[1];
    if (!algebra_.is_matrix(a) || !algebra_.is_matrix(b)) return {};
    return {algebra_.matmul(a, b)};
  }

  Results lp_normalization() { return results_of(proving::lp_normalization(algebra_, read_)); }
  Results einsum() { return results_of(proving::einsum(algebra_, read_)); }
  Results gemm() { return read_.opset < 7 ? Results() : results_of(proving::gemm(algebra_, read_)); }
  Results convolution() { return results_of(proving::convolution(algebra_, read_)); }
  Results transposed_convolution() { return results_of(proving::transposed_convolution(algebra_, read_)); }

  Results batch_norm() {
    const TermId x = read_.operands[0];
    if (read_.opset < 9 || read_.integer("training_mode", 0) != 0 || read_.node.outputs().size() != 1) return {};
    if (!is_real(terms_[x].dtype) || !is_known(terms_[x].shape) || terms_[x].shape->size() < 2) return {};
    std::array<TermId, 4> parameters{};  // scale, bias, mean, variance
    for (size_t i = 0; i < 4; ++i) {
      if (terms_[read_.operands[i + 1]].dtype != terms_[x].dtype) return {};
      const auto one = algebra_.by_channel(read_.operands[i + 1], terms_[x].shape->size());
      if (!one) return {};
      parameters[i] = *one;
    }
    auto& real = algebra_.arithmetic;
    const DataType type = terms_[x].dtype;
    const TermId scale =
        real.product({{parameters[0], 1}, {real.plus(parameters[3], read_.real("epsilon", 1e-5F)), -0.5}}, type);
    const TermId shift = real.sum({{1, parameters[1]}, {-1, real.multiply(parameters[2], scale)}}, type);
    const auto made = algebra_.elementwise(
        {x, scale, shift}, [&](const std::vector<TermId>& o) { return real.add(real.multiply(o[0], o[1]), o[2]); });
    if (!made || terms_[*made].shape->size() != terms_[x].shape->size()) return {};
    return {*made};
  }

 private:
  // One of two, element by element.
  Results chosen() {
    const DataType type = terms_[read_.operands[1]].dtype;
    if (read_.opset < 9 || terms_[read_.operands[0]].dtype != DataType::kBool ||
        terms_[read_.operands[2]].dtype != type)
      return {};
    return results_of(algebra_.elementwise(read_.operands, [&](const std::vector<TermId>& o) {
      const Term condition = terms_[o[0]];
      const bool is_guard = is_real(type) && condition.is("node IsNaN") && condition.arguments[0] == o[2] &&
                            algebra_.arithmetic.number_of(o[1]) == 0;
      if (is_guard) return algebra_.without_nan(o[2]);
      std::vector<TermId> operands = o;
      if (const TermId opposite = algebra_.negation(o[0]); is_turned(o[0], opposite)) operands = {opposite, o[2], o[1]};
      auto shape = std::optional(Shape{});
      for (const TermId id : operands)
        shape = shape && is_known(terms_[id].shape) ? broadcast_shapes(*shape, *terms_[id].shape) : std::nullopt;
      return terms_.apply("node Where", operands, type, shape, settings_of_plain("Where"));
    }));
  }

  // Whether the opposite of a condition is written instead: by what the two are, not by which of them was there first, as each may be met
  // in several layouts.
  bool is_turned(TermId condition, TermId opposite) const {
    const Term &one = terms_[without_views(condition)], &other = terms_[without_views(opposite)];
    if (one.is("AtMostZero") && other.is("AtMostZero")) return lead(one.arguments[0]) < 0;
    if (one.is("node Not") != other.is("node Not")) return one.is("node Not");
    if ((one.is("Or") && other.is("And")) || (one.is("And") && other.is("Or"))) return one.is("Or");
    return opposite < condition;
  }

  TermId without_views(TermId x) const {
    const auto is_view = [](const Term& of) {
      return of.is("Reshape") || of.is("Expand") || of.is("Transpose") || of.is("Slice");
    };
    while (is_view(terms_[x])) x = terms_[x].arguments[0];
    return x;
  }

  // The number in front of the first term of a sum that is known by no number.
  double lead(TermId x) const {
    const Term& sum = terms_[without_views(x)];
    if (sum.kind != Term::Kind::kSum) return 1;
    for (size_t i = 0; i < sum.arguments.size(); ++i)
      if (terms_[sum.arguments[i]].kind != Term::Kind::kSizes) return sum.numbers[i];
    return 1;
  }

  bool is_at_least_zero(Dim d) const {
    const auto lower = dim::range_of(d).lower;
    return lower && *lower >= 0;
  }

  static std::optional<int64_t> position(int64_t axis, size_t rank) {
    const auto count = static_cast<int64_t>(rank);
    if (axis < -count || axis >= count) return std::nullopt;
    return axis < 0 ? axis + count : axis;
  }

  std::optional<std::vector<Dim>> dims_of(size_t i) const {
    if (!read_.has(i) || terms_[read_.operands[i]].kind != Term::Kind::kSizes) return std::nullopt;
    return terms_[read_.operands[i]].dims;
  }

  static bool keeps_numbers(DataType from, DataType to) {
    const auto digits = [](DataType type) {
      return type == DataType::kDouble ? 53 : type == DataType::kFloat ? 24 : type == DataType::kFloat16 ? 11 : 8;
    };
    if (is_real(from) && is_real(to)) {
      if (from == to) return true;
      const bool half = from == DataType::kFloat16 || from == DataType::kBfloat16;
      return digits(to) > digits(from) &&
             (half ? to == DataType::kFloat || to == DataType::kDouble : to == DataType::kDouble);
    }
    if (from == DataType::kBool) return ir::is_integer(to) || is_real(to);
    const auto is_in = [](DataType type, std::initializer_list<DataType> list) {
      return std::ranges::find(list, type) != list.end();
    };
    if (to == DataType::kInt64)
      return is_in(from, {DataType::kInt8, DataType::kInt16, DataType::kInt32, DataType::kUint8, DataType::kUint16,
                          DataType::kUint32});
    if (to == DataType::kInt32)
      return is_in(from, {DataType::kInt8, DataType::kInt16, DataType::kUint8, DataType::kUint16});
    return false;
  }

  // Numbers in another floating-point type.
  std::optional<TermId> cast_constant(TermId x, DataType to) {
    const Term& of = terms_[x];
    if (to == DataType::kBool && of.kind == Term::Kind::kConstant && of.tensor && is_real(of.dtype)) {
      algebra_.constants.count_exactly(x);
      std::vector<std::byte> truths;
      for (const double v : of.tensor->to_double()) truths.push_back(std::byte{v != 0});
      const ir::Tensor made = ir::Tensor::from_bytes({}, to, std::vector(of.tensor->dims), std::move(truths));
      const auto elements = ops::small_elements(made);
      if (!elements) return algebra_.constants.read(made);
      std::vector<Dim> dims;
      for (const ops::Element& element : *elements) dims.push_back(element.as_dim());
      return algebra_.constants.sizes(to, std::vector(made.dims), std::move(dims));
    }
    if (to != DataType::kFloat && to != DataType::kFloat16 && to != DataType::kBfloat16) return std::nullopt;
    std::vector<float> numbers;
    std::vector<int64_t> dims;
    if (of.kind == Term::Kind::kSizes) {
      const auto values = integers_of(terms_, x);
      if (!values) return std::nullopt;
      for (const int64_t v : *values) {
        if (v < -(1 << 24) || v > 1 << 24) return std::nullopt;
        numbers.push_back(static_cast<float>(v));
      }
      dims = of.ints;
    } else if (of.kind == Term::Kind::kConstant && of.tensor && of.dtype != DataType::kDouble) {
      const auto values = algebra_.constants.numbers(x);
      if (!values) return std::nullopt;
      for (const double v : values->values) numbers.push_back(static_cast<float>(v));
      dims = values->dims;
    } else {
      return std::nullopt;
    }
    std::vector<std::byte> bytes(numbers.size() * static_cast<size_t>(ir::bits_of(to)) / 8);
    if (!ir::from_floats(numbers, to, bytes.data())) return std::nullopt;
    return algebra_.constants.made_of(
        x, algebra_.constants.read(ir::Tensor::from_bytes({}, to, std::move(dims), std::move(bytes))));
  }

  // Of floating-point operands of one type.
  Results real(const Algebra::Write& write) {
    for (const TermId id : read_.operands)
      if (id == kNoTerm || !is_real(terms_[id].dtype) || terms_[id].dtype != terms_[read_.operands[0]].dtype) return {};
    if (read_.opset < 7 || read_.operands.empty()) return {};
    const auto made = algebra_.elementwise(read_.operands, write);
    if (!made) return {};
    return {*made};
  }

  static Results results_of(std::optional<TermId> made) { return made ? Results{*made} : Results{}; }

  Algebra& algebra_;
  Terms& terms_;
  const NodeToRead& read_;
};

constexpr double kAdd[] = {1, 1}, kSubtract[] = {1, -1}, kNegate[] = {-1};

// One law an operator; its operands are there, as the arity of each was checked.
using Law = Results (*)(Laws&);
const std::unordered_map<std::string_view, Law>& table() {
  static const std::unordered_map<std::string_view, Law> laws = {
      {"Identity", [](Laws& n) { return n.unchanged(); }},
      {"Dropout", [](Laws& n) { return n.dropout(); }},
      {"Cast", [](Laws& n) { return n.cast(); }},
      {"Reshape", [](Laws& n) { return n.reshaped(); }},
      {"Flatten", [](Laws& n) { return n.reshaped(); }},
      {"Squeeze", [](Laws& n) { return n.reshaped(); }},
      {"Unsqueeze", [](Laws& n) { return n.reshaped(); }},
      {"Transpose", [](Laws& n) { return n.transpose(); }},
      {"Expand", [](Laws& n) { return n.expand(); }},
      {"ConstantOfShape", [](Laws& n) { return n.constant_of_shape(); }},
      {"Slice", [](Laws& n) { return n.slice(); }},
      {"Split", [](Laws& n) { return n.split(); }},
      {"Concat", [](Laws& n) { return n.concat(); }},
      {"Gather", [](Laws& n) { return n.gather(); }},
      {"Pad", [](Laws& n) { return n.pad(); }},
      {"Resize", [](Laws& n) { return n.resize(); }},
      {"Tile", [](Laws& n) { return n.tile(); }},
      {"Where", [](Laws& n) { return n.where(); }},
      {"Add", [](Laws& n) { return n.sum(kAdd); }},
      {"Sum", [](Laws& n) { return n.sum({}); }},
      {"Sub", [](Laws& n) { return n.sum(kSubtract); }},
      {"Neg", [](Laws& n) { return n.sum(kNegate); }},
      {"Mul", [](Laws& n) { return n.product(1); }},
      {"Div", [](Laws& n) { return n.product(-1); }},
      {"Reciprocal", [](Laws& n) { return n.power(-1); }},
      {"Sqrt", [](Laws& n) { return n.power(0.5); }},
      {"Pow", [](Laws& n) { return n.power_by_operand(); }},
      {"Max", [](Laws& n) { return n.extremum("Max"); }},
      {"Min", [](Laws& n) { return n.extremum("Min"); }},
      {"Relu", [](Laws& n) { return n.relu(); }},
      {"Clip", [](Laws& n) { return n.clip(); }},
      {"ReduceSum", [](Laws& n) { return n.reduce("ReduceSum"); }},
      {"ReduceMean", [](Laws& n) { return n.reduce("ReduceMean"); }},
      {"ReduceMax", [](Laws& n) { return n.reduce("ReduceMax"); }},
      {"ReduceMin", [](Laws& n) { return n.reduce("ReduceMin"); }},
      {"ReduceProd", [](Laws& n) { return n.reduce("ReduceProd"); }},
      {"ReduceL1", [](Laws& n) { return n.reduce("ReduceL1"); }},
      {"ReduceL2", [](Laws& n) { return n.reduce("ReduceL2"); }},
      {"ReduceSumSquare", [](Laws& n) { return n.reduce("ReduceSumSquare"); }},
      {"GlobalAveragePool", [](Laws& n) { return n.global_average(); }},
      {"Softmax", [](Laws& n) { return n.softmax(); }},
      {"LogSoftmax", [](Laws& n) { return n.softmax(); }},
      {"MatMul", [](Laws& n) { return n.matmul(); }},
      {"LpNormalization", [](Laws& n) { return n.lp_normalization(); }},
      {"Einsum", [](Laws& n) { return n.einsum(); }},
      {"Gemm", [](Laws& n) { return n.gemm(); }},
      {"Conv", [](Laws& n) { return n.convolution(); }},
      {"ConvTranspose", [](Laws& n) { return n.transposed_convolution(); }},
      {"BatchNormalization", [](Laws& n) { return n.batch_norm(); }},
  };
  return laws;
}

}  // namespace

const Shape* NodeToRead::known_shape(size_t i) const {
  if (i >= results.size() || is_new_size[i] || !is_known(results[i].shape)) return nullptr;
  return &*results[i].shape;
}

std::vector<TermId> by_law(Algebra& algebra, const NodeToRead& read) {
  if (!read.node.domain().empty()) return {};
  if (auto made = of_integers(algebra, read); !made.empty()) return made;
  const auto law = table().find(read.node.op_type());
  if (law == table().end()) return {};
  Laws laws(algebra, read);
  return law->second(laws);
}

}  // namespace thaw::proving
