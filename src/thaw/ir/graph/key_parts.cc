#include "thaw/ir/graph/key_parts.h"

#include <algorithm>

namespace thaw::ir {

std::vector<const Attribute*> attributes_by_name(const Node& node) {
  std::vector<const Attribute*> attributes;
  for (const Attribute& attribute : node.attributes()) attributes.push_back(&attribute);
  std::ranges::sort(attributes, {}, [](const Attribute* a) -> const std::string& { return a->name; });
  return attributes;
}

}  // namespace thaw::ir
