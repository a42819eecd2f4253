//===- BPPSALoopOps.td - loops over time -------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSALOOPOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSALOOPOPS

include "bppsa/Dialect/BPPSA/IR/BPPSAOpBase.td"

class BPPSA_TimeLoopOp<string mnemonic, list<Trait> traits = []>
    : BPPSA_ArrayOp<mnemonic, !listconcat(traits, [
        AttrSizedOperandSegments, AttrSizedResultSegments, IsolatedFromAbove,
        SingleBlockImplicitTerminator<"::bppsa::YieldOp">, BPPSA_PackedOperands])> {
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns true if the body computes on tensors of one sample instead of vectors.
    bool isGraphForm() { return ::bppsa::isGraphBody(getBody().front()); }
  }];
}

def BPPSA_RecurrenceOp : BPPSA_TimeLoopOp<"recurrence"> {
  let summary = "Run a cell along the time axis";
  let description = [{
    Applies the body, the *cell*, to every time step of every sample. Its arguments are, in order:

    * a slice of each of `sequences` for this sample and step,
    * each state before the step,
    * each of `captures` in full.

    It yields the states after the step, followed by the per-step outputs.

    Shapes, with T steps and B samples: a sequence is `[T, B, N]` and its body argument `vector<N>`;
    an initial state is `[B, N]`; a capture is a static vector or matrix. Each state has one result,
    its trajectory `[T+1, B, N]`: slot 0 holds the initial state and slot t+1 the state after step
    t. With `reverse` the loop runs from step T-1 to 0, slot T holds the initial state, and slot t
    the state after step t. Outputs are `[T, B, M]`. A loop without states is parallel in time.

    With `lanes = L` the arrays are packed (see `pack_lanes`): sequences and trajectories are
    `[ceil(B/L), T, N, L]`, and states are `[ceil(B/L), N, L]`.

    On tensors, `destinations` optionally provides one buffer per result; otherwise bufferization
    allocates them. On memrefs the op writes to `destinations` and has no results.

    In *graph form* the body is an arbitrary side-effect-free graph on one sample and one step.
    Every operand slice, state, output and capture is a static tensor of any rank and element type:
    a sequence `[T, B, d...]` becomes a `tensor<d...>` argument, a state is `[B, d...]`, a
    trajectory `[T+1, B, d...]` and an output `[T, B, d...]`. The body may contain nested time
    loops, in vector or graph form, which operate on the same sample. Loops in graph form exist only
    on tensors, are not packed, and are lowered by `bppsa-lower-graph-bodies`. A loop without
    sequences takes its trip count from `steps`.

    ```mlir
    %h = bppsa.recurrence sequences(%x : tensor<?x?x1xf32>)
        initial(%h0 : tensor<?x20xf32>)
        captures(%w, %r : tensor<20x1xf32>, tensor<20x20xf32>)
        -> (tensor<?x?x20xf32>) {
    ^bb0(%xt: vector<1xf32>, %ht: vector<20xf32>, %wc: vector<20x1xf32>, %rc: vector<20x20xf32>):
      %0 = bppsa.matvec %wc, %xt : vector<20x1xf32>, vector<1xf32> -> vector<20xf32>
      %1 = bppsa.matvec %rc, %ht plus %0 : vector<20x20xf32>, vector<20xf32> plus vector<20xf32> -> vector<20xf32>
      %2 = math.tanh %1 : vector<20xf32>
      bppsa.yield %2 : vector<20xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<BPPSA_Shaped>:$sequences, Variadic<BPPSA_Shaped>:$initial,
                       Variadic<BPPSA_Shaped>:$captures, Optional<Index>:$steps,
                       Variadic<BPPSA_Shaped>:$destinations,
                       UnitAttr:$reverse, OptionalAttr<I64Attr>:$lanes);
  let results = (outs Variadic<AnyRankedTensor>:$trajectories, Variadic<AnyRankedTensor>:$outputs);
  let builders = [
    OpBuilder<(ins "::mlir::TypeRange":$trajectories, "::mlir::TypeRange":$outputs,
                   "::mlir::ValueRange":$sequences, "::mlir::ValueRange":$initial,
                   "::mlir::ValueRange":$captures, CArg<"const ::bppsa::LoopOptions &", "{}">:$options)>
  ];
  let skipDefaultBuilders = 1;
  let assemblyFormat = [{
    (`reverse` $reverse^)? (`lanes` $lanes^)? (`steps` $steps^)?
    (`sequences` `(` $sequences^ `:` type($sequences) `)`)?
    (`initial` `(` $initial^ `:` type($initial) `)`)?
    (`captures` `(` $captures^ `:` type($captures) `)`)?
    (`into` `(` $destinations^ `:` type($destinations) `)`)?
    attr-dict-with-keyword
    (`->` `(` type($trajectories)^ `)`)? (`outputs` `(` type($outputs)^ `)`)? $body
  }];
}

def BPPSA_ChainOp : BPPSA_TimeLoopOp<"chain"> {
  let summary = "Propagate cotangents through time, g[t-1] = J[t]^T (g[t] + s[t])";
  let description = [{
    Computes the reverse-mode counterpart of a `recurrence`. The body is the *link*: it applies the
    transposed Jacobian of one step to the cotangents of one sample. It is linear in the cotangents,
    or affine after `bppsa-fuse-injected`. Its arguments are, in order:

    * a slice of each of `saved`, the activations of this step,
    * the cotangent of each state after the step,
    * each of `captures` in full.

    It yields the cotangents of the states before the step, then the emitted values, then the summed
    values.

    `seeds` are the cotangents `[B, N]` of the final states. `injected[k]`, a sequence
    `[T, B, N]`, is added to the cotangent of state `inject_into[k]` before the link of each step.

    The results are the cotangent `[B, N]` of each initial state, each emitted value as a sequence
    `[T, B, M]`, and the sums. The chain runs from step T-1 to 0. With `reverse` it differentiates a
    reversed recurrence and runs from 0 to T-1. Packing and bufferization are as in `recurrence`.

    Sums are parameter gradients accumulated over steps and samples. `sum_with` has one entry per
    summed value: k >= 0 adds the outer product of the value with sequence k of `factors`, as
    `outer_sum` does; -1 adds the value itself, as `step_sum` does. In vector form only GPU programs
    have sums (`bppsa-fuse-gradients`), and such chains are not packed. With `flat_sums` all sums
    are concatenated in one vector, each in column-major order. The result then holds partial sums,
    which `reduce_sums` adds up.

    In *graph form* (see `recurrence`) the link is a graph on tensors of one sample, and its plan is
    `linear`. The cotangents of per-step outputs are passed in `saved`. A summed value may have any
    rank, with -1 in `sum_with`. A chain without states computes its sums and emitted values step by
    step.

    `plan` is the association order of the products (BPPSA, section 3), `linear` by default. Plans
    differ only in rounding.

    `structure` is the structure of the transposed Jacobian of a link over all states. If the
    Jacobian is a sum of scaled matrices, `terms` lists them: `matrix` is the index of a capture,
    and `left` and `right` number the distinct scales in the order of their first use.
    `bppsa-infer-structure` adds both attributes. A chain with a plan other than `linear` must have
    a structure when it is expanded.

    ```mlir
    %g0, %dw, %db = bppsa.chain saved(%h : tensor<?x?x20xf32>) seeds(%g : tensor<?x20xf32>)
        factors(%x : tensor<?x?x3xf32>) sum_with [0, -1]
        captures(%r : tensor<20x20xf32>) -> (tensor<?x20xf32>) sums(tensor<20x3xf32>, tensor<20xf32>) {
    ^bb0(%ht: vector<20xf32>, %gt: vector<20xf32>, %rc: vector<20x20xf32>):
      %0 = arith.mulf %ht, %gt : vector<20xf32>
      %1 = bppsa.matvec transposed %rc, %0 : vector<20x20xf32>, vector<20xf32> -> vector<20xf32>
      bppsa.yield %1, %0, %0 : vector<20xf32>, vector<20xf32>, vector<20xf32>
    }
    ```
  }];
  let arguments = (ins DefaultValuedOptionalAttr<BPPSA_PlanAttr,
                                                 "::bppsa::ScanAlgorithm::Linear, 0">:$plan,
                       Variadic<BPPSA_Shaped>:$saved, Variadic<BPPSA_Shaped>:$seeds,
                       Variadic<BPPSA_Shaped>:$injected, Variadic<BPPSA_Shaped>:$factors,
                       Variadic<BPPSA_Shaped>:$captures, Optional<Index>:$steps,
                       Variadic<BPPSA_Shaped>:$destinations,
                       OptionalAttr<Jacobian_StructureAttr>:$structure,
                       OptionalAttr<TypedArrayAttrBase<BPPSA_TermAttr, "terms of a Jacobian">>:$terms,
                       DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$injectInto,
                       DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$sumWith,
                       UnitAttr:$flatSums, UnitAttr:$reverse, OptionalAttr<I64Attr>:$lanes);
  let results = (outs Variadic<AnyRankedTensor>:$cotangents, Variadic<AnyRankedTensor>:$emitted,
                      Variadic<AnyRankedTensor>:$sums);
  let builders = [
    OpBuilder<(ins "::mlir::TypeRange":$cotangents, "::mlir::TypeRange":$emitted,
                   "::mlir::ValueRange":$saved, "::mlir::ValueRange":$seeds,
                   "::mlir::ValueRange":$injected, "::llvm::ArrayRef<int64_t>":$injectInto,
                   "::mlir::ValueRange":$captures, CArg<"const ::bppsa::ChainOptions &", "{}">:$options)>
  ];
  let skipDefaultBuilders = 1;
  let assemblyFormat = [{
    (`plan` $plan^)? (`structure` $structure^)? (`terms` $terms^)? (`reverse` $reverse^)? (`lanes` $lanes^)? (`steps` $steps^)?
    (`saved` `(` $saved^ `:` type($saved) `)`)?
    (`seeds` `(` $seeds^ `:` type($seeds) `)`)?
    (`injected` `(` $injected^ `:` type($injected) `)`)? (`inject_into` $injectInto^)?
    (`factors` `(` $factors^ `:` type($factors) `)`)? (`sum_with` $sumWith^)?
    (`flat_sums` $flatSums^)?
    (`captures` `(` $captures^ `:` type($captures) `)`)?
    (`into` `(` $destinations^ `:` type($destinations) `)`)?
    attr-dict-with-keyword
    (`->` `(` type($cotangents)^ `)`)? (`emitted` `(` type($emitted)^ `)`)?
    (`sums` `(` type($sums)^ `)`)? $body
  }];
}

def BPPSA_YieldOp : BPPSA_Op<"yield", [
    Pure, Terminator, ParentOneOf<["RecurrenceOp", "ChainOp", "TransitionOp"]>]> {
  let summary = "Terminate the body of a time loop or transition";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSALOOPOPS
