//===- Passes.td - passes: time loops whose body is a graph - -*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_PASSES
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_PASSES

include "mlir/Pass/PassBase.td"

def LowerGraphBodies : Pass<"bppsa-lower-graph-bodies", "::mlir::ModuleOp"> {
  let summary = "lowers time loops whose body is a graph to scf.for over all rows";
  let description = [{
    For loops in graph form (`bppsa.recurrence`, `bppsa.chain`), on tensors. Time becomes
    `scf.for`; the body, a graph of one sample, is written for all samples at once: a
    tensor `[d...]` becomes `[R, d...]`, structured ops get one more loop, and what all
    samples share is computed once. A state is read from its trajectory. Nested loops of
    vectors get the samples of all rows; nested loops in graph form become `scf.for`
    themselves. Sums over samples become reductions of the ops that make the summands, so
    that no array holds a gradient of a parameter for each sample.

    More samples than a block has, 8 or 16, are taken in blocks, in an `scf.forall` around
    the loop over time that threads share. Each block has its own sums; they are added up
    in order behind it. Blocks have 16 samples where nested layers of one sample hold most
    of the weights, for those have no more lanes than a block has samples.

    With `memory-limit`, a loop keeps what its chain reads of each step in buffers of a segment
    of steps. `bppsa_rt_segment_steps(steps, samples, bytes of a step of one sample, those of
    its states, those of all loops of the function, limit)` says how many steps a segment has
    when the program runs. The loop leaves
    the buffers of the last segment and the states at the starts of all; the chain runs each
    earlier segment again before it goes back through it. Gradients have the bits that they have
    with one segment, in which no step runs twice. Loops of one function share the limit by what
    they keep of a step. Arrays that anything else reads, such as outputs of the model, are
    whole.

    For example, for up to 8 samples,
    ```mlir
    %h = bppsa.recurrence sequences(%x : tensor<?x?x4xf32>) initial(%h0 : tensor<?x4xf32>)
        -> (tensor<?x?x4xf32>) {
    ^bb0(%xt: tensor<4xf32>, %ht: tensor<4xf32>):
      %0 = math.tanh %ht : tensor<4xf32>
      bppsa.yield %0 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    %h = scf.for %t = %c0 to %T step %c1 iter_args(%trajectory = %1) -> (tensor<?x?x4xf32>) {
      %ht = tensor.extract_slice %trajectory[%t, 0, 0] [1, %R, 4] [1, 1, 1]
          : tensor<?x?x4xf32> to tensor<?x4xf32>
      %0 = linalg.generic ... ins(%ht : tensor<?x4xf32>) outs(...) { math.tanh } -> tensor<?x4xf32>
      %next = arith.addi %t, %c1 : index
      %2 = tensor.insert_slice %0 into %trajectory[%next, 0, 0] [1, %R, 4] [1, 1, 1]
          : tensor<?x4xf32> into tensor<?x?x4xf32>
      scf.yield %2 : tensor<?x?x4xf32>
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
  let options = [
    Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0",
           "bytes that loops may keep for their chains; 0 for no limit">,
    Option<"rowBlocks", "row-blocks", "bool", /*default=*/"true",
           "take batches in blocks of rows, which threads share; segments always do">
  ];
}

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_GRAPHBODIES_PASSES
