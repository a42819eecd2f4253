//===- BPPSACellOps.td - ops of one sample and step --------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSACELLOPS
#define BPPSA_DIALECT_BPPSA_IR_BPPSACELLOPS

include "bppsa/Dialect/BPPSA/IR/BPPSAOpBase.td"

def BPPSA_MatVecOp : BPPSA_Op<"matvec", [
    Pure, DeclareOpInterfaceMethods<BPPSA_CellOpInterface, ["getRowAccess"]>]> {
  let summary = "Multiply a captured matrix by a vector";
  let description = [{
    Computes `m x`, or `m^T x` with `transposed`, for the vector of one sample. The optional operand
    `plus` is added to the product.

    ```mlir
    %y = bppsa.matvec %m, %x plus %b : vector<4x3xf32>, vector<3xf32> plus vector<4xf32> -> vector<4xf32>
    ```
  }];
  let arguments = (ins VectorOfRankAndType<[2], [AnyFloat]>:$matrix,
                       VectorOfRankAndType<[1], [AnyFloat]>:$vector,
                       Optional<VectorOfRankAndType<[1], [AnyFloat]>>:$addend,
                       UnitAttr:$transposed);
  let results = (outs VectorOfRankAndType<[1], [AnyFloat]>:$result);
  let assemblyFormat = [{
    (`transposed` $transposed^)? $matrix `,` $vector (`plus` $addend^)? attr-dict
    `:` type($matrix) `,` type($vector) (`plus` type($addend)^)? `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def BPPSA_SigmoidOp : BPPSA_Op<"sigmoid", [
    Pure, SameOperandsAndResultType, Elementwise, Scalarizable, Vectorizable, Tensorizable,
    DeclareOpInterfaceMethods<BPPSA_CellOpInterface, ["evaluate"]>]> {
  let summary = "Compute the logistic function 1 / (1 + exp(-x))";
  let arguments = (ins FloatLike:$operand);
  let results = (outs FloatLike:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSACELLOPS
