#include "thaw/lift/align/averaged_cells.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "thaw/rewrite/algebra.h"
#include "thaw/rewrite/match.h"

namespace thaw::lifting {
namespace {

constexpr int64_t kMostCellIndices = int64_t{1} << 24;  // of the indices
constexpr int64_t kLongestAveraged = int64_t{1} << 24;
constexpr int64_t kMostTerms = 1 << 12;

using rewrite::any;
using rewrite::op;

// Patterns of single nodes: what they read is read by others too.
const rewrite::Pattern& transpose() {
  static const rewrite::Pattern pattern = op("Transpose", {any("data")});
  return pattern;
}
const rewrite::Pattern& gather_places() {
  static const rewrite::Pattern pattern = op("GatherND", {any("data"), any("places")});
  return pattern;
}
const rewrite::Pattern& select() {
  static const rewrite::Pattern pattern = op("Gather", {any("data"), any("place")});
  return pattern;
}
const rewrite::Pattern& mask() {
  static const rewrite::Pattern pattern = op("Where", {any("mask"), any("instead"), any("data")});
  return pattern;
}
const rewrite::Pattern& mean() {
  static const rewrite::Pattern pattern = rewrite::op_of({"ReduceMean"}, {any("data")}).named("mean");
  return pattern;
}

// The only reader of a value; null where there are several, or it is given out.
ir::Node* only_reader(const ir::Value* value) {
  return value && !value->is_output() && value->uses().size() == 1 ? value->uses().front().node : nullptr;
}
ir::Node* first_reader(const ir::Value* value) { return value->uses().empty() ? nullptr : value->uses().front().node; }

const ir::Tensor* constant_of(const ir::Value* value) { return value->is_input() ? nullptr : value->constant(); }

std::vector<int64_t> two_axes_first(size_t rank) {
  std::vector<int64_t> order{static_cast<int64_t>(rank) - 2, static_cast<int64_t>(rank) - 1};
  for (size_t axis = 0; axis + 2 < rank; ++axis) order.push_back(static_cast<int64_t>(axis));
  return order;
}

std::vector<int64_t> four_axes_last(size_t rank) {
  std::vector<int64_t> order;
  for (size_t axis = 4; axis < rank + 2; ++axis) order.push_back(static_cast<int64_t>(axis));
  for (const int64_t axis : {0, 1, 2, 3}) order.push_back(axis);
  return order;
}

std::vector<int64_t> order_of(const rewrite::Match& turned) {
  const auto order = turned.root()->producer()->attribute_ints("perm");
  return {order.begin(), order.end()};
}

// The windows of both axes, and the longest of each.
struct Windows {
  Cells cells, longest;
  std::array<std::vector<Window>, 2> at;

  int64_t length(size_t axis, int64_t cell) const {
    const Window& window = at[axis][static_cast<size_t>(cell)];
    return window.end - window.begin;
  }
  bool are_even() const {
    for (const size_t axis : {0, 1})
      for (int64_t cell = 0; cell < cells[axis]; ++cell)
        if (length(axis, cell) != longest[axis]) return false;
    return true;
  }
};

// The windows of indices [cells, longest, cells, longest, 2]; what is beyond a window may be anything that is there.
std::optional<Windows> windows_of(const ir::Tensor& indices, const Cells& sides) {
  Windows windows{{indices.dims[0], indices.dims[2]}, {indices.dims[1], indices.dims[3]}, {}};
  for (const size_t axis : {0, 1})
    for (int64_t cell = 0; cell < windows.cells[axis]; ++cell) {
      windows.at[axis].push_back(window_of(cell, windows.cells[axis], sides[axis]));
      if (windows.length(axis, cell) > windows.longest[axis]) return std::nullopt;
    }
  const std::vector<int64_t> places = indices.to_int64();
  size_t next = 0;
  for (int64_t i = 0; i < windows.cells[0]; ++i)
    for (int64_t a = 0; a < windows.longest[0]; ++a)
      for (int64_t j = 0; j < windows.cells[1]; ++j)
        for (int64_t b = 0; b < windows.longest[1]; ++b) {
          const bool inside = a < windows.length(0, i) && b < windows.length(1, j);
          const int64_t row = places[next++], column = places[next++];
          if (inside && (row != windows.at[0][static_cast<size_t>(i)].begin + a ||
                         column != windows.at[1][static_cast<size_t>(j)].begin + b))
            return std::nullopt;
        }
  return windows;
}

// An entry of a tensor that is broadcast over these sizes.
class Broadcast {
 public:
  static std::optional<Broadcast> of(const ir::Tensor* tensor, std::span<const int64_t> sizes) {
    if (!tensor || tensor->dims.size() > sizes.size()) return std::nullopt;
    Broadcast made{tensor->to_double(), std::vector<int64_t>(sizes.size(), 0)};
    int64_t stride = 1;
    for (size_t back = 1; back <= tensor->dims.size(); ++back) {
      const int64_t size = tensor->dims[tensor->dims.size() - back];
      if (size != 1 && size != sizes[sizes.size() - back]) return std::nullopt;
      if (size != 1) made.strides_[sizes.size() - back] = stride;
      stride *= size;
    }
    return made;
  }
  double at(std::span<const int64_t> place) const {
    int64_t offset = 0;
    for (size_t axis = 0; axis < place.size(); ++axis) offset += strides_[axis] * place[axis];
    return entries_[static_cast<size_t>(offset)];
  }

