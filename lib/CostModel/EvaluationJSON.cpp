//===- EvaluationJSON.cpp - print plan evaluations as JSON ----------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/EvaluationJSON.h"
#include "llvm/Support/JSON.h"

using namespace bppsa;

using llvm::json::OStream;

using GroupKind = LevelCost::Group::Kind;
using Phase = LevelCost::Phase;

/// Cells per side of the picture of a zero pattern.
static constexpr int64_t kPictureCells = 32;

static llvm::StringRef getName(Phase phase) {
  switch (phase) {
  case Phase::Linearize:
    return "linearize";
  case Phase::Up:
    return "up";
  case Phase::Middle:
    return "middle";
  case Phase::Down:
    return "down";
  case Phase::Emit:
    return "emit";
  }
  llvm_unreachable("every phase is listed");
}

static llvm::StringRef getName(GroupKind kind) {
  switch (kind) {
  case GroupKind::Linearize:
    return "linearize";
  case GroupKind::Compose:
    return "compose";
  case GroupKind::Apply:
    return "apply";
  case GroupKind::Emit:
    return "emit";
  }
  llvm_unreachable("every kind is listed");
}

static void writePicture(OStream &json, const MatrixStructure &structure) {
  if (!structure.hasPicture())
    return;
  json.attributeArray("picture", [&] {
    for (const std::string &line : structure.sample(kPictureCells))
      json.value(line);
  });
}

static void writeLevel(OStream &json, const LevelCost &level) {
  json.attribute("sweep", getName(level.phase));
  json.attribute("repeat", level.repeat);
  json.attribute("compose", level.count(GroupKind::Compose));
  json.attribute("apply", level.count(GroupKind::Apply));
  json.attribute("copy", level.copies);
  json.attribute("flops", level.flops);
  json.attribute("max_flops", level.maxFlops);
  json.attribute("bytes", level.bytes);
  json.attributeArray("products", [&] {
    for (const LevelCost::Group &group : level.groups)
      json.object([&] {
        json.attribute("kind", getName(group.kind));
        json.attribute("first", group.first);
        json.attribute("second", group.second);
        json.attribute("result", group.result);
        json.attribute("count", group.count);
        json.attribute("flops", group.flops);
      });
  });
  if (level.operations.empty())
    return;
  json.attributeArray("operations", [&] {
    for (const LevelCost::Operation &operation : level.operations)
      json.object([&] {
        json.attribute("kind", getName(operation.kind));
        json.attribute("left", operation.left);
        json.attribute("right", operation.right);
        json.attribute("out", operation.out);
        json.attribute("result", operation.result.getName());
        json.attribute("rows", operation.result.getRows());
        json.attribute("cols", operation.result.getCols());
        json.attribute("nonzeros", operation.result.getNumNonzeros());
        json.attribute("flops", operation.flops);
        writePicture(json, operation.result);
      });
  });
}

static void writeLevels(OStream &json, llvm::ArrayRef<LevelCost> levels) {
  json.attributeArray("levels", [&] {
    for (const LevelCost &level : levels)
      json.object([&] { writeLevel(json, level); });
  });
}

static void writePlan(OStream &json, const PlanEvaluation &plan) {
  json.attribute("plan", plan.plan);
  json.attribute("depth", plan.depth);
  json.attribute("steps", plan.steps);
  json.attribute("compose", plan.composes);
  json.attribute("apply", plan.applies);
  json.attribute("copy", plan.copies);
  json.attribute("flops", plan.flops);
  json.attribute("critical_path_flops", plan.criticalPathFlops);
  json.attribute("span_flops", plan.spanFlops);
  json.attribute("max_flops", plan.maxFlops);
  json.attribute("bytes", plan.bytes);
  json.attribute("link_bytes", plan.linkBytes);
  json.attribute("peak_bytes", plan.peakBytes);
  json.attributeArray("makespans", [&] {
    for (Makespan makespan : plan.makespans)
      json.object([&] {
        json.attribute("workers", makespan.workers);
        json.attribute("flops", makespan.flops);
      });
  });
  writeLevels(json, plan.levels);
  if (plan.drawing)
    json.attributeObject("drawing", [&] {
      json.attribute("plan", plan.drawing->plan);
      json.attribute("links", plan.drawing->numLinks);
      writeLevels(json, plan.drawing->levels);
    });
}

static void writeLinks(OStream &json, llvm::ArrayRef<MatrixStructure> links) {
  auto areEqual = [](const MatrixStructure &a, const MatrixStructure &b) {
    return a.getRows() == b.getRows() && a.getCols() == b.getCols() && a.getName() == b.getName() &&
           a.getNumNonzeros() == b.getNumNonzeros();
  };
  for (size_t first = 0; first < links.size();) {
    size_t end = first + 1;
    while (end < links.size() && areEqual(links[first], links[end]))
      ++end;
    json.object([&] {
      json.attribute("structure", links[first].getName());
      json.attribute("rows", links[first].getRows());
      json.attribute("cols", links[first].getCols());
      json.attribute("nonzeros", links[first].getNumNonzeros());
      json.attribute("repeat", int64_t(end - first));
      writePicture(json, links[first]);
    });
    first = end;
  }
}

static void writeRegion(OStream &json, const RegionCost &region) {
  json.attributeObject("region", [&] {
    json.attribute("state_flops", region.stateFlops);
    json.attribute("emit_flops", region.emitFlops);
    json.attribute("full_flops", region.fullFlops);
    json.attribute("saved_bytes", region.savedBytes);
    json.attribute("capture_bytes", region.captureBytes);
    json.attribute("emitted_bytes", region.emittedBytes);
  });
}

const PlanEvaluation *bppsa::findFastest(llvm::ArrayRef<PlanEvaluation> plans, int64_t workers) {
  const PlanEvaluation *fastest = nullptr;
  int64_t shortest = 0;
  for (const PlanEvaluation &plan : plans)
    for (Makespan makespan : plan.makespans)
      if (makespan.workers == workers && (!fastest || makespan.flops < shortest)) {
        fastest = &plan;
        shortest = makespan.flops;
      }
  return fastest;
}

static void writeShape(OStream &json, llvm::StringRef key, llvm::ArrayRef<int64_t> shape) {
  json.attributeArray(key, [&] {
    for (int64_t size : shape)
      json.value(size);
  });
}

static void writeLayers(OStream &json, const LayerGraph &graph, const LinkChain &chain) {
  json.attribute("begins", graph.begins);
  json.attribute("ends", graph.ends);
  json.attributeArray("layers", [&] {
    int64_t link = chain.links.size();
    for (const LayerDescription &layer : graph.layers) {
      const MatrixStructure &structure = chain.links[link - 1];
      json.object([&] {
        json.attribute("operation", layer.operation);
        json.attribute("name", layer.name);
        writeShape(json, "operand", layer.operand);
        writeShape(json, "result", layer.result);
        json.attribute("structure", structure.getName());
        json.attribute("rows", structure.getRows());
        json.attribute("cols", structure.getCols());
        json.attribute("nonzeros", structure.getNumNonzeros());
        json.attribute("shared", structure.isShared());
        json.attribute("link", link--);
      });
    }
  });
}

static void writeStep(OStream &json, const StepDescription &step) {
  auto writeShapes = [&](llvm::StringRef key, llvm::ArrayRef<Shape> shapes) {
    json.attributeArray(key, [&] {
      for (const Shape &shape : shapes)
        json.array([&] {
          for (int64_t size : shape)
            json.value(size);
        });
    });
  };
  json.attributeObject("step", [&] {
    json.attribute("operation", step.operation);
    json.attribute("name", step.name);
    writeShapes("states", step.states);
    writeShapes("saved", step.saved);
    json.attributeArray("injected", [&] {
      for (const StepDescription::Injected &injected : step.injected)
        json.object([&] {
          writeShape(json, "shape", injected.shape);
          json.attribute("state", injected.state);
        });
    });
    writeShapes("captures", step.captures);
    writeShapes("emitted", step.emitted);
    json.attributeArray("operations", [&] {
      for (const auto &[name, count] : step.operations)
        json.object([&, &name = name, &count = count] {
          json.attribute("operation", name);
          json.attribute("count", count);
        });
    });
  });
}

