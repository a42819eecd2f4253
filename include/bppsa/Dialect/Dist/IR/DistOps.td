//===- DistOps.td - exchange between ranks -----------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_DIST_IR_DISTOPS
#define BPPSA_DIALECT_DIST_IR_DISTOPS

include "bppsa/Dialect/Dist/IR/DistDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_Shaped : AnyTypeOf<[AnyRankedTensor, AnyMemRef], "ranked tensor or memref">;

def Dist_AwaitParameterOp : Dist_Op<"await_parameter"> {
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

def Dist_SignalGradientOp : Dist_Op<"signal_gradient"> {
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

def Dist_RankMeanOp : Dist_Op<"rank_mean", [
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "the mean over the ranks of a step";
  let description = [{
    While several ranks share the samples of a batch, the sum over them of `operand`, in the order of
    the ranks, each times the share of its samples: of means over the samples of a rank, the mean
    over those of all. `transposed` is the transposed linear map, the rule of its cotangent: the
    sum over the ranks, times the share of this one. One process has the whole batch, and both are
    the identity. Ranks run the same operations of this kind in the same order.

    ```mlir
    %mean = dist.rank_mean %own : tensor<8xf32> -> tensor<8xf32>
    ```
  }];
  let arguments = (ins Dist_Shaped:$operand, Optional<AnyMemRef>:$destination,
                       UnitAttr:$transposed);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    (`transposed` $transposed^)? $operand (`into` $destination^ `:` type($destination))? attr-dict
    `:` type($operand) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

def Dist_RankWeightOp : Dist_Op<"rank_weight"> {
  let summary = "what the samples of this rank count in the loss of a step";
  let description = [{
    The sum of the weights of the positions of the step's samples: the loss is their mean, and the
    gradients of all ranks add up where each differentiates its loss times this number. One process
    has 1. See `bppsa-specialize-training`.
  }];
  let results = (outs F32:$weight);
  let assemblyFormat = "attr-dict `:` type($weight)";
}

def Dist_StageSendOp : Dist_Op<"stage_send"> {
  let summary = "sends an array to another stage of a pipeline";
  let description = [{
    Another stage takes a copy of `operand` by the `dist.stage_receive` with this `channel` and the number of this stage.
    Nothing waits for that. See `bppsa-cut-stages`.

    ```mlir
    dist.stage_send %h to 1 channel 0 : tensor<?x20xf32>
    ```
  }];
  let arguments = (ins Dist_Shaped:$operand, I64Attr:$stage, I64Attr:$channel);
  let assemblyFormat = "$operand `to` $stage `channel` $channel attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Dist_StageReceiveOp : Dist_Op<"stage_receive", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "receives an array of another stage of a pipeline";
  let description = [{
    Waits for what `stage` sends through `channel` for the same microbatch; `sizes` are those that the type
    leaves open.

    ```mlir
    %h = dist.stage_receive(%batch) from 0 channel 0 : tensor<?x20xf32>
    ```
  }];
  let arguments = (ins Variadic<Index>:$sizes, Optional<AnyMemRef>:$destination, I64Attr:$stage,
                       I64Attr:$channel);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `(` $sizes `)` `from` $stage `channel` $channel (`into` $destination^ `:` type($destination))?
    attr-dict (`:` type($result)^)?
  }];
  let hasVerifier = 1;
}

class Dist_ShardOp<string mnemonic> : Dist_Op<mnemonic, [
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let arguments = (ins Dist_Shaped:$operand, Optional<AnyMemRef>:$destination, UnitAttr:$reverse,
                       UnitAttr:$transposed, I64Attr:$channel);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    (`reverse` $reverse^)? (`transposed` $transposed^)? $operand
    (`into` $destination^ `:` type($destination))? `channel` $channel attr-dict
    `:` type($operand) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

def Dist_ShardEnterOp : Dist_ShardOp<"shard_enter"> {
  let summary = "a state before the steps of this rank";
  let description = [{
    Where ranks have shares of the steps of all sequences, what the rank before this one sends by
    `shard_leave` with this `channel`; `operand` on the first rank. Of a loop over time that runs in
    `reverse`, the rank before is the one with the steps behind those of this rank. `transposed` is the rule of its
    cotangent: it sends `operand`, the cotangent of the state, to the rank before, and is zero then,
    since no operand of this rank counts; on the first rank it is `operand`. One process
    has all steps and is its first rank and its last. Ranks run the same operations of this kind in the same order. See
    `bppsa-shard-time`.

    ```mlir
    %first = dist.shard_enter %h0 channel 0 : tensor<?x20xf32> -> tensor<?x20xf32>
    ```
  }];
}

def Dist_ShardLeaveOp : Dist_ShardOp<"shard_leave"> {
  let summary = "a state behind the steps of this rank";
  let description = [{
    Sends `operand` to the rank behind this one, which takes it by `shard_enter` with this `channel`.
    The result is what the losses of the ranks behind add to that of this one: zero, since they
    count it, but it depends on `operand`. `transposed` is the rule of its cotangent, for a cotangent of one: how these
    losses depend on `operand`, which the transposed `shard_enter` of the rank behind sends; zeros on the last
    rank. Of `operand` it reads sizes alone.

    ```mlir
    %rest = dist.shard_leave %last channel 0 : tensor<?x20xf32> -> tensor<f32>
    %cotangent = dist.shard_leave transposed %last channel 0 : tensor<?x20xf32> -> tensor<?x20xf32>
    ```
  }];
}

def Dist_ShardScanOp : Dist_Op<"shard_scan", [
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "the cotangent that the shares behind this one make, by a scan over ranks";
  let description = [{
    Where ranks have shares of the steps of all sequences, the backward pass of a share maps the cotangent g
    of its last states to that of its first ones, `A g + s`. Of each sample `map` holds A as `transition` makes it,
    column c in row c, `[B, S, S]`, and `own` holds s, `[B, S]`, the values of all states one after the other.
    The result `[B, S]` is what the maps of all ranks behind, the last one first, make of zeros: an exclusive scan, in which
    ranks compose maps without changing their order. It is zero on the last rank, and in one process, which has all
    steps. Of a loop over time that runs in `reverse`, the ranks behind are those with the steps before
    those of this rank. All ranks run the same operations of this kind in the same order; `channel` tells them apart,
    that through which the loop's first state entered (`shard_enter`). See `bppsa-scan-shards`.

    ```mlir
    %g = dist.shard_scan %map, %own channel 0 : tensor<?x4x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins Dist_Shaped:$map, Dist_Shaped:$own, Optional<AnyMemRef>:$destination,
                       UnitAttr:$reverse, I64Attr:$channel);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    (`reverse` $reverse^)? $map `,` $own (`into` $destination^ `:` type($destination))?
    `channel` $channel attr-dict `:` type($map) `,` type($own) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

def Dist_ShardFirstStepOp : Dist_Op<"shard_first_step", [Pure]> {
  let summary = "the number of the first step of this rank";
  let description = [{
    Counts from 0; one process has all steps, and 0.
  }];
  let results = (outs Index:$first);
  let assemblyFormat = "attr-dict";
}

def Dist_ShardAllStepsOp : Dist_Op<"shard_all_steps", [Pure]> {
  let summary = "the number of the steps of all ranks";
  let description = [{
    `own` is that of the steps of this rank, and of one process.
  }];
  let arguments = (ins Index:$own);
  let results = (outs Index:$all);
  let assemblyFormat = "$own attr-dict";
}

#endif // BPPSA_DIALECT_DIST_IR_DISTOPS
