//===- FunctionEmission.cpp - generate code per function ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
// A program loaded into a process calls few of its functions. Their common state is bytecode, so
// that no MLIR context outlives a compilation.
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bppsa;

FailureOr<CompiledModel> Compilation::compileToFunctions() {
  if (failed(prepare()))
    return failure();
  functions = collectFunctions(*module, options.training);
  CompiledModel model;
  model.description = describe();
  model.onnx.assign(image.bytes.begin(), image.bytes.end());
  model.instructionSet = targets.front().isa;
  llvm::raw_string_ostream stream(model.module);
  if (failed(writeBytecodeToFile(*module, stream)))
    return failure();
  for (const ExportedFunction &function : functions)
    model.functions.push_back(
        {function.name, function.root, function.symbol, function.residualBytes});
  return model;
}

static void keepFunctionsOf(ModuleOp module, StringRef root) {
  SymbolTable symbols(module);
  llvm::SetVector<Operation *> needed;
  needed.insert(symbols.lookup(root));
  for (size_t i = 0; i < needed.size(); ++i) {
    std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(needed[i]);
    for (SymbolTable::SymbolUse use : *uses)
      if (Operation *used = symbols.lookup(use.getSymbolRef().getRootReference()))
        needed.insert(used);
  }
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (!needed.contains(&op))
      op.erase();
}

FailureOr<SmallVector<std::string>> Compilation::compileFunctions(const CompiledModel &model,
                                                                  const std::string &root) {
  if (failed(selectTargets()))
    return failure();
  // The phases that produced the module verified it.
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  module = parseSourceString<ModuleOp>(model.module, config, source.path);
  if (!module)
    return failure();
  for (const ProgramFunction &function : model.functions)
    if (function.root == root) {
      ExportedFunction &exported = functions.emplace_back();
      exported.name = function.name;
      exported.symbol = function.symbol;
      exported.residualBytes = function.residualBytes;
    }
  dumpPrefix = root + ".";
  keepFunctionsOf(*module, root);
  if (failed(lowerKernels(*module)))
    return failure();
  return emitObjects(*module, /*json=*/"");
}
