#include "thaw/optimize/attention/masks.h"

#include <algorithm>
#include <cmath>

namespace thaw::optimizing {
namespace {

// Scores that are masked count for nothing, and where all are masked, for the same: float32 and bfloat16 are so wide that
// any score vanishes beside it. In float16 it leaves room for the score that is added to it.
double lowest_of(ir::DataType type) { return type == ir::DataType::kFloat16 ? -3e4 : -1e30; }

class MaskWriter {
 public:
  MaskWriter(const FoundHeads& heads, bool is_reshaped, const infer::Inference& facts, const ops::Emit& at,
             std::string& why)
      : heads_(heads), facts_(facts), at_(at), why_(why), type_(heads.query.dtype), is_reshaped_(is_reshaped) {}

  std::optional<Shaped> write(const FoundMask& found, HeadsView view) {
    auto given = shaped(found.value, facts_);
    if (!given) return refuse("the shape of the mask is not known");
    if (found.has_keys_first) given = with_queries_first(*given);
    auto mask =
        view == HeadsView::kWindows ? of_windows(*given, facts_.fact(found.at).dim(1)) : with_four_axes(*given, view);
    if (!mask || !fits(*mask, view, facts_.fact(found.at)))
      return refuse("the axes of the mask are not known to be those of the scores");
    const bool chooses = found.kind != FoundMask::Kind::kAdded;
    if (found.is_of_numbers) return chosen(as_bool(*mask), found);
    if (chooses != (mask->dtype == ir::DataType::kBool) || (!chooses && !ir::is_floating(mask->dtype)))
      return refuse("the mask is of another type");
    return chooses ? chosen(*mask, found) : added(*mask, found.factor);
  }

  Shaped sum(const Shaped& a, const Shaped& b) const {
    Shaped both{at_.add(a.value, b.value), {}, type_};
    for (int axis = 0; axis < 4; ++axis) {
      const bool is_of_b = a.dim(axis).is_constant(1) || (axis == 3 && dim::same(b.dim(axis), heads_.keys()));
      both.dims.push_back(is_of_b ? b.dim(axis) : a.dim(axis));
    }
    return both;
  }

 private:
  std::nullopt_t refuse(std::string_view why) {
    why_ = why;
    return std::nullopt;
  }

  Shaped with_queries_first(const Shaped& mask) const {
    return with_last_two_swapped(at_, mask.rank() < 2 ? with_axes_before(mask, 2) : mask);
  }

  Shaped with_axes_before(Shaped mask, int rank) const {
    std::vector<int64_t> axes;
    for (int axis = 0; axis < rank - mask.rank(); ++axis) axes.push_back(axis);
    mask.value = at_.unsqueeze(mask.value, axes);
    mask.dims.insert(mask.dims.begin(), axes.size(), dim::Dim(1));
    return mask;
  }

  // One for each window of an image, the same in all images: for each window of the batch.
  std::optional<Shaped> of_windows(const Shaped& given, dim::Dim windows) const {
    if (given.rank() < 1 || given.rank() > 5) return std::nullopt;
    const Shaped mask = given.rank() < 5 ? with_axes_before(given, 5) : given;
    if (!mask.dim(0).is_constant(1)) return std::nullopt;
    if (mask.dim(1).is_constant(1)) return squeezed(at_, mask, 0);
    std::vector<int64_t> target{-1};
    for (int axis = 2; axis < 5; ++axis) {
      const auto size = mask.dim(axis).constant();
      if (!size) return std::nullopt;
      target.push_back(*size);
    }
    if (!dim::same(mask.dim(1), windows)) return std::nullopt;
    const ir::Node* transposed = producer_of(heads_.query.value, "Transpose");
    const bool keeps_batch =
        transposed && !transposed->attribute_ints("perm").empty() && transposed->attribute_ints("perm")[0] == 0;
    ir::Value* batch = at_.slice(at_.shape(keeps_batch ? transposed->input(0) : heads_.query.value), 0, 1);
    ir::Value* images = at_.div(batch, at_.list({*windows.constant()}));
    ir::Value* all = at_.emit("Expand", {mask.value, at_.concat({images, at_.list({1, 1, 1, 1})}, 0)});
    return reshaped(at_, {all, {}, mask.dtype}, target, {heads_.batch(), mask.dim(2), mask.dim(3), mask.dim(4)});
  }

  // A mask of its own for each head, computed from positions (ALiBi's slopes, DeBERTa's distances).
  std::optional<Shaped> of_merged_heads(const Shaped& mask) const {
    if (auto apart = unmerged(mask, facts_)) return apart;
    if (!dim::same(mask.dim(0), heads_.batch() * heads_.heads)) return std::nullopt;
    ir::Value* sizes = at_.shape(mask.value);
    ir::Value* batch = at_.div(at_.slice(sizes, 0, 1), at_.list({heads_.heads}));
    ir::Value* target = at_.concat({batch, at_.list({heads_.heads}), at_.slice(sizes, 1, 3)}, 0);
    return Shaped{
        at_.reshape(mask.value, target), {heads_.batch(), heads_.heads, mask.dim(1), mask.dim(2)}, mask.dtype};
  }

