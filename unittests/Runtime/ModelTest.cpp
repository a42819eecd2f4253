//===- ModelTest.cpp - Description of a compiled model --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/Model.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/Dataset.h"
#include "bppsa/Runtime/ObjectInterface.h"
#include "gtest/gtest.h"

#include <nlohmann/json.hpp>

using namespace bppsa::runtime;
using nlohmann::json;

/// The description of the fake model, for tests to modify.
static json description() { return json::parse(bppsa_model_json); }
static Model parse(const json &object) { return parseModel(object.dump(), bppsa_model_onnx_size); }

TEST(ModelTest, ExtentsAreExpressionsOfSymbols) {
  json object = description();
  object["outputs"][0]["shape"] = json::parse(
      R"([["ceildiv", ["+", "T", 1], 4], ["floordiv", "T", 4], ["mod", "T", 4], ["*", "B", -1]])");
  Model model = parse(object);
  const std::vector<Extent> &shape = model.outputs[0].shape;
  Symbols symbols = {10, 3};
  EXPECT_EQ(evaluate(shape[0], symbols), 3);
  EXPECT_EQ(evaluate(shape[1], symbols), 2);
  EXPECT_EQ(evaluate(shape[2], symbols), 2);
  EXPECT_EQ(evaluate(shape[3], symbols), -3);
  EXPECT_EQ(evaluate(shape[0], {std::nullopt, 3}), std::nullopt);
  EXPECT_EQ(model.extentText(shape[0]), "((T + 1) ceildiv 4)");
  EXPECT_THROW(model.extents(shape, symbols), Error);
}

TEST(ModelTest, SymbolsAreBoundOnce) {
  Model model = parse(description());
  Symbols symbols(2);
  std::vector<std::string> origin(2);
  EXPECT_EQ(bindShape(model, model.inputs[0], {5, 7, 3}, symbols, origin), "");
  EXPECT_EQ(symbols, (Symbols{5, 7}));
  EXPECT_EQ(bindShape(model, *model.losses[0].target, {7}, symbols, origin), "");
  EXPECT_EQ(bindShape(model, *model.losses[0].target, {8}, symbols, origin),
            "found shape [8], expected [B]: axis 0 must have size 7 (B is 7 in array 'x')");
}

TEST(ModelTest, RefusesDamagedDescriptions) {
  EXPECT_THROW(parseModel("", 0), Error);
  EXPECT_THROW(parseModel("{}", 0), Error);
  // The parameters do not fit into a file of ten bytes.
  EXPECT_THROW(parseModel(description().dump(), 10), Error);
  for (const char *patch : {R"([{"op": "replace", "path": "/schema", "value": 2}])",
                            R"([{"op": "remove", "path": "/schema"}])",
                            R"([{"op": "replace", "path": "/inputs/0/dtype", "value": "f64"}])",
                            R"([{"op": "replace", "path": "/inputs/0/shape/0", "value": "X"}])",
                            R"([{"op": "replace", "path": "/inputs/0/batch_axes/0", "value": 3}])",
                            R"([{"op": "replace", "path": "/inputs/0/name", "value": "target"}])",
                            R"([{"op": "remove", "path": "/functions"}])"})
    EXPECT_THROW(parse(description().patch(json::parse(patch))), Error) << patch;
}

/// A model with two layouts: the input has batch axis 1 or 0, and the output has batch axis 0 or
/// none.
static json twoLayouts() {
  json object = description();
  object["inputs"][0]["batch_axes"] = {1, 0};
  object["outputs"][0]["batch_axes"] = {0, nullptr};
  object["losses"][0]["target_array"]["batch_axes"] = {0, nullptr};
  object["mixing_layouts"] = {false, true};
  return object;
}

TEST(ModelTest, LayoutsAreChosenByAnAxis) {
  Model model = parse(twoLayouts());
  EXPECT_EQ(model.inputs[0].batchAxis, 1);
  EXPECT_FALSE(model.mixesSamples());
  setBatchAxes(model, {"x:0"});
  EXPECT_EQ(model.inputs[0].batchAxis, 0);
  EXPECT_EQ(model.outputs[0].batchAxis, std::nullopt);
  EXPECT_TRUE(model.mixesSamples());
  setBatchAxes(model, {"logits:0", "x:1"});
  EXPECT_EQ(model.inputs[0].batchAxis, 1);
  EXPECT_THROW(setBatchAxes(model, {"logits:0", "x:0"}), Error);
  EXPECT_THROW(setBatchAxes(model, {"logits:1"}), Error);
  EXPECT_THROW(setBatchAxes(model, {"x"}), UsageError);
}

TEST(ModelTest, RefusesLayoutsThatDiffer) {
  json object = twoLayouts();
  object["outputs"][0]["batch_axes"] = {0};
  EXPECT_THROW(parse(object), Error);
}

TEST(ModelTest, SlicingNeedsAnAxis) {
  json object = twoLayouts();
  EXPECT_NO_THROW(requireSamples(parse(object)));
  object["losses"][0]["target_array"]["batch_axes"] = {nullptr, nullptr};
  EXPECT_THROW(requireSamples(parse(object)), Error);
  object["inputs"][0]["batch_axes"] = {nullptr, 1};
  EXPECT_THROW(requireSamples(parse(object)), Error);
}

/// Returns a model with fixed batch size `batch`.
static Model fixedBatch(int64_t batch) {
  json object = description();
  object["inputs"][0]["shape"][1] = object["outputs"][0]["shape"][0] = batch;
  object["losses"][0]["target_array"]["shape"][0] = batch;
  return parse(object);
}

TEST(ModelTest, FixedBatchSizes) {
  Model model = fixedBatch(4);
  EXPECT_THROW(Dataset::synthetic(model, 5, 2, {}), Error);
  Dataset data = Dataset::synthetic(model, 4, 2, {});
  EXPECT_EQ(data.fixedBatch(), 4);
  EXPECT_NO_THROW(data.requireBatches(4));
  EXPECT_THROW(data.requireBatches(2), Error);
}

TEST(DatasetTest, BatchesHoldTheChosenSamples) {
  Model model = parse(description());
  Dataset data = Dataset::synthetic(model, 9, 300, {});
  Batch whole = data.whole(), some = data.newBatch(4);
  std::vector<int64_t> order = {8, 0, 3};
  data.gather(order.data(), 3, some);
  EXPECT_EQ(some.inputs[0].shape, (std::vector<int64_t>{300, 3, 3}));
  EXPECT_EQ(some.symbols, (Symbols{300, 3}));
  for (int64_t t = 0; t < 300; ++t)
    for (int64_t s = 0; s < 3; ++s)
      for (int64_t i = 0; i < 3; ++i)
        ASSERT_EQ(some.inputs[0].as<float>()[(t * 3 + s) * 3 + i],
                  whole.inputs[0].as<float>()[(t * 9 + order[s]) * 3 + i]);
  for (int64_t s = 0; s < 3; ++s)
    EXPECT_EQ(some.losses[0].target.as<int64_t>()[s],
              whole.losses[0].target.as<int64_t>()[order[s]]);
}
