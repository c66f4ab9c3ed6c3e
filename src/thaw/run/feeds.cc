#include "thaw/run/feeds.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "thaw/core/ascii.h"
#include "thaw/core/error.h"
#include "thaw/core/saturated.h"
#include "thaw/core/suggest.h"
#include "thaw/dim/text/text.h"
#include "thaw/run/elements.h"
#include "thaw/run/random.h"

namespace thaw::run {
namespace {

using ir::DataType;

constexpr int64_t kDefaultHighest = 9;
constexpr int64_t kMostDistinct = 256;           // numbers of which some are drawn, no two the same
constexpr int64_t kMaxDrawn = int64_t{1} << 33;  // bytes of one drawn array

[[noreturn]] void refuse_input(const std::string& input, const std::string& what, const std::string& expected,
                               const std::string& next = {}) {
  throw Error(ErrorCode::kInvalidArgument,
              {.what = what, .where = "input '" + input + "'", .expected = expected, .next = next});
}

std::optional<double> parse_number(const std::string& text) {
  if (text == "true" || text == "True") return 1;
  if (text == "false" || text == "False") return 0;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

bool says_mask(std::string_view name) { return ascii::to_lower(name).find("mask") != std::string::npos; }

std::vector<int64_t> draw_integers(int64_t lowest, int64_t highest, size_t count, Random& random) {
  std::vector<int64_t> values(count);
  for (int64_t& value : values) value = random.integer(lowest, highest);
  return values;
}

// No two the same; there are as many.
std::vector<int64_t> draw_distinct(int64_t lowest, int64_t highest, size_t count, Random& random) {
  std::vector<int64_t> all(static_cast<size_t>(highest - lowest + 1));
  std::iota(all.begin(), all.end(), lowest);
  for (size_t i = 0; i < count; ++i)
    std::swap(all[i], all[static_cast<size_t>(random.integer(static_cast<int64_t>(i), std::ssize(all) - 1))]);
  all.resize(count);
  return all;
}

// Rows along the last axis: ones, then zeros; at least half of a row is ones.
std::vector<int64_t> draw_mask(const std::vector<int64_t>& dims, int64_t count, Random& random) {
  std::vector<int64_t> values(static_cast<size_t>(count), 1);
  const int64_t width = dims.empty() ? 1 : dims.back();
  for (int64_t row = 0; width > 0 && row < count / width; ++row) {
    const int64_t ones = random.integer((width + 1) / 2, width);
    std::fill(values.begin() + row * width + ones, values.begin() + (row + 1) * width, 0);
  }
  return values;
}

dim::SizeNames names_of(const std::vector<InputSpec>& inputs, const dim::Scope& scope) {
  std::vector<dim::InputSizes> sizes;
  for (const InputSpec& input : inputs) sizes.push_back({input.name, ir::is_integer(input.dtype), input.dims});
  return {scope, std::move(sizes)};
}

}  // namespace

Array array_from_texts(const std::string& input, DataType dtype, std::vector<int64_t> dims, const ValueTexts& texts) {
  const int64_t count = element_count(dims);
  if (texts.size() != 1 && static_cast<uint64_t>(count) != texts.size()) {
    refuse_input(input, "has " + describe(dtype, dims) + " and is given " + std::to_string(texts.size()) + " values",
                 std::to_string(count) + " values, or one for all");
  }
  const auto text_at = [&](int64_t i) -> const std::string& {
    return texts[texts.size() == 1 ? 0 : static_cast<size_t>(i)];
  };
  if (dtype == DataType::kString) {
    std::vector<std::string> strings;
    for (int64_t i = 0; i < count; ++i) strings.push_back(text_at(i));
    return Array::from_strings(std::move(dims), std::move(strings));
  }
  Array array = Array::zeros(dtype, std::move(dims));
  for (int64_t i = 0; i < count; ++i) {
    const std::string& text = text_at(i);
    const bool whole_type = ir::is_integer(dtype);
    int64_t whole = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (whole_type && error == std::errc() && end == text.data() + text.size()) {
      encode(dtype, std::span<const int64_t>(&whole, 1), array.bytes.data(), i);
      continue;
    }
    const auto number = parse_number(text);
    if (!number || (whole_type && *number != std::floor(*number))) {
      refuse_input(input, "is given the value '" + text + "'", "values of type " + std::string(ir::name_of(dtype)));
    }
    encode(dtype, std::span<const double>(&*number, 1), array.bytes.data(), i);
  }
  return array;
}

const InputSpec& require_input(const std::vector<InputSpec>& inputs, const std::string& name) {
  const auto found = std::ranges::find(inputs, name, &InputSpec::name);
  if (found != inputs.end()) return *found;
  std::vector<std::string_view> names;
  std::string list;
  for (const InputSpec& input : inputs) {
    names.push_back(input.name);
    list += (list.empty() ? "" : ", ") + input.name;
  }
  refuse_input(name, "is not an input of the model" + did_you_mean(name, names), "one of " + list);
}

Feeder::Feeder(std::vector<InputSpec> inputs, const dim::Scope& scope, FeedOptions options)
    : inputs_(std::move(inputs)), scope_(scope), options_(std::move(options)), names_(names_of(inputs_, scope)) {
  const auto require = [&](const std::string& name) -> const InputSpec& { return require_input(inputs_, name); };
  take_elements();
  for (InputSpec& input : inputs_) {
    if (input.kind == ir::Type::Kind::kOptional) input.has_default = true;  // empty unless given
  }
  for (const auto& [name, array] : options_.arrays) {
    const InputSpec& input = require(name);
    if (input.dims && input.dims->size() != array.dims.size()) {
      refuse_input(name, "is given " + describe(array), "an array of rank " + std::to_string(input.dims->size()));
    }
  }
  for (const auto& [name, texts] : options_.values) {
    if (options_.arrays.contains(require(name).name))
      refuse_input(name, "is given an array and values", "one of the two");
  }
  for (const auto& [name, range] : options_.ranges) {
    const InputSpec& input = require(name);
    if (options_.arrays.contains(name) || options_.values.contains(name)) {
      refuse_input(name, "is given values and a range to draw from", "one of the two");
    }
    if (input.dtype == DataType::kString)
      refuse_input(name, "holds strings and is given a range of numbers", "--values for strings");
  }
  for (const InputSpec& input : inputs_) {
    const bool given = options_.arrays.contains(input.name);
    if (input.has_default && !given && !options_.values.contains(input.name)) continue;
    if (input.kind != ir::Type::Kind::kTensor && input.kind != ir::Type::Kind::kOptional) {
      refuse_input(input.name, "is a sequence, map or sparse tensor, which cannot be fed from an array",
                   "a model whose inputs are tensors");
    }
    if (!input.dims && !given) {
      refuse_input(input.name, "has a declared type without shape", "an array for it",
                   "give one with --input " + input.name + "=FILE.npy");
    }
  }
}

// What the values give as NAME[i] becomes a part of every point.
void Feeder::take_elements() {
  for (auto it = options_.values.begin(); it != options_.values.end();) {
    const auto& [name, texts] = *it;
    const auto found = find(name) != nullptr ? std::nullopt : names_.find(name);
    if (!found || found->kind != dim::SizeName::Kind::kElement) {
      ++it;
      continue;
    }
    const std::string& input = inputs_[found->input].name;
    if (options_.values.contains(input) || options_.arrays.contains(input))
      refuse_input(input, "is given whole, and element " + std::to_string(found->index) + " apart", "one of the two");
    const auto value = texts.size() == 1 ? parse_number(texts.front()) : std::nullopt;
    if (!value || *value != std::floor(*value) || std::abs(*value) > 0x1p53)
      refuse_input(input, "has " + std::to_string(texts.size()) + " values for '" + name + "', or no integer",
                   "one integer for an element");
    elements_.emplace_back(found->text, static_cast<int64_t>(*value));
    it = options_.values.erase(it);
  }
}

Point Feeder::canonical(const Point& point) const {
  std::vector<std::pair<std::string, int64_t>> sizes = point.sizes;
  sizes.insert(sizes.end(), elements_.begin(), elements_.end());
  return {names_.resolve(sizes, "sizes")};
}

namespace {

struct WantedDim {
  std::optional<int64_t> size;  // nullopt: any
  std::string text;
};

NpyCheck check_against(std::vector<WantedDim> wanted, std::string input, std::string where) {
  return [wanted = std::move(wanted), input = std::move(input), where = std::move(where)](const NpyShape& shape) {
    const auto is_size = [](const WantedDim& dim, int64_t size) { return dim.size.value_or(size) == size; };
    if (std::ranges::equal(wanted, shape.dims, is_size)) return;
    std::string text;
    for (const WantedDim& dim : wanted) text += (text.empty() ? "" : ",") + dim.text;
    throw Error(ErrorCode::kInvalidArgument, {.what = "is given " + describe(shape.dtype, shape.dims),
                                              .where = where + ", input '" + input + "'",
                                              .expected = "an array of the shape [" + text + "]",
                                              .next = "give one that the model takes"});
  };
}

}  // namespace

NpyCheck shape_check(const InputSpec& input, std::string where) {
  if (!input.dims) return {};
  std::vector<WantedDim> wanted;
  for (const dim::Dim dim : *input.dims) wanted.push_back({dim.constant(), dim::to_string(dim)});
  return check_against(std::move(wanted), input.name, std::move(where));
}

NpyCheck shape_check(const std::string& input, const ir::Type& declared, std::string where) {
  if (!declared.shape) return {};
  std::vector<WantedDim> wanted;
  for (const ir::DeclaredDim& dim : *declared.shape)
    wanted.push_back({dim.value, dim.value ? std::to_string(*dim.value) : dim.param.empty() ? "?" : dim.param});
  return check_against(std::move(wanted), input, std::move(where));
}

NpyCheck few_elements(const std::string& input, std::string where) {
  constexpr int64_t kMost = 1 << 20;
  return [input, where = std::move(where)](const NpyShape& shape) {
    int64_t count = 1;
    for (const int64_t dim : shape.dims) count = saturated_product(count, dim);
    if (count <= kMost) return;
    throw Error(ErrorCode::kInvalidArgument,
                {.what = "holds " + std::to_string(count) + " elements of an input that the model does not have",
                 .where = where + ", input '" + input + "'",
                 .expected = "at most " + std::to_string(kMost) + " of one that is added",
                 .next = "leave it out of the archive"});
  };
}

const InputSpec* Feeder::find(std::string_view name) const {
  const auto found =
      std::find_if(inputs_.begin(), inputs_.end(), [&](const InputSpec& input) { return input.name == name; });
  return found == inputs_.end() ? nullptr : &*found;
}

dim::Assignment Feeder::bind(const Point& point) const {
  dim::Assignment assignment;
  const auto set = [&](int id, int64_t value, const std::string& by) {
    const auto [at, added] = assignment.emplace(id, value);
    if (!added && at->second != value) {
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = scope_.symbols()[static_cast<size_t>(id)].name + " would be " + std::to_string(at->second) +
                           " and, by " + by + ", " + std::to_string(value),
                   .where = "sizes",
                   .expected = "one size for one name"});
    }
  };
  for (const auto& [name, size] : canonical(point).sizes) {
    const dim::SizeName found = names_.require(name, "sizes");
    if (found.kind != dim::SizeName::Kind::kSymbol) continue;
    if (size < 0)
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = name + " is " + std::to_string(size), .where = "sizes", .expected = "0 or more"});
    set(found.symbol, size, "the sweep");
  }
  for (const auto& [name, array] : options_.arrays) {
    const InputSpec& input = *find(name);
    for (size_t axis = 0; input.dims && axis < array.dims.size(); ++axis) {
      const int id = scope_.symbol_id((*input.dims)[axis]);
      if (id >= 0) set(id, array.dims[axis], "the array for '" + name + "'");
    }
  }
  // Values whose number leaves one symbol to find: six numbers for [n, 3] make n 2. One value alone fills any shape.
  for (const auto& [name, texts] : options_.values) {
    const InputSpec& input = *find(name);
    if (!input.dims || texts.size() == 1) continue;
    int64_t product = 1;
    std::vector<int> unknown;
    for (const dim::Dim dim : *input.dims) {
      const auto value = dim::evaluate(dim, assignment);
      if (value && *value > 0 && !__builtin_mul_overflow(product, *value, &product)) continue;
      unknown.push_back(scope_.symbol_id(dim));
    }
    const auto count = static_cast<int64_t>(texts.size());
    if (unknown.size() == 1 && unknown[0] >= 0 && count % product == 0) {
      set(unknown[0], count / product, "the values for '" + name + "'");
    }
  }
  return assignment;
}

