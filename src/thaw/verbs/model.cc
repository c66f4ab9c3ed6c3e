#include "thaw/model.h"

#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/in_memory.h"
#include "thaw/ir/wire/apart.h"
#include "thaw/rewrite/rename_sizes.h"
#include "thaw/verbs/access.h"

namespace thaw {
namespace {

std::string text_of(const ir::DeclaredDim& dim) {
  if (dim.value) return std::to_string(*dim.value);
  return dim.param.empty() ? "?" : dim.param;
}

Port port_of(const ir::Value& value) {
  Port port{.name = value.name(), .kind = value.type.kind, .has_default = value.initializer() != nullptr};
  const ir::Type* type = &value.type;
  while (type->element && type->elem_type == DataType::kUndefined) type = type->element.get();
  port.dtype = type->elem_type;
  if (value.type.shape) {
    port.dims.emplace();
    for (const ir::DeclaredDim& dim : *value.type.shape) port.dims->push_back(text_of(dim));
  }
  return port;
}

template <typename Values>
std::vector<Port> ports_of(const Values& values) {
  std::vector<Port> ports;
  for (const ir::Value* value : values) ports.push_back(port_of(*value));
  return ports;
}

}  // namespace

Model::Model(std::unique_ptr<ir::Model> model) : model_(std::move(model)) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

Model Model::load(const std::filesystem::path& path) { return Model(ir::load(path)); }

Model Model::parse(std::span<const std::byte> bytes, const std::filesystem::path& folder) {
  auto owned = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
  return Model(ir::parse(*owned, owned, folder));
}

std::vector<std::filesystem::path> Model::save(const std::filesystem::path& path, const SaveOptions& options) const {
  return ir::save(*model_, path, options);
}
void Model::rename_sizes(const SizeRenames& names) { rewrite::rename_sizes(*model_, names); }
std::string Model::serialize() const { return ir::serialize(*model_); }
Model Model::clone() const { return Model(ir::clone(*model_)); }

std::vector<Port> Model::inputs() const { return ports_of(model_->graph->inputs()); }
std::vector<Port> Model::outputs() const { return ports_of(model_->graph->outputs()); }
std::optional<int64_t> Model::opset(const std::string& domain) const { return model_->opset(domain); }
const std::filesystem::path& Model::path() const { return model_->path; }
std::vector<std::filesystem::path> Model::data_files() const { return ir::data_files_of(*model_); }

SerializedApart serialize_apart(const Model& model, uint64_t least) {
  const ir::Model& whole = ModelAccess::of(model);
  std::vector<const ir::Tensor*> apart;
  for (const ir::Value* value : whole.graph->initializers()) {
    const ir::Tensor& tensor = *value->initializer();
    if (!tensor.external() && tensor.data_type != DataType::kString && tensor.num_bytes() >= least)
      apart.push_back(&tensor);
  }
  SerializedApart made{ir::serialize_without(whole, apart), {}};
  for (size_t i = 0; i < apart.size(); ++i) {
    const auto kept = std::make_shared<const ir::Tensor>(*apart[i]);
    made.weights.push_back({ir::location_apart(i), kept->data_type, kept->dims, kept->bytes(), kept});
  }
  return made;
}

Model parse_with_weights(std::span<const std::byte> bytes, const std::filesystem::path& folder,
                         std::span<const WeightBytes> weights) {
  Model model = Model::parse(bytes, folder);
  ir::Graph& graph = *ModelAccess::of(model).graph;
  std::map<std::string_view, ir::Value*> named;
  for (ir::Value* value : graph.initializers()) {
    const ir::ExternalLocation* at = value->initializer() ? value->initializer()->external() : nullptr;
    if (at) named.emplace(at->location, value);
  }
  std::vector<std::pair<ir::Value*, ir::Tensor>> made;
  for (const WeightBytes& weight : weights) {
    const auto at = named.find(weight.name);
    if (at == named.end())
      throw Error(ErrorCode::kInvalidArgument,
                  {.what = fmt::format("no initializer has the location '{}'", weight.name),
                   .where = "a weight in memory",
                   .expected = "a location that external_data of the main graph names"});
    const ir::Tensor& tensor = *at->second->initializer();
    if (tensor.num_bytes() != weight.bytes.size())
      throw Error(ErrorCode::kInvalidArgument, {.what = fmt::format("is given {} bytes", weight.bytes.size()),
                                                .where = fmt::format("initializer '{}'", tensor.name),
                                                .expected = fmt::format("{} bytes", tensor.num_bytes())});
    made.emplace_back(at->second,
                      ir::Tensor::view(tensor.name, tensor.data_type, tensor.dims, weight.bytes, weight.owner));
  }
  for (auto& [value, tensor] : made) graph.replace_initializer(value, std::move(tensor));
  return model;
}

void keep_alive(Model& model, std::shared_ptr<const void> owner) {
  ModelAccess::of(model).owners.push_back(std::move(owner));
}

}  // namespace thaw
