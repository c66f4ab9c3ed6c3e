// What a node is as a term: the laws of operators.
//
// An operator that has a law is written as views (views.h), arithmetic (arithmetic.h) and the few operators that these do not
// cover; a fused one as what it is defined to be. One without a law is itself: its name, its version where versions may
// differ in meaning, its attributes with their defaults, its operands.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "thaw/prove/arithmetic.h"
#include "thaw/prove/constants.h"
#include "thaw/prove/term.h"
#include "thaw/prove/views.h"

namespace thaw::proving {

// Terms, and the ways to write them.
struct Algebra {
  explicit Algebra(dim::Scope& scope, Weights weights = Weights::kAsRead)
      : terms(scope), constants(terms), views(terms, constants), arithmetic(terms, constants, views, weights) {}

  Terms terms;
  Constants constants;
  Views views;
  Arithmetic arithmetic;

  // What of a term may be another number in the other model, though the two are one term.
  struct Certainty {
    bool is_taken = false;   // it is made of constants that were taken for others, which they equal but for rounding
    bool has_input = false;  // it is made of an input, too
    bool is_uncertain =
        false;  // it is a step of such constants alone, or made of one: what is the same term is not the same
    bool operator==(const Certainty&) const = default;
  };
  // By term. `given`: what is known of terms that are not looked into.
  std::vector<Certainty> certainties(const std::unordered_map<TermId, Certainty>& given = {}) const;

  // Element by element: `write` is given operands that broadcast alike. nullopt where a shape is unknown.
  using Write = std::function<TermId(const std::vector<TermId>& operands)>;
  std::optional<TermId> elementwise(std::vector<TermId> operands, const Write& write);
  // A number times each element, each element to a power.
  TermId times(double factor, TermId x);
  TermId power(TermId x, double exponent);
  // The largest of all ("Max"), or the smallest ("Min"), in extrema.cc. `goes_out`: whether a number may stand in front of it.
  TermId extremum(std::string_view op, std::span<const TermId> operands, bool goes_out = true);
  // Whether all are ("And"), or one of them ("Or").
  TermId logical(std::string_view op, std::span<const TermId> operands);
  TermId negation(TermId truth);
  // a <= b; nullopt where a shape is unknown.
  std::optional<TermId> at_most(TermId a, TermId b);
  // 0, 1, … below the count.
  TermId positions(dim::Dim count);
  // 0 where an element is NaN.
  TermId without_nan(TermId x);
  // "ReduceSum", "ReduceMax", …: axes stay, with size 1.
  TermId reduce(std::string_view op, TermId x, std::span<const int64_t> axes);
  TermId mean(TermId x, std::span<const int64_t> axes);
  // The larger of a length and a small number above 0, in lengths.cc; nullopt where the two are no such.
  std::optional<TermId> limited_length(TermId length, double limit);
  // A sum of squares or of absolute values, but for less than the limit. nullopt: what is 0 alone.
  TermId limited_sum(TermId sum, std::optional<double> limit);
  // As Views::slice, before what is added and multiplied, and before functions of constants.
  TermId slice(TermId x, std::span<const Cut> cuts);
  // Along an axis of a known shape; positions that follow each other are a cut. nullopt where the shape of the indices is unknown.
  std::optional<TermId> gather(TermId x, TermId indices, int64_t axis);
  // Of float tensors of rank 2 and more.
  TermId matmul(TermId a, TermId b);
  bool is_matrix(TermId x) const {
    return is_real(terms[x].dtype) && is_known(terms[x].shape) && terms[x].shape->size() >= 2;
  }
  // "Softmax" or "LogSoftmax"; the axis is counted from the end: -1 and less.
  TermId softmax(const std::string& op, TermId x, int64_t axis);
  // A row of numbers as an operand of a tensor of so many axes, along its second one; nullopt where it is none.
  std::optional<TermId> by_channel(TermId row, size_t rank);
  // A function of one number, "Cos", of a constant: the numbers; nullopt of all else.
  std::optional<TermId> evaluated(std::string_view op, TermId x);
  // An operator of ai.onnx that has no attributes, as a node of it is read.
  TermId of_each(const std::string& op, TermId x);

 private:
  std::optional<size_t> leading(std::span<const TermId> operands, const ops::Shape& whole) const;
  TermId transposed(TermId x, std::span<const int64_t> order);  // of an operand that broadcasts
  std::optional<TermId> reshaped_as(TermId x, const ops::Shape& from, const ops::Shape& to);
  TermId views_inside(TermId x);
  TermId views_inside(TermId x, size_t& left);
  TermId combined(const Term& of, std::span<const TermId> arguments);  // a sum or a product, of others
  std::optional<TermId> elementwise_without_ones(const std::vector<TermId>& operands, const Write& write);
  std::optional<TermId> elementwise_by_parts(const std::vector<TermId>& operands, const Write& write);
  TermId slice_inside(TermId x, const Cut& cut);
  TermId part(TermId x, const Cut& cut, int depth = 0);
  std::optional<TermId> cut_constants(TermId x, const Cut& cut, int depth = 0);
  std::optional<TermId> gather_constants(TermId x, TermId indices, int64_t axis, const ops::Shape& shape);
  std::optional<Cut> run_of(TermId indices, int64_t axis, dim::Dim size) const;
  std::optional<TermId> reduce_inside(std::string_view op, TermId x, std::span<const int64_t> axes);
  std::optional<TermId> without_largest(TermId x, int64_t axis);
  Scaled without_factor(TermId x);
  std::vector<TermId> scaled_operands(std::string_view op, Scaled of);
  std::optional<TermId> scaled_extremum(std::string_view op, TermId x, double limit);
  TermId scaled_inside(double factor, TermId x, int depth, bool goes_out);
  std::optional<TermId> ordered_limits(TermId x, double low, bool goes_out);
  bool is_softmax(TermId x) const;
  Scaled without_scale(TermId x, size_t& left);

