//===- ImportModel.cpp - from an ONNX file to a module --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../Initializers/SubgraphParameters.h"
#include "Importer.h"
#include "InlineFunctions.h"
#include "ModelImporter.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/Dist/IR/Dist.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace bppsa;

void bppsa::loadImportedDialects(MLIRContext *context) {
  context->loadDialect<BPPSADialect, dist::DistDialect, affine::AffineDialect, arith::ArithDialect,
                       func::FuncDialect, linalg::LinalgDialect, math::MathDialect, scf::SCFDialect,
                       tensor::TensorDialect, vector::VectorDialect>();
}

/// Emits a remark if a node requires a fixed size of a symbolic dimension. Skips bindings to 1,
/// which come from squeezed dimensions.
static void noteFixedSize(const OnnxFile &file, const Bindings::value_type &binding,
                          StringRef reason) {
  auto *size = std::get_if<int64_t>(&binding.second);
  if (size && *size > 1 && reason.starts_with("node "))
    emitRemark(file.location) << "dimension " << quoted(binding.first) << " can only be " << *size
                              << ", the size that the exporter has fixed in "
                              << reason.take_front(reason.find(": "));
}

static FailureOr<OwningOpRef<ModuleOp>>
importGraph(const OnnxFile &file, const llvm::StringSet<> &innerNames, const ImportOptions &options,
            GraphBindings bindings, const StreamPlan *stream) {
  SmallVector<std::pair<Bindings::value_type, std::string>> found;
  // Each attempt that fails because a binding is missing eliminates one symbol.
  while (true) {
    ModelImporter importer(file, innerNames, options, bindings, stream);
    FailureOr<OwningOpRef<ModuleOp>> module = failure();
    std::string reason;
    {
      ScopedDiagnosticHandler handler(file.location.getContext(), [&](Diagnostic &diagnostic) {
        reason = diagnostic.str();
        return success(importer.isMissingBinding());
      });
      module = importer.run();
    }
    std::optional<Bindings::value_type> missing = importer.getMissingBinding();
    if (succeeded(module))
      for (const auto &[binding, node] : found)
        noteFixedSize(file, binding, node);
    if (succeeded(module) || !missing)
      return module;
    bindings.dimensions.insert(*missing);
    found.push_back({*missing, std::move(reason)});
  }
}

static FoundAxes findBatchAxes(const OnnxFile &file, const llvm::StringSet<> &innerNames,
                               const GraphBindings &bindings) {
  FoundAxes found;
  ScopedDiagnosticHandler silence(file.location.getContext(),
                                  [](Diagnostic &) { return success(); });
  FailureOr<OwningOpRef<ModuleOp>> module =
      importGraph(file, innerNames, {}, bindings, /*stream=*/nullptr);
  if (failed(module))
    return found;
  auto forward = (*module)->lookupSymbol<func::FuncOp>("forward");
  auto add = [&](DictionaryAttr attributes, StringAttr name, Type type) {
    auto axis = attrs::BatchAxis::in(attributes);
    if (!name || !axis)
      return;
    int64_t size = cast<ShapedType>(type).getDimSize(axis.getInt());
    if (size == 1 || ShapedType::isDynamic(size))
      found[name.getValue()] = axis.getInt();
  };
  for (unsigned i = 0, e = forward.getNumArguments(); i < e; ++i)
    add(forward.getArgAttrDict(i), attrs::Input::ofArgument(forward, i),
        forward.getArgumentTypes()[i]);
  for (unsigned i = 0, e = forward.getNumResults(); i < e; ++i)
    add(forward.getResultAttrDict(i), attrs::Output::ofResult(forward, i),
        forward.getResultTypes()[i]);
  return found;
}

FailureOr<OwningOpRef<ModuleOp>> bppsa::importONNX(llvm::MemoryBufferRef buffer,
                                                   MLIRContext *context,
                                                   const ImportOptions &options) {
  loadImportedDialects(context);
  FailureOr<OnnxFile> file = parseOnnxFile(buffer, context);
  if (failed(file))
    return failure();
  if (failed(widenHalfPrecision(*file)))
    return failure();
  // Find parameters first: inlining duplicates the contents of functions once per call.
  llvm::StringSet<> innerNames = findInnerParameters(file->model);
  if (failed(inlineFunctions(*file)))
    return failure();
  FailureOr<GraphBindings> bindings = readBindings(*file, options.bindings);
  if (failed(bindings))
    return failure();
  if (options.carries.empty() && !options.stepAxes.empty())
    return emitError(file->location) << "--step-axis needs --carry: without it a model has its own "
                                        "axis of steps";
  if (options.carries.empty())
    return importGraph(*file, innerNames, options, *bindings, /*stream=*/nullptr);
  FailureOr<StreamPlan> stream =
      planStream(*file, options, findBatchAxes(*file, innerNames, *bindings), *bindings);
  if (failed(stream))
    return failure();
  return importGraph(*file, innerNames, options, *bindings, &*stream);
}

FailureOr<OwningOpRef<ModuleOp>> bppsa::importONNX(StringRef path, MLIRContext *context,
                                                   const ImportOptions &options) {
  FailureOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = readModelFile(path, context);
  if (failed(buffer))
    return failure();
  return importONNX(**buffer, context, options);
}
