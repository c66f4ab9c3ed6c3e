// Symbols and what is assumed of them.
#include "thaw/dim/expr/scope.h"

#include <limits>
#include <numeric>

#include "thaw/core/error.h"
#include "thaw/dim/expr/bounds.h"
#include "thaw/dim/expr/range.h"
#include "thaw/dim/expr/tables.h"
#include "thaw/dim/expr/wide.h"

namespace thaw::dim {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Where the text of a name ends: every expression that holds it repeats it.
constexpr size_t kMostText = 200;

// The name as the grammar of dim/text/text.h can read it.
std::string printable(std::string_view name) {
  name = name.substr(0, kMostText);
  std::string text;
  if (name.empty() || is_digit(name.front())) text += '_';
  for (char c : name) text += is_letter(c) || is_digit(c) || ((c == '.' || c == ':') && !text.empty()) ? c : '_';
  return text;
}

std::string element(std::string_view name, int64_t index) {
  return std::string(name) + "[" + std::to_string(index) + "]";
}

// Moves the ends of the range inward to values with the right remainder. False where none is left.
bool tighten(SymbolInfo& info) {
  if (info.modulus > 1 && info.lower != SymbolInfo::kNoLower) {
    const int64_t step = floor_remainder(info.remainder - floor_remainder(info.lower, info.modulus), info.modulus);
    if (__builtin_add_overflow(info.lower, step, &info.lower)) return false;
  }
  if (info.modulus > 1 && info.upper) {
    const int64_t step = floor_remainder(floor_remainder(*info.upper, info.modulus) - info.remainder, info.modulus);
    int64_t upper = 0;
    if (__builtin_sub_overflow(*info.upper, step, &upper)) return false;
    info.upper = upper;
  }
  return !info.upper || info.lower == SymbolInfo::kNoLower || info.lower <= *info.upper;
}

// x with x % m == r and x % n == s, as (x mod lcm, lcm). nullopt: none, or the lcm overflows.
std::optional<std::pair<int64_t, int64_t>> chinese_remainder(int64_t r, int64_t m, int64_t s, int64_t n) {
  const int64_t common = std::gcd(m, n);
  if ((r - s) % common != 0) return std::nullopt;
  int64_t lcm = 0;
  if (__builtin_mul_overflow(m / common, n, &lcm)) return std::nullopt;
  // x = r + m*t with m*t == s - r (mod n): t = (s - r)/common * inverse(m/common) mod n/common.
  const int64_t modulus = n / common;
  int64_t inverse = 1;
  int64_t next = 0;
  for (int64_t a = floor_remainder(m / common, modulus), b = modulus;
       b != 0;) {  // Euclid: inverse * m/common == a (mod modulus)
    const int64_t quotient = a / b;
    a -= quotient * b, std::swap(a, b);
    inverse -= quotient * next, std::swap(inverse, next);
  }
  inverse = floor_remainder(inverse, modulus);
  const int64_t first = floor_remainder((s - r) / common, modulus);
  const int64_t t = static_cast<int64_t>(static_cast<Wide>(first) * inverse % modulus);
  return std::pair(static_cast<int64_t>((static_cast<Wide>(m) * t + r) % lcm), lcm);
}

std::string describe(const SymbolInfo& info) {
  std::string text = info.lower == SymbolInfo::kNoLower ? "" : std::to_string(info.lower);
  text += "..";
  if (info.upper) text += std::to_string(*info.upper);
  if (info.modulus > 1)
    text += ", " + info.name + " % " + std::to_string(info.modulus) + " == " + std::to_string(info.remainder);
  return text;
}

[[noreturn]] void not_a_symbol(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, {.what = what + " can be assumed of a symbol only",
                                            .where = "assumptions",
                                            .expected = "a name, not an expression",
                                            .next = "assume it of the symbols the expression is made of"});
}