  std::unordered_map<TermId, std::optional<double>> limits_;  // of Limited terms: the first that each had
};

// Functions of one number whose constants are folded: "Cos".
struct FunctionOfOne {
  std::string_view op;
  double (*value)(double), (*slope)(double);
};
const FunctionOfOne* function_of_one(std::string_view op);  // null of all else
inline bool is_function_of_one(std::string_view op) { return function_of_one(op) != nullptr; }
// Sums along axes, which stay; products of matrices, the right one of two axes or of the same batch; softmax, where scores are rounded by
// so much. nullopt where they are of too many numbers, or too much is lost.
std::optional<Numbers> added_up(const Numbers& of, std::span<const int64_t> axes);
std::optional<Numbers> multiplied_out(const Numbers& a, const Numbers& b);
std::optional<Numbers> weights_of(const Numbers& scores, int64_t axis, double rounding);

// Whether an operator of ai.onnx computes each element of operands that broadcast, from version 7 on, from nothing else; in read_model.cc.
bool is_of_each_element(std::string_view op);

// A node that is read.
struct NodeToRead {
  const ir::Node& node;
  int64_t opset = 0;               // of its domain
  std::vector<TermId> operands;    // kNoTerm: left out
  std::vector<ops::Fact> results;  // as inference knows them, sizes as the terms have them
  std::vector<bool> is_new_size;   // by result: whether a size is known by no name but its own

  int64_t integer(std::string_view name, int64_t otherwise) const { return node.attribute_int(name, otherwise); }
  double real(std::string_view name, float otherwise) const { return node.attribute_float(name, otherwise); }
  bool has(size_t i) const { return i < operands.size() && operands[i] != kNoTerm; }
  bool wants(int i) const { return node.output(i) != nullptr; }
  // Of a result; null where it is not known by the operands.
  const ops::Shape* known_shape(size_t i) const;
};

// Terms of the node's results; empty where no law covers the node, which is then itself.
std::vector<TermId> by_law(Algebra& algebra, const NodeToRead& read);
// The same for those that stand for others of ONNX (com.microsoft, and functions of ai.onnx), in fused.cc.
std::vector<TermId> by_definition(Algebra& algebra, const NodeToRead& read);

// The same of integers and truth values, in integers.cc.
std::vector<TermId> of_integers(Algebra& algebra, const NodeToRead& read);

// Scores by what hides some of them, where that is added to them or chosen instead of them, in masks.cc; nullopt where nothing does,
// or more than one mask of large numbers.
std::optional<TermId> hidden(Algebra& algebra, TermId scores);
// Scores of which those are hidden where the condition holds, by minus infinity.
std::optional<TermId> hidden_where(Algebra& algebra, TermId condition, TermId scores);

// Whether an operator takes numbers to whole ones, to truths or to places in an order, in uncertain.cc: a little more or less may be
// another one. `op`: as ONNX calls it; `result`, `operands`: their types.
bool is_step_of(std::string_view op, ir::DataType result, std::span<const ir::DataType> operands);

// What several operators begin with, in products.cc: Conv and FusedConv, ConvTranspose, Gemm and FusedGemm, each with its bias. nullopt
// where they are not understood.
std::optional<TermId> convolution(Algebra& algebra, const NodeToRead& read);
std::optional<TermId> transposed_convolution(Algebra& algebra, const NodeToRead& read);
std::optional<TermId> gemm(Algebra& algebra, const NodeToRead& read);
// Of floating-point operands whose letters each appear once in them, in einsum.cc; nullopt of all else.
std::optional<TermId> einsum(Algebra& algebra, const NodeToRead& read);
// LpNormalization, in lengths.cc; nullopt where it is not understood.
std::optional<TermId> lp_normalization(Algebra& algebra, const NodeToRead& read);
// com.microsoft's MultiHeadAttention, GroupQueryAttention and Attention, and ai.onnx's Attention, in attention.cc; empty where they are not
// understood.
std::vector<TermId> multi_head_attention(Algebra& algebra, const NodeToRead& read);
std::vector<TermId> group_query_attention(Algebra& algebra, const NodeToRead& read);
std::vector<TermId> packed_attention(Algebra& algebra, const NodeToRead& read);
std::vector<TermId> standard_attention(Algebra& algebra, const NodeToRead& read);
// RotaryEmbedding of com.microsoft and ai.onnx, in rotary.cc; empty where it is not understood.
std::vector<TermId> rotary_embedding(Algebra& algebra, const NodeToRead& read);
// [batch, heads, positions, width] with the first elements turned, as many as twice the columns of cos and sin: [batch or 1, 1, positions, half].
std::optional<TermId> rotated(Algebra& algebra, TermId x, TermId cos, TermId sin, bool is_interleaved);

// What an operator without a law is: everything but its operands, as bytes. nullopt where nobody knows that it gives the
// same twice, or what it holds cannot be compared.
std::optional<std::string> settings_of(const NodeToRead& read);

// The same of output 0 of an operator of ai.onnx that has no attributes, of the version that it has had since.
std::string settings_of_plain(const std::string& op);

// What all elements of integers or truth values are; nullopt where they differ.
std::optional<dim::Dim> uniform(const Terms& terms, TermId id);
// Small operands of integers that are known.
std::optional<std::vector<int64_t>> integers_of(const Terms& terms, TermId id);

}  // namespace thaw::proving
