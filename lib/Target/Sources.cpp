//===- Sources.cpp - where the instructions of kernels come from ----------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// LLVM's own locations are debug info, which has numbers of lines but no nodes of models. All that
// the messages of the emulator need is a text for each instruction.
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

/// `node 'x' (GRU)`, in one line whatever the model calls it: the importer gives a node the
/// location of its name around that of its type. Parts that the compiler adds to a model have a
/// name alone.
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

/// Adds the nodes of a model and the places in files that `loc` consists of. Line 0 is what the
/// importer says of everything in a file that is no text.
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
/// Hands the attribute of an operation on to its instructions.
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
