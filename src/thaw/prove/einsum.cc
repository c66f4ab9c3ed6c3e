// Einsum of one or two operands: sums along axes, products of matrices and of elements, between Transposes and Reshapes.
#include "thaw/ops/onnx/einsum.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "thaw/prove/laws.h"

namespace thaw::proving {

using dim::Dim;
using ops::Shape;

namespace {

class Einsum {
 public:
  Einsum(Algebra& algebra, const NodeToRead& read) : algebra_(algebra), terms_(algebra.terms), read_(read) {}

  std::optional<TermId> law() {
    const auto equation = ops::parse_equation(read_.node.attribute_string("equation", ""));
    if (!equation || equation->terms.size() != read_.operands.size() || equation->terms.size() > 2) return std::nullopt;
    std::vector<std::string> letters;
    for (size_t i = 0; i < equation->terms.size(); ++i) {
      auto said = letters_of(equation->terms[i], read_.operands[i]);
      if (!said) return std::nullopt;
      letters.push_back(std::move(*said));
    }
    const std::string result = with_ellipsis(equation->result(), ellipsis_);
    for (const char one : result)
      if (!sizes_.contains(one) || std::ranges::count(result, one) > 1) return std::nullopt;
    std::vector<TermId> operands = read_.operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      // What the result and the other operand do not have is added up first.
      const std::string others = result + (operands.size() == 2 ? letters[1 - i] : "");
      operands[i] = summed(operands[i], letters[i], others);
    }
    if (operands.size() == 1) return moved(operands[0], letters[0], result);
    // The one that has the last axis of the result alone is the right one.
    const auto last = std::find_if(result.rbegin(), result.rend(), [&](char one) {
      return (letters[0].find(one) == std::string::npos) != (letters[1].find(one) == std::string::npos);
    });
    if (last != result.rend() && letters[1].find(*last) == std::string::npos) {
      std::swap(operands[0], operands[1]);
      std::swap(letters[0], letters[1]);
    }
    const auto made = product(operands, letters, result);
    return made ? std::optional(moved(made->first, made->second, result)) : std::nullopt;
  }

 private:
  // Axes of "..." have letters of their own, from the last one on.
  static char letter_of_ellipsis(size_t from_end) { return static_cast<char>(from_end + 1); }
  static std::string with_ellipsis(const std::string& term, size_t count) {
    std::string made;
    for (const char one : term) {
      if (one != ops::kEllipsis) {
        made += one;
        continue;
      }
      for (size_t i = count; i-- > 0;) made += letter_of_ellipsis(i);
    }
    return made;
  }

  // Of an operand, a letter an axis; nullopt where one appears twice, or sizes of one differ.
  std::optional<std::string> letters_of(const std::string& term, TermId x) {
    if (x == kNoTerm || !is_real(terms_[x].dtype) || terms_[x].dtype != terms_[read_.operands[0]].dtype ||
        !is_known(terms_[x].shape))
      return std::nullopt;
    const Shape& shape = *terms_[x].shape;
    const bool has_ellipsis = term.find(ops::kEllipsis) != std::string::npos;
    if (shape.size() + (has_ellipsis ? 1 : 0) < term.size()) return std::nullopt;
    const size_t count = has_ellipsis ? shape.size() + 1 - term.size() : 0;
    constexpr size_t kMostAxes = 16;
    if (count > kMostAxes) return std::nullopt;
    ellipsis_ = std::max(ellipsis_, count);
    std::string letters = with_ellipsis(term, count);
    if (letters.size() != shape.size()) return std::nullopt;
    for (size_t i = 0; i < letters.size(); ++i) {
      const auto known = sizes_.emplace(letters[i], shape[i]);
      if (std::ranges::count(letters, letters[i]) > 1 || !dim::same(known.first->second, shape[i])) return std::nullopt;
    }
    return letters;
  }

  Shape shape_of(const std::string& letters) const {
    Shape shape;
    for (const char one : letters) shape.push_back(sizes_.at(one));
    return shape;
  }

  TermId summed(TermId x, std::string& letters, const std::string& others) {
    std::vector<int64_t> axes;
    std::string left;
    for (size_t i = 0; i < letters.size(); ++i) {
      if (others.find(letters[i]) == std::string::npos) {
        axes.push_back(static_cast<int64_t>(i));
      } else {
        left += letters[i];
      }
    }
    if (axes.empty()) return x;
    letters = left;
    return algebra_.views.reshape(algebra_.reduce("ReduceSum", x, axes), shape_of(left));
  }

  TermId moved(TermId x, const std::string& letters, const std::string& to) {
    std::vector<int64_t> order;
    for (const char one : to) order.push_back(static_cast<int64_t>(letters.find(one)));
    return algebra_.views.transpose(x, order);
  }

  std::optional<Dim> size_of(const std::string& letters) const {
    Dim size = 1;
    for (const char one : letters) size = size * sizes_.at(one);
    return size.is_known() ? std::optional(size) : std::nullopt;
  }

  // The product, and the letters of its axes.
  std::optional<std::pair<TermId, std::string>> product(const std::vector<TermId>& operands,
                                                        const std::vector<std::string>& letters,
                                                        const std::string& result) {
    std::string batch, inner, rows, columns;
    for (const char one : letters[0]) {
      const bool in_other = letters[1].find(one) != std::string::npos, stays = result.find(one) != std::string::npos;
      (!in_other ? rows : stays ? batch : inner) += one;
    }
    for (const char one : letters[1])
      if (letters[0].find(one) == std::string::npos) columns += one;
    const TermId a = moved(operands[0], letters[0], batch + rows + inner);
    const std::string whole = batch + rows + columns;
    if (inner.empty()) {
      const TermId b = moved(operands[1], letters[1], batch + columns);
      Shape left = shape_of(batch + rows), right = shape_of(batch);
      left.insert(left.end(), columns.size(), Dim(1));
      right.insert(right.end(), rows.size(), Dim(1));
      for (const char one : columns) right.push_back(sizes_.at(one));
      const auto made =
          algebra_.elementwise({algebra_.views.reshape(a, left), algebra_.views.reshape(b, right)},
                               [&](const std::vector<TermId>& o) { return algebra_.arithmetic.multiply(o[0], o[1]); });
      return made ? std::optional(std::pair(algebra_.views.conform(*made, shape_of(whole)), whole)) : std::nullopt;
    }
    const TermId b = moved(operands[1], letters[1], batch + inner + columns);
    const auto height = size_of(rows), depth = size_of(inner), width = size_of(columns);
    if (!height || !depth || !width) return std::nullopt;
    Shape left = shape_of(batch), right = left;
    left.insert(left.end(), {*height, *depth});
    right.insert(right.end(), {*depth, *width});
    const TermId made = algebra_.matmul(algebra_.views.reshape(a, left), algebra_.views.reshape(b, right));
    if (!is_known(terms_[made].shape)) return std::nullopt;
    return std::pair(algebra_.views.reshape(made, shape_of(whole)), whole);
  }

  Algebra& algebra_;
  Terms& terms_;
  const NodeToRead& read_;
  std::map<char, Dim> sizes_;
  size_t ellipsis_ = 0;
};

}  // namespace

std::optional<TermId> einsum(Algebra& algebra, const NodeToRead& read) { return Einsum(algebra, read).law(); }

}  // namespace thaw::proving
