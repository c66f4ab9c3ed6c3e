// What stands around a constant: the sizes of what its node reads, and what its readers cut by. Internal to lift/.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/lift/steps.h"
#include "thaw/ops/rule/small_tensor.h"

namespace thaw::lifting {

// Sizes that differ between the traces and that inference knows an expression of.
class SizesAround {
 public:
  explicit SizesAround(Lifting& lifting);

  // Has the context know them for what stands at an operand.
  void tell(const Difference& difference, TableContext& context) const;

  // Behind what is still frozen, no expression is taken for a size: one may hold in all traces and nowhere else, as the
  // smaller of a size and the largest trace's. solved: what stands there no more.
  SizesInTraces in_traces(std::span<const FittedTable> solved) const;

  // Whether a shape is given to data whose sizes are not known yet.
  bool waits(const Difference& difference) const;

  // How long pieces are where a node joins several along an axis: the levels of a pyramid.
  JoinedSizes joined_sizes() const;

  // Such Slices that begin at the same place in every trace, and elsewhere where half of what is cut away ends.
  std::vector<Undecided> steady_middles() const;

  // By what readers cut it: the strides of the next convolution, the steps of the next Slice, the axes of the next
  // Reshape that are the same in all traces. Nodes that move elements are passed over.
  std::vector<int64_t> windows_after(const ir::Node& node) const;

 private:
  using Axes = std::vector<std::vector<int64_t>>;  // by axis, the size in each trace
  enum class Side : uint8_t { kOperand, kResult };
  // nullopt where a trace does not tell, or has another rank.
  std::optional<Axes> axes_of(size_t place, Side side, int index) const;
  // Whether the node's result holds as many elements as its data in each trace.
  bool keeps_elements(size_t place) const;
  static void note_steps(const ir::Node& node, std::set<int64_t>& windows);
  // evened: axes of its data that are the same in every trace, but were not before.
  void note_steady_sizes(const ir::Node& node, const std::set<size_t>& evened, std::set<int64_t>& windows) const;
  // Axes of the node's result that are the same in every trace, where those of its data are not: what a Pad fills up to one window.
  std::set<size_t> evened_axes(const ir::Node& node) const;
  void add(Around& around, size_t place, int input) const;
  // What a shape gives back: as large in every trace, and made into the shape of this node's data by a Reshape before
  // it. Empty where there is none, or two that inference tells apart.
  ops::Shape given_back(size_t place, const Axes& made, dim::Dim elements) const;
  // Where a Slice ends that cuts down to what its result is added to or joined with (other_cuts.h). Empty where it is none.
  ops::Shape cut_back(const Difference& difference) const;
  // Where a tensor is rolled, or ends: so far before the end of its own axis as in every trace, whatever else measures as much in all
  // of them.
  // axes: of the data. Empty where it is no place of a roll, or not as far in each.
  ops::Shape rolled_by(const Difference& difference, std::span<const Variable> axes) const;
  // What a Slice keeps of the middle of an axis, as long as what its result is added to or joined with (Ronneberger et al. 2015, "U-Net").
  struct Middle {
    dim::Dim length;
    std::vector<dim::Dim>
        begins;  // half of what is cut away, as the traces have it; two where none tells how it is rounded
    std::vector<int64_t> at = {};  // where it begins in each trace
  };
  bool cuts_from_middle(const ir::Node& slice) const;
  std::optional<Middle> middle_of(size_t place) const;
  // Where it begins, or ends. Empty where that is not one size.
  ops::Shape cut_from_middle(const Difference& difference, size_t place) const;
  // What a Resize gives back: the sizes that one before it was given, whose result was as large as this one's data.
  ops::Shape resized_back(size_t place) const;
  // By axis of the node's result, how long the pieces are that a Reshape behind it cuts it into; 0 where none does, or they differ.
  std::vector<int64_t> pieces_after(size_t place) const;
  int64_t pieces_after(size_t place, size_t axis) const;
  // By which number a Reshape cuts an axis of its data, as the inner one of two axes; 0 where it does not.
  int64_t piece_of(size_t place, size_t axis) const;

  Lifting& lifting_;
  std::unordered_map<const ir::Node*, size_t> positions_;
  std::vector<std::unique_ptr<dim::Scope>> scopes_;
  std::vector<infer::Result> facts_;
  // By the sizes of the data and of the result, in the traces.
  std::map<std::pair<Axes, Axes>, std::vector<size_t>> reshapes_, resizes_;
};

}  // namespace thaw::lifting
