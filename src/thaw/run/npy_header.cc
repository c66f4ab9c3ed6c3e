#include "thaw/run/npy_header.h"

#include <charconv>

#include "thaw/core/error.h"

namespace thaw::run {
namespace {

// Walks the literal from left to right; no nesting but the one tuple.
class Parser {
 public:
  Parser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  NpyHeader parse() {
    NpyHeader header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !descr) {
        if (peek() != '\'' && peek() != '"') {
          fail("holds records, not an array of one type", "a plain element type such as '<f4'");
        }
        header.descr = quoted();
        descr = true;
      } else if (key == "fortran_order" && !order) {
        header.fortran_order = boolean();
        order = true;
      } else if (key == "shape" && !shape) {
        header.shape = tuple();
        shape = true;
      } else {
        fail("has the key '" + key + "' in its header", "the keys descr, fortran_order and shape, each once");
      }
      if (!accept(',') && peek() != '}') fail_here();
    }
    if (at_ != text_.size() && text_.find_first_not_of(" \n\0", at_, 3) != std::string_view::npos) fail_here();
    if (!descr || !order || !shape) {
      fail("has a header that lacks a key", "the keys descr, fortran_order and shape");
    }
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& expected) const {
    throw Error(ErrorCode::kInvalidFile,
                {.what = what, .where = where_, .expected = expected, .next = "write it again with numpy.save"});
  }
  [[noreturn]] void fail_here() const {
    fail("has a header that does not parse at its byte " + std::to_string(at_),
         "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  }

  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail_here();
  }

  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail_here();
    const size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail_here();
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    if (value.find('\\') != std::string::npos || value.size() > 64) fail_here();
    at_ = end + 1;
    return value;
  }

  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    }
    fail_here();
  }

  std::vector<int64_t> tuple() {
    std::vector<int64_t> dims;
    expect('(');
    while (!accept(')')) {
      peek();
      int64_t dim = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), dim);
      if (error != std::errc() || dim < 0) fail_here();
      at_ = static_cast<size_t>(end - text_.data());
      accept('L');  // Python 2 wrote long integers so
      dims.push_back(dim);
      if (dims.size() > kMaxNpyRank) fail("has more than 64 dims", "an array that NumPy can hold");
      if (!accept(',') && peek() != ')') fail_here();
    }
    return dims;
  }

  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& where) { return Parser(text, where).parse(); }

}  // namespace thaw::run
