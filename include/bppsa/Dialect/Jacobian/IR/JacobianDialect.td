//===- JacobianDialect.td - jacobian dialect definition ----*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_JACOBIAN_IR_JACOBIANDIALECT
#define BPPSA_DIALECT_JACOBIAN_IR_JACOBIANDIALECT

include "mlir/IR/OpBase.td"

def Jacobian_Dialect : Dialect {
  let name = "jacobian";
  let cppNamespace = "::bppsa::jacobian";
  let summary = "Transposed Jacobians, their structure and their products";
  let description = [{
    A layer, or a step of a recurrence, maps a cotangent by its transposed Jacobian. The `jacobian`
    dialect represents these matrices as values whose type describes their structure (zero,
    diagonal, shared, sparse, block-wise). Ops multiply them (`compose`) and apply them to
    cotangents (`apply`); `sparse_apply`, `sparse_compose` and `sparse_outer_sum` are the numeric
    phases on compressed values.

    One table derives the structure of a product from the structures of its factors. Types, passes
    and cost models share it.
  }];
  let discardableAttrs = (ins "::bppsa::jacobian::OperandJacobiansAttr":$operands);
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

class Jacobian_Op<string mnemonic, list<Trait> traits = []>
    : Op<Jacobian_Dialect, mnemonic, traits>;

#endif // BPPSA_DIALECT_JACOBIAN_IR_JACOBIANDIALECT
