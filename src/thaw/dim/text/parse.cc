// parse: a recursive descent over the grammar of dim/text/text.h, with bounded depth.
#include <algorithm>

#include "thaw/core/error.h"
#include "thaw/dim/text/text.h"

namespace thaw::dim {
namespace {

constexpr int kMaxNesting = 128;
constexpr size_t kMaxLength = 1 << 16;

class Parser {
 public:
  Parser(std::string_view text, Scope& scope, const std::function<bool(std::string_view)>& known,
         const SumOverRows& sum)
      : text_(text), scope_(scope), known_(known), sum_(sum) {}

  Dim parse_all() {
    if (text_.size() > kMaxLength) fail("the text is longer than " + std::to_string(kMaxLength) + " characters", "");
    const Dim d = parse_sum();
    skip_blanks();
    if (at_ < text_.size()) fail("unexpected '" + std::string(1, text_[at_]) + "'", "an operator or the end");
    return d;
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& expected) const { fail_at(at_, what, expected); }

  [[noreturn]] void fail_at(size_t at, const std::string& what, const std::string& expected) const {
    std::string shown(text_.substr(0, 200));
    for (char& c : shown) {
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    }
    throw Error(ErrorCode::kInvalidArgument, {.what = what,
                                              .where = "size '" + shown + "', column " + std::to_string(at + 1),
                                              .expected = expected,
                                              .next = "see docs/dims.md for the grammar"});
  }

  // A value that is unknown stands for nothing: say where it comes from.
  Dim checked(Dim d, size_t at) const {
    if (d.is_unknown()) fail_at(at, "the expression divides by 0, overflows or is too large", "a smaller expression");
    return d;
  }

  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  static bool continues_name(char c) { return starts_name(c) || is_digit(c) || c == '.' || c == ':'; }

  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }

  bool accept(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void expect(char c) {
    if (accept(c)) return;
    const std::string found = at_ < text_.size() ? "'" + std::string(1, text_[at_]) + "'" : "the end";
    fail("unexpected " + found, "'" + std::string(1, c) + "'");
  }

  Dim parse_sum() {
    if (++depth_ > kMaxNesting)
      fail("nested more than " + std::to_string(kMaxNesting) + " deep", "a flatter expression");
    Dim result = parse_product();
    for (;;) {
      skip_blanks();
      const size_t at = at_;
      if (accept('+')) {
        result = checked(result + parse_product(), at);
      } else if (accept('-')) {
        result = checked(result - parse_product(), at);
      } else {
        --depth_;
        return result;
      }
    }
  }

  Dim parse_product() {
    Dim result = parse_factor();
    for (;;) {
      skip_blanks();
      const size_t at = at_;
      if (accept('*')) {
        result = checked(result * parse_factor(), at);
      } else if (accept('%')) {
        result = checked(mod(result, parse_factor()), at);
      } else if (text_.substr(at_, 2) == "//") {
        at_ += 2;
        result = checked(floor_div(result, parse_factor()), at);
      } else {
        return result;
      }
    }
  }

  Dim parse_factor() {
    skip_blanks();
    bool negative = false;
    size_t at = at_;
    while (accept('-')) {
      negative = !negative;
      skip_blanks();
    }
    if (at_ >= text_.size()) fail("the text ends", "a number, a name or '('");
    Dim result;
    if (is_digit(text_[at_])) {
      result = Dim(parse_integer());
    } else if (starts_name(text_[at_])) {
      result = parse_name();
    } else if (accept('(')) {
      result = parse_sum();
      expect(')');
    } else {
      fail("unexpected '" + std::string(1, text_[at_]) + "'", "a number, a name or '('");
    }
    return negative ? checked(-result, at) : result;
  }

  int64_t parse_integer() {
    skip_blanks();
    const size_t start = at_;
    int64_t value = 0;
    while (at_ < text_.size() && is_digit(text_[at_])) {
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, text_[at_] - '0', &value)) {
        fail_at(start, "the number does not fit 64 bits", "a number up to 9223372036854775807");
      }
      ++at_;
    }
    if (at_ == start) fail("not a number", "a number");
    return value;
  }

  Dim parse_name() {
    const size_t start = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    const std::string_view name = text_.substr(start, at_ - start);
    const size_t end = at_;
    if (accept('(')) {
      if (name == "floor" || name == "ceil") return parse_quotient(name == "ceil");
      if (name == "min") return parse_list(static_cast<Dim (*)(Dim, Dim)>(min));
      if (name == "max") return parse_list(static_cast<Dim (*)(Dim, Dim)>(max));
      if (name == "broadcast") return parse_list(broadcast);
      if (name == "sum") return parse_sum_over_rows(start);
      fail_at(start, "no function is called '" + std::string(name) + "'", "floor, ceil, min, max, broadcast or sum");
    }
    at_ = end;
    if (accept('[')) {
      const int64_t index = parse_integer();
      expect(']');
      check_known(std::string(name) + "[" + std::to_string(index) + "]", start);
      return scope_.input_value(name, index);
    }
    at_ = end;
    check_known(name, start);
    return scope_.symbol(name);
  }

  Dim parse_sum_over_rows(size_t start) {
    const size_t first = at_;
    for (int open = 1; at_ < text_.size(); ++at_) {
      open += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
      if (open == 0) break;
    }
    const std::string_view body = text_.substr(first, at_ - first);
    expect(')');
    if (!sum_) fail_at(start, "no rows are known here that a sum could be of", "an expression without sum()");
    return checked(sum_(body), start);
  }

  void check_known(std::string_view name, size_t at) const {
    if (known_ && !known_(name))
      fail_at(at, "the name '" + std::string(name) + "' is not known", "a name of the model");
  }

  Dim parse_quotient(bool up) {
    const Dim numerator = parse_sum();
    const size_t at = at_;
    expect('/');
    const Dim divisor = parse_sum();
    expect(')');
    return checked(up ? ceil_div(numerator, divisor) : floor_div(numerator, divisor), at);
  }

  Dim parse_list(Dim (*combine)(Dim, Dim)) {
    Dim result = parse_sum();
    if (!accept(',')) expect(',');
    do {
      const size_t at = at_;
      result = checked(combine(result, parse_sum()), at);
    } while (accept(','));
    expect(')');
    return result;
  }

  std::string_view text_;
  Scope& scope_;
  const std::function<bool(std::string_view)>& known_;
  const SumOverRows& sum_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Dim parse(std::string_view text, Scope& scope, const std::function<bool(std::string_view)>& known,
          const SumOverRows& sum) {
  return Parser(text, scope, known, sum).parse_all();
}

std::optional<Dim> try_parse(std::string_view text, Scope& scope, const std::function<bool(std::string_view)>& known) {
  try {
    return parse(text, scope, known);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace thaw::dim
