//===- BPPSATransitionOps.td - affine transitions ----------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSATRANSITIONOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSATRANSITIONOPS

include "bppsa/Dialect/BPPSA/IR/BPPSALoopOps.td"

//===----------------------------------------------------------------------===//
// Affine transitions g -> A g + s: maps of cotangents across a run of links
//===----------------------------------------------------------------------===//

def BPPSA_TransitionOp : BPPSA_ArrayOp<"transition", [
    AttrSizedOperandSegments, IsolatedFromAbove, DestinationStyleOpInterface,
    SingleBlockImplicitTerminator<"::bppsa::YieldOp">, BPPSA_PackedOperands]> {
  let summary = "Compute the affine transition of a run of links";
  let description = [{
    Computes the map `g -> A g + s` from the cotangent of the state after a run of links to the
    cotangent of the state before it. The body is the link of a `chain`, and `saved`, `injected`,
    `inject_into`, `captures`, `reverse` and `lanes` have the same meaning as there; `saved` and
    `injected` are slices with the steps of the run. Emitted values are not computed.

    `states` holds the sizes of the states, which are concatenated to S elements. The result is
    `[B, S, S]`. Row c of the array is column c of A, so that each column is contiguous. With
    injected cotangents the array has one more row, the offset s.

    * `diagonal`: A is diagonal and the array holds only its diagonal, as one column.
    * `by_rows`: row r of the array is row r of A. It supports neither an offset nor lanes.
    * `lanes = L`: the first dimension counts blocks of L samples, and L is appended as the last
      dimension.

    `into` is overwritten.

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
    /// Returns the total number of elements of all states.
    int64_t getNumValues();
  }];
  let hasVerifier = 1;
}

class BPPSA_TransitionProductOp<string mnemonic> : BPPSA_ArrayOp<mnemonic, [
    DestinationStyleOpInterface, BPPSA_PackedOperands]> {
  let results = (outs Optional<AnyRankedTensor>:$result);
  let hasVerifier = 1;
}

def BPPSA_FactoredTransitionOp : BPPSA_ArrayOp<"factored_transition", [
    AttrSizedOperandSegments, DestinationStyleOpInterface, BPPSA_PackedOperands]> {
  let summary = "Compute the affine transition of one link from the factors of its Jacobian";
  let description = [{
    Computes the map `g -> A g + s` of one link whose Jacobian A is a sum of scaled matrices. Each
    of `terms` adds `diag(left) M diag(right)` to the block of A at the states `row` and `col`:

    * `left` and `right` are indices into `scales`, arrays of shape `[B, N]`, or `[ceil(B/L), N, L]`
      if packed.
    * `matrix` is an index into `matrices`, which all samples share; `transposed` selects the
      transpose.
    * A term without a matrix is the diagonal matrix of the product of its scales, or the identity
      if it has none.

    If cotangents are injected, `injected` holds the ones of the step, and `s = A injected`. The
    result has the layout of `transition`.

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
    /// Returns the total number of elements of all states.
    int64_t getNumValues();
    /// Returns the offset of state `state` in the concatenation of all states.
    int64_t getStateOffset(int64_t state);
  }];
  let hasVerifier = 1;
}

def BPPSA_ComposeTransitionsOp : BPPSA_TransitionProductOp<"compose_transitions"> {
  let summary = "Compose the affine transitions of two consecutive runs";
  let description = [{
    Applies `%first`, then `%second`: the transitions `g -> A g + a` and `g -> B g + b` compose to
    `g -> B A g + (B a + b)`. All arrays have the layout of `transition`. `into` is overwritten. It
    may alias `%second` and must not overlap `%first`.

    ```mlir
    %both = bppsa.compose_transitions %first, %second into %second
        : tensor<?x4x4xf32>, tensor<?x4x4xf32>, tensor<?x4x4xf32> -> tensor<?x4x4xf32>
    ```
  }];
  let arguments = (ins BPPSA_Shaped:$first, BPPSA_Shaped:$second, BPPSA_Shaped:$destination,
                       UnitAttr:$diagonal, OptionalAttr<I64Attr>:$lanes);
  let assemblyFormat = [{
    (`diagonal` $diagonal^)? (`lanes` $lanes^)? $first `,` $second `into` $destination attr-dict
    `:` type($first) `,` type($second) `,` type($destination) (`->` type($result)^)?
  }];
}

def BPPSA_ApplyTransitionOp : BPPSA_TransitionProductOp<"apply_transition"> {
  let summary = "Apply an affine transition to cotangents";
  let description = [{
    Computes `A g + s` for the cotangent of each sample. Cotangents of all states are
    concatenated to `[B, S]`, or `[ceil(B/L), S, L]` if packed.
    layout of a `transition` with `by_rows`. `into` is overwritten and must not overlap the
    operands.

    ```mlir
    %h = bppsa.apply_transition %m, %g into %e
        : tensor<?x4x4xf32>, tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
    ```
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
