// Small models for tests of shape rules: build, infer, read sizes as text.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thaw/infer/infer.h"
#include "thaw/ir/graph/builder.h"
#include "thaw/ops/rule/fact.h"

namespace thaw::ops {

// A model under inference; what it found of its outputs.
//
//   RuleModel m;
//   auto* x = m.add_input("x", ir::DataType::kFloat, {"n", 6});
//   m.add_output(m.add_node("Reshape", {x, m.add_ints("", {0, -1, 3})}));
//   EXPECT_EQ(m.dims(), "n, 2, 3");
class RuleModel : public ir::ModelBuilder {
 public:
  explicit RuleModel(int64_t opset = 21) : ir::ModelBuilder(opset) {}

  const infer::Result& result();
  const Fact& output(int i = 0);
  // "n, 3, ?"; "rank ?" where the rank is not known.
  std::string dims(int i = 0);
  // Elements of a followed output: "2*n, 3, ?"; "none" where they are not followed.
  std::string elements(int i = 0);
  // Obligations as "a == b", "a ~ b" (broadcast), "a % b", "a <= b", one a line.
  std::string obligations();
  bool has_problem() { return !result().problems().empty(); }
  // The sizes of an output with these values for the symbols, by name; nullopt where one is not known.
  using Values = std::vector<std::pair<std::string, int64_t>>;
  std::optional<std::vector<int64_t>> sizes_at(const Values& values, int i = 0);

 private:
  dim::Scope scope_;
  std::unique_ptr<ir::Model> built_;
  std::optional<infer::Result> result_;
};

}  // namespace thaw::ops
