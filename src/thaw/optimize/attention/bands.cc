#include "thaw/optimize/attention/bands.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <unordered_map>

#include "thaw/optimize/site.h"

namespace thaw::optimizing {
namespace {

constexpr int kMostMaskSteps = 24;  // nodes in a row that a mask is followed through
constexpr int kMostBandAxes = 6;
constexpr int64_t kMostBandElements = int64_t{1} << 22;  // elements of a constant: 2,048 tokens by as many
constexpr double kFarthest = 1e9;                        // positions that a band is away from the diagonal

// What an element is, by its position: slopes[a] times its position along each axis a, counted from the last one, and a number
// that is `inside` within a band of the last two axes and `outside` elsewhere.
struct Placed {
  std::array<int64_t, kMostBandAxes> slopes{};
  double inside = 0, outside = 0;
  Band band = {};

  static Placed number(double value) { return {.inside = value, .outside = value}; }
  bool has_slope() const {
    return std::ranges::any_of(slopes, [](int64_t slope) { return slope != 0; });
  }
  bool has_band() const { return band.low || band.high; }
  bool is_number() const { return !has_slope() && !has_band(); }
  bool is_condition() const { return !has_slope() && is_one_or_zero(inside) && is_one_or_zero(outside); }
  static bool is_one_or_zero(double value) { return value == 0 || value == 1; }
};

// What is beyond one limit is within the other.
std::optional<Placed> with_sides_swapped(const Placed& x) {
  Placed swapped{.inside = x.outside, .outside = x.inside};
  if (x.band.low && x.band.high) return std::nullopt;
  if (x.band.low) swapped.band.high = *x.band.low - 1;
  if (x.band.high) swapped.band.low = *x.band.high + 1;
  return swapped;
}

Band both(const Band& a, const Band& b) {
  Band result = a;
  if (b.low) result.low = std::max(a.low.value_or(*b.low), *b.low);
  if (b.high) result.high = std::min(a.high.value_or(*b.high), *b.high);
  return result;
}

// Positions one after the other, along the one axis that has more than one.
std::optional<Placed> positions_of(const ir::Tensor& tensor, const std::vector<double>& all) {
  std::optional<size_t> along;  // from the back
  for (size_t back = 0; back < tensor.dims.size(); ++back) {
    if (tensor.dims[tensor.dims.size() - 1 - back] == 1) continue;
    if (along || back >= kMostBandAxes) return std::nullopt;
    along = back;
  }
  if (!along) return std::nullopt;
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] != all.front() + static_cast<double>(i)) return std::nullopt;
  Placed result = Placed::number(all.front());
  result.slopes[*along] = 1;
  return result;
}

// One number around the diagonal and another elsewhere, the same in all matrices of the last two axes.
std::optional<Placed> table_of(const ir::Tensor& tensor, const std::vector<double>& all) {
  const size_t rank = tensor.dims.size();
  if (rank < 2) return std::nullopt;
  const int64_t rows = tensor.dims[rank - 2], columns = tensor.dims[rank - 1];
  const auto at = [&](size_t position) {
    return static_cast<int64_t>(position) % columns - (static_cast<int64_t>(position) / columns) % rows;
  };
  const double inside = all.front();
  const auto outside = std::ranges::find_if(all, [&](double number) { return number != inside; });
  if (outside == all.end()) return std::nullopt;
  if (std::any_of(outside, all.end(), [&](double number) { return number != inside && number != *outside; }))
    return std::nullopt;
  const auto band = math::band_of([&](const auto& visit) {
    for (size_t position = 0; position < all.size(); ++position) visit(at(position), all[position] == inside);
  });
  return band ? std::optional(Placed{.inside = inside, .outside = *outside, .band = *band}) : std::nullopt;
}

std::optional<Placed> constant_positions(const ir::Tensor& tensor) {
  const bool is_number =
      ir::is_integer(tensor.data_type) || ir::is_floating(tensor.data_type) || tensor.data_type == ir::DataType::kBool;
  if (!is_number || tensor.num_elements() == 0 || tensor.num_elements() > kMostBandElements) return std::nullopt;
  const std::vector<double> all = tensor.to_double();
  if (std::ranges::all_of(all, [&](double number) { return number == all.front(); }))
    return Placed::number(all.front());
  if (tensor.data_type == ir::DataType::kInt64 || tensor.data_type == ir::DataType::kInt32)
    if (const auto positions = positions_of(tensor, all)) return positions;
  return table_of(tensor, all);
}

