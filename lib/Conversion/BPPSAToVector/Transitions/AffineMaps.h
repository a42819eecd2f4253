//===- AffineMaps.h - transitions g -> A g + s ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Transitions g -> A g + s of runs of links; s comes from injected cotangents. A is computed by
// applying links to unit vectors. An entry is a vector of lanes.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TRANSITIONS_AFFINEMAPS_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TRANSITIONS_AFFINEMAPS_H

#include "../CotangentSteps.h"

namespace bppsa {

/// Memory `memref[prefix..., column, row, lane]`: A, then s if cotangents are injected.
struct AffineMapRows : AffineMapLayout {
  AffineMapRows(const AffineMapLayout &layout, mlir::Value memref,
                llvm::ArrayRef<mlir::Value> prefix)
      : AffineMapLayout(layout), memref(memref), prefix(prefix) {}

  mlir::Value memref;
  llvm::SmallVector<mlir::Value, 2> prefix;

  Rows getColumn(mlir::Value column) const;
  Rows getOffset(mlir::OpBuilder &builder, mlir::Location loc) const;
};

class AffineMapBuilder {
public:
  static llvm::FailureOr<AffineMapBuilder> create(const CotangentLoop &loop,
                                                  const LaneOptions &options);

  void allocateScratch(mlir::OpBuilder &builder);

  /// Returns the best number of columns for one application of links.
  static int64_t getColumnsTogether(const AffineMapRows &map);

  /// Writes columns [first, last) of A.
  void emitColumns(mlir::OpBuilder &builder, mlir::Value block, const AffineMapRows &map,
                   mlir::Value first, mlir::Value last);

  /// Writes the transition of all steps of `block`.
  void emit(mlir::OpBuilder &builder, mlir::Value block, const AffineMapRows &map);

private:
  AffineMapBuilder(const CotangentLoop &loop, CotangentSteps linear,
                   std::optional<CotangentSteps> injected);

  CotangentLoop loop;
  CotangentSteps linear;
  std::optional<CotangentSteps> injected;
};

void emitCopy(mlir::OpBuilder &builder, mlir::Location loc, const AffineMapRows &from,
              const AffineMapRows &to);

/// Emits `to = A from + s`. The arrays must not overlap.
void emitApply(mlir::OpBuilder &builder, mlir::Location loc, const AffineMapRows &map,
               const Rows &from, const Rows &to, const LaneOptions &options);

/// Emits `second = second * first` in place. `scratch` has `getComposeScratchRows` rows.
void emitCompose(mlir::OpBuilder &builder, mlir::Location loc, const AffineMapRows &first,
                 const AffineMapRows &second, const Rows &scratch, const LaneOptions &options);
int64_t getComposeScratchRows(int64_t size);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TRANSITIONS_AFFINEMAPS_H
