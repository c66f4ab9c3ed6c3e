#include "thaw/prove/aligned.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/ops/rule/registry.h"
#include "thaw/prove/expand_calls.h"

namespace thaw::proving {
namespace {

using ir::DeclaredDim;

// Axes of inputs, and names of each model, that are one size.
class Sizes {
 public:
  int of_axis(const std::string& input, size_t axis) { return node("axis " + std::to_string(axis) + " " + input); }
  int of_name(int model, const std::string& name) { return node("name " + std::to_string(model) + " " + name); }

  // Throws where two numbers would be one.
  void join(int a, int b, const std::string& where) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    const auto x = number_[static_cast<size_t>(a)], y = number_[static_cast<size_t>(b)];
    if (x && y && *x != *y) throw_apart(*x, *y, where);
    parent_[static_cast<size_t>(b)] = a;
    if (y) number_[static_cast<size_t>(a)] = y;
  }
  void set(int a, int64_t number, const std::string& where) {
    auto& known = number_[static_cast<size_t>(root(a))];
    if (known && *known != number) throw_apart(*known, number, where);
    known = number;
  }
  int root(int a) {
    while (parent_[static_cast<size_t>(a)] != a)
      a = parent_[static_cast<size_t>(a)] = parent_[static_cast<size_t>(parent_[static_cast<size_t>(a)])];
    return a;
  }
  std::optional<int64_t> number(int a) { return number_[static_cast<size_t>(root(a))]; }

 private:
  int node(const std::string& key) {
    const auto [at, is_new] = nodes_.try_emplace(key, static_cast<int>(parent_.size()));
    if (is_new) {
      parent_.push_back(at->second);
      number_.emplace_back();
    }
    return at->second;
  }
  [[noreturn]] static void throw_apart(int64_t a, int64_t b, const std::string& where) {
    throw Error(
        ErrorCode::kInvalidArgument,
        {.what = fmt::format("the models have no size in common: {} is {} in one and {} in the other", where, a, b),
         .where = "the inputs",
         .expected = "models that can be run on the same inputs",
         .next = "compare models of the same input sizes, or without --prove"});
  }

  std::map<std::string, int> nodes_;
  std::vector<int> parent_;
  std::vector<std::optional<int64_t>> number_;
};

bool is_name(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text,
                             [](unsigned char c) {
                               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                                      c == '_' || c == '.' || c == ':' || c >= 0x80;
                             }) &&
         !std::ranges::all_of(text, [](unsigned char c) { return (c >= '0' && c <= '9') || c == '.' || c == ':'; }) &&
         text != "None" && text != "none";
}

const ir::Value* input_named(const ir::Model& model, const std::string& name) {
  const auto found = std::ranges::find_if(model.graph->inputs(), [&](const ir::Value* v) { return v->name() == name; });
  return found == model.graph->inputs().end() || (*found)->initializer() ? nullptr : *found;
}

// A name in what a model declares of its inner values means nothing to another model, and is not checked by anyone.
void forget_inner_shapes(ir::Graph& graph) {
  for (const ir::Node* node : graph.nodes()) {
    for (ir::Graph* inner : node->subgraphs()) {
      for (ir::Value* value : inner->inputs()) value->forget_shape();
      forget_inner_shapes(*inner);
    }
    for (ir::Value* value : node->outputs())
      if (value) value->forget_shape();
  }
}

// Attributes that say yes or no. Inference and runtimes differ in what they take other numbers for.
constexpr std::string_view kFlags[] = {"allowzero",
                                       "ceil_mode",
                                       "channels_last",
                                       "exclusive",
                                       "fmod",
                                       "interleaved",
                                       "keepdims",
                                       "largest",
                                       "layout",
                                       "new_axis",
                                       "noop_with_empty_axes",
                                       "onesided",
                                       "reverse",
                                       "saturate",
                                       "sorted",
                                       "spatial",
                                       "training_mode",
                                       "transA",
                                       "transB",
                                       "transBatchA",
                                       "transBatchB",
                                       "unidirectional",
                                       "upper"};