class PositionReader {
 public:
  explicit PositionReader(const infer::Inference& facts) : facts_(facts) {}

  std::optional<Placed> read(const ir::Value* value, int steps = kMostMaskSteps) {
    if (!value || steps == 0) return std::nullopt;
    if (const auto at = known_.find(value); at != known_.end()) return at->second;
    std::optional<Placed> found;
    if (const auto number = scalar_of(value, facts_)) {
      found = Placed::number(*number);
    } else if (const ir::Tensor* tensor = constant_of(value)) {
      found = constant_positions(*tensor);
    } else if (const ir::Node* node = value->producer(); node && node->domain().empty() && node->output(0) == value) {
      found = read_node(*node, steps - 1);
    }
    known_.emplace(value, found);
    return found;
  }

 private:
  std::optional<Placed> read_node(const ir::Node& node, int steps) {
    const std::string& op = node.op_type();
    const auto operand = [&](int i) { return read(node.input(i), steps); };
    if (op == "Identity") return operand(0);
    if (op == "Cast") return cast(node, operand(0));
    if (op == "Range") return range(node, operand(0), operand(2));
    if (op == "ConstantOfShape") return filled(node);
    if (op == "Unsqueeze" || op == "Squeeze" || op == "Reshape") return moved(node, operand(0));
    if (op == "Expand") return lined_up(node, 0, operand(0));
    if (op == "Trilu") return triangle(node, operand(0), node.input(1) ? operand(1) : Placed::number(0));
    if (op == "Not") return negated(operand(0));
    if (op == "Neg") return product(Placed::number(-1), operand(0));
    if (op == "Where") return choice(node, operand(0), operand(1), operand(2));
    if (node.inputs().size() != 2) return std::nullopt;
    const auto a = lined_up(node, 0, operand(0)), b = lined_up(node, 1, operand(1));
    if (!a || !b) return std::nullopt;
    if (op == "Add") return sum(*a, *b, 1);
    if (op == "Sub") return sum(*a, *b, -1);
    if (op == "Mul") return product(*a, b);
    if (op == "And") return conjunction(*a, *b);
    if (op == "LessOrEqual") return at_most(*a, *b, 0);
    if (op == "Less") return at_most(*a, *b, -1);
    if (op == "GreaterOrEqual") return at_most(*b, *a, 0);
    if (op == "Greater") return at_most(*b, *a, -1);
    return std::nullopt;
  }

  std::optional<Placed> filled(const ir::Node& node) const {
    const ir::Attribute* given = node.attribute("value");
    if (!given) return Placed::number(0);
    const auto* value = given->as<std::shared_ptr<ir::Tensor>>();
    const bool is_one = value && *value && (*value)->num_elements() == 1;
    return is_one ? std::optional(Placed::number((*value)->to_double().front())) : std::nullopt;
  }

  // What all positions are exact in.
  bool holds_positions(const ir::Value* value) const {
    const ir::DataType type = facts_.fact(value).dtype;
    return type == ir::DataType::kInt64 || type == ir::DataType::kInt32;
  }

  std::optional<Placed> cast(const ir::Node& node, std::optional<Placed> x) const {
    if (!x || (x->has_slope() && !holds_positions(node.output(0)))) return std::nullopt;
    if (facts_.fact(node.output(0)).dtype == ir::DataType::kBool) {
      x->inside = x->inside != 0;
      x->outside = x->outside != 0;
    }
    return x;
  }

  // One after the other.
  std::optional<Placed> range(const ir::Node& node, std::optional<Placed> start,
                              const std::optional<Placed>& step) const {
    if (!start || !step || !start->is_number() || !step->is_number() || step->inside != 1) return std::nullopt;
    start->slopes[0] = 1;
    return holds_positions(node.output(0)) ? start : std::nullopt;
  }

