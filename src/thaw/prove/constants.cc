#include "thaw/prove/constants.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "thaw/dim/expr/scope.h"
#include "thaw/ir/data/floats.h"
#include "thaw/ir/graph/key_parts.h"
#include "thaw/ops/rule/small_tensor.h"
#include "thaw/prove/offsets.h"

namespace thaw::proving {

using ir::append_list, ir::append_raw, ir::append_text;
using ir::DataType, ir::Tensor;

namespace {

constexpr int kScalarRoundings = 4;      // that a number may differ by where it was computed
constexpr size_t kMostCandidates = 256;  // of constants of one shape that are compared
constexpr size_t kLarge = 1 << 16;       // bytes: of fewer, all are read

std::string bucket_of(DataType type, const std::vector<int64_t>& dims) {
  std::string key;
  append_raw(key, type);
  append_list(key, dims);
  return key;
}

std::vector<double> doubles_of(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  std::vector<double> values(static_cast<size_t>(tensor.num_elements()));
  if (tensor.data_type == DataType::kDouble) {
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  } else {
    ir::to_doubles(tensor.data_type, bytes.data(), values);
  }
  return values;
}

// The element that all are; nullopt where they differ.
std::optional<Tensor> uniform_element(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  const size_t width = static_cast<size_t>(ir::bits_of(tensor.data_type)) / 8;
  if (width == 0 || bytes.empty() || bytes.size() % width != 0) return std::nullopt;
  // Each element equals the next one.
  if (bytes.size() > width && std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) != 0)
    return std::nullopt;
  return Tensor::view({}, tensor.data_type, {}, bytes.first(width), nullptr);
}

// The number that all elements are; nullopt where they differ, or it is none.
std::optional<double> uniform_number(const Tensor& tensor) {
  const auto first = uniform_element(tensor);
  if (!first) return std::nullopt;
  const double value = doubles_of(*first).front();
  if (!std::isfinite(value)) return std::nullopt;
  return value + 0.0;  // -0 is 0
}

}  // namespace

bool is_real(DataType type) {
  return type == DataType::kFloat || type == DataType::kDouble || type == DataType::kFloat16 ||
         type == DataType::kBfloat16;
}

double least_normal_of(DataType type) {
  switch (type) {
    case DataType::kDouble:
      return std::numeric_limits<double>::min();
    case DataType::kFloat16:
      return 0x1p-14;
    default:
      return std::numeric_limits<float>::min();  // and of bfloat16
  }
}

double rounding_of(DataType type) {
  switch (type) {
    case DataType::kFloat16:
      return 0x1p-11;
    case DataType::kBfloat16:
      return 0x1p-8;
    case DataType::kDouble:
      return 0x1p-53;
    default:
      return 0x1p-24;
  }
}

double Constants::most_steps() const {
  double most = 0;
  for (const Rounded& one : rounded_) most = std::max(most, one.steps);
  return most;
}

void Constants::look_at(const ir::Graph& graph, size_t model) {
  const auto look = [&](const Tensor& tensor) {
    const auto bytes = tensor.bytes();
    if (bytes.size() < kLarge) return;
    large_[bytes.size()].of[model].emplace(bytes.data(), tensor.data_type, tensor.dims);
  };
  for (const ir::Value* value : graph.initializers())
    if (value->initializer()->data_type != DataType::kString) look(*value->initializer());
  for (const ir::Node* node : graph.nodes()) {
    if (const Tensor* tensor = node->constant(); tensor && tensor->data_type != DataType::kString) look(*tensor);
    for (const ir::Graph* inner : node->subgraphs()) look_at(*inner, model);
  }
}

bool Constants::is_known_by_place(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  const auto found = bytes.size() < kLarge ? large_.end() : large_.find(bytes.size());
  if (found == large_.end()) return false;
  Places& places = found->second;
  if (!places.are_same) places.are_same = places.of[0] == places.of[1];
  return *places.are_same && places.of[0].contains({bytes.data(), tensor.data_type, tensor.dims});
}

TermId Constants::one(DataType type) { return terms_.apply("One", {}, type, ops::Shape{}); }

double Constants::number(double value, DataType type, bool is_read) {
  Scalars& known = scalars_[type];
  value += 0.0;
  if (!std::isfinite(value) || known.read.contains(value) || known.computed.contains(value)) return value;
  const double reach = kScalarRoundings * rounding_of(type) * std::fabs(value);
  const auto near = [&](const std::set<double>& numbers) -> std::optional<double> {
    std::optional<double> best;
    for (auto at = numbers.lower_bound(value - reach); at != numbers.end() && *at <= value + reach; ++at)
      if (!best || std::fabs(*at - value) < std::fabs(*best - value)) best = *at;
    return best;
  };
  std::optional<double> found = near(known.computed);
  if (!found && !is_read) found = near(known.read);
  if (found) {
    const double step = 2 * rounding_of(type) * std::fabs(value);
    rounded_.push_back({type, {}, std::fabs(*found - value) / step, reach / step});
    taken_numbers_.emplace(type, *found);
    return *found;
  }
  (is_read ? known.read : known.computed).insert(value);
  return value;
}

TermId Constants::sizes(DataType type, std::vector<int64_t> dims, std::vector<dim::Dim> elements) {
  Term term;
  term.kind = Term::Kind::kSizes;
  term.dtype = type;
  term.shape = ops::Shape(dims.begin(), dims.end());
  term.ints = std::move(dims);
  term.dims = std::move(elements);
  const bool is_computed = std::ranges::any_of(
      term.dims, [&](dim::Dim d) { return d.is_known() && !d.is_constant() && terms_.scope().symbol_id(d) < 0; });
  return terms_.assuming(is_computed ? kIntegersFit : 0, terms_.add(std::move(term)));
}

TermId Constants::read(const Tensor& tensor) {
  if (tensor.data_type == DataType::kString) {
    Term term;
    term.kind = Term::Kind::kConstant;
    term.dtype = tensor.data_type;
    term.ints = tensor.dims;
    term.shape = ops::Shape(tensor.dims.begin(), tensor.dims.end());
    for (const std::string& text : tensor.to_strings()) append_text(term.settings, text);
    return terms_.add(std::move(term));
  }
  if (is_real(tensor.data_type) && !is_known_by_place(tensor)) {
    if (const auto value = uniform_number(tensor)) {
      Term sum;
      sum.kind = Term::Kind::kSum;
      sum.dtype = tensor.data_type;
      sum.arguments = {one(tensor.data_type)};
      sum.numbers = {number(*value, tensor.data_type, true)};
      sum.shape = ops::Shape{};
      const TermId scalar = sum.numbers[0] == 1 ? sum.arguments[0] : terms_.add(std::move(sum));
      return tensor.dims.empty() ? scalar : expanded(scalar, tensor.dims);
    }
  }
  if ((ir::is_integer(tensor.data_type) || tensor.data_type == DataType::kBool) && ir::bits_of(tensor.data_type) >= 8)
    if (const auto first = uniform_element(tensor)) {
      // What no int64 holds in an expression stays as it is.
      const auto elements = ops::small_elements(*first);
      const dim::Dim value = elements ? elements->front().as_dim() : dim::Dim();
      if (value.is_known()) return expanded(sizes(tensor.data_type, {}, {value}), tensor.dims);
    }
  return exact(tensor);
}

TermId Constants::expanded(TermId scalar, const std::vector<int64_t>& dims) {
  Term term;
  term.op = "Expand";
  term.dtype = terms_[scalar].dtype;
  term.arguments = {scalar};
  term.shape = ops::Shape(dims.begin(), dims.end());
  term.dims = *term.shape;
  return terms_.add(std::move(term));
}

