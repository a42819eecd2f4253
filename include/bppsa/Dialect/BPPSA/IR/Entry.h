//===- Entry.h - roles of functions -----------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The attribute `bppsa.entry`, by which passes and the compiler find the functions of a program.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_IR_ENTRY_H
#define BPPSA_DIALECT_BPPSA_IR_ENTRY_H

#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <optional>
#include <string>

#include "bppsa/Dialect/BPPSA/IR/BPPSAEntryEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "bppsa/Dialect/BPPSA/IR/BPPSAEntryAttributes.h.inc"

namespace bppsa {

struct EntryAttrHelper {
  static constexpr llvm::StringLiteral getNameStr() { return "bppsa.entry"; }
  EntryAttr getAttr(mlir::Operation *op) { return op->getAttrOfType<EntryAttr>(getNameStr()); }
};

namespace attrs {
/// Of a function that a program calls.
using Entry = DiscardableAttribute<EntryAttrHelper>;
} // namespace attrs

/// Returns the functions of `module` whose entries satisfy `isWanted`, in the order of the module.
llvm::SmallVector<mlir::func::FuncOp> findEntries(mlir::ModuleOp module,
                                                  llvm::function_ref<bool(EntryAttr)> isWanted);

/// Returns the functions of `module` with that role that compute whole steps, not single stages.
llvm::SmallVector<mlir::func::FuncOp> findEntries(mlir::ModuleOp module, EntryRole role);

/// Returns the functions that `findEntries` returns; fails after an error if there are none.
llvm::FailureOr<llvm::SmallVector<mlir::func::FuncOp>> requireEntries(mlir::ModuleOp module,
                                                                      EntryRole role);

/// Returns the function of `module` with that entry, or null if there is none.
mlir::func::FuncOp findEntry(mlir::ModuleOp module, EntryAttr entry);

/// Sets the entry of `function` and names the function accordingly.
void setEntry(mlir::func::FuncOp function, EntryAttr entry);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_ENTRY_H