 private:
  Broadcast(std::vector<double> entries, std::vector<int64_t> strides)
      : entries_(std::move(entries)), strides_(std::move(strides)) {}
  std::vector<double> entries_;
  std::vector<int64_t> strides_;
};

// Whether what is beyond the windows, and nothing else, is 0 after these masks: [cells, longest, cells, longest] each.
bool masks_the_rest(std::span<const ir::Tensor* const> masks, const Windows& windows) {
  const std::array<int64_t, 4> sizes{windows.cells[0], windows.longest[0], windows.cells[1], windows.longest[1]};
  std::vector<Broadcast> all;
  for (const ir::Tensor* mask : masks) {
    auto each = Broadcast::of(mask, sizes);
    if (!each) return false;
    all.push_back(std::move(*each));
  }
  std::array<int64_t, 4> at{};
  for (at[0] = 0; at[0] < sizes[0]; ++at[0])
    for (at[1] = 0; at[1] < sizes[1]; ++at[1])
      for (at[2] = 0; at[2] < sizes[2]; ++at[2])
        for (at[3] = 0; at[3] < sizes[3]; ++at[3]) {
          const bool beyond = at[1] >= windows.length(0, at[0]) || at[3] >= windows.length(1, at[2]);
          const bool masked = std::ranges::any_of(all, [&](const Broadcast& mask) { return mask.at(at) != 0; });
          if (masked != beyond) return false;
        }
  return true;
}

bool divides_by_lengths(const ir::Tensor* divisor, const Windows& windows) {
  const auto by = Broadcast::of(divisor, windows.cells);
  if (!by) return false;
  std::array<int64_t, 2> at{};
  for (at[0] = 0; at[0] < windows.cells[0]; ++at[0])
    for (at[1] = 0; at[1] < windows.cells[1]; ++at[1])
      if (by->at(at) != static_cast<double>(windows.length(0, at[0]) * windows.length(1, at[1]))) return false;
  return true;
}

}  // namespace

// What follows a node that gathers.
class AveragedCellsSearch {
 public:
  AveragedCellsSearch(const ir::Model& model, const infer::Result& facts, size_t rank)
      : model_(model), facts_(facts), rank_(static_cast<int64_t>(rank)) {}

  std::optional<AveragedCells> run(const ir::Node& gather, const Windows& windows) const {
    const auto turned = reader_as(transpose(), only_reader(gather.output(0)));
    if (!turned || order_of(*turned) != four_axes_last(static_cast<size_t>(rank_))) return std::nullopt;
    const ir::Value* all = turned->root();
    ir::Node* reader = only_reader(all);
    if (const auto averaged = reader_as(mean(), reader))
      return windows.are_even() && means_of_windows(*averaged) ? std::optional(AveragedCells{reader, windows.cells})
                                                               : std::nullopt;
    std::vector<const ir::Tensor*> masks;
    for (auto masked = reader_as(mask(), reader); masked && (*masked)["data"] == all;
         masked = reader_as(mask(), only_reader(all))) {
      if (rewrite::number_of(*(*masked)["instead"]) != 0.0) return std::nullopt;
      masks.push_back(constant_of((*masked)["mask"]));
      all = masked->root();
    }
    if (masks.empty() || !masks_the_rest(masks, windows)) return std::nullopt;
    // From the first term on, sum by sum, to what is divided.
    ir::Node* node = first_reader(all);
    for (int64_t steps = 2 + windows.longest[0] * windows.longest[1]; node && steps > 0; --steps) {
      if (is_average(node->output(0), all, windows)) return AveragedCells{node, windows.cells};
      node = first_reader(node->output(0));
    }
    return std::nullopt;
  }

