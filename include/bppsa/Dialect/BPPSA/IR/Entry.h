//===- Entry.h - roles of functions -----------------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The attribute `bppsa.entry`, which identifies the functions of a program.
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
using Entry = DiscardableAttribute<EntryAttrHelper>;
} // namespace attrs

/// Returns the functions whose entries satisfy `isWanted`, in module order.
llvm::SmallVector<mlir::func::FuncOp> findEntries(mlir::ModuleOp module,
                                                  llvm::function_ref<bool(EntryAttr)> isWanted);

/// Returns the functions with that role that compute whole steps.
llvm::SmallVector<mlir::func::FuncOp> findEntries(mlir::ModuleOp module, EntryRole role);

/// Like `findEntries`, but fails after an error if there are none.
llvm::FailureOr<llvm::SmallVector<mlir::func::FuncOp>> requireEntries(mlir::ModuleOp module,
                                                                      EntryRole role);

/// Returns null if there is no such function.
mlir::func::FuncOp findEntry(mlir::ModuleOp module, EntryAttr entry);

/// Also names the function after its entry.
void setEntry(mlir::func::FuncOp function, EntryAttr entry);

/// Appends a private copy of `function` without an entry to its module.
mlir::func::FuncOp copyWithoutEntry(mlir::func::FuncOp function, llvm::StringRef name);

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_IR_ENTRY_H
