#include "thaw/model/nn/rope.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "thaw/math/rotary_frequencies.h"
#include "thaw/model/nn/scope.h"

namespace thaw::model {

using ir::DataType;

namespace {

// What rope_scaling, or rope_parameters, says; keys may also stand beside it in the text config.
struct Source {
  const Config& text;
  std::optional<Config> rope;
  RopeDefaults defaults;

  double number_or(std::string_view key, double otherwise) const {
    return rope ? rope->number_or({key}, otherwise) : otherwise;
  }
  double number(std::string_view key) const { return rope->number({key}); }
  double theta() const { return number_or("rope_theta", text.number_or({"rope_theta"}, defaults.theta)); }
  double partial() const {
    return !defaults.is_partial ? 1.0
                                : number_or("partial_rotary_factor", text.number_or({"partial_rotary_factor"}, 1.0));
  }
  // The length that the model was trained with before its context was stretched.
  int64_t original_length() const {
    constexpr std::string_view kOutside = "original_max_position_embeddings";
    if (defaults.longrope_only) return text.size_or({kOutside}, 4096);  // Phi-3 has it there alone
    const int64_t otherwise = text.size_or({"max_position_embeddings"}, 4096);
    const int64_t inside = rope ? rope->size_or({kOutside}, otherwise) : otherwise;
    return text.size_or({kOutside}, inside);
  }
  double longest() const { return static_cast<double>(text.size_or({"max_position_embeddings"}, 4096)); }
  std::string kind() const {
    if (!rope) return "default";
    std::string kind = rope->text_or({"rope_type", "type"}, "default");
    if (kind == "mrope") return "default";
    const bool is_longrope = kind == "su" || (kind == "yarn" && defaults.longrope_only);
    return is_longrope ? "longrope" : kind;
  }
};

void scale_llama3(const Source& source, Rope& rope) {
  math::scale(rope.frequencies, math::Llama3Scaling{.factor = source.number("factor"),
                                                    .low_factor = source.number("low_freq_factor"),
                                                    .high_factor = source.number("high_freq_factor"),
                                                    .length = static_cast<double>(source.original_length())});
}

void scale_yarn(const Source& source, Rope& rope) {
  const auto length = static_cast<double>(source.original_length());
  const double factor = source.number_or("factor", source.longest() / length);
  math::scale(rope.frequencies, math::YarnScaling{.factor = factor,
                                                  .base = source.theta(),
                                                  .length = length,
                                                  .fast = source.number_or("beta_fast", 32),
                                                  .slow = source.number_or("beta_slow", 1),
                                                  .is_cut = source.rope->boolean_or({"truncate"}, true)});
  const double mscale = source.number_or("mscale", 0), mscale_all = source.number_or("mscale_all_dim", 0);
  const double inferred = mscale != 0 && mscale_all != 0
                              ? math::yarn_magnitude(factor, mscale) / math::yarn_magnitude(factor, mscale_all)
                              : math::yarn_magnitude(factor, 1);
  rope.scale = source.number_or("attention_factor", inferred);
}

// Ding et al., "LongRoPE" (2024): a factor for each pair, one list for short contexts and one for long ones.
void scale_longrope(const Source& source, Rope& rope) {
  rope.switch_at = source.original_length();
  const auto length = static_cast<double>(rope.switch_at);
  const double factor = source.number_or("factor", source.longest() / length);
  rope.scale = source.number_or("attention_factor", math::longrope_magnitude(factor, length));
  const auto divided = [&](std::string_view key) {
    const std::vector<double> factors = source.rope->numbers({key});
    if (factors.size() != rope.frequencies.size()) {
      source.rope->fail(key, fmt::format("has {} numbers", factors.size()),
                        fmt::format("{}, half the elements that turn", rope.frequencies.size()));
    }
    return math::rotary_frequencies_as_trained(source.theta(), rope.dim, factors);
  };
  rope.long_context = divided("long_factor");
  rope.frequencies = divided("short_factor");
}

// Which coordinate turns each pair.
std::vector<int64_t> axes_of(const Source& source, int64_t pairs) {
  const Config& at = source.rope ? *source.rope : source.text;
  const std::vector<int64_t> sections = at.integers_or({"mrope_section"}, source.defaults.sections);
  std::vector<int64_t> axis;
  if (source.defaults.interleaved) {
    if (sections.size() != 3) at.fail("mrope_section", fmt::format("has {} numbers", sections.size()), "3");
    axis.assign(static_cast<size_t>(pairs), 0);
    for (int64_t coordinate = 1; coordinate <= 2; ++coordinate) {
      const int64_t end = std::min(pairs, 3 * std::min(pairs, sections[static_cast<size_t>(coordinate)]));
      for (int64_t j = coordinate; j < end; j += 3) axis[static_cast<size_t>(j)] = coordinate;
    }
    return axis;
  }
  int64_t sum = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    const int64_t count = sections[i];
    if (count < 0 || count > pairs - sum) {
      at.fail("mrope_section", fmt::format("has the number {}", count),
              fmt::format("numbers that add up to {}, half the elements of a head that turn", pairs));
    }
    sum += count;
    axis.insert(axis.end(), static_cast<size_t>(count), static_cast<int64_t>(i % 3));
  }
  if (sum != pairs) {
    at.fail("mrope_section", fmt::format("adds up to {}", sum),
            fmt::format("{}, half the elements of a head that turn", pairs));
  }
  return axis;
}

}  // namespace

Rope read_rope(const Config& text, int64_t head_dim, const RopeDefaults& defaults) {
  // A config may hold both; transformers goes by what was written for its earlier versions then.
  Source source{text, text.find_object("rope_scaling"), defaults};
  if (!source.rope || source.rope->empty()) source.rope = text.find_object("rope_parameters");
  Rope rope;
  const double partial = source.partial();
  if (!(partial > 0 && partial <= 1)) text.fail("partial_rotary_factor", fmt::format("is {}", partial), "0 to 1");
  rope.dim = static_cast<int64_t>(static_cast<double>(head_dim) * partial);
  if (rope.dim < 2 || rope.dim > head_dim || rope.dim % 2 != 0) {
    text.fail("partial_rotary_factor", fmt::format("makes {} of {} elements of a head turn", rope.dim, head_dim),
              "an even number of them");
  }
  rope.frequencies = math::rotary_frequencies_as_trained(source.theta(), rope.dim);
  const std::string kind = source.kind();
  if (kind == "linear") {
    for (float& frequency : rope.frequencies) frequency /= static_cast<float>(source.number("factor"));
  } else if (kind == "llama3") {
    scale_llama3(source, rope);
  } else if (kind == "yarn") {
    scale_yarn(source, rope);
  } else if (kind == "longrope") {
    scale_longrope(source, rope);
  } else if (kind != "default") {
    source.rope->fail("rope_type", fmt::format("is '{}', which thaw build does not write", kind),
                      "default, linear, llama3, yarn, longrope or mrope");
  }
  const auto is_good = [](float frequency) { return std::isfinite(frequency) && frequency > 0; };
  if (!std::ranges::all_of(rope.frequencies, is_good) || !std::ranges::all_of(rope.long_context, is_good) ||
      !std::isfinite(rope.scale)) {
    (source.rope ? *source.rope : text)
        .fail("rope_theta", fmt::format("({}) and the factors beside it yield no frequencies", source.theta()),
              "positive numbers");
  }
  if (!defaults.sections.empty()) rope.axis = axes_of(source, rope.dim / 2);
  return rope;
}

TokenRotary rotary_at(const Rope& rope, Var positions, bool by_axis, Var batch) {
  Net& net = *positions.net;
  const Here here(net, "rotary");
  const auto pairs = static_cast<int64_t>(rope.frequencies.size());
  Var frequencies = net.floats({pairs}, rope.frequencies);
  if (!rope.long_context.empty()) {
    // One table for the whole batch, by its furthest position.
    Var furthest = reduce_max(positions, by_axis ? std::vector<int64_t>{0, 1, 2} : std::vector<int64_t>{0, 1});
    Var is_long = greater_or_equal(furthest, net.integer(rope.switch_at));
    frequencies = where(is_long, net.floats({pairs}, rope.long_context), frequencies);
  }
  Var location = cast(positions, DataType::kFloat);
  location = by_axis ? gather(transpose(location, {1, 2, 0}), net.integers(rope.axis), 2) : unsqueeze(location, {2});
  const Rotary angles = rotary_from_angles(location * frequencies, net.dtype(), rope.scale);
  TokenRotary rotary{.cos = {}, .sin = {}, .row = {}, .dim = rope.dim};
  if (net.is_ort()) {
    rotary.cos = reshape(angles.cos, {-1, pairs});
    rotary.sin = reshape(angles.sin, {-1, pairs});
    Var tokens = slice(shape_of(angles.cos), 0, 0, 2);
    Var row = reshape(arange(length_of(rotary.cos, 0)), tokens);
    rotary.row = expand(row, concat({batch, slice(tokens, 0, 1, 2)}, 0));
  } else {
    rotary.cos = unsqueeze(angles.cos, {2});
    rotary.sin = unsqueeze(angles.sin, {2});
  }
  return rotary;
}

Var rotate_tokens(Var x, const TokenRotary& rotary, int64_t heads, int64_t head_dim) {
  if (!rotary.row) return rotate(x, rotary.cos, rotary.sin, head_dim, rotary.dim);
  const int64_t part = rotary.dim == head_dim ? 0 : rotary.dim;  // 0: whole heads
  return x.net->node("RotaryEmbedding", {x, rotary.row, rotary.cos, rotary.sin}, x.type,
                     {{"num_heads", heads}, {"interleaved", int64_t{0}}, {"rotary_embedding_dim", part}},
                     "com.microsoft");
}

}  // namespace thaw::model
