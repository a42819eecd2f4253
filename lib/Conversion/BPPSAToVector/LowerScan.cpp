//===- LowerScan.cpp - scans by plan --------------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CotangentWalk.h"

using namespace mlir;
using namespace bppsa;

LogicalResult bppsa::lowerScan(ScanOp op, const LaneOptions &options) {
  return lowerSequentially(getCotangentLoop(op), options);
}
