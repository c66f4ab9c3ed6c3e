#include "thaw/optimize/rotary/find.h"

#include <algorithm>
#include <array>

#include "thaw/optimize/site.h"

namespace thaw::optimizing {
namespace {

// sign * a b
struct SignedProduct {
  ir::Value *a = nullptr, *b = nullptr;
  int sign = 1;
};

std::optional<SignedProduct> signed_product(const ir::Value* value) {
  int sign = 1;
  while (const ir::Node* negated = producer_of(value, "Neg")) {
    sign = -sign;
    value = negated->input(0);
  }
  const ir::Node* mul = producer_of(value, "Mul");
  return mul ? std::optional(SignedProduct{mul->input(0), mul->input(1), sign}) : std::nullopt;
}

std::optional<std::array<SignedProduct, 2>> two_products(const ir::Value* value) {
  const ir::Node *add = producer_of(value, "Add"), *sub = producer_of(value, "Sub");
  const ir::Node* node = add ? add : sub;
  if (!node) return std::nullopt;
  const auto first = signed_product(node->input(0)), second = signed_product(node->input(1));
  if (!first || !second) return std::nullopt;
  std::array<SignedProduct, 2> both{*first, *second};
  if (sub) both[1].sign = -both[1].sign;
  return both;
}

class RotaryFinder {
 public:
  RotaryFinder(const infer::Inference& facts, EqualHalves& halves, std::string& why)
      : facts_(facts), halves_(halves), why_(why) {}

  std::optional<FoundRotary> find(const ir::Node& node) {
    FoundRotary found;
    found.root = node.output(0);
    const std::string& op = node.op_type();
    const bool fits = op == "Add" || op == "Sub" ? of_rotated_whole(node, found)
                      : op == "Concat"           ? of_two_halves(node, found)
                                                 : op == "Reshape" && of_pairs(node, found);
    if (!fits || !has_angles(found)) return std::nullopt;
    return found;
  }

 private:
  // x cos + (-x2, x1) sin
  bool of_rotated_whole(const ir::Node& node, FoundRotary& found) {
    const auto sum = two_products(node.output(0));
    if (!sum) return false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const SignedProduct &plain = (*sum)[i], &second = (*sum)[1 - i];
      if (plain.sign != 1 || second.sign != 1) continue;
      for (const auto& [rotated, sine] : {std::pair(second.a, second.b), std::pair(second.b, second.a)}) {
        ir::Value* x = whole_of_rotated(rotated, found);
        if (!x || (plain.a != x && plain.b != x)) continue;
        ir::Value* cosine = plain.a == x ? plain.b : plain.a;
        found.doubled = true;
        if (!take(x, cosine, sine, found)) return false;
        if (!halves_.holds(cosine, found.interleaved) || !halves_.holds(sine, found.interleaved)) {
          why_ = "the angles of both halves are not known to be the same";
          return false;
        }
        return take_rest(found);
      }
    }
    return false;
  }

  // x of (-x2, x1), whichever way it is put together.
  ir::Value* whole_of_rotated(const ir::Value* rotated, FoundRotary& found) const {
    found.interleaved = false;
    const ir::Node* concat = producer_of(rotated, "Concat");
    std::array<ir::Value*, 2> parts{};
    if (concat) {
      if (concat->inputs().size() != 2 || !is_last_axis(*concat)) return nullptr;
      parts = {concat->input(0), concat->input(1)};
    } else if (const auto pairs = pairs_behind(rotated)) {
      parts = *pairs;
      found.interleaved = true;
    } else {
      return nullptr;
    }
    const ir::Node* negated = producer_of(parts[0], "Neg");
    if (!negated) return nullptr;
    const auto second = part_of_last_axis(negated->input(0), facts_), first = part_of_last_axis(parts[1], facts_);
    if (!first || !second || first->of != second->of || first->size * 2 != first->whole) return nullptr;
    return first->is_half(0, found.interleaved) && second->is_half(1, found.interleaved) ? first->of : nullptr;
  }

