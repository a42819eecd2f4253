//===- DataParallel.cpp - steps whose gradients are exchanged -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/DataParallel.h"
#include <numeric>

using namespace bppsa::schedule;

int64_t ExchangedLayer::getNumElements() const {
  return std::accumulate(tensors.begin(), tensors.end(), int64_t(0));
}
