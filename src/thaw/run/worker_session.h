// A session that lives in the worker. Internal to run/.
//
// Where the worker has ended, be it for this model or for another, the next run loads the model again.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "thaw/ir/graph/model.h"
#include "thaw/run/worker.h"
#include "thaw/run/worker_messages.h"

namespace thaw::run {

class WorkerSession {
 public:
  // `model`: what the file at `path` holds.
  WorkerSession(const std::filesystem::path& path, const ir::Model& model, const SessionOptions& options);
  WorkerSession(const ir::Model& model, const SessionOptions& options);
  ~WorkerSession();
  WorkerSession(const WorkerSession&) = delete;
  WorkerSession& operator=(const WorkerSession&) = delete;

  const std::vector<Port>& inputs() const { return ports_.inputs; }
  const std::vector<Port>& outputs() const { return ports_.outputs; }
  Values run(const Arrays& feeds, const HeldArrays& fed, std::span<const std::string> wanted,
             std::span<const std::string> held);
  const Runtime& runtime() const { return ports_.runtime; }
  Placement placement();
  std::vector<std::string> take_warnings();

 private:
  struct Slot {
    std::shared_ptr<Worker> worker;
    uint64_t id = 0;
  };
  // Loads the model where the worker that has it is gone.
  Slot slot();
  void load(Slot& slot);
  void share(const ir::Model& model);
  void drop_shared();
  void hand_over_data(const ir::Model& model, const std::filesystem::path& folder);
  static void close(Slot& slot);
  void close_after_failure(const Slot& failed);
  Values run_at(const Slot& slot, std::span<const ArrayView> feeds, const HeldArrays& fed,
                std::span<const std::string> wanted, std::span<const std::string> held);
  void keep_warnings(std::vector<std::string> warnings);
  [[noreturn]] void throw_end(const WorkerEnd& end, bool loading) const;
  Error error_of(const Message& failed) const;

  LoadRequest request_;
  HandedFiles files_;
  // Of a model in memory its bytes, and those of weights that go apart, until it is loaded; kept where they are few.
  SharedFile model_, weights_;
  std::unique_ptr<ir::Model> again_;  // else what they are made of once more, should its worker end; weights are shared
  // Held while the model is loaded. A process that is forked off meanwhile has none of the threads that hold it: it takes another.
  std::shared_ptr<std::mutex> own_loading();
  std::shared_ptr<std::mutex> loading_;
  pid_t loading_of_ = 0;
  Slot slot_;
  std::vector<std::string> warnings_;
  // These four are guarded by one mutex of all sessions.
  Ports ports_;
};

}  // namespace thaw::run
