//===- DispatchTest.cpp - Tests of variant selection ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Variants/Dispatch.h"
#include "bppsa/Runtime/Error.h"
#include "gtest/gtest.h"

using namespace bppsa::runtime;
namespace cost = bppsa::cost;

static std::vector<std::string> matching(const char *backward, const char *scan,
                                         const char *mapping = "lanes", int64_t samples = 16) {
  Model model;
  model.variants = {{"sequential", "sequential", ""},
                    {"sequential.units", "sequential", "", "units"},
                    {"scan.a", "scan", "chunked:32"},
                    {"scan.b", "scan", "blelloch"}};
  std::vector<std::string> names;
  for (const VariantInfo *variant : matchingVariants(model, {backward, scan, mapping}, samples))
    names.push_back(variant->name);
  return names;
}

TEST(DispatchTest, FlagsNarrowTheChoice) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(matching("auto", "auto"), (Names{"sequential", "scan.a", "scan.b"}));
  EXPECT_EQ(matching("sequential", "auto"), (Names{"sequential"}));
  EXPECT_EQ(matching("scan", "auto"), (Names{"scan.a", "scan.b"}));
  EXPECT_EQ(matching("scan", "blelloch"), (Names{"scan.b"}));
  EXPECT_EQ(matching("auto", "blelloch"), (Names{"scan.b"}));
  EXPECT_THROW(matching("scan", "hybrid:3"), Error);
}

TEST(DispatchTest, SmallBatchesTakeUnits) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(matching("sequential", "auto", "auto", 1), (Names{"sequential.units"}));
  EXPECT_EQ(matching("sequential", "auto", "auto", 8), (Names{"sequential", "sequential.units"}));
  EXPECT_EQ(matching("auto", "auto", "auto", 16), (Names{"sequential", "scan.a", "scan.b"}));
  EXPECT_EQ(matching("auto", "auto", "units", 16), (Names{"sequential.units"}));
  EXPECT_THROW(matching("scan", "auto", "units", 1), Error);
}

TEST(DispatchTest, UnitsFillThreadsThatGroupsOfSamplesLeaveIdle) {
  Model model;
  model.variants = {{"sequential", "sequential", ""},
                    {"sequential.units", "sequential", "", "units"}};
  model.hostChains.emplace_back();
  model.hostChains[0].linkOperations = 3 * 64 * 64;
  auto count = [&](const VariantRequest &request, int64_t samples, cost::HostMachine machine) {
    return matchingVariants(model, request, samples, machine).size();
  };
  VariantRequest any = {"auto", "auto", "auto"};
  EXPECT_EQ(count(any, 16, {1, 16}), 1u);
  EXPECT_EQ(count(any, 16, {2, 16}), 2u);
  EXPECT_EQ(count(any, 17, {2, 16}), 1u);
  EXPECT_EQ(count(any, 32, {3, 16}), 2u);
  EXPECT_EQ(count(any, 16, {2, 8}), 2u);
  // With registers of 4 floats, samples share no matrix.
  EXPECT_EQ(count(any, 16, {2, 4}), 1u);
  // Requests more specific than auto must yield the same bits for any number of threads.
  EXPECT_EQ(count({"sequential", "auto", "auto"}, 16, {2, 16}), 1u);
  EXPECT_EQ(count({"auto", "auto", "lanes"}, 16, {2, 16}), 1u);
  model.memoryLimit = 1 << 20;
  EXPECT_EQ(count(any, 16, {2, 16}), 1u);
  model.memoryLimit = 0;
  model.hostChains[0].linkOperations = 3 * 50 * 50;
  EXPECT_EQ(count(any, 16, {2, 16}), 1u);
}

