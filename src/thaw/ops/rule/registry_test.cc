// The registry against the official schemas: a rule for every operator.
#include "thaw/ops/rule/registry.h"

#include <set>
#include <string>

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

namespace thaw::ops {
namespace {

TEST(Registry, HasARuleForEveryOperatorOfOnnx) {
  std::set<std::string> missing;
  for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    const OpEntry* entry = registry().find(schema.domain(), schema.Name());
    if (!entry || !entry->shape) missing.insert(schema.domain() + "." + schema.Name());
  }
  EXPECT_TRUE(missing.empty()) << testing::PrintToString(missing);
}

TEST(Registry, RefusesAnOperatorTwice) {
  Registry r;
  OpEntry entry{"", "Twice", [](Context&) {}};
  r.add(entry);
  EXPECT_THROW(r.add(entry), std::logic_error);
}

TEST(Registry, ListsOperatorsInOrder) {
  auto all = registry().all();
  ASSERT_GT(all.size(), 300u);
  for (size_t i = 1; i < all.size(); ++i)
    EXPECT_LT(std::tie(all[i - 1]->domain, all[i - 1]->name), std::tie(all[i]->domain, all[i]->name));
}

}  // namespace
}  // namespace thaw::ops
