//===- ModelLayers.cpp - the work of the layers of a model ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/Model/ModelLayers.h"
#include "LayerWork.h"
#include "bppsa/Compiler/Compiler.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/BPPSA/IR/Entry.h"
#include "bppsa/InitAll.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace bppsa;

/// Returns null with `error` set on failure.
static OwningOpRef<ModuleOp> compile(MLIRContext &context, const std::string &path, Phase phase,
                                     const std::vector<std::string> &bindings, std::string &error) {
  CompileOptions options;
  options.emit = EmitKind::MLIR;
  options.stopAfter = phase;
  options.printLocations = true;
  options.bindings = bindings;
  // Any loss will do, and mse applies to every output.
  options.training.losses = {"mse"};
  options.training.backward = BackwardKind::Sequential;
  auto keepFirst = [&](const CompileDiagnostic &diagnostic) {
    if (diagnostic.severity == CompileDiagnostic::Severity::Error && error.empty())
      error = path + ": " + diagnostic.message;
  };
  std::optional<std::string> text = compileModel({path}, options, keepFirst);
  return text ? parseSourceString<ModuleOp>(*text, &context) : nullptr;
}

namespace {
class SizeBinder {
public:
  SizeBinder(ModuleOp module, ModelSizes &sizes, std::string &error)
      : module(module), sizes(sizes), error(error) {}

  LogicalResult bind() {
    auto symbols = module->getAttrOfType<SymbolsAttr>("bppsa.symbols");
    llvm::SmallVector<int64_t> values(symbols ? symbols.getNames().size() : 0, 0);
    bool hasBatch = bindAxis("bppsa.batch_axis", sizes.batch, values);
    bool hasSteps = bindAxis("bppsa.time_axis", sizes.steps, values);
    if (sizes.requiresBatch && !hasBatch)
      return fail("no input has a dynamic number of samples; remove --batch");
    if (sizes.requiresSteps && !hasSteps)
      return fail("no input has a dynamic number of steps; remove --seq-len");
    for (auto [i, value] : llvm::enumerate(values)) {
      std::string name = symbols.getNames()[i].str();
      if (value == 0)
        return fail("the size '" + name +
                    "' is neither of samples nor of steps; set it with --bind " + name + "=N");
      sizes.bindings.push_back(name + "=" + std::to_string(value));
    }
    return success();
  }

private:
  LogicalResult fail(const std::string &message) {
    error = message;
    return failure();
  }

  /// Binds symbols of these axes to `size`, or sets `size` to the model's fixed extent. Returns
  /// true if any was bound.
  bool bindAxis(StringRef attribute, int64_t &size, MutableArrayRef<int64_t> values) {
    auto forward = module.lookupSymbol<func::FuncOp>("forward");
    bool hasSymbol = false;
    for (unsigned i = 0; i < forward.getNumArguments(); ++i) {
      auto axis = forward.getArgAttrOfType<IntegerAttr>(i, attribute);
      auto shape = forward.getArgAttrOfType<AffineMapAttr>(i, "bppsa.shape");
      auto type = cast<ShapedType>(forward.getArgumentTypes()[i]);
      if (!axis)
        continue;
      if (!type.isDynamicDim(axis.getInt())) {
        size = type.getDimSize(axis.getInt());
        continue;
      }
      if (auto symbol = dyn_cast<AffineSymbolExpr>(shape.getValue().getResult(axis.getInt()))) {
        values[symbol.getPosition()] = size;
        hasSymbol = true;
      }
    }
    return hasSymbol;
  }

  ModuleOp module;
  ModelSizes &sizes;
  std::string &error;
};
} // namespace

std::optional<ModelWork> bppsa::getModelWork(const std::string &path, const ModelSizes &sizes,
                                             std::string &error) {
  DialectRegistry registry;
  registerCompilerDialects(registry);
  MLIRContext context(registry);
  ModelSizes bound = sizes;
  OwningOpRef<ModuleOp> module = compile(context, path, Phase::Import, bound.bindings, error);
  if (!module)
    return std::nullopt;
  if (failed(SizeBinder(*module, bound, error).bind())) {
    error = path + ": " + error;
    return std::nullopt;
  }
  module = compile(context, path, Phase::Differentiate, bound.bindings, error);
  if (!module)
    return std::nullopt;
  func::FuncOp step = findEntries(*module, EntryRole::Step).front();
  std::vector<ModelLayer> layers = countLayers(step);
  if (layers.empty()) {
    error = path + ": no node of the model has parameters that are trained";
    return std::nullopt;
  }
  return ModelWork{std::move(layers), bound.batch};
}
