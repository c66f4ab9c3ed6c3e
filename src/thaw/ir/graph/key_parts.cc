#include "thaw/ir/graph/key_parts.h"

#include <algorithm>

namespace thaw::ir {

bool append_payload(std::string& key, const Attribute& attribute, bool (*append_tensor)(std::string&, const Tensor&)) {
  append_raw(key, attribute.value.index());
  if (const auto* number = attribute.as<float>()) {
    append_raw(key, *number);
  } else if (const auto* integer = attribute.as<int64_t>()) {
    append_raw(key, *integer);
  } else if (const auto* text = attribute.as<std::string>()) {
    append_text(key, *text);
  } else if (const auto* numbers = attribute.as<std::vector<float>>()) {
    append_list(key, *numbers);
  } else if (const auto* integers = attribute.as<std::vector<int64_t>>()) {
    append_list(key, *integers);
  } else if (const auto* texts = attribute.as<std::vector<std::string>>()) {
    append_raw(key, texts->size());
    for (const std::string& one : *texts) append_text(key, one);
  } else if (const auto* tensor = attribute.as<std::shared_ptr<Tensor>>()) {
    return *tensor && append_tensor(key, **tensor);
  } else {
    return false;
  }
  return true;
}

std::vector<const Attribute*> attributes_by_name(const Node& node) {
  std::vector<const Attribute*> attributes;
  for (const Attribute& attribute : node.attributes()) attributes.push_back(&attribute);
  std::ranges::sort(attributes, {}, [](const Attribute* a) -> const std::string& { return a->name; });
  return attributes;
}

}  // namespace thaw::ir
