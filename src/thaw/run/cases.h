// Cases in a .npz file: several sets of inputs and outputs under names that tell them apart.
//
// An array belongs to an input or output NAME of a model when it is called
//   NAME          the one case of the file; what several cases share
//   NAME_<i>      case i, a number: "logits_0", "logits_1"
//   CASE/NAME     case CASE, any text: "night/logits"
// Where several names fit ("deep_0_1": output "deep_0", case 1; or output "deep", no case) the longest name wins.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thaw/run/npz.h"

namespace thaw::run {

// Which array of a file is whose: case -> NAME -> the array's name in the file. The shared case is "".
using CaseNames = std::map<std::string, std::map<std::string, std::string>>;

struct GroupedNames {
  CaseNames cases;
  std::vector<std::string> unused;  // arrays that are no NAME's
};
GroupedNames group_cases(std::span<const std::string> arrays, std::span<const std::string> names);

// The cases' names in the order to run them: numbers by value, then texts; without the shared one.
std::vector<std::string> case_order(const CaseNames& cases);

// A .npz file read by cases.
class CaseFile {
 public:
  CaseFile(const std::filesystem::path& path, std::span<const std::string> names);

  const GroupedNames& grouped() const { return grouped_; }
  const std::string& path() const { return reader_->path(); }
  // The arrays of a case and of the shared case, among `names`. `check_of` gives what each is held against before its
  // data are read.
  using ChecksByName = std::function<NpyCheck(const std::string& name)>;
  Arrays read(const std::string& case_name, std::span<const std::string> names, const ChecksByName& check_of);

 private:
  std::unique_ptr<NpzReader> reader_;
  GroupedNames grouped_;
};

}  // namespace thaw::run
