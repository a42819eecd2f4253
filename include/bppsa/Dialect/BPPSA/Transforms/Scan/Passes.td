//===- Passes.td - scan passes -----------------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_SCAN_PASSES
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_SCAN_PASSES

include "mlir/Pass/PassBase.td"

def Scan : Pass<"bppsa-scan", "::mlir::ModuleOp"> {
  let summary = "Assign a parallel association order to cotangent chains";
  let description = [{
    Sets the plan of every `bppsa.chain`, or of every chain in functions of the variant
    `variant`, to `algorithm` (Wang, Bai, Pekhimenko: BPPSA, MLSys 2020). Only the association of floating-point
    products changes, so gradients equal those of the sequential chain up to rounding. `auto`
    becomes `chunked` with a chunk length that the run time chooses.

    A remark of the category `scan` reports for each chain the number of products and the depth of
    its scan, or the reason why it stays sequential. Example result:
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
  let summary = "Assign a parallel association order to lists of links";
  let description = [{
    Replaces each list of links, or each in functions of the variant `variant`, by the tree of the
    plan `algorithm` (Wang, Bai, Pekhimenko: BPPSA, MLSys 2020). A list of links is a sequence of
    `jacobian.link` or `jacobian.apply` ops, each applied to the result of the previous one. The
    tree consists of `jacobian.compose` and `jacobian.apply`.

    The pass keeps one region of each `jacobian.link`. With `none` the rule replaces the link, and
    no Jacobian is formed. With any plan all Jacobians of the list are formed before its first link,
    and each link becomes a `jacobian.apply`; `linear` is sequential back-propagation with sparse
    Jacobians. With `dense-jacobians` column j of a dense matrix is computed by applying the rule to
    the j-th unit cotangent.

    `auto` evaluates `linear`, `hybrid:1`, `hybrid:2`, ... (docs/Explanation/PlanEvaluator.md) for
    `workers` and `step-overhead`. It selects the plan with the shortest makespan among those whose
    Jacobians fit in `memory-limit`. `chunked` without a size uses about as many chunks as a chunk
    has links.

    A list is split at a link whose Jacobian is not available before the first product of the list.
    Remarks of the category `scan` report the resulting scans.

    With `algorithm=blelloch`, a list of `%a`, `%b` and `%c` becomes
    ```mlir
    %1 = jacobian.apply %a, %g : !jacobian.matrix<4x4xf32, dense>, tensor<8x4xf32> -> tensor<8x4xf32>
    %bc = jacobian.compose %b, %c : !jacobian.matrix<4x4xf32, dense>, !jacobian.matrix<4x4xf32, dense>
        -> !jacobian.matrix<4x4xf32, dense>
    %3 = jacobian.apply %bc, %1 : ...
    %2 = jacobian.apply %b, %1 : ...
    ```
  }];
  let options = [
    Option<"algorithm", "algorithm", "std::string", /*default=*/"\"auto\"",
           "auto, none, linear, blelloch, hybrid:L or chunked:C">,
    Option<"variant", "variant", "std::string", /*default=*/"\"\"",
           "variant of the functions to rewrite; empty for all functions">,
    Option<"batch", "batch", "int64_t", /*default=*/"1",
           "number of samples that auto assumes if the batch size is dynamic">,
    Option<"workers", "workers", "int64_t", /*default=*/"2", "number of workers that auto assumes">,
    Option<"stepOverhead", "step-overhead", "int64_t", /*default=*/"0",
           "cost of one barrier or launch in FLOPs of a worker, for auto">,
    Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0",
           "maximum bytes of Jacobians, for auto; 0 for no limit">,
    Option<"denseJacobians", "dense-jacobians", "bool", /*default=*/"false",
           "use dense Jacobians, computed column by column by the rules of links">,
  ];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

def ExpandScan : Pass<"bppsa-expand-scan"> {
  let summary = "Expand scan plans to loops of transitions";
  let description = [{
    Replaces each `bppsa.chain` with a plan by the operations of the plan, in loops over levels and
    chunks. Sequential chains are unchanged. A remark of the category `scan` reports each expansion.

    `chunked:C` expands to three phases:

    * aggregate the affine transition of every chunk but the last (`bppsa.transition`, in parallel),
    * carry the cotangent across chunks (`bppsa.apply_transition`, in order),
    * run every chunk as a chain from its carry (in parallel).

    `blelloch` and `hybrid:L` expand to a tree: the leaves are transitions of one step, the up-sweep
    consists of `bppsa.compose_transitions`, and the down-sweep of `bppsa.apply_transition`. A
    `bppsa.recurrence` without states then computes the emitted values of all steps at once.


    Chunks of all packed rows run in parallel. Trees process one block of rows after another, so
    that memory holds the matrices of only one block.

    For example, `chunked` becomes, in short,
    ```mlir
    %m = scf.forall (%k) in (%last) shared_outs(%o = %transitions) {
      %m_k = bppsa.transition states [4] saved(%a_k : tensor<8x?x4xf32>) into(...) { ... }
    }
    %c = scf.for %k = %c0 to %last step %c1 iter_args(%i = %seeded) {
      %c_k = bppsa.apply_transition %m_k, %i_k into ...
    }
    %r = scf.forall (%k) in (%chunks) shared_outs(%o = %ends) {
      %r_k = bppsa.chain saved(%a_k : tensor<?x?x4xf32>) seeds(%c_k : tensor<?x4xf32>) into(...) { ... }
    }
    ```

    In a chain packed into one lane, the lanes hold chunks. All chunks but the last are rows of one
    `bppsa.transition` and one `bppsa.chain` with 16 lanes, on arrays packed by `bppsa.pack_chunks`.
    The first chunk is aggregated, too. The last chunk is a separate chain with one lane.

    With `factor-links` the leaves of a tree are `bppsa.factored_transition` if the Jacobian of the
    link is a sum of scaled matrices, as in recurrent layers.

    `unroll-up-to` expands scans with at most this static number of steps to straight-line code of
    `jacobian.linearize`, `jacobian.compose` and `jacobian.apply`, for inspecting trees. Injected
    cotangents are the offset of an affine pair: `(J, s)` maps `g` to `J g + s`, where `s` is
    injected at the next step.

    `whole-levels` is for targets on which each loop is a launch. Each level of a tree becomes one
    parallel loop. For chunks, the first chunk is aggregated, too; one loop over rows computes the
    carries, and one loop over rows and chunks runs the chunks. `chunked` without a size uses the
    chunk length with the shortest predicted time on a GPU (docs/Explanation/GPUCosts.md). Sums of a
    chain become partial sums over runs of one or more chunks, which a `bppsa.reduce_sums` adds up.
  }];
  let options = [
    Option<"unrollUpTo", "unroll-up-to", "int64_t", /*default=*/"0",
           "maximum steps of a scan that becomes straight-line code; 0 for none">,
    Option<"factorLinks", "factor-links", "bool", /*default=*/"false",
           "compute the matrices of single links from their factors, if known">,
    Option<"wholeLevels", "whole-levels", "bool", /*default=*/"false",
           "use one loop per level of a tree or sweep over chunks">
  ];
  let dependentDialects = [
    "::bppsa::BPPSADialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect", "::mlir::gpu::GPUDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
}

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_SCAN_PASSES
