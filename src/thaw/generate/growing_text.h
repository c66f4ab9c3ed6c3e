// Text as tokens complete it.
//
// A token may end in the middle of a character, which a tokenizer shows as U+FFFD, and what a token stands for may depend on
// the one before (the space that begins a word). So a few tokens back are decoded along, and what they add is what counts:
// the cost of a token does not grow with the text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace thaw::generating {

class GrowingText {
 public:
  using Decode = std::function<std::string(std::span<const int64_t>)>;
  explicit GrowingText(Decode decode) : decode_(std::move(decode)) {}

  // What this token adds to what is complete; characters that turn out to be broken come as one U+FFFD. `is_last`: nothing more
  // will complete it.
  std::string add(int64_t token, bool is_last);
  // All of it, with what was still waiting.
  const std::string& finish();

 private:
  std::string take(bool all);
  // What tokens [first, last) add behind those that stand before them.
  std::string behind(size_t from, size_t first) const;
  std::string taken(std::string added);

  Decode decode_;
  std::vector<int64_t> tokens_;
  size_t context_ = 0;  // tokens from here on are decoded along
  size_t shown_ = 0;    // tokens whose text was given
  std::string text_;
};

}  // namespace thaw::generating
