// LpNormalization: x over its length along the last axis. Along another axis ONNX Runtime's kernel is slower than what it
// stands for. A limit from below as exporters have it, for x of zeros alone, is what the operator does by itself.
#include "thaw/optimize/passes.h"

namespace thaw::optimizing {
namespace {

using rewrite::any_number;
using rewrite::either;
using rewrite::Match;
using rewrite::op;
using rewrite::op_of;
using rewrite::Pattern;
using rewrite::power;

// Lengths below this are those of vectors of zeros that were computed.
constexpr double kMostLimit = 1e-6;

const Pattern kVector = rewrite::any("x");

Pattern along(std::string_view op, const Pattern& x) { return op_of({op}, {x}).with("keepdims", 1).named("length"); }

const Pattern kSquares = either({along("ReduceSum", power(kVector, 2)), along("ReduceSumSquare", kVector)});
const Pattern kOfSquares = either({along("ReduceL2", kVector), rewrite::sqrt(kSquares)});
const Pattern kOfAbsolutes = either({along("ReduceL1", kVector), along("ReduceSum", op("Abs", {kVector}))});

Pattern limited(const Pattern& length, std::string_view limit) {
  return either({op("Max", {length, any_number(limit)}), op_of({"Clip"}, {length, any_number(limit)}).named("clip")});
}

Pattern over(const Pattern& length) { return either({kVector / length, kVector / limited(length, "limit")}); }

const Pattern kBySquares = either({over(kOfSquares), kVector* power(limited(kSquares, "squared limit"), -0.5)});
const Pattern kByAbsolutes = over(kOfAbsolutes);

bool is_normalization(const Match& m) {
  const ir::DataType type = m.fact("x").dtype;
  const double limit = m.has_number("limit") ? m.number("limit") : 0;
  const double squared = m.has_number("squared limit") ? m.number("squared limit") : 0;
  return (type == ir::DataType::kFloat || type == ir::DataType::kDouble) && m.is_over_last_axis("length") &&
         limit >= 0 && limit <= kMostLimit && squared >= 0 && squared <= kMostLimit * kMostLimit * (1 + 1e-6) &&
         !(m.has("clip") && m.node("clip").input(2));
}

template <int64_t p>
ir::Value* normalization(const Match& m, const ops::Emit& at) {
  return at.emit("LpNormalization", {m["x"]}, {{"axis", int64_t{-1}}, {"p", p}});
}

}  // namespace

std::vector<rewrite::Fusion> fused_lengths() {
  constexpr std::string_view kName = "LpNormalization";
  return {{.name = kName, .pattern = kBySquares, .holds = is_normalization, .build = normalization<2>},
          {.name = kName, .pattern = kByAbsolutes, .holds = is_normalization, .build = normalization<1>}};
}

}  // namespace thaw::optimizing
