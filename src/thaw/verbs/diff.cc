#include "thaw/report/graph_page.h"
#include "thaw/report/model_diff.h"
#include "thaw/verbs/access.h"

namespace thaw {

ModelDiff diff(const Model& a, const Model& b, const DiffOptions& options) {
  const ir::Model &first = ModelAccess::begin(a), &second = ModelAccess::begin(b);
  ModelDiff found = report::diff(first, second, options);
  found.a = first.path.string();
  found.b = second.path.string();
  return found;
}

std::string to_html(const ModelDiff& diff, const Model& a, const Model& b) {
  return report::diff_page(diff, ModelAccess::of(a), ModelAccess::of(b));
}

}  // namespace thaw