TermId Constants::unrepeated(TermId id) {
  const Term term = terms_[id];
  if (term.kind != Term::Kind::kConstant || term.dtype == DataType::kString || (!term.tensor && !term.computed))
    return id;
  if (const auto known = unrepeated_.find(id); known != unrepeated_.end()) return known->second;
  const std::vector<int64_t> own = ops::strides_of(term.ints);
  const size_t bits = static_cast<size_t>(ir::bits_of(term.dtype));
  // Whether some elements that follow each other are the same as as many others.
  const auto is_same = [&](int64_t a, int64_t b, int64_t count) {
    const auto first = static_cast<size_t>(a), second = static_cast<size_t>(b), each = static_cast<size_t>(count);
    if (term.tensor) {
      const auto bytes = term.tensor->bytes();
      return std::memcmp(bytes.data() + first * (bits / 8), bytes.data() + second * (bits / 8), each * (bits / 8)) == 0;
    }
    const auto are_equal = [&](const std::vector<double>& of) {
      return of.empty() || std::equal(of.begin() + a, of.begin() + a + count, of.begin() + b);
    };
    return are_equal(term.computed->values) && are_equal(term.computed->magnitude);
  };
  std::vector<int64_t> fewer = term.ints;
  const int64_t all = bits >= 8 && bits % 8 == 0 ? product_of(term.ints) : 0;
  for (size_t k = 0; k < term.ints.size() && all > 0; ++k) {
    const int64_t block = own[k] * term.ints[k];
    bool is_repeated = term.ints[k] > 1;
    for (int64_t first = 0; first < all && is_repeated; first += block)
      is_repeated = is_same(first, first + own[k], block - own[k]);
    if (is_repeated) fewer[k] = 1;
  }
  TermId made = id;
  if (fewer != term.ints)
    if (const auto smaller = moved(id, fewer, [&] { return offsets(fewer, own, 0); })) made = *smaller;
  unrepeated_.emplace(id, made);
  return made;
}

TermId Constants::exact(Tensor tensor) {
  Term term;
  term.kind = Term::Kind::kConstant;
  term.dtype = tensor.data_type;
  term.ints = tensor.dims;
  term.shape = ops::Shape(tensor.dims.begin(), tensor.dims.end());
  const auto bytes = tensor.bytes();
  const bool is_known_here = is_known_by_place(tensor);
  if (is_known_here) {
    append_raw(term.settings, std::bit_cast<uintptr_t>(bytes.data()));
  } else {
    const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
    append_raw(term.settings, hash.high64);
    append_raw(term.settings, hash.low64);
  }
  append_raw(term.settings, bytes.size());
  const DataType type = tensor.data_type;
  const std::vector<int64_t> dims = tensor.dims;
  Held& held = held_[bucket_of(type, dims)];
  if (is_real(type) && !is_known_here && !held.computed.empty() && !terms_.find(term)) {
    const Numbers wanted{dims, doubles_of(tensor), {}, 0};
    if (const auto near = nearest(bucket_of(type, dims), type, wanted, true)) return *near;
  }
  term.tensor = std::make_shared<const Tensor>(std::move(tensor));
  const std::shared_ptr<const Tensor> read = term.tensor;
  const TermId id = terms_.add(std::move(term));
  if (!terms_.was_there()) {
    held.read.push_back(id);
    return id;
  }
  const auto before = terms_[id].tensor->bytes();
  if (before.data() == bytes.data() || std::equal(before.begin(), before.end(), bytes.begin(), bytes.end())) return id;
  Term other = terms_[id];  // two tensors of one hash
  other.tensor = read;
  return terms_.add_unique(std::move(other));
}

std::optional<TermId> Constants::nearest(const std::string& bucket, DataType type, const Numbers& wanted,
                                         bool is_read) {
  const auto found = held_.find(bucket);
  if (found == held_.end()) return std::nullopt;
  size_t tried = 0;
  double farthest = 0;
  const auto agree = [&](const Numbers& other, bool is_written) {
    // One rounding more each: they were written down in the type.
    const double rounding = rounding_of(type), reach = rounding * (other.roundings + wanted.roundings + 2);
    const double least = is_read || is_written ? least_normal_of(type) : 0;
    for (size_t i = 0; i < other.values.size(); ++i) {
      const double a = wanted.values[i], b = other.values[i];
      if (a == b) continue;
      double size = std::max({std::fabs(a), std::fabs(b), least});
      if (!wanted.magnitude.empty()) size = std::max(size, wanted.magnitude[i]);
      if (!other.magnitude.empty()) size = std::max(size, other.magnitude[i]);
      if (!(std::fabs(a - b) <= reach * size)) return false;
      farthest = std::max(farthest, std::fabs(a - b) / (2 * rounding * size));
    }
    return true;
  };
  const auto try_one = [&](TermId id) {
    if (++tried > kMostCandidates) return false;
    farthest = 0;
    const Term& term = terms_[id];
    if (term.tensor) {  // the first few tell most apart
      const size_t width = static_cast<size_t>(ir::bits_of(type)) / 8;
      const auto bytes = term.tensor->bytes();
      const size_t few = std::min<size_t>(4, bytes.size() / width);
      const auto first = Tensor::view({}, type, {static_cast<int64_t>(few)}, bytes.first(few * width), nullptr);
      if (!agree({{}, doubles_of(first), {}, 0}, true)) return false;
    }
    const auto other = numbers(id);
    if (!other || other->values.size() != wanted.values.size() || !agree(*other, term.tensor != nullptr)) return false;
    if (farthest > 0) {
      rounded_.push_back({type, wanted.dims, farthest, (other->roundings + wanted.roundings + 2) / 2.0});
      taken_.insert(id);
    }
    return true;
  };
  for (const TermId id : found->second.computed)
    if (try_one(id)) return id;
  if (is_read) return std::nullopt;
  for (const TermId id : found->second.read)
    if (try_one(id)) return id;
  return std::nullopt;
}

TermId Constants::computed(DataType type, Numbers numbers) {
  const std::string bucket = bucket_of(type, numbers.dims);
  if (const auto near = nearest(bucket, type, numbers, false)) return *near;
  Term term;
  term.kind = Term::Kind::kConstant;
  term.dtype = type;
  term.ints = numbers.dims;
  term.shape = ops::Shape(numbers.dims.begin(), numbers.dims.end());
  auto data = std::make_shared<Computed>();
  data->values = std::move(numbers.values);
  data->magnitude = std::move(numbers.magnitude);
  data->roundings = numbers.roundings;
  term.computed = std::move(data);
  const TermId id = terms_.add_unique(std::move(term));
  held_[bucket].computed.push_back(id);
  return id;
}

std::optional<Numbers> Constants::numbers(TermId id) const {
  const Term& term = terms_[id];
  if (term.kind != Term::Kind::kConstant || !is_real(term.dtype)) return std::nullopt;
  left_ -= product_of(term.ints);
  if (left_ < 0) return std::nullopt;
  if (term.computed)
    return Numbers{term.ints, term.computed->values, term.computed->magnitude, term.computed->roundings};
  if (!term.tensor || term.tensor->num_elements() > kMostElements) return std::nullopt;
  Numbers numbers{term.ints, doubles_of(*term.tensor), {}, 0};
  if (!std::ranges::all_of(numbers.values, [](double v) { return std::isfinite(v); })) return std::nullopt;
  return numbers;
}

