// Elements of constants in other places, and positions.
#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>

#include "thaw/ops/rule/small_tensor.h"
#include "thaw/prove/evaluated.h"

namespace thaw::proving {

using ir::DataType;

namespace {

using Dims = std::vector<int64_t>;
using Made = std::vector<KnownTensor>;

class Moves {
 public:
  explicit Moves(const NodeOfConstants& of) : of_(of), x_(*of.operands[0]) {}

  // The order of elements stays.
  Made reshaped() const {
    const Dims* dims = result_dims(0);
    if (!dims || of_.node.outputs().size() != 1 || count_of_result(*dims) != std::ssize(x_.elements)) return {};
    return {{x_.type, *dims, x_.elements}};
  }

  Made transposed() const {
    const auto given = of_.node.attribute_ints("perm");
    Dims order(given.begin(), given.end()), sorted(x_.dims.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    if (!of_.node.attribute("perm")) order.assign(sorted.rbegin(), sorted.rend());
    if (!std::ranges::is_permutation(order, sorted)) return {};
    const Dims from = ops::strides_of(x_.dims);
    Dims dims, steps;
    for (const int64_t axis : order) {
      dims.push_back(x_.dims[static_cast<size_t>(axis)]);
      steps.push_back(from[static_cast<size_t>(axis)]);
    }
    return picked(dims, offsets(dims, steps, 0));
  }

  Made expanded() const {
    const auto shape = integers_of(operand(1));
    if (!shape || shape->size() > ops::kMaxRank) return {};
    const KnownTensor other{x_.type, *shape, {}};
    const auto dims = broadcast_dims(std::array{&x_, &other});
    return dims ? picked(*dims, broadcast_offsets(x_.dims, *dims)) : Made();
  }

  Made tiled() const {
    const auto repeats = of_.opset >= 6 ? integers_of(operand(1)) : std::nullopt;
    if (!repeats || repeats->size() != x_.dims.size()) return {};
    Dims dims;
    for (size_t k = 0; k < repeats->size(); ++k) {
      if ((*repeats)[k] < 0 || (x_.dims[k] > 0 && (*repeats)[k] > kMostEvaluated)) return {};
      dims.push_back(x_.dims[k] * (*repeats)[k]);
    }
    return by_axis(dims, [&](size_t k, int64_t i) { return i % x_.dims[k]; });
  }

  Made sliced() const {
    const auto begins = integers_of(operand(1)), ends = integers_of(operand(2));
    if (of_.opset < 10 || !begins || !ends || begins->size() != ends->size()) return {};
    Dims axes(begins->size()), steps(begins->size(), 1);
    std::iota(axes.begin(), axes.end(), 0);
    if (const auto given = integers_of(operand(3)); of_.has(3)) axes = given.value_or(Dims());
    if (const auto given = integers_of(operand(4)); of_.has(4)) steps = given.value_or(Dims());
    if (axes.size() != begins->size() || steps.size() != begins->size()) return {};
    Dims dims = x_.dims, first(dims.size(), 0), step(dims.size(), 1);
    std::set<size_t> met;
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = axis_of(axes[i], dims.size());
      if (!axis || steps[i] == 0 || steps[i] == INT64_MIN || !met.insert(*axis).second) return {};
      // The specification has nothing from there on, ONNX Runtime all down to the first.
      if (steps[i] < 0 && ((*ends)[i] == INT32_MAX || (*ends)[i] == INT64_MAX)) return {};
      const int64_t size = dims[*axis];
      const bool is_backward = steps[i] < 0;
      const auto place = [&](int64_t at) {
        if (at < 0) at = at < -size ? -1 : at + size;
        return std::clamp<int64_t>(at, is_backward ? -1 : 0, is_backward ? size - 1 : size);
      };
      const int64_t begin = std::max<int64_t>(place((*begins)[i]), 0), end = place((*ends)[i]);
      const int64_t length = is_backward ? begin - end : end - begin, by = std::abs(steps[i]);
      if (is_backward && place((*begins)[i]) < 0) return {};
      dims[*axis] = length <= 0 ? 0 : (length - 1) / by + 1;
      first[*axis] = begin;
      step[*axis] = steps[i];
    }
    return by_axis(dims, [&](size_t k, int64_t i) { return first[k] + i * step[k]; });
  }