void require_plain_flags(const ir::Graph& graph) {
  for (const ir::Node* node : graph.nodes()) {
    for (const ir::Graph* inner : node->subgraphs()) require_plain_flags(*inner);
    if (!node->domain().empty() && node->domain() != ops::kMicrosoft) continue;
    for (const ir::Attribute& attribute : node->attributes()) {
      const auto* value = attribute.as<int64_t>();
      if (!value || *value == 0 || *value == 1 || std::ranges::find(kFlags, attribute.name) == std::end(kFlags))
        continue;
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("the attribute '{}' is {}", attribute.name, *value),
                   .where = node->describe() + ", verify --prove",
                   .expected = "0 or 1, as runtimes differ in what they take other numbers for",
                   .next = "set it to one of these, or compare the models without --prove"});
    }
  }
}

template <typename F>
void for_each_made(const ir::Graph& graph, F f) {
  for (const ir::Node* node : graph.nodes()) {
    for (ir::Graph* inner : node->subgraphs()) for_each_made(*inner, f);
    for (ir::Value* value : node->outputs())
      if (value) f(value);
  }
}

// A size that only a run tells is called after the value that has it: no value of one model has the name of one of the other.
std::string tell_values_apart(const ir::Graph& from, ir::Graph& graph) {
  std::string prefix;
  bool is_free = false;
  while (!is_free) {
    prefix += "reference of ";
    is_free = true;
    for_each_made(from, [&](const ir::Value* value) { is_free = is_free && !value->name().starts_with(prefix); });
  }
  std::vector<ir::Value*> made;
  for_each_made(graph, [&](ir::Value* value) { made.push_back(value); });
  for (ir::Value* value : made) value->graph()->rename(value, graph.unique_name(prefix + value->name()));
  return prefix;
}

[[noreturn]] void refuse_bound(const SizeBound& bound, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument,
              {.what = fmt::format("no size of axis {} of input '{}' is within the bounds: {}", bound.of.index,
                                   bound.of.input, why),
               .where = "the sizes of the proof",
               .expected = "bounds that hold for some size of both models",
               .next = "give other sizes"});
}

bool is_within(int64_t number, const SizeBound& bound) {
  return number >= bound.first && (!bound.last || number <= *bound.last) && (number - bound.first) % bound.step == 0;
}

// What two bounds of one size leave.
SizeBound both(const SizeBound& a, const SizeBound& b) {
  const SizeBound &narrow = a.step < b.step ? b : a, &wide = a.step < b.step ? a : b;
  if (narrow.step % wide.step != 0 || (narrow.first - wide.first) % wide.step != 0)
    refuse_bound(a, "two of them have steps that do not fit each other");
  SizeBound made = narrow;
  made.is_needed = a.is_needed && b.is_needed;
  if (made.first < wide.first) made.first += (wide.first - made.first + made.step - 1) / made.step * made.step;
  if (wide.last && (!made.last || *made.last > *wide.last))
    made.last = *wide.last - (*wide.last - made.first) % made.step;
  if (made.last && *made.last < made.first) refuse_bound(a, "two of them have none in common");
  return made;
}

}  // namespace

