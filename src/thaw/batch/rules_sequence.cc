// Batch rules of sequences and optionals: a sequence over samples is one whose items each hold all samples, leading.
#include <fmt/format.h>

#include "thaw/batch/node_batch.h"

namespace thaw::batch {
namespace {

void shift_axis(NodeBatch& n, int64_t otherwise) {
  const int64_t axis = n.node().attribute_int("axis", otherwise);
  n.node().set_attribute({"axis", NodeBatch::shifted(axis)});
  n.note_change();
}

}  // namespace

void batch_sequence(NodeBatch& n, const ops::Batching&) {
  const std::string& op = n.node().op_type();
  if (op == "SequenceConstruct") {
    for (int i = 0; i < n.num_inputs(); ++i) n.set_operand(i, n.leading(i));
    return n.keep(Form::kLeading);
  }
  const int items = op == "SequenceInsert" ? 2 : 1;  // operands that hold items; a position or sizes follow
  for (int i = items; i < n.num_inputs(); ++i)
    if (n.is_batched(i)) NodeBatch::refuse(fmt::format("its operand {} differs from sample to sample", i));
  for (int i = 0; i < items; ++i) n.set_operand(i, n.leading(i));
  if (op == "ConcatFromSequence" || op == "SplitToSequence") shift_axis(n, 0);
  n.keep(Form::kLeading);
}

void batch_length(NodeBatch& n, const ops::Batching&) {
  // As many items for all samples.
  n.set_operand(0, n.leading(0));
}

}  // namespace thaw::batch
