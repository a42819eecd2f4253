//===- Dispatch.h - Selection of compiled variants ------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_VARIANTS_DISPATCH_H
#define BPPSA_RUNTIME_VARIANTS_DISPATCH_H

#include "bppsa/Runtime/Session.h"

namespace bppsa::runtime {

struct VariantRequest {
  std::string backward = "auto";
  /// auto, or the plan of a scan variant
  std::string scan = "auto";
  std::string mapping = "auto";
  /// Written by `bench --calibrate`; empty for none.
  std::string calibration = {};

  bool isAuto() const { return backward == "auto" && scan == "auto" && mapping == "auto"; }
};

/// Returns the variants that match the request. Throws Error if there are none. Excludes variants
/// with one sample per lane for small batches, and variants with one sample per vector for large
/// ones unless idle threads of `machine` could use them.
std::vector<const VariantInfo *> matchingVariants(const Model &model, const VariantRequest &request,
                                                  int64_t samples, cost::HostMachine machine = {});

std::string inferFunction(const Model &model, const std::string &mapping, int64_t samples);

std::optional<size_t> timeSymbol(const Model &model);

/// Returns true if no array is empty at `steps` time steps.
bool isLongEnough(const Model &model, Symbols symbols, size_t timeSymbol, int64_t steps);

/// Throws Error for unknown plans.
cost::Plan planOf(const VariantInfo &variant);

cost::DeviceConstants chosenConstants(const Program &program, const VariantRequest &request);

struct Prediction {
  std::vector<double> microseconds;
  /// The fastest variant, and the ratio of the next best time to its time.
  const VariantInfo *best = nullptr;
  double lead = 1;
};

Prediction predictVariants(const Model &model, const std::vector<const VariantInfo *> &candidates,
                           int64_t steps, int64_t samples, const cost::DeviceConstants &constants);

/// Removes scans that, by operation counts, cannot be faster than a sequential candidate.
std::vector<const VariantInfo *>
pruneSlowerScans(const Model &model, const std::vector<const VariantInfo *> &candidates,
                 int64_t steps, int64_t samples, cost::HostMachine machine);

struct VariantChoice {
  const VariantInfo *variant;
  /// Variants to check during a run, and the cost of one call of each relative to `variant`.
  std::vector<const VariantInfo *> others = {};
  double othersCost = 0;
};

/// Chooses the variant expected to be fastest for `calls` calls of `function` ("step" or "grad") on
/// batches like `batch`. Times candidates on synthetic batches if operation counts do not decide.
/// GPU programs use calibrated constants, or built-in ones if their prediction is clear or nothing
/// can be measured. Variants that do not fit in device memory are excluded. Does not change the
/// parameters.
VariantChoice chooseVariant(Session &session, const VariantRequest &request,
                            const std::string &function, Batch &batch, int64_t calls);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_VARIANTS_DISPATCH_H