Aligned align(const ir::Model& first, const ir::Model& second, std::span<const SizeBound> bounds) {
  Aligned aligned;
  aligned.models = {ir::clone(first), ir::clone(second)};
  for (const auto& model : aligned.models) {
    ir::begin_own_run(*model);
    model->graph->defaults_vary = false;  // initializers that are inputs too are constants
    expand_calls(*model);
    require_plain_flags(*model->graph);
    for (const auto& function : model->functions) require_plain_flags(*function->body);
    ir::tell_names_apart(*model);
    forget_inner_shapes(*model->graph);
  }
  aligned.prefix = tell_values_apart(*aligned.models[0]->graph, *aligned.models[1]->graph);
  for (const ir::Value* value : aligned.models[0]->graph->inputs()) {
    const ir::Value* same = value->initializer() ? nullptr : input_named(*aligned.models[1], value->name());
    if (!same || !value->type.shape || !same->type.shape || value->type.shape->size() == same->type.shape->size())
      continue;
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("input '{}' has {} axes in one model and {} in the other", value->name(),
                                     value->type.shape->size(), same->type.shape->size()),
                 .where = "the inputs",
                 .expected = "models that can be run on the same inputs",
                 .next = "compare the models without --prove"});
  }
  Sizes sizes;
  std::vector<std::pair<BoundName, int>> axes;
  for (int i = 0; i < 2; ++i) {
    for (const ir::Value* value : aligned.models[static_cast<size_t>(i)]->graph->inputs()) {
      if (value->initializer() || !value->type.shape) continue;
      const bool is_list = value->type.shape->size() == 1 && ir::is_integer(value->type.elem_type);
      for (size_t k = 0; k < value->type.shape->size(); ++k) {
        const DeclaredDim& declared = (*value->type.shape)[k];
        const int size = sizes.of_axis(value->name(), k);
        const std::string where = fmt::format("axis {} of input '{}'", k, value->name());
        axes.emplace_back(BoundName{value->name(), k}, size);
        if (declared.value && (*declared.value > 0 || (is_list && *declared.value == 0))) {
          sizes.set(size, *declared.value, where);
        } else if (is_name(declared.param)) {
          sizes.join(size, sizes.of_name(i, declared.param), where);
        }
      }
    }
  }
  std::map<int, SizeBound> bounded;
  for (const SizeBound& bound : bounds) {
    if (bound.of.is_element) {
      aligned.sizes.push_back({"", {bound.of}, std::nullopt, bound});
      continue;
    }
    const int root = sizes.root(sizes.of_axis(bound.of.input, bound.of.index));
    const auto [at, is_first] = bounded.try_emplace(root, bound);
    if (!is_first) at->second = both(at->second, bound);
  }
  for (const auto& [root, bound] : bounded) {
    if (const auto number = sizes.number(root); number && !is_within(*number, bound))
      refuse_bound(bound, fmt::format("both models say {}", *number));
    if (bound.last == bound.first) sizes.set(root, bound.first, "a size");
  }
  // Names that no model has for anything else.
  std::map<int, std::string> names;
  for (const auto& [axis, size] : axes) {
    const int root = sizes.root(size);
    const auto [at, is_first] = names.try_emplace(root, fmt::format("size_{}", names.size()));
    if (is_first) {
      const auto number = sizes.number(root);
      const auto bound = bounded.find(root);
      aligned.sizes.push_back(
          {at->second, {}, number, bound != bounded.end() ? std::optional(bound->second) : std::nullopt});
    }
    auto& shared = std::ranges::find(aligned.sizes, at->second, &AlignedSize::name)->axes;
    if (std::ranges::find(shared, axis) == shared.end()) shared.push_back(axis);
  }
  for (const auto& model : aligned.models) {
    for (ir::Value* value : model->graph->inputs()) {
      if (value->initializer()) continue;
      // Both have as many axes as either says.
      for (const auto& other : aligned.models) {
        const ir::Value* same = input_named(*other, value->name());
        if (!same || same->type.kind != value->type.kind || !same->type.shape || value->type.shape) continue;
        ir::Type type = value->type;
        type.shape = same->type.shape;
        type.wire = nullptr;
        value->set_type(std::move(type));
      }
      if (!value->type.shape) continue;
      for (size_t k = 0; k < value->type.shape->size(); ++k) {
        const int size = sizes.of_axis(value->name(), k);
        DeclaredDim declared;
        if (const auto number = sizes.number(size)) {
          declared.value = number;
        } else {
          declared.param = names.at(sizes.root(size));
        }
        value->set_dim(k, std::move(declared));
      }
    }
  }
  return aligned;
}

void assume(const Aligned& aligned, dim::Scope& scope) {
  for (const AlignedSize& size : aligned.sizes) {
    if (!size.bound || size.number) continue;
    const dim::Dim symbol = size.axes[0].is_element
                                ? scope.input_value(size.axes[0].input, static_cast<int64_t>(size.axes[0].index))
                                : scope.symbol(size.name);
    scope.assume_range(symbol, size.bound->first, size.bound->last);
    const int64_t step = size.bound->step;
    if (step > 1) scope.assume_divisible(symbol, step, (size.bound->first % step + step) % step);
  }
}

}  // namespace thaw::proving
