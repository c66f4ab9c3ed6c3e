#include "thaw/ir/wire/node_metadata.h"

#include "thaw/ir/wire/fields.h"
#include "thaw/ir/wire/reader.h"
#include "thaw/ir/wire/wire.h"

namespace thaw::ir {

std::string_view metadata_of(const Node& node, std::string_view key) {
  try {
    wire::Field field;
    for (wire::Reader reader(node.extra); reader.next(field);) {
      if (field.tag != wire::bytes_tag(field::node::kMetadata)) continue;
      const StringEntry entry = read_entry(field.bytes);
      if (entry.key == key) return entry.value;
    }
  } catch (const wire::Malformed&) {
    // Kept as it came, and never looked into before.
  }
  return {};
}

}  // namespace thaw::ir