  Made split() const {
    const auto axis = axis_of(of_.node.attribute_int("axis", 0), x_.dims.size());
    Made made;
    int64_t begin = 0;
    for (size_t i = 0; i < of_.result_dims.size(); ++i) {
      const Dims* dims = result_dims(i);
      if (!axis || !dims || dims->size() != x_.dims.size() || begin + (*dims)[*axis] > x_.dims[*axis]) return {};
      const Made part = by_axis(*dims, [&](size_t k, int64_t at) { return at + (k == *axis ? begin : 0); });
      if (part.empty()) return {};
      made.push_back(part[0]);
      begin += (*dims)[*axis];
    }
    if (!axis || begin != x_.dims[*axis]) return {};
    return made;
  }

  Made joined() const {
    const auto axis = axis_of(of_.node.attribute_int("axis", 0), x_.dims.size());
    if (of_.opset < 4 || !axis) return {};
    KnownTensor made{x_.type, x_.dims, {}};
    made.dims[*axis] = 0;
    for (const KnownTensor* part : of_.operands) {
      if (!part || part->type != x_.type || part->dims.size() != x_.dims.size()) return {};
      for (size_t k = 0; k < x_.dims.size(); ++k)
        if (k != *axis && part->dims[k] != x_.dims[k]) return {};
      made.dims[*axis] += part->dims[*axis];
    }
    if (!count_of_result(made.dims)) return {};
    const int64_t rows = product_of(std::span(x_.dims).first(*axis));
    for (int64_t row = 0; row < rows; ++row)
      for (const KnownTensor* part : of_.operands) {
        const int64_t each = std::ssize(part->elements) / rows;
        const auto first = part->elements.begin() + row * each;
        made.elements.insert(made.elements.end(), first, first + each);
      }
    return {std::move(made)};
  }

  Made gathered() const {
    const auto axis = axis_of(of_.node.attribute_int("axis", 0), x_.dims.size());
    const auto at = axis ? positions(operand(1), x_.dims[*axis]) : std::nullopt;
    if (!at) return {};
    const auto from = x_.dims.begin() + static_cast<ptrdiff_t>(*axis);
    Dims dims(x_.dims.begin(), from);
    dims.insert(dims.end(), of_.operands[1]->dims.begin(), of_.operands[1]->dims.end());
    dims.insert(dims.end(), from + 1, x_.dims.end());
    if (!count_of_result(dims)) return {};
    const int64_t outer = product_of(std::span(x_.dims).first(*axis)),
                  inner = product_of(std::span(from + 1, x_.dims.end()));
    Dims source;
    for (int64_t before = 0; before < outer; ++before)
      for (const int64_t one : *at)
        for (int64_t k = 0; k < inner; ++k) source.push_back((before * *from + one) * inner + k);
    return picked(dims, source);
  }

  Made gathered_elements() const {
    const auto axis = axis_of(of_.node.attribute_int("axis", 0), x_.dims.size());
    const auto source = axis ? places_along(*axis, operand(1)) : std::nullopt;
    return source ? picked(of_.operands[1]->dims, *source) : Made();
  }

  Made gathered_nd() const {
    if (of_.node.attribute_int("batch_dims", 0) != 0) return {};
    const auto at = places_of_rows(operand(1));
    if (!at) return {};
    const auto depth = static_cast<size_t>(of_.operands[1]->dims.back());
    Dims dims(of_.operands[1]->dims.begin(), of_.operands[1]->dims.end() - 1);
    dims.insert(dims.end(), x_.dims.begin() + static_cast<ptrdiff_t>(depth), x_.dims.end());
    if (!count_of_result(dims)) return {};
    const int64_t inner = product_of(std::span(x_.dims).subspan(depth));
    Dims source;
    for (const int64_t row : *at)
      for (int64_t k = 0; k < inner; ++k) source.push_back(row + k);
    return picked(dims, source);
  }

