// Sums, extrema and products of constants along axes, and products of matrices.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "thaw/ops/onnx/einsum.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/prove/evaluated.h"

namespace thaw::proving {

using ir::DataType;

namespace {

using Dims = std::vector<int64_t>;
using Made = std::vector<KnownTensor>;
using Fold = KnownNumber (*)(DataType, std::span<const KnownNumber>);

KnownNumber mean_of(DataType type, std::span<const KnownNumber> numbers) {
  return divided(type, sum_of(type, numbers), {0, static_cast<double>(numbers.size()), 0});
}
KnownNumber product_of_all(DataType type, std::span<const KnownNumber> numbers) {
  KnownNumber made = numbers[0];
  for (const KnownNumber& one : numbers.subspan(1)) {
    made = multiplied(type, made, one);
    if (!is_real(type) && held_by_double(made).is_open()) return kOpenNumber;
  }
  return made;
}
template <bool kIsLargest>
KnownNumber extremum_of(DataType type, std::span<const KnownNumber> numbers) {
  KnownNumber made = numbers[0];
  for (const KnownNumber& one : numbers.subspan(1)) made = extremum(type, made, one, kIsLargest);
  return made;
}

// The axes are an attribute up to this version, and an operand from it on.
constexpr int64_t kAxesOfSum = 13, kAxesOfOthers = 18;

Made reduced(const NodeOfConstants& of, Fold fold, int64_t axes_since) {
  const KnownTensor& x = *of.operands[0];
  const auto given = of.node.attribute_ints("axes");
  Dims axes(given.begin(), given.end());
  if (of.opset >= axes_since && of.has(1)) {
    const auto known = integers_of(of.operands[1]);
    if (!known) return {};
    axes = *known;
  }
  if (axes.empty() && of.node.attribute_int("noop_with_empty_axes", 0) != 0) return {x};
  std::vector<bool> is_reduced(x.dims.size(), axes.empty());
  for (const int64_t one : axes) {
    const auto axis = axis_of(one, x.dims.size());
    if (!axis) return {};
    is_reduced[*axis] = true;
  }
  Dims with_ones = x.dims, dims;
  for (size_t k = 0; k < x.dims.size(); ++k) {
    if (x.dims[k] == 0) return {};
    if (is_reduced[k]) with_ones[k] = 1;
    if (!is_reduced[k] || of.node.attribute_int("keepdims", 1) != 0) dims.push_back(with_ones[k]);
  }
  // What goes into each element, in order.
  const Dims to = broadcast_offsets(with_ones, x.dims);
  std::vector<std::vector<KnownNumber>> groups(static_cast<size_t>(product_of(with_ones)));
  for (size_t i = 0; i < to.size(); ++i) groups[static_cast<size_t>(to[i])].push_back(x.elements[i]);
  KnownTensor made{x.type, std::move(dims), {}};
  for (const auto& group : groups) made.elements.push_back(fold(x.type, group));
  return {std::move(made)};
}

Made of_reals(const NodeOfConstants& of, Fold fold, int64_t axes_since) {
  return is_real(of.operands[0]->type) ? reduced(of, fold, axes_since) : Made();
}

// Sums of the elements up to each one.
Made running_sum(const NodeOfConstants& of) {
  const KnownTensor& x = *of.operands[0];
  const auto given = of.has(1) ? integers_of(of.operands[1]) : std::nullopt;
  const auto axis = given && given->size() == 1 ? axis_of(given->front(), x.dims.size()) : std::nullopt;
  if (!axis) return {};
  const bool is_reverse = of.node.attribute_int("reverse", 0) != 0,
             is_exclusive = of.node.attribute_int("exclusive", 0) != 0;
  const int64_t size = x.dims[*axis], inner = product_of(std::span(x.dims).subspan(*axis + 1));
  KnownTensor made = x;
  for (int64_t row = 0; size > 0 && row < std::ssize(x.elements) / size; ++row) {
    const int64_t first = row / inner * size * inner + row % inner;
    KnownNumber sum{};
    for (int64_t i = 0; i < size; ++i) {
      const auto at = static_cast<size_t>(first + (is_reverse ? size - 1 - i : i) * inner);
      const KnownNumber next = added(x.type, sum, x.elements[at]);
      made.elements[at] = is_exclusive ? sum : next;
      sum = next;
    }
  }
  return {std::move(made)};
}

Made product_of_matrices(const NodeOfConstants& of) {
  constexpr int64_t kMostSteps = int64_t{1} << 26;
  const KnownTensor& a = *of.operands[0];
  if (!of.has(1) || of.operands[1]->type != a.type || !is_real(a.type)) return {};
  const KnownTensor& b = *of.operands[1];
  if (a.dims.size() < 2 || b.dims.size() < 2 || a.dims.back() != b.dims[b.dims.size() - 2]) return {};
  const int64_t rows = a.dims[a.dims.size() - 2], inner = a.dims.back(), columns = b.dims.back();
  const KnownTensor batch_a{a.type, Dims(a.dims.begin(), a.dims.end() - 2), {}},
      batch_b{b.type, Dims(b.dims.begin(), b.dims.end() - 2), {}};
  const auto batch = broadcast_dims(std::array{&batch_a, &batch_b});
  if (!batch || inner == 0) return {};
  Dims dims = *batch;
  dims.insert(dims.end(), {rows, columns});
  const auto count = count_of_result(dims);
  if (!count || *count > kMostSteps / inner) return {};
  const Dims from_a = broadcast_offsets(batch_a.dims, *batch), from_b = broadcast_offsets(batch_b.dims, *batch);
  KnownTensor made{a.type, std::move(dims), {}};
  std::vector<KnownNumber> products(static_cast<size_t>(inner));
  for (size_t sample = 0; sample < from_a.size(); ++sample)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        for (int64_t k = 0; k < inner; ++k)
          products[static_cast<size_t>(k)] =
              multiplied(a.type, a.elements[static_cast<size_t>((from_a[sample] * rows + row) * inner + k)],
                         b.elements[static_cast<size_t>((from_b[sample] * inner + k) * columns + column)]);
        made.elements.push_back(inner == 1 ? products[0] : sum_of(a.type, products));
      }
  return {std::move(made)};
}

// Weights of each row. What moves a score by d moves its weight by 2 d of itself at most: once for itself, once for their sum.
Made softmax(const NodeOfConstants& of) {
  constexpr double kRoundings = 8, kMostMoved = 0x1p-6;
  const KnownTensor& x = *of.operands[0];
  const auto axis = axis_of(of.node.attribute_int("axis", of.opset < 13 ? 1 : -1), x.dims.size());
  // Before opset 13 all axes from that one on are one.
  if (!axis || !is_real(x.type) || x.is_open() || (of.opset < 13 && *axis + 1 != x.dims.size())) return {};
  const int64_t size = x.dims[*axis], inner = product_of(std::span(x.dims).subspan(*axis + 1));
  const double unit = rounding_of(x.type);
  KnownTensor made = x;
  for (int64_t row = 0; size > 0 && row < std::ssize(x.elements) / size; ++row) {
    const int64_t first = row / inner * size * inner + row % inner;
    const auto at = [&](int64_t i) { return static_cast<size_t>(first + i * inner); };
    double largest = -std::numeric_limits<double>::infinity(), moved = 0, sum = 0;
    for (int64_t i = 0; i < size; ++i) largest = std::max(largest, x.elements[at(i)].real);
    for (int64_t i = 0; i < size; ++i) {
      const KnownNumber& one = x.elements[at(i)];
      if (std::isfinite(one.real)) moved = std::max(moved, one.error + unit * (largest - one.real));
      sum += std::exp(one.real - largest);
    }
    const bool is_sure = std::isfinite(largest) && moved <= kMostMoved;
    for (int64_t i = 0; i < size; ++i) {
      const double weight = std::exp(x.elements[at(i)].real - largest) / sum;
      const double error = weight * (4 * moved + static_cast<double>(size) * unit);
      made.elements[at(i)] = is_sure ? rounded(x.type, weight, error, kRoundings) : kOpenNumber;
    }
  }
  return {std::move(made)};
}

Made layer_norm(const NodeOfConstants& of) {
  const KnownTensor& x = *of.operands[0];
  const auto axis = axis_of(of.node.attribute_int("axis", -1), x.dims.size());
  if (!axis || !is_real(x.type) || !of.has(1) || of.node.outputs().size() != 1) return {};
  const Dims row(x.dims.begin() + static_cast<ptrdiff_t>(*axis), x.dims.end());
  const int64_t size = product_of(row);
  for (const size_t i : {1, 2})
    if (of.has(i) && (of.operands[i]->type != x.type || of.operands[i]->dims != row)) return {};
  const KnownNumber count{0, static_cast<double>(size), 0}, epsilon{0, of.node.attribute_float("epsilon", 1e-5F), 0};
  KnownTensor made{x.type, x.dims, {}};
  std::vector<KnownNumber> squares(static_cast<size_t>(size));
  for (size_t first = 0; size > 0 && first < x.elements.size(); first += static_cast<size_t>(size)) {
    const auto numbers = std::span(x.elements).subspan(first, static_cast<size_t>(size));
    KnownNumber mean = divided(x.type, sum_of(x.type, numbers), count);
    const KnownNumber minus{0, -mean.real, mean.error};
    double square = 0;
    for (size_t i = 0; i < squares.size(); ++i) {
      const KnownNumber above = added(x.type, numbers[i], minus);
      squares[i] = multiplied(x.type, above, above);
      square += numbers[i].real * numbers[i].real;
    }
    KnownNumber variance = divided(x.type, sum_of(x.type, squares), count);
    // It may be computed as the mean of the squares less the square of the mean.
    variance.error += 2 * static_cast<double>(size) * rounding_of(x.type) *
                      (square / static_cast<double>(size) + mean.real * mean.real);
    variance = added(x.type, variance, epsilon);
    const double root = std::sqrt(variance.real);
    const bool is_sure = !variance.is_open() && variance.error <= variance.real / 4;
    const KnownNumber deviation = is_sure ? rounded(x.type, root, variance.error / root) : kOpenNumber;
    for (size_t i = 0; i < numbers.size(); ++i) {
      KnownNumber one = divided(x.type, added(x.type, numbers[i], minus), deviation);
      one = multiplied(x.type, one, of.operands[1]->elements[i]);
      made.elements.push_back(of.has(2) ? added(x.type, one, of.operands[2]->elements[i]) : one);
    }
  }
  return {std::move(made)};
}

// Sums of products, by letters that each appear once in an operand.
Made einsum_of_constants(const NodeOfConstants& of) {
  constexpr int64_t kMostSteps = int64_t{1} << 26;
  const DataType type = of.operands[0]->type;
  const auto equation = ops::parse_equation(of.node.attribute_string("equation", ""));
  if (!equation || equation->terms.size() != of.operands.size() || of.operands.size() > 2 || !is_real(type)) return {};
  std::string letters = equation->result();
  const size_t kept = letters.size();
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < of.operands.size(); ++i) {
    const std::string& term = equation->terms[i];
    if (!of.operands[i] || of.operands[i]->type != type || term.size() != of.operands[i]->dims.size()) return {};
    for (size_t k = 0; k < term.size(); ++k) {
      const auto known = sizes.emplace(term[k], of.operands[i]->dims[k]);
      if (term[k] == ops::kEllipsis || std::ranges::count(term, term[k]) > 1 ||
          known.first->second != of.operands[i]->dims[k])
        return {};
      if (letters.find(term[k]) == std::string::npos) letters += term[k];
    }
  }
  Dims dims;
  for (const char letter : letters) {
    if (!sizes.contains(letter) || sizes[letter] == 0) return {};
    dims.push_back(sizes[letter]);
  }
  const auto result = std::span(dims).first(kept), added_up = std::span(dims).subspan(kept);
  if (!count_of_result(result) || !count_of_result(added_up) || product_of(result) > kMostSteps / product_of(added_up))
    return {};
  // Where each operand is read for the letters of the result, and how far from there for the others.
  std::vector<Dims> first, then;
  for (size_t i = 0; i < of.operands.size(); ++i) {
    const Dims own = ops::strides_of(of.operands[i]->dims);
    Dims steps(letters.size(), 0);
    for (size_t k = 0; k < own.size(); ++k) steps[letters.find(equation->terms[i][k])] = own[k];
    first.push_back(offsets(result, std::span(steps).first(kept), 0));
    then.push_back(offsets(added_up, std::span(steps).subspan(kept), 0));
  }
  KnownTensor made{type, Dims(result.begin(), result.end()), {}};
  std::vector<KnownNumber> products(then[0].size());
  for (size_t i = 0; i < first[0].size(); ++i) {
    for (size_t k = 0; k < products.size(); ++k) {
      products[k] = of.operands[0]->elements[static_cast<size_t>(first[0][i] + then[0][k])];
      if (of.operands.size() == 2)
        products[k] =
            multiplied(type, products[k], of.operands[1]->elements[static_cast<size_t>(first[1][i] + then[1][k])]);
    }
    made.elements.push_back(products.size() == 1 ? products[0] : sum_of(type, products));
  }
  return {std::move(made)};
}