std::optional<TermId> Constants::joined(std::span<const TermId> parts, size_t axis) {
  if (!is_constant(parts[0])) return std::nullopt;
  std::vector<int64_t> dims = terms_[parts[0]].ints;
  dims[axis] = 0;
  int64_t count = 0;
  for (const TermId part : parts) {
    const Term& term = terms_[part];
    if (term.kind != Term::Kind::kConstant || !is_real(term.dtype)) return std::nullopt;
    dims[axis] += term.ints[axis];
    count += product_of(term.ints);
    if (count > kMostElements) return std::nullopt;
  }
  const DataType type = terms_[parts[0]].dtype;
  const bool is_read = std::ranges::all_of(parts, [&](TermId part) { return terms_[part].tensor != nullptr; });
  const size_t width = static_cast<size_t>(ir::bits_of(type)) / 8;
  std::vector<Numbers> numbers;
  for (const TermId part : parts) {
    auto one = is_read ? std::optional(Numbers{terms_[part].ints, {}, {}, 0}) : this->numbers(part);
    if (!one) return std::nullopt;
    numbers.push_back(std::move(*one));
  }
  if (count == 0) return std::nullopt;
  const auto outer =
      std::accumulate(dims.begin(), dims.begin() + static_cast<ptrdiff_t>(axis), int64_t{1}, std::multiplies<>());
  Numbers made{dims, {}, {}, 0};
  std::vector<std::byte> bytes;
  for (int64_t row = 0; row < outer; ++row)
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto each = static_cast<size_t>(product_of(numbers[i].dims) / outer);
      const size_t first = static_cast<size_t>(row) * each;
      if (is_read) {
        const auto from = terms_[parts[i]].tensor->bytes().subspan(first * width, each * width);
        bytes.insert(bytes.end(), from.begin(), from.end());
        continue;
      }
      made.roundings = std::max(made.roundings, numbers[i].roundings);
      for (size_t k = first; k < first + each; ++k) {
        made.values.push_back(numbers[i].values[k]);
        made.magnitude.push_back(numbers[i].magnitude.empty() ? std::fabs(numbers[i].values[k])
                                                              : numbers[i].magnitude[k]);
      }
    }
  const TermId all =
      is_read ? read(Tensor::from_bytes({}, type, std::move(dims), std::move(bytes))) : computed(type, std::move(made));
  for (const TermId part : parts) made_of(part, all);
  return all;
}

std::optional<TermId> Constants::moved(TermId id, std::vector<int64_t> dims,
                                       const std::function<std::vector<int64_t>()>& source) {
  const Term& term = terms_[id];
  if (term.kind != Term::Kind::kConstant) return std::nullopt;
  int64_t count = 1;
  for (const int64_t d : dims) {
    if (d < 0 || (d > 0 && count > kMostElements / d)) return std::nullopt;
    count *= d;
  }
  if (term.computed) {
    Numbers made{std::move(dims), {}, {}, term.computed->roundings};
    for (const int64_t at : source()) {
      made.values.push_back(term.computed->values[static_cast<size_t>(at)]);
      if (!term.computed->magnitude.empty())
        made.magnitude.push_back(term.computed->magnitude[static_cast<size_t>(at)]);
    }
    return made_of(id, computed(term.dtype, std::move(made)));
  }
  const size_t bits = static_cast<size_t>(ir::bits_of(term.dtype));
  if (!term.tensor || bits < 8 || bits % 8 != 0) return std::nullopt;
  const size_t width = bits / 8;
  const auto bytes = term.tensor->bytes();
  std::vector<std::byte> made(static_cast<size_t>(count) * width);
  size_t at = 0;
  for (const int64_t from : source()) {
    std::memcpy(made.data() + at, bytes.data() + static_cast<size_t>(from) * width, width);
    at += width;
  }
  return made_of(id, read(Tensor::from_bytes({}, term.dtype, std::move(dims), std::move(made))));
}

bool Constants::is_taken(TermId id) const {
  std::set<TermId> seen{id};
  std::vector<TermId> left{id};
  while (!left.empty()) {
    const TermId at = left.back();
    left.pop_back();
    if (terms_[at].computed || taken_.contains(at)) return true;
    const auto found = made_of_.find(at);
    if (found == made_of_.end()) continue;
    for (const TermId from : found->second)
      if (seen.insert(from).second) left.push_back(from);
  }
  return false;
}

}  // namespace thaw::proving
