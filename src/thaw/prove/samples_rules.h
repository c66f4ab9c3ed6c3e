// What operators make of samples that stand in an axis of their operands: one node and one of its outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "thaw/prove/samples.h"

namespace thaw::proving {

class SampleRules {
 public:
  SampleRules(const NodeOfSamples& of, size_t output) : of_(of), output_(output) {}

  // Each gives where the samples stand in the output, kMixed where they are not known to be apart.
  // Of elements whose operands broadcast.
  Samples each() const;
  Samples first_rows() const;
  Samples all_first_rows() const;
  // The order of elements stays: (some * batch + sample) * behind + others.
  Samples reshaped() const;
  Samples transposed() const;
  // Broken down along another axis than that of the samples.
  Samples split() const;
  Samples concat() const;
  Samples slice() const;
  Samples gather() const;
  // Of elements at the same place but along one axis: data, indices and updates.
  Samples along_same_places() const;
  Samples gather_nd() const;
  // To the sizes of the result: what is repeated is the same for all.
  Samples expanded() const;
  Samples filled() const;
  Samples tiled() const;
  Samples padded() const;
  // An axis of the same size keeps its elements.
  Samples resized() const;
  Samples reduced() const;
  Samples along_an_axis(int64_t otherwise) const;
  Samples from_an_axis() const;
  Samples summed_up_to() const;
  // Along the last axis: the sum of two, and its norm.
  Samples skip_norm() const;
  Samples matmul(bool turns_first = false, bool turns_second = false) const;
  Samples fused_matmul() const;
  Samples gemm() const;
  // By weights of a few bits: rows of the first operand.
  Samples matmul_by_weights() const;
  Samples einsum() const;
  // LSTM, GRU and RNN of [positions, samples, width].
  Samples recurrent() const;
  Samples one_hot() const;
  Samples triangle() const;
  // Elements by a scale that is the same for all, or one of each sample.
  Samples scaled() const;
  // Of operands none of which is one of samples, but some are made of how many there are.
  Samples counted() const;

 private:
  using Kind = Samples::Kind;
  static constexpr Samples kMixed{.kind = Kind::kMixed};

  static Samples rows(size_t axis, dim::Dim inner = 1) { return {.kind = Kind::kRows, .axis = axis, .inner = inner}; }
  static bool is_alike(const Samples& a, const Samples& b);
  static bool is_first(const Samples& samples) { return samples.is_rows() && samples.axis == 0; }
  static std::optional<size_t> axis_of(dim::Dim axis, size_t rank);
  std::optional<size_t> attribute_axis(std::string_view name, int64_t otherwise) const;
  bool is_none(size_t i) const { return i >= of_.operands.size() || of_.operands[i].is_none(); }
  // Of an operand that says sizes of the result, which inference follows.
  bool is_size(size_t i) const { return is_none(i) || of_.operands[i].kind == Kind::kCount; }
  bool no_samples_from(size_t first) const;
  bool others_are_none(size_t but) const;
  bool apart_from(size_t axis) const { return of_.operands[0].is_rows() && of_.operands[0].axis != axis; }
  Samples each_of_first() const;
  // The one axis that is longer with more samples; nullopt where there is none, or several.
  std::optional<size_t> only_axis(const ops::Shape& shape) const;
  // What is the same for all is so in sizes that are.
  Samples none_of_sizes() const;
  Samples without(std::vector<int64_t> axes, size_t rank) const;

  const NodeOfSamples& of_;
  const size_t output_;
};

}  // namespace thaw::proving
