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
  let summary = "transposed Jacobians, their structure and their products";
  let description = [{
    A layer, or a step of a recurrence, maps a cotangent by its transposed Jacobian. This dialect
    represents these matrices as values whose type states their structure (zero, diagonal, shared,
    sparse, block-wise), products of them (`compose`), their application to cotangents (`apply`), and the
    numeric phases of both on compressed values (`sparse_apply`, `sparse_compose`, `sparse_outer_sum`).

    The structure of a product follows from those of its factors by one table, which types, passes and
    costs share.
  }];
  let discardableAttrs = (ins "::bppsa::jacobian::OperandJacobiansAttr":$operands);
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

class Jacobian_Op<string mnemonic, list<Trait> traits = []>
    : Op<Jacobian_Dialect, mnemonic, traits>;

#endif // BPPSA_DIALECT_JACOBIAN_IR_JACOBIANDIALECT
