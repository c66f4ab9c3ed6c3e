// Arrays between the library and NumPy. What NumPy has no type for is ml_dtypes'.
#include <cstring>
#include <memory>

#include "casters.h"

namespace thaw::python {
namespace {

nb::object helper(const char* name) { return nb::module_::import_("onnx_thaw._arrays").attr(name); }

}  // namespace

nb::object to_numpy(Array&& array) {
  const std::string_view dtype = name_of(array.dtype);
  const nb::tuple dims = nb::tuple(nb::cast(array.dims));
  if (array.is_string()) return helper("from_strings")(array.strings, dims);
  auto owned = std::make_unique<std::vector<std::byte>>(std::move(array.bytes));
  std::vector<std::byte>* bytes = owned.get();
  const nb::capsule owner(owned.release(),
                          [](void* memory) noexcept { delete static_cast<std::vector<std::byte>*>(memory); });
  const nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>> raw(bytes->data(), {bytes->size()}, owner);
  return helper("from_bytes")(raw, std::string(dtype), dims);
}

nb::object to_numpy(const WeightBytes& weight) {
  auto kept = std::make_unique<std::shared_ptr<const void>>(weight.owner);
  const nb::capsule owner(kept.release(),
                          [](void* held) noexcept { delete static_cast<std::shared_ptr<const void>*>(held); });
  const nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>> raw(weight.bytes.data(), {weight.bytes.size()}, owner);
  return helper("from_bytes")(raw, std::string(name_of(weight.dtype)), nb::tuple(nb::cast(weight.dims)));
}

Array from_python(nb::handle object) {
  const auto [dtype, dims, content] =
      nb::cast<std::tuple<std::string, std::vector<int64_t>, nb::object>>(helper("to_parts")(object));
  if (dtype == "string") return Array::from_strings(dims, nb::cast<std::vector<std::string>>(content));
  Array array = Array::zeros(data_type_from_name(dtype).value(), dims);
  Py_buffer view{};
  if (PyObject_GetBuffer(content.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  const std::unique_ptr<Py_buffer, void (*)(Py_buffer*)> released(&view,
                                                                  [](Py_buffer* buffer) { PyBuffer_Release(buffer); });
  if (static_cast<size_t>(view.len) != array.bytes.size())
    throw nb::value_error("an array with another number of bytes than its shape has");
  std::memcpy(array.bytes.data(), view.buf, array.bytes.size());
  return array;
}

std::optional<std::vector<std::optional<Size>>> to_sizes(const std::optional<std::vector<std::string>>& dims) {
  if (!dims) return std::nullopt;
  std::vector<std::optional<Size>> sizes;
  for (const std::string& dim : *dims) sizes.push_back(dim == "?" ? std::nullopt : std::optional(Size::parse(dim)));
  return sizes;
}

nb::str to_repr(nb::handle object) {
  return nb::str(nb::module_::import_("onnx_thaw._notebook").attr("text_of")(object));
}

nb::object to_table(nb::handle report, const char* list) {
  return nb::module_::import_("onnx_thaw._tables").attr("list_of")(report, list);
}

nb::object to_notebook(const std::string& page) {
  return nb::module_::import_("onnx_thaw._notebook").attr("frame")(page);
}

}  // namespace thaw::python
