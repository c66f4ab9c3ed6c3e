#include "thaw/rewrite/pass_testing.h"

#include <set>

#include <gtest/gtest.h>

#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/ir/wire/check_model_testing.h"

namespace thaw::rewrite {
namespace {

std::vector<std::string> names_of(const std::vector<ir::Value*>& values) {
  std::vector<std::string> names;
  for (const ir::Value* value : values) names.push_back(value->name());
  return names;
}

std::set<std::string> symbols_of_inputs(const ir::Model& model, const infer::Result& facts) {
  std::set<std::string> symbols;
  for (const ir::Value* input : model.graph->inputs()) {
    const ops::Fact& fact = facts.fact(input);
    if (fact.shape)
      for (const dim::Dim d : *fact.shape)
        if (d.is_symbolic()) symbols.insert(dim::to_string(d));
  }
  return symbols;
}

}  // namespace

void expect_ensured(const ir::Model& before, const ir::Model& after) {
  if (ir::check_model(before).empty()) {
    EXPECT_EQ(ir::check_model(after), std::vector<std::string>());
  }
  dim::Scope scope_before, scope_after;
  const infer::Result was = infer::infer(before, scope_before), is = infer::infer(after, scope_after);
  EXPECT_LE(is.problems().size(), was.problems().size());
  EXPECT_EQ(names_of(after.graph->inputs()), names_of(before.graph->inputs()));
  EXPECT_EQ(names_of(after.graph->outputs()), names_of(before.graph->outputs()));
  const std::set<std::string> alive = symbols_of_inputs(after, is);
  for (const std::string& symbol : symbols_of_inputs(before, was)) EXPECT_TRUE(alive.contains(symbol)) << symbol;
  const auto expect_free = [&](const ir::Value& value) {
    const ir::Value* same = after.graph->find(value.name());
    const ops::Fact &old = was.fact(&value), &now = is.fact(same);
    if (!same || !old.shape || !now.shape || old.rank() != now.rank()) return;
    for (int axis = 0; axis < old.rank(); ++axis)
      EXPECT_FALSE(old.dim(axis).is_symbolic() && now.dim(axis).is_constant())
          << "'" << value.name() << "' was " << dim::to_string(old.dim(axis)) << " on axis " << axis << ", is "
          << dim::to_string(now.dim(axis));
  };
  for (const ir::Node* node : before.graph->nodes())
    for (const ir::Value* output : node->outputs())
      if (output) expect_free(*output);
}

}  // namespace thaw::rewrite
