//===- Passes.td - passes: orders of backward passes - -*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_SCHEDULE_PASSES
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_SCHEDULE_PASSES

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
    ListOption<"functions", "functions", "std::string", "training steps to divide">,
    Option<"stages", "stages", "int64_t", /*default=*/"1", "number of stages">
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
    ListOption<"functions", "functions", "std::string", "training steps to cut">,
    Option<"stages", "stages", "int64_t", /*default=*/"1", "number of stages">
  ];
  let dependentDialects = ["::bppsa::dist::DistDialect", "::bppsa::BPPSADialect", "::mlir::affine::AffineDialect",
                           "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
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
  let options = [ListOption<"functions", "functions", "std::string", "functions of stages">];
  let dependentDialects = ["::bppsa::BPPSADialect"];
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
  let options = [
    ListOption<"functions", "functions", "std::string", "The training steps">,
  ];
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

def AssignStreams : Pass<"bppsa-assign-streams", "::mlir::ModuleOp"> {
  let summary = "lets gradients of parameters run beside cotangents, on a sub stream of a GPU";
  let description = [{
    On memory, where each launch is the call of a kernel. Behind `bppsa.mark_phase 1` of public functions the calls that only form
    gradients of parameters (W, by the data flow that `bppsa-split-backward` goes by: what an array
    holds between two writes is a value) go to the sub stream (`bgpu.select_stream 1`), the others
    stay on the main stream.

    Ws that write or read what another one writes are a group and keep their order. A region is the
    launches of the main stream from where a group becomes possible to where the next one does. A
    group runs in the first region that it may run in, right where it becomes possible, or, with `joint`, in the
    region where the cost model hides most of it (Oh et al., Out-Of-Order BackProp, EuroSys 2022: multi-region joint
    scheduling): the longest group chooses first, and a region has the time of its launches, of what they issue and of their
    memory, of which the groups that are there already have taken their part. A group runs in no region behind a launch
    that changes what it reads. Sizes that only the run time knows count as `size`.

    The sub stream waits, at the start of a region, for an event that the main stream records there. The main
    stream waits for the sub stream where it uses an array that a W writes, or writes one that a W uses, and at the end of the
    function; arrays that Ws use are freed behind that. `bppsa-verify-streams` checks it.
    A function of which a launch uses arrays that are not known stays on one stream. Remarks of the category `schedule` say what was chosen.

    ```mlir
    call @cotangent(%g2, %w2, %g1) : ...
    call @weights(%g1, %x, %dw1) : ...
    memref.dealloc %g1 : memref<?x8xf32>
    call @cotangent(%g3, %w3, %g4) : ...
    return
    ```
    becomes
    ```mlir
    call @cotangent(%g2, %w2, %g1) : ...
    bgpu.record_event 0
    bgpu.select_stream 1
    bgpu.wait_event 0
    call @weights(%g1, %x, %dw1) : ...
    bgpu.record_event 1
    bgpu.select_stream 0
    call @cotangent(%g3, %w3, %g4) : ...
    bgpu.wait_event 1
    memref.dealloc %g1 : memref<?x8xf32>
    return
    ```
  }];
  let options = [
    Option<"joint", "joint", "bool", /*default=*/"false",
           "choose the region of each group by the cost model">,
    Option<"size", "size", "int64_t", /*default=*/"64",
           "what sizes that only the run time knows count as">
  ];
  let dependentDialects = ["::bppsa::bgpu::BGPUDialect", "::bppsa::BPPSADialect"];
}

def VerifyStreams : Pass<"bppsa-verify-streams", "::mlir::ModuleOp"> {
  let summary = "rejects functions whose streams do not wait for each other";
  let description = [{
    On memory, where each launch is the call of a kernel. Of two launches on different streams that use an array, which one of
    them writes, the later one has to wait for an event that is recorded behind the earlier one. Memory is taken and given back
    as by a launch that writes it. At its end a function has the main stream selected, which has waited for the sub stream.
    The pass fails otherwise.

    ```mlir
    bgpu.select_stream 1
    // error: uses memory on stream 1 without waiting for stream 0; ...
    call @weights(%g, %x, %dw) : (memref<?x8xf32>, memref<?x4xf32>, memref<8x4xf32>) -> ()
    bgpu.select_stream 0
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

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_SCHEDULE_PASSES
