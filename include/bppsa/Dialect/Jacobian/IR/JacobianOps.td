//===- JacobianOps.td - products of Jacobians --------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_IR_JACOBIANOPS
#define BPPSA_DIALECT_JACOBIAN_IR_JACOBIANOPS

include "bppsa/Dialect/Jacobian/IR/JacobianLinkOps.td"
include "bppsa/Support/DestinationOps.td"
include "bppsa/Support/KernelTrait.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Jacobian_LinearizeOp : Jacobian_Op<"linearize", [
    Pure, AttrSizedOperandSegments, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"::bppsa::jacobian::YieldOp">]> {
  let summary = "Compute the transposed Jacobian of one step as a matrix";
  let description = [{
    Computes the matrix of the link in the body, which is the link of a `bppsa.chain`. `saved` are
    the activations `[B, N]` of the step. `states` holds the sizes of the states, which are
    concatenated: with sizes n1 and n2 the Jacobian has n1 + n2 rows and columns. Emitted values of
    the link are not computed.

    ```mlir
    %j = jacobian.linearize saved(%a : tensor<?x4xf32>) states [4]
        -> !jacobian.matrix<4x4xf32, diagonal, batch = ?> {
    ^bb0(%at: vector<4xf32>, %gt: vector<4xf32>):
      %0 = arith.mulf %at, %gt : vector<4xf32>
      jacobian.yield %0 : vector<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$saved, Variadic<AnyRankedTensor>:$captures,
                       DenseI64ArrayAttr:$states);
  let results = (outs Jacobian_MatrixType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`saved` `(` $saved^ `:` type($saved) `)`)? (`captures` `(` $captures^ `:` type($captures) `)`)?
    `states` $states attr-dict-with-keyword `->` type($result) $body
  }];
  let hasVerifier = 1;
}

def Jacobian_AssembleOp : Jacobian_Op<"assemble", [Pure]> {
  let summary = "Assemble a transposed Jacobian from its possibly nonzero entries";
  let description = [{
    Sets the possibly nonzero entries of the result's structure, in row-major order, to elements of
    `source`: entry e is element `positions[e]` of `source` in row-major order, or element e without
    `positions`. If the result has a batch, `source` is `[B, N]` and holds the elements of each
    sample. Otherwise all samples share it, and it may have any shape.

    For example, the slopes of an activation function form a diagonal matrix.

    ```mlir
    %j = jacobian.assemble %w at [0, 1, 0, 1] : tensor<2xf32> -> !jacobian.matrix<3x2xf32, csr(#pattern)>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, OptionalAttr<DenseI32ArrayAttr>:$positions);
  let results = (outs Jacobian_MatrixType:$result);
  let assemblyFormat = "$source (`at` $positions^)? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Jacobian_ComposeOp : Jacobian_Op<"compose", [Pure]> {
  let summary = "Multiply two transposed Jacobians";
  let description = [{
    Computes the matrix product `b a` for `compose %a, %b`. This is the operator of the BPPSA
    paper with a matrix on the left.

    ```mlir
    %ba = jacobian.compose %a, %b : !jacobian.matrix<4x4xf32, diagonal, batch = ?>,
        !jacobian.matrix<4x4xf32, shared_dense> -> !jacobian.matrix<4x4xf32, column_scaled, batch = ?>
    ```
  }];
  let arguments = (ins Jacobian_MatrixType:$first, Jacobian_MatrixType:$second);
  let results = (outs Jacobian_MatrixType:$result);
  let assemblyFormat = "$first `,` $second attr-dict `:` type($first) `,` type($second) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Jacobian_ApplyOp : Jacobian_Op<"apply", [
    Pure, DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let summary = "Apply a transposed Jacobian to cotangents";
  let description = [{
    Computes `j g` for `apply %j, %g` and the cotangent `[B, cols]` of each sample. This is the
    operator of the BPPSA paper with a vector on the left.

    ```mlir
    %h = jacobian.apply %j, %g : !jacobian.matrix<4x4xf32, diagonal, batch = ?>, tensor<?x4xf32>
        -> tensor<?x4xf32>
    ```
  }];
  let arguments = (ins Jacobian_MatrixType:$jacobian, AnyRankedTensor:$cotangent);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$jacobian `,` $cotangent attr-dict `:` type($jacobian) `,` type($cotangent) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Numeric phase of products
//===----------------------------------------------------------------------===//

class Jacobian_NumericProductOp<string mnemonic, list<Trait> traits = []>
    : Jacobian_Op<mnemonic, !listconcat(traits, [
        BPPSA_Kernel, BPPSA_DestinationOpInterface, MemoryEffectsOpInterface,
        DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>])> {
  let results = (outs Optional<AnyRankedTensor>:$result);
  let hasVerifier = 1;
}

def Jacobian_Values : AnyTypeOf<[RankedTensorOf<[F32, F64]>, MemRefOf<[F32, F64]>],
                             "ranked tensor or memref of floats">;
def Jacobian_Indices : AnyTypeOf<[RankedTensorOf<[I32]>, MemRefOf<[I32]>],
                              "ranked tensor or memref of 32-bit integers">;

def Jacobian_SparseApplyOp : Jacobian_NumericProductOp<"sparse_apply", [AttrSizedOperandSegments]> {
  let summary = "Apply a matrix in compressed form to cotangents";
  let description = [{
    Computes, for B samples in the last dimension,

    ```
    result[r, b] = sum over starts[r] <= p < starts[r + 1] of value(p, b) * cotangent[columns[p], b]
    ```

    Cotangents are `[N, B]`. `value(p, b)` is `values[p, b]`, or `values[p]` if all samples share
    one matrix. With `positions`, element `positions[p]` of `values` is used instead of element p.
    Without `starts` and `columns` the matrix is dense in row-major order.

    ```mlir
    %r = jacobian.sparse_apply values(%values : tensor<4xf32>) rows(%starts : tensor<4xi32>)
        columns %columns : tensor<4xi32> cotangent %g : tensor<2x?xf32> -> tensor<3x?xf32>
    ```
  }];
  let arguments = (ins Jacobian_Values:$values, Optional<Jacobian_Indices>:$starts,
                       Optional<Jacobian_Indices>:$columns, Optional<Jacobian_Indices>:$positions,
                       Jacobian_Values:$cotangent, Optional<AnyMemRef>:$destination);
  let assemblyFormat = [{
    `values` `(` $values `:` type($values) `)` (`rows` `(` $starts^ `:` type($starts) `)`)?
    (`columns` `(` $columns^ `:` type($columns) `)`)?
    (`at` `(` $positions^ `:` type($positions) `)`)?
    `cotangent` `(` $cotangent `:` type($cotangent) `)`
    (`into` `(` $destination^ `:` type($destination) `)`)?
    attr-dict (`->` type($result)^)?
  }];
}

def Jacobian_SparseComposeOp : Jacobian_NumericProductOp<"sparse_compose", [AttrSizedOperandSegments]> {
  let summary = "Multiply two matrices in compressed form";
  let description = [{
    Computes the entries of `second * first` at the positions given by `result_starts` and
    `result_columns`, which must contain all possibly nonzero entries. `second` is a `rows` x
    `inner` matrix and `first` an `inner` x `cols` matrix, both represented as in `sparse_apply`.
    The result is `[N, B]` if a factor has values per sample, otherwise `[N]`. Without
    `result_starts` and `result_columns` the result is dense in row-major order.

    ```mlir
    %values = jacobian.sparse_compose 3 x 2 x 2 first(%a : tensor<4xf32>)
        second %b : tensor<4xf32> rows %starts : tensor<4xi32> columns %columns : tensor<4xi32>
        -> tensor<6xf32>
    ```
  }];
  let arguments = (ins Jacobian_Values:$first, Optional<Jacobian_Indices>:$first_starts,
                       Optional<Jacobian_Indices>:$first_columns,
                       Optional<Jacobian_Indices>:$first_positions, Jacobian_Values:$second,
                       Optional<Jacobian_Indices>:$second_starts,
                       Optional<Jacobian_Indices>:$second_columns,
                       Optional<Jacobian_Indices>:$second_positions,
                       Optional<Jacobian_Indices>:$result_starts,
                       Optional<Jacobian_Indices>:$result_columns,
                       Optional<AnyMemRef>:$destination,
                       I64Attr:$rows, I64Attr:$inner, I64Attr:$cols);
  let assemblyFormat = [{
    $rows `x` $inner `x` $cols
    `first` `(` $first `:` type($first) `)` (`rows` `(` $first_starts^ `:` type($first_starts) `)`)?
    (`columns` `(` $first_columns^ `:` type($first_columns) `)`)?
    (`at` `(` $first_positions^ `:` type($first_positions) `)`)?
    `second` `(` $second `:` type($second) `)` (`rows` `(` $second_starts^ `:` type($second_starts) `)`)?
    (`columns` `(` $second_columns^ `:` type($second_columns) `)`)?
    (`at` `(` $second_positions^ `:` type($second_positions) `)`)?
    (`result_rows` `(` $result_starts^ `:` type($result_starts) `)`)?
    (`result_columns` `(` $result_columns^ `:` type($result_columns) `)`)?
    (`into` `(` $destination^ `:` type($destination) `)`)?
    attr-dict (`->` type($result)^)?
  }];
}

def Jacobian_SparseOuterSumOp : Jacobian_NumericProductOp<"sparse_outer_sum"> {
  let summary = "Compute selected elements of a sum of outer products";
  let description = [{
    Computes, for B samples in the last dimension, the flat array `[N]`

    ```
    result[positions[k]] = sum over starts[k] <= p < starts[k + 1] and b of
        lhs[lhs_rows[p], b] * rhs[rhs_rows[p], b]
    ```

    All other elements are zero. `positions` must be ascending.

    ```mlir
    %dw = jacobian.sparse_outer_sum %g, %x : tensor<4x?xf32>, tensor<3x?xf32>
        starts %starts rows %g_rows, %x_rows at %positions
        : tensor<3xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32> -> tensor<12xf32>
    ```
  }];
  let arguments = (ins Jacobian_Values:$lhs, Jacobian_Values:$rhs, Jacobian_Indices:$starts,
                       Jacobian_Indices:$lhs_rows, Jacobian_Indices:$rhs_rows,
                       Jacobian_Indices:$positions, Optional<AnyMemRef>:$destination);
  let assemblyFormat = [{
    `lhs` `(` $lhs `:` type($lhs) `)` `rhs` `(` $rhs `:` type($rhs) `)`
    `starts` `(` $starts `:` type($starts) `)`
    `rows` `(` $lhs_rows `,` $rhs_rows `:` type($lhs_rows) `,` type($rhs_rows) `)`
    `at` `(` $positions `:` type($positions) `)`
    (`into` `(` $destination^ `:` type($destination) `)`)? attr-dict (`->` type($result)^)?
  }];
}

#endif // BPPSA_DIALECT_JACOBIAN_IR_JACOBIANOPS
