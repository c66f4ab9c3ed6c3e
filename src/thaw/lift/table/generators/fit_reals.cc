// A few real numbers that differ between the traces, each computed of a size: 1 / h, h / 8, sqrt(n), h + 1e-6, one size
// over another.
//
// A number is what an exporter computed with, in float32 or in double and rounded then. An expression is taken where it
// gives every trace's number to the last bit, and, where no other does, to the last but one; it is emitted in the type
// of the constant, operation by operation as it was tried here.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/dim/text/text.h"
#include "thaw/lift/table/generators.h"
#include "thaw/lift/table/table_sizes.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kMostReals = 16;
constexpr int64_t kLargestWhole = int64_t{1} << 24;  // float32 holds every integer up to it

// What is added to a size before it is divided by the one that positions were learned at, so that what is rounded down afterwards
// is not one less (Caron et al. 2021, DINO).
constexpr double kLittle = 0.1;

struct RealFit {
  Formula formula;
  bool is_scaled = true;  // by a factor, which may stand for a part of the size that is rounded
};

// A number that people write: a short decimal near it.
double written(double value) {
  for (const double scale : {1.0, 2.0, 4.0, 10.0, 100.0, 1000.0}) {
    const double whole = std::round(value * scale);
    if (whole != 0 && std::abs(whole / scale - value) <= 4e-7 * std::abs(value)) return whole / scale;
  }
  return value;
}

// How a number is made of a size n and a factor c, and which factor gives the number at that size.
struct RealForm {
  Formula (*of)(const Formula& n, const Formula& c);
  double (*factor)(double number, double n);
};
Formula times(const Formula& a, const Formula& c) { return c.node().numbers[0] == 1 ? a : a * c; }
const RealForm kLines[] = {
    {[](const Formula& n, const Formula& c) { return c / n; }, [](double x, double n) { return written(x * n); }},
    {[](const Formula& n, const Formula& c) { return n / c; }, [](double x, double n) { return written(n / x); }},
    {[](const Formula& n, const Formula& c) { return times(n, c); }, [](double x, double n) { return written(x / n); }},
    {[](const Formula& n, const Formula& c) { return (n + real_number(kLittle)) / c; },
     [](double x, double n) { return std::round((n + kLittle) / x); }}};
// Plainer is a side of a square than the root of its cells.
const RealForm kOthers[] = {{[](const Formula& n, const Formula& c) { return times(square_root(n), c); },
                             [](double x, double n) { return written(x / std::sqrt(n)); }},
                            {[](const Formula& n, const Formula& c) { return c / square_root(n); },
                             [](double x, double n) { return written(x * std::sqrt(n)); }},
                            {[](const Formula& n, const Formula& c) { return square_root(n) / c; },
                             [](double x, double n) { return written(std::sqrt(n) / x); }},
                            {[](const Formula& n, const Formula& c) { return square_root(c / square_root(n)); },
                             [](double x, double n) { return written(x * x * std::sqrt(n)); }},
                            {[](const Formula& n, const Formula& c) { return times(logarithm(n), c); },
                             [](double x, double n) { return written(x / std::log(n)); }},
                            {[](const Formula& n, const Formula& c) { return logarithm(n) / logarithm(c); },
                             [](double x, double n) { return written(std::exp(std::log(n) / x)); }},
                            {[](const Formula& n, const Formula& c) { return logarithm(n / c); },
                             [](double x, double n) { return written(n / std::exp(x)); }}};

