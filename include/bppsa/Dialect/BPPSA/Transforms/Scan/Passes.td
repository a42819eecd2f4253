//===- Passes.td - passes: association orders of scans --- -*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_SCAN_PASSES
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_SCAN_PASSES

include "mlir/Pass/PassBase.td"

def Scan : Pass<"bppsa-scan", "::mlir::ModuleOp"> {
  let summary = "gives cotangent chains a parallel association order";
  let description = [{
    Gives every `bppsa.chain`, or every one in functions of the variant `variant`, the plan
    `algorithm` (Wang, Bai, Pekhimenko: BPPSA, MLSys 2020). Only the association
    of floating-point products changes, so gradients are those of the sequential
    chain up to rounding. `auto` ends here: it becomes `chunked`, with chunks of a
    length that the run time chooses.

    A remark of the category `scan` says for each chain what was scanned, with
    how many products and at what depth, or why it stays sequential.

    With `algorithm=chunked:32`, the chain
    ```mlir
    %0 = bppsa.chain saved(%a : tensor<?x?x4xf32>) seeds(%g : tensor<?x4xf32>)
        -> (tensor<?x4xf32>) { ... }
    ```
    becomes
    ```mlir
    %0 = bppsa.chain plan <chunked, 32> saved(%a : tensor<?x?x4xf32>)
        seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) { ... }
    ```
  }];
  let options = [
    Option<"algorithm", "algorithm", "std::string", /*default=*/"\"auto\"",
           "auto, linear, blelloch, hybrid:L, chunked or chunked:C">,
    Option<"variant", "variant", "std::string", /*default=*/"\"\"",
           "variant of the functions to rewrite; empty for all functions">
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def ScanLinks : Pass<"bppsa-scan-links", "::mlir::ModuleOp"> {
  let summary = "gives lists of links a parallel association order";
  let description = [{
    A list of links is a sequence of `jacobian.link` or `jacobian.apply` ops each of which
    works on the result of the one before it. The pass replaces each list, or each in
    functions of the variant `variant`, by the tree of the plan `algorithm`: `jacobian.compose` for
    products of two Jacobians and `jacobian.apply` for those with a cotangent (Wang,
    Bai, Pekhimenko: BPPSA, MLSys 2020). The structure of a product is that of
    the product table.

    Of a `jacobian.link` one region is left. With `none` its rule takes its place, and
    no Jacobian is formed. With any plan the Jacobians of the list are made before its
    first link, and each link is a `jacobian.apply`; `linear` is sequential
    back-propagation over sparse Jacobians. With `dense-jacobians` they are not those
    that the links have: column j of a matrix is what the rule makes of a cotangent
    that is one at element j.

    `auto` evaluates `linear`, `hybrid:1`, `hybrid:2`, ... (docs/PlanEvaluator.md)
    for `workers` and a `step-overhead`, and takes the plan with the shortest
    makespan among those whose Jacobians fit in `memory-limit`.

    A list is cut where a Jacobian is not defined before its first product.
    `chunked` without a size makes about as many chunks as a chunk has links.
    Remarks of the category `scan` say what was done.

    With `algorithm=blelloch`, the list
    ```mlir
    %1 = jacobian.apply %a, %g : !jacobian.matrix<4x4xf32, dense>, tensor<8x4xf32> -> tensor<8x4xf32>
    %2 = jacobian.apply %b, %1 : !jacobian.matrix<4x4xf32, dense>, tensor<8x4xf32> -> tensor<8x4xf32>
    %3 = jacobian.apply %c, %2 : !jacobian.matrix<4x4xf32, dense>, tensor<8x4xf32> -> tensor<8x4xf32>
    ```
    becomes
    ```mlir
    %1 = jacobian.apply %a, %g : !jacobian.matrix<4x4xf32, dense>, tensor<8x4xf32> -> tensor<8x4xf32>
    %bc = jacobian.compose %b, %c : !jacobian.matrix<4x4xf32, dense>, !jacobian.matrix<4x4xf32, dense>
        -> !jacobian.matrix<4x4xf32, dense>
    %3 = jacobian.apply %bc, %1 : !jacobian.matrix<4x4xf32, dense>, tensor<8x4xf32> -> tensor<8x4xf32>
    %2 = jacobian.apply %b, %1 : !jacobian.matrix<4x4xf32, dense>, tensor<8x4xf32> -> tensor<8x4xf32>
    ```
  }];
  let options = [
    Option<"algorithm", "algorithm", "std::string", /*default=*/"\"auto\"",
           "auto, none, linear, blelloch, hybrid:L or chunked:C">,
    Option<"variant", "variant", "std::string", /*default=*/"\"\"",
           "variant of the functions to rewrite; empty for all functions">,
    Option<"batch", "batch", "int64_t", /*default=*/"1",
           "samples that auto expects where their number is known at run time only">,
    Option<"workers", "workers", "int64_t", /*default=*/"2", "workers that auto expects">,
    Option<"stepOverhead", "step-overhead", "int64_t", /*default=*/"0",
           "FLOPs that a worker could do during one barrier or launch, for auto">,
    Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0",
           "bytes that auto may spend on Jacobians; 0 for no limit">,
    Option<"denseJacobians", "dense-jacobians", "bool", /*default=*/"false",
           "give links Jacobians with all their elements, made column by column by their rules">,
  ];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def ExpandScan : Pass<"bppsa-expand-scan"> {
  let summary = "writes the operations of scan plans";
  let description = [{
    Replaces each `bppsa.chain` with a plan by the operations of the plan, in loops
    over levels and chunks. These are what runs: lowerings know chains step by step
    and the products below, and no trees.

    With `chunked:C`, of every chunk but the last the affine transition is made
    (`bppsa.transition`, in parallel), the cotangent is carried across chunks
    (`bppsa.apply_transition`, in order), and every chunk is a chain from what enters
    it (in parallel). With `blelloch` and `hybrid:L` the leaves are transitions of one
    step, the levels up are `bppsa.compose_transitions`, those down
    `bppsa.apply_transition`, and what the link emits is computed for all steps at once
    by a `bppsa.recurrence` without states. The order is that of ScanOrder.h. Packed
    rows are taken in parallel with chunks; trees take one block of them after the
    other, so that the matrices of one are all that memory holds.

    With `factor-links` the leaves of a tree are `bppsa.factored_transition` where the
    Jacobian of the link is a sum of scaled matrices, as those of recurrent layers are:
    a recurrence without states computes the scales of all steps first.

    The chain
    ```mlir
    %0 = bppsa.chain plan <chunked, 8> saved(%a : tensor<?x?x4xf32>)
        seeds(%g : tensor<?x4xf32>) -> (tensor<?x4xf32>) { ... }
    ```
    becomes, in short,
    ```mlir
    %m = scf.forall (%k) in (%last) shared_outs(%o = %transitions) {
      %a_k = tensor.extract_slice %a[...] : tensor<?x?x4xf32> to tensor<8x?x4xf32>
      %m_k = bppsa.transition states [4] saved(%a_k : tensor<8x?x4xf32>) into(...) { ... }
      ...
    }
    %c = scf.for %k = %c0 to %last step %c1 iter_args(%i = %seeded) {
      %c_k = bppsa.apply_transition %m_k, %i_k into ...
      ...
    }
    %r = scf.forall (%k) in (%chunks) shared_outs(%o = %ends) {
      %r_k = bppsa.chain saved(%a_k : tensor<?x?x4xf32>) seeds(%c_k : tensor<?x4xf32>)
          into(...) { ... }
      ...
    }
    ```

    A chain that is packed into one lane has chunks in lanes: all but the last are rows of one
    `bppsa.transition` and one `bppsa.chain` of 16 lanes, whose arrays `bppsa.pack_chunks` makes. The
    first chunk is aggregated like the others then, and the last, which may be shorter, is a
    chain of its own on arrays of one lane.

    A scan over at most `unroll-up-to` steps, a number that its type has, is written
    as straight-line code of explicit Jacobians instead, for looking at trees: one
    `jacobian.linearize` for each step whose Jacobian is read, `jacobian.compose` for
    products of two of them and `jacobian.apply` for products of one with a cotangent. A
    Jacobian has the structure that the link gives it, and a product what the product
    table makes of those of its factors: products of diagonals are diagonals.
    Cotangents that are injected at a step travel as the offset of an affine pair: the
    pair `(J, s)` maps `g` to `J g + s`, where `s` is what is injected at the next step.

    `whole-levels` is for targets for which each loop is a launch. A level of a tree is
    one parallel loop then, in which the pair that begins at the seed, whose left block
    is a vector, is a branch of its own. Of chunks the first is aggregated like the
    others, a loop over rows has the carries of each, and one over rows and chunks runs
    them. Without a size, chunks have the length that a GPU is expected to like best
    (docs/GPUCosts.md). Sums that a chain makes are parts then, of runs of one or more
    chunks, which a `bppsa.reduce_sums` adds up.

    Chains that are sequential stay as they are. A remark of the category `scan` says
    what was expanded.
  }];
  let options = [
    Option<"unrollUpTo", "unroll-up-to", "int64_t", /*default=*/"0",
           "most steps of a scan that becomes straight-line code; 0 for none">,
    Option<"factorLinks", "factor-links", "bool", /*default=*/"false",
           "make matrices of single links of their factors, where these are known">,
    Option<"wholeLevels", "whole-levels", "bool", /*default=*/"false",
           "a level of a tree, or a sweep over chunks, is one loop">
  ];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect", "::mlir::gpu::GPUDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_SCAN_PASSES
