//===- BPPSAInterfaces.td - bppsa op interfaces ------------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSAINTERFACES
#define BPPSA_DIALECT_BPPSA_IR_BPPSAINTERFACES

include "mlir/IR/OpBase.td"

def BPPSA_VJPOpInterface : OpInterface<"VJPOpInterface"> {
  let cppNamespace = "::bppsa";
  let description = [{
    A reverse-mode differentiation rule: the vector-Jacobian product of one op.
    Rules of upstream ops are attached as external models.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds, at the insertion point of `builder`, the cotangents of the
        operands from the cotangents of the results.

        `resultCotangents` has one entry a result, null where the cotangent is
        zero (never all of them). The rule sets `operandCotangents[i]` (which
        arrives null) for every operand with `needed[i]` whose cotangent is not
        zero; a set value has exactly the operand's type. The values that the
        regions of the op capture from above count as further operands, in
        order of first use. Operands and results of the op itself may be used:
        the op dominates the insertion point. A rule may replace the op by one
        that computes more results.
        Fails, after emitting an error on the op, where no rule is known.
      }],
      "::llvm::LogicalResult", "buildVJP",
      (ins "::mlir::OpBuilder &":$builder,
           "::mlir::ValueRange":$resultCotangents,
           "::llvm::ArrayRef<bool>":$needed,
           "::llvm::MutableArrayRef<::mlir::Value>":$operandCotangents)>,
  ];
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSAINTERFACES
