#include <cstring>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "thaw/core/error.h"
#include "thaw/core/error_testing.h"
#include "thaw/core/temp_folder_testing.h"
#include "thaw/ir/graph/builder.h"
#include "thaw/ir/wire/wire_encoder.h"

namespace thaw::ir {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  return names;
}

std::vector<float> ramp(size_t size, float start) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) values[i] = start + static_cast<float>(i);
  return values;
}

// Two weights of 2,003 and 509 floats, and a small one.
std::unique_ptr<Model> model_with_weights(float start = 0) {
  ModelBuilder m;
  Value* x = m.add_input("x", DataType::kFloat, {"n", 1});
  Value* a = m.add_floats("a", {2003}, ramp(2003, start));
  Value* b = m.add_floats("b", {509}, ramp(509, start + 5000));
  Value* c = m.add_floats("c", {3}, ramp(3, start));
  m.add_output(m.add_node("Sum", {x, a, m.add_node("ReduceSum", {b}), m.add_node("ReduceSum", {c})}));
  return m.build();
}

std::vector<double> values_of(const Model& model, const char* name) {
  return model.graph->find(name)->constant()->to_double();
}

void expect_weights(const Model& model, double start = 0) {
  EXPECT_EQ(values_of(model, "a").size(), 2003u);
  EXPECT_EQ(values_of(model, "a")[1999], start + 1999);
  EXPECT_EQ(values_of(model, "b")[508], start + 5508);
  EXPECT_THAT(values_of(model, "c"), ElementsAre(start, start + 1, start + 2));
}

const SaveOptions kSingle{.external = ExternalPolicy::kSingle};
const SaveOptions kInline{.external = ExternalPolicy::kInline};

TEST(Save, WritesOneDataFileAlignedToPages) {
  TempFolder folder;
  save(*model_with_weights(), folder / "m.onnx", kSingle);
  EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre("m.onnx", "m.onnx.data"));
  const auto model = load(folder / "m.onnx");
  EXPECT_EQ(model->graph->find("a")->initializer()->external()->location, "m.onnx.data");
  EXPECT_EQ(model->graph->find("b")->initializer()->external()->offset, 8192u);
  EXPECT_EQ(model->graph->find("c")->initializer()->external(), nullptr);  // below the threshold
  expect_weights(*model);
}

TEST(Save, InlinesExternalData) {
  TempFolder folder;
  save(*model_with_weights(), folder / "m.onnx", kSingle);
  save(*load(folder / "m.onnx"), folder / "i.onnx", kInline);
  fs::remove(folder / "m.onnx.data");
  const auto model = load(folder / "i.onnx");
  EXPECT_EQ(model->graph->find("a")->initializer()->external(), nullptr);
  expect_weights(*model);
}

TEST(Save, OverItselfInEachWay) {
  for (const SaveOptions& options : {SaveOptions{}, kSingle, kInline}) {
    TempFolder folder;
    save(*model_with_weights(), folder / "m.onnx", kSingle);
    auto model = load(folder / "m.onnx");
    save(*model, folder / "m.onnx", options);
    expect_weights(*load(folder / "m.onnx"));
    expect_weights(*model);  // the old one still reads what it was loaded with
  }
}

TEST(Save, GatherOverTheModelsOwnDataInAnotherOrder) {
  TempFolder folder;
  save(*model_with_weights(), folder / "m.onnx", kSingle);
  const auto model = load(folder / "m.onnx");
  // The first weight goes, so that the second takes its place in the file.
  model->graph->replace_uses(model->graph->find("a"), model->graph->find("x"));
  model->graph->remove_initializer(model->graph->find("a"));
  save(*model, folder / "m.onnx", kSingle);
  const auto again = load(folder / "m.onnx");
  EXPECT_EQ(again->graph->find("b")->initializer()->external()->offset, 0u);
  EXPECT_EQ(values_of(*again, "b")[508], 5508);
  EXPECT_EQ(values_of(*model, "b")[508], 5508);
  // The old model in memory refers to data that lies elsewhere now: leaving it where it is would be wrong.
  EXPECT_THAT(error_of([&] { save(*model, folder / "k.onnx"); }), HasSubstr("changed since the model was loaded"));
}

TEST(Save, TwoModelsOverOneDataFile) {
  TempFolder folder;
  SaveOptions options = kSingle;
  options.location = "w.data";
  save(*model_with_weights(), folder / "one.onnx", options);
  const auto one = load(folder / "one.onnx");
  one->graph->rename(one->graph->find("x"), "renamed");
  save(*one, folder / "two.onnx");
  const auto two = load(folder / "two.onnx");
  EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre("one.onnx", "two.onnx", "w.data"));
  expect_weights(*two);
  // One of them goes to a file of its own; the other is as it was.
  save(*two, folder / "two.onnx", kSingle);
  expect_weights(*load(folder / "one.onnx"));
  expect_weights(*load(folder / "two.onnx"));
  // Both are saved elsewhere: each has data of its own there.
  fs::create_directory(folder / "there");
  save(*load(folder / "one.onnx"), folder / "there/one.onnx");
  save(*one, folder / "there/again.onnx");
  EXPECT_THAT(names_in(folder / "there"),
              UnorderedElementsAre("one.onnx", "one.onnx.data", "again.onnx", "again.onnx.data"));
  expect_weights(*load(folder / "there/again.onnx"));
}

TEST(Save, DoesNotReplaceForeignDataFiles) {
  TempFolder folder;
  save(*model_with_weights(), folder / "m.onnx", kSingle);
  folder.write("there/m.onnx.data", "something else");
  EXPECT_THAT(save(*load(folder / "m.onnx"), folder / "there/m.onnx"),
              ElementsAre(folder / "there/m.onnx", folder / "there/m.onnx.1.data"));
  EXPECT_EQ(content_of(folder / "there/m.onnx.data"), "something else");
  expect_weights(*load(folder / "there/m.onnx"));
}

TEST(Save, DataOfTheModelThatIsReplacedGoes) {
  TempFolder folder;
  const fs::path path = folder / "m.onnx";
  for (const char* name : {"m.onnx.data", "m.onnx.1.data", "m.onnx.data"}) {
    EXPECT_THAT(save(*model_with_weights(), path, kSingle), ElementsAre(path, folder / name));
    EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre("m.onnx", name));
  }
  // Another model that uses it keeps it.
  save(*load(path), folder / "n.onnx");
  save(*model_with_weights(7), path, kSingle);
  expect_weights(*load(folder / "n.onnx"));
  expect_weights(*load(path), 7);
  save(*model_with_weights(), path, kInline);
  EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre("m.onnx", "n.onnx", "m.onnx.data"));
}

TEST(Save, NeverOverItsOwnDataNorIntoAFolder) {
  TempFolder folder;
  save(*model_with_weights(), folder / "m.onnx", kSingle);
  const auto model = load(folder / "m.onnx");
  for (const SaveOptions& options : {SaveOptions{}, kSingle, kInline})
    EXPECT_THAT(error_of([&] { save(*model, folder / "m.onnx.data", options); }), HasSubstr("holds the weights"));
  EXPECT_THAT(error_of([&] { save(*model, folder.path() / ""); }), HasSubstr("names a folder"));
  expect_weights(*load(folder / "m.onnx"));
}

TEST(Save, DataFilesOfTwoFoldersUnderOneName) {
  TempFolder folder;
  fs::create_directory(folder / "p");
  fs::create_directory(folder / "q");
  save(*model_with_weights(0), folder / "p/m.onnx", kSingle);
  save(*model_with_weights(100), folder / "q/m.onnx", kSingle);
  const auto model = load(folder / "p/m.onnx");
  const auto other = load(folder / "q/m.onnx");
  model->graph->replace_initializer(model->graph->find("b"), *other->graph->find("b")->initializer());
  fs::create_directory(folder / "r");
  save(*model, folder / "r/m.onnx");
  const auto merged = load(folder / "r/m.onnx");
  EXPECT_EQ(values_of(*merged, "a")[1999], 1999);
  EXPECT_EQ(values_of(*merged, "b")[508], 5608);
}

TEST(Save, NeverThroughLinksAndNothingWhenItFails) {
  TempFolder folder;
  folder.write("kept", "kept");
  fs::create_symlink(folder / "kept", folder / "m.onnx");
  const auto model = model_with_weights();
  EXPECT_THAT(error_of([&] { save(*model, folder / "m.onnx"); }), HasSubstr("symbolic link"));
  fs::create_symlink(folder / "kept", folder / "n.onnx.data");
  EXPECT_THAT(error_of([&] { save(*model, folder / "n.onnx", kSingle); }), HasSubstr("symbolic link"));
  EXPECT_EQ(content_of(folder / "kept"), "kept");
  EXPECT_FALSE(fs::exists(folder / "n.onnx"));
  SaveOptions outside = kSingle;
  outside.location = "../w.data";
  EXPECT_THAT(error_of([&] { save(*model, folder / "n.onnx", outside); }), HasSubstr("not in the model's folder"));
  EXPECT_THAT(names_in(folder.path()), UnorderedElementsAre("kept", "m.onnx", "n.onnx.data"));
}

TEST(Save, RefusesWhatWouldNotLoad) {
  ModelBuilder m;
  Value* x = m.add_input("x", DataType::kFloat, {2});
  Graph& graph = *m.model().graph;
  Value* made_late = graph.add_value("made_late");
  graph.add_node("Neg", "", {made_late}, {graph.add_value("y")});
  graph.add_node("Abs", "", {x}, {made_late});
  EXPECT_THAT(error_of([&] { serialize(m.model()); }),
              AllOf(HasSubstr("stands before"), HasSubstr("sort_topologically")));
  graph.sort_topologically();
  EXPECT_EQ(error_of([&] { serialize(m.model()); }), "no error");
}

TEST(Save, RefusesReadsThatANameWouldNotLeadTo) {
  ModelBuilder m;
  Value* x = m.add_input("x", DataType::kBool, {});
  auto body = std::make_shared<Graph>();
  body->add_input("x", tensor_type(DataType::kBool, {}));  // hides the outer one
  body->add_node("Not", "", {x}, {body->add_value("y")});
  m.add_node("If", {x}, {{"then_branch", body}});
  EXPECT_THAT(error_of([&] { serialize(m.model()); }), HasSubstr("name does not lead to"));
}

TEST(Save, DeclarationsFollowTheType) {
  // An output that stands twice and is in value_info besides: all say what Value::type says once that has changed.
  ModelBuilder m;
  Value* x = m.add_input("x", DataType::kFloat, {"n"});
  Value* y = m.add_node("Relu", {x});
  m.graph().set_value_info(y, tensor_type(DataType::kFloat, {"old"}));
  m.add_output(y);
  m.add_output(y);
  const std::string text = serialize(m.model());
  const auto owned = std::make_shared<std::string>(text);
  const auto model = parse(std::as_bytes(std::span(*owned)), owned);
  EXPECT_EQ(serialize(*model), text);
  model->graph->find(y->name())->set_type(tensor_type(DataType::kFloat, {"fresh"}));
  const std::string changed = serialize(*model);
  EXPECT_EQ(changed.find("old"), std::string::npos);
  size_t count = 0;
  for (size_t at = changed.find("fresh"); at != std::string::npos; at = changed.find("fresh", at + 1)) ++count;
  EXPECT_EQ(count, 3u);
}

// External data that must not be followed.
struct Hostile : testing::Test {
  TempFolder folder;
  fs::path inside = folder / "model";
  void SetUp() override {
    fs::create_directory(inside);
    folder.write("model/ok.bin", std::string(64, '\1'));
    folder.write("secret", std::string(64, '\2'));
  }

  // Loads a model with one float32 tensor of `elements` at that location, and reads it.
  std::string outcome(const std::string& location, const std::string& offset = "0", int elements = 4,
                      const std::string& length = {}) {
    std::string entries;
    const auto entry = [&](const std::string& key, const std::string& value) {
      std::string text;
      text +=
          fmt::format("\x0a{}{}\x12{}{}", static_cast<char>(key.size()), key, static_cast<char>(value.size()), value);
      entries += fmt::format("\x6a{}{}", static_cast<char>(text.size()), text);
    };
    entry("location", location);
    entry("offset", offset);
    if (!length.empty()) entry("length", length);
    std::string tensor = fmt::format("\x08{}\x10\x01\x42\x01w", static_cast<char>(elements)) + entries + "\x70\x01";
    std::string graph = fmt::format("\x2a{}\x01", static_cast<char>(tensor.size() | 0x80)) + tensor;
    if (tensor.size() < 128) graph = fmt::format("\x2a{}", static_cast<char>(tensor.size())) + tensor;
    std::string file = std::string("\x08\x0a\x3a") +
                       (graph.size() < 128 ? fmt::format("{}", static_cast<char>(graph.size()))
                                           : fmt::format("{}\x01", static_cast<char>(graph.size() | 0x80))) +
                       graph;
    folder.write("model/m.onnx", file);
    std::unique_ptr<Model> model;
    try {
      model = load(inside / "m.onnx");
    } catch (const Error& error) {
      return std::string("load: ") + error.what();
    }
    try {
      return fmt::format("read {}", model->graph->find("w")->initializer()->bytes().size());
    } catch (const Error& error) {
      return std::string("read: ") + error.what();
    }
  }
};

