#include "thaw/run/handed_files.h"

#include <fstream>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "thaw/core/temp_folder_testing.h"
#include "thaw/run/message.h"

namespace thaw::run {
namespace {

namespace fs = std::filesystem;

class HandedFilesTest : public testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) {
    fs::path path = folder_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }
  static Message asks_for(const fs::path& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    MessageWriter writer;
    writer.put<uint64_t>(status.st_dev);
    writer.put<uint64_t>(status.st_ino);
    Message message;
    message.kind = MessageKind::kOpen;
    message.body = writer.take();
    return message;
  }
  // What can be read of what is handed over.
  static std::optional<std::string> given(const HandedFiles& files, const Message& wanted) {
    const UniqueFd file = files.open(wanted);
    if (!file) return std::nullopt;
    std::string text(100, '\0');
    text.resize(static_cast<size_t>(std::max<ssize_t>(0, ::pread(file.get(), text.data(), text.size(), 0))));
    return text;
  }

  TempFolder folder_;
};

TEST_F(HandedFilesTest, AreThoseOfTheRequestAndNoOther) {
  const fs::path model = write("models/m.onnx", "model"), data = write("models/sub/w.data", "weights"),
                 other = write("models/other.data", "another's"), outside = write("secret", "secret");
  HandedFiles files({model});
  files.add_data(folder_.path() / "models", {data});
  EXPECT_EQ(given(files, asks_for(model)), "model");
  EXPECT_EQ(given(files, asks_for(data)), "weights");
  EXPECT_EQ(given(files, asks_for(other)), std::nullopt);
  EXPECT_EQ(given(files, asks_for(outside)), std::nullopt);
  EXPECT_EQ(given(files, asks_for(folder_.path())), std::nullopt);
  EXPECT_EQ(given({}, asks_for(model)), std::nullopt);
}

TEST_F(HandedFilesTest, AreKnownByAnyName) {
  const fs::path model = write("models/m.onnx", "model");
  fs::create_symlink(model, folder_.path() / "link");
  EXPECT_EQ(given(HandedFiles({folder_.path() / "link"}), asks_for(model)), "model");
}

TEST_F(HandedFilesTest, AreTheFilesThatWereThere) {
  const fs::path model = write("models/m.onnx", "model"), data = write("models/w.data", "weights"),
                 secret = write("secret", "secret");
  HandedFiles files({model});
  files.add_data(folder_.path() / "models", {data});
  EXPECT_EQ(given(files, asks_for(data)), "weights");
  fs::remove(data);
  fs::create_symlink(secret, data);
  EXPECT_EQ(given(files, asks_for(data)), std::nullopt);
  fs::rename(secret, model);
  EXPECT_EQ(given(files, asks_for(model)), std::nullopt);
}

TEST_F(HandedFilesTest, DataIsReachedThroughNoLink) {
  const fs::path secret = write("secrets/w.data", "secret");
  fs::create_directories(folder_.path() / "models");
  fs::create_directory_symlink(folder_.path() / "secrets", folder_.path() / "models" / "sub");
  HandedFiles files;
  files.add_data(folder_.path() / "models", {folder_.path() / "models" / "sub" / "w.data",
                                             folder_.path() / "models" / ".." / "secrets" / "w.data"});
  EXPECT_EQ(given(files, asks_for(secret)), std::nullopt);
}

TEST_F(HandedFilesTest, WhatIsNoRequestGetsNothing) {
  const fs::path model = write("m.onnx", "model");
  const Message whole = asks_for(model);
  for (size_t size = 0; size < whole.body.size(); ++size) {
    Message cut;
    cut.body = whole.body.substr(0, size);
    EXPECT_EQ(given(HandedFiles({model}), cut), std::nullopt);
  }
}

}  // namespace
}  // namespace thaw::run
