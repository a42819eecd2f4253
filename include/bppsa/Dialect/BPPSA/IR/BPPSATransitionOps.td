//===- BPPSATransitionOps.td - affine transitions of cotangents *- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSATRANSITIONOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSATRANSITIONOPS

include "bppsa/Dialect/BPPSA/IR/BPPSALoopOps.td"

//===----------------------------------------------------------------------===//
// Affine transitions g -> A g + s of the cotangents by runs of links
//===----------------------------------------------------------------------===//

def BPPSA_TransitionOp : BPPSA_Op<"transition", [
    AttrSizedOperandSegments, IsolatedFromAbove, DestinationStyleOpInterface,
    SingleBlockImplicitTerminator<"::bppsa::YieldOp">, BPPSA_Kernel, BPPSA_PackableOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "the affine transition of the cotangents by a run of links";
  let description = [{
    The body is the link of a `chain`, and `saved`, `injected`, `inject_into`,
    `captures`, `reverse` and `lanes` are as there: a run of links is the slice of
    its steps. The result is the map `g -> A g + s` from the cotangent of the state
    after the run to that of the state before it, made by applying the links to
    all columns of A at once. `states` holds the sizes of the states, which are laid
    one after the other. Values that the link emits are not computed.

    With S values of all states the result is `[B, S, S]`: column c of A is row c of
    the array, so that what the links are applied to is contiguous. Where cotangents
    are injected there is one column more, s. With `diagonal` A has one column, its
    diagonal. With `by_rows` row r of A is row r of the array, which has neither an offset
    nor lanes then: for targets whose threads write entries of neighbouring columns.
    Packed arrays have blocks of samples in place of samples, and lanes as their last
    dimension. `into` is overwritten.

    ```mlir
    %m = bppsa.transition states [4] saved(%a : tensor<8x?x4xf32>)
        captures(%w : tensor<4x4xf32>) into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32> {
    ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>, %wc: vector<4x4xf32>):
      %0 = arith.mulf %at, %gt : vector<4xf32>
      %1 = bppsa.matvec transposed %wc, %0 : vector<4x4xf32>, vector<4xf32> -> vector<4xf32>
      bppsa.yield %1 : vector<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<BPPSA_Shaped>:$saved, Variadic<BPPSA_Shaped>:$injected,
                       Variadic<BPPSA_Shaped>:$captures, BPPSA_Shaped:$destination,
                       DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$injectInto, DenseI64ArrayAttr:$states,
                       UnitAttr:$diagonal, UnitAttr:$byRows, UnitAttr:$reverse,
                       OptionalAttr<I64Attr>:$lanes);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`diagonal` $diagonal^)? (`by_rows` $byRows^)? (`reverse` $reverse^)? (`lanes` $lanes^)?
    `states` $states (`saved` `(` $saved^ `:` type($saved) `)`)?
    (`injected` `(` $injected^ `:` type($injected) `)`)? (`inject_into` $injectInto^)?
    (`captures` `(` $captures^ `:` type($captures) `)`)?
    `into` `(` $destination `:` type($destination) `)`
    attr-dict-with-keyword (`->` type($result)^)? $body
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getDestinationMutable(); }
    /// Values of all states together.
    int64_t getNumValues();
  }];
  let hasVerifier = 1;
}

class BPPSA_TransitionProductOp<string mnemonic> : BPPSA_Op<mnemonic, [
    DestinationStyleOpInterface, BPPSA_Kernel, BPPSA_PackableOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let results = (outs Optional<AnyRankedTensor>:$result);
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getDestinationMutable(); }
  }];
  let hasVerifier = 1;
}

def BPPSA_FactoredTransitionOp : BPPSA_Op<"factored_transition", [
    AttrSizedOperandSegments, DestinationStyleOpInterface, BPPSA_Kernel, BPPSA_PackableOpInterface,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "the affine transition of one link, from the factors of its Jacobian";
  let description = [{
    The map `g -> A g + s` that `transition` makes of one link, where A is a sum of
    scaled matrices: each of `terms` adds `diag(left) M diag(right)` to the block of A
    that `row` and `col` name by their states. `left` and `right` are numbers of
    `scales`, cotangent-like arrays `[B, N]`, packed `[ceil(B/L), N, L]`; `matrix` is
    the number of one of `matrices`, which samples share, taken `transposed` or not.
    A term without a matrix is a diagonal, the product of its scales, or of ones where
    it has none. Where cotangents are injected, `injected` holds those of the step and
    `s = A injected`.

    With H values a term takes H^2 multiplications, where applying the link to every
    column takes H of its products with the matrix.

    ```mlir
    %m = bppsa.factored_transition states [4] terms [#bppsa.term<row = 0, col = 0, matrix = 0, right = 0, transposed = true>]
        scales(%d : tensor<?x4xf32>) matrices(%w : tensor<4x4xf32>)
        into(%e : tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
    ```
  }];
  let arguments = (ins Variadic<BPPSA_Shaped>:$scales, Variadic<BPPSA_Shaped>:$matrices,
                       Variadic<BPPSA_Shaped>:$injected, BPPSA_Shaped:$destination,
                       TypedArrayAttrBase<BPPSA_TermAttr, "terms of a Jacobian">:$terms,
                       DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$injectInto, DenseI64ArrayAttr:$states,
                       OptionalAttr<I64Attr>:$lanes);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    (`lanes` $lanes^)? `states` $states `terms` $terms
    (`scales` `(` $scales^ `:` type($scales) `)`)?
    (`matrices` `(` $matrices^ `:` type($matrices) `)`)?
    (`injected` `(` $injected^ `:` type($injected) `)`)? (`inject_into` $injectInto^)?
    `into` `(` $destination `:` type($destination) `)` attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getDestinationMutable(); }
    /// Values of all states together.
    int64_t getNumValues();
    /// The first value of state `state` among all.
    int64_t getStateOffset(int64_t state);
  }];
  let hasVerifier = 1;
}

def BPPSA_ComposeTransitionsOp : BPPSA_TransitionProductOp<"compose_transitions"> {
  let summary = "the affine transition of two runs, one after the other";
  let description = [{
    `compose_transitions %first, %second` is first `%first` and then `%second`: of
    `g -> A g + a` and `g -> B g + b` it makes `g -> B A g + (B a + b)`. Arrays are
    those that `transition` makes. `into` is overwritten; it may be the memory of
    `%second`, and must not overlap that of `%first`.
  }];
  let arguments = (ins BPPSA_Shaped:$first, BPPSA_Shaped:$second, BPPSA_Shaped:$destination,
                       UnitAttr:$diagonal, OptionalAttr<I64Attr>:$lanes);
  let assemblyFormat = [{
    (`diagonal` $diagonal^)? (`lanes` $lanes^)? $first `,` $second `into` $destination attr-dict
    `:` type($first) `,` type($second) `,` type($destination) (`->` type($result)^)?
  }];
}

def BPPSA_ApplyTransitionOp : BPPSA_TransitionProductOp<"apply_transition"> {
  let summary = "applies an affine transition to cotangents";
  let description = [{
    `apply_transition %m, %g` is `A g + s` for the cotangent `[B, S]` of each sample,
    packed `[ceil(B/L), S, L]`, of all states laid one after the other. `by_rows` is
    that of `transition`. `into` is overwritten and must not overlap the memory of the
    operands.
  }];
  let arguments = (ins BPPSA_Shaped:$transition, BPPSA_Shaped:$cotangent,
                       BPPSA_Shaped:$destination, UnitAttr:$diagonal, UnitAttr:$byRows,
                       OptionalAttr<I64Attr>:$lanes);
  let assemblyFormat = [{
    (`diagonal` $diagonal^)? (`by_rows` $byRows^)? (`lanes` $lanes^)? $transition `,` $cotangent
    `into` $destination attr-dict
    `:` type($transition) `,` type($cotangent) `,` type($destination)
    (`->` type($result)^)?
  }];
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSATRANSITIONOPS
