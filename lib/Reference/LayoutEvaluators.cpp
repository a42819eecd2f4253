//===- LayoutEvaluators.cpp - evaluators of packing ops -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "SampleView.h"
#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Reference/Interpreter.h"

using namespace mlir;
using namespace bppsa;

static void copySamples(SampleView fromLayout, const Array &from, SampleView toLayout, Array &to,
                        bool hasTime, int64_t samples, int64_t steps) {
  for (int64_t b = 0; b < samples; ++b)
    for (int64_t t = 0; t < (hasTime ? steps : 1); ++t) {
      std::optional<int64_t> step = hasTime ? std::optional(t) : std::nullopt;
      toLayout.write(to, step, b, fromLayout.read(from, step, b));
    }
}

static LogicalResult evaluatePack(PackLanesOp op, Interpreter &interpreter) {
  SampleView plain(std::nullopt), packed(op.getLanes());
  const Array &source = interpreter.get(op.getSource());
  bool hasTime = source.getRank() == 3;
  int64_t features = source.shape.back(), lanes = op.getLanes();
  int64_t samples = source.shape[hasTime ? 1 : 0], steps = hasTime ? source.shape[0] : 1;
  int64_t padded = (samples + lanes - 1) / lanes * lanes;
  Array result = Array::makeZeros(hasTime ? packed.getSequenceShape(steps, padded, features)
                                          : packed.getStateShape(padded, features),
                                  source.isFloat);
  copySamples(plain, source, packed, result, hasTime, samples, steps);
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateUnpack(UnpackLanesOp op, Interpreter &interpreter) {
  SampleView plain(std::nullopt), packed(op.getLanes());
  const Array &source = interpreter.get(op.getSource());
  bool hasTime = source.getRank() == 4;
  int64_t features = source.shape.end()[-2], samples = interpreter.getInteger(op.getBatch());
  int64_t steps = hasTime ? source.shape[1] : 1, lanes = op.getLanes();
  if (samples < 0 || (samples + lanes - 1) / lanes != source.shape[0])
    return op.emitOpError() << "unpacks " << samples << " samples from " << source.shape[0]
                            << " blocks of " << lanes << " lanes";
  Array result = Array::makeZeros(hasTime ? plain.getSequenceShape(steps, samples, features)
                                          : plain.getStateShape(samples, features),
                                  source.isFloat);
  copySamples(packed, source, plain, result, hasTime, samples, steps);
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

/// `plain` has one lane.
static void copyChunks(Array &plain, Array &packed, int64_t lanes, int64_t chunks, bool packs) {
  SampleView oneLane(1), many(lanes);
  int64_t samples = plain.shape[0], steps = packed.shape[1];
  for (int64_t b = 0; b < samples; ++b)
    for (int64_t t = 0; t < chunks * steps; ++t) {
      int64_t row = b * chunks + t / steps, step = t % steps;
      if (packs)
        many.write(packed, step, row, oneLane.read(plain, t, b));
      else
        oneLane.write(plain, t, b, many.read(packed, step, row));
    }
}

static LogicalResult evaluatePackChunks(PackChunksOp op, Interpreter &interpreter) {
  Array source = interpreter.get(op.getSource());
  int64_t steps = interpreter.getInteger(op.getSteps()), lanes = op.getLanes();
  if (steps < 1 || source.shape[1] % steps != 0)
    return op.emitOpError() << "cuts " << source.shape[1] << " steps into chunks of " << steps;
  int64_t chunks = source.shape[1] / steps;
  int64_t padded = llvm::divideCeil(source.shape[0] * chunks, lanes) * lanes;
  Array result = Array::makeZeros(
      SampleView(lanes).getSequenceShape(steps, padded, source.shape[2]), source.isFloat);
  copyChunks(source, result, lanes, chunks, /*packs=*/true);
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

static LogicalResult evaluateUnpackChunks(UnpackChunksOp op, Interpreter &interpreter) {
  Array source = interpreter.get(op.getSource()), result = interpreter.get(op.getDestination());
  int64_t samples = result.shape[0], lanes = op.getLanes(), steps = source.shape[1];
  int64_t chunks = steps == 0 ? 0 : result.shape[1] / steps;
  if (chunks * steps != result.shape[1] ||
      static_cast<int64_t>(llvm::divideCeil(samples * chunks, lanes)) != source.shape[0])
    return op.emitOpError() << "unpacks " << source.shape[0] << " blocks of " << lanes
                            << " chunks of " << steps << " steps to " << samples << " samples of "
                            << result.shape[1] << " steps";
  copyChunks(result, source, lanes, chunks, /*packs=*/false);
  interpreter.set(op.getResult(), std::move(result));
  return success();
}

void bppsa::addLayoutEvaluators(EvaluatorTable &table) {
  table.add<PackLanesOp>(evaluatePack);
  table.add<UnpackLanesOp>(evaluateUnpack);
  table.add<PackChunksOp>(evaluatePackChunks);
  table.add<UnpackChunksOp>(evaluateUnpackChunks);
}
