// Operators on text: StringConcat, StringSplit, StringNormalizer, RegexFullMatch, TfIdfVectorizer.
#include <algorithm>
#include <string>

#include "thaw/ops/rule/axes.h"
#include "thaw/ops/rule/batch.h"
#include "thaw/ops/rule/context.h"
#include "thaw/ops/rule/families.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/ops/rule/rule_help.h"
#include "thaw/ops/rule/size_help.h"

namespace thaw::ops {

using dim::Dim;
using ir::DataType;

namespace {

void string_concat(Context& ctx) {
  const int operands[] = {0, 1};
  ctx.set_tensor(0, DataType::kString, broadcast_inputs(ctx, operands));
}

void string_split(Context& ctx) {
  const Fact& data = ctx.input(0);
  std::optional<Shape> parts = data.shape;
  if (parts) {
    // Without strings there are no substrings either.
    Dim most = data.num_elements().is_constant(0) ? Dim(int64_t{0}) : ctx.data_dependent(0, data.rank());
    parts->push_back(most);
  }
  ctx.set_tensor(0, DataType::kString, std::move(parts));
  ctx.set_tensor(1, DataType::kInt64, data.shape);
}

// [C] or [1, C]; stop words leave fewer, but at least one (an empty) string.
void string_normalizer(Context& ctx) {
  const Fact& data = ctx.input(0);
  if (!data.has_rank()) return unknown_tensor(ctx, 0, DataType::kString);
  if (data.rank() < 1 || data.rank() > 2) {
    ctx.invalid("the input has rank " + std::to_string(data.rank()) + ", not 1 or 2");
    return unknown_tensor(ctx, 0, DataType::kString);
  }
  Shape out = *data.shape;
  if (data.rank() == 2) out[0] = ctx.require_equal(data.dim(0), 1, "rows of a StringNormalizer", {0, 0});
  const ir::Attribute* words = ctx.attribute("stopwords");
  const auto* list = words ? words->as<std::vector<std::string>>() : nullptr;
  bool drops = words && (!list || !list->empty());
  Dim& count = out.back();
  if (count.is_constant(0))
    count = Dim();  // the specification and the runtimes differ about no strings at all
  else if (drops && !count.is_constant(1))
    count = ctx.data_dependent(0, data.rank() - 1);
  else if (!at_least(count, 1))
    ctx.require_at_most(1, count, "strings of a StringNormalizer", {}, {0, data.rank() - 1});
  ctx.set_tensor(0, DataType::kString, std::move(out));
}

void regex_full_match(Context& ctx) { shape_of_input(ctx, 0, 0, DataType::kBool); }

void tf_idf_vectorizer(Context& ctx) {
  const Fact& data = ctx.input(0);
  Dim width;
  if (auto indexes = ctx.attr_ints("ngram_indexes"); indexes && !indexes->empty()) {
    int64_t highest = *std::max_element(indexes->begin(), indexes->end());
    if (highest >= 0 && highest < INT64_MAX)
      width = highest + 1;
    else
      ctx.invalid("ngram_indexes holds no position");
  }
  std::optional<Shape> out;
  if (data.rank() == 1)
    out = Shape{width};
  else if (data.rank() == 2)
    out = Shape{data.dim(0), width};
  else if (data.has_rank() && data.rank() != 0)
    ctx.invalid("the input has rank " + std::to_string(data.rank()) + ", not 1 or 2");
  ctx.set_tensor(0, DataType::kFloat, std::move(out));
}

}  // namespace

void add_string_ops(Registry& r) {
  r.add({.name = "StringConcat", .shape = string_concat, .op_class = OpClass::kElementwise});
  r.add({.name = "StringSplit", .shape = string_split, .axes = no_axes(kSizedByData)});
  r.add({.name = "StringNormalizer",
         .shape = string_normalizer,
         .axes = no_axes("it may drop words, so that its output's size depends on its data")});
  r.add({.name = "RegexFullMatch", .shape = regex_full_match, .op_class = OpClass::kElementwise});
  r.add({.name = "TfIdfVectorizer", .shape = tf_idf_vectorizer, .axes = axes_by("... w~ -> ... f", 2)});
}

}  // namespace thaw::ops
