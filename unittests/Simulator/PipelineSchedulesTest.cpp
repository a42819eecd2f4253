//===- PipelineSchedulesTest.cpp - pipeline schedules by name -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/PipelineSchedules.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

using namespace bppsa::schedule;

static PipelineProblem makeRandomProblem(int seed) {
  std::mt19937 random(seed);
  auto draw = [&](int32_t first, int32_t last) {
    return std::uniform_int_distribution<int32_t>(first, last)(random);
  };
  PipelineProblem problem = {{}, draw(1, 5), draw(1, 9)};
  for (int32_t i = draw(2 * problem.devices, 4 * problem.devices); i > 0; --i)
    problem.layers.push_back(
        {1.0 * draw(0, 9), 1.0 * draw(0, 9), 1.0 * draw(0, 9), 1.0 * draw(0, 3), 1.0 * draw(1, 5)});
  problem.deferredMemory = draw(0, 4) / 4.0;
  problem.forwardFirst = draw(0, 1);
  return problem;
}

/// Computes the peak activations of a device from the start and end times of its operations.
static double getPeakFromTimes(const ScheduledPipeline &scheduled, int32_t device) {
  const PipelineResult &result = scheduled.result;
  double kept = scheduled.pipeline.deferredMemory, held = 0, peak = 0;
  for (TaskId task : result.timeline.order) {
    if (result.graph.graph.getResource(task) != device)
      continue;
    PipelineOp op = result.graph.ops[task];
    double share = scheduled.pipeline.stages[op.stage].activations;
    held += op.kind == OpKind::F ? share : 0;
    peak = std::max(peak, held);
    held -= op.kind == OpKind::B ? share * (1 - kept) : op.kind == OpKind::W ? share * kept : 0;
    held -= op.kind == OpKind::BW ? share : 0;
  }
  return peak;
}

class RandomPipelineTest : public testing::TestWithParam<int> {};

/// Every schedule runs each operation once, after its dependences, and is no shorter than the
/// critical path or the work of a device.
TEST_P(RandomPipelineTest, SchedulesAreLinearExtensions) {
  PipelineProblem problem = makeRandomProblem(GetParam());
  std::vector<ScheduledPipeline> ranking = rankSchedules(problem);
  EXPECT_GE(ranking.size(), 11u);
  for (const ScheduledPipeline &scheduled : ranking) {
    SCOPED_TRACE(getText(scheduled.kind));
    const Pipeline &pipeline = scheduled.pipeline;
    const auto &[graph, timeline, span, peaks] = scheduled.result;
    std::set<std::tuple<OpKind, int32_t, int32_t>> done;
    for (TaskId task : timeline.order) {
      auto [kind, stage, microbatch] = graph.ops[task];
      auto isDone = [&, microbatch = microbatch](OpKind before, int32_t where) {
        return done.count({before, where, microbatch}) > 0;
      };
      if (kind == OpKind::F)
        EXPECT_TRUE(stage == 0 || isDone(OpKind::F, stage - 1));
      else if (kind == OpKind::W)
        EXPECT_TRUE(isDone(OpKind::B, stage));
      else
        EXPECT_TRUE(isDone(OpKind::F, stage) &&
                    (stage + 1 == pipeline.getNumStages() || isDone(kind, stage + 1)));
      EXPECT_TRUE(done.insert({kind, stage, microbatch}).second);
    }
    double total = 0, expected = 0;
    for (double work : getWork(graph.graph)) {
      EXPECT_GE(span, work - 1e-9);
      total += work;
    }
    for (const StageCost &layer : problem.layers)
      expected += problem.microbatches * (layer.forward + layer.backward + layer.weight);
    EXPECT_NEAR(total, expected, 1e-9 * expected);
    EXPECT_GE(timeline.makespan, getCriticalPath(graph.graph) - 1e-9);
    for (int32_t device = 0; device < pipeline.devices; ++device)
      EXPECT_NEAR(peaks[device], getPeakFromTimes(scheduled, device), 1e-9);
  }
}

/// Sums over microbatches are therefore bitwise identical in all schedules.
TEST_P(RandomPipelineTest, GradientsOfAStageAreFormedInTheOrderOfMicrobatches) {
  for (const ScheduledPipeline &scheduled : rankSchedules(makeRandomProblem(GetParam()))) {
    std::vector<int32_t> next(scheduled.pipeline.getNumStages(), 0);
    for (const std::vector<PipelineOp> &ops : scheduled.orders)
      for (PipelineOp op : ops)
        if (op.kind == OpKind::W || op.kind == OpKind::BW)
          EXPECT_EQ(op.microbatch, next[op.stage]++) << getText(scheduled.kind);
  }
}

/// Stages exchange arrays in this order, without microbatch numbers.
TEST_P(RandomPipelineTest, StagesRunMicrobatchesInOrder) {
  for (const ScheduledPipeline &scheduled : rankSchedules(makeRandomProblem(GetParam()))) {
    std::map<std::pair<OpKind, int32_t>, int32_t> next;
    for (const std::vector<PipelineOp> &ops : scheduled.orders)
      for (PipelineOp op : ops)
        EXPECT_EQ(op.microbatch, (next[{op.kind, op.stage}]++)) << getText(scheduled.kind);
  }
}

