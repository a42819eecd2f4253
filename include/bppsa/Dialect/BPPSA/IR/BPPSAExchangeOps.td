//===- BPPSAExchangeOps.td - steps of several ranks --------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSAEXCHANGEOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSAEXCHANGEOPS

include "bppsa/Dialect/BPPSA/IR/BPPSAOpBase.td"

def BPPSA_AwaitParameterOp : BPPSA_Op<"await_parameter"> {
  let summary = "waits until a parameter has its value of this step";
  let description = [{
    A step of a program for several ranks begins before the update of the last one has been made.
    The run time makes that of `parameter`, an argument with `bppsa.parameter`, here: in front of
    whatever uses it or its gradient. See `bppsa-signal-gradients`.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemWrite]>:$parameter);
  let assemblyFormat = "$parameter attr-dict `:` type($parameter)";
  let hasVerifier = 1;
}

def BPPSA_SignalGradientOp : BPPSA_Op<"signal_gradient"> {
  let summary = "tells the run time that the gradient of a parameter is final";
  let description = [{
    The run time of a program for several ranks sends `gradient`, an argument with
    `bppsa.gradient`, to other ranks from here on, and writes their sum into it: nothing behind this
    op uses it. See `bppsa-signal-gradients`.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead, MemWrite]>:$gradient);
  let assemblyFormat = "$gradient attr-dict `:` type($gradient)";
  let hasVerifier = 1;
}

def BPPSA_RankMeanOp : BPPSA_Op<"rank_mean", [
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "the mean over the ranks of a step";
  let description = [{
    While several ranks share the samples of a batch, the sum over them of `operand`, in the order of
    the ranks, each times the share of its samples: of means over the samples of a rank, the mean
    over those of all. `transposed` is the transposed linear map, the rule of its cotangent: the
    sum over the ranks, times the share of this one. One process has the whole batch, and both are
    the identity. Ranks run the same operations of this kind in the same order.

    ```mlir
    %mean = bppsa.rank_mean %own : tensor<8xf32> -> tensor<8xf32>
    ```
  }];
  let arguments = (ins BPPSA_Shaped:$operand, Optional<AnyMemRef>:$destination,
                       UnitAttr:$transposed);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    (`transposed` $transposed^)? $operand (`into` $destination^ `:` type($destination))? attr-dict
    `:` type($operand) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

def BPPSA_RankWeightOp : BPPSA_Op<"rank_weight"> {
  let summary = "what the samples of this rank count in the loss of a step";
  let description = [{
    The sum of the weights of the positions of the step's samples: the loss is their mean, and the
    gradients of all ranks add up where each differentiates its loss times this number. One process
    has 1. See `bppsa-specialize-training`.
  }];
  let results = (outs F32:$weight);
  let assemblyFormat = "attr-dict `:` type($weight)";
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAEXCHANGEOPS
