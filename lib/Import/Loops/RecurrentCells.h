//===- RecurrentCells.h - one step of an RNN, GRU or LSTM -------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_LOOPS_RECURRENTCELLS_H
#define BPPSA_LIB_IMPORT_LOOPS_RECURRENTCELLS_H

#include "mlir/IR/Builders.h"
#include <optional>

namespace bppsa {

class Node;

struct Activation {
  llvm::StringRef name;
  double alpha = 0, beta = 0;
};

/// Returns the activations of all directions of `node`; `usual` holds the defaults of one.
mlir::FailureOr<llvm::SmallVector<Activation>>
readActivations(const Node &node, llvm::ArrayRef<llvm::StringRef> usual, int64_t directions);

/// Weights and biases in ONNX's gate order.
struct CellArguments {
  mlir::Value x;
  llvm::SmallVector<mlir::Value> states;
  llvm::SmallVector<mlir::Value> w, r;
  /// The sum of both biases for each gate; empty without biases.
  llvm::SmallVector<mlir::Value> bias;
  /// The recurrent bias of a GRU's candidate gate if it is not part of `bias`.
  mlir::Value hiddenBias;
  llvm::SmallVector<mlir::Value> peepholes;
};

struct CellOptions {
  /// In the order of ONNX's names f, g, h.
  llvm::ArrayRef<Activation> activations;
  /// Inputs of the activations of gates and candidates are clamped to [-clip, clip].
  std::optional<double> clip;
  bool linearBeforeReset = false;
  bool inputForget = false;
};

/// Builds one step of the cell of `op` (RNN, GRU or LSTM) and returns the states after it.
llvm::SmallVector<mlir::Value> buildCell(llvm::StringRef op, mlir::OpBuilder &builder,
                                         mlir::Location loc, const CellArguments &arguments,
                                         const CellOptions &options);

/// Selects `states` within the length of the sample, else `before`. `ones` is a column of ones that
/// broadcasts the mask.
llvm::SmallVector<mlir::Value> selectWithinLength(mlir::OpBuilder &builder, mlir::Location loc,
                                                  mlir::Value mask, mlir::Value ones,
                                                  mlir::ValueRange states, mlir::ValueRange before);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_LOOPS_RECURRENTCELLS_H
