#include "thaw/lift/onetrace/sizes.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "thaw/core/error.h"
#include "thaw/core/suggest.h"
#include "thaw/frozen/frozen.h"
#include "thaw/infer/infer.h"

namespace thaw::lifting::onetrace {
namespace {

using At = std::map<std::string, std::vector<int64_t>>;

constexpr size_t kMostValues = 64;  // of an input that is a list of sizes rather than data

[[noreturn]] void refuse_at(std::string what, std::string expected, std::string next = {}) {
  throw Error(ErrorCode::kInvalidArgument,
              {.what = std::move(what), .where = "--sizes", .expected = std::move(expected), .next = std::move(next)});
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

int64_t number_of(std::string_view text, const std::string& whole) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  refuse_at(fmt::format("'{}' in '{}' is no integer", text, whole), "NAME=1,22,30");
}

std::string case_text(const Case& one) { return one.name.empty() ? "the case" : fmt::format("case '{}'", one.name); }

// An integer input whose values are sizes, and which of its elements --values tells.
struct ValueInput {
  std::string name;
  std::map<int64_t, int64_t> at;  // by element
  bool whole = false;             // all of them, in order
};

class SizeFinder {
 public:
  SizeFinder(const ir::Model& model, std::span<const AddedInput> added, const At& at, std::vector<Case> cases,
             dim::Scope& scope)
      : model_(model), added_(added), at_(at), scope_(scope) {
    out_.cases = std::move(cases);
  }

  Sizes run() {
    for (const auto& [name, values] : at_) sort_out(name, values);
    leave_out_cases();
    add_dims();
    add_values();
    for (const auto& [name, value] : dims_at_) {
      if (std::none_of(out_.sizes.begin(), out_.sizes.end(), [&](const Size& s) { return s.name == name; }))
        refuse_name(name);
    }
    find_case_at_export();
    fill_from_products();
    fill_from_analysis();
    find_case_at_export();
    require_other_sizes();
    return std::move(out_);
  }

 private:
  const ir::Value* graph_input(std::string_view name) const {
    for (const ir::Value* input : model_.graph->inputs())
      if (input->name() == name && !input->initializer()) return input;
    return nullptr;
  }
  const AddedInput* added_input(std::string_view name) const {
    for (const AddedInput& input : added_)
      if (input.name == name) return &input;
    return nullptr;
  }

  void sort_out(const std::string& name, const std::vector<int64_t>& values) {
    const size_t bracket = name.find('[');
    const std::string input = name.substr(0, bracket);
    const bool is_input = graph_input(input) != nullptr || added_input(input) != nullptr;
    if (!is_input) {
      if (values.size() != 1) refuse_name(name);
      dims_at_[name] = values.front();
      return;
    }
    if (graph_input(input) && !ir::is_integer(graph_input(input)->type.elem_type))
      refuse_at(fmt::format("'{}' does not hold integers", input), "the values of an integer input, or a dim's size");
    ValueInput& told = value_inputs_[input];
    told.name = input;
    if (bracket == std::string::npos) {
      if (values.size() > kMostValues)
        refuse_at(fmt::format("'{}' is given {} values", input, values.size()), "a list of a few sizes");
      check_count(input, values.size());
      told.whole = true;
      for (size_t i = 0; i < values.size(); ++i) told.at[static_cast<int64_t>(i)] = values[i];
      return;
    }
    if (name.back() != ']' || values.size() != 1) refuse_at(fmt::format("'{}' is no size", name), "NAME[0]=22");
    const int64_t element = number_of(std::string_view(name).substr(bracket + 1, name.size() - bracket - 2), name);
    if (element < 0) refuse_at(fmt::format("'{}' is no size", name), "NAME[0]=22");
    told.at[element] = values.front();
  }

