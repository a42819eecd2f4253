//===- BenchMemory.cpp - Memory check of benchmarks -----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Sizes of arrays follow from shapes, and the compiler plans device temporaries. CPU temporaries
// are measured at small sizes and extrapolated, as they grow at least linearly.
//
//===----------------------------------------------------------------------===//

#include "Variants/BenchMemory.h"
#include "Variants/Stopwatch.h"
#include "bppsa/Runtime/Device/Device.h"
#include "bppsa/Runtime/Error.h"
#include "bppsa/Runtime/Files/ArrayFiles.h"
#include "bppsa/Runtime/Files/Dataset.h"

#include <algorithm>
#include <limits>

using namespace bppsa::runtime;

/// Smaller steps are cheaper than the measurements.
static constexpr double kFewPositions = 1 << 20;

static double bytesOf(const ArrayInfo &info, const Symbols &symbols) {
  double bytes = elementSize(info.dtype);
  for (const Extent &extent : info.shape)
    bytes *= static_cast<double>(
        evaluate(extent, symbols).value_or(std::numeric_limits<int64_t>::max()));
  return bytes;
}

static double arrayBytes(const Model &model, const Symbols &symbols) {
  double bytes = 0;
  for (const ArrayInfo &input : model.inputs)
    bytes += bytesOf(input, symbols);
  for (const LossInfo &loss : model.losses) {
    bytes += loss.target ? bytesOf(*loss.target, symbols) : 0;
    bytes += loss.weight ? bytesOf(*loss.weight, symbols) : 0;
  }
  return bytes;
}

static std::string describe(double bytes) {
  constexpr double largest = 9e18;
  return bytes < largest ? describeBytes(static_cast<uint64_t>(bytes))
                         : text("more than ", describeBytes(static_cast<uint64_t>(largest)));
}

namespace {
/// Lower bounds in bytes.
struct Demand {
  const char *memory;
  double arrays, temporaries;

  void require(uint64_t available, int64_t steps, int64_t samples) const {
    if (arrays + temporaries <= static_cast<double>(available))
      return;
    fail("a step on ", samples, " samples of ", steps, " steps needs at least ",
         describe(arrays + temporaries), " of ", memory, " memory (", describe(arrays),
         " for arrays, ", describe(temporaries), " for temporaries), ", describeBytes(available),
         " are available; use a smaller --batch or --seq-len");
  }
};

class Extrapolation {
public:
  Extrapolation(const Program &program, int64_t steps, int64_t samples)
      : program(program), session(program, true), steps(steps), samples(samples) {}

  double temporaries() {
    double base = measure(1, 1), time = measure(2, 1), batch = measure(1, 2), both = measure(2, 2);
    // base + t perTime + b perBatch + t b perBoth, with t and b in [0, 1] for the measurements.
    double t = excess(steps, smallSteps()), b = excess(samples, smallSamples());
    auto slope = [](double value) { return std::max(value, 0.0); };
    return base + t * slope(time - base) + b * slope(batch - base) +
           t * b * slope(both - time - batch + base);
  }

private:
  /// Vectors hold up to 16 samples.
  static constexpr int64_t small = 16;

  int64_t smallSteps() const {
    return program.model.fixedSize(&ArrayInfo::timeAxis) ? steps : std::min(steps, small);
  }
  int64_t smallSamples() const {
    return program.model.fixedSize(&ArrayInfo::batchAxis) ? samples : std::min(samples, small);
  }
  static double excess(int64_t size, int64_t least) {
    return static_cast<double>(size - least) / static_cast<double>(least);
  }

  double measure(int64_t stepFactor, int64_t sampleFactor) {
    int64_t numSteps = std::min(steps, stepFactor * smallSteps());
    int64_t numSamples = std::min(samples, sampleFactor * smallSamples());
    Dataset data = Dataset::synthetic(program.model, numSamples, numSteps, {});
    Batch batch = data.whole();
    double fewest = std::numeric_limits<double>::infinity();
    for (const VariantInfo &variant : program.model.variants) {
      Call step = session.prepare("step." + variant.name, &batch);
      fewest = std::min(fewest, static_cast<double>(timeSteps(session, step, 1).bytes));
    }
    return fewest;
  }

  const Program &program;
  Session session;
  int64_t steps, samples;
};
} // namespace

static double arenaBytes(const Program &program, const Symbols &symbols) {
  double smallest = std::numeric_limits<double>::infinity();
  for (const VariantInfo &variant : program.model.variants)
    smallest = std::min(smallest, static_cast<double>(program.functions.arenaBytes(
                                      "step." + variant.name, symbols)));
  return smallest;
}

void bppsa::runtime::requireBenchMemory(const Program &program, int64_t steps, int64_t samples) {
  const Model &model = program.model;
  Symbols symbols = syntheticSymbols(model, samples, steps, {});
  double arrays = arrayBytes(model, symbols);
  uint64_t available = availableMemory();
  // The data set and its batch are in memory at the same time.
  Demand host = {"host", 2 * arrays, 0};
  host.require(available, steps, samples);
  if (isDeviceProgram() && !isEmulatedProgram()) {
    uint64_t free = programDevice()->memoryInfo().free;
    Demand{"device", arrays, 0}.require(free, steps, samples);
    Demand{"device", arrays, arenaBytes(program, symbols)}.require(free, steps, samples);
  } else if (!isDeviceProgram() && model.memoryLimit == 0 &&
             static_cast<double>(steps) * static_cast<double>(samples) > kFewPositions) {
    host.temporaries = Extrapolation(program, steps, samples).temporaries();
    host.require(available, steps, samples);
  }
}