using AxisOperator = Made (*)(const NodeOfConstants&);
const std::unordered_map<std::string_view, AxisOperator>& axis_operators() {
  static const std::unordered_map<std::string_view, AxisOperator> all = {
      {"ReduceSum", [](const NodeOfConstants& of) { return reduced(of, sum_of, kAxesOfSum); }},
      {"ReduceMean", [](const NodeOfConstants& of) { return of_reals(of, mean_of, kAxesOfOthers); }},
      {"ReduceProd", [](const NodeOfConstants& of) { return reduced(of, product_of_all, kAxesOfOthers); }},
      {"ReduceMax", [](const NodeOfConstants& of) { return reduced(of, extremum_of<true>, kAxesOfOthers); }},
      {"ReduceMin", [](const NodeOfConstants& of) { return reduced(of, extremum_of<false>, kAxesOfOthers); }},
      {"CumSum", running_sum},
      {"MatMul", product_of_matrices},
      {"Softmax", softmax},
      {"LayerNormalization", layer_norm},
      {"Einsum", einsum_of_constants},
  };
  return all;
}

}  // namespace

std::vector<KnownTensor> evaluated_along_axes(const NodeOfConstants& of) {
  const auto found = axis_operators().find(of.node.op_type());
  return found == axis_operators().end() ? Made() : found->second(of);
}

}  // namespace thaw::proving
