// What keys of nodes are made of: numbers as they lie in memory, lists and texts with their lengths before them, so that two
// keys are equal only where all parts are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "thaw/ir/graph/graph.h"

namespace thaw::ir {

template <typename T>
void append_raw(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

template <typename T>
void append_list(std::string& key, const std::vector<T>& list) {
  append_raw(key, list.size());
  for (const T& item : list) append_raw(key, item);
}

inline void append_text(std::string& key, std::string_view text) {
  append_raw(key, text.size());
  key.append(text);
}

// The payload of an attribute; of a tensor, what append_tensor adds. False where that is false, and for graphs and types.
bool append_payload(std::string& key, const Attribute& attribute, bool (*append_tensor)(std::string&, const Tensor&));

// Files list them in any order.
std::vector<const Attribute*> attributes_by_name(const Node& node);

}  // namespace thaw::ir