  // The two of Reshape(Concat(Unsqueeze(a, -1), Unsqueeze(b, -1), axis=-1)), whose elements alternate.
  std::optional<std::array<ir::Value*, 2>> pairs_behind(const ir::Value* value) const {
    const ir::Node* reshape = producer_of(value, "Reshape");
    const ir::Node* concat = reshape ? producer_of(reshape->input(0), "Concat") : nullptr;
    if (!concat || concat->inputs().size() != 2 || !is_last_axis(*concat)) return std::nullopt;
    const ops::Fact &whole = facts_.fact(value), &apart = facts_.fact(concat->output(0));
    const int rank = whole.rank();
    if (rank < 1 || apart.rank() != rank + 1 || !apart.dim(rank).is_constant(2)) return std::nullopt;
    for (int axis = 0; axis + 1 < rank; ++axis)
      if (!dim::same(whole.dim(axis), apart.dim(axis))) return std::nullopt;
    std::array<ir::Value*, 2> parts{};
    for (const int i : {0, 1}) {
      const ir::Node* made = concat->input(i)->producer();
      if (!made || !made->domain().empty() || (made->op_type() != "Unsqueeze" && made->op_type() != "Reshape"))
        return std::nullopt;
      const ops::Fact& part = facts_.fact(made->input(0));
      if (part.rank() != rank) return std::nullopt;
      for (int axis = 0; axis < rank; ++axis)
        if (!dim::same(part.dim(axis), apart.dim(axis))) return std::nullopt;
      parts[static_cast<size_t>(i)] = made->input(0);
    }
    return parts;
  }

  // Concat(x1 cos - x2 sin, x2 cos + x1 sin), and perhaps what does not turn.
  bool of_two_halves(const ir::Node& node, FoundRotary& found) {
    const size_t parts = node.inputs().size();
    if ((parts != 2 && parts != 3) || !is_last_axis(node)) return false;
    if (!take_halves(node.input(0), node.input(1), found)) return false;
    return parts == 2 ? found.x.from_back(1).is_constant(found.rotary_dim)
                      : take_pass(node.input(2), found.root, found);
  }

  bool of_pairs(const ir::Node& node, FoundRotary& found) {
    const auto pairs = pairs_behind(node.output(0));
    found.interleaved = true;
    return pairs && take_halves((*pairs)[0], (*pairs)[1], found) && take_rest(found);
  }

  bool take_halves(const ir::Value* first, const ir::Value* second, FoundRotary& found) {
    const auto minus = two_products(first), plus = two_products(second);
    if (!minus || !plus || (*plus)[0].sign != 1 || (*plus)[1].sign != 1 || (*minus)[0].sign == (*minus)[1].sign)
      return false;
    const SignedProduct& of_cos = (*minus)[(*minus)[0].sign == 1 ? 0 : 1];
    const SignedProduct& of_sin = (*minus)[(*minus)[0].sign == 1 ? 1 : 0];
    for (const auto& [x1, cosine] : {std::pair(of_cos.a, of_cos.b), std::pair(of_cos.b, of_cos.a)}) {
      const auto half = part_of_last_axis(x1, facts_);
      if (!half || !half->is_half(0, found.interleaved)) continue;
      for (const auto& [x2, sine] : {std::pair(of_sin.a, of_sin.b), std::pair(of_sin.b, of_sin.a)}) {
        const auto other = part_of_last_axis(x2, facts_);
        if (!other || other->of != half->of || other->size != half->size || !other->is_half(1, found.interleaved))
          continue;
        const auto is = [](const SignedProduct& product, const ir::Value* a, const ir::Value* b) {
          return (product.a == a && product.b == b) || (product.a == b && product.b == a);
        };
        const bool agrees = (is((*plus)[0], x2, cosine) && is((*plus)[1], x1, sine)) ||
                            (is((*plus)[1], x2, cosine) && is((*plus)[0], x1, sine));
        if (agrees && take(half->of, cosine, sine, found)) {
          found.rotary_dim = 2 * half->size;
          return true;
        }
      }
    }
    return false;
  }

  bool take(ir::Value* x, ir::Value* cosine, ir::Value* sine, FoundRotary& found) {
    const auto whole = shaped(x, facts_), cos = shaped(cosine, facts_), sin = shaped(sine, facts_);
    if (!whole || !cos || !sin || (whole->rank() != 3 && whole->rank() != 4)) return false;
    const auto width = whole->from_back(1).constant();
    if (!width || *width <= 0 || *width % 2 != 0) return false;
    found.x = *whole;
    found.cos = *cos;
    found.sin = *sin;
    found.rotary_dim = *width;
    return true;
  }

