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
    The `jacobian` dialect represents the transposed Jacobians of layers and recurrent steps as
    values whose type describes their structure (zero, diagonal, shared, sparse, block-wise). Ops
    multiply them (`compose`) and apply them to cotangents (`apply`); `sparse_apply`,
    `sparse_compose` and `sparse_outer_sum` are the numeric phases on compressed values. One table
    derives the structure of a product from the structures of its factors.
  }];
  let discardableAttrs = (ins "::bppsa::jacobian::OperandJacobiansAttr":$operands);
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

class Jacobian_Op<string mnemonic, list<Trait> traits = []>
    : Op<Jacobian_Dialect, mnemonic, traits>;

#endif // BPPSA_DIALECT_JACOBIAN_IR_JACOBIANDIALECT
