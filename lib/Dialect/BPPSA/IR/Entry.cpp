//===- Entry.cpp - roles of functions -------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/Entry.h"

#include "bppsa/Dialect/BPPSA/IR/BPPSAEntryEnums.cpp.inc"

using namespace mlir;
using namespace bppsa;

LogicalResult EntryAttr::verify(function_ref<InFlightDiagnostic()> emitError, EntryRole role,
                                StringAttr variant, std::optional<int64_t> stage, bool) {
  if (variant && variant.empty())
    return emitError() << "needs the name of a backward pass as its variant, found an empty name; "
                          "remove 'variant'";
  if (stage && (*stage < 0 || role != EntryRole::Step))
    return emitError() << "needs a stage of at least 0 of a function with the role 'step', found "
                       << *stage << " and '" << stringifyEntryRole(role) << "'";
  return success();
}

EntryAttr EntryAttr::withRole(EntryRole role) const {
  return get(getContext(), role, getVariant(), getStage(), getUnits());
}

EntryAttr EntryAttr::withVariant(StringRef variant) const {
  auto name = StringAttr::get(getContext(), variant);
  return get(getContext(), getRole(), name, getStage(), getUnits());
}

EntryAttr EntryAttr::withStage(int64_t stage) const {
  return get(getContext(), getRole(), getVariant(), stage, getUnits());
}

EntryAttr EntryAttr::withUnits() const {
  return get(getContext(), getRole(), getVariant(), getStage(), true);
}

std::string EntryAttr::getSymbolName() const {
  std::string name = stringifyEntryRole(getRole()).str();
  if (getVariant())
    name += "_" + getVariant().str();
  if (getStage())
    name += "_stage" + std::to_string(*getStage());
  return getUnits() ? name + "_units" : name;
}

SmallVector<func::FuncOp> bppsa::findEntries(ModuleOp module,
                                             function_ref<bool(EntryAttr)> isWanted) {
  auto isEntry = [&](func::FuncOp function) {
    EntryAttr entry = attrs::Entry::of(function);
    return entry && isWanted(entry);
  };
  return llvm::to_vector(llvm::make_filter_range(module.getOps<func::FuncOp>(), isEntry));
}

SmallVector<func::FuncOp> bppsa::findEntries(ModuleOp module, EntryRole role) {
  return findEntries(module,
                     [&](EntryAttr entry) { return entry.getRole() == role && !entry.getStage(); });
}

FailureOr<SmallVector<func::FuncOp>> bppsa::requireEntries(ModuleOp module, EntryRole role) {
  SmallVector<func::FuncOp> found = findEntries(module, role);
  if (found.empty())
    return module.emitError() << "needs a function with the role '" << stringifyEntryRole(role)
                              << "' in 'bppsa.entry', found none; run bppsa-differentiate";
  return found;
}

func::FuncOp bppsa::findEntry(ModuleOp module, EntryAttr entry) {
  SmallVector<func::FuncOp> found =
      findEntries(module, [&](EntryAttr candidate) { return candidate == entry; });
  return found.empty() ? func::FuncOp() : found.front();
}

void bppsa::setEntry(func::FuncOp function, EntryAttr entry) {
  attrs::Entry::set(function, entry);
  function.setSymName(entry.getSymbolName());
}

func::FuncOp bppsa::copyWithoutEntry(func::FuncOp function, StringRef name) {
  func::FuncOp copy = function.clone();
  copy.setName(name);
  copy.setPrivate();
  attrs::Entry::remove(copy);
  function->getParentOfType<ModuleOp>().push_back(copy);
  return copy;
}
