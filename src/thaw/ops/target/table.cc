#include "thaw/ops/target/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"

namespace thaw::ops {
namespace {

using enum ir::DataType;

constexpr TargetTable kTables[] = {
#include "thaw/ops/target/tables.inc"
};

constexpr TypeSet kSigned = TypeSet::of({kInt8, kInt16, kInt32, kInt64});
constexpr TypeSet kUnsigned = TypeSet::of({kUint8, kUint16, kUint32, kUint64});
constexpr TypeSet kFloats = TypeSet::of({kFloat, kFloat16});
constexpr TypeSet kNumbers = kFloats | kSigned | kUnsigned | TypeSet::of({kDouble});
constexpr std::pair<std::string_view, TypeSet> kGroups[] = {
    {"any", kNumbers | TypeSet::of({kBool})},
    {"numbers", kNumbers},
    {"integers", kSigned | kUnsigned},
    {"signed", kSigned},
    {"unsigned", kUnsigned},
    {"floats", kFloats},
    {"float8s", TypeSet::of({kFloat8E4M3FN, kFloat8E4M3FNUZ, kFloat8E5M2, kFloat8E5M2FNUZ})},
    {"int4s", TypeSet::of({kInt4, kUint4})},
};
constexpr std::pair<std::string_view, Container> kContainerWords[] = {
    {"seq", Container::kSequence},
    {"optional", Container::kOptional},
    {"optional-seq", Container::kOptionalSequence},
    {"quantized", Container::kQuantized},
};
constexpr std::pair<std::string_view, FreeSizes> kSizes[] = {
    {"fixed", FreeSizes::kRefused}, {"profiles", FreeSizes::kProfiled}, {"preferred", FreeSizes::kSlower}};

// Cuts off what stands before a separator, and the separator.
std::string_view cut(std::string_view& text, std::string_view separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + separator.size()));
  return head;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty())
    if (const std::string_view word = cut(text, " "); !word.empty()) words.push_back(word);
  return words;
}

class TableReader {
 public:
  explicit TableReader(const TargetTable& table) : table_(table) { target_.name = table.name; }

  Target read() {
    for (std::string_view rest = table_.text; !rest.empty();) {
      const std::string_view line = cut(rest, "\n");
      ++line_;
      if (line.empty() || line.starts_with('#')) continue;
      if (line.starts_with('['))
        begin_domain(line);
      else if (target_.domains.empty())
        read_property(line);
      else
        read_row(line);
    }
    for (TargetDomain& domain : target_.domains) std::ranges::stable_sort(domain.kernels, {}, &Kernels::op);
    return std::move(target_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what, std::string_view expected) const {
    throw Error(ErrorCode::kInvalidFile, {.what = fmt::format("'{}' is not understood", what),
                                          .where = fmt::format("the table of {}, line {}", table_.name, line_),
                                          .expected = std::string(expected)});
  }

  int number(std::string_view text) const {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) refuse(text, "a number");
    return value;
  }

  // "6-10", "11", or "12-", whose end is 0.
  OpsetRange range(std::string_view text) const {
    const size_t dash = text.find('-');
    if (dash == std::string_view::npos) return {number(text), number(text)};
    return {number(text.substr(0, dash)), dash + 1 == text.size() ? 0 : number(text.substr(dash + 1))};
  }

  // A word of a property as what it stands for.
  template <typename Value, size_t count>
  Value meaning(std::string_view text, const std::pair<std::string_view, Value> (&known)[count]) const {
    const auto* found = std::ranges::find(known, text, &std::pair<std::string_view, Value>::first);
    if (found == std::end(known)) refuse(text, "a word of table.h");
    return found->second;
  }

  void read_property(std::string_view text) {
    enum class Rows : uint8_t { kKernels, kRanges, kTests };
    static constexpr std::pair<std::string_view, Rows> kRows[] = {
        {"kernels", Rows::kKernels}, {"ranges", Rows::kRanges}, {"tests", Rows::kTests}};
    static constexpr std::pair<std::string_view, bool> kControlFlow[] = {{"none", false}};
    static constexpr std::pair<std::string_view, bool> kRanks[] = {{"static", true}};
    static constexpr std::pair<std::string_view, bool> kShapes[] = {{"cpu", true}, {"wait", false}};
    static constexpr std::pair<std::string_view, bool> kComposed[] = {{"expanded", true}};
    const std::string_view key = cut(text, ": ");
    if (key == "title") {
      target_.title = text;
    } else if (key == "source") {
      target_.source = text;
    } else if (key == "note") {
      target_.note = text;
    } else if (key == "otherwise") {
      target_.otherwise = text;
    } else if (key == "unlisted") {
      target_.unlisted = words_of(text);
    } else if (key == "rows") {
      const Rows rows = meaning(text, kRows);
      by_range_ = rows == Rows::kRanges;
      target_.is_tested = rows == Rows::kTests;
    } else if (key == "opsets") {
      opsets_ = range(text);
    } else if (key == "control-flow") {
      target_.control_flow = meaning(text, kControlFlow);
    } else if (key == "ranks") {
      target_.static_ranks = meaning(text, kRanks);
    } else if (key == "rank") {
      target_.max_rank = number(text);
    } else if (key == "sizes") {
      target_.free_sizes = meaning(text, kSizes);
    } else if (key == "shapes") {
      target_.shapes_on_cpu = meaning(text, kShapes);
      target_.shapes_on_host = !target_.shapes_on_cpu;
    } else if (key == "composed") {
      target_.expands_composed = meaning(text, kComposed);
    } else {
      refuse(key, "a property of table.h");
    }
  }

