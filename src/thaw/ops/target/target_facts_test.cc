// The tables against an excerpt of their sources (target_facts.tsv), which was drawn from these at random and is read in another way.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "thaw/ops/target/target.h"

namespace thaw::ops {
namespace {

std::vector<std::string> split_text(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + separator.size();
  }
  return parts;
}

TypeSet types_in(const std::string& text) {
  TypeSet set;
  for (const std::string& name : split_text(text, ", ")) {
    const bool is_quantized = name.starts_with("qint") || name.starts_with("quint");
    const auto type = ir::data_type_from_name(is_quantized ? name.substr(1) : name);
    EXPECT_TRUE(type) << name;
    set = set | TypeSet::in(is_quantized ? Container::kQuantized : Container::kTensor,
                            TypeSet::of({type.value_or(ir::DataType::kUndefined)}));
  }
  return set;
}

// Without a condition that the excerpt does not have.
std::map<std::string, TypeSet> types_of(const Kernels& kernels) {
  std::map<std::string, TypeSet> types;
  for (const TypeConstraint& constraint : kernels.types)
    if (constraint.support == Support::kSupported) types[std::string(constraint.operands)] = constraint.types;
  return types;
}

TEST(TargetFacts, AgreeWithTheTables) {
  const char* source = std::getenv("THAW_SOURCE_DIR");
  const auto path = std::filesystem::path(source ? source : ".") / "src/thaw/ops/target/target_facts.tsv";
  std::ifstream in(path);
  ASSERT_TRUE(in) << path;
  std::map<std::string, int> rows;
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with('#')) continue;
    const std::vector<std::string> cells = split_text(line, "\t");
    ASSERT_EQ(cells.size(), 7u) << line;
    ++rows[cells[0]];
    const Target* target = find_target(cells[0]);
    ASSERT_NE(target, nullptr) << cells[0];
    const TargetDomain* domain = target->domain(cells[1] == "ai.onnx" ? "" : cells[1]);
    ASSERT_NE(domain, nullptr) << line;
    const int first = std::stoi(cells[3]);
    const auto match = find_kernel(*domain, cells[2], first);
    ASSERT_EQ(match.has_value(), cells[5] != "no") << line;
    if (!match) continue;
    EXPECT_EQ(match->opset, first) << line;
    if (!cells[4].empty()) {
      EXPECT_EQ(find_kernel(*domain, cells[2], std::stoi(cells[4]))->opset, first) << line;
    }
    const auto types = types_of(*match->kernels);
    if (cells[6] == "?") continue;
    size_t said = 0;
    for (const std::string& part : split_text(cells[6], "; ")) {
      if (part.empty()) continue;
      const std::vector<std::string> sides = split_text(part, " = ");
      ASSERT_EQ(sides.size(), 2u) << line;
      ASSERT_TRUE(types.contains(sides[0])) << line;
      EXPECT_EQ(to_string(types.at(sides[0])), to_string(types_in(sides[1]))) << line;
      ++said;
    }
    EXPECT_EQ(types.size(), said) << line;
  }
  EXPECT_EQ(rows.size(), target_names().size() - 2);  // all but portable and ort, which have no table
  for (const auto& [name, count] : rows) EXPECT_GE(count, 10) << name;
}

}  // namespace
}  // namespace thaw::ops
