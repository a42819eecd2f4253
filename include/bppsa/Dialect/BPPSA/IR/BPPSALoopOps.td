//===- BPPSALoopOps.td - loops over time -------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSALOOPOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSALOOPOPS

include "bppsa/Dialect/BPPSA/IR/BPPSAOpBase.td"

class BPPSA_TimeLoopOp<string mnemonic, list<Trait> traits = []>
    : BPPSA_Op<mnemonic, !listconcat(traits, [
        AttrSizedOperandSegments, AttrSizedResultSegments, IsolatedFromAbove,
        SingleBlockImplicitTerminator<"::bppsa::YieldOp">, BPPSA_Kernel, BPPSA_PackableOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>])> {
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the body computes tensors of one sample rather than vectors.
    bool isGraphForm() { return ::bppsa::isGraphBody(getBody().front()); }
  }];
}

def BPPSA_RecurrenceOp : BPPSA_TimeLoopOp<"recurrence"> {
  let summary = "runs a cell along the time axis";
  let description = [{
    The body is the cell for one sample and one step. Its arguments are, in
    order, one vector for each of `sequences` (the slice of this sample and
    step), one for each state (its value before the step) and one for each of
    `captures` (the whole array). It yields the states after the step and then
    the per-step outputs.

    Shapes, with T steps and B samples: a sequence is `[T, B, N]` and gives a
    `vector<N>`; an initial state is `[B, N]`; a capture is a static vector or
    matrix. There is one trajectory `[T+1, B, N]` a state: slot 0 holds the
    initial state and slot t+1 the state after step t. With `reverse` the loop
    runs from step T-1 to 0; then slot T holds the initial state and slot t the
    state after step t. Outputs are `[T, B, M]`.

    With `lanes = L` the arrays are packed: sequences and trajectories are
    `[ceil(B/L), T, N, L]` and states `[ceil(B/L), N, L]` (see `pack_lanes`).
    A loop without states is parallel in time.

    Results are written to `destinations`, one for each in order, where there are
    any; bufferization makes the memory otherwise. On memrefs the op has destinations
    and no results.

    In *graph form* the body is any graph of one sample and one step. All of its
    values that cross the border are static tensors, of any rank and any type of
    elements: a sequence is `[T, B, d...]` and gives a `tensor<d...>`, a state is
    `[B, d...]`, a trajectory `[T+1, B, d...]`, an output `[T, B, d...]`, and a
    capture is a static tensor. Ops of the body have no side effects; loops may
    stand in it, over vectors or graphs, and see one sample. A loop in graph form
    is on tensors, has no lanes and is lowered by `bppsa-lower-graph-bodies`. One
    without sequences takes its number of steps from `steps`.

    ```mlir
    %h = bppsa.recurrence sequences(%x : tensor<?x?x1xf32>)
        initial(%h0 : tensor<?x20xf32>)
        captures(%w, %r : tensor<20x1xf32>, tensor<20x20xf32>)
        -> (tensor<?x?x20xf32>) {
    ^bb0(%xt: vector<1xf32>, %ht: vector<20xf32>, %wc: vector<20x1xf32>, %rc: vector<20x20xf32>):
      %0 = bppsa.matvec %wc, %xt : vector<20x1xf32>, vector<1xf32> -> vector<20xf32>
      %1 = bppsa.matvec %rc, %ht plus %0 : vector<20xf32> : vector<20x20xf32>, vector<20xf32> -> vector<20xf32>
      %2 = math.tanh %1 : vector<20xf32>
      bppsa.yield %2 : vector<20xf32>
    }

    // A cache of the last two frames, newest last, in graph form.
    %caches = bppsa.recurrence sequences(%x : tensor<?x?x1x33xf32>)
        initial(%cache : tensor<?x2x33xf32>) -> (tensor<?x?x2x33xf32>) {
    ^bb0(%xt: tensor<1x33xf32>, %c: tensor<2x33xf32>):
      %last = tensor.extract_slice %c[1, 0] [1, 33] [1, 1] : tensor<2x33xf32> to tensor<1x33xf32>
      %next = tensor.concat dim(0) %last, %xt : (tensor<1x33xf32>, tensor<1x33xf32>) -> tensor<2x33xf32>
      bppsa.yield %next : tensor<2x33xf32>
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
  let summary = "the cotangent recurrence g[t-1] = J[t]^T (g[t] + s[t])";
  let description = [{
    The reverse-mode counterpart of a `recurrence`. The body is the link: it is
    linear in the cotangents, or affine where `bppsa-fuse-injected` has made it, and applies the transposed Jacobian of one step of
    one sample. Its arguments are one vector for each of `saved` (activations of
    this step), one cotangent for each state (of the state after the step) and
    one value for each of `captures`. It yields the cotangents of the states
    before the step, then the emitted values, then the values that are summed.

    `seeds` are the cotangents `[B, N]` of the final states. `injected[k]`, a
    sequence `[T, B, N]`, is added to the cotangent of state `inject_into[k]`
    before the link of each step: cotangents of losses that look at every step.

    The chain undoes a recurrence that runs forward, so it runs from step T-1
    to 0; with `reverse` it undoes a reversed recurrence and runs from 0 to
    T-1. Results: the cotangent `[B, N]` of each initial state, each
    emitted value as a sequence `[T, B, M]`, and the sums. Packing and
    bufferization are as in `recurrence`.

    `sum_with` has a number for each value that is summed over steps and samples:
    k for the sum of its outer products with the vectors of sequence k of
    `factors`, which is what `outer_sum` makes of an emitted value and that
    sequence, and -1 for the sum of the value itself, as `step_sum` makes it. So
    the value need not be stored. Only programs for GPUs have such sums
    (`bppsa-fuse-gradients`), and these are not packed. With `flat_sums` they are one
    vector, one after the other, each column by column: parts of sums, which
    `reduce_sums` adds up.

    In *graph form* (see `recurrence`) the link is a graph on tensors of one
    sample. It is affine in the cotangents of the states, for the cotangents of
    per-step outputs enter it among `saved`; its plan is `linear`. A value that is
    summed may have any rank, with -1 in `sum_with`. There may be no states; the
    chain then makes sums and emits values step after step.

    `plan` is the association order of the products; only that of floating-point
    products differs from plan to plan (BPPSA, section 3). Without one the order is
    `linear`: link after link.

    `structure` is that of the transposed Jacobian of a link, over all states, and `terms`
    are the scaled matrices that it is a sum of, where it is one: `matrix` is the number of
    a capture, `left` and `right` number the different scales in the order in which terms
    first name them. `bppsa-infer-structure` writes both; a chain with a plan other than
    `linear` has a structure when it is expanded.

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
  let summary = "ends the body of a time loop";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSALOOPOPS
