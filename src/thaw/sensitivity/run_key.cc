#include "thaw/sensitivity/run_key.h"

#define XXH_INLINE_ALL
#include <memory>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include "thaw/core/error.h"
#include "thaw/ir/data/tensor_chunks.h"
#include "thaw/quant/plan_file.h"
#include "thaw/run/providers.h"
#include "thaw/sensitivity/node_key.h"

namespace thaw::measuring {
namespace {

constexpr uint64_t kHashedAtOnce = uint64_t{1} << 24;

class Hash {
 public:
  Hash() : state_(XXH3_createState(), &XXH3_freeState) { XXH3_128bits_reset(state_.get()); }
  void add(std::string_view text) {
    const uint64_t size = text.size();
    XXH3_128bits_update(state_.get(), &size, sizeof(size));
    XXH3_128bits_update(state_.get(), text.data(), text.size());
  }
  void add(std::span<const std::byte> bytes) { XXH3_128bits_update(state_.get(), bytes.data(), bytes.size()); }
  std::string text() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

void add_options(Hash& hash, const SensitivityOptions& options, const Runtime& runtime) {
  for (const PrecisionOptions& precision : options.precisions)
    hash.add(quantizing::plan_text({.precision = precision}));
  for (const std::string& output : options.outputs) hash.add("output " + output);
  for (const std::string& pattern : options.keep) hash.add("keep " + pattern);
  hash.add(fmt::format("{} {} {} {} {}", static_cast<int>(options.group), options.one_out,
                       static_cast<int>(options.target), options.optimize, options.seed));
  hash.add("for " + options.backend);
  hash.add("ran on " + run::describe(runtime));
}

void add_model(Hash& hash, const ir::Model& model) {
  for (const ir::Value* value : model.graph->initializers()) {
    const ir::Tensor& tensor = *value->initializer();
    hash.add(fmt::format("{} {} {}", value->name(), static_cast<int>(tensor.data_type), fmt::join(tensor.dims, ",")));
    if (tensor.data_type == ir::DataType::kString) continue;
    ir::for_chunks(tensor, kHashedAtOnce, [&](std::span<const std::byte> chunk) { hash.add(chunk); });
  }
  for (const ir::Node* node : model.graph->nodes()) {
    std::string key;
    append_node(
        key, *node, [](std::string& to, const ir::Value& value) { to.append(value.name()).push_back(' '); },
        append_content);
    for (const ir::Value* output : node->outputs()) key.append(output ? output->name() : "").push_back(' ');
    hash.add(key);
  }
}

}  // namespace

std::string model_key(const ir::Model& model) {
  Hash hash;
  add_model(hash, model);
  return hash.text();
}

void require_measured(const ir::Model& model, const SensitivityReport& report) {
  if (report.model_key.empty() || model_key(model) == report.model_key) return;
  throw Error(ErrorCode::kInvalidArgument,
              {.what = "the model differs from the measured one: other nodes or weights",
               .where = model.path.string(),
               .expected = "the model of the report",
               .next = "measure it anew with `thaw sensitivity`, or name the model that was measured with --model"});
}

std::string run_key(const std::string& key, const ir::Model& model, const quantizing::Samples& samples,
                    const SensitivityOptions& options, const Runtime& runtime) {
  Hash hash;
  add_options(hash, options, runtime);
  hash.add(key);
  const std::vector<std::string> inputs = quantizing::inputs_to_feed(model);
  for (size_t i = 0; i < samples.size(); ++i)
    for (const auto& [name, array] : samples.read(i, inputs)) {
      hash.add(fmt::format("{} {} {}", name, static_cast<int>(array.dtype), fmt::join(array.dims, ",")));
      hash.add(std::span(array.bytes));
    }
  return hash.text();
}

}  // namespace thaw::measuring
