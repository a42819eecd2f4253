//===- ExchangeModelTest.cpp - Deadlock freedom of gradient exchange ------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "ExchangeModel.h"
#include "bppsa/Runtime/Error.h"
#include "gtest/gtest.h"

#include <iostream>

using bppsa::runtime::text;
using namespace exchange_model;

/// Returns the configurations of allreduce (and barrier), p3 and dear, with epochs of one batch and
/// of all batches.
static std::vector<RunShape> shapesOf(int ranks, int slices, int batches) {
  std::vector<RunShape> shapes;
  for (bool endsEpochs : {false, true})
    for (RunShape shape :
         {RunShape{ranks, slices, batches}, RunShape{ranks, slices, batches, true, false, true},
          RunShape{ranks, slices, batches, true, true, false}}) {
      shape.endsEpochs = endsEpochs;
      shapes.push_back(shape);
    }
  return shapes;
}

static std::string describe(const RunShape &shape) {
  return text(shape.ranks, " ranks, ", shape.slices, " slices, ",
              !shape.overlaps   ? "allreduce"
              : shape.holdsSums ? "dear"
                                : "p3",
              shape.endsEpochs ? ", epochs of one batch" : "");
}

static std::string explore(const RunShape &shape) {
  Result result = exploreAll(shape);
  std::cout << describe(shape) << ": " << result.states << " states\n";
  return result.failure;
}

TEST(ExchangeModel, TwoRanksNeverWaitForever) {
  for (int slices : {2, 3})
    for (const RunShape &shape : shapesOf(2, slices, 2))
      EXPECT_EQ(explore(shape), "") << describe(shape);
}

TEST(ExchangeModel, ThreeRanksNeverWaitForever) {
  for (const RunShape &shape : shapesOf(3, 2, 2))
    if (shape.endsEpochs)
      EXPECT_EQ(explore(shape), "") << describe(shape);
}

TEST(ExchangeModel, RandomSchedulesOfManyRanksEnd) {
  for (unsigned seed = 0; seed < 100; ++seed)
    for (const RunShape &shape : shapesOf(2 + static_cast<int>(seed % 5), 7, 4))
      ASSERT_EQ(exploreOne(shape, seed).failure, "") << describe(shape) << ", seed " << seed;
}

/// The protocol of revision c68259a0 had all three faults. With the messages of two slices in
/// flight, every type of exchange could deadlock.
TEST(ExchangeModel, FindsTheDeadlockOfEarlierProtocols) {
  for (RunShape shape : shapesOf(2, 2, 2)) {
    shape.faults = {true, true, true};
    bool isSafe = shape.overlaps && !shape.endsEpochs;
    EXPECT_EQ(exploreAll(shape).failure, isSafe ? "" : "deadlock") << describe(shape);
  }
}

/// Receives that depend on the owner's training thread are sufficient for a deadlock.
TEST(ExchangeModel, FindsTheDeadlockOfLateReceives) {
  RunShape shape = {2, 3, 2, /*overlaps=*/true, /*holdsSums=*/true};
  shape.endsEpochs = shape.faults.receivesWithStep = true;
  EXPECT_EQ(exploreAll(shape).failure, "deadlock");
}

/// Without the reduction there are more states, but the result is the same.
TEST(ExchangeModel, IndependentStepsNeedNoOtherOrder) {
  RunShape shape = {2, 2, 2, /*overlaps=*/true, /*holdsSums=*/false, /*isByUse=*/true};
  shape.endsEpochs = true;
  for (bool areFaulty : {false, true}) {
    shape.faults.gathersInTurn = shape.faults.receivesWithStep = areFaulty;
    Result all = exploreAll(shape, /*isReduced=*/false), some = exploreAll(shape);
    EXPECT_EQ(some.failure, areFaulty ? "deadlock" : "");
    EXPECT_EQ(all.failure, some.failure);
    EXPECT_LT(some.states, all.states);
  }
}
