// Constants of constants, in float64, each with how far rounding may have moved it.
#include <algorithm>
#include <cmath>

#include "thaw/prove/laws.h"

namespace thaw::proving {

namespace {

constexpr FunctionOfOne kFunctions[] = {
    {"Cos", [](double v) { return std::cos(v); }, [](double v) { return std::sin(v); }},
    {"Sin", [](double v) { return std::sin(v); }, [](double v) { return std::cos(v); }},
    {"Exp", [](double v) { return std::exp(v); }, [](double v) { return std::exp(v); }},
    {"Log", [](double v) { return std::log(v); }, [](double v) { return 1 / v; }},
    {"Tanh", [](double v) { return std::tanh(v); }, [](double) { return 1.0; }},
    {"Erf", [](double v) { return std::erf(v); }, [](double) { return 2 / std::sqrt(M_PI); }},
    {"Abs", [](double v) { return std::fabs(v); }, [](double) { return 1.0; }},
    {"Softplus", [](double v) { return std::log1p(std::exp(v)); }, [](double) { return 1.0; }},
    {"Sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }, [](double) { return 0.25; }}};

}  // namespace

const FunctionOfOne* function_of_one(std::string_view op) {
  const auto found = std::ranges::find(kFunctions, op, &FunctionOfOne::op);
  return found == std::end(kFunctions) ? nullptr : found;
}

// Sums along axes, which stay.
std::optional<Numbers> added_up(const Numbers& of, std::span<const int64_t> axes) {
  Numbers made{of.dims, {}, {}, of.roundings};
  int64_t each = 1;
  for (const int64_t axis : axes) {
    int64_t& size = made.dims[static_cast<size_t>(axis)];
    each *= size;
    size = 1;
  }
  constexpr int64_t kMostAddends = 1 << 12;  // more roundings tell few numbers apart
  const int64_t count = product_of(made.dims);
  if (count <= 0 || each <= 0 || each > kMostAddends) return std::nullopt;
  made.roundings += static_cast<int>(each);
  made.values.assign(static_cast<size_t>(count), 0);
  made.magnitude.assign(static_cast<size_t>(count), 0);
  std::vector<int64_t> index(of.dims.size(), 0);
  for (size_t i = 0; i < of.values.size(); ++i) {
    size_t to = 0;
    for (size_t k = 0; k < index.size(); ++k)
      to = to * static_cast<size_t>(made.dims[k]) + (made.dims[k] == of.dims[k] ? static_cast<size_t>(index[k]) : 0);
    made.values[to] += of.values[i];
    made.magnitude[to] += of.magnitude.empty() ? std::fabs(of.values[i]) : of.magnitude[i];
    for (size_t k = index.size(); k-- > 0;) {
      if (++index[k] < of.dims[k]) break;
      index[k] = 0;
    }
  }
  return made;
}

// Of matrices, the right one of two axes or of the same batch.
std::optional<Numbers> multiplied_out(const Numbers& a, const Numbers& b) {
  constexpr int64_t kMostInner = 1 << 12, kMostSteps = int64_t{1} << 26;
  const int64_t inner = a.dims.back(), columns = b.dims.back(), rows = product_of(a.dims) / std::max<int64_t>(inner, 1);
  const bool is_batch = b.dims.size() > 2;
  if (is_batch &&
      !std::ranges::equal(std::span(a.dims).first(a.dims.size() - 2), std::span(b.dims).first(b.dims.size() - 2)))
    return std::nullopt;
  if (inner <= 0 || inner > kMostInner || rows <= 0 || columns <= 0 || rows > kMostSteps / inner / columns)
    return std::nullopt;
  Numbers made{a.dims, {}, {}, a.roundings + b.roundings + static_cast<int>(inner) + 1};
  made.dims.back() = columns;
  const auto size_at = [](const Numbers& n, size_t i) {
    return n.magnitude.empty() ? std::fabs(n.values[i]) : n.magnitude[i];
  };
  const int64_t rows_of_sample = a.dims[a.dims.size() - 2];
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t first = is_batch ? row / rows_of_sample * inner * columns : 0;
    for (int64_t column = 0; column < columns; ++column) {
      double value = 0, magnitude = 0;
      for (int64_t k = 0; k < inner; ++k) {
        const auto left = static_cast<size_t>(row * inner + k),
                   right = static_cast<size_t>(first + k * columns + column);
        value += a.values[left] * b.values[right];
        magnitude += size_at(a, left) * size_at(b, right);
      }
      made.values.push_back(value);
      made.magnitude.push_back(magnitude);
    }
  }
  return made;
}

// Weights of rows of scores. What rounds a score by d moves each weight w by 2 d w at most: once for itself, once for their sum.
std::optional<Numbers> weights_of(const Numbers& scores, int64_t axis, double rounding) {
  constexpr int64_t kMostAddends = 1 << 12;
  constexpr int kRoundings = 6;         // of a difference, an exponential, a quotient
  constexpr double kMostLost = 0x1p-9;  // of what a rounding of the scores changes
  const auto at = static_cast<size_t>(axis);
  const int64_t count = scores.dims[at], inner = product_of(std::span(scores.dims).subspan(at + 1));
  if (count <= 0 || count > kMostAddends || scores.values.empty()) return std::nullopt;
  Numbers made{scores.dims, scores.values, scores.values, scores.roundings + static_cast<int>(count) + kRoundings};
  for (size_t row = 0; row < scores.values.size() / static_cast<size_t>(count); ++row) {
    const size_t first =
        row / static_cast<size_t>(inner) * static_cast<size_t>(count * inner) + row % static_cast<size_t>(inner);
    const auto place = [&](int64_t i) { return first + static_cast<size_t>(i * inner); };
    double largest = scores.values[first], moved = 0, sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      largest = std::max(largest, scores.values[place(i)]);
      moved =
          std::max(moved, scores.magnitude.empty() ? std::fabs(scores.values[place(i)]) : scores.magnitude[place(i)]);
    }
    for (int64_t i = 0; i < count; ++i) sum += std::exp(scores.values[place(i)] - largest);
    if (!(2 * moved * rounding * (scores.roundings + 1) <= kMostLost)) return std::nullopt;
    for (int64_t i = 0; i < count; ++i) {
      const double weight = std::exp(scores.values[place(i)] - largest) / sum;
      made.values[place(i)] = weight;
      made.magnitude[place(i)] = weight * (1 + 2 * moved);
    }
  }
  return made;
}

std::optional<TermId> Algebra::evaluated(std::string_view op, TermId x) {
  constexpr int kRoundings = 4;         // of a function in floating-point
  constexpr double kMostLost = 0x1p-9;  // of what a rounding of the operand changes
  const FunctionOfOne* function = function_of_one(op);
  auto numbers = function ? constants.numbers(x) : std::nullopt;
  if (!numbers) return std::nullopt;
  // What rounds the operand moves the result by its slope.
  std::vector<double> magnitude;
  for (size_t i = 0; i < numbers->values.size(); ++i) {
    double& value = numbers->values[i];
    const double moved =
        std::fabs(function->slope(value)) * (numbers->magnitude.empty() ? std::fabs(value) : numbers->magnitude[i]);
    value = function->value(value);
    magnitude.push_back(std::fabs(value) + moved);
    if (!std::isfinite(value) || !(moved * rounding_of(terms[x].dtype) <= kMostLost)) return std::nullopt;
  }
  numbers->magnitude = std::move(magnitude);
  numbers->roundings += kRoundings;
  return constants.computed(terms[x].dtype, std::move(*numbers));
}

}  // namespace thaw::proving
