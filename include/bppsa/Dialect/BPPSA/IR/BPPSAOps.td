//===- BPPSAOps.td - bppsa operations ----------------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSAOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSAOPS

include "bppsa/Dialect/BPPSA/IR/BPPSAAttributes.td"
include "bppsa/Dialect/BPPSA/IR/BPPSADialect.td"
include "bppsa/Dialect/BPPSA/IR/BPPSATypes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class BPPSA_Op<string mnemonic, list<Trait> traits = []>
    : Op<BPPSA_Dialect, mnemonic, traits>;

def BPPSA_Shaped : AnyTypeOf<[AnyRankedTensor, AnyMemRef], "ranked tensor or memref">;

//===----------------------------------------------------------------------===//
// Time loops
//===----------------------------------------------------------------------===//

class BPPSA_TimeLoopOp<string mnemonic, list<Trait> traits = []>
    : BPPSA_Op<mnemonic, !listconcat(traits, [
        AttrSizedOperandSegments, AttrSizedResultSegments, IsolatedFromAbove,
        SingleBlockImplicitTerminator<"::bppsa::YieldOp">,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])> {
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
}

def BPPSA_RecurrenceOp : BPPSA_TimeLoopOp<"recurrence"> {
  let summary = "walks a cell along the time axis";
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

    After bufferization the op has no results and writes to `destinations`,
    one for each former result in order.

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
    ```
  }];
  let arguments = (ins Variadic<BPPSA_Shaped>:$sequences, Variadic<BPPSA_Shaped>:$initial,
                       Variadic<BPPSA_Shaped>:$captures, Variadic<AnyMemRef>:$destinations,
                       UnitAttr:$reverse, OptionalAttr<I64Attr>:$lanes);
  let results = (outs Variadic<AnyRankedTensor>:$trajectories, Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{
    (`reverse` $reverse^)? (`lanes` $lanes^)?
    (`sequences` `(` $sequences^ `:` type($sequences) `)`)?
    (`initial` `(` $initial^ `:` type($initial) `)`)?
    (`captures` `(` $captures^ `:` type($captures) `)`)?
    (`into` `(` $destinations^ `:` type($destinations) `)`)?
    attr-dict-with-keyword
    (`->` `(` type($trajectories)^ `)`)? (`outputs` `(` type($outputs)^ `)`)? $body
  }];
}

class BPPSA_CotangentLoopOp<string mnemonic, dag extraArguments = (ins)>
    : BPPSA_TimeLoopOp<mnemonic> {
  let arguments = !con((ins Variadic<BPPSA_Shaped>:$saved, Variadic<BPPSA_Shaped>:$seeds,
                            Variadic<BPPSA_Shaped>:$injected, Variadic<BPPSA_Shaped>:$factors,
                            Variadic<BPPSA_Shaped>:$captures,
                            Variadic<AnyMemRef>:$destinations,
                            DenseI64ArrayAttr:$injectInto,
                            DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$sumWith,
                            UnitAttr:$reverse, OptionalAttr<I64Attr>:$lanes), extraArguments);
  let results = (outs Variadic<AnyRankedTensor>:$cotangents, Variadic<AnyRankedTensor>:$emitted,
                      Variadic<AnyRankedTensor>:$sums);
  code assembly = [{
    (`reverse` $reverse^)? (`lanes` $lanes^)?
    (`saved` `(` $saved^ `:` type($saved) `)`)?
    `seeds` `(` $seeds `:` type($seeds) `)`
    (`injected` `(` $injected^ `:` type($injected) `)`)? `inject_into` $injectInto
    (`factors` `(` $factors^ `:` type($factors) `)`)? (`sum_with` $sumWith^)?
    (`captures` `(` $captures^ `:` type($captures) `)`)?
    (`into` `(` $destinations^ `:` type($destinations) `)`)?
    attr-dict-with-keyword
    (`->` `(` type($cotangents)^ `)`)? (`emitted` `(` type($emitted)^ `)`)?
    (`sums` `(` type($sums)^ `)`)? $body
  }];
}

def BPPSA_ChainOp : BPPSA_CotangentLoopOp<"chain"> {
  let summary = "the cotangent recurrence g[t-1] = J[t]^T (g[t] + s[t])";
  let description = [{
    The reverse-mode counterpart of a `recurrence`. The body is the link: it is
    linear in the cotangents and applies the transposed Jacobian of one step of
    one sample. Its arguments are one vector for each of `saved` (activations of
    this step), one cotangent for each state (of the state after the step) and
    one value for each of `captures`. It yields the cotangents of the states
    before the step, then the emitted values, then the values that are summed.

    `seeds` are the cotangents `[B, N]` of the final states. `injected[k]`, a
    sequence `[T, B, N]`, is added to the cotangent of state `inject_into[k]`
    before the link of each step: cotangents of losses that look at every step.

    The chain undoes a recurrence that walks forward, so it walks from step T-1
    to 0; with `reverse` it undoes a reversed recurrence and walks from 0 to
    T-1. Results: the cotangent `[B, N]` of each initial state, each
    emitted value as a sequence `[T, B, M]`, and the sums. Packing and
    bufferization are as in `recurrence`.

    `sum_with` has a number for each value that is summed over steps and samples:
    k for the sum of its outer products with the vectors of sequence k of
    `factors`, which is what `outer_sum` makes of an emitted value and that
    sequence, and -1 for the sum of the value itself, as `step_sum` makes it. So
    the value need not be stored. Only programs for GPUs have such sums
    (`bppsa-fuse-gradients`), and these are not packed.

    ```mlir
    %g0, %dw, %db = bppsa.chain saved(%h : tensor<?x?x20xf32>) seeds(%g : tensor<?x20xf32>)
        inject_into [] factors(%x : tensor<?x?x3xf32>) sum_with [0, -1]
        captures(%r : tensor<20x20xf32>) -> (tensor<?x20xf32>) sums(tensor<20x3xf32>, tensor<20xf32>) {
    ^bb0(%ht: vector<20xf32>, %gt: vector<20xf32>, %rc: vector<20x20xf32>):
      %0 = arith.mulf %ht, %gt : vector<20xf32>
      %1 = bppsa.matvec transposed %rc, %0 : vector<20x20xf32>, vector<20xf32> -> vector<20xf32>
      bppsa.yield %1, %0, %0 : vector<20xf32>, vector<20xf32>, vector<20xf32>
    }
    ```
  }];
  let assemblyFormat = assembly;
}

def BPPSA_ScanOp : BPPSA_CotangentLoopOp<"scan", (ins BPPSA_PlanAttr:$plan)> {
  let summary = "a cotangent chain with a parallel association order";
  let description = [{
    As `chain`, computed in the order that `plan` names. Only the association
    of the floating-point products differs (BPPSA, section 3).
  }];
  let assemblyFormat = "$plan " # assembly;
}

def BPPSA_YieldOp : BPPSA_Op<"yield", [
    Pure, Terminator, ParentOneOf<["RecurrenceOp", "ChainOp", "ScanOp", "LinearizeOp"]>]> {
  let summary = "ends the body of a time loop";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

//===----------------------------------------------------------------------===//
// Ops of a body: one sample, one step
//===----------------------------------------------------------------------===//

def BPPSA_MatVecOp : BPPSA_Op<"matvec", [Pure]> {
  let summary = "product of a captured matrix and a vector of one sample";
  let description = [{
    `matvec %m, %x` is `m x`; with `transposed` it is `m^T x`. A third operand
    is added to the product.
  }];
  let arguments = (ins VectorOfRankAndType<[2], [AnyFloat]>:$matrix,
                       VectorOfRankAndType<[1], [AnyFloat]>:$vector,
                       Optional<VectorOfRankAndType<[1], [AnyFloat]>>:$addend,
                       UnitAttr:$transposed);
  let results = (outs VectorOfRankAndType<[1], [AnyFloat]>:$result);
  let assemblyFormat = [{
    (`transposed` $transposed^)? $matrix `,` $vector (`plus` $addend^ `:` type($addend))? attr-dict
    `:` type($matrix) `,` type($vector) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def BPPSA_SigmoidOp : BPPSA_Op<"sigmoid", [Pure, SameOperandsAndResultType, Elementwise, Scalarizable, Vectorizable, Tensorizable]> {
  let summary = "logistic function 1 / (1 + exp(-x))";
  let arguments = (ins FloatLike:$operand);
  let results = (outs FloatLike:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Sums over samples and steps: the leaves of a chain
//===----------------------------------------------------------------------===//

class BPPSA_LeafOp<string mnemonic> : BPPSA_Op<mnemonic, [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let hasVerifier = 1;
}

def BPPSA_OuterSumOp : BPPSA_LeafOp<"outer_sum"> {
  let summary = "sum over samples and steps of outer products";
  let description = [{
    `result[m, k] = sum over t, b of lhs[t, b, m] * rhs[t, b, k]`: the gradient
    of a matrix that a cell multiplies with a vector. Operands are sequences
    `[T, B, N]`, or packed ones `[ceil(B/L), T, N, L]` with `lanes = L`.

    Lanes beyond the last sample are left out of the sum, whatever they hold:
    with `lanes`, `batch` is the number of samples B. Without `batch` every lane
    holds a sample.
  }];
  let arguments = (ins BPPSA_Shaped:$lhs, BPPSA_Shaped:$rhs, Optional<Index>:$batch,
                       Optional<AnyMemRef>:$destination, OptionalAttr<I64Attr>:$lanes);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    (`lanes` $lanes^)? $lhs `,` $rhs (`batch` $batch^)? (`into` $destination^ `:` type($destination))? attr-dict
    `:` type($lhs) `,` type($rhs) (`->` type($result)^)?
  }];
}

def BPPSA_StepSumOp : BPPSA_LeafOp<"step_sum"> {
  let summary = "sum of a sequence over samples and steps";
  let description = [{
    `result[n] = sum over t, b of sequence[t, b, n]`: the gradient of a vector
    that a cell adds or multiplies elementwise. Layouts and `batch` are those of
    `outer_sum`.
  }];
  let arguments = (ins BPPSA_Shaped:$sequence, Optional<Index>:$batch,
                       Optional<AnyMemRef>:$destination, OptionalAttr<I64Attr>:$lanes);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    (`lanes` $lanes^)? $sequence (`batch` $batch^)? (`into` $destination^ `:` type($destination))? attr-dict
    `:` type($sequence) (`->` type($result)^)?
  }];
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

class BPPSA_LayoutOp<string mnemonic> : BPPSA_Op<mnemonic, [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = (ins BPPSA_Shaped:$source, Optional<AnyMemRef>:$destination, I64Attr:$lanes);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let hasVerifier = 1;
}

def BPPSA_PackLanesOp : BPPSA_LayoutOp<"pack_lanes"> {
  let summary = "groups samples into SIMD lanes";
  let description = [{
    `[T, B, N]` becomes `[ceil(B/L), T, N, L]` and `[B, N]` becomes
    `[ceil(B/L), N, L]`; lanes beyond the last sample are zero.
  }];
  let assemblyFormat = [{
    $lanes `,` $source (`into` $destination^ `:` type($destination))? attr-dict
    `:` type($source) (`->` type($result)^)?
  }];
}

def BPPSA_UnpackLanesOp : BPPSA_LayoutOp<"unpack_lanes"> {
  let summary = "undoes `pack_lanes`";
  let description = [{
    The operand `batch` is the number of samples B of the result.
  }];
  let arguments = (ins BPPSA_Shaped:$source, Index:$batch, Optional<AnyMemRef>:$destination,
                       I64Attr:$lanes);
  let assemblyFormat = [{
    $lanes `,` $source `,` $batch (`into` $destination^ `:` type($destination))? attr-dict
    `:` type($source) (`->` type($result)^)?
  }];
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Explicit scan trees
//===----------------------------------------------------------------------===//

def BPPSA_LinearizeOp : BPPSA_Op<"linearize", [
    Pure, AttrSizedOperandSegments, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"::bppsa::YieldOp">]> {
  let summary = "the transposed Jacobian of one step, as a matrix";
  let description = [{
    The body is the link of a chain. `saved` are the activations `[B, N]` of the
    step. The states are laid one after the other: with states of sizes n1, n2
    the Jacobian has n1 + n2 rows and columns. `states` holds the sizes.
    Emitted values of the link are not computed.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$saved, Variadic<AnyRankedTensor>:$captures,
                       DenseI64ArrayAttr:$states);
  let results = (outs BPPSA_JacobianType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`saved` `(` $saved^ `:` type($saved) `)`)? (`captures` `(` $captures^ `:` type($captures) `)`)?
    `states` $states attr-dict-with-keyword `->` type($result) $body
  }];
  let hasVerifier = 1;
}

def BPPSA_AssembleOp : BPPSA_Op<"assemble", [Pure]> {
  let summary = "a transposed Jacobian from the values of its possible nonzeros";
  let description = [{
    The possible nonzeros of the structure of the result, row by row, are
    elements of `source`: number e is element `positions[e]` in row-major order,
    or element e without `positions`. Where the result has a batch, `source` is
    `[B, N]` and holds the elements of each sample; else all samples share it,
    whatever its shape.

    A convolution's matrix is made of its weights, and the slopes of an
    activation are a diagonal:

    ```mlir
    %j = bppsa.assemble %w at [0, 1, 0, 1] : tensor<2xf32> -> !bppsa.jacobian<3x2xf32, csr(#pattern)>
    %d = bppsa.assemble %slopes : tensor<?x8xf32> -> !bppsa.jacobian<8x8xf32, diagonal, batch = ?>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, OptionalAttr<DenseI32ArrayAttr>:$positions);
  let results = (outs BPPSA_JacobianType:$result);
  let assemblyFormat = "$source (`at` $positions^)? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def BPPSA_ComposeOp : BPPSA_Op<"compose", [Pure]> {
  let summary = "product of two transposed Jacobians";
  let description = [{
    `compose %a, %b` is the matrix product `b a`: first `a`, then `b`, in the
    order in which the chain applies them. This is the paper's operator with a
    matrix on the left.
  }];
  let arguments = (ins BPPSA_JacobianType:$first, BPPSA_JacobianType:$second);
  let results = (outs BPPSA_JacobianType:$result);
  let assemblyFormat = "$first `,` $second attr-dict `:` type($first) `,` type($second) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def BPPSA_ApplyOp : BPPSA_Op<"apply", [Pure]> {
  let summary = "applies a transposed Jacobian to cotangents";
  let description = [{
    `apply %j, %g` is `j g` for the cotangent `[B, cols]` of each sample. This is
    the paper's operator with a vector on the left.
  }];
  let arguments = (ins BPPSA_JacobianType:$jacobian, AnyRankedTensor:$cotangent);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$jacobian `,` $cotangent attr-dict `:` type($jacobian) `,` type($cotangent) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Numeric phase of products
//===----------------------------------------------------------------------===//

class BPPSA_NumericProductOp<string mnemonic, list<Trait> traits = []>
    : BPPSA_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])> {
  let results = (outs Optional<AnyRankedTensor>:$result);
  let hasVerifier = 1;
}

