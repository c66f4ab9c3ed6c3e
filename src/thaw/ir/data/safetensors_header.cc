#include "thaw/ir/data/safetensors_header.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thaw/core/error.h"

namespace thaw::ir {
namespace {

using Json = nlohmann::json;

// Takes the header as it is parsed: it has three levels, and nothing is kept that does not belong there.
class Handler : public nlohmann::json_sax<Json> {
 public:
  Handler(std::vector<Safetensors::Entry>& entries, const std::string& file) : entries_(entries), file_(file) {}

  bool start_object(size_t) override {
    if (level_ == kRoot) {
      level_ = kNames;
    } else if (level_ == kNames) {
      level_ = name_ == "__metadata__" ? kMetadata : kTensor;
      if (level_ == kMetadata && std::exchange(has_metadata_, true)) fail("'__metadata__' is there twice", "it once");
      has_type_ = has_shape_ = has_range_ = false;
      entry_ = {};
      entry_.name = name_;
    } else {
      misplaced("an object");
    }
    return true;
  }

  bool key(string_t& text) override {
    (level_ == kNames ? name_ : key_) = text;
    return true;
  }

  bool end_object() override {
    if (level_ == kTensor) {
      if (!has_type_ || !has_shape_ || !has_range_) {
        fail(fmt::format("tensor '{}' is not described in full", name_), "dtype, shape and data_offsets");
      }
      entries_.push_back(std::move(entry_));
    }
    level_ = level_ == kNames ? kDone : kNames;
    return true;
  }

  bool start_array(size_t) override {
    const bool shape = level_ == kTensor && key_ == "shape";
    if (!shape && !(level_ == kTensor && key_ == "data_offsets")) misplaced("a list");
    bool& seen = shape ? has_shape_ : has_range_;
    if (std::exchange(seen, true)) twice();
    level_ = kNumbers;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    level_ = kTensor;
    if (key_ == "shape") {
      entry_.shape.assign(numbers_.begin(), numbers_.end());
      return true;
    }
    if (numbers_.size() != 2 || numbers_[0] > numbers_[1]) {
      fail(fmt::format("tensor '{}' has data_offsets that are no range", name_), "where its data begins and ends");
    }
    entry_.offset = numbers_[0];
    entry_.size = numbers_[1] - numbers_[0];
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (level_ != kNumbers) misplaced("a number");
    if (value > static_cast<uint64_t>(INT64_MAX))
      fail(fmt::format("tensor '{}' has the number {}", name_, value), "less than 2^63");
    numbers_.push_back(value);
    return true;
  }

  bool string(string_t& text) override {
    if (level_ == kMetadata) return true;
    if (level_ == kTensor && key_ == "dtype") {
      if (std::exchange(has_type_, true)) twice();
      const auto type = data_type_from_safetensors(text);
      if (!type) fail(fmt::format("tensor '{}' has the dtype '{}'", name_, text), "a dtype that ONNX has a type for");
      entry_.data_type = *type;
    } else {
      misplaced("text");
    }
    return true;
  }

  bool null() override { misplaced("null"); }
  bool boolean(bool) override { misplaced("a truth value"); }
  bool number_integer(number_integer_t) override { misplaced("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { misplaced("a number with a fraction"); }
  bool binary(binary_t&) override { misplaced("binary data"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(fmt::format("the header is not JSON at its byte {}", position), "a JSON object");
  }

 private:
  enum Level { kRoot, kNames, kMetadata, kTensor, kNumbers, kDone };

  [[noreturn]] void fail(std::string what, std::string expected) const {
    throw Error(
        ErrorCode::kInvalidFile,
        {.what = std::move(what), .where = file_, .expected = std::move(expected), .next = "fetch the file again"});
  }
  [[noreturn]] void misplaced(const char* what) const {
    fail(fmt::format("the header has {} where it does not belong{}", what, name_.empty() ? "" : ", at '" + name_ + "'"),
         "tensors with dtype, shape and data_offsets, and text in __metadata__");
  }
  [[noreturn]] void twice() const { fail(fmt::format("tensor '{}' has its {} twice", name_, key_), "each once"); }

  std::vector<Safetensors::Entry>& entries_;
  const std::string& file_;
  Level level_ = kRoot;
  std::string name_, key_;
  Safetensors::Entry entry_;
  bool has_type_ = false, has_shape_ = false, has_range_ = false, has_metadata_ = false;
  std::vector<uint64_t> numbers_;
};

}  // namespace

std::vector<Safetensors::Entry> read_safetensors_header(std::string_view json, const std::string& file) {
  std::vector<Safetensors::Entry> entries;
  Handler handler(entries, file);
  if (json.empty() || json.front() != '{') {
    throw Error(ErrorCode::kInvalidFile, {.what = "the header does not begin with '{'",
                                          .where = file,
                                          .expected = "a safetensors file",
                                          .next = "fetch the file again"});
  }
  Json::sax_parse(json.begin(), json.end(), &handler);
  return entries;
}

}  // namespace thaw::ir
