#include "thaw/sensitivity/whole_model.h"

#include "thaw/rewrite/submodel.h"

namespace thaw::measuring {

WholeModel::WholeModel(const ir::Model& model, const std::vector<std::string>& outputs, const SessionOptions& options)
    : session_(*rewrite::submodel_of(model, {}, outputs), options) {}

Arrays WholeModel::run(const CachedArrays& kept, size_t sample) {
  Arrays feeds;
  for (const Port& port : session_.inputs())
    if (kept.has(sample, port.name)) feeds.emplace(port.name, kept.get(sample, port.name));
  return session_.run(feeds);
}

Arrays WholeModel::run(const Arrays& feeds) {
  Arrays fed;
  for (const Port& port : session_.inputs())
    if (const auto at = feeds.find(port.name); at != feeds.end()) fed.insert(*at);
  return session_.run(fed);
}

}  // namespace thaw::measuring