  Made scattered_nd() const {
    const auto at = places_of_rows(operand(1));
    if (!at || !are_updates(2) || of_.node.attribute_string("reduction", "none") != "none") return {};
    const auto depth = static_cast<size_t>(of_.operands[1]->dims.back());
    const int64_t inner = product_of(std::span(x_.dims).subspan(depth));
    Dims target;
    for (const int64_t row : *at)
      for (int64_t k = 0; k < inner; ++k) target.push_back(row + k);
    return put(target);
  }

  Made scattered_elements() const {
    const auto axis = axis_of(of_.node.attribute_int("axis", 0), x_.dims.size());
    const auto target = axis ? places_along(*axis, operand(1)) : std::nullopt;
    if (!target || !are_updates(2) || of_.operands[2]->dims != of_.operands[1]->dims ||
        of_.node.attribute_string("reduction", "none") != "none")
      return {};
    return put(*target);
  }

  // An upper or a lower triangle; the rest is 0.
  Made triangle() const {
    const auto k = of_.has(1) ? integers_of(operand(1)) : std::optional(Dims{0});
    if (x_.dims.size() < 2 || !k || k->size() != 1) return {};
    const int64_t rows = x_.dims[x_.dims.size() - 2], columns = x_.dims.back();
    const bool is_upper = of_.node.attribute_int("upper", 1) != 0;
    const int64_t diagonal = std::clamp<int64_t>(k->front(), -rows - columns, rows + columns);
    KnownTensor made = x_;
    for (int64_t i = 0; i < std::ssize(made.elements); ++i) {
      const int64_t row = i / columns % rows, column = i % columns;
      if (is_upper ? column < row + diagonal : column > row + diagonal) made.elements[static_cast<size_t>(i)] = {};
    }
    return {std::move(made)};
  }

  Made padded() const {
    const auto given = of_.opset >= 11 ? integers_of(operand(1)) : std::nullopt;
    const auto mode = of_.node.attribute_string("mode", "constant");
    const size_t rank = x_.dims.size();
    Dims axes(rank);
    std::iota(axes.begin(), axes.end(), 0);
    if (of_.has(3)) axes = integers_of(operand(3)).value_or(Dims());
    if (!given || given->size() != 2 * axes.size() || (mode != "constant" && mode != "edge" && mode != "reflect"))
      return {};
    KnownNumber filling{};
    if (of_.has(2)) {
      if (of_.operands[2]->type != x_.type || of_.operands[2]->elements.size() != 1) return {};
      filling = of_.operands[2]->elements[0];
    }
    Dims before(rank, 0), dims = x_.dims;
    std::set<size_t> met;
    for (size_t i = 0; i < axes.size(); ++i) {
      const auto axis = axis_of(axes[i], rank);
      const int64_t low = (*given)[i], high = (*given)[i + axes.size()];
      if (!axis || low < 0 || high < 0 || low > kMostEvaluated || high > kMostEvaluated || !met.insert(*axis).second)
        return {};
      if (mode == "reflect" && std::max(low, high) >= x_.dims[*axis]) return {};
      if (mode == "edge" && x_.dims[*axis] == 0) return {};
      before[*axis] = low;
      dims[*axis] += low + high;
    }
    if (!count_of_result(dims)) return {};
    const Dims own = ops::strides_of(x_.dims);
    KnownTensor made{x_.type, dims, {}};
    Dims index(rank, 0);
    for (int64_t i = 0, count = product_of(dims); i < count; ++i) {
      int64_t from = 0;
      bool is_inside = true;
      for (size_t k = 0; k < rank; ++k) {
        int64_t at = index[k] - before[k];
        is_inside = is_inside && at >= 0 && at < x_.dims[k];
        if (mode == "edge") at = std::clamp<int64_t>(at, 0, x_.dims[k] - 1);
        if (mode == "reflect" && at < 0) at = -at;
        if (mode == "reflect" && at >= x_.dims[k]) at = 2 * (x_.dims[k] - 1) - at;
        from += at * own[k];
      }
      made.elements.push_back(is_inside || mode != "constant" ? x_.elements[static_cast<size_t>(from)] : filling);
      for (size_t k = rank; k-- > 0; index[k] = 0)
        if (++index[k] < dims[k]) break;
    }
    return {std::move(made)};
  }