 private:
  std::optional<rewrite::Match> reader_as(const rewrite::Pattern& pattern, ir::Node* node) const {
    return node ? rewrite::match(pattern, node->output(0), model_, facts_) : std::nullopt;
  }

  bool means_of_windows(const rewrite::Match& averaged) const {
    auto axes = averaged.axes("mean");
    if (!axes || averaged.node("mean").attribute_int("keepdims", 1) != 0) return false;
    std::ranges::sort(*axes);
    return *axes == std::vector<int64_t>{rank_ - 1, rank_ + 1};
  }

  // Whether it is a sum of all places of the windows, each once, over how many each window has.
  bool is_average(ir::Value* value, const ir::Value* all, const Windows& windows) const {
    const rewrite::Product product = rewrite::product_of(value, facts_);
    if (product.coefficient != 1 || product.factors.size() != 2) return false;
    const auto over = std::ranges::find(product.factors, -1.0, &rewrite::Factor::exponent);
    const auto sum = std::ranges::find(product.factors, 1.0, &rewrite::Factor::exponent);
    return over != product.factors.end() && sum != product.factors.end() &&
           divides_by_lengths(constant_of(over->value), windows) && adds_each_once(sum->value, all, windows);
  }

  bool adds_each_once(ir::Value* value, const ir::Value* all, const Windows& windows) const {
    const int64_t count = windows.longest[0] * windows.longest[1];
    if (count > kMostTerms) return false;
    const rewrite::Sum sum = rewrite::sum_of(value, facts_, static_cast<int>(count));
    std::set<std::pair<int64_t, int64_t>> places;
    for (const rewrite::Summand& term : sum.terms) {
      const auto column = selected(term.value, rank_);
      const auto row = column ? selected(column->data, rank_ - 1) : std::nullopt;
      if (!row || row->data != all || term.coefficient != 1) return false;
      places.insert({row->place, column->place});
    }
    return sum.constant == 0 && static_cast<int64_t>(sum.terms.size()) == count &&
           static_cast<int64_t>(places.size()) == count && places.begin()->first >= 0 &&
           std::ranges::all_of(places, [&](const auto& place) {
             return place.first < windows.longest[0] && place.second >= 0 && place.second < windows.longest[1];
           });
  }

  // What is taken along an axis by a single number.
  struct Selected {
    ir::Value* data;
    int64_t place;
  };
  std::optional<Selected> selected(ir::Value* value, int64_t axis) const {
    const auto taken = rewrite::match(select(), value, model_, facts_);
    const ir::Tensor* place = taken ? constant_of((*taken)["place"]) : nullptr;
    if (!place || !place->dims.empty() || value->producer()->attribute_int("axis", 0) != axis) return std::nullopt;
    return Selected{(*taken)["data"], place->to_int64().front()};
  }

  const ir::Model& model_;
  const infer::Result& facts_;
  int64_t rank_;
};

Window window_of(int64_t cell, int64_t cells, int64_t side) {
  return {cell * side / cells, ((cell + 1) * side + cells - 1) / cells};
}

ir::Value* cells_gathered_from(ir::Node& node, const ir::Model& model, const infer::Result& facts) {
  const auto gathered = rewrite::match(gather_places(), node.output(0), model, facts);
  const ir::Tensor* places = gathered ? constant_of((*gathered)["places"]) : nullptr;
  if (!places || places->dims.size() != kRankOfPlaces || places->dims.back() != 2 ||
      places->num_elements() > kMostCellIndices)
    return nullptr;
  const auto is_none = [](int64_t size) { return size < 1; };
  if (std::ranges::any_of(places->dims, is_none) || node.attribute_int("batch_dims", 0) != 0) return nullptr;
  const auto turned = rewrite::match(transpose(), (*gathered)["data"], model, facts);
  if (!turned) return nullptr;
  const std::vector<int64_t> order = order_of(*turned);
  return order.size() >= 2 && order == two_axes_first(order.size()) ? (*turned)["data"] : nullptr;
}

std::optional<AveragedCells> averaged_cells(const ir::Node& gather, const std::vector<int64_t>& sizes,
                                            const ir::Model& model, const infer::Result& facts) {
  const Cells sides{sizes[sizes.size() - 2], sizes.back()};
  if (std::max(sides[0], sides[1]) > kLongestAveraged) return std::nullopt;
  const auto windows = windows_of(*gather.input(1)->constant(), sides);
  return windows ? AveragedCellsSearch(model, facts, sizes.size()).run(gather, *windows) : std::nullopt;
}

}  // namespace thaw::lifting
