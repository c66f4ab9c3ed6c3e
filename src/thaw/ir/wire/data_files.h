// The data files that saving a model writes. Internal to ir/.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thaw/core/atomic_file.h"
#include "thaw/core/mapped_file.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ir/wire/writer.h"

namespace thaw::ir {

class DataFiles {
 public:
  explicit DataFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // External data stays where it is if that is the folder, else its files are copied into it.
  void keep(const Model& model, TensorPlan& plan);
  // Data of at least `threshold` bytes goes to one file, the rest into the model file.
  void gather(const Model& model, const std::string& location, uint64_t threshold, TensorPlan& plan);

  void write();
  void publish();

 private:
  struct Copy {
    std::shared_ptr<const MappedFile> source;
    std::string location;
  };
  struct Placed {
    const Tensor* tensor;
    uint64_t offset;
  };
  std::string place_copy(const std::shared_ptr<const MappedFile>& source, const std::string& location);
  void require_free(const std::filesystem::path& path, const MappedFile& source, bool& there) const;

  std::filesystem::path folder_;
  std::vector<Copy> copies_;
  std::map<std::string, std::shared_ptr<const MappedFile>> by_location_;
  std::string gathered_;  // location of the one data file; empty: none
  uint64_t gathered_bytes_ = 0;
  std::vector<Placed> placed_;
  std::vector<std::unique_ptr<AtomicFile>> files_;
};

}  // namespace thaw::ir
