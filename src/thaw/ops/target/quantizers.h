// Operators whose weights the quantizers of other tools convert in blocks, as of the versions in docs/guide/plan.md.
#pragma once

#include <array>
#include <string_view>

namespace thaw::ops {

inline constexpr std::array<std::string_view, 2> kInBlocksByOrt{"MatMul", "Gather"};
inline constexpr std::array<std::string_view, 2> kInBlocksByOlive = kInBlocksByOrt;
inline constexpr std::array<std::string_view, 1> kInBlocksByInc{"MatMul"};
// ModelOpt converts every Gather of a constant too, in 4 bits and blocks of 32, unless it is excluded.
inline constexpr std::array<std::string_view, 2> kInBlocksByModelopt{"MatMul", "Gemm"};
inline constexpr std::array<std::string_view, 3> kExcludableByModelopt{"MatMul", "Gemm", "Gather"};

}  // namespace thaw::ops
