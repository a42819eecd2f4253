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
  let summary = "recurrences, cotangent chains and their parallel scans";
  let description = [{
    The dialect states back-propagation through time as a chain of transposed
    Jacobian applications, and that chain as a parallel scan (Wang, Bai,
    Pekhimenko: BPPSA, MLSys 2020).

    The body of a time loop describes ONE sample and ONE time step: vectors of
    the size of a state, elementwise arithmetic and products of a vector with a
    captured matrix. Batch and time are not in the body; how samples and steps
    map to SIMD lanes and threads is decided by the lowering.
  }];
  let dependentDialects = [
    "::bppsa::jacobian::JacobianDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"
  ];
  // Of arguments and results of functions, of modules and functions, then of other operations.
  // Their one list: DiscardableAttributes.h gives typed access, DiscardableAttributes.cpp verifies
  // them, docs/Attributes.md says what they mean.
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
