// A result beside its original by proof: evidence beside the runs (docs/proving.md). What is proven is run all the same, and a proof
// accepts nothing that a run refuses.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "thaw/confirm/run_check.h"
#include "thaw/ir/graph/model.h"
#include "thaw/proof.h"
#include "thaw/prove/prove.h"

namespace thaw::verbs {

// What both models have in common, and in how far it is proven; sizes by the names of `model`.
Proof proof_of(proving::Comparison compared, const ir::Model& model);

// Of a result that was run beside its original, where all runs agree; else nothing is compared, and the proof is empty. Where there
// is none, its `reason` says why.
Proof prove(const ir::Model& result, const ir::Model& original, const std::vector<RunCheck>& checks);
// `given`: inputs of the original that are constants in the result.
Proof prove_pinned(const ir::Model& pinned, const ir::Model& original, const Arrays& given,
                   const std::vector<RunCheck>& checks);
// Parts that run one after the other.
Proof prove_parts(std::span<const ir::Model* const> parts, const ir::Model& whole, const std::vector<RunCheck>& checks);

// A batched model beside the model that it was made of, which is for one sample: each sample is what that model makes of it, and depends
// on no other. `batch` is the name of the size.
Proof prove_batched(const ir::Model& batched, const ir::Model& original, std::string_view batch,
                    const std::vector<RunCheck>& checks);
// A model beside others that it was made of, each at its own sizes; `given`: what inputs were in each. An output is proven where it is
// beside all of them, and has the place of the first where it is not.
struct Origin {
  const ir::Model* model = nullptr;
  Arrays given;
};
Proof prove_each(const ir::Model& result, std::span<const Origin> origins, const std::vector<RunCheck>& checks);

// Where a proof leaves outputs open: whether they are equal but for constants that were quantized, with those of `constants_of` in their
// places. `evidence`, where it is not null, gets the steps of those that are.
void prove_but_for_constants(Proof& proof, const ir::Model& quantized, const ir::Model& original,
                             const ir::Model& constants_of, std::span<const proving::SizeBound> bounds = {},
                             std::optional<proving::ButForConstants>* evidence = nullptr);
// The same of a result that `convert` made; where there is no proof, its `reason` says why.
Proof prove_converted(const ir::Model& converted, const ir::Model& original, const ir::Model& constants_of);

// States in the metadata of a result what its proof said; what is stated of the original goes. Nothing changes where the two hold the
// same.
void keep_proof(ir::Model& result, const ir::Model& original, const Proof& proof);

}  // namespace thaw::verbs
