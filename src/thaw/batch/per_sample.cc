// An operator without a batch rule, sample by sample: a Scan whose body is the operator.
#include <fmt/format.h>

#include "thaw/batch/walk.h"
#include "thaw/rewrite/splice.h"

namespace thaw::batching {

using ops::BatchContext;

void run_per_sample(BatchContext& n) {
  ir::Node& node = n.node();
  constexpr int64_t kOpsetOfScan = 9;  // before it, a Scan has a batch axis of its own, or there is none
  if (n.writer().opset() < kOpsetOfScan) BatchContext::refuse("it needs a Scan of opset 9 or later");
  if (!node.subgraphs().empty()) BatchContext::refuse("it has graphs of its own");
  ir::Graph& outer = n.graph();
  auto body = std::make_shared<ir::Graph>();
  body->name = outer.unique_name("batch_sample");

  std::vector<ir::Value*> scanned, operands;
  for (int i = 0; i < n.num_inputs(); ++i) {
    if (!n.is_batched(i)) {
      operands.push_back(n.original(i));
      continue;
    }
    const ops::Fact& fact = n.input(i);
    ir::Type type = ir::Type::tensor(fact.dtype);
    ir::Value* sample = body->add_input(outer.unique_name(fmt::format("sample_{}", i)), type);
    operands.push_back(sample);
    scanned.push_back(n.leading(i));
  }
  std::vector<ir::Value*> results, stacked;
  std::vector<int> at;
  for (int i = 0; i < static_cast<int>(node.outputs().size()); ++i) {
    ir::Value* output = node.output(i);
    results.push_back(output ? body->add_value(outer.unique_name(output->name() + "_sample")) : nullptr);
    if (!output) continue;
    stacked.push_back(outer.add_value(outer.unique_name(output->name() + "_batch")));
    at.push_back(i);
  }
  const int64_t count = static_cast<int64_t>(scanned.size());
  ir::Node* scan =
      outer.add_node("Scan", "", scanned, stacked, outer.unique_name(node.op_type() + "_per_sample"), &node);
  // The body is attached before it reads values of the graph around it.
  scan->set_attribute({"body", body});
  scan->set_attribute({"num_scan_inputs", count});
  rewrite::copy_node(node, *body, operands, results, node.op_type());
  for (size_t k = 0; k < at.size(); ++k) {
    ir::Value* result = results[static_cast<size_t>(at[k])];
    result->set_type(ir::Type::tensor(n.output(at[k]).dtype));
    body->add_output(result);
    n.become(at[k], stacked[k], ops::Form::kLeading);
  }
}

}  // namespace thaw::batching
