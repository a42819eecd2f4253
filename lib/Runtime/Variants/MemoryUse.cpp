//===- MemoryUse.cpp - Memory use of training -----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "Variants/MemoryUse.h"
#include "SegmentSteps.h"
#include "Variants/BenchMemory.h"
#include "Variants/Stopwatch.h"

using namespace bppsa::runtime;
using nlohmann::ordered_json;

ordered_json bppsa::runtime::describeMemory(const Program &program, int64_t steps,
                                            int64_t samples) {
  const Model &model = program.model;
  requireBenchMemory(program, steps, samples);
  Dataset data = Dataset::synthetic(model, samples, steps, {});
  Batch batch = data.whole();
  int64_t all = 0, trained = 0, arrays = 0;
  for (const ParameterInfo &info : model.parameters) {
    all += info.elements;
    trained += info.trained ? info.elements : 0;
  }
  for (const DeviceMirror &mirror : batch.mirrors)
    arrays += static_cast<int64_t>(mirror.size());
  ordered_json byVariant = ordered_json::object(), segments = ordered_json::object();
  for (const VariantInfo &variant : model.variants) {
    std::string function = "step." + variant.name;
    Session session(program, true);
    // The variant does not fit in device memory.
    if (!session.fits(function, batch)) {
      byVariant[variant.name] = nullptr;
      continue;
    }
    Call step = session.prepare(function, &batch);
    byVariant[variant.name] = timeSteps(session, step, 1).bytes + step.arenaBytes();
    SegmentRecord record;
    step();
    if (!record.toJson().empty())
      segments[variant.name] = record.toJson();
  }
  constexpr int64_t size = sizeof(float);
  ordered_json memory = {{"seq_len", steps},
                         {"batch", samples},
                         {"parameters", all * size},
                         {"gradients", trained * size},
                         {"optimizer", trained * size * model.optimizerStates},
                         {"arrays", arrays},
                         {"step", byVariant}};
  if (!segments.empty())
    memory["segments"] = segments;
  return memory;
}