  Made filled() const {
    const auto dims = integers_of(&x_);
    if (!dims || !count_of_result(*dims)) return {};
    KnownTensor one{DataType::kFloat, {}, {KnownNumber{}}};
    if (const ir::Attribute* value = of_.node.attribute("value")) {
      const auto* tensor = value->as<std::shared_ptr<ir::Tensor>>();
      auto known = tensor && *tensor ? known_tensor(**tensor) : std::nullopt;
      if (!known || known->elements.size() != 1) return {};
      one = std::move(*known);
    }
    one.elements.resize(static_cast<size_t>(product_of(*dims)), one.elements[0]);
    return {{one.type, *dims, std::move(one.elements)}};
  }

  Made range() const {
    for (const size_t i : {0, 1, 2})
      if (!of_.has(i) || of_.operands[i]->type != x_.type || of_.operands[i]->elements.size() != 1) return {};
    const KnownNumber start = x_.elements[0], limit = of_.operands[1]->elements[0], step = of_.operands[2]->elements[0];
    if (!start.is_exact() || !limit.is_exact() || !step.is_exact()) return {};
    double count = 0;
    if (is_real(x_.type)) {
      count = std::ceil((limit.real - start.real) / step.real);
      // How many there are must not depend on how the quotient is rounded, nor each on how sums are.
      const double most = 1 / rounding_of(x_.type);
      const auto is_held = [&](double value) { return value == std::nearbyint(value) && std::fabs(value) <= most; };
      const bool is_sure = std::fabs(limit.real - start.real) < 0x1p20 && is_held(start.real) && is_held(limit.real) &&
                           is_held(step.real);
      if (!is_sure || step.real == 0) return {};
    } else {
      constexpr int64_t kFar = int64_t{1} << 40;
      for (const KnownNumber& one : {start, limit, step})
        if (one.whole < -kFar || one.whole > kFar) return {};
      if (step.whole == 0) return {};
      count = std::ceil(static_cast<double>(limit.whole - start.whole) / static_cast<double>(step.whole));
    }
    if (!(count <= static_cast<double>(kMostEvaluated))) return {};
    KnownTensor made{x_.type, {static_cast<int64_t>(std::max(count, 0.0))}, {}};
    KnownNumber next = start;
    for (int64_t i = 0; i < made.dims[0]; ++i, next = added(x_.type, next, step)) made.elements.push_back(next);
    return {std::move(made)};
  }

  // Where elements are not 0, axis by axis.
  Made non_zero() const {
    if (x_.dims.empty() || x_.is_open()) return {};
    std::vector<Dims> places(x_.dims.size());
    for (size_t i = 0; i < x_.elements.size(); ++i) {
      const KnownNumber& one = x_.elements[i];
      if (is_real(x_.type) && !one.is_exact()) return {};
      if (one.whole == 0 && one.real == 0) continue;
      auto left = static_cast<int64_t>(i);
      for (size_t k = x_.dims.size(); k-- > 0; left /= x_.dims[k]) places[k].push_back(left % x_.dims[k]);
    }
    KnownTensor made{DataType::kInt64, {std::ssize(places), std::ssize(places[0])}, {}};
    if (!count_of_result(made.dims)) return {};
    for (const Dims& axis : places)
      for (const int64_t at : axis) made.elements.push_back({at, 0, 0});
    return {std::move(made)};
  }

 private:
  const KnownTensor* operand(size_t i) const { return of_.has(i) ? of_.operands[i] : nullptr; }
  const Dims* result_dims(size_t i) const {
    return i < of_.result_dims.size() && of_.result_dims[i] ? &*of_.result_dims[i] : nullptr;
  }

  Made picked(const Dims& dims, const Dims& source) const {
    KnownTensor made{x_.type, dims, {}};
    for (const int64_t at : source) made.elements.push_back(x_.elements[static_cast<size_t>(at)]);
    return {std::move(made)};
  }

  // Each axis by itself: `from` is where an element of the result is read along one.
  template <typename F>
  Made by_axis(const Dims& dims, F from) const {
    if (!count_of_result(dims)) return {};
    const Dims own = ops::strides_of(x_.dims);
    Dims source{0};
    for (size_t k = 0; k < dims.size(); ++k) {
      Dims next;
      for (const int64_t before : source)
        for (int64_t i = 0; i < dims[k]; ++i) next.push_back(before + from(k, i) * own[k]);
      source = std::move(next);
    }
    return picked(dims, source);
  }

