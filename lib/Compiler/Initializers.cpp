//===- Initializers.cpp - classify and rewrite initializers ---------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Import/Initializers.h"
#include "Compilation.h"
#include "InitializerClassifier.h"
#include "bppsa/Compiler/Pipelines/Training.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Import/TrainingMode.h"

using namespace mlir;
using namespace bppsa;

LogicalResult Compilation::trainConstants(std::unique_ptr<llvm::MemoryBuffer> &file) {
  if (options.train.empty())
    return success();
  FailureOr<TrainedConstants> changed = bppsa::trainConstants(*file, &context, options.train);
  if (failed(changed))
    return failure();
  trainedConstants = std::move(changed->names);
  if (!trainedConstants.empty())
    file = llvm::MemoryBuffer::getMemBufferCopy(changed->bytes, source.path);
  return success();
}

LogicalResult Compilation::untie(std::unique_ptr<llvm::MemoryBuffer> &file) {
  if (!options.untie)
    return success();
  FailureOr<std::string> untied = untieInitializers(*file, &context, *options.untie);
  if (failed(untied))
    return failure();
  file = llvm::MemoryBuffer::getMemBufferCopy(*untied, source.path);
  return success();
}

LogicalResult Compilation::setTrainingMode(std::unique_ptr<llvm::MemoryBuffer> &file) {
  if (!options.trainingMode)
    return success();
  FailureOr<std::string> changed = bppsa::setTrainingMode(*file, &context, *options.trainingMode);
  if (failed(changed))
    return failure();
  file = llvm::MemoryBuffer::getMemBufferCopy(*changed, source.path);
  return success();
}

LogicalResult Compilation::loadImage(const llvm::MemoryBuffer &file) {
  FailureOr<std::optional<std::string>> changed = makeInferenceForm(file, &context);
  if (failed(changed))
    return failure();
  FailureOr<OnnxImage> loaded =
      *changed ? loadOnnxImage(llvm::MemoryBufferRef(**changed, source.path), &context)
               : loadOnnxImage(file, &context);
  if (failed(loaded))
    return failure();
  image = std::move(*loaded);
  return success();
}

LogicalResult Compilation::settleInitializers(const llvm::MemoryBuffer &file) {
  FailureOr<InitializerFindings> findings = inspectInitializers(file, &context);
  if (failed(findings))
    return failure();
  auto forward = module->lookupSymbol<func::FuncOp>("forward");
  InitializerClassifier settlement(forward, *findings, options, trainedConstants);
  settlement.run();
  if (!settlement.matchesTrain())
    return fail("--train='" + options.train +
                "' matches no initializer that looks like a constant and no output of a float "
                "Constant node of rank 1 or more; other initializers are trained anyway");
  if (settlement.hasNothingToTrain())
    nothingToTrain = settlement.describeNothingTrained();
  settlement.addRemarks();
  llvm::append_range(remarks, settlement.remarks);
  classification = std::move(settlement.classification);
  constantWeights = settlement.getConstantWeights();
  return freezeParameters(*module, options.training.freeze, findings->constantWeights);
}

FailureOr<std::string> Compilation::emitInitializers() {
  llvm::json::Array initializers;
  for (const OnnxImage::Parameter &parameter : image.parameters) {
    llvm::json::Object described{{"name", parameter.name},
                                 {"shape", llvm::json::Array(parameter.shape)},
                                 {"elements", ShapedType::getNumElements(parameter.shape)}};
    for (const auto &[key, value] : *classification.getObject(parameter.name))
      described[key] = value;
    initializers.push_back(std::move(described));
  }
  std::string json;
  llvm::raw_string_ostream(json) << llvm::json::Value(std::move(initializers)) << "\n";
  return json;
}

LogicalResult Compilation::freezeRows() {
  auto forward = module->lookupSymbol<func::FuncOp>("forward");
  for (const std::string &text : options.freezeRows) {
    FrozenRow request = *FrozenRow::parse(text);
    std::optional<unsigned> found;
    for (unsigned i = 0, e = forward.getNumArguments(); i < e && !found; ++i)
      if (auto name = attrs::Parameter::ofArgument(forward, i);
          name && name.getValue() == request.name && !attrs::Frozen::ofArgument(forward, i))
        found = i;
    if (!found)
      return fail("--freeze-rows=" + text + ": '" + request.name +
                  "' is not a trained initializer");
    auto type = cast<RankedTensorType>(forward.getArgumentTypes()[*found]);
    int64_t rows = type.getRank() == 0 ? 0 : type.getDimSize(0);
    if (request.row >= rows)
      return fail("--freeze-rows=" + text + ": '" + request.name + "' has " + Twine(rows) +
                  " rows, accepted: 0 to " + Twine(rows - 1));
    options.training.frozenRows.push_back(std::move(request));
  }
  return success();
}
