#include "thaw/model.h"

#include <utility>

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

}  // namespace thaw
