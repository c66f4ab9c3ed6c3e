// Positions of tokens in a prompt: one number each, or three for the VL models of Qwen.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace thaw::generating {

// Tokens of an image or a clip: groups x height x width, as the language model sees them.
struct TokenGrid {
  int64_t height = 0, width = 0;
  int64_t groups = 1;  // of frames
  float step = 1;      // of time from one group to the next; what a time comes to is cut to a whole number
};

// What one token stands for in a prompt, in the order of the prompt.
struct Pictures {
  int64_t token = -1;  // negative: there are none
  std::vector<TokenGrid> grids;
};

// [3, tokens]: time, height and width of each token. Text counts on, all three alike; an image's tokens have one time, and the
// rows and columns of its grid, all from where the text stood; a clip's groups of frames have times of their own. Text goes on
// behind the larger side of the grid, and what is generated behind the largest number of all. M-RoPE: "Qwen2-VL", arXiv
// 2409.12191, section 2.1, with the steps of "Qwen2.5-VL", arXiv 2502.13923, section 2.1.3. Throws thaw::Error
// (kInvalidArgument) where the tokens have other images than the grids.
struct RopePositions {
  std::array<std::vector<int64_t>, 3> axes;
  int64_t next = 0;  // of what comes behind the prompt
};
RopePositions rope_positions(const std::vector<int64_t>& ids, const std::vector<Pictures>& kinds);

}  // namespace thaw::generating
