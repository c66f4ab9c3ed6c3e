#include "thaw/pin/inputs.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/core/suggest.h"
#include "thaw/dim/text/text.h"
#include "thaw/infer/infer.h"
#include "thaw/infer/size_names.h"
#include "thaw/run/feeds.h"

namespace thaw::pinning {
namespace {

// Where inputs of IR versions before 4 have their constants: among the inputs too.
constexpr int64_t kConstantsAreNoInputs = 4;

class InputPinner {
 public:
  InputPinner(rewrite::PassContext& context, const PinOptions& options)
      : model_(context.model),
        graph_(*context.model.graph),
        options_(options),
        changes_(context.changes),
        scope_(context.scope()),
        facts_(context.facts().result()),
        names_(infer::size_names(model_, facts_, scope_)) {}

  Arrays run() {
    for (const auto& [name, size] : names_.resolve(options_.sizes, model_.path.string())) bind_size(name, size);
    for (const auto& [name, array] : options_.values.arrays) given_.emplace(name, array);
    for (const auto& [name, texts] : options_.values.values) {
      const auto found = graph_.find(name) != nullptr ? std::nullopt : names_.find(name);
      if (found && found->kind == dim::SizeName::Kind::kElement && texts.size() == 1)
        take_element(*found, texts.front());
      else
        given_.emplace(name, array_of(name, texts));
    }
    for (const auto& [name, elements] : elements_) {
      const run::ValueTexts texts = whole_of(name, elements);
      Array array = array_of(name, texts);
      if (array.num_elements() != static_cast<int64_t>(texts.size()))
        throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("element {} is not given", texts.size()),
                                                  .where = fmt::format("input '{}'", name),
                                                  .expected = "every element of an input that becomes a constant",
                                                  .next = "give the whole input with --values"});
      if (!given_.emplace(name, std::move(array)).second)
        throw Error(ErrorCode::kInvalidArgument, {.what = "is given whole and by elements",
                                                  .where = fmt::format("input '{}'", name),
                                                  .expected = "one of the two"});
    }
    for (const auto& [name, array] : given_) bind_array(name, array);
    for (ir::Value* input : graph_.inputs()) declare(*input);
    for (const auto& [name, array] : given_) make_constant(name, array);
    return std::move(given_);
  }

