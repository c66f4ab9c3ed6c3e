#include "thaw/cli/trace_values.h"

#include <algorithm>

#include <fmt/format.h>

#include "thaw/core/error.h"
#include "thaw/lift/align/values.h"
#include "thaw/run/npz.h"

namespace thaw::cli {
namespace {

void read_archive(const std::filesystem::path& path, std::vector<lifting::Trace>& traces) {
  const auto trace = std::find_if(traces.begin(), traces.end(), [&](const lifting::Trace& t) {
    return std::filesystem::path(t.name).stem() == path.stem();
  });
  if (trace == traces.end()) {
    throw Error(ErrorCode::kInvalidArgument,
                {.what = fmt::format("'{}' is the name of no trace", path.stem().string()),
                 .where = path.string(),
                 .expected = "an archive that is called as its trace: trace_22x30.npz for trace_22x30.onnx",
                 .next = "rename it, or give all values in a JSON file"});
  }
  run::NpzReader reader(path);
  for (const std::string& name : reader.names()) {
    const run::NpyShape shape = reader.shape(name);
    InputValues& values = trace->values[name];
    values.dims = shape.dims;
    if (ir::is_integer(shape.dtype) || shape.dtype == ir::DataType::kBool)
      values.values = run::to_int64s(reader.read(name));
  }
}

}  // namespace

void read_trace_values(const std::filesystem::path& path, std::vector<lifting::Trace>& traces) {
  path.extension() == ".npz" ? read_archive(path, traces) : lifting::read_values(path, traces);
}

}  // namespace thaw::cli
