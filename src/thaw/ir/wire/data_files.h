// The data files that saving a model writes. Internal to ir/.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "thaw/core/atomic_file.h"
#include "thaw/core/mapped_file.h"
#include "thaw/core/scratch_folder.h"
#include "thaw/ir/graph/model.h"
#include "thaw/ir/wire/writer.h"

namespace thaw::ir {

class DataFiles {
 public:
  // For a model file at `model`; `name` is what its data files are called: that, or with a number before the ending
  // where a file of that name is there. Names never come from the model: they would be its author's to choose. Those that it takes
  // are kept for it by what `scratch` returns, a folder beside the model.
  using GetScratch = std::function<const ScratchFolder&()>;
  DataFiles(const std::filesystem::path& model, std::string name, GetScratch scratch);
  DataFiles(const DataFiles&) = delete;
  DataFiles& operator=(const DataFiles&) = delete;

  // External data stays where it is if that is the folder, else its files are copied into it.
  void keep(const Model& model, TensorPlan& plan);
  // Data of at least `threshold` bytes that is `wanted` goes to one file, the rest that is not planned yet into the model
  // file. Of several models, one after the other, what they share lies there once.
  using Wanted = std::function<bool(const Tensor&)>;
  void gather(const Model& model, uint64_t threshold, TensorPlan& plan, const Wanted& wanted = {});

  void write();
  // Whether the model refers to data that lies in its folder already, and to some that is written now.
  bool has_old() const;
  bool has_new() const { return !files_.empty(); }
  const std::vector<std::unique_ptr<AtomicFile>>& files() const { return files_; }
  // Whether data of a model that is replaced goes with it: it has one of the names that this class makes, and is not used here.
  bool replaces(const std::filesystem::path& data) const;
  std::vector<std::filesystem::path> written() const;

 private:
  struct Copy {
    std::shared_ptr<const MappedFile> source;
    std::string location;
  };
  struct Placed {
    const Tensor* tensor;
    uint64_t offset;
  };
  std::string numbered(int number) const;
  bool is_ours(const std::string& location) const;
  std::string place_copy(const std::shared_ptr<const MappedFile>& source);
  std::string free_name(const MappedFile* same, bool& there);

  std::filesystem::path folder_;
  std::string name_;
  GetScratch scratch_;
  std::vector<Copy> copies_;
  std::map<std::pair<uint64_t, uint64_t>, std::string> placed_by_file_;  // by device and inode
  std::set<std::string> used_;  // what the model refers to in the folder, in the shortest form
  std::string gathered_;        // location of the one data file; empty: none
  uint64_t gathered_bytes_ = 0;
  std::vector<Placed> placed_;
  std::map<TensorWriter::Identity, uint64_t> offsets_;  // of what is placed
  std::vector<std::unique_ptr<AtomicFile>> files_;
};

}  // namespace thaw::ir
