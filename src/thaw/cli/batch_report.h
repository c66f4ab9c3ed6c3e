// What `thaw batch` did: inputs and outputs before and after, what became of the nodes, and the check. As text, JSON
// and a page.
#pragma once

#include <string>
#include <vector>

#include "thaw/batch/batch.h"
#include "thaw/cli/written.h"
#include "thaw/confirm/samples.h"

namespace thaw::cli {

// An input or output of a model for one sample, and over a batch.
struct BatchedPort {
  bool is_input = true;
  std::string name, before, after;  // "float32[1, 3, h, w]"
};
// before: of the model as it is loaded; after: once it is batched.
void note_before(const ir::Model& model, std::vector<BatchedPort>& ports);
void note_after(const ir::Model& model, std::vector<BatchedPort>& ports);

struct BatchRun {
  std::string model, output;
  BatchReport report;
  std::vector<BatchedPort> ports;
  bool check = true;  // asked for
  confirm::BatchCheck checked;
  bool written = false;
  Written files;
};

std::string batch_text(const BatchRun& run);
std::string batch_json(const BatchRun& run);
std::string batch_page(const BatchRun& run);

}  // namespace thaw::cli