 private:
  void bind_size(const std::string& name, int64_t size) {
    const dim::SizeName found = names_.require(name, model_.path.string());
    if (found.kind == dim::SizeName::Kind::kElement) {
      take_element(found, std::to_string(size));
      return;
    }
    if (size < 1)
      throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("the size '{}' is {}", name, size),
                                                .where = model_.path.string(),
                                                .expected = "at least 1",
                                                .next = "give the size that the application runs the model at"});
    bind(found.symbol, size, fmt::format("'{}'", name));
  }

  void take_element(const dim::SizeName& element, const std::string& text) {
    elements_[std::string(dim::split_index(element.text)->first)][element.index] = text;
  }

  // An input that is given element by element is given whole.
  run::ValueTexts whole_of(const std::string& name, const std::map<int64_t, std::string>& elements) const {
    run::ValueTexts texts;
    for (const auto& [index, text] : elements) {
      if (index != static_cast<int64_t>(texts.size()))
        throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("element {} is not given", texts.size()),
                                                  .where = fmt::format("input '{}'", name),
                                                  .expected = "every element of an input that becomes a constant",
                                                  .next = "give the whole input with --values"});
      texts.push_back(text);
    }
    return texts;
  }

  void bind(int id, int64_t size, const std::string& by) {
    const auto [at, fresh] = sizes_.emplace(id, size);
    if (!fresh && at->second != size)
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("{} asks for '{}' = {}, which is {} already", by,
                                       scope_.symbols()[static_cast<size_t>(id)].name, size, at->second),
                   .where = model_.path.string(),
                   .expected = "one number for each size"});
  }

  ir::Value& input_of(const std::string& name) const {
    ir::Value* value = graph_.find(name);
    if (value && value->is_input() && facts_.fact(value).is_tensor()) return *value;
    std::vector<std::string_view> names;
    for (const ir::Value* input : graph_.inputs()) names.push_back(input->name());
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("there is no input '{}' that takes a tensor{}", name, did_you_mean(name, names)),
                 .where = model_.path.string(),
                 .expected = fmt::format("one of {}", fmt::join(names, ", "))});
  }

  // An input's elements; the one axis that no number is known of is as long as there are elements for it.
  Array array_of(const std::string& name, const run::ValueTexts& texts) const {
    const ir::Value& input = input_of(name);
    const ops::Fact& fact = facts_.fact(&input);
    const auto refuse = [&](std::string why) {
      throw Error(ErrorCode::kInvalidArgument, {.what = std::move(why),
                                                .where = fmt::format("input '{}'", name),
                                                .expected = "sizes that --sizes and --values determine",
                                                .next = "name its sizes in --sizes"});
    };
    if (!fact.has_rank()) refuse("the rank is not known");
    std::vector<int64_t> dims;
    int64_t elements = 1;
    std::optional<size_t> open;
    for (const dim::Dim d : *fact.shape) {
      const auto size = dim::evaluate(d, sizes_);
      if (!size && open) refuse("several of its sizes are not known");
      if (!size) open = dims.size();
      dims.push_back(size.value_or(1));
      elements *= dims.back();
    }
    if (open) {
      const auto count = static_cast<int64_t>(texts.size());
      if (elements == 0 || count % elements != 0)
        refuse(fmt::format("{} values do not fill rows of {}", count, elements));
      dims[*open] = count / elements;
    }
    return run::array_from_texts(name, input.type.elem_type, std::move(dims), texts);
  }

  void bind_array(const std::string& name, const Array& array) {
    const ir::Value& input = input_of(name);
    const ops::Fact& fact = facts_.fact(&input);
    const auto refuse = [&](std::string why) {
      throw Error(ErrorCode::kInvalidArgument, {.what = std::move(why), .where = fmt::format("input '{}'", name)});
    };
    if (array.is_string()) refuse("text cannot be made a constant here");
    if (array.dtype != input.type.elem_type)
      refuse(fmt::format("the array is {}, the input {}", ir::name_of(array.dtype), ir::name_of(input.type.elem_type)));
    if (!fact.has_rank()) return;
    if (array.dims.size() != fact.shape->size())
      refuse(fmt::format("the array has {} axes, the input {}", array.dims.size(), fact.shape->size()));
    for (size_t axis = 0; axis < array.dims.size(); ++axis) {
      const dim::Dim d = (*fact.shape)[axis];
      const int id = scope_.symbol_id(d);
      if (id >= 0) bind(id, array.dims[axis], fmt::format("input '{}'", name));
      const auto size = dim::evaluate(d, sizes_);
      if (size && *size != array.dims[axis])
        refuse(fmt::format("axis {} is {}, where the input has {}", axis, array.dims[axis], *size));
    }
  }

  void declare(ir::Value& input) {
    const ops::Fact& fact = facts_.fact(&input);
    if (given_.contains(input.name()) || !fact.has_rank() || !input.type.shape) return;
    for (int axis = 0; axis < fact.rank(); ++axis) {
      const auto size = dim::evaluate(fact.dim(axis), sizes_);
      const auto location = static_cast<size_t>(axis);
      const auto declared = (*input.type.shape)[location].value;
      if (!size || declared == size) continue;  // -1 is no number, but any
      changes_.made.push_back({.kind = "pin a size",
                               .location = input.name(),
                               .part = fmt::format("axis {}", axis),
                               .replaced = {{dim::to_string(fact.dim(axis)), std::to_string(*size)}}});
      input.set_dim(location, {.value = size, .param = {}, .denotation = (*input.type.shape)[location].denotation});
    }
  }

  void make_constant(const std::string& name, const Array& array) {
    ir::Value& input = input_of(name);
    changes_.made.push_back(
        {.kind = "pin an input",
         .location = name,
         .replaced = {{"the input", fmt::format("a constant of {} elements", array.num_elements())}}});
    const std::vector<std::byte>& bytes = array.bytes;
    graph_.replace_initializer(&input, ir::Tensor::from_bytes(name, array.dtype, array.dims, bytes));
    graph_.remove_input(&input);
    model_.ir_version = std::max(model_.ir_version, kConstantsAreNoInputs);
  }

  ir::Model& model_;
  ir::Graph& graph_;
  const PinOptions& options_;
  rewrite::Changes& changes_;
  const dim::Scope& scope_;
  const infer::Result& facts_;
  const dim::SizeNames names_;
  std::map<std::string, std::map<int64_t, std::string>> elements_;  // of inputs that are given one by one
  dim::Assignment sizes_;                                           // of symbols
  Arrays given_;
};

}  // namespace

Arrays pin_inputs(rewrite::PassContext& context, const PinOptions& options) {
  return InputPinner(context, options).run();
}

}  // namespace thaw::pinning