bool Feeder::draws_element(std::string_view name) const {
  const auto found = names_.find(name);
  if (!found || found->kind != dim::SizeName::Kind::kElement) return false;
  const InputSpec& input = inputs_[found->input];
  return !input.has_default && !options_.arrays.contains(input.name) && !options_.values.contains(input.name) &&
         std::ranges::find(elements_, found->text, &std::pair<std::string, int64_t>::first) == elements_.end();
}

namespace {

// What a recurrence carries, [layers, batch, hidden] as ONNX's LSTM has it: a batch that is not the first axis.
bool is_state(const std::vector<dim::Dim>& dims) {
  return dims.size() == 3 && dims[0].is_constant() && dims[1].is_symbolic() && dims[2].is_constant();
}

}  // namespace

std::vector<FreeSymbol> Feeder::free_symbols(const Point& point) const {
  const dim::Assignment assignment = bind(point);
  std::vector<FreeSymbol> symbols;
  std::map<int, size_t> seen;
  for (const InputSpec& input : inputs_) {
    if (!input.dims || (input.has_default && !options_.values.contains(input.name))) continue;
    for (size_t axis = 0; axis < input.dims->size(); ++axis) {
      for (const int id : dim::symbols_of((*input.dims)[axis])) {
        if (assignment.contains(id)) continue;
        const auto [at, added] = seen.emplace(id, symbols.size());
        if (added) symbols.push_back({scope_.symbols()[static_cast<size_t>(id)].name, false, true});
        FreeSymbol& symbol = symbols[at->second];
        if (axis >= 2 && input.dims->size() >= 4) symbol.spatial = true;
        if (!(axis == 0 && input.dims->size() >= 2) && !(axis == 1 && is_state(*input.dims))) symbol.leading = false;
      }
    }
  }
  return symbols;
}