TEST_F(Hostile, GoodDataIsRead) {
  EXPECT_EQ(outcome("ok.bin"), "read 16");
  EXPECT_EQ(outcome("./ok.bin", "48", 4, "16"), "read 16");
  EXPECT_EQ(outcome("ok.bin", "64", 0), "read 0");
}

TEST_F(Hostile, PathsOutOfTheFolder) {
  EXPECT_THAT(outcome("../secret"), AllOf(HasSubstr("load:"), HasSubstr("leaves the model's folder")));
  EXPECT_THAT(outcome("ok/../../secret"), HasSubstr("leaves"));
  EXPECT_THAT(outcome((folder / "secret").string()), HasSubstr("absolute"));
  EXPECT_THAT(outcome(""), HasSubstr("names no file"));
  EXPECT_THAT(outcome("."), HasSubstr("names no file"));
  EXPECT_THAT(outcome(std::string("ok.bin\0x", 8)), HasSubstr("zero byte"));
}

TEST_F(Hostile, Links) {
  fs::create_symlink(folder / "secret", inside / "link");
  EXPECT_THAT(outcome("link"), AllOf(HasSubstr("load:"), HasSubstr("symbolic link 'link'")));
  fs::create_symlink(folder.path(), inside / "up");
  EXPECT_THAT(outcome("up/secret"), HasSubstr("symbolic link 'up'"));
  fs::create_symlink(inside / "ok.bin", inside / "in");
  EXPECT_THAT(outcome("in"), HasSubstr("symbolic link"));
  fs::create_hard_link(folder / "secret", inside / "hard");
  EXPECT_THAT(outcome("hard"), HasSubstr("2 hard links"));
}

TEST_F(Hostile, NotRegularFiles) {
  fs::create_directory(inside / "d");
  EXPECT_THAT(outcome("d"), HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo((inside / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(outcome("pipe"), HasSubstr("not a regular file"));
  EXPECT_THAT(outcome("ok.bin/x"), HasSubstr("cannot be opened"));
}

TEST_F(Hostile, RangesOutOfTheFile) {
  EXPECT_THAT(outcome("ok.bin", "49"),
              AllOf(HasSubstr("load:"), HasSubstr("16 bytes at offset 49"), HasSubstr("has 64")));
  EXPECT_THAT(outcome("ok.bin", "4611686018427387904"), HasSubstr("offset 4611686018427387904"));
  EXPECT_THAT(outcome("ok.bin", "18446744073709551615"), HasSubstr("below 2^63"));
  EXPECT_THAT(outcome("ok.bin", "18446744073709551616"), HasSubstr("'18446744073709551616'"));
  EXPECT_THAT(outcome("ok.bin", "-1"), HasSubstr("'-1'"));
  EXPECT_THAT(outcome("ok.bin", "0x10"), HasSubstr("'0x10'"));
  EXPECT_THAT(outcome("ok.bin", "0", 4, "15"), HasSubstr("has 15 bytes; expected 16"));
}

TEST_F(Hostile, AMissingFileOnlyMattersWhenItIsRead) {
  EXPECT_THAT(outcome("gone.bin"), AllOf(HasSubstr("read:"), HasSubstr("'gone.bin' is missing")));
  EXPECT_THAT(outcome("no/such/folder.bin"), HasSubstr("read:"));
}

TEST_F(Hostile, AFileThatChangesIsNoticed) {
  outcome("ok.bin");
  const auto model = load(inside / "m.onnx");
  folder.write("model/ok.bin.new", std::string(64, '\3'));
  fs::rename(inside / "ok.bin.new", inside / "ok.bin");
  EXPECT_THAT(error_of([&] { static_cast<void>(model->graph->find("w")->constant()->bytes()); }),
              HasSubstr("changed since the model was loaded"));
}

}  // namespace
}  // namespace thaw::ir