def BPPSA_Values : AnyTypeOf<[RankedTensorOf<[F32, F64]>, MemRefOf<[F32, F64]>],
                             "ranked tensor or memref of floats">;
def BPPSA_Indices : AnyTypeOf<[RankedTensorOf<[I32]>, MemRefOf<[I32]>],
                              "ranked tensor or memref of 32-bit integers">;

def BPPSA_SparseApplyOp : BPPSA_NumericProductOp<"sparse_apply", [AttrSizedOperandSegments]> {
  let summary = "the numeric phase of a matrix applied to cotangents";
  let description = [{
    `result[r, b] = sum over starts[r] <= p < starts[r + 1] of value(p, b) *
    cotangent[columns[p], b]`, for B samples side by side: cotangents are
    `[N, B]`. `value(p, b)` is `values[p, b]`, or `values[p]` where all samples
    share one matrix; with `positions` it is the element `positions[p]`.
    Without `starts` and `columns` every element of the matrix is there, row by
    row.
  }];
  let arguments = (ins BPPSA_Values:$values, Optional<BPPSA_Indices>:$starts,
                       Optional<BPPSA_Indices>:$columns, Optional<BPPSA_Indices>:$positions,
                       BPPSA_Values:$cotangent, Optional<AnyMemRef>:$destination);
  let assemblyFormat = [{
    $values `:` type($values) (`rows` $starts^ `:` type($starts))?
    (`columns` $columns^ `:` type($columns))? (`at` $positions^ `:` type($positions))?
    `cotangent` $cotangent `:` type($cotangent) (`into` $destination^ `:` type($destination))?
    attr-dict (`->` type($result)^)?
  }];
}