uint64_t Feeder::drawn_bytes(const Point& point) const {
  const dim::Assignment assignment = bind(point);
  uint64_t total = 0;
  for (const InputSpec& input : inputs_) {
    if (!input.dims || input.has_default || options_.arrays.contains(input.name)) continue;
    uint64_t bytes = std::max<uint64_t>(1, static_cast<uint64_t>(ir::bits_of(input.dtype)) / 8);
    for (const dim::Dim dim : *input.dims) {
      const auto size = dim::evaluate(dim, assignment);
      if (!size || *size < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(*size), &bytes)) return UINT64_MAX;
    }
    if (__builtin_add_overflow(total, bytes, &total)) return UINT64_MAX;
  }
  return total;
}

Array Feeder::draw(const InputSpec& input, std::vector<int64_t> dims) const {
  const int64_t count = element_count(dims);
  if (input.dtype == DataType::kUndefined) refuse_input(input.name, "has no declared type", "an element type");
  if (static_cast<int64_t>(std::min<uint64_t>(packed_bytes(input.dtype, count), INT64_MAX)) > kMaxDrawn) {
    refuse_input(input.name, "would be " + describe(input.dtype, dims), "at most 8 GiB", "give smaller sizes");
  }
  Random random(options_.seed, input.name);
  const auto size = static_cast<size_t>(count);
  const auto range = options_.ranges.find(input.name);
  const bool ranged = range != options_.ranges.end();
  if (input.dtype == DataType::kString) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < size; ++i) texts.push_back("text" + std::to_string(random.integer(0, 9)));
    return Array::from_strings(std::move(dims), std::move(texts));
  }
  if (ir::is_integer(input.dtype) || input.dtype == DataType::kBool) {
    std::vector<int64_t> values;
    if (!ranged && !input.index_bound && says_mask(input.name)) {
      values = draw_mask(dims, count, random);
    } else {
      int64_t lowest = input.lowest, highest = input.dtype == DataType::kBool ? 1 : kDefaultHighest;
      if (input.index_bound) highest = *input.index_bound - 1;
      if (!ranged && count == 1 && !input.choices.empty()) {
        const int64_t choice = input.choices[options_.seed % input.choices.size()];
        return Array::from_int64(input.dtype, std::move(dims), std::span(&choice, 1));
      }
      if (ranged) {
        lowest = static_cast<int64_t>(std::ceil(range->second.lowest));
        highest = static_cast<int64_t>(std::floor(range->second.highest));
        if (lowest > highest)
          refuse_input(input.name, "is given a range without an integer in it", "a range such as 0..511");
      }
      const int64_t choices = highest - lowest + 1;
      const bool is_distinct = !ranged && input.is_distinct && count <= choices && choices <= kMostDistinct;
      values =
          is_distinct ? draw_distinct(lowest, highest, size, random) : draw_integers(lowest, highest, size, random);
    }
    return Array::from_int64(input.dtype, std::move(dims), values);
  }
  std::vector<double> values(size);
  for (double& value : values) {
    value = ranged ? range->second.lowest + (range->second.highest - range->second.lowest) * random.uniform()
                   : random.normal();
  }
  return Array::from_doubles(input.dtype, std::move(dims), values);
}