  // Axes of one element come and go; the others stay in their order.
  std::optional<Placed> moved(const ir::Node& node, const std::optional<Placed>& x) const {
    const ops::Fact &from = facts_.fact(node.input(0)), &to = facts_.fact(node.output(0));
    if (!x || !from.has_rank() || !to.has_rank()) return std::nullopt;
    if (x->is_number()) return x;
    Placed result = *x;
    result.slopes = {};
    int there = 1;
    for (int back = 1; back <= from.rank(); ++back) {
      const dim::Dim size = from.dim(from.rank() - back);
      const bool counts = back <= kMostBandAxes && x->slopes[static_cast<size_t>(back - 1)] != 0;
      if (size.is_constant(1)) continue;  // the one position is 0
      while (there <= to.rank() && to.dim(to.rank() - there).is_constant(1)) ++there;
      if (there > to.rank() || !dim::same(to.dim(to.rank() - there), size)) return std::nullopt;
      if (counts && there > kMostBandAxes) return std::nullopt;
      if (counts) result.slopes[static_cast<size_t>(there - 1)] = x->slopes[static_cast<size_t>(back - 1)];
      if (x->has_band() && back <= 2 && there != back) return std::nullopt;
      ++there;
    }
    return result;
  }

  // An operand whose positions are those of the result: an axis of one element that is repeated has none of its own.
  std::optional<Placed> lined_up(const ir::Node& node, int i, const std::optional<Placed>& x) const {
    if (!x || x->is_number()) return x;
    const ops::Fact &from = facts_.fact(node.input(i)), &to = facts_.fact(node.output(0));
    if (!from.has_rank() || !to.has_rank() || from.rank() > to.rank()) return std::nullopt;
    Placed result = *x;
    for (int back = 1; back <= kMostBandAxes; ++back) {
      int64_t& slope = result.slopes[static_cast<size_t>(back - 1)];
      const bool is_in_band = x->has_band() && back <= 2;
      if (slope == 0 && !is_in_band) continue;
      if (back > from.rank()) return std::nullopt;
      const dim::Dim size = from.dim(from.rank() - back);
      if (dim::same(size, to.dim(to.rank() - back))) continue;
      if (!size.is_constant(1) || is_in_band) return std::nullopt;
      slope = 0;
    }
    return result;
  }

  // The lower left of a matrix up to the k-th diagonal, or the upper right from it on; 0 elsewhere.
  std::optional<Placed> triangle(const ir::Node& node, const std::optional<Placed>& x,
                                 const std::optional<Placed>& k) const {
    if (!x || !k || !x->is_number() || !k->is_number() || !is_near(*k)) return std::nullopt;
    Placed result{.inside = x->inside};
    (node.attribute_int("upper", 1) != 0 ? result.band.low : result.band.high) = static_cast<int64_t>(k->inside);
    return result;
  }

  // A distance that can be counted with.
  static bool is_near(const Placed& x) { return std::abs(x.inside) <= kFarthest; }

  static std::optional<Placed> negated(std::optional<Placed> x) {
    if (!x || !x->is_condition()) return std::nullopt;
    x->inside = 1 - x->inside;
    x->outside = 1 - x->outside;
    return x;
  }

  std::optional<Placed> choice(const ir::Node& node, std::optional<Placed> condition, std::optional<Placed> a,
                               std::optional<Placed> b) const {
    condition = lined_up(node, 0, condition);
    if (!condition || !a || !b || !condition->is_condition() || !a->is_number() || !b->is_number()) return std::nullopt;
    condition->inside = condition->inside != 0 ? a->inside : b->inside;
    condition->outside = condition->outside != 0 ? a->inside : b->inside;
    return condition;
  }

  static std::optional<Placed> sum(const Placed& a, const Placed& b, int sign) {
    if (a.has_band() && b.has_band() && !(a.band == b.band)) return std::nullopt;
    Placed result{.inside = a.inside + sign * b.inside,
                  .outside = a.outside + sign * b.outside,
                  .band = a.has_band() ? a.band : b.band};
    for (size_t axis = 0; axis < kMostBandAxes; ++axis) result.slopes[axis] = a.slopes[axis] + sign * b.slopes[axis];
    return result.has_slope() && result.has_band() ? std::nullopt : std::optional(result);
  }

  static std::optional<Placed> product(const Placed& a, const std::optional<Placed>& b) {
    if (!b || a.has_slope() || b->has_slope()) return std::nullopt;
    if (a.has_band() && b->has_band() && !(a.band == b->band)) return std::nullopt;
    return Placed{
        .inside = a.inside * b->inside, .outside = a.outside * b->outside, .band = a.has_band() ? a.band : b->band};
  }

  static std::optional<Placed> conjunction(const Placed& a, const Placed& b) {
    const auto kept_inside = [](const Placed& x) {
      return x.inside == 0 && x.outside == 1 ? with_sides_swapped(x) : std::optional(x);
    };
    const auto first = kept_inside(a), second = kept_inside(b);
    for (const auto& side : {first, second})
      if (!side || !side->is_condition() || side->inside != 1 || (side->has_band() && side->outside != 0))
        return std::nullopt;
    Placed result{.inside = 1, .band = both(first->band, second->band)};
    if (!result.has_band()) result.outside = 1;
    return result;
  }

  // Whether a - b is `limit` or less: true within a band where that is j - i, or i - j, and a number.
  static std::optional<Placed> at_most(const Placed& a, const Placed& b, int64_t limit) {
    if (a.has_band() || b.has_band()) return std::nullopt;
    const auto difference = sum(a, b, -1);
    if (!is_near(*difference)) return std::nullopt;
    const auto& slopes = difference->slopes;
    if (std::any_of(slopes.begin() + 2, slopes.end(), [](int64_t slope) { return slope != 0; })) return std::nullopt;
    const auto rest = limit - static_cast<int64_t>(difference->inside);
    Placed result{.inside = 1};
    if (slopes[0] == 1 && slopes[1] == -1) {
      result.band.high = rest;
    } else if (slopes[0] == -1 && slopes[1] == 1) {
      result.band.low = -rest;
    } else {
      return std::nullopt;
    }
    return result;
  }

  const infer::Inference& facts_;
  std::unordered_map<const ir::Value*, std::optional<Placed>> known_;
};

// The band in which the mask leaves scores as they are; all other scores count for nothing.
std::optional<Band> kept_band(const FoundMask& mask, Placed x) {
  if (!x.has_band() || x.has_slope()) return std::nullopt;
  if (mask.kind != FoundMask::Kind::kAdded) {
    const double kept = mask.kind == FoundMask::Kind::kKeptWhereTrue ? 1 : 0;
    if (!x.is_condition() || x.inside == x.outside) return std::nullopt;
    if (x.inside == kept) return x.band;
    const auto swapped = with_sides_swapped(x);
    return swapped ? std::optional(swapped->band) : std::nullopt;
  }
  if (x.inside != 0) {
    const auto swapped = with_sides_swapped(x);
    if (!swapped) return std::nullopt;
    x = *swapped;
  }
  return x.inside == 0 && x.outside * mask.factor <= kMasksFrom ? std::optional(x.band) : std::nullopt;
}

// The band in which query i sees key j, of one in which key i is seen by query j.
Band transposed(const Band& band) {
  const auto negated = [](std::optional<int64_t> limit) { return limit ? std::optional(-*limit) : std::nullopt; };
  return {.low = negated(band.high), .high = negated(band.low)};
}

}  // namespace

std::optional<Band> band_of(const std::vector<FoundMask>& masks, const FoundHeads& heads,
                            const infer::Inference& facts) {
  PositionReader reader(facts);
  Band all;
  for (const FoundMask& mask : masks) {
    // Its last two axes are those of scores of each query and each key.
    const int queries = mask.has_keys_first ? 1 : 2, keys = 3 - queries;  // from the back
    for (const ops::Fact* fact : {&facts.fact(mask.value), &facts.fact(mask.at)}) {
      const int rank = fact->rank();
      if (rank < 2 || !dim::same(fact->dim(rank - keys), heads.keys()) ||
          !dim::same(fact->dim(rank - queries), heads.queries()))
        return std::nullopt;
    }
    const auto placed = reader.read(mask.value);
    const auto band = placed ? kept_band(mask, *placed) : std::nullopt;
    if (!band) return std::nullopt;
    all = both(all, mask.has_keys_first ? transposed(*band) : *band);
  }
  return all;
}

}  // namespace thaw::optimizing