  // Where the result is concatenated with elements that are not rotated, all of them are the operator's.
  bool take_rest(FoundRotary& found) {
    const bool is_whole = found.x.from_back(1).is_constant(found.rotary_dim);
    if (!is_read_once(*found.root)) return is_whole;
    const ir::Node* concat = found.root->uses().front().node;
    const bool joins = concat->op_type() == "Concat" && concat->domain().empty() && concat->inputs().size() == 2 &&
                       is_last_axis(*concat) && concat->input(0) == found.root;
    return (joins && take_pass(concat->input(1), concat->output(0), found)) || is_whole;
  }

  bool take_pass(ir::Value* pass, ir::Value* concatenated, FoundRotary& found) const {
    const auto rest = part_of_last_axis(pass, facts_);
    // The first elements of x are rotated, or x is itself the first elements of what is wider.
    const bool is_first = !found.x.from_back(1).is_constant(found.rotary_dim);
    const auto rotated =
        is_first ? std::optional(LastAxisPart{found.x.value, 0, found.rotary_dim, 1, rest ? rest->whole : 0})
                 : part_of_last_axis(found.x.value, facts_);
    const bool is_rest = rotated && rest && rotated->of == rest->of && rotated->start == 0 && rotated->step == 1 &&
                         rest->step == 1 && rest->start == rotated->size && rest->start + rest->size == rest->whole;
    const auto whole = is_rest ? shaped(rotated->of, facts_) : std::nullopt;
    if (!whole) return false;
    found.x = *whole;
    found.root = concatenated;
    return true;
  }

  // The angles are of positions: one for all heads.
  bool has_angles(FoundRotary& found) {
    const int64_t angles = found.doubled ? found.rotary_dim : found.rotary_dim / 2;
    const ir::DataType type = found.x.dtype;
    if ((type != ir::DataType::kFloat && type != ir::DataType::kFloat16 && type != ir::DataType::kBfloat16) ||
        found.cos.dtype != type || found.sin.dtype != type || found.cos.rank() > found.x.rank() ||
        found.cos.rank() != found.sin.rank() || found.cos.rank() < 2)
      return false;
    for (const Shaped* each : {&found.cos, &found.sin}) {
      // Two halves are as wide as what they are multiplied with, as one element they are not.
      const bool is_implied = found.doubled && !each->from_back(1).is_constant();
      if (!is_implied && !each->from_back(1).is_constant(angles)) return false;
    }
    if (!std::equal(found.cos.dims.begin(), found.cos.dims.end() - 1, found.sin.dims.begin(), dim::same)) return false;
    const dim::Dim second = found.cos.from_back(2), third = found.cos.rank() > 2 ? found.cos.from_back(3) : dim::Dim(1);
    if (third.is_constant(1) && is_one_for_each(second, found.x.from_back(2))) {
      found.positions_first = false;
    } else if (second.is_constant(1) && is_one_for_each(third, found.x.from_back(3))) {
      found.positions_first = true;
    } else {
      why_ = "the angles are not known to be one for each position";
      return false;
    }
    const auto heads = found.x.from_back(found.positions_first ? 2 : 3).constant();
    const bool fits =
        found.cos.rank() < 4 || found.cos.dim(0).is_constant(1) || dim::same(found.cos.dim(0), found.x.dim(0));
    if (!heads || !fits) return false;
    found.heads = *heads;
    return true;
  }

  // Rows of angles for positions that they are multiplied with: as many, or, cut from a table of two rows or more, as many
  // wherever the product runs at all.
  static bool is_one_for_each(dim::Dim rows, dim::Dim positions) {
    return !rows.is_constant(1) &&
           (dim::same(rows, positions) || dim::same(dim::min(rows, dim::Dim(2)), dim::min(positions, dim::Dim(2))));
  }

  bool is_last_axis(const ir::Node& node) const {
    const auto axis = axis_of(node, facts_, 0);
    const int rank = facts_.fact(node.output(0)).rank();
    return axis && rank > 0 && *axis == rank - 1;
  }

  const infer::Inference& facts_;
  EqualHalves& halves_;
  std::string& why_;
};

}  // namespace

std::optional<FoundRotary> find_rotary(const ir::Node& node, const infer::Inference& facts, EqualHalves& halves,
                                       std::string& why) {
  return RotaryFinder(facts, halves, why).find(node);
}

}  // namespace thaw::optimizing