class RealSearch {
 public:
  RealSearch(const TableContext& context, ir::DataType type) : context_(context), around_(context.around), type_(type) {
    around_.is_number = true;
    // What stands around the number tells most; then the inputs' sizes, their products, and those of other tensors.
    for (const Variable& v : context.around.sizes) add({v.symbol, v.at});
    const size_t around = sizes_.size();
    for (const Variable& v : context.variables) add({v.symbol, v.at});
    const size_t own = sizes_.size();
    for (size_t i = 0; i < own; ++i)
      for (size_t j = i + 1; j < own; ++j)
        if ((i < around) == (j < around)) add(sizes_[i] * sizes_[j]);
    if (const TensorSizes* tensors = context.solver.tensors())
      for (const auto& [at, size] : *tensors) add({size.dim, at});
    // The cells of grids, and the shorter and longer side of an input.
    for (const auto& [cells, sides] : context.grids) add(sides.front().first * sides.front().second);
    for (const Size& side : extreme_sides(context.variables)) add(side);
    const size_t plain = sizes_.size();
    for (size_t i = 0; i < plain; ++i)
      for (const int64_t more : {-1, 1}) add(sizes_[i] + constant_size(more, sizes_[i].at.size()));
  }

  std::optional<RealFit> solve(const std::vector<double>& wanted) const {
    if (std::ranges::any_of(wanted, [](double v) { return !std::isfinite(v) || v == 0; })) return std::nullopt;
    if (const auto whole = whole_size(wanted)) return RealFit{as_real(*whole), false};
    if (auto more = little_more(wanted)) return more;
    std::optional<RealFit> nearly;
    // The fit with its limits, where it gives every number; kept where it nearly does.
    const auto attempt = [&](RealFit fit, const Size& n) -> std::optional<RealFit> {
      const int off = bits_off(fit, wanted);
      if (off > 1 || (off == 1 && nearly)) return std::nullopt;
      fit.formula =
          within(fit.formula, limits_of_multiples(n, sizes_, OfSides::kOther, context_.solver, !fit.is_scaled));
      if (off == 0) return fit;
      nearly = std::move(fit);
      return std::nullopt;
    };
    const auto by = [&](const Size& n, std::span<const RealForm> forms) -> std::optional<RealFit> {
      for (const RealForm& form : forms) {
        const double factor = form.factor(wanted[0], static_cast<double>(n.at[0]));
        if (auto fit = attempt({form.of(as_real(n), real_number(factor)), factor != 1}, n)) return fit;
      }
      return std::nullopt;
    };
    for (const Size& n : sizes_)
      if (auto fit = by(n, kLines)) return fit;
    if (auto half = half_of_size(wanted)) return half;
    for (const Size& n : sizes_) {
      if (auto fit = by(n, kOthers)) return fit;
      if (const auto quotient = over(n, wanted))
        if (auto fit = attempt(*quotient, n)) return fit;
    }
    return nearly;
  }

 private:
  void add(Size size) {
    const auto positive = [](int64_t at) { return at > 0 && at <= kLargestWhole; };
    const bool varies = std::ranges::any_of(size.at, [&](int64_t at) { return at != size.at[0]; });
    const bool known = std::ranges::any_of(sizes_, [&](const Size& other) { return other.at == size.at; });
    if (varies && !known && std::ranges::all_of(size.at, positive)) sizes_.push_back(std::move(size));
  }

  // 0: equal; 1: within a bit; 2: something else.
  int bits_off(const RealFit& fit, const std::vector<double>& wanted) const {
    const double unit = type_ == ir::DataType::kDouble ? 2.3e-16 : 1.2e-7;
    int off = 0;
    for (size_t k = 0; k < wanted.size(); ++k) {
      const Points points{.trace = k, .positions = {{0}}, .in_single = type_ == ir::DataType::kFloat};
      const double value = evaluate(fit.formula, points).entries.front();
      if (value == wanted[k]) continue;
      if (!(std::abs(value - wanted[k]) <= unit * std::abs(wanted[k]))) return 2;
      off = 1;
    }
    return off;
  }

  std::optional<Size> whole_size(const std::vector<double>& wanted) const {
    std::vector<int64_t> integers;
    for (const double value : wanted) {
      if (value != std::round(value) || std::abs(value) > static_cast<double>(kLargestWhole)) return std::nullopt;
      integers.push_back(std::llround(value));
    }
    const auto size = context_.solver.solve(integers, around_);
    if (!size) return std::nullopt;
    return Size{*size, std::move(integers)};
  }

