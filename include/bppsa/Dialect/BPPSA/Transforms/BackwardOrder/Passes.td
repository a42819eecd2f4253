//===- Passes.td - backward order passes -------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_TRANSFORMS_BACKWARDORDER_PASSES
#define BPPSA_DIALECT_BPPSA_TRANSFORMS_BACKWARDORDER_PASSES

include "mlir/Pass/PassBase.td"

def SplitBackward : Pass<"bppsa-split-backward", "::mlir::func::FuncOp"> {
  let summary = "Classify backward operations as cotangents or parameter gradients";
  let description = [{
    Sets the attribute `bppsa.backward_part` of the operations of a backward pass, which are those
    after `bppsa.mark_phase 1`:

    | part | operations |
    |---|---|
    | `parameter` (W) | operations whose results only parameter gradients need, if no operation on the path to these gradients reads another data-dependent value; also operations that only prepare an operand of one such operation and depend on no cotangent |
    | `both` | operations whose results are needed by a parameter gradient, or by an operation that only parameter gradients need, and also by cotangents of earlier layers |
    | `cotangent` (T) | all other operations |

    Operations that depend only on sizes and constants are not classified. A product of two
    activations is T regardless of its operands, and both contributions to the gradient of a tied
    parameter, as well as their sum, are W. The stage of a W is the stage of the last T that it
    depends on; stage 1 depends on the last T of all. Example result:
    ```mlir
    %dw1 = linalg.generic ... ins(%x, %g1 ...) attrs = {bppsa.backward_part = #bppsa.backward_part<parameter, stage = 1>}
    ```
  }];
  let statistics = [
    Statistic<"numCotangents", "num-cotangents", "Operations on the path of cotangents (T, both)">,
    Statistic<"numParameters", "num-parameters", "Operations for parameter gradients (W)">,
    Statistic<"numStages", "num-stages", "Stages of parameter gradients">
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def ScheduleBackward : Pass<"bppsa-schedule-backward", "::mlir::func::FuncOp"> {
  let summary = "Choose when a backward pass computes parameter gradients";
  let description = [{
    Reorders the operations of a backward pass that `bppsa-split-backward` has classified.
    Operations that are not W keep their order. Each W is placed at the position that `order`
    assigns to its stage:

    | order | position of the W of a stage |
    |---|---|
    | `in-order` | right after the last T that it depends on |
    | `reverse-first:K` | stages 1 to K after all T, stage 1 first; other stages in order (Oh et al.: Out-Of-Order BackProp, EuroSys 2022) |
    | `reverse-first:auto` | `reverse-first:K` with the largest K whose peak memory does not exceed `memory-limit`, or the peak of `in-order` without a limit |
    | `defer:L:J[,L:J...]` | stage L right after the W of stage J, J < L; other stages in order |
    | `defer:L:next[,...]` | stage L after everything else and after `bppsa.mark_phase 2`: a step may pause there, keep its values, and compute the W when the next step needs the parameters |

    The results of all orders are bitwise equal. The attribute `bppsa.backward_order` of the
    function and a remark of the category `schedule` report the order and its peak memory: the
    maximum number of live tensor bytes, excluding arguments and results of the function, for
    `batch` samples and `length` as every other dynamic size. A result shares the memory of its
    destination, and a view that of its source.
  }];
  let options = [
    Option<"order", "order", "std::string", /*default=*/"\"in-order\"",
           "in-order, reverse-first:K, reverse-first:auto or defer:L:J[,L:J...], with J a stage "
           "or next">,
    Option<"memoryLimit", "memory-limit", "int64_t", /*default=*/"0",
           "maximum live tensor bytes of reverse-first:auto; 0 for the peak of in-order">,
    Option<"batch", "batch", "int64_t", /*default=*/"1", "assumed number of samples for peak "
                                                         "memory">,
    Option<"length", "length", "int64_t", /*default=*/"1000",
           "assumed value of other dynamic sizes for peak memory">
  ];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def StreamCotangents : Pass<"bppsa-stream-cotangents", "::mlir::func::FuncOp"> {
  let summary = "Send cotangents to other stages as early as possible";
  let description = [{
    Reorders the backward pass of a training step whose operations have stages
    (`bppsa-assign-stages`). Each stage first computes the values that depend least on later stages:
    cotangents of its own loss, then those of the next stage's loss, and so on. Among these, values
    that other stages need precede parameter gradients.

    Results are bitwise equal. Steps without stages are unchanged. The pass fails if the backward
    pass has side effects.
  }];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

def DeferWeights : Pass<"bppsa-defer-weights", "::mlir::ModuleOp"> {
  let summary = "Move parameter gradients after all cotangents, into a separate phase";
  let description = [{
    Moves the W operations of pipeline stages (`bppsa-split-backward`) after all others, in their
    order, and inserts `bppsa.mark_phase 2` in between; no other stage waits for this phase.
    Operations that only running statistics need move along. Values that another stage receives are
    not moved. The pass removes `bppsa.backward_part` from the module. Example result:
    ```mlir
    %g0 = ... ins(%g1, %w1 ...)
    dist.stage_send %g0 to 0 channel 1
    bppsa.mark_phase 2
    %dw1 = ... ins(%x, %g1 ...)
    ```
  }];
  let dependentDialects = ["::bppsa::BPPSADialect"];
}

#endif // BPPSA_DIALECT_BPPSA_TRANSFORMS_BACKWARDORDER_PASSES
