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
#include "thaw/ir/graph/model.h"
#include "thaw/ir/wire/writer.h"

namespace thaw::ir {

class DataFiles {
 public:
  // For a model file at `model`; `name` is what its data files are called: that, or with a number before the ending
  // where a file of that name is there. Names never come from the model: they would be its author's to choose.
  DataFiles(const std::filesystem::path& model, std::string name);
  DataFiles(const DataFiles&) = delete;
  DataFiles& operator=(const DataFiles&) = delete;
  ~DataFiles();  // takes published files away again, unless settle() was called

  // External data stays where it is if that is the folder, else its files are copied into it.
  void keep(const Model& model, TensorPlan& plan);
  // Data of at least `threshold` bytes that is `wanted` goes to one file, the rest that is not planned yet into the model
  // file. Of several models, one after the other, what they share lies there once.
  using Wanted = std::function<bool(const Tensor&)>;
  void gather(const Model& model, uint64_t threshold, TensorPlan& plan, const Wanted& wanted = {});

  void write();
  // Until they are published, the files have their names in another folder; false where they cannot.
  bool name_in(const std::filesystem::path& folder) const;
  // Whether the model refers to data that lies in its folder already, and to some that is written now.
  bool has_old() const;
  bool has_new() const { return !files_.empty(); }
  void publish();
  // What was published stays, whatever follows.
  void keep_published() { published_ = 0; }
  // The model refers to them now: they stay, and what only the model before it used (`before`: its data files, of the
  // names that this class gives) goes.
  void settle(const std::vector<std::filesystem::path>& before);
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

  std::filesystem::path model_, folder_;
  std::string name_;
  std::vector<Copy> copies_;
  std::map<std::pair<uint64_t, uint64_t>, std::string> placed_by_file_;  // by device and inode
  std::set<std::string> used_;  // what the model refers to in the folder, in the shortest form
  std::string gathered_;        // location of the one data file; empty: none
  uint64_t gathered_bytes_ = 0;
  std::vector<Placed> placed_;
  std::map<TensorWriter::Identity, uint64_t> offsets_;  // of what is placed
  std::vector<std::unique_ptr<AtomicFile>> files_;
  size_t published_ = 0;  // of them, not settled yet
};

}  // namespace thaw::ir
