// Keys and values of earlier tokens: past ones concatenated with those of the new tokens.
#pragma once

#include <optional>
#include <string>

#include "thaw/optimize/attention/heads.h"

namespace thaw::optimizing {

// all = Concat(past, now), all of them [batch, kv heads, positions, width].
struct CachedPart {
  Shaped past, now;
  ir::Value* all = nullptr;
};

struct FoundCache {
  CachedPart key, value;
};

// What keys and values are concatenated of; nullopt where they are not, and, with why, where an operator would not concatenate alike.
std::optional<FoundCache> find_cache(const FoundHeads& heads, const infer::Inference& facts, std::string& why);

// Removes the nodes that made `unread`, as far as nothing else reads their outputs.
void remove_what_gave(ir::Value& unread);

// Whether what is concatenated may come from `attention` instead, as `present`: all that reads it stands after that node. Takes away what
// reads it and is read by nothing itself.
bool may_come_from(const ir::Node& attention, ir::Value& all, const ir::Value& present);

}  // namespace thaw::optimizing
