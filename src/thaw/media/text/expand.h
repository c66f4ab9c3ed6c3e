// Placeholders in token ids, as many as there are features.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thaw::media {

// One for each kind of file: the id that stands for one in the text, and the tokens that each is, in their order.
struct Placeholder {
  std::string what;  // "image", for messages
  int64_t id = -1;
  std::vector<int64_t> tokens;
};

// Each placeholder's id repeated as often as its file has tokens, as transformers' processors repeat its text. Throws
// thaw::Error (kInvalidArgument) where the text has another number of them than there are files.
std::vector<int64_t> expanded(const std::vector<int64_t>& ids, const std::vector<Placeholder>& placeholders);

}  // namespace thaw::media
