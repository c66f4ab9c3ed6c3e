// One finding for all nodes that have the same fault: the first is its location, the others stand beside it. Internal to
// check/.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "thaw/check/rule.h"
#include "thaw/check/target_view.h"

namespace thaw::checking {

class GroupedNodes {
 public:
  struct Group {
    TargetNode first;
    std::vector<TargetNode> others;
    std::string message, fix, tensor;
    std::vector<std::string> commands = {};
    std::vector<std::pair<std::string, std::string>> details;
  };
  // The group of a fault, by a key that tells it from others. `is_new` is set where this node is its first: then
  // message and fix are to be filled in.
  Group& add(const std::string& key, const TargetNode& node, bool& is_new) {
    auto [it, inserted] = index_.try_emplace(key, groups_.size());
    is_new = inserted;
    if (inserted) groups_.push_back({.first = node});
    Group& group = groups_[it->second];
    // A node may have the fault in several operands.
    const TargetNode& last = group.others.empty() ? group.first : group.others.back();
    if (last.node != node.node) group.others.push_back(node);
    return group;
  }
  // Adds a finding a group, in the order in which they were met.
  void report(Findings& findings) const {
    for (const Group& group : groups_) {
      Finding& f = findings.add(group.message, location_of(group.first));
      f.where.tensor = group.tensor;
      f.fix = group.fix;
      f.commands = group.commands;
      f.details = group.details;
      for (const TargetNode& other : group.others) f.related.push_back({location_of(other), "the same"});
    }
  }

 private:
  std::vector<Group> groups_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace thaw::checking