[[noreturn]] void nothing_left(const SymbolInfo& before, const std::string& wanted) {
  throw Error(ErrorCode::kInvalidArgument, {.what = "no value is left when " + wanted + " is assumed",
                                            .where = "size '" + before.name + "'",
                                            .expected = "a value within " + describe(before),
                                            .next = "change the assumption"});
}

}  // namespace

Scope::Scope() : impl_(std::make_unique<Impl>(this)) {}
Scope::~Scope() = default;

std::string Scope::Impl::free_text(const std::string& wanted) const {
  if (!by_text.contains(wanted) && !by_name.contains(wanted)) return wanted;
  auto it = suffixes.find(wanted);
  for (int n = it == suffixes.end() ? 2 : it->second;; ++n) {
    std::string text = wanted + "_" + std::to_string(n);
    if (!by_text.contains(text) && !by_name.contains(text)) return text;
  }
}

int Scope::Impl::add_symbol(std::string text, SymbolKind kind) {
  const int id = static_cast<int>(symbols.size());
  SymbolInfo info;
  info.name = text;
  info.kind = kind;
  if (kind == SymbolKind::kInputValue || kind == SymbolKind::kDataDependentValue) info.lower = SymbolInfo::kNoLower;
  symbols.push_back(std::move(info));
  // A symbol is there whatever the budget says: its name may be asked for.
  const std::shared_ptr<Budget> spends = std::exchange(budget, nullptr);
  symbol_dims.push_back(dim_of(symbol_atom(id)));
  budget = spends;
  held.hold(sizeof(SymbolInfo) + 4 * text.size() + 512);
  by_text.emplace(std::move(text), id);
  return id;
}

Dim Scope::symbol(std::string_view name, SymbolKind kind) {
  std::string key(name);
  if (auto it = impl_->by_name.find(key); it != impl_->by_name.end()) return symbol_at(it->second);
  std::string text = printable(name);
  // Another name may print as this text already.
  if (impl_->by_text.contains(text)) text = impl_->free_text(text);
  const int id = impl_->add_symbol(std::move(text), kind);
  impl_->by_name.emplace(std::move(key), id);
  return symbol_at(id);
}

Dim Scope::fresh(std::string_view hint, SymbolKind kind) {
  const std::string wanted = printable(hint);
  std::string text = impl_->free_text(wanted);
  if (text != wanted) impl_->suffixes[wanted] = std::stoi(text.substr(wanted.size() + 1)) + 1;
  const int id = impl_->add_symbol(text, kind);
  // The hint finds it too, where that is its name but for characters that cannot be printed.
  if (text == wanted) impl_->by_name.emplace(std::string(hint), id);
  impl_->by_name.emplace(std::move(text), id);
  return symbol_at(id);
}

Dim Scope::input_value(std::string_view input_name, int64_t index) {
  const std::string key = element(input_name, index);
  if (auto it = impl_->by_element.find(key); it != impl_->by_element.end()) return symbol_at(it->second);
  std::string base = printable(input_name);
  for (int n = 2; impl_->by_text.contains(element(base, index)); ++n)
    base = printable(input_name) + "_" + std::to_string(n);
  const int id = impl_->add_symbol(element(base, index), SymbolKind::kInputValue);
  impl_->by_element.emplace(key, id);
  return symbol_at(id);
}

std::optional<Dim> Scope::find(std::string_view name) const {
  const std::string key(name);
  if (auto it = impl_->by_name.find(key); it != impl_->by_name.end()) return symbol_at(it->second);
  if (auto it = impl_->by_text.find(key); it != impl_->by_text.end()) return symbol_at(it->second);
  return std::nullopt;
}

const std::vector<SymbolInfo>& Scope::symbols() const { return impl_->symbols; }

int Scope::symbol_id(Dim symbol) const {
  const Atom* atom = single_atom(symbol);
  return atom != nullptr && symbol.expr()->scope == this ? atom->symbol : -1;
}

Dim Scope::symbol_at(int id) const { return impl_->symbol_dims.at(static_cast<size_t>(id)); }

