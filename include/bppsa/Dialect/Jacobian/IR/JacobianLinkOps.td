//===- JacobianLinkOps.td - links of layer chains ----------*- tablegen -*-===//
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
  let summary = "Apply one link of a chain of layers, given as a rule and as a matrix";
  let description = [{
    Maps the cotangent of a layer's result, `[B, ...]`, to the cotangent of its operand, `[B, ...]`.
    The op holds the map in two forms:

    * `rule` applies the transposed Jacobian to the cotangent and yields the result.
    * `jacobian` yields the transposed Jacobian itself, on samples flattened in row-major order. It
      must not depend on the cotangent.

    Both regions capture values from above. Additional results are gradients of the layer's
    parameters whose computation differs between the two forms; both regions yield them after the
    first value.

    `bppsa-scan-links` keeps one region: the Jacobian if the chain has a plan, otherwise the rule.

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
    /// Returns the type of the Jacobian.
    ::bppsa::jacobian::MatrixType getJacobianType();
    /// Returns the operations of the region `jacobian` that compute the Jacobian.
    ::llvm::SetVector<::mlir::Operation *> getJacobianOps();
  }];
}

def Jacobian_YieldOp : Jacobian_Op<"yield", [
    Pure, Terminator, ParentOneOf<["LinearizeOp", "LinkOp"]>]> {
  let summary = "Terminate a region of a link or the body of `linearize`";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

#endif // BPPSA_DIALECT_JACOBIAN_IR_JACOBIANLINKOPS
