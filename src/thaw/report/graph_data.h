// A graph as its page draws it (report/pages/graph_*.js): columns of numbers that point at each other and at a table of
// texts, each of which stands there once. Names are kept in pieces: a module's continues that of the module around it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace thaw::report {

// What is to be seen at a node or a tensor besides what it is.
enum class Mark : uint8_t { kFrozen, kProblem, kAdded, kRemoved, kChanged, kOnCpu, kOnProvider };

struct GraphData {
  // Numbers are indices into the lists below, a text's in `texts`; -1 stands for none, 0 for the empty text.
  struct Module {
    int parent = -1;
    std::string name;          // goes on from its parent's
    int flops = 0, bytes = 0;  // of its nodes together, as expressions
  };
  struct Graph {
    int module = -1;  // the outermost
    std::string title;
    bool is_function = false;  // which many nodes may call, and which sees nothing of who does
    std::vector<int> inputs, outputs;
  };
  struct Node {
    int module = 0, op = 0;
    std::string name;  // goes on from its module's, unless it is whole
    bool is_whole = false;
    std::vector<int> inputs, outputs, attributes, graphs;
    double flops = -1, bytes = -1;  // at `assumed`; below 0: not known
    int flops_text = 0, bytes_text = 0;
  };
  struct Value {
    std::string name;
    int suffix = -1;  // of a name that is its node's with "_output_N" behind: N
    int type = 0, shape = 0, elements = 0;
    double weight = -1;  // bytes of a constant; below 0: it is none
  };
  struct Marked {
    int at = 0;
    Mark mark = Mark::kFrozen;
    int text = 0;
  };

  std::string title;
  std::vector<std::string> texts = {""};
  std::vector<Module> modules;
  std::vector<Graph> graphs;  // the model's own first
  size_t constants = 0;       // nodes that are none here: what they make is a weight
  std::vector<Node> nodes;    // in the order in which they run, those of graphs inside others behind
  std::vector<Value> values;
  std::vector<Marked> marked_nodes, marked_values;
  std::vector<std::pair<int, std::vector<int>>> former_inputs;     // of nodes that had others in the other model
  std::vector<std::pair<int, std::vector<std::string>>> operands;  // what the inputs of an operator (a text) are called
  std::string assumed;                                             // the sizes of the costs: "batch = 64"
  std::vector<std::string> limits;                                 // what is left out, a sentence each

  int text(std::string_view text);

  std::string json() const;

 private:
  std::unordered_map<std::string, int> known_ = {{"", 0}};
};

}  // namespace thaw::report