  void check_count(const std::string& name, size_t given) const {
    std::vector<int64_t> dims;
    if (const ir::Value* input = graph_input(name)) {
      if (!input->type.shape) return;
      for (const ir::DeclaredDim& dim : *input->type.shape) {
        if (!dim.value) return;
        dims.push_back(*dim.value);
      }
    } else {
      dims = added_input(name)->dims;
    }
    const int64_t count = run::element_count(dims);
    if (count == static_cast<int64_t>(given)) return;
    refuse_at(fmt::format("'{}' is given {} value{}", name, given, given == 1 ? "" : "s"),
              fmt::format("{}, for its shape [{}]", count, fmt::join(dims, ", ")));
  }

  [[noreturn]] void refuse_name(const std::string& name) const {
    std::vector<std::string> known;
    for (const ir::Value* input : model_.graph->inputs())
      if (ir::is_integer(input->type.elem_type)) known.push_back(input->name());
    for (const AddedInput& input : added_) known.push_back(input.name);
    for (const Size& size : out_.sizes)
      if (size.is_dim) known.push_back(size.name);
    const std::vector<std::string_view> names(known.begin(), known.end());
    refuse_at(fmt::format("'{}' is neither an input of the model nor a size of one{}", name, did_you_mean(name, names)),
              known.empty() ? "an integer input or a dim that differs in the reference"
                            : fmt::format("one of '{}'", fmt::join(known, "', '")),
              fmt::format("an input that the exporter took out is added with --add-input '{}:int64[1,3]'", name));
  }

  // Cases with more images, or fewer, than the input takes.
  void leave_out_cases() {
    std::vector<Case> used;
    for (Case& one : out_.cases) {
      std::string why;
      for (const auto& [name, told] : value_inputs_) {
        const Array& array = one.feeds.find(name)->second;
        const auto fits = [&](std::span<const int64_t> dims) {
          return std::equal(dims.begin(), dims.end(), array.dims.begin(), array.dims.end());
        };
        bool fit = !told.whole || array.num_elements() == static_cast<int64_t>(told.at.size());
        fit &= told.at.empty() || array.num_elements() > told.at.rbegin()->first;
        if (const AddedInput* input = added_input(name)) fit &= fits(input->dims);
        if (const ir::Value* input = graph_input(name); input && input->type.shape) {
          for (size_t axis = 0; axis < array.dims.size(); ++axis) {
            const auto declared = (*input->type.shape)[axis].value;
            fit &= !declared || *declared == array.dims[axis];
          }
        }
        if (!fit) why = fmt::format("{} is left out: '{}' is {} there", case_text(one), name, run::describe(array));
      }
      if (why.empty()) {
        used.push_back(std::move(one));
      } else {
        out_.left_out.push_back(std::move(why));
      }
    }
    if (used.empty()) {
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("no case can be fed to the model: {}", fmt::join(out_.left_out, "; ")),
                   .where = "the reference",
                   .expected = "inputs of the shapes that the model takes"});
    }
    out_.cases = std::move(used);
  }

  // What the file declares, read as inference reads it: "?" is no name.
  void add_dims() {
    dim::Scope scope;
    const infer::Result facts = infer::infer(model_, scope);
    for (const ir::Value* input : model_.graph->inputs()) {
      const ops::Fact& fact = facts.fact(input);
      if (input->initializer() || input->sparse_initializer() || !fact.shape) continue;
      ops::Shape& shape = out_.shapes[input->name()];
      for (size_t axis = 0; axis < fact.shape->size(); ++axis) {
        const dim::Dim declared = fact.dim(static_cast<int>(axis));
        const int id = declared.is_symbolic() ? scope.symbol_id(declared) : -1;
        if (declared.is_constant()) {
          shape.push_back(dim_of(*input, axis, declared.constant(), {}));
        } else if (id >= 0) {
          shape.push_back(dim_of(*input, axis, {}, scope.symbols()[static_cast<size_t>(id)].name));
        } else {
          shape.emplace_back();  // an expression of other sizes
        }
      }
    }
  }

