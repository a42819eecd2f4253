//===- JacobianLinkOps.td - links of chains of layers ------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_IR_JACOBIANLINKOPS
#define BPPSA_DIALECT_JACOBIAN_IR_JACOBIANLINKOPS

include "bppsa/Dialect/Jacobian/IR/JacobianTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Jacobian_LinkOp : Jacobian_Op<"link", [
    RecursiveMemoryEffects, RecursivelySpeculatable,
    SingleBlockImplicitTerminator<"::bppsa::jacobian::YieldOp">]> {
  let summary = "one link of a chain of layers, in both of its forms";
  let description = [{
    What a layer does to a cotangent, as code and as a matrix. `rule` applies the
    transposed Jacobian to the cotangent of the layer's result, `[B, ...]`, and
    yields that of its operand, `[B, ...]`. `jacobian` yields the transposed
    Jacobian itself, on samples in row-major order. Both regions capture from
    above, and the Jacobian does not depend on the cotangent.

    Further results are gradients of the layer's parameters that are known
    otherwise where the Jacobian is: both regions yield them after the first value.

    `bppsa-scan-links` keeps one of the regions: the Jacobian where the chain has a
    plan, else the rule. A chain is a list of links each of which works on the result
    of the one before it.

    ```mlir
    %gx = jacobian.link %g : (tensor<?x8xf32>) -> tensor<?x8xf32> {
    ^bb0(%gy: tensor<?x8xf32>):
      %0 = linalg.mul ins(%gy, %slopes : tensor<?x8xf32>, tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
      jacobian.yield %0 : tensor<?x8xf32>
    } jacobian {
    ^bb0(%gy: tensor<?x8xf32>):
      %0 = jacobian.assemble %slopes : tensor<?x8xf32> -> !jacobian.matrix<8x8xf32, diagonal, batch = ?>
      jacobian.yield %0 : !jacobian.matrix<8x8xf32, diagonal, batch = ?>
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$cotangent);
  let results = (outs AnyRankedTensor:$result, Variadic<AnyRankedTensor>:$gradients);
  let regions = (region SizedRegion<1>:$rule, SizedRegion<1>:$jacobian);
  let assemblyFormat = [{
    $cotangent attr-dict-with-keyword `:` functional-type(operands, results) $rule
    `jacobian` $jacobian
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The type of the Jacobian.
    ::bppsa::jacobian::MatrixType getJacobianType();
    /// The operations of the region `jacobian` that the Jacobian is made by.
    ::llvm::SetVector<::mlir::Operation *> getJacobianOps();
  }];
}

def Jacobian_YieldOp : Jacobian_Op<"yield", [
    Pure, Terminator, ParentOneOf<["LinearizeOp", "LinkOp"]>]> {
  let summary = "ends the region of a link or of the Jacobian of a step";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // BPPSA_DIALECT_JACOBIAN_IR_JACOBIANLINKOPS
