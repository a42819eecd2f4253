//===- FakeModelDescription.cpp - The data of the fake model --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Runtime/ObjectInterface.h"

#ifdef BPPSA_FAKE_MSE
#define LOSS "mse"
#define OPTIMIZER R"("optimizer": "sgd", "optimizer_states": 0,)"
#define TARGET R"("dtype": "f32", "shape": ["B", 4], "batch_axes": [0])"
#define EVAL R"("loss"])"
#else
#define LOSS "cross-entropy"
#define OPTIMIZER R"("optimizer": "adam", "optimizer_states": 2,)"
#define TARGET R"("dtype": "i64", "shape": ["B"], "batch_axes": [0], "classes": 4)"
#define EVAL R"("loss", "correct"])"
#endif
#ifdef BPPSA_FAKE_DEVICE
#define DEVICE "cuda"
// Costs of a state with three rows, for the cost model.
#define STEP_COST(CYCLES, INSTRUCTIONS, COLUMNS)                                                   \
  R"({"cycles": )" #CYCLES R"(, "instructions": )" #INSTRUCTIONS                                   \
  R"(, "warps": 1, "resident": 32, "columns": )" #COLUMNS "}"
// clang-format off
#define CHAINS                                                                                     \
  R"("device_chains": [{"rows": 3, "columns": 3, "has_offset": false, "saved_bytes": 12, )"        \
  R"("emitted_bytes": 12, "walk": )" STEP_COST(200, 60, 1)                                         \
  R"(, "column": )" STEP_COST(400, 200, 32) R"(, "carry": )" STEP_COST(700, 50, 1)                 \
  R"(, "product": )" STEP_COST(900, 90, 1) R"(}],)"
// clang-format on
#else
#define DEVICE "cpu"
#ifdef BPPSA_FAKE_FIRST_USES
// clang-format off
#define CHAINS                                                                                     \
  R"("first_uses": {"step.sequential": ["head.bias", "head.weight"], )"                            \
  R"("step.scan": ["head.bias", "head.weight"]},)"
// clang-format on
#else
#define CHAINS ""
#endif
#endif
#define FORWARD R"("input:x", "param:scale", "param:head.weight", "param:head.bias", )"
#define STEP R"("target", "loss", "grad:head.weight", "grad:head.bias")"

extern "C" {
extern const char bppsa_model_json[] = R"({"schema": 1, "version": "0.1.0", "source": "fake.onnx",
  "target": ")" DEVICE R"(", )" OPTIMIZER R"("losses": [{"loss": ")" LOSS
                                       R"(", "output": "logits", "target_array": {)" TARGET
                                       R"(}}], "symbols": ["T", "B"],
  "inputs": [{"name": "x", "dtype": "f32", "shape": ["T", "B", 3], "batch_axes": [1], "time_axis": 0,
              "gradient": true}],
  "outputs": [{"name": "logits", "dtype": "f32", "shape": ["B", 4], "batch_axes": [0],
               "time_axis": null}],
  "parameters": [
    {"name": "scale", "shape": [3], "trained": false, "offset": 170, "stride": 4},
    {"name": "head.weight", "shape": [4, 3], "trained": true, "offset": 205, "stride": 4},
    {"name": "head.bias", "shape": [4], "trained": true, "offset": 261, "stride": 4}],
  "variants": [{"name": "sequential", "backward": "sequential"},
               {"name": "scan", "backward": "scan", "plan": "chunked:32"}],
  "hyper": {"lr": 0.001, "weight_decay": 0, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8},
  "flops_per_position": 6, )" CHAINS R"(
  "functions": {"infer": [)" FORWARD R"("output:logits"],
    "eval": [)" FORWARD R"("target", )" EVAL R"(,
    "step.sequential": [)" FORWARD STEP R"(],
    "grad.sequential": [)" FORWARD STEP R"(, "input_grad:x"],
    "step.scan": [)" FORWARD STEP R"(],
    "grad.scan": [)" FORWARD STEP R"(, "input_grad:x"],
    "update": ["flat_params", "flat_grads", "flat_state0", "flat_state1", "hyper"],
    "sumsq": ["flat_grads", "sumsq"]}})";
extern const uint64_t bppsa_model_json_size = sizeof(bppsa_model_json) - 1;

extern const unsigned char bppsa_model_onnx[] = {
#include "FakeModelOnnx.inc"
};
extern const uint64_t bppsa_model_onnx_size = sizeof(bppsa_model_onnx);
}
