//===- Passes.td - multi-rank passes -----------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_DIST_TRANSFORMS_PASSES
#define BPPSA_DIALECT_DIST_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def AssignStages : Pass<"bppsa-assign-stages", "::mlir::ModuleOp"> {
  let summary = "Divide training steps into pipeline stages";
  let description = [{
    Sets the attribute `bppsa.stage` of the operations of functions with the role `step`. Operations
    that depend only on parameters or only on data have no stage; each stage that needs them
    computes them. Operations of the backward pass that depend only on trained parameters have a
    stage: they are cotangents of a linear loss.

    A layer begins at a node of the model with parameters that no earlier layer has. A forward
    operation belongs to the last layer that it depends on. A backward operation belongs to the
    first layer whose cotangent, activation or trained parameter it needs; an operation that
    computes a parameter gradient belongs to the layer of the parameter. Consecutive layers form a
    stage such that the maximum of floating-point operations per stage, forward and backward, is
    minimal. If parameters have `bppsa.stage` (`bppsa-interlock`), this attribute determines the
    stages. Remarks of the category `schedule` report the work of each stage.

    A trained parameter that several layers use belongs to the first of them. With interlocked
    modules, only neighbouring modules may share a parameter. The pass fails if a model has fewer
    layers than stages. Example result:
    ```mlir
    %y = linalg.generic ... ins(%h, %w1 ...) attrs = {bppsa.stage = 1 : i64}
    ```
  }];
  let options = [
    Option<"stages", "stages", "int64_t", /*default=*/"1", "number of stages">
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def CutStages : Pass<"bppsa-cut-stages", "::mlir::ModuleOp"> {
  let summary = "Create a function for each stage of a training step";
  let description = [{
    Creates a function for each stage of each function with the role `step`, and removes the
    attribute `bppsa.stage` of operations (`bppsa-assign-stages`). The function of a stage takes all
    arguments, contains the operations of the stage and the operations without a stage that they
    need, in their order, and returns the results that the stage computes.

    A stage sends a value that another stage needs as soon as it is available (`dist.stage_send`),
    and receives a value right before its first use (`dist.stage_receive`). Activations are sent to
    later stages and cotangents to earlier ones; the pass fails on any other dependence. Operations
    that only running statistics (`bppsa.updated`) need are last in a stage, because a microbatch
    starts from the statistics of the previous one.

    `bppsa.stage_work` of a function holds its floating-point operations: forward, for cotangents,
    and, if `bppsa-split-backward` has classified operations, for parameter gradients.
    Example result:
    ```mlir
    %h = dist.stage_receive(%batch) from 0 channel 0 : tensor<?x20xf32>
    %y = linalg.generic ... ins(%h, %w1 ...)
    ```
  }];
  let options = [
    Option<"stages", "stages", "int64_t", /*default=*/"1", "number of stages">
  ];
  let dependentDialects = ["::bppsa::dist::DistDialect", "::bppsa::BPPSADialect", "::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def SignalGradients : Pass<"bppsa-signal-gradients", "::mlir::ModuleOp"> {
  let summary = "Insert synchronization for the exchange of gradients";
  let description = [{
    Inserts synchronization into each function on memory with the role `step` of a program for
    several ranks. `dist.await_parameter` of each trained parameter is placed before the first
    operation in the function's block that uses the parameter or its gradient, and
    `dist.signal_gradient` after the last one that uses the gradient. Gradients are then exchanged
    while the step still computes others.

    If a view of an array cannot be followed, such as through an `arith.select`, the parameter is
    awaited at the start of the function and its gradient is signalled at the end. Example result:
    ```mlir
    dist.await_parameter %w : memref<8xf32>
    call @forward(%w, %x) : (memref<8xf32>, memref<8xf32>) -> ()
    call @backward(%x, %dw) : (memref<8xf32>, memref<8xf32>) -> ()
    dist.signal_gradient %dw : memref<8xf32>
    ```
  }];
  let dependentDialects = ["::bppsa::dist::DistDialect"];
}

def VerifyExchanges : Pass<"bppsa-verify-exchanges", "::mlir::ModuleOp"> {
  let summary = "Reject exchanges whose order may differ between ranks";
  let description = [{
    Verifies that all ranks execute the same exchanges in the same order, because each rank waits
    for the data of the others. `dist.await_parameter`, `dist.signal_gradient` and `dist.rank_mean`,
    and calls of functions that contain them, may occur only in the entry block of a function, or in
    a `memref.alloca_scope` or an `scf.for` with constant bounds in that block. The pass fails for
    other control flow.
  }];
}

def VerifyUpdates : Pass<"bppsa-verify-updates", "::mlir::func::FuncOp"> {
  let summary = "Reject steps that read a parameter after its update";
  let description = [{
    Verifies training steps that leave gradients to the next step (`bppsa-schedule-backward` with
    `defer:L:next`). Such a step pauses at `bppsa.mark_phase 2`, and parameters whose gradients are
    final at that point (`dist.signal_gradient`) are updated during the pause. The pass fails if a
    later operation reads these parameters, or if losses and running statistics are not final at
    that point. Functions without `dist.signal_gradient` are accepted.
  }];
}

#endif // BPPSA_DIALECT_DIST_TRANSFORMS_PASSES
