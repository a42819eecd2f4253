//===- ArrayUses.h - where a function uses its arrays -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_DIALECT_DIST_TRANSFORMS_ARRAYUSES_H
#define BPPSA_LIB_DIALECT_DIST_TRANSFORMS_ARRAYUSES_H

#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace bppsa {

/// The first and the last operation of a function's block that use an array; null where none does.
struct ArrayUses {
  void add(mlir::Operation *op);

  mlir::Operation *first = nullptr, *last = nullptr;
};

/// What uses `array`, an argument of a function, through whatever view; nothing where that is not
/// known.
std::optional<ArrayUses> findUses(mlir::BlockArgument array);

/// The arguments of `function` with names of `Attribute`, by the names.
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