def BPPSA_SparseComposeOp : BPPSA_NumericProductOp<"sparse_compose", [AttrSizedOperandSegments]> {
  let summary = "the numeric phase of a product of two matrices";
  let description = [{
    The values of `second * first` at the places that `result_starts` and
    `result_columns` name, which have to be all its possible nonzeros. Matrices
    are given as in `sparse_apply`. `cols` is the number of columns of `first`.
    The result is `[N, B]` where the values of a factor are, else `[N]`. Without
    `result_starts` and `result_columns` it holds every element, row by row.
  }];
  let arguments = (ins BPPSA_Values:$first, Optional<BPPSA_Indices>:$first_starts,
                       Optional<BPPSA_Indices>:$first_columns,
                       Optional<BPPSA_Indices>:$first_positions, BPPSA_Values:$second,
                       Optional<BPPSA_Indices>:$second_starts,
                       Optional<BPPSA_Indices>:$second_columns,
                       Optional<BPPSA_Indices>:$second_positions,
                       Optional<BPPSA_Indices>:$result_starts,
                       Optional<BPPSA_Indices>:$result_columns,
                       Optional<AnyMemRef>:$destination,
                       I64Attr:$rows, I64Attr:$inner, I64Attr:$cols);
  let assemblyFormat = [{
    $rows `x` $inner `x` $cols
    `first` $first `:` type($first) (`rows` $first_starts^ `:` type($first_starts))?
    (`columns` $first_columns^ `:` type($first_columns))?
    (`at` $first_positions^ `:` type($first_positions))?
    `second` $second `:` type($second) (`rows` $second_starts^ `:` type($second_starts))?
    (`columns` $second_columns^ `:` type($second_columns))?
    (`at` $second_positions^ `:` type($second_positions))?
    (`result_rows` $result_starts^ `:` type($result_starts))?
    (`result_columns` $result_columns^ `:` type($result_columns))?
    (`into` $destination^ `:` type($destination))?
    attr-dict (`->` type($result)^)?
  }];
}

