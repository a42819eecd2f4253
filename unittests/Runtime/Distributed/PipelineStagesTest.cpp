//===- PipelineStagesTest.cpp - Tests of pipeline stages ------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Distributed/StageMail.h"
#include "MemoryNetwork.h"
#include "Updates/PipelineTimes.h"
#include "Updates/StageOrders.h"
#include "gtest/gtest.h"

using namespace bppsa::runtime;
using bppsa::schedule::OpKind;
using memory::onRanks;

/// Stages on two ranks. Rank 0 has the first and the last stage.
static Model makeModel() {
  Model model;
  model.pipelineRanks = 2;
  model.stages = {{0, 3, 2, 1}, {1, 3, 2, 1}, {1, 3, 2, 1}, {0, 3, 2, 1}};
  model.splitsBackward = true;
  return model;
}

TEST(StageMail, KeepsMessagesBetweenStagesOfARank) {
  Model model = makeModel();
  onRanks(2, {}, [&](Ranks &ranks) {
    if (ranks.rank() == 0)
      return;
    StageMail mail(ranks, model);
    for (int number : {1, 2, 3})
      mail.send(2, /*channel=*/7, &number, sizeof number);
    for (int expected : {1, 2, 3}) {
      int found = 0;
      EXPECT_EQ(mail.receive(1, 7, &found, sizeof found), 0);
      EXPECT_EQ(found, expected);
    }
  });
}

/// The network delivers a message once both sides have started. Rank 0 proceeds after its second
/// message was sent, before rank 1 receives it.
TEST(StageMail, ReceivesWhatAPartExpectsBeforeItRuns) {
  Model model = makeModel();
  onRanks(2, {}, [&](Ranks &ranks) {
    StageMail mail(ranks, model);
    if (ranks.rank() == 0) {
      for (int number : {5, 6})
        mail.send(1, /*channel=*/2, &number, sizeof number);
      ranks.loop().drain();
      ranks.gather(std::string());
      return;
    }
    StageMail::Part part = {1, OpKind::F, 4};
    int first = 0, second = 0;
    EXPECT_FALSE(mail.expect(part));
    mail.begin(part);
    mail.receive(0, 2, &first, sizeof first);
    EXPECT_TRUE(mail.expect(part));
    ranks.gather(std::string());
    mail.begin(part);
    mail.receive(0, 2, &second, sizeof second);
    EXPECT_EQ(first, 5);
    EXPECT_EQ(second, 6);
    EXPECT_FALSE(mail.expect({1, OpKind::F, 3}));
  });
}

TEST(Ranks, GatheringsOverlap) {
  onRanks(3, {}, [&](Ranks &ranks) {
    double own = ranks.rank();
    auto first = ranks.startGather({own}), second = ranks.startGather({own + 10, own});
    EXPECT_EQ(ranks.gather(std::vector<double>{own + 20})[2].front(), 22);
    EXPECT_EQ(ranks.finishGather(*second)[1], (std::vector<double>{11, 1}));
    EXPECT_EQ(ranks.finishGather(*first)[2], (std::vector<double>{2}));
  });
}

/// One of seven measurements is an outlier, and the first update is ignored.
TEST(PipelineTimes, AreMedians) {
  Model model = makeModel();
  onRanks(2, {}, [&](Ranks &ranks) {
    PipelineTimes times(ranks, model);
    auto addAll = [&](double factor) {
      for (int stage = 0; stage < 4; ++stage)
        if (model.stages[stage].rank == ranks.rank())
          for (OpKind kind : {OpKind::F, OpKind::B, OpKind::W})
            times.add({kind, stage, 0}, factor * (10 * stage + static_cast<int>(kind) + 1));
    };
    addAll(50);
    EXPECT_FALSE(times.endUpdate(8));
    for (double factor : {1.0, 1.0, 100.0, 1.0, 1.0, 0.5, 1.0})
      addAll(factor);
    EXPECT_FALSE(times.endUpdate(8));
    EXPECT_TRUE(times.endUpdate(8));
    if (ranks.rank() == 0)
      times.noteBytes(0, 1, 1000);
    std::vector<bppsa::schedule::StageCost> costs = times.gather();
    for (int stage = 0; stage < 4; ++stage) {
      EXPECT_EQ(costs[stage].forward, 10 * stage + 1);
      EXPECT_EQ(costs[stage].backward, 10 * stage + 2);
      EXPECT_EQ(costs[stage].weight, 10 * stage + 3);
      bool isHop = stage == 0 || stage == 2;
      EXPECT_EQ(costs[stage].hop > 0, isHop) << stage;
    }
  });
}

/// Rank 0 determines the orders, whatever times other ranks have measured.
TEST(StageOrders, AreThoseOfTheFirstRank) {
  Model model = makeModel();
  std::vector<bppsa::schedule::PipelineOp> found[2];
  onRanks(2, {}, [&](Ranks &ranks) {
    PipelineOptions options;
    options.schedule = "zb-v";
    StageOrders orders(ranks, model, options);
    EXPECT_TRUE(orders.wantsTimes());
    double own = 1 + 5 * ranks.rank();
    orders.setTimes({{own, 1, 1}, {1, own, 1}, {1, 1, own}, {1, 1, 1}});
    EXPECT_FALSE(orders.wantsTimes());
    found[ranks.rank()] = orders.of(6);
  });
  bppsa::schedule::Pipeline pipeline =
      bppsa::schedule::makePipeline(bppsa::schedule::Layers(4, {1, 1, 1}), {}, {0, 1, 1, 0}, 6);
  pipeline.deferredMemory = 1;
  auto expected =
      bppsa::schedule::scheduleStages(pipeline, {bppsa::schedule::ScheduleKind::Name::V}, {});
  for (int rank : {0, 1}) {
    ASSERT_EQ(found[rank].size(), 36u);
    for (size_t i = 0; i < 36; ++i) {
      EXPECT_EQ(found[rank][i].kind, expected->orders[rank][i].kind);
      EXPECT_EQ(found[rank][i].stage, expected->orders[rank][i].stage);
      EXPECT_EQ(found[rank][i].microbatch, expected->orders[rank][i].microbatch);
    }
  }
}
