//===- BPPSAAttributes.cpp - bppsa attributes -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

#include "bppsa/Dialect/BPPSA/IR/BPPSAEnums.cpp.inc"

using namespace mlir;
using namespace bppsa;

static bool takesSize(ScanAlgorithm algorithm) {
  return algorithm == ScanAlgorithm::Hybrid || algorithm == ScanAlgorithm::Chunked;
}

LogicalResult PlanAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ScanAlgorithm algorithm, int64_t size) {
  if (size < 0)
    return emitError() << "a plan size must not be negative, found " << size;
  if (size != 0 && !takesSize(algorithm))
    return emitError() << "plan '" << stringifyScanAlgorithm(algorithm) << "' takes no size, found "
                       << size << "; only hybrid and chunked take one";
  return success();
}

PlanAttr PlanAttr::fromString(MLIRContext *context, StringRef text) {
  auto [name, sizeText] = text.split(':');
  std::optional<ScanAlgorithm> algorithm = symbolizeScanAlgorithm(name);
  if (!algorithm)
    return {};
  int64_t size = 0;
  bool hasSize = text.contains(':');
  if (hasSize && (!takesSize(*algorithm) || sizeText.getAsInteger(10, size) || size < 0 ||
                  (size == 0 && *algorithm == ScanAlgorithm::Chunked)))
    return {};
  if (*algorithm == ScanAlgorithm::Hybrid && !hasSize)
    return {};
  return PlanAttr::get(context, *algorithm, size);
}

std::string PlanAttr::toString() const {
  std::string text = stringifyScanAlgorithm(getAlgorithm()).str();
  if (takesSize(getAlgorithm()) && (getSize() != 0 || getAlgorithm() == ScanAlgorithm::Hybrid))
    text += ":" + std::to_string(getSize());
  return text;
}

bool PlanAttr::isSequential() const {
  return getAlgorithm() == ScanAlgorithm::Linear ||
         (getAlgorithm() == ScanAlgorithm::Hybrid && getSize() == 0);
}
