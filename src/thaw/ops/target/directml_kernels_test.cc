// DirectML's tables against ONNX Runtime's published one, where that is at hand.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "thaw/ops/target/target.h"

namespace thaw::ops {
namespace {

// Domain, operator, opset of the kernel, type parameter -> types.
using Rows = std::map<std::tuple<std::string, std::string, int, std::string>, TypeSet>;

TypeSet read_type(std::string text) {
  Container container = Container::kTensor;
  auto strip = [&](std::string_view prefix) {
    if (!text.starts_with(prefix)) return false;
    text.erase(0, prefix.size());
    return true;
  };
  bool optional = strip("optional(");
  bool sequence = strip("seq(");
  if (optional) container = sequence ? Container::kOptionalSequence : Container::kOptional;
  if (!optional && sequence) container = Container::kSequence;
  auto type = ir::data_type_from_name(text);
  EXPECT_TRUE(type) << text;
  return TypeSet::in(container, TypeSet::of({type.value_or(ir::DataType::kUndefined)}));
}

Rows read_table(std::istream& in) {
  Rows rows;
  std::string line;
  auto cut = [](std::string& text, std::string_view at) {
    size_t end = text.find(at);
    std::string head = text.substr(0, end);
    text.erase(0, end == std::string::npos ? end : end + at.size());
    return head;
  };
  while (std::getline(in, line)) {
    if (line.starts_with('#') || line.starts_with("domain\t")) continue;
    std::string domain = cut(line, "\t"), op = cut(line, "\t"), opset = cut(line, "\t");
    if (domain == "ai.onnx") domain.clear();
    while (!line.empty()) {
      std::string types = cut(line, "; ");
      std::string parameter = cut(types, " = ");
      TypeSet& set = rows[{domain, op, std::stoi(opset), parameter}];
      while (!types.empty()) set = set | read_type(cut(types, ", "));
    }
  }
  return rows;
}

Rows our_table() {
  Rows rows;
  for (const TargetDomain& domain : find_target("directml")->domains) {
    for (const Kernels& row : domain.kernels) {
      for (int8_t opset : row.opsets) {
        for (const TypeConstraint& c : row.constraints) {
          if (opset == 0 || c.parameter.empty()) continue;
          auto key =
              std::make_tuple(std::string(domain.name), std::string(row.op), int{opset}, std::string(c.parameter));
          EXPECT_TRUE(rows.emplace(key, c.types).second) << row.op << " " << int{opset} << " stands twice";
        }
      }
    }
  }
  return rows;
}

TEST(DirectMl, AgreesWithThePublishedTable) {
  const char* shared = std::getenv("THAW_SHARED");
  const char* source = std::getenv("THAW_SOURCE_DIR");
  auto path =
      (shared ? std::filesystem::path(shared) : std::filesystem::path(source ? source : ".") / ".." / "shared") /
      "directml_kernels.tsv";
  std::ifstream in(path);
  if (!in) GTEST_SKIP() << "../shared/directml_kernels.tsv is not there: the table is not compared with it";
  const Rows published = read_table(in);
  const Rows ours = our_table();
  ASSERT_GT(published.size(), 400u);
  for (const auto& [key, types] : published) {
    auto it = ours.find(key);
    ASSERT_NE(it, ours.end()) << std::get<1>(key) << " " << std::get<2>(key) << " " << std::get<3>(key);
    EXPECT_EQ(to_string(it->second), to_string(types)) << std::get<1>(key) << " " << std::get<2>(key);
  }
  EXPECT_EQ(ours.size(), published.size());
}

}  // namespace
}  // namespace thaw::ops