  // Middles of cells, and what lies between them.
  std::optional<RealFit> half_of_size(const std::vector<double>& wanted) const {
    std::vector<double> twice;
    std::ranges::transform(wanted, std::back_inserter(twice), [](double value) { return 2 * value; });
    const auto size = whole_size(twice);
    if (!size) return std::nullopt;
    return RealFit{as_real(*size) / real_number(2), false};
  }

  // A size and what keeps a division by it from being one by 0: how positions are normalised.
  std::optional<RealFit> little_more(const std::vector<double>& wanted) const {
    std::vector<double> whole;
    std::ranges::transform(wanted, std::back_inserter(whole), [](double value) { return std::round(value); });
    const auto size = whole_size(whole);
    if (!size) return std::nullopt;
    for (const double more : {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-12}) {
      RealFit fit{as_real(*size) + real_number(more), false};
      if (bits_off(fit, wanted) == 0) return fit;
    }
    return std::nullopt;
  }

  // Another size over this one.
  std::optional<RealFit> over(const Size& n, const std::vector<double>& wanted) const {
    constexpr double kWholeWithin = 1e-5;
    std::vector<int64_t> above;
    for (size_t k = 0; k < wanted.size(); ++k) {
      const double value = wanted[k] * static_cast<double>(n.at[k]), whole = std::round(value);
      if (whole < 1 || std::abs(value - whole) > kWholeWithin * whole) return std::nullopt;
      above.push_back(std::llround(whole));
    }
    const auto size = context_.solver.solve(above, around_);
    if (!size) return std::nullopt;
    return RealFit{as_real(Size{*size, std::move(above)}) / as_real(n), false};
  }

  const TableContext& context_;
  Around around_;
  ir::DataType type_;
  std::vector<Size> sizes_;
};

}  // namespace

std::optional<TableFit> fit_reals(std::span<const ir::Tensor* const> tensors, const TableContext& context) {
  const ir::Tensor& first = *tensors.front();
  const ir::DataType type = first.data_type;
  const bool alike =
      std::ranges::all_of(tensors, [&](const ir::Tensor* t) { return t->dims == first.dims && t->data_type == type; });
  // Two numbers lie on too many curves.
  constexpr size_t kFewestTraces = 3;
  if (!alike || tensors.size() < kFewestTraces || first.num_elements() > kMostReals || first.num_elements() == 0)
    return std::nullopt;
  if (type != ir::DataType::kFloat && type != ir::DataType::kDouble) return std::nullopt;
  std::vector<std::vector<double>> values;
  for (const ir::Tensor* tensor : tensors) values.push_back(tensor->to_double());
  const RealSearch search(context, type);
  std::vector<std::function<ir::Value*(TableEmitter&)>> elements;
  std::vector<std::string> text;
  const size_t among = values[0].size();
  for (size_t i = 0; i < among; ++i) {
    std::vector<double> wanted;
    for (const auto& each : values) wanted.push_back(each[i]);
    if (std::ranges::all_of(wanted, [&](double v) { return v == wanted[0]; })) {
      elements.emplace_back(
          [=, number = real_number(wanted[0])](TableEmitter& e) { return emit_number(number, type, false, among, e); });
      text.push_back(fmt::format("{:.9g}", wanted[0]));
      continue;
    }
    const auto fit = search.solve(wanted);
    if (!fit) return std::nullopt;
    elements.emplace_back(
        [=, fit = *fit](TableEmitter& e) { return emit_number(fit.formula, type, fit.is_scaled, among, e); });
    text.push_back(to_string(fit->formula));
  }
  TableFit fit;
  fit.description = first.dims.empty() ? text[0] : fmt::format("[{}]", fmt::join(text, ", "));
  fit.emit = [elements, dims = first.dims](TableEmitter& e) {
    std::vector<ir::Value*> made;
    for (const auto& element : elements) made.push_back(element(e));
    ir::Value* list = e.concat(made, 0);
    return dims.size() == 1 ? list : e.emit("Reshape", {list, e.list(dims)});
  };
  return fit;
}

}  // namespace thaw::lifting
