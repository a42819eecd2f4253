//===- Passes.td - passes that order the backward pass -----*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_BACKWARDORDER_PASSES
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_BACKWARDORDER_PASSES

include "mlir/Pass/PassBase.td"

def SplitBackward : Pass<"bppsa-split-backward", "::mlir::func::FuncOp"> {
  let summary = "tells cotangents from gradients of parameters";
  let description = [{
    Gives the operations of a backward pass, those after `bppsa.mark_phase 1`, the attribute
    `bppsa.backward_part`:

    | part | operations |
    |---|---|
    | `parameter` (W) | only gradients of parameters need their results, and nothing after them reads a value that depends on the data; or they prepare an operand of one such operation and depend on no cotangent |
    | `both` | a gradient of a parameter, or an operation that only such gradients need, reads a result, and cotangents of earlier layers need one, too |
    | `cotangent` (T) | the others |

    What depends on sizes and constants alone has no part. Only data flow counts: a product of two
    activations is T whatever its operands are called, and both contributions to the gradient of a
    tied parameter are W, as is their sum. The first layer of a model whose inputs need no gradient has
    no T of its own.

    The stage of a W is that of the last T that it depends on; stage 1 depends on the last of all.
    Statistics count the operations of each part and the stages.

    ```mlir
    %g1 = linalg.generic ... ins(%g2, %w2 ...)
    %dw1 = linalg.generic ... ins(%x, %g1 ...)
    return ..., %dw1
    ```
    becomes
    ```mlir
    %g1 = linalg.generic ... ins(%g2, %w2 ...) attrs = {bppsa.backward_part = #bppsa.backward_part<cotangent>}
    %dw1 = linalg.generic ... ins(%x, %g1 ...) attrs = {bppsa.backward_part = #bppsa.backward_part<parameter, stage = 1>}
    return ..., %dw1
    ```
  }];
  let statistics = [
    Statistic<"numCotangents", "num-cotangents", "Operations on the way of cotangents (T, both)">,
    Statistic<"numParameters", "num-parameters", "Operations for gradients of parameters (W)">,
    Statistic<"numStages", "num-stages", "Stages of gradients of parameters">
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def ScheduleBackward : Pass<"bppsa-schedule-backward", "::mlir::func::FuncOp"> {
  let summary = "chooses when a backward pass forms gradients of parameters";
  let description = [{
    Orders the operations of a backward pass that `bppsa-split-backward` has told apart, those with
    `bppsa.backward_part`. Operations that are not W keep their order; the others stand where `order` wants the
    W of their stage, after everything that they depend on:

    | order | W of a stage |
    |---|---|
    | `in-order` | right after the last T that it depends on |
    | `reverse-first:K` | of the stages 1 to K after all T, stage 1 first; of the others in order (Oh et al.: Out-Of-Order BackProp, EuroSys 2022) |
    | `reverse-first:auto` | the same, with the largest K that takes no more memory than `memory-limit`, or than `in-order` where there is no limit |
    | `defer:L:J[,L:J...]` | of stage L right after those of stage J, J < L; of the others in order |
    | `defer:L:next[,...]` | of stage L after everything else and `bppsa.mark_phase 2`: a step may wait there, with what it holds, and form them when the next step needs their parameters |

    Every order does the same operations on the same operands, so that all give the same bits.
    What they differ in is the memory for values that wait. The attribute
    `bppsa.backward_order` of the function and a remark of the category `schedule` say which order
    was chosen, and its peak: the most bytes of tensors that are alive at a time, without arguments and
    results of the function, for `batch` samples and `length` as any other size that only the run time
    knows. A result takes the memory of its destination, and a view that of its source.

    With `order=reverse-first:1`
    ```mlir
    %dw1 = ... ins(%x, %g1 ...) attrs = {bppsa.backward_part = #bppsa.backward_part<parameter, stage = 1>}
    %g0 = ... ins(%g1, %w1 ...) attrs = {bppsa.backward_part = #bppsa.backward_part<cotangent>}
    ```
    becomes
    ```mlir
    %g0 = ... ins(%g1, %w1 ...) attrs = {bppsa.backward_part = #bppsa.backward_part<cotangent>}
    %dw1 = ... ins(%x, %g1 ...) attrs = {bppsa.backward_part = #bppsa.backward_part<parameter, stage = 1>}
    ```
  }];
  let options = [
    Option<"order", "order", "std::string", /*default=*/"\"in-order\"",
           "in-order, reverse-first:K, reverse-first:auto or defer:L:J[,L:J...], J a stage or next">,
    Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0",
           "most bytes of tensors that reverse-first:auto may keep; 0 for those of in-order">,
    Option<"batch", "batch", "int64_t", /*default=*/"1", "samples that peaks are for">,
    Option<"length", "length", "int64_t", /*default=*/"1000",
           "what sizes that only the run time knows count as in peaks, but samples">
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def StreamCotangents : Pass<"bppsa-stream-cotangents", "::mlir::func::FuncOp"> {
  let summary = "lets stages send cotangents before they wait for others";
  let description = [{
    Orders the backward pass of a training step whose operations have stages (`bppsa-assign-stages`), so that each
    stage forms what needs least of later stages first: cotangents of its own loss, then those of the losses of the
    next stage, and so on. Among these, what other stages need is formed before gradients of parameters. An
    operation thus never waits behind one that needs something of a later stage than itself, and
    cotangents of interlocked modules pass down one by one, each as soon as it is there.

    The operations stay what they are, so that the bits do, too. Steps without stages are left alone; those whose
    backward pass has side effects are refused.

    With a cotangent `%g2` that stage 2 sends down, and `%c1` of a loss of stage 1
    ```mlir
    %a = ... ins(%g2, %w1 ...) attrs = {bppsa.stage = 1 : i64}
    %dw = ... ins(%g2, %x ...) attrs = {bppsa.stage = 1 : i64}
    %c = ... ins(%c1, %w1 ...) attrs = {bppsa.stage = 1 : i64}
    ... ins(%a, %c) attrs = {bppsa.stage = 0 : i64}
    ```
    becomes
    ```mlir
    %c = ... ins(%c1, %w1 ...) attrs = {bppsa.stage = 1 : i64}
    %a = ... ins(%g2, %w1 ...) attrs = {bppsa.stage = 1 : i64}
    ... ins(%a, %c) attrs = {bppsa.stage = 0 : i64}
    %dw = ... ins(%g2, %x ...) attrs = {bppsa.stage = 1 : i64}
    ```
  }];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def DeferWeights : Pass<"bppsa-defer-weights", "::mlir::ModuleOp"> {
  let summary = "forms gradients of parameters after all cotangents, as a phase of their own";
  let description = [{
    Moves the operations of `functions` that `bppsa-split-backward` has found to be W behind all others, in their
    order, and puts `bppsa.mark_phase 2` in between: in the function of a stage that nothing else needs to
    wait for. What only running statistics need goes with them. What another stage receives stays where it is. Removes `bppsa.backward_part` from the module.

    ```mlir
    %dw1 = ... ins(%x, %g1 ...) attrs = {bppsa.backward_part = #bppsa.backward_part<parameter, stage = 1>}
    %g0 = ... ins(%g1, %w1 ...) attrs = {bppsa.backward_part = #bppsa.backward_part<cotangent>}
    dist.stage_send %g0 to 0 channel 1
    return %dw1
    ```
    becomes
    ```mlir
    %g0 = ... ins(%g1, %w1 ...)
    dist.stage_send %g0 to 0 channel 1
    bppsa.mark_phase 2
    %dw1 = ... ins(%x, %g1 ...)
    return %dw1
    ```
  }];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_BACKWARDORDER_PASSES