  // Indices as positions below `size`; nullopt where some are open or outside.
  static std::optional<Dims> positions(const KnownTensor* indices, int64_t size) {
    auto at = integers_of(indices);
    if (!at) return std::nullopt;
    for (int64_t& one : *at) {
      one += one < 0 ? size : 0;
      if (one < 0 || one >= size) return std::nullopt;
    }
    return at;
  }

  // Of each index, the element of x that it says along an axis, where it stands along the others.
  std::optional<Dims> places_along(size_t axis, const KnownTensor* indices) const {
    auto at = positions(indices, x_.dims[axis]);
    if (!at || indices->dims.size() != x_.dims.size()) return std::nullopt;
    for (size_t k = 0; k < x_.dims.size(); ++k)
      if (k != axis && indices->dims[k] > x_.dims[k]) return std::nullopt;
    const Dims own = ops::strides_of(x_.dims);
    Dims steps = own;
    steps[axis] = 0;
    const Dims rest = offsets(indices->dims, steps, 0);
    for (size_t i = 0; i < rest.size(); ++i) (*at)[i] = (*at)[i] * own[axis] + rest[i];
    return at;
  }

  // Of each row of indices, the first element that it says.
  std::optional<Dims> places_of_rows(const KnownTensor* indices) const {
    const auto at = integers_of(indices);
    if (!at || indices->dims.empty() || indices->dims.back() < 1 || indices->dims.back() > std::ssize(x_.dims))
      return std::nullopt;
    const auto depth = static_cast<size_t>(indices->dims.back());
    const Dims own = ops::strides_of(x_.dims);
    Dims places;
    for (size_t row = 0; row < at->size(); row += depth) {
      int64_t place = 0;
      for (size_t k = 0; k < depth; ++k) {
        int64_t one = (*at)[row + k];
        one += one < 0 ? x_.dims[k] : 0;
        if (one < 0 || one >= x_.dims[k]) return std::nullopt;
        place += one * own[k];
      }
      places.push_back(place);
    }
    return places;
  }

  bool are_updates(size_t i) const { return of_.has(i) && of_.operands[i]->type == x_.type; }

  // Of several updates at one place nobody says which stays.
  Made put(const Dims& target) const {
    const KnownTensor& updates = *of_.operands[2];
    if (updates.elements.size() != target.size() || std::set(target.begin(), target.end()).size() != target.size())
      return {};
    KnownTensor made = x_;
    for (size_t i = 0; i < target.size(); ++i) made.elements[static_cast<size_t>(target[i])] = updates.elements[i];
    return {std::move(made)};
  }

  const NodeOfConstants& of_;
  const KnownTensor& x_;
};

using Move = Made (Moves::*)() const;
const std::unordered_map<std::string_view, Move>& moves() {
  static const std::unordered_map<std::string_view, Move> all = {
      {"Reshape", &Moves::reshaped},
      {"Flatten", &Moves::reshaped},
      {"Squeeze", &Moves::reshaped},
      {"Unsqueeze", &Moves::reshaped},
      {"Transpose", &Moves::transposed},
      {"Expand", &Moves::expanded},
      {"Tile", &Moves::tiled},
      {"Slice", &Moves::sliced},
      {"Split", &Moves::split},
      {"Concat", &Moves::joined},
      {"Gather", &Moves::gathered},
      {"GatherElements", &Moves::gathered_elements},
      {"GatherND", &Moves::gathered_nd},
      {"ScatterND", &Moves::scattered_nd},
      {"ScatterElements", &Moves::scattered_elements},
      {"Trilu", &Moves::triangle},
      {"Pad", &Moves::padded},
      {"ConstantOfShape", &Moves::filled},
      {"Range", &Moves::range},
      {"NonZero", &Moves::non_zero},
  };
  return all;
}

}  // namespace

std::vector<KnownTensor> evaluated_moves(const NodeOfConstants& of) {
  const auto found = moves().find(of.node.op_type());
  return found == moves().end() ? Made() : (Moves(of).*found->second)();
}

}  // namespace thaw::proving