/// Scheduling a given placement yields the same span as dividing and placing layers.
TEST_P(RandomPipelineTest, PlacedStagesHaveTheOrdersOfDividedLayers) {
  for (const ScheduledPipeline &scheduled : rankSchedules(makeRandomProblem(GetParam()))) {
    EXPECT_TRUE(supportsPlacement(scheduled.kind, scheduled.pipeline)) << getText(scheduled.kind);
    bool isFirst = makeRandomProblem(GetParam()).forwardFirst;
    std::optional<ScheduledPipeline> again =
        scheduleStages(scheduled.pipeline, scheduled.kind, {std::nullopt, isFirst});
    EXPECT_EQ(again.value().result.span, scheduled.result.span) << getText(scheduled.kind);
  }
}

TEST_P(RandomPipelineTest, SchedulesKeepToTheMemoryLimit) {
  PipelineProblem problem = makeRandomProblem(GetParam());
  problem.memoryLimit = 1.5;
  for (const ScheduledPipeline &scheduled : rankSchedules(problem))
    EXPECT_LE(scheduled.result.getPeakActivations(), 1.5 + 1e-9) << getText(scheduled.kind);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPipelineTest, testing::Range(0, 40));

TEST(ScheduleKindTest, ParsesWhatItPrints) {
  for (const char *text : {"gpipe", "1f1b", "zb-h1", "zb-h2", "zb-1p", "zb-2p", "zb-v", "v-half",
                           "v-min", "ooo", "modulo:2"})
    EXPECT_EQ(getText(parseScheduleKind(text).value()), text);
  for (const char *text : {"", "modulo", "modulo:0", "modulo:-1", "modulo:2x", "gpipe:1", "GPipe"})
    EXPECT_FALSE(parseScheduleKind(text)) << text;
}

/// Calculated by hand for the layers 3, 1, 1, 1, 4: the best halves are 3 + 1 + 1 and 1 + 4, and
/// the best thirds are 3 + 1, 1 + 1 and 4.
TEST(PlacementTest, DividesLayersEvenly) {
  Layers layers;
  for (double time : {3, 1, 1, 1, 4})
    layers.push_back({time, 0, 0});
  EXPECT_EQ(divideLayers(layers, 1), (std::vector<int32_t>{0, 0, 0, 0, 0}));
  EXPECT_EQ(divideLayers(layers, 2), (std::vector<int32_t>{0, 0, 0, 1, 1}));
  std::vector<int32_t> thirds = divideLayers(layers, 3);
  EXPECT_EQ(thirds.back(), 2);
  EXPECT_NE(thirds[3], 2);
}

TEST(PlacementTest, PlacesStages) {
  auto place = [](const char *text, int32_t chunks) {
    return placeStages(parsePlacementKind(text).value(), chunks, 2);
  };
  EXPECT_EQ(place("neighbours", 1), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(place("neighbours", 3), (std::vector<int32_t>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(place("v", 2), (std::vector<int32_t>{0, 1, 1, 0}));
  EXPECT_EQ(place("modulo:2", 4), (std::vector<int32_t>{0, 0, 1, 1, 0, 0, 1, 1}));
  for (const char *text : {"", "V", "modulo", "modulo:", "modulo:0", "modulo:2x", "neighbours:2"})
    EXPECT_FALSE(parsePlacementKind(text)) << text;
  EXPECT_FALSE(isValidNumStages(parsePlacementKind("v").value(), 3));
  EXPECT_FALSE(isValidNumStages(parsePlacementKind("modulo:2").value(), 3));
  EXPECT_FALSE(isValidNumStages(parsePlacementKind("neighbours").value(), 0));
}

/// Lists the schedules that support a placement of four stages.
TEST(PlacementTest, SchedulesGoWithPlacements) {
  auto list = [](std::vector<int32_t> placement) {
    Pipeline pipeline = makePipeline(Layers(4, {1, 1, 1}), {}, std::move(placement), 4);
    std::set<std::string> names;
    for (const ScheduledPipeline &scheduled : rankStages(pipeline, {}))
      names.insert(getText(scheduled.kind));
    return names;
  };
  EXPECT_EQ(list({0, 1, 1, 0}), (std::set<std::string>{"gpipe", "v-half", "v-min", "zb-v"}));
  EXPECT_EQ(list({0, 1, 0, 1}), (std::set<std::string>{"gpipe", "modulo:1"}));
  EXPECT_EQ(list({0, 0, 1, 1}), (std::set<std::string>{"gpipe", "ooo"}));
  EXPECT_EQ(list({0, 1, 2, 3}),
            (std::set<std::string>{"1f1b", "gpipe", "ooo", "zb-1p", "zb-2p", "zb-h1", "zb-h2"}));
}

TEST(PlacementTest, ModuloGivesGroupsToDevicesInTurns) {
  EXPECT_EQ(placeModulo(8, 1, 3), (std::vector<int32_t>{0, 1, 2, 0, 1, 2, 0, 1}));
  EXPECT_EQ(placeModulo(8, 2, 3), (std::vector<int32_t>{0, 0, 1, 1, 2, 2, 0, 0}));
}
