//===- DistOps.td - communication between ranks ------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_DIST_IR_DISTOPS
#define BPPSA_DIALECT_DIST_IR_DISTOPS

include "bppsa/Dialect/Dist/IR/DistDialect.td"
include "bppsa/Support/DestinationOps.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// A rank sends to another one, receives from it or waits for it.
def Dist_Exchange : NativeOpTrait<"ExchangeTrait"> {
  let cppNamespace = "::bppsa::dist";
}

def Dist_AwaitParameterOp : Dist_Op<"await_parameter", [Dist_Exchange]> {
  let summary = "Wait until a parameter is up to date";
  let description = [{
    Waits until the update of the previous step has been applied to `parameter`, an argument with
    `bppsa.parameter`. The op precedes all uses of the parameter and of its gradient. See
    `bppsa-signal-gradients`.

    ```mlir
    dist.await_parameter %w : memref<8xf32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemWrite]>:$parameter);
  let assemblyFormat = "$parameter attr-dict `:` type($parameter)";
  let hasVerifier = 1;
}

def Dist_SignalGradientOp : Dist_Op<"signal_gradient", [Dist_Exchange]> {
  let summary = "Signal that the gradient of a parameter is final";
  let description = [{
    Allows the run time to exchange `gradient`, an argument with `bppsa.gradient`, with other ranks.
    The run time writes the sum over all ranks into it, so no op after this one may use it. See
    `bppsa-signal-gradients`.

    ```mlir
    dist.signal_gradient %dw : memref<8xf32>
    ```
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead, MemWrite]>:$gradient);
  let assemblyFormat = "$gradient attr-dict `:` type($gradient)";
  let hasVerifier = 1;
}

def Dist_RankMeanOp : Dist_Op<"rank_mean", [Dist_Exchange, BPPSA_DestinationOpInterface,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "Compute the mean over the ranks of a step";
  let description = [{
    Combines means over the samples of each rank to the mean over the whole batch: the sum over
    ranks, in rank order, of `operand` weighted by the rank's share of the samples. With
    `transposed` the op computes the transposed linear map, which is its cotangent rule: the sum
    over ranks, weighted by the share of this rank. On a single process both are the identity.

    All ranks must execute their `rank_mean` ops in the same order.

    ```mlir
    %mean = dist.rank_mean %own : tensor<8xf32> -> tensor<8xf32>
    ```
  }];
  let arguments = (ins BPPSA_Shaped:$operand, Optional<AnyMemRef>:$destination,
                       UnitAttr:$transposed);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    (`transposed` $transposed^)? $operand (`into` $destination^)? attr-dict
    `:` type($operand) (`into` type($destination)^)? (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

def Dist_RankWeightOp : Dist_Op<"rank_weight"> {
  let summary = "Return the weight of this rank's samples in the loss of a step";
  let description = [{
    Returns the sum of the weights of all positions of this rank's samples in the step, or 1 on a
    single process. Each rank differentiates its loss multiplied by this weight. See
    `bppsa-specialize-training`.

    ```mlir
    %weight = dist.rank_weight : f32
    ```
  }];
  let results = (outs F32:$weight);
  let assemblyFormat = "attr-dict `:` type($weight)";
}

def Dist_StageSendOp : Dist_Op<"stage_send", [Dist_Exchange]> {
  let summary = "Send an array to another pipeline stage";
  let description = [{
    Sends a copy of `operand` to stage `stage`. The matching `dist.stage_receive` has the same
    `channel` and the number of this stage. The op does not block. See `bppsa-cut-stages`.

    ```mlir
    dist.stage_send %h to 1 channel 0 : tensor<?x20xf32>
    ```
  }];
  let arguments = (ins BPPSA_Shaped:$operand, I64Attr:$stage, I64Attr:$channel);
  let assemblyFormat = "$operand `to` $stage `channel` $channel attr-dict `:` type($operand)";
  let hasVerifier = 1;
}

def Dist_StageReceiveOp : Dist_Op<"stage_receive", [
    AttrSizedOperandSegments, Dist_Exchange, BPPSA_DestinationOpInterface,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "Receive an array from another pipeline stage";
  let description = [{
    Waits for the array that `stage` sends through `channel` for the same microbatch. `sizes` are
    the dynamic sizes of the result.

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
    Dist_Exchange, BPPSA_DestinationOpInterface,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let arguments = (ins BPPSA_Shaped:$operand, Optional<AnyMemRef>:$destination, UnitAttr:$reverse,
                       UnitAttr:$transposed, I64Attr:$channel);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    (`reverse` $reverse^)? (`transposed` $transposed^)? $operand
    (`into` $destination^)? `channel` $channel attr-dict
    `:` type($operand) (`into` type($destination)^)? (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

def Dist_ShardEnterOp : Dist_ShardOp<"shard_enter"> {
  let summary = "Receive a state from the rank with the preceding time steps";
  let description = [{
    Each rank computes a contiguous share of the time steps of all sequences. The result is the
    state before the first step of this rank: on the first rank it is `operand`, on all others the
    state that the preceding rank sends with `shard_leave` and the same `channel`. With `reverse`,
    for loops that run backward in time, the preceding rank is the one with later steps.

    With `transposed` the op is its cotangent rule. On the first rank it returns `operand`, the
    cotangent of the state. On all others it sends `operand` to the preceding rank and returns zero.

    All ranks must execute these ops in the same order. See `bppsa-shard-time`.

    ```mlir
    %first = dist.shard_enter %h0 channel 0 : tensor<?x20xf32> -> tensor<?x20xf32>
    ```
  }];
}

def Dist_ShardLeaveOp : Dist_ShardOp<"shard_leave"> {
  let summary = "Send a state to the rank with the following time steps";
  let description = [{
    Sends `operand`, the state after the last step of this rank, to the following rank, which
    receives it with `shard_enter` and the same `channel`. The scalar result represents the
    contribution of the following ranks' losses to the objective of this rank. Its value is zero,
    but it depends on `operand` for differentiation.

    With `transposed` the op returns the cotangent of `operand` that the transposed `shard_enter` of
    the following rank sends, or zeros on the last rank. It reads only the sizes of `operand`.

    ```mlir
    %rest = dist.shard_leave %last channel 0 : tensor<?x20xf32> -> tensor<f32>
    ```
  }];
}

def Dist_ShardScanOp : Dist_Op<"shard_scan", [
    Dist_Exchange, BPPSA_DestinationOpInterface,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "Scan cotangents over ranks";
  let description = [{
    Each rank's backward pass maps the cotangent g of its last states to the cotangent of its first
    states, `A g + s`. This op returns the cotangent of the last states, `[B, S]`: it applies
    the maps of all following ranks to zero, last rank first. The result is zero on the last rank
    and on a single process.

    `map` holds A for each sample in the layout of `bppsa.transition`, with column c in row c,
    `[B, S, S]`. `own` holds s, `[B, S]`, with the elements of all states concatenated. With
    `reverse`, the following ranks are those with earlier steps. `channel` is that of the
    `shard_enter` of the loop's first state.

    All ranks must execute these ops in the same order. See `bppsa-scan-shards`.

    ```mlir
    %g = dist.shard_scan %map, %own channel 0 : tensor<?x4x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins BPPSA_Shaped:$map, BPPSA_Shaped:$own, Optional<AnyMemRef>:$destination,
                       UnitAttr:$reverse, I64Attr:$channel);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    (`reverse` $reverse^)? $map `,` $own (`into` $destination^)?
    `channel` $channel attr-dict
    `:` type($map) `,` type($own) (`into` type($destination)^)? (`->` type($result)^)?
  }];
  let hasVerifier = 1;
}

def Dist_ShardFirstStepOp : Dist_Op<"shard_first_step", [Pure]> {
  let summary = "Return the index of the first time step of this rank";
  let description = [{
    The index counts from 0 over all ranks. It is 0 on a single process.

    ```mlir
    %first = dist.shard_first_step
    ```
  }];
  let results = (outs Index:$first);
  let assemblyFormat = "attr-dict";
}

def Dist_ShardAllStepsOp : Dist_Op<"shard_all_steps", [Pure]> {
  let summary = "Return the number of time steps of all ranks";
  let description = [{
    `own` is the number of steps of this rank. On a single process the result is `own`.

    ```mlir
    %all = dist.shard_all_steps %own
    ```
  }];
  let arguments = (ins Index:$own);
  let results = (outs Index:$all);
  let assemblyFormat = "$own attr-dict";
}

#endif // BPPSA_DIALECT_DIST_IR_DISTOPS