  void begin_domain(std::string_view line) {
    line = line.substr(1, line.find(']') - 1);
    const std::string_view name = cut(line, " ");
    TargetDomain& domain = target_.domains.emplace_back();
    domain.name = name == "ai.onnx" ? "" : name;
    domain.by_range = by_range_;
    const OpsetRange opsets = !line.empty() ? range(line) : name == "ai.onnx" ? opsets_ : OpsetRange{1, 1};
    domain.oldest = opsets.first;
    domain.newest = opsets.last;
  }

  void read_row(std::string_view line) {
    Kernels& row = target_.domains.back().kernels.emplace_back();
    row.op = cut(line, "\t");
    for (const std::string_view opsets : words_of(cut(line, "\t"))) row.opsets.push_back(range(opsets));
    if (row.opsets.empty()) refuse(row.op, "opsets");
    while (!line.empty()) {
      const std::string_view field = cut(line, "\t");
      if (!read_condition(field, row)) read_types(field, row);
    }
  }

  static Support said_support(std::string_view field) {
    return field.starts_with("partly: ")    ? Support::kPartial
           : field.starts_with("unknown: ") ? Support::kUnknown
                                            : Support::kSupported;
  }
  static std::string_view said_words(std::string_view field) { return field.substr(field.find(": ") + 2); }

  bool read_condition(std::string_view field, Kernels& row) const {
    using Kind = KernelCondition::Kind;
    KernelCondition condition;
    if (const Support support = said_support(field); support != Support::kSupported) {
      condition.support = support;
      condition.why = said_words(field);
      row.conditions.push_back(condition);
      return true;
    }
    std::string_view rest = field;
    const std::string_view word = cut(rest, " ");
    const auto numbers = [&] {
      for (const std::string_view text : words_of(rest)) condition.numbers.push_back(number(text));
    };
    const auto bounds = [&](std::string_view text) {
      const OpsetRange read = range(text);
      condition.least = read.first;
      condition.most = read.last;
    };
    if (word == "constant" || word == "absent" || word == "zeros") {
      condition.kind = word == "constant" ? Kind::kConstant : word == "absent" ? Kind::kAbsent : Kind::kZeros;
      numbers();
    } else if (word == "known") {
      condition.kind = Kind::kKnown;
      condition.numbers.push_back(number(cut(rest, ":")));
      if (!rest.empty()) condition.numbers.push_back(number(rest));
    } else if (word == "rank") {
      condition.kind = Kind::kRank;
      const std::string_view operand = cut(rest, " ");
      condition.numbers.push_back(operand == "output" ? -1 : number(operand));
      bounds(rest);
    } else if (word == "inputs" || word == "outputs") {
      condition.kind = word == "inputs" ? Kind::kInputs : Kind::kOutputs;
      bounds(rest);
    } else if (word == "attribute" || word == "attribute!") {
      condition.kind = Kind::kAttribute;
      condition.is_required = word.ends_with('!');
      condition.name = cut(rest, "=");
      condition.values = words_of(rest);
    } else {
      return false;
    }
    row.conditions.push_back(std::move(condition));
    return true;
  }

  void read_types(std::string_view field, Kernels& row) const {
    std::string_view text = field;
    TypeConstraint constraint;
    constraint.operands = cut(text, "=");
    if (constraint.operands.size() == field.size()) refuse(field, "types or a condition");
    std::string_view types = cut(text, " | ");
    if (!text.empty()) {
      constraint.support = said_support(text);
      if (constraint.support == Support::kSupported) refuse(text, "'partly: ' or 'unknown: '");
      constraint.why = said_words(text);
    }
    for (std::string_view word : words_of(types)) {
      if (word == "rest") {
        constraint.others = true;
        continue;
      }
      Container container = Container::kTensor;
      if (word.find(':') != std::string_view::npos) container = meaning(cut(word, ":"), kContainerWords);
      constraint.types = constraint.types | TypeSet::in(container, tensors(word));
    }
    row.types.push_back(constraint);
  }

  TypeSet tensors(std::string_view word) const {
    for (const auto& [name, types] : kGroups)
      if (name == word) return types;
    const auto type = ir::data_type_from_name(word);
    if (!type) refuse(word, "an element type or a group of table.h");
    return TypeSet::of({*type});
  }

  const TargetTable& table_;
  Target target_;
  int line_ = 0;
  bool by_range_ = false;
  OpsetRange opsets_{1, 1};
};

}  // namespace

std::span<const TargetTable> target_tables() { return kTables; }

Target read_table(const TargetTable& table) { return TableReader(table).read(); }

}  // namespace thaw::ops
