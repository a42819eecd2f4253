//===- Patterns.h - patterns of convert-bppsa-to-linalg ---------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOLINALG_PATTERNS_H
#define BPPSA_LIB_CONVERSION_BPPSATOLINALG_PATTERNS_H

#include "mlir/Transforms/DialectConversion.h"

namespace bppsa {

/// Emits an error on the first bppsa op in `root` that the patterns cannot
/// rewrite; where it succeeds, they do not fail.
llvm::LogicalResult checkConvertible(mlir::Operation *root);

/// pack_lanes and unpack_lanes.
void populateLayoutPatterns(mlir::RewritePatternSet &patterns,
                            const mlir::TypeConverter &converter);
/// compose, apply, outer_sum and step_sum.
void populateProductPatterns(mlir::RewritePatternSet &patterns,
                             const mlir::TypeConverter &converter);
/// recurrence, chain, scan and linearize.
void populateTimeLoopPatterns(mlir::RewritePatternSet &patterns,
                              const mlir::TypeConverter &converter);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOLINALG_PATTERNS_H
