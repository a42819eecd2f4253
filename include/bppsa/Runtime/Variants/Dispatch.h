//===- Dispatch.h - Selection of compiled variants ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_VARIANTS_DISPATCH_H
#define BPPSA_RUNTIME_VARIANTS_DISPATCH_H

#include "bppsa/Runtime/Session.h"

namespace bppsa::runtime {

/// The values of --backward, --scan, --mapping and --calibration.
struct VariantRequest {
  /// auto, sequential or scan
  std::string backward = "auto";
  /// auto, or the plan of one of the program's scan variants
  std::string scan = "auto";
  /// auto, lanes, units or blocks
  std::string mapping = "auto";
  /// A file written by `bench --calibrate`; empty for none.
  std::string calibration = {};

  bool isAuto() const { return backward == "auto" && scan == "auto" && mapping == "auto"; }
};

/// Returns the variants that match the request for batches of `samples`. Throws Error if there are
/// none. For small batches, excludes variants with one sample per lane, whose vectors would be
/// mostly empty; for large ones, excludes variants whose vectors hold a single sample, unless they
/// could keep idle threads of `machine` busy.
std::vector<const VariantInfo *> matchingVariants(const Model &model, const VariantRequest &request,
                                                  int64_t samples, cost::HostMachine machine = {});

/// The function that computes graph outputs.
std::string inferFunction(const Model &model, const std::string &mapping, int64_t samples);

std::optional<size_t> timeSymbol(const Model &model);

/// Returns true if no array of the model is empty at `steps` time steps. Models that drop steps
/// have a minimum length.
bool isLongEnough(const Model &model, Symbols symbols, size_t timeSymbol, int64_t steps);

/// Throws Error for plans unknown to the cost model.
cost::Plan planOf(const VariantInfo &variant);

/// Returns the constants of the GPU cost model from the requested file, or the built-in ones.
cost::DeviceConstants chosenConstants(const Program &program, const VariantRequest &request);

struct Prediction {
  /// Of the backward passes.
  std::vector<double> microseconds;
  /// The fastest variant (the first one in a tie), and the ratio of the next best time to its time.
  const VariantInfo *best = nullptr;
  double lead = 1;
};

Prediction predictVariants(const Model &model, const std::vector<const VariantInfo *> &candidates,
                           int64_t steps, int64_t samples, const cost::DeviceConstants &constants);

/// Removes scans that, by operation counts, cannot be faster than a sequential variant among
/// `candidates`, regardless of the time per link.
std::vector<const VariantInfo *>
pruneSlowerScans(const Model &model, const std::vector<const VariantInfo *> &candidates,
                 int64_t steps, int64_t samples, cost::HostMachine machine);

struct VariantChoice {
  const VariantInfo *variant;
  /// Other variants that may be faster, to be checked during a run, and the estimated cost of one
  /// call of each, relative to a call of `variant`.
  std::vector<const VariantInfo *> others = {};
  double othersCost = 0;
};

/// Chooses the variant expected to be fastest for `calls` calls of `function` ("step" or "grad") on
/// batches like `batch`. If several variants match the request and cannot be ruled out by operation
/// counts, times them on synthetic batches of the same size and increasing length
/// (VariantTiming.h). Does not change the parameters. In GPU programs, calibrated constants decide;
/// built-in constants decide if their prediction is clear or if nothing can be measured, as under
/// emulation. Variants that do not fit in device memory are excluded.
VariantChoice chooseVariant(Session &session, const VariantRequest &request,
                            const std::string &function, Batch &batch, int64_t calls);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_VARIANTS_DISPATCH_H
