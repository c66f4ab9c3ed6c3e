#include "thaw/sensitivity/plan_formats.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/ascii.h"
#include "thaw/core/error.h"
#include "thaw/core/printable.h"
#include "thaw/quant/plan_file.h"
#include "thaw/quant/precisions.h"

namespace thaw::measuring {
namespace {

constexpr size_t kNodesSaid = 3;

}  // namespace

PlanFile plan_file(const PlanNodes& nodes, PlanFormat format) {
  switch (format) {
    case PlanFormat::kOlive:
      return plan_for_olive(nodes);
    case PlanFormat::kInc:
      return plan_for_inc(nodes);
    case PlanFormat::kModelopt:
      return plan_for_modelopt(nodes);
    default:
      return plan_for_ort(nodes);
  }
}

void PlanWriter::leaves_but(const PlanGroup& group, Operators operators) {
  std::vector<std::string> left;
  for (const ir::Node* node : group.nodes)
    if (!is_in(operators, *node)) left.push_back(node->name);
  if (left.empty()) return;
  std::string said;
  for (size_t i = 0; i < std::min(left.size(), kNodesSaid); ++i) said += fmt::format("{}'{}'", i ? ", " : "", left[i]);
  if (left.size() > kNodesSaid) said += fmt::format(" and {} more", left.size() - kNodesSaid);
  warnings_.push_back(fmt::format("{} leaves {} unchanged: it has no {} for their operators", quantizer_, said,
                                  quantizing::name_of(group.precision.to)));
}

void PlanWriter::lacks(bool is_used, std::string_view what) {
  if (is_used) warnings_.push_back(fmt::format("{} has no {}, which the plan was measured with", quantizer_, what));
}

void PlanWriter::lacks_own_options(const PrecisionOptions& precision) {
  if (quantizing::is_blocks(precision.to)) return lacks(precision.blocks.real_zeros, "floating-point zero points");
  if (!quantizing::is_int8(precision.to)) return;
  lacks(precision.int8.equalize, "cross-layer equalization");
  lacks(precision.int8.correct_bias, "bias correction");
}

void PlanWriter::refuse(const PrecisionOptions& precision, std::string_view taken) const {
  throw Error(ErrorCode::kUnsupported,
              {.what = fmt::format("{} does not convert to {}", quantizer_, quantizing::name_of(precision.to)),
               .where = fmt::format("--file-format {}", word_),
               .expected = fmt::format("a plan of {}", taken),
               .next = "measure with these precisions, or convert with `thaw convert --plan`"});
}

PlanFile PlanWriter::finish(const nlohmann::ordered_json& content) {
  return {with_json_escapes(content.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n",
          std::move(warnings_)};
}

std::vector<std::string> names_of(const PlanGroup& group, Operators operators) {
  std::vector<std::string> names;
  for (const ir::Node* node : group.nodes)
    if (is_in(operators, *node)) names.push_back(node->name);
  return names;
}

std::string regex_of(std::string_view name) {
  std::string text;
  for (const char letter : name) {
    const bool is_plain = ascii::is_letter_or_digit(static_cast<unsigned char>(letter)) || letter == '_' ||
                          letter == '/' || static_cast<unsigned char>(letter) >= 0x80;
    if (!is_plain) text.push_back('\\');
    text.push_back(letter);
  }
  return text;
}

}  // namespace thaw::measuring
