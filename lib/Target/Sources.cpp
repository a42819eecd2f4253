//===- Sources.cpp - sources of kernel instructions -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// LLVM debug info has line numbers but no ONNX nodes. The emulator's messages only need one text
// per instruction.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Target/Emulation.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/LLVMTranslationInterface.h"
#include "mlir/Target/LLVMIR/ModuleTranslation.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace bppsa;

/// The importer gives a node a NameLoc of its name around a NameLoc of its type; compiler-made
/// operations only have a name.
static std::string describeName(NameLoc loc) {
  auto type = dyn_cast<NameLoc>(loc.getChildLoc());
  if (!type)
    return loc.getName().str();
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "node '";
  llvm::printEscapedString(loc.getName().strref(), stream);
  stream << "' (" << type.getName().strref() << ")";
  return text;
}

static void collectSources(Location loc, SetVector<StringAttr> &sources) {
  auto add = [&](const Twine &source) {
    sources.insert(StringAttr::get(loc.getContext(), source));
  };
  llvm::TypeSwitch<LocationAttr>(loc)
      .Case([&](NameLoc named) { add(describeName(named)); })
      .Case([&](FileLineColRange place) {
        if (place.getStartLine() > 0)
          add(place.getFilename().strref() + ":" + Twine(place.getStartLine()) + ":" +
              Twine(place.getStartColumn()));
      })
      .Case([&](CallSiteLoc inlined) { collectSources(inlined.getCallee(), sources); })
      .Case([&](FusedLoc fused) {
        for (Location part : fused.getLocations())
          collectSources(part, sources);
      });
}

namespace {
struct SourceTranslation : public LLVMTranslationDialectInterface {
  using LLVMTranslationDialectInterface::LLVMTranslationDialectInterface;

  LogicalResult amendOperation(Operation *, ArrayRef<llvm::Instruction *> instructions,
                               NamedAttribute attribute,
                               LLVM::ModuleTranslation &translation) const override {
    if (attribute.getName() != attrs::Source::getName())
      return success();
    llvm::LLVMContext &context = translation.getLLVMContext();
    StringRef text = cast<StringAttr>(attribute.getValue()).getValue();
    auto *source = llvm::MDNode::get(context, llvm::MDString::get(context, text));
    for (llvm::Instruction *instruction : instructions)
      instruction->setMetadata(attrs::Source::getName(), source);
    return success();
  }
};
} // namespace

void bppsa::addSourceTranslation(MLIRContext &context) {
  auto *dialect = context.getOrLoadDialect<BPPSADialect>();
  if (!dialect->getRegisteredInterface<SourceTranslation>())
    dialect->addInterfaces<SourceTranslation>();
}

void bppsa::nameSources(ModuleOp module) {
  Builder builder(module.getContext());
  module.walk([&](LLVM::LLVMFuncOp function) {
    function.getBody().walk([&](Operation *op) {
      SetVector<StringAttr> sources;
      collectSources(op->getLoc(), sources);
      auto texts = llvm::map_range(sources, [](StringAttr source) { return source.strref(); });
      if (!sources.empty())
        attrs::Source::set(op, builder.getStringAttr(llvm::join(texts, " or ")));
    });
  });
}
