// Positions of tokens in a prompt: one number each, or three for the VL models of Qwen.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace thaw::generating {

// Tokens of an image: height x width, as the language model sees them.
struct TokenGrid {
  int64_t height = 0, width = 0;
};

// [3, tokens]: time, height and width of each token. Text counts on, all three alike; an image's tokens have one time, and the
// rows and columns of its grid, all from where the text stood; text goes on behind the largest of them. M-RoPE: "Qwen2-VL",
// arXiv 2409.12191, section 2.1. `image_token`: negative where there is none. Throws thaw::Error (kInvalidArgument) where the
// tokens have other images than the grids.
struct RopePositions {
  std::array<std::vector<int64_t>, 3> axes;
  int64_t next = 0;  // of what comes behind the prompt
};
RopePositions rope_positions(const std::vector<int64_t>& ids, int64_t image_token, const std::vector<TokenGrid>& grids);

}  // namespace thaw::generating