void Scope::assume_range(Dim symbol, int64_t lower, std::optional<int64_t> upper) {
  const int id = symbol_id(symbol);
  if (id < 0) not_a_symbol("a range");
  SymbolInfo info = impl_->symbols[static_cast<size_t>(id)];
  const SymbolInfo before = info;
  info.lower = std::max(info.lower, lower);
  if (upper) info.upper = info.upper ? std::min(*info.upper, *upper) : *upper;
  if (!tighten(info)) nothing_left(before, std::to_string(lower) + ".." + (upper ? std::to_string(*upper) : ""));
  impl_->symbols[static_cast<size_t>(id)] = info;
  impl_->assumptions_changed();
}

void Scope::assume_divisible(Dim symbol, int64_t modulus, int64_t remainder) {
  const int id = symbol_id(symbol);
  if (id < 0) not_a_symbol("a remainder");
  if (modulus < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "a remainder modulo " + std::to_string(modulus) + " makes no sense",
                 .where = "size '" + impl_->symbols[static_cast<size_t>(id)].name + "'",
                 .expected = "a divisor of 1 or more",
                 .next = "change the assumption"});
  }
  SymbolInfo info = impl_->symbols[static_cast<size_t>(id)];
  const SymbolInfo before = info;
  const std::string wanted = info.name + " % " + std::to_string(modulus) + " == " + std::to_string(remainder);
  const auto both = chinese_remainder(info.remainder, info.modulus, floor_remainder(remainder, modulus), modulus);
  if (!both) nothing_left(before, wanted);
  info.remainder = both->first;
  info.modulus = both->second;
  if (!tighten(info)) nothing_left(before, wanted);
  impl_->symbols[static_cast<size_t>(id)] = info;
  impl_->assumptions_changed();
}

void Scope::assume_not_negative(Dim d) {
  const auto refuse = [&] {
    throw Error(ErrorCode::kInvalidArgument, {.what = "no value is left that satisfies a relation between sizes",
                                              .where = "assumptions",
                                              .expected = "one that some sizes satisfy",
                                              .next = "change the assumption"});
  };
  if (d.is_unknown()) return;
  if (bounds_of(d).upper < 0) refuse();
  if (bounds_of(d).lower >= 0) return;
  // coef * symbol + constant >= 0.
  const Expr& e = *d.expr();
  const bool of_one = e.terms.size() == 1 && e.terms.front().monomial->factors.size() == 1;
  if (of_one) {
    const Factor& factor = e.terms.front().monomial->factors.front();
    const int64_t coef = e.terms.front().coef;
    if (factor.atom->kind == AtomKind::kSymbol && factor.power == 1) {
      const Dim symbol = symbol_at(factor.atom->symbol);
      if (coef > 0) return assume_range(symbol, -floor_quotient(e.constant, coef), std::nullopt);
      const SymbolInfo& info = impl_->symbols[static_cast<size_t>(factor.atom->symbol)];
      if (coef != std::numeric_limits<int64_t>::min())
        return assume_range(symbol, info.lower, floor_quotient(e.constant, -coef));
    }
  }
  impl_->facts.push_back(d);
  impl_->assumptions_changed();
}

const std::vector<Dim>& Scope::facts() const { return impl_->facts; }

void Scope::set_budget(int terms) { impl_->term_budget = std::max(1, terms); }
int Scope::budget() const { return impl_->term_budget; }

void Scope::spend_of(std::shared_ptr<Budget> budget) {
  if (budget == impl_->budget) return;
  impl_->held = HeldBytes(budget);
  impl_->budget = std::move(budget);
}
const std::shared_ptr<Budget>& Scope::spends_of() const { return impl_->budget; }

Scope* scope_of(Dim d) { return d.is_symbolic() ? d.expr()->scope : nullptr; }

bool is_data_dependent(Dim d) { return d.is_symbolic() && d.expr()->data_dependent; }

}  // namespace thaw::dim
