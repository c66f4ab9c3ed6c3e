#include "thaw/cli/array_json.h"

#include "thaw/ir/data/types.h"

namespace thaw::cli {

void write_type(report::JsonWriter& json, std::string_view name, const Array& array) {
  json.member("name", name);
  json.member("dtype", ir::name_of(array.dtype));
  json.member_array("dims");
  for (const int64_t dim : array.dims) json.value(dim);
  json.end_array();
}

}  // namespace thaw::cli