TEST(DispatchTest, SmallBatchesHaveChunksInLanes) {
  Model model;
  model.variants = {{"scan", "scan", "chunked"}, {"scan.chunks", "scan", "chunked", "chunks"}};
  auto matching = [&](const char *mapping, int64_t samples) {
    std::vector<std::string> names;
    for (const VariantInfo *variant : matchingVariants(model, {"auto", "auto", mapping}, samples))
      names.push_back(variant->name);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(matching("auto", 1), (Names{"scan.chunks"}));
  EXPECT_EQ(matching("auto", 8), (Names{"scan", "scan.chunks"}));
  EXPECT_EQ(matching("auto", 16), (Names{"scan"}));
  EXPECT_EQ(matching("chunks", 16), (Names{"scan.chunks"}));
  EXPECT_THROW(matching("units", 1), Error);
}

TEST(DispatchTest, InferenceFollowsTheMapping) {
  Model model;
  EXPECT_EQ(inferFunction(model, "auto", 1), "infer");
  EXPECT_THROW(inferFunction(model, "units", 1), Error);
  EXPECT_THROW(inferFunction(model, "blocks", 1), Error);
  model.functions["infer.units"] = {};
  EXPECT_EQ(inferFunction(model, "auto", 1), "infer.units");
  EXPECT_EQ(inferFunction(model, "chunks", 16), "infer.units");
  EXPECT_EQ(inferFunction(model, "auto", 16), "infer");
  EXPECT_EQ(inferFunction(model, "lanes", 1), "infer");
}

TEST(DispatchTest, PredictsVariantsOfDevices) {
  Model model;
  model.variants = {{"sequential", "sequential", ""}, {"scan", "scan", "chunked:10"}};
  model.deviceChains.emplace_back();
  cost::ChainCost &chain = model.deviceChains.front();
  for (cost::StepCost &step : chain.steps)
    step.cycles = 1000;
  cost::DeviceConstants device;
  device.multiprocessors = device.bandwidth = 1e6;
  device.launch = 1;
  device.cycle.fill(1);
  std::vector<const VariantInfo *> all = {&model.variants[0], &model.variants[1]};
  // A step takes 1 us: the sequential variant takes 100 steps, the scan three launches with 10, 9
  // and 10 steps.
  Prediction prediction = predictVariants(model, all, 100, 1, device);
  EXPECT_EQ(prediction.microseconds, (std::vector<double>{101, 32}));
  EXPECT_EQ(prediction.best, all[1]);
  EXPECT_DOUBLE_EQ(prediction.lead, 101.0 / 32);
  EXPECT_EQ(predictVariants(model, all, 10, 1, device).best, all[0]);
  model.variants[1].plan = "zigzag";
  EXPECT_THROW(predictVariants(model, all, 100, 1, device), Error);
}

TEST(DispatchTest, LeavesOutWhatCannotWin) {
  Model model;
  model.variants = {{"sequential", "sequential", ""},
                    {"sequential.units", "sequential", "", "units"},
                    {"scan", "scan", "auto"}};
  const VariantInfo *lanes = &model.variants[0], *units = &model.variants[1],
                    *scan = &model.variants[2];
  using Variants = std::vector<const VariantInfo *>;
  // There are no operation counts for layers.
  EXPECT_EQ(pruneSlowerScans(model, {lanes, scan}, 100, 16, {1, 16}), (Variants{lanes, scan}));
  model.hostChains.emplace_back();
  model.hostChains[0].linkOperations = model.hostChains[0].columnOperations = 1;
  EXPECT_EQ(pruneSlowerScans(model, {lanes, units, scan}, 100, 16, {1, 16}),
            (Variants{lanes, units}));
  EXPECT_EQ(pruneSlowerScans(model, {units, scan}, 100, 1, {1, 16}), (Variants{units}));
  EXPECT_EQ(pruneSlowerScans(model, {lanes, scan}, 100, 16, {64, 16}), (Variants{lanes, scan}));
  EXPECT_EQ(pruneSlowerScans(model, {lanes, scan}, 100, 1024, {64, 16}), (Variants{lanes}));
  // An explicitly requested plan is kept.
  EXPECT_EQ(pruneSlowerScans(model, {scan}, 100, 16, {1, 16}), (Variants{scan}));
}

TEST(DispatchTest, DevicesHaveBlocks) {
  Model model;
  model.target = "cuda";
  model.variants = {{"sequential", "sequential", "", "blocks"},
                    {"scan", "scan", "chunked:32", "blocks"}};
  for (const char *mapping : {"auto", "blocks"}) {
    EXPECT_EQ(matchingVariants(model, {"auto", "auto", mapping}, 1).size(), 2u);
    EXPECT_EQ(inferFunction(model, mapping, 1), "infer");
  }
  EXPECT_THROW(matchingVariants(model, {"auto", "auto", "lanes"}, 16), Error);
  EXPECT_THROW(inferFunction(model, "lanes", 16), Error);
}
