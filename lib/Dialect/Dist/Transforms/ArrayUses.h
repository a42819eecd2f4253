//===- ArrayUses.h - uses of arrays in a function ---------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_DIST_TRANSFORMS_ARRAYUSES_H
#define BPPSA_LIB_DIALECT_DIST_TRANSFORMS_ARRAYUSES_H

#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// First and last operation that use an array, or null.
struct ArrayUses {
  void add(mlir::Operation *op);

  mlir::Operation *first = nullptr, *last = nullptr;
};

/// Includes uses of views. Returns nullopt if some uses are unknown.
std::optional<ArrayUses> findUses(mlir::BlockArgument array);

/// Returns the arguments that have `Attribute`, by name.
template <typename Attribute>
llvm::DenseMap<mlir::StringAttr, mlir::BlockArgument> findArguments(mlir::func::FuncOp function) {
  llvm::DenseMap<mlir::StringAttr, mlir::BlockArgument> arguments;
  for (mlir::BlockArgument argument : function.getArguments())
    if (mlir::StringAttr name = Attribute::ofArgument(function, argument.getArgNumber()))
      arguments[name] = argument;
  return arguments;
}

} // namespace bppsa

#endif // BPPSA_LIB_DIALECT_DIST_TRANSFORMS_ARRAYUSES_H
