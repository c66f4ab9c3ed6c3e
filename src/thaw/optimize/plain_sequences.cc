// Sequences and optionals whose items are tensors that one can name: they need not be there.
#include "thaw/optimize/passes.h"

namespace thaw::optimizing {
namespace {

// The item at a constant position of a sequence that is put together here.
ir::Value* item(const Site& s) {
  const ir::Node* sequence = s.made_by(0, "SequenceConstruct");
  const auto position = s.integers(1, "");
  if (!sequence || !position || position->size() != 1) return nullptr;
  const auto items = sequence->inputs();
  const auto count = static_cast<int64_t>(items.size());
  const int64_t at = position->front() < 0 ? position->front() + count : position->front();
  return at >= 0 && at < count ? items[static_cast<size_t>(at)] : nullptr;
}

ir::Value* concatenated(const Site& s) {
  const ir::Node* sequence = s.made_by(0, "SequenceConstruct");
  if (!sequence) return nullptr;
  const int64_t axis = s.node().attribute_int("axis", 0);
  std::vector<ir::Value*> parts;
  for (ir::Value* part : sequence->inputs())
    parts.push_back(s.node().attribute_int("new_axis", 0) != 0 ? s.at().unsqueeze(part, {axis}) : part);
  return s.at().concat(std::move(parts), axis);
}

ir::Value* count(const Site& s) {
  const ir::Node* sequence = s.made_by(0, "SequenceConstruct");
  return sequence ? s.at().integer(static_cast<int64_t>(sequence->inputs().size())) : nullptr;
}

// What is put into an Optional is there.
ir::Value* element(const Site& s) {
  if (s.in(0).is_tensor() || s.in(0).kind == ops::Fact::Kind::kSequence) return s.input(0);
  const ir::Node* optional = s.made_by(0, "Optional");
  return optional ? optional->input(0) : nullptr;
}

ir::Value* is_there(const Site& s) {
  return s.input(0) && element(s) ? s.at().cast(s.at().integer(1), ir::DataType::kBool) : nullptr;
}

const Simplification kPlainSequences[] = {
    {"read a sequence's item directly", {"SequenceAt"}, item},
    {"join without a sequence", {"ConcatFromSequence"}, concatenated},
    {"count a sequence", {"SequenceLength"}, count},
    {"read an optional's element directly", {"OptionalGetElement"}, element},
    {"know that an optional is there", {"OptionalHasElement"}, is_there},
};

}  // namespace

std::span<const Simplification> plain_sequences() { return kPlainSequences; }

}  // namespace thaw::optimizing
