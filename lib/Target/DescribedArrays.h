//===- DescribedArrays.h - inputs, outputs and losses as JSON ---*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_TARGET_DESCRIBEDARRAYS_H
#define BPPSA_LIB_TARGET_DESCRIBEDARRAYS_H

#include "bppsa/Target/ModelDescription.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/JSON.h"

namespace bppsa {

llvm::json::Array describeSizes(mlir::AffineMapAttr map, llvm::ArrayRef<llvm::StringRef> symbols);

/// Describes the array `name` of `type`, an argument or result with `attributes`: name, type, sizes
/// and axes.
llvm::json::Object describeArray(mlir::StringAttr name, mlir::Type type,
                                 mlir::DictionaryAttr attributes,
                                 llvm::ArrayRef<llvm::StringRef> symbols);

llvm::json::Array describeLosses(const TrainingOptions &options, const llvm::json::Array &outputs);

} // namespace bppsa

#endif // BPPSA_LIB_TARGET_DESCRIBEDARRAYS_H
