//===- AffineMaps.h - transitions g -> A g + s ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A run of links maps a cotangent g to A g + s, where s is the contribution of injected cotangents.
// Scans store such transitions. Each sample has its own transition, so an entry of A is a vector of
// lanes. A is computed column by column by applying the links to unit vectors; Jacobians of single
// steps are formed only for runs of one step.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TRANSITIONS_AFFINEMAPS_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TRANSITIONS_AFFINEMAPS_H

#include "../CotangentSteps.h"

namespace bppsa {

/// A transition in memory, `memref[prefix..., column, row, lane]`: the columns of A, then s if
/// cotangents are injected.
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

  /// Returns the number of columns of `map` to which links are best applied together.
  static int64_t getColumnsTogether(const AffineMapRows &map);

  /// Writes columns [first, last) of A, over all steps of batch block `block`, to `map`.
  void emitColumns(mlir::OpBuilder &builder, mlir::Value block, const AffineMapRows &map,
                   mlir::Value first, mlir::Value last);

  /// Writes the transition of all steps of batch block `block` to `map`.
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

/// Emits `to = A from + s`. `to` must not overlap `from`.
void emitApply(mlir::OpBuilder &builder, mlir::Location loc, const AffineMapRows &map,
               const Rows &from, const Rows &to, const LaneOptions &options);

/// Emits `second = second * first` in place. `scratch` must hold `getComposeScratchRows` rows.
void emitCompose(mlir::OpBuilder &builder, mlir::Location loc, const AffineMapRows &first,
                 const AffineMapRows &second, const Rows &scratch, const LaneOptions &options);
int64_t getComposeScratchRows(int64_t size);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TRANSITIONS_AFFINEMAPS_H
