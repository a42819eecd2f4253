//===- BPPSADialect.td - bppsa dialect definition ----------*- tablegen -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_BPPSADIALECT
#define BPPSA_DIALECT_BPPSA_IR_BPPSADIALECT

include "mlir/IR/OpBase.td"

def BPPSA_Dialect : Dialect {
  let name = "bppsa";
  let cppNamespace = "::bppsa";
  let summary = "Recurrences, cotangent chains and their parallel scans";
  let description = [{
    The `bppsa` dialect represents back-propagation through time as a chain of transposed Jacobian
    applications, and evaluates this chain as a parallel scan (Wang, Bai, Pekhimenko: BPPSA, MLSys
    2020).

    The body of a time loop describes one sample and one time step: vectors of the hidden size,
    elementwise arithmetic, and products of a vector with a captured matrix. The batch and time
    dimensions exist only in the operands.
  }];
  let dependentDialects = [
    "::bppsa::jacobian::JacobianDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"
  ];
  // Attributes of function arguments and results, of modules and functions, and of operations.
  // This list is authoritative: DiscardableAttributes.h provides typed access,
  // DiscardableAttributes.cpp verifies the attributes, and docs/Reference/Attributes.md documents them.
  let discardableAttrs = (ins
    "::mlir::StringAttr":$input, "::mlir::StringAttr":$output, "::mlir::StringAttr":$parameter,
    "::mlir::StringAttr":$gradient, "::mlir::StringAttr":$carried,
    "::mlir::StringAttr":$updated,
    "::mlir::UnitAttr":$frozen, "::mlir::UnitAttr":$statistic, "::mlir::UnitAttr":$loss, "::mlir::UnitAttr":$target,
    "::mlir::UnitAttr":$weight, "::mlir::UnitAttr":$correct, "::mlir::UnitAttr":$seed,
    "::mlir::IntegerAttr":$batch_axis, "::mlir::IntegerAttr":$time_axis,
    "::mlir::DenseI64ArrayAttr":$batch_axes, "::mlir::AffineMapAttr":$shape,
    "::mlir::AffineMapAttr":$index_bounds, "::mlir::AffineMapAttr":$length_bounds,
    "::mlir::DenseElementsAttr":$nonzeros,
    "::bppsa::SymbolsAttr":$symbols,
    "::mlir::IntegerAttr":$lanes, "::mlir::DenseBoolArrayAttr":$mixing_layouts,
    "::mlir::StringAttr":$source,
    "::mlir::Attribute":$mapping);
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

#endif // BPPSA_DIALECT_BPPSA_IR_BPPSADIALECT