  dim::Dim dim_of(const ir::Value& input, size_t axis, std::optional<int64_t> declared, const std::string& name) {
    Size size;
    for (const Case& one : out_.cases) size.by_case.push_back(one.feeds.find(input.name())->second.dims[axis]);
    if (declared) {
      const bool same =
          std::all_of(size.by_case.begin(), size.by_case.end(), [&](int64_t v) { return v == *declared; });
      if (same) return dim::Dim(*declared);
      size.at = declared;
    }
    size.input = input.name();
    size.index = static_cast<int64_t>(axis);
    const bool is_named = !declared;
    size.name = is_named ? name : fmt::format("{}_dim{}", input.name(), axis);
    for (Size& known : out_.sizes) {
      // Dims of one name are one size; so are dims of two inputs that were numbers and go together in every case.
      const auto goes_together = [&] {
        return known.at == size.at && known.by_case == size.by_case && size.at && known.input != size.input;
      };
      if (is_named ? known.name != size.name : !goes_together()) continue;
      if (known.by_case == size.by_case) return known.symbol;
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("'{}' has two sizes in one case: {} and {}", size.name,
                                       fmt::join(known.by_case, ", "), fmt::join(size.by_case, ", ")),
                   .where = "the reference",
                   .expected = "inputs that fit together"});
    }
    if (const auto told = dims_at_.find(size.name); told != dims_at_.end()) {
      if (size.at && *size.at != told->second)
        refuse_at(fmt::format("'{}' is {}, but the model declares {}", size.name, told->second, *size.at),
                  "the sizes that the model was exported at");
      size.at = told->second;
    }
    size.symbol = scope_.symbol(size.name);
    scope_.assume_range(size.symbol, 1, std::nullopt);
    out_.sizes.push_back(size);
    return size.symbol;
  }

  void add_values() {
    for (const auto& [name, told] : value_inputs_) {
      std::vector<std::vector<int64_t>> values;
      for (const Case& one : out_.cases) values.push_back(run::to_int64s(one.feeds.find(name)->second));
      const std::vector<int64_t>& dims = out_.cases.front().feeds.find(name)->second.dims;
      for (const auto& [index, at] : told.at) {
        Size size{.symbol = scope_.input_value(name, index),
                  .name = fmt::format("{}[{}]", name, index),
                  .input = name,
                  .index = index,
                  .is_dim = false,
                  .row = dims.size() > 1 ? dims.back() : 0,
                  .at = at,
                  .by_case = {}};
        for (const auto& of_case : values) size.by_case.push_back(of_case[static_cast<size_t>(index)]);
        const bool positive =
            at >= 1 && std::all_of(size.by_case.begin(), size.by_case.end(), [](int64_t v) { return v >= 1; });
        if (positive) scope_.assume_range(size.symbol, 1, std::nullopt);
        out_.sizes.push_back(std::move(size));
      }
    }
  }

  // The case whose sizes are the export's tells those that nobody named.
  void find_case_at_export() {
    for (size_t k = 0; k < out_.cases.size(); ++k) {
      bool any = false, all = true;
      for (const Size& size : out_.sizes) {
        any |= size.at.has_value();
        all &= !size.at || *size.at == size.by_case[k];
      }
      if (any && all && !out_.at_case) out_.at_case = k;
    }
    if (!out_.at_case) return;
    for (Size& size : out_.sizes)
      if (!size.at) size.at = size.by_case[*out_.at_case];
  }

  // As many patches as the grid has, in every case: so too at the export.
  void fill_from_products() {
    for (Size& size : out_.sizes) {
      if (size.at) continue;
      std::vector<lifting::Point> points{{size.symbol, size.by_case}};
      std::unordered_map<int, int64_t> at;
      for (const Size& other : out_.sizes) {
        if (!other.at || &other == &size) continue;
        points.push_back({other.symbol, other.by_case});
        at[scope_.symbol_id(other.symbol)] = *other.at;
      }
      // One point more, so that sizes which are the same in all cases count too.
      for (size_t i = 0; i < points.size(); ++i) points[i].at.push_back(0);
      lifting::find_products(points);
      if (points.front().product.is_known()) size.at = dim::evaluate(points.front().product, at);
    }
  }

  // The model's own constants tell the rest, as far as they tell.
  void fill_from_analysis() {
    const bool open =
        std::any_of(out_.sizes.begin(), out_.sizes.end(), [](const Size& s) { return s.is_dim && !s.at; });
    if (!open) return;
    dim::Scope scope;
    const frozen::FrozenAnalysis frozen = frozen::find_frozen(model_, scope);
    for (const auto& [id, value] : frozen.assumed_sizes) {
      if (frozen.guessed.contains(id)) continue;
      const std::string& name = scope.symbols()[static_cast<size_t>(id)].name;
      for (Size& size : out_.sizes) {
        if (size.is_dim && size.name == name && !size.at) size.at = value;
      }
    }
  }

  void require_other_sizes() const {
    if (std::none_of(out_.sizes.begin(), out_.sizes.end(), [](const Size& s) { return s.at.has_value(); }))
      refuse_at("no size at the export is known", "the sizes that the model was exported at",
                "give them: --values 'grid_thw=1,22,30'");
    for (const Size& size : out_.sizes) {
      if (size.at && std::any_of(size.by_case.begin(), size.by_case.end(), [&](int64_t v) { return v != *size.at; }))
        return;
    }
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "every case is at the sizes of the export",
                 .where = "the reference",
                 .expected = "a case at another size",
                 .next = "run the true model at two or more other sizes and store what it gives"});
  }

  const ir::Model& model_;
  std::span<const AddedInput> added_;
  const At& at_;
  dim::Scope& scope_;
  std::map<std::string, ValueInput> value_inputs_;
  std::map<std::string, int64_t> dims_at_;
  Sizes out_;
};

}  // namespace

