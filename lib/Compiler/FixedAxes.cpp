//===- FixedAxes.cpp - axes whose size an exporter fixed ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Compilation.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Import/DynamicAxes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace bppsa;

LogicalResult Compilation::releaseAxes(std::unique_ptr<llvm::MemoryBuffer> &file) {
  if (options.dynamicAxes.empty())
    return success();
  SmallVector<BatchAxisRequest> axes;
  for (const std::string &text : options.dynamicAxes)
    axes.push_back(*BatchAxisRequest::parse(text));
  FailureOr<std::string> released = bppsa::releaseAxes(*file, &context, axes);
  if (failed(released))
    return failure();
  file = llvm::MemoryBuffer::getMemBufferCopy(*released, source.path);
  return success();
}

template <typename Axis> static SmallVector<BatchAxisRequest> findFixed(ModuleOp module) {
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  SmallVector<BatchAxisRequest> fixed;
  for (unsigned i = 0, e = forward.getNumArguments(); i < e; ++i) {
    auto name = attrs::Input::ofArgument(forward, i);
    auto axis = Axis::ofArgument(forward, i);
    if (name && axis &&
        !cast<RankedTensorType>(forward.getArgumentTypes()[i]).isDynamicDim(axis.getInt()))
      fixed.push_back({name.str(), axis.getInt()});
  }
  return fixed;
}

template <typename Axis>
static bool isReleasable(const llvm::MemoryBuffer &file, MLIRContext &context,
                         const ImportOptions &importOptions, ArrayRef<BatchAxisRequest> axes) {
  ScopedDiagnosticHandler silence(&context, [](Diagnostic &) { return success(); });
  FailureOr<std::string> released = bppsa::releaseAxes(file, &context, axes);
  if (failed(released))
    return false;
  FailureOr<OwningOpRef<ModuleOp>> module = importONNX(
      llvm::MemoryBufferRef(*released, file.getBufferIdentifier()), &context, importOptions);
  if (failed(module))
    return false;
  auto forward = (*module)->lookupSymbol<func::FuncOp>("forward");
  size_t carried = 0;
  for (unsigned i = 0, e = forward.getNumArguments(); i < e; ++i)
    for (const BatchAxisRequest &request : axes)
      if (auto name = attrs::Input::ofArgument(forward, i); name && name.getValue() == request.name)
        if (auto axis = Axis::ofArgument(forward, i))
          carried += axis.getInt() == request.axis;
  return carried == axes.size();
}

void Compilation::noteUnknownSamples() {
  auto forward = module->lookupSymbol<func::FuncOp>("forward");
  std::string accepted;
  for (unsigned i = 0, e = forward.getNumArguments(); i < e; ++i) {
    auto name = attrs::Input::ofArgument(forward, i);
    if (attrs::BatchAxis::ofArgument(forward, i))
      return;
    auto axes = attrs::BatchAxes::ofArgument(forward, i);
    if (!name || !axes)
      continue;
    llvm::SmallSetVector<int64_t, 4> found(axes.asArrayRef().begin(), axes.asArrayRef().end());
    for (int64_t axis : found)
      if (axis >= 0)
        accepted += (accepted.empty() ? "" : " or ") + ("--batch-axis=" + name.str()) + ":" +
                    std::to_string(axis);
  }
  if (!accepted.empty())
    remarks.push_back({CompileDiagnostic::Severity::Note,
                       "no axis of an input is known to carry samples; `train` and `eval` need " +
                           accepted + ", here or when the program runs"});
}

void Compilation::noteFixedAxes(const llvm::MemoryBuffer &file,
                                const ImportOptions &importOptions) {
  if (!importOptions.carries.empty())
    return;
  auto note = [&](ArrayRef<BatchAxisRequest> axes, bool isReleasable, StringRef what) {
    if (axes.empty() || !isReleasable)
      return;
    std::string words, names;
    for (const BatchAxisRequest &request : axes) {
      words += " --dynamic=" + request.name + ":" + std::to_string(request.axis);
      names += (names.empty() ? "axis " : ", axis ") + std::to_string(request.axis) + " of '" +
               request.name + "'";
    }
    remarks.push_back(
        {CompileDiagnostic::Severity::Note, "the number of " + what.str() + " (" + names +
                                                ") is fixed by the exporter, not by the graph;" +
                                                words + " turns it into a dynamic size"});
  };
  SmallVector<BatchAxisRequest> batch = findFixed<attrs::BatchAxis>(*module);
  note(batch, !batch.empty() && isReleasable<attrs::BatchAxis>(file, context, importOptions, batch),
       "samples");
  SmallVector<BatchAxisRequest> time = findFixed<attrs::TimeAxis>(*module);
  note(time, !time.empty() && isReleasable<attrs::TimeAxis>(file, context, importOptions, time),
       "steps");
}