  std::optional<Shaped> with_four_axes(const Shaped& mask, HeadsView view) const {
    const int rank = mask.rank();
    const auto is_one = [&](int axis) { return mask.dim(axis).is_constant(1); };
    if (rank < 1) return std::nullopt;
    switch (view) {
      case HeadsView::kFour:
      case HeadsView::kWindows:
      case HeadsView::kHeadsFirst:
        break;
      case HeadsView::kMerged:
        if (rank == 3 && !is_one(0)) return of_merged_heads(mask);
        break;
      case HeadsView::kBatchFirst:
        if (rank == 3) return unsqueezed(at_, mask, 1);
        break;
      case HeadsView::kFolded:
        if ((rank > 1 && !is_one(rank - 2)) || (rank > 2 && !is_one(rank - 3))) return std::nullopt;
        break;
      case HeadsView::kGrouped:
        if (rank >= 3 && !is_one(rank - 3)) return std::nullopt;
        if (rank >= 4 && !is_one(rank - 4)) return std::nullopt;
        if (rank == 5) return squeezed(at_, mask, 2);
        break;
    }
    return rank <= 4 ? std::optional(with_axes_before(mask, 4)) : std::nullopt;
  }

  bool fits(const Shaped& mask, HeadsView view, const ops::Fact& scores) const {
    const auto is = [&](int axis, dim::Dim size) {
      return mask.dim(axis).is_constant(1) || dim::same(mask.dim(axis), size);
    };
    // Rows that leave those of the scores as they are: as many, or 1.
    const bool keeps_rows =
        view == HeadsView::kFour && scores.rank() == 4 && dim::same(scores.dim(2), heads_.queries());
    // Columns are one for each key, or one for all: of another number the product with v would not run. What is
    // reshaped in between may have others.
    return mask.rank() == 4 && is(0, heads_.batch()) && is(1, dim::Dim(heads_.heads)) &&
           (is(2, heads_.queries()) || keeps_rows) && (is(3, heads_.keys()) || !is_reshaped_);
  }

  Shaped as_bool(const Shaped& mask) const {
    const ir::Node* cast = producer_of(mask.value, "Cast");
    if (cast && facts_.fact(cast->input(0)).dtype == ir::DataType::kBool)
      return {cast->input(0), mask.dims, ir::DataType::kBool};
    return {at_.cast(mask.value, ir::DataType::kBool), mask.dims, ir::DataType::kBool};
  }

  Shaped chosen(const Shaped& kept, const FoundMask& found) const {
    const double low = std::isinf(found.factor) ? found.factor : lowest_of(type_);
    ir::Value *zero = at_.scalar(0, type_), *lowest = at_.scalar(low, type_);
    const bool keeps = found.kind == FoundMask::Kind::kKeptWhereTrue;
    return {at_.emit("Where", {kept.value, keeps ? zero : lowest, keeps ? lowest : zero}), kept.dims, type_};
  }

  Shaped added(Shaped mask, double factor) const {
    if (factor != 1) mask.value = at_.mul(mask.value, at_.scalar(factor, mask.dtype));
    if (mask.dtype == type_) return mask;
    // What is lower than the narrower type's numbers would become an infinity.
    if (mask.dtype == ir::DataType::kFloat || mask.dtype == ir::DataType::kDouble)
      mask.value = at_.emit("Max", {mask.value, at_.scalar(lowest_of(type_), mask.dtype)});
    return {at_.cast(mask.value, type_), mask.dims, type_};
  }

  const FoundHeads& heads_;
  const infer::Inference& facts_;
  const ops::Emit& at_;
  std::string& why_;
  ir::DataType type_;
  bool is_reshaped_;
};

}  // namespace

std::optional<Shaped> added_mask(const FoundScores& scores, const FoundHeads& heads, bool is_reshaped,
                                 const infer::Inference& facts, const ops::Emit& at, std::string& why) {
  MaskWriter writer(heads, is_reshaped, facts, at, why);
  Shaped all;
  for (const FoundMask& found : scores.masks) {
    const auto view = scores.is_reshaped ? view_of_scores(heads, facts.fact(found.at)) : std::optional(heads.view);
    const auto mask = view ? writer.write(found, *view) : std::nullopt;
    if (!mask) return std::nullopt;
    all = all.value ? writer.sum(all, *mask) : *mask;
  }
  return all;
}

Shaped spread_mask(const Shaped& mask, const FoundHeads& heads, Counted queries, Counted keys, const ops::Emit& at) {
  if (!mask.value) return mask;
  const bool has_rows = dim::same(mask.dim(2), heads.queries()), has_columns = dim::same(mask.dim(3), heads.keys());
  if (has_rows && has_columns) return mask;
  // As many rows as columns where that is the same: then one mask serves all layers.
  if (has_columns && dim::same(mask.dim(3), heads.queries())) queries = {mask.value, 3};
  const auto count = [&](bool is_there, Counted counted) {
    if (is_there) return at.list({1});
    ir::Value* size = at.slice(at.shape(counted.value), counted.axis, counted.axis + 1);
    return counted.past ? at.add(at.slice(at.shape(counted.past), 2, 3), size) : size;
  };
  Shaped full = mask;
  full.value = at.emit(
      "Expand", {mask.value, at.concat({at.list({1, 1}), count(has_rows, queries), count(has_columns, keys)}, 0)});
  full.dims[2] = heads.queries();
  full.dims[3] = heads.keys();
  return full;
}

}  // namespace thaw::optimizing