At parse_at(std::span<const std::string> texts) {
  At at;
  for (const std::string& text : texts) {
    std::string_view rest = text;
    std::vector<int64_t>* values = nullptr;
    while (!rest.empty()) {
      const size_t end = rest.find_first_of(",;");
      std::string_view part = trimmed(rest.substr(0, end));
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
      if (const size_t equals = part.find('='); equals != std::string_view::npos) {
        const std::string name(trimmed(part.substr(0, equals)));
        if (name.empty()) refuse_at(fmt::format("'{}' names no size", text), "NAME=1,22,30");
        if (at.contains(name)) refuse_at(fmt::format("'{}' is given twice", name), "each size once");
        values = &at[name];
        part = trimmed(part.substr(equals + 1));
      }
      if (!values) refuse_at(fmt::format("'{}' names no size", text), "NAME=1,22,30");
      values->push_back(number_of(part, text));
    }
    if (!values) refuse_at("it is empty", "NAME=1,22,30");
  }
  return at;
}

std::vector<lifting::Point> points_of(const Sizes& sizes) {
  std::vector<lifting::Point> points;
  for (const Size& size : sizes.sizes) {
    if (!size.at) continue;
    lifting::Point& point = points.emplace_back(lifting::Point{size.symbol, {*size.at}});
    point.at.insert(point.at.end(), size.by_case.begin(), size.by_case.end());
  }
  lifting::find_products(points);
  return points;
}

std::string sizes_of_case(const Sizes& sizes, size_t case_index) {
  std::vector<std::string> texts;
  for (const Size& size : sizes.sizes) texts.push_back(fmt::format("{}={}", size.name, size.by_case[case_index]));
  return fmt::format("{}", fmt::join(texts, ", "));
}

Sizes find_sizes(const ir::Model& model, std::span<const AddedInput> added, const At& at, std::vector<Case> cases,
                 dim::Scope& scope) {
  return SizeFinder(model, added, at, std::move(cases), scope).run();
}

}  // namespace thaw::lifting::onetrace
