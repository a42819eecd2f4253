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

/// The sizes of an attribute such as `bppsa.shape`; none where it is null.
llvm::json::Array describeSizes(mlir::AffineMapAttr map, llvm::ArrayRef<llvm::StringRef> symbols);

/// The array `name` of `type`, an argument or a result with `attributes`: name, type, sizes and
/// axes.
llvm::json::Object describeArray(mlir::StringAttr name, mlir::Type type,
                                 mlir::DictionaryAttr attributes,
                                 llvm::ArrayRef<llvm::StringRef> symbols);

/// The losses of `options`, each with the array that holds its target.
llvm::json::Array describeLosses(const TrainingOptions &options, const llvm::json::Array &outputs);

} // namespace bppsa

#endif // BPPSA_LIB_TARGET_DESCRIBEDARRAYS_H