def BPPSA_SparseOuterSumOp : BPPSA_NumericProductOp<"sparse_outer_sum"> {
  let summary = "some elements of a sum of outer products";
  let description = [{
    `result[positions[k]] = sum over starts[k] <= p < starts[k + 1] and b of
    lhs[lhs_rows[p], b] * rhs[rhs_rows[p], b]`, and zero elsewhere, for B samples
    side by side: the gradient of those weights of a layer that are not pruned.
    Positions ascend.
  }];
  let arguments = (ins BPPSA_Values:$lhs, BPPSA_Values:$rhs, BPPSA_Indices:$starts,
                       BPPSA_Indices:$lhs_rows, BPPSA_Indices:$rhs_rows,
                       BPPSA_Indices:$positions, Optional<AnyMemRef>:$destination);
  let assemblyFormat = [{
    $lhs `,` $rhs `:` type($lhs) `,` type($rhs)
    `starts` $starts `rows` $lhs_rows `,` $rhs_rows `at` $positions `:`
    type($starts) `,` type($lhs_rows) `,` type($rhs_rows) `,` type($positions)
    (`into` $destination^ `:` type($destination))? attr-dict (`->` type($result)^)?
  }];
}

//===----------------------------------------------------------------------===//
// Graph level
//===----------------------------------------------------------------------===//

def BPPSA_StopGradientOp : BPPSA_Op<"stop_gradient", [Pure, SameOperandsAndResultType]> {
  let summary = "the operand, with a zero derivative";
  let arguments = (ins AnyType:$operand);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def BPPSA_DropoutOp : BPPSA_Op<"dropout", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "drops elements while training, does nothing else";
  let description = [{
    While a model is trained each element is zero with probability `ratio` and
    is divided by `1 - ratio` otherwise; everywhere else the op is the identity.
    `stream` tells the dropouts of one graph apart. See
    `bppsa-specialize-dropout`.
  }];
  let arguments = (ins AnyRankedTensor:$input, F64Attr:$ratio, I64Attr:$stream);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `ratio` $ratio `stream` $stream attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def BPPSA_MarkPhaseOp : BPPSA_Op<"mark_phase"> {
  let summary = "tells the run time that a phase of a training step begins";
  let description = [{
    Phases are timed by the benchmark command of a compiled program:
    0 forward, 1 backward.
  }];
  let arguments = (ins I64Attr:$phase);
  let assemblyFormat = "$phase attr-dict";
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAOPS
