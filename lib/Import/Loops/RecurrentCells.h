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

/// An activation function and its parameters.
struct Activation {
  llvm::StringRef name;
  double alpha = 0, beta = 0;
};

/// The activations of all directions of `node` with their parameters, in the order f, g, h of each
/// direction; `usual` are those of a direction where the node names none.
mlir::FailureOr<llvm::SmallVector<Activation>>
readActivations(const Node &node, llvm::ArrayRef<llvm::StringRef> usual, int64_t directions);

/// The values of a cell inside of the body: weights and biases by ONNX's gate
/// order, the input of the step and the states before it.
struct CellArguments {
  mlir::Value x;
  llvm::SmallVector<mlir::Value> states;
  llvm::SmallVector<mlir::Value> w, r;
  /// One for each gate, the sum of both biases; empty without biases.
  llvm::SmallVector<mlir::Value> bias;
  /// The recurrent bias of a GRU's new gate where it is not part of `bias`.
  mlir::Value hiddenBias;
  /// Peepholes of an LSTM from its state to the gates i, o and f; empty without.
  llvm::SmallVector<mlir::Value> peepholes;
};

/// What the attributes of a node say of its cell.
struct CellOptions {
  /// By ONNX's names f, g, h.
  llvm::ArrayRef<Activation> activations;
  /// Operands of the activations of gates and candidates are limited to [-clip, clip].
  std::optional<double> clip;
  bool linearBeforeReset = false;
  /// The forget gate of an LSTM is what its input gate leaves.
  bool inputForget = false;
};

/// Builds one step of the cell of `op` (RNN, GRU or LSTM) and returns the states after it.
llvm::SmallVector<mlir::Value> buildCell(llvm::StringRef op, mlir::OpBuilder &builder,
                                         mlir::Location loc, const CellArguments &arguments,
                                         const CellOptions &options);

/// `states` where the step is part of its sample, else `before`. `mask` is a vector of one
/// element, 1 where it is and 0 where it is not; `ones` is a column of ones that spreads it.
llvm::SmallVector<mlir::Value> keepBeyondEnd(mlir::OpBuilder &builder, mlir::Location loc,
                                             mlir::Value mask, mlir::Value ones,
                                             mlir::ValueRange states, mlir::ValueRange before);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_LOOPS_RECURRENTCELLS_H
