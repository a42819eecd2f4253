//===- Passes.td - passes of steps on several ranks --------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_DIST_TRANSFORMS_PASSES
#define BPPSA_DIALECT_DIST_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def AssignStages : Pass<"bppsa-assign-stages", "::mlir::ModuleOp"> {
  let summary = "divides training steps into stages of a pipeline";
  let description = [{
    Gives the operations of `functions`, training steps, that depend on parameters and on data the
    attribute `bppsa.stage`. What depends on one of both alone has no stage: every stage computes it that
    needs it. Operations of the backward pass that depend on trained parameters alone have a stage, too: where a
    loss is linear, they are cotangents.

    A layer begins at a node of the model with parameters that no layer before it has. A forward
    operation belongs to the last layer that it depends on; a backward one to the first layer that it
    needs a cotangent, an activation or a trained parameter of, and one that makes the gradient of a
    parameter to that one's layer. Neighbouring layers make a stage, so that the stage with the most
    floating-point operations, forward and backward, has as few as can be. Where parameters have
    `bppsa.stage` themselves (`bppsa-interlock`), they say which stage has them, and a stage is a layer. Remarks of the category
    `schedule` tell the shares. A trained parameter that several layers use belongs to the first of
    them: contributions of others to its gradient are cotangents that the others make; a module shares none with others but its neighbour. Models with fewer layers than
    stages are refused.

    With `functions=step stages=2`
    ```mlir
    %h = linalg.generic ... ins(%x, %w0 ...)
    %y = linalg.generic ... ins(%h, %w1 ...)
    ```
    becomes
    ```mlir
    %h = linalg.generic ... ins(%x, %w0 ...) attrs = {bppsa.stage = 0 : i64}
    %y = linalg.generic ... ins(%h, %w1 ...) attrs = {bppsa.stage = 1 : i64}
    ```
  }];
  let options = [
    Option<"stages", "stages", "int64_t", /*default=*/"1", "number of stages">
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def CutStages : Pass<"bppsa-cut-stages", "::mlir::ModuleOp"> {
  let summary = "makes a function of each stage of a training step";
  let description = [{
    Makes `@NAME_stage0`, `@NAME_stage1` and so on of each of `functions`, by the attribute `bppsa.stage` of
    operations (`bppsa-assign-stages`), which it removes. A function of a stage takes the arguments of the whole
    one, runs the operations of the stage and what these need of those of no stage, in their order, and
    returns what the stage makes. What another stage needs it sends (`dist.stage_send`) as soon as it is
    there, and what it needs of others it receives (`dist.stage_receive`) in front of the first use; each pair of
    a value and a stage has a channel of its own. Activations go to later stages, cotangents to earlier
    ones: other orders are refused. The `bppsa.mark_phase` of the whole function are those of each
    stage. `bppsa.stage_work` of a function are its floating-point operations: forward, for cotangents, and,
    where `bppsa-split-backward` has told them apart, for gradients of parameters. What only running statistics
    (`bppsa.updated`) need is the last thing that a stage does: a microbatch goes on from those that the one before it
    has left.

    Stage 1 of
    ```mlir
    %h = linalg.generic ... ins(%x, %w0 ...) attrs = {bppsa.stage = 0 : i64}
    %y = linalg.generic ... ins(%h, %w1 ...) attrs = {bppsa.stage = 1 : i64}
    ```
    is
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
  let summary = "tells the run time when gradients are final and parameters are read";
  let description = [{
    On memory, in each of `functions`, which are training steps of a program for several ranks.
    `dist.await_parameter` of a parameter with a gradient stands in front of the first operation of
    the function's block that uses the parameter or its gradient, `dist.signal_gradient` behind the
    last one that uses the gradient. So the gradients of a step are exchanged while it still
    computes others, and the sums travel while the next step computes without their parameters.

    What uses an array follows from the views of it that operations and those of their regions
    take. Where a view goes where the pass cannot follow, such as into the result of an
    `arith.select`, the parameter is awaited at the start of the function, and its gradient is
    final at the end.

    ```mlir
    func.func @step(%w: memref<8xf32> {bppsa.parameter = "w"}, %x: memref<8xf32>,
                    %dw: memref<8xf32> {bppsa.gradient = "w"}) {
      call @load(%x) : (memref<8xf32>) -> ()
      call @forward(%w, %x) : (memref<8xf32>, memref<8xf32>) -> ()
      call @backward(%x, %dw) : (memref<8xf32>, memref<8xf32>) -> ()
      call @more(%x) : (memref<8xf32>) -> ()
    ```
    becomes
    ```mlir
    func.func @step(%w: memref<8xf32> {bppsa.parameter = "w"}, %x: memref<8xf32>,
                    %dw: memref<8xf32> {bppsa.gradient = "w"}) {
      call @load(%x) : (memref<8xf32>) -> ()
      dist.await_parameter %w : memref<8xf32>
      call @forward(%w, %x) : (memref<8xf32>, memref<8xf32>) -> ()
      call @backward(%x, %dw) : (memref<8xf32>, memref<8xf32>) -> ()
      dist.signal_gradient %dw : memref<8xf32>
      call @more(%x) : (memref<8xf32>) -> ()
    ```
  }];
  let dependentDialects = ["::bppsa::dist::DistDialect"];
}

def VerifyExchanges : Pass<"bppsa-verify-exchanges", "::mlir::ModuleOp"> {
  let summary = "rejects exchanges whose order ranks need not share";
  let description = [{
    All ranks run one program, and each waits for what the others send: they have to make the same
    exchanges in the same order. So `dist.await_parameter`, `dist.signal_gradient` and
    `dist.rank_mean`, and calls of functions with one of them, stand in the block of a function, or in
    a `memref.alloca_scope` or an `scf.for` with constant bounds there. In other control flow they
    would depend on data, or on sizes, which differ with the shares of a batch; the pass fails.

    ```mlir
    scf.if %c {
      // error: 'dist.rank_mean' op needs a place that every rank reaches equally often, ...
      dist.rank_mean %own into %all : memref<8xf32> : memref<8xf32>
    }
    ```
  }];
}

def VerifyUpdates : Pass<"bppsa-verify-updates", "::mlir::func::FuncOp"> {
  let summary = "rejects steps that read a parameter after its update";
  let description = [{
    A training step that leaves gradients to the next one (`bppsa-schedule-backward` with `defer:L:next`) waits at
    `bppsa.mark_phase 2`. Parameters whose gradients are final there (`dist.signal_gradient`) are updated while it waits.
    Gradients that are formed behind must not read them any more: the cotangents of a step are those of
    the values that its forward pass had. Losses and running statistics have to be there, too. The pass fails otherwise;
    functions without `dist.signal_gradient` wait for nobody and pass.

    ```mlir
    dist.signal_gradient %dv : memref<8xf32>
    bppsa.mark_phase 2
    // error: uses parameter v after its update; ...
    call @weights(%g, %v, %dw) : (memref<8xf32>, memref<8xf32>, memref<8xf32>) -> ()
    dist.signal_gradient %dw : memref<8xf32>
    ```
  }];
}

#endif // BPPSA_DIALECT_DIST_TRANSFORMS_PASSES
