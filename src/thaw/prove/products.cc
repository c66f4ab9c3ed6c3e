// Convolutions and products of matrices, with what is added to them.
#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "thaw/prove/laws.h"

namespace thaw::proving {

using ops::Shape;

namespace {

// The attributes of a convolution over `axes` axes; empty where they say something else.
std::vector<int64_t> attributes_of_convolution(const NodeToRead& read, size_t axes, std::string_view padding) {
  std::vector<int64_t> all = {read.integer("group", 1)};
  const auto add = [&](std::string_view name, int64_t otherwise, size_t count) {
    const auto given = read.node.attribute_ints(name);
    if (given.empty()) {
      all.insert(all.end(), count, otherwise);
    } else {
      all.insert(all.end(), given.begin(), given.end());
    }
  };
  add("strides", 1, axes);
  add("dilations", 1, axes);
  if (padding == "NOTSET") add("pads", 0, 2 * axes);
  if (padding == "VALID") all.insert(all.end(), 2 * axes, 0);
  const bool is_said_otherwise = padding.starts_with("SAME_");
  return all.size() == 1 + (is_said_otherwise ? 2 : 4) * axes ? all : std::vector<int64_t>();
}

// A convolution whose weight lies on its input in one place alone is a product: of the samples as rows, and of the weight.
std::optional<TermId> as_product(Algebra& algebra, const Term& convolution) {
  Terms& terms = algebra.terms;
  const TermId x = convolution.arguments[0], weight = convolution.arguments[1];
  const auto kernel = constant_dims(terms[weight].shape);
  if (!kernel || !is_known(terms[x].shape) || terms[x].shape->size() != kernel->size()) return std::nullopt;
  const Shape input = *terms[x].shape;
  const size_t axes = kernel->size() - 2;
  const std::vector<int64_t>& said = convolution.ints;
  const bool is_plain =
      said[0] == 1 && said.size() == 1 + 4 * axes &&
      std::all_of(said.begin() + static_cast<ptrdiff_t>(1 + axes), said.begin() + static_cast<ptrdiff_t>(1 + 2 * axes),
                  [](int64_t d) { return d == 1; }) &&
      std::all_of(said.begin() + static_cast<ptrdiff_t>(1 + 2 * axes), said.end(),
                  [](int64_t pad) { return pad == 0; });
  for (size_t k = 1; k < kernel->size(); ++k)
    if (!is_plain || !input[k].is_constant((*kernel)[k])) return std::nullopt;
  const int64_t outputs = kernel->front(), inputs = product_of(std::span(*kernel).subspan(1));
  const std::array<int64_t, 2> turned{1, 0};
  const TermId matrix = algebra.views.transpose(algebra.views.reshape(weight, {outputs, inputs}), turned);
  const TermId product = algebra.matmul(algebra.views.reshape(x, {input[0], inputs}), matrix);
  return algebra.views.reshape(product, *convolution.shape);
}

// What is padded by 0 is a convolution's operand with more of its own padding: the last of its attributes.
TermId without_pad(const Terms& terms, TermId x, std::vector<int64_t>& attributes) {
  const Term& pad = terms[x];
  if (!pad.is("Pad")) return x;
  const size_t rank = pad.ints.size() / 2, axes = rank - 2;
  const auto amounts = [&](size_t axis) { return std::array{&pad.ints[axis], &pad.ints[axis + rank]}; };
  if (rank < 3 || attributes.size() != 1 + 4 * axes) return x;
  for (const size_t axis : {0, 1})
    for (const int64_t* amount : amounts(axis))
      if (*amount != 0) return x;
  for (size_t k = 0; k < axes; ++k)
    for (const size_t side : {0, 1}) attributes[1 + (2 + side) * axes + k] += *amounts(k + 2)[side];
  return pad.arguments[0];
}

std::optional<TermId> with_bias(Algebra& algebra, TermId made, const NodeToRead& read) {
  if (!read.has(2)) return made;
  const auto bias = algebra.by_channel(read.operands[2], algebra.terms[made].shape->size());
  if (!bias) return std::nullopt;
  return algebra.elementwise({made, *bias},
                             [&](const std::vector<TermId>& o) { return algebra.arithmetic.add(o[0], o[1]); });
}

}  // namespace

std::optional<TermId> convolution(Algebra& algebra, const NodeToRead& read) {
  Terms& terms = algebra.terms;
  const TermId x = read.operands[0], weight = read.operands[1];
  const Shape* shape = read.known_shape(0);
  if (!is_real(terms[x].dtype) || !is_known(terms[weight].shape) || terms[weight].shape->size() < 3 || !shape)
    return std::nullopt;
  const std::string_view padding = read.node.attribute_string("auto_pad", "NOTSET");
  if (padding != "NOTSET" && padding != "VALID" && padding != "SAME_UPPER" && padding != "SAME_LOWER")
    return std::nullopt;
  Term term;
  term.op = "Conv";
  term.ints = attributes_of_convolution(read, terms[weight].shape->size() - 2, padding);
  if (term.ints.empty()) return std::nullopt;
  if (padding.starts_with("SAME_")) term.settings = padding;
  term.arguments = {padding == "NOTSET" || padding == "VALID" ? without_pad(terms, x, term.ints) : x, weight};
  term.dtype = terms[x].dtype;
  term.shape = *shape;
  const auto product = as_product(algebra, term);
  TermId made = kNoTerm;
  if (product) {
    made = *product;
  } else {
    const Scaled parts = algebra.arithmetic.weight(weight);
    term.arguments[1] = parts.term;
    made = algebra.times(parts.factor, terms.add(std::move(term)));
  }
  return with_bias(algebra, made, read);
}

// What is added to each channel is added afterwards. A padding that follows from the sizes is none of this law.
std::optional<TermId> transposed_convolution(Algebra& algebra, const NodeToRead& read) {
  Terms& terms = algebra.terms;
  const TermId x = read.operands[0], weight = read.operands[1];
  const Shape* shape = read.known_shape(0);
  const std::string_view padding = read.node.attribute_string("auto_pad", "NOTSET");
  if (!is_real(terms[x].dtype) || !is_known(terms[weight].shape) || terms[weight].shape->size() < 3 || !shape ||
      read.node.attribute("output_shape") || (padding != "NOTSET" && padding != "VALID"))
    return std::nullopt;
  const size_t axes = terms[weight].shape->size() - 2;
  Term term;
  term.op = "ConvTranspose";
  term.ints = attributes_of_convolution(read, axes, padding);
  if (term.ints.empty()) return std::nullopt;
  const auto more = read.node.attribute_ints("output_padding");  // of the result, at the end of each axis
  if (!more.empty() && more.size() != axes) return std::nullopt;
  for (size_t k = 0; k < axes; ++k) term.ints.push_back(more.empty() ? 0 : more[k]);
  const Scaled parts = algebra.arithmetic.weight(weight);
  term.arguments = {x, parts.term};
  term.dtype = terms[x].dtype;
  term.shape = *shape;
  const TermId made = algebra.times(parts.factor, terms.add(std::move(term)));
  return with_bias(algebra, made, read);
}

std::optional<TermId> gemm(Algebra& algebra, const NodeToRead& read) {
  Terms& terms = algebra.terms;
  std::array<TermId, 2> sides{read.operands[0], read.operands[1]};
  for (size_t i = 0; i < 2; ++i) {
    if (!algebra.is_matrix(sides[i]) || terms[sides[i]].shape->size() != 2) return std::nullopt;
    const std::array<int64_t, 2> turned{1, 0};
    if (read.integer(i == 0 ? "transA" : "transB", 0) != 0) sides[i] = algebra.views.transpose(sides[i], turned);
  }
  const TermId made = algebra.matmul(sides[0], sides[1]);
  if (!is_known(terms[made].shape)) return std::nullopt;
  const double alpha = read.real("alpha", 1), beta = read.real("beta", 1);
  std::vector<TermId> operands{made};
  if (read.has(2)) operands.push_back(read.operands[2]);
  return algebra.elementwise(operands, [&](const std::vector<TermId>& o) {
    std::vector<Scaled> addends{{alpha, o[0]}};
    if (o.size() > 1) addends.push_back({beta, o[1]});
    return algebra.arithmetic.sum(addends, terms[made].dtype);
  });
}

}  // namespace thaw::proving
