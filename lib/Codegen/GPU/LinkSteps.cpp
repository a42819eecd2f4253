//===- LinkSteps.cpp - steps of loops over links --------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "LinkSteps.h"
#include "Launch.h"

using namespace mlir;
using namespace bppsa;

Value bppsa::countSteps(OpBuilder &builder, const CotangentLoop &loop) {
  return getDim(builder, loop.op->getLoc(), loop.saved[0], 0);
}

Value bppsa::countSamples(OpBuilder &builder, const CotangentLoop &loop) {
  Location loc = loop.op->getLoc();
  // A transition has no seeds.
  return loop.seeds.empty() ? getDim(builder, loc, loop.saved[0], 1)
                            : getDim(builder, loc, loop.seeds[0], 0);
}

Value bppsa::getStep(OpBuilder &builder, const CotangentLoop &loop, Value position) {
  if (loop.reverse)
    return position;
  Location loc = loop.op->getLoc();
  Value numSteps = countSteps(builder, loop);
  return addIndex(builder, loc, arith::SubIOp::create(builder, loc, numSteps, position), -1);
}