Arrays Feeder::make(const Point& point) const {
  const dim::Assignment assignment = bind(point);
  Arrays feeds;
  for (const InputSpec& input : inputs_) {
    if (const auto given = options_.arrays.find(input.name); given != options_.arrays.end()) {
      feeds.emplace(input.name, given->second);
      continue;
    }
    const auto values = options_.values.find(input.name);
    if (values == options_.values.end() && input.has_default) continue;
    std::vector<int64_t> dims;
    for (const dim::Dim dim : *input.dims) {
      const auto size = dim::evaluate(dim, assignment);
      if (!size || *size < 0) {
        refuse_input(input.name, "its dim " + dim::to_string(dim) + " has no size at " + describe(point),
                     "sizes that determine every dim");
      }
      dims.push_back(*size);
    }
    Array array = values != options_.values.end()
                      ? array_from_texts(input.name, input.dtype, std::move(dims), values->second)
                      : draw(input, std::move(dims));
    feeds.emplace(input.name, std::move(array));
  }
  for (const auto& [name, value] : canonical(point).sizes) {
    const dim::SizeName element = names_.require(name, "sizes");
    if (element.kind != dim::SizeName::Kind::kElement) continue;
    const auto feed = feeds.find(inputs_[element.input].name);
    if (feed == feeds.end() || !ir::is_integer(feed->second.dtype)) continue;
    if (element.index >= feed->second.num_elements()) {
      refuse_input(feed->first, "has no element " + std::to_string(element.index) + " in " + describe(feed->second),
                   "an index below " + std::to_string(feed->second.num_elements()));
    }
    encode(feed->second.dtype, std::span<const int64_t>(&value, 1), feed->second.bytes.data(), element.index);
  }
  return feeds;
}

}  // namespace thaw::run