static void writeNumbers(OStream &json, llvm::StringRef key, llvm::ArrayRef<int64_t> numbers) {
  json.attributeArray(key, [&] {
    for (int64_t number : numbers)
      json.value(number);
  });
}

static void writeStepCosts(OStream &json, const cost::ChainCost &chain) {
  for (auto [name, step] : llvm::zip_equal(cost::workNames, chain.steps))
    json.attributeObject(name, [&, &step = step] {
      json.attribute("cycles", step.cycles);
      json.attribute("instructions", step.instructions);
      json.attribute("warps", step.warps);
      json.attribute("resident", step.resident);
      json.attribute("columns", step.columns);
    });
}

static void writeDevice(OStream &json, const DeviceEvaluation &device) {
  json.attribute("constants", device.constants);
  json.attributeObject("steps", [&] { writeStepCosts(json, device.chain); });
  json.attribute("length", device.length);
  json.attribute("batch", device.batch);
  json.attributeArray("plans", [&] {
    for (const DeviceEvaluation::PlanTime &plan : device.plans)
      json.object([&] {
        json.attribute("plan", plan.plan);
        json.attribute("us", plan.time);
      });
  });
  writeNumbers(json, "lengths", device.lengths);
  writeNumbers(json, "batches", device.batches);
  json.attributeArray("ratios", [&] {
    for (const std::vector<double> &row : device.ratios)
      json.array([&] {
        for (double ratio : row)
          json.value(ratio);
      });
  });
  json.attributeArray("crossovers", [&] {
    for (const DeviceEvaluation::Crossover &crossover : device.crossovers)
      json.object([&] {
        json.attribute("batch", crossover.batch);
        json.attribute("length", crossover.length);
      });
  });
}

static void writeChain(OStream &json, const ChainEvaluation &evaluation,
                       const EvaluationOptions &options) {
  const LinkChain &chain = evaluation.chain;
  json.attribute("name", chain.name);
  json.attribute("links", int64_t(chain.links.size()));
  json.attribute("batch", chain.batch);
  json.attribute("injected", chain.hasInjected);
  json.attribute("initial", chain.withInitial);
  if (chain.region)
    writeRegion(json, *chain.region);
  if (evaluation.graph)
    writeLayers(json, *evaluation.graph, chain);
  if (evaluation.step)
    writeStep(json, *evaluation.step);
  json.attributeArray("structures", [&] { writeLinks(json, chain.links); });
  if (evaluation.device)
    json.attributeObject("gpu", [&] { writeDevice(json, *evaluation.device); });
  json.attributeArray("fastest", [&] {
    for (int64_t workers : options.workers)
      if (const PlanEvaluation *plan = findFastest(evaluation.plans, workers))
        json.object([&] {
          json.attribute("workers", workers);
          json.attribute("plan", plan->plan);
        });
  });
  json.attributeArray("plans", [&] {
    for (const PlanEvaluation &plan : evaluation.plans)
      json.object([&] { writePlan(json, plan); });
  });
}

void bppsa::writeEvaluations(llvm::ArrayRef<ChainEvaluation> evaluations,
                             const EvaluationOptions &options, llvm::raw_ostream &os) {
  OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("format", 1);
    json.attribute("step_overhead", options.stepOverhead);
    json.attributeArray("chains", [&] {
      for (const ChainEvaluation &evaluation : evaluations)
        json.object([&] { writeChain(json, evaluation, options); });
    });
  });
  os << '\n';
}
