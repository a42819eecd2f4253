//===- Passes.td - graph-body passes -----------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_PASSES
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_PASSES

include "mlir/Pass/PassBase.td"

def LowerGraphBodies : Pass<"bppsa-lower-graph-bodies", "::mlir::ModuleOp"> {
  let summary = "Lower time loops in graph form to scf.for over all samples";
  let description = [{
    Lowers time loops in graph form (`bppsa.recurrence`, `bppsa.chain`) on tensors. Time becomes an
    `scf.for`. The body, a graph of one sample, is applied to all samples at once: a tensor `[d...]`
    becomes `[R, d...]`, structured ops get an additional loop, and values that do not depend on
    the sample are computed once. Nested loops in graph form become `scf.for`, too. Sums over
    samples become reduction loops of the ops that compute the summands.

    With `row-blocks`, larger batches are processed in blocks of 8 or 16 samples by an `scf.forall`
    around the time loop. Each block has its own sums, which are added up in order afterwards.

    With `memory-limit`, a loop stores the residuals of only one segment of steps for its chain.
    `bppsa_rt_segment_steps(steps, samples, bytes of a step of one sample, bytes of its states,
    bytes of a step of all loops of the function, limit)` determines the segment length at run time;
    loops of one function share the limit in proportion to their bytes per step. The chain
    recomputes each earlier segment before it propagates cotangents through it. Gradients are
    bitwise equal to those of a single segment. Arrays with other uses, such as outputs of the
    model, are kept in full. Example result:
    ```mlir
    %h = scf.for %t = %c0 to %T step %c1 iter_args(%trajectory = %1) -> (tensor<?x?x4xf32>) {
      %ht = tensor.extract_slice %trajectory[%t, 0, 0] [1, %R, 4] [1, 1, 1]
          : tensor<?x?x4xf32> to tensor<?x4xf32>
      %0 = linalg.generic ... ins(%ht : tensor<?x4xf32>) outs(...) { math.tanh } -> tensor<?x4xf32>
      %2 = tensor.insert_slice %0 into %trajectory[%next, 0, 0] [1, %R, 4] [1, 1, 1]
          : tensor<?x4xf32> into tensor<?x?x4xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
  let options = [
    Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0",
           "maximum bytes of residuals that loops keep for their chains; 0 for no limit">,
    Option<"rowBlocks", "row-blocks", "bool", /*default=*/"true",
           "process batches in blocks of rows, distributed to threads; segments always do">
  ];
}

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_PASSES
