// thaw::Error as onnx_thaw.Error, and the call that Ctrl-C ends.
#include "errors.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "casters.h"
#include "interrupt.h"
#include "result.h"

#include "thaw/error.h"
#include "thaw/limits.h"

namespace thaw::python {
namespace {

constexpr std::chrono::milliseconds kBetweenSignals{50};

nb::object errors_module() { return nb::module_::import_("onnx_thaw._errors"); }

void raise(const Error& error) {
  const ErrorParts& parts = error.parts();
  const nb::object made = errors_module().attr("make")(std::string(name_of(error.code())), std::string(error.what()),
                                                       parts.what, parts.where, parts.expected, parts.next);
  PyErr_SetObject(made.type().ptr(), made.ptr());
}

bool is_main_thread() {
  const nb::module_ threading = nb::module_::import_("threading");
  return threading.attr("current_thread")().is(threading.attr("main_thread")());
}

}  // namespace

void bind_errors(nb::module_& /*m*/) {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void* /*payload*/) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise(error);
    } catch (const Cancelled& cancelled) {  // by the main thread's Ctrl-C, in another thread
      PyErr_SetString(PyExc_KeyboardInterrupt, cancelled.what());
    }
  });
}

void refuse(nb::handle result) {
  const nb::object made = errors_module().attr("Refused")(result);
  PyErr_SetObject(made.type().ptr(), made.ptr());
  throw nb::python_error();
}

std::vector<std::filesystem::path> save_result(nb::handle self, bool accepted, const Model& model,
                                               const std::filesystem::path& path, const SaveOptions& options) {
  if (!accepted) refuse(self);
  return model.save(path, options);
}

void run_interruptible(const std::function<void()>& work) {
  if (!is_main_thread()) {
    const nb::gil_scoped_release release;
    return work();
  }
  std::mutex mutex;
  std::condition_variable ended;
  bool is_over = false;
  std::exception_ptr failure;
  nb::gil_scoped_release release;
  std::thread thread([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    is_over = true;
    ended.notify_all();
  });
  bool is_interrupted = false;
  std::exception_ptr interruption;
  for (std::unique_lock lock(mutex); !ended.wait_for(lock, kBetweenSignals, [&] { return is_over; });) {
    if (is_interrupted) continue;
    lock.unlock();
    {
      const nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) {
        is_interrupted = true;
        try {
          nb::raise_python_error();
        } catch (...) {
          interruption = std::current_exception();
        }
      }
    }
    if (is_interrupted) set_cancelled(true);
    lock.lock();
  }
  thread.join();
  if (is_interrupted) set_cancelled(false);
  if (interruption) std::rethrow_exception(interruption);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace thaw::python
