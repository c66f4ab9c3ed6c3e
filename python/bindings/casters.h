// What the bindings of all headers need: nanobind's casters of standard types, and the array type as NumPy arrays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "thaw/array.h"
#include "thaw/dims.h"
#include "thaw/in_memory.h"

namespace thaw::python {

namespace nb = nanobind;

// A NumPy array of the elements, without a copy where each has bytes of its own. Takes the array's memory.
nb::object to_numpy(Array&& array);
// A read-only array on the bytes of a weight, which it keeps alive.
nb::object to_numpy(const WeightBytes& weight);

// The elements of what NumPy makes an array of, or of what has __dlpack__: copied once. Throws a Python exception for other objects.
Array from_python(nb::handle object);

// The dims of a tensor as `inspect` prints them; what is "?" there is None.
std::optional<std::vector<std::optional<Size>>> to_sizes(const std::optional<std::vector<std::string>>& dims);

// "Finding(code='THAW003', …)": of the fields that the class lists.
nb::str to_repr(nb::handle object);

// One of its lists as a pandas.DataFrame.
nb::object to_table(nb::handle report, const char* list);

// A page in a notebook: a frame of its own, so that its style stays inside.
nb::object to_notebook(const std::string& page);

}  // namespace thaw::python

namespace nanobind::detail {

// Not nanobind's own, whose signature strict type checkers refuse: os.PathLike without its argument.
template <>
struct type_caster<std::filesystem::path> {
  NB_TYPE_CASTER(std::filesystem::path, io_name("str | os.PathLike[str]", "pathlib.Path"))

  bool from_python(handle source, uint32_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    PyObject* bytes = nullptr;
    const bool converts = PyUnicode_FSConverter(source.ptr(), &bytes) != 0;
    const char* text = converts ? PyBytes_AsString(bytes) : nullptr;
    if (text != nullptr) value = text;
    if (text == nullptr) PyErr_Clear();
    Py_XDECREF(bytes);
    return text != nullptr;
  }

  static handle from_cpp(const std::filesystem::path& path, rv_policy /*policy*/, cleanup_list* /*cleanup*/) noexcept {
    try {
      const std::string& text = path.native();
      const object decoded =
          steal<object>(PyUnicode_DecodeFSDefaultAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
      if (!decoded.is_valid()) return {};
      return module_::import_("pathlib").attr("Path")(decoded).release();
    } catch (python_error& error) {
      error.restore();
      return {};
    }
  }
};

template <>
struct type_caster<thaw::Array> {
  NB_TYPE_CASTER(thaw::Array, const_name("numpy.typing.NDArray[typing.Any]"))

  bool from_python(handle source, uint8_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    try {
      value = thaw::python::from_python(source);
      return true;
    } catch (python_error& error) {
      error.restore();
      PyErr_Clear();
      return false;
    } catch (...) {
      return false;
    }
  }

  static handle from_cpp(const thaw::Array& array, rv_policy /*policy*/, cleanup_list* /*cleanup*/) noexcept {
    return give(thaw::Array(array));
  }
  static handle from_cpp(thaw::Array&& array, rv_policy /*policy*/, cleanup_list* /*cleanup*/) noexcept {
    return give(std::move(array));
  }

 private:
  static handle give(thaw::Array&& array) noexcept {
    try {
      return thaw::python::to_numpy(std::move(array)).release();
    } catch (python_error& error) {
      error.restore();
      return {};
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
      return {};
    }
  }
};

}  // namespace nanobind::detail
