//===- AffineMaps.h - maps g -> A g + s of cotangents -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Any run of links maps a cotangent g to A g + s, where s is what the injected
// cotangents of the run contribute. A scan stores such maps for runs of links.
// Every sample has a map of its own, so an entry of A is a vector of lanes, and
// A is made column by column by applying the links to a unit vector: Jacobians
// of single steps are not formed unless a run has one step.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TRANSITIONS_AFFINEMAPS_H
#define BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TRANSITIONS_AFFINEMAPS_H

#include "../CotangentSteps.h"

namespace bppsa {

/// Maps in memory: `memref[prefix..., column, row, lane]`, with the columns of A
/// and then, where cotangents are injected, s.
struct AffineMapRows : AffineMapLayout {
  AffineMapRows(const AffineMapLayout &layout, mlir::Value memref,
                llvm::ArrayRef<mlir::Value> prefix)
      : AffineMapLayout(layout), memref(memref), prefix(prefix) {}

  mlir::Value memref;
  llvm::SmallVector<mlir::Value, 2> prefix;

  Rows getColumn(mlir::Value column) const;
  Rows getOffset(mlir::OpBuilder &builder, mlir::Location loc) const;
};

/// Makes maps by applying the links.
class AffineMapBuilder {
public:
  static llvm::FailureOr<AffineMapBuilder> create(const CotangentLoop &loop,
                                                  const LaneOptions &options);

  void allocateScratch(mlir::OpBuilder &builder);

  /// Columns of the matrix of `map` that links are best applied to side by side.
  static int64_t getColumnsTogether(const AffineMapRows &map);

  /// Writes the columns of A from `first` to `last`, of all steps of batch block `block`, to `map`.
  void emitColumns(mlir::OpBuilder &builder, mlir::Value block, const AffineMapRows &map,
                   mlir::Value first, mlir::Value last);

  /// Writes the map of all steps of batch block `block` to `map`.
  void emit(mlir::OpBuilder &builder, mlir::Value block, const AffineMapRows &map);

private:
  AffineMapBuilder(const CotangentLoop &loop, CotangentSteps linear,
                   std::optional<CotangentSteps> injected);

  CotangentLoop loop;
  CotangentSteps linear;
  /// Walks with the injected cotangents; absent where there are none.
  std::optional<CotangentSteps> injected;
};

/// Copies all columns of `from` to `to`.
void emitCopy(mlir::OpBuilder &builder, mlir::Location loc, const AffineMapRows &from,
              const AffineMapRows &to);

/// `to = A from + s`; `to` must not overlap `from`.
void emitApply(mlir::OpBuilder &builder, mlir::Location loc, const AffineMapRows &map,
               const Rows &from, const Rows &to, const LaneOptions &options);

/// `second = second after first`, in place. `scratch` can hold
/// `getComposeScratchRows` rows.
void emitCompose(mlir::OpBuilder &builder, mlir::Location loc, const AffineMapRows &first,
                 const AffineMapRows &second, const Rows &scratch, const LaneOptions &options);
int64_t getComposeScratchRows(int64_t size);

} // namespace bppsa

#endif // BPPSA_LIB_CONVERSION_BPPSATOVECTOR_TRANSITIONS_AFFINEMAPS_H
