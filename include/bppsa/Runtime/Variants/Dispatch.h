//===- Dispatch.h - Choice between compiled variants ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_VARIANTS_DISPATCH_H
#define BPPSA_RUNTIME_VARIANTS_DISPATCH_H

#include "bppsa/Runtime/Session.h"

namespace bppsa::runtime {

/// What --backward, --scan and --mapping say.
struct VariantRequest {
  /// auto, sequential or scan
  std::string backward = "auto";
  /// auto, or the plan of one of the program's scan variants
  std::string scan = "auto";
  /// auto, lanes, units or blocks
  std::string mapping = "auto";
  /// A file that `bench --calibrate` wrote; empty: none.
  std::string calibration = {};

  bool isAuto() const { return backward == "auto" && scan == "auto" && mapping == "auto"; }
};

/// The variants that fit the request for batches of `samples`; throws Error when there are none.
/// Small batches leave out variants whose vectors would be mostly empty, large ones those whose
/// vectors hold one sample, unless they may give work to threads of `machine` that have none.
std::vector<const VariantInfo *> matchingVariants(const Model &model, const VariantRequest &request,
                                                  int64_t samples, cost::HostMachine machine = {});

/// The function that computes the graph outputs for batches of `samples` under `mapping`, as in a
/// VariantRequest.
std::string inferFunction(const Model &model, const std::string &mapping, int64_t samples);

/// The symbol that counts time steps, where the model has one.
std::optional<size_t> timeSymbol(const Model &model);

/// Whether the model has no empty array at `steps` time steps; a model that drops steps has a least
/// length.
bool isLongEnough(const Model &model, Symbols symbols, size_t timeSymbol, int64_t steps);

/// The plan of a variant for the cost model of GPUs; throws Error where it knows none.
cost::Plan planOf(const VariantInfo &variant);

/// The constants of the cost model of GPUs: of the file that the request names, else the shipped
/// ones.
cost::DeviceConstants chosenConstants(const Program &program, const VariantRequest &request);

/// What a cost model says of some variants.
struct Prediction {
  /// Of a backward pass, in the order of the variants.
  std::vector<double> microseconds;
  /// The fastest, the first of equal ones, and how many times longer the next one takes.
  const VariantInfo *best = nullptr;
  double lead = 1;
};

/// What backward passes of a program for GPUs take at `steps` time steps and `samples` samples.
Prediction predictVariants(const Model &model, const std::vector<const VariantInfo *> &candidates,
                           int64_t steps, int64_t samples, const cost::DeviceConstants &constants);

/// Those of `candidates` that may be the fastest on a machine, by counted work: a scan is left out
/// where the sequential pass is among them and takes no longer, whatever a link takes.
std::vector<const VariantInfo *>
leaveOutHopeless(const Model &model, const std::vector<const VariantInfo *> &candidates,
                 int64_t steps, int64_t samples, cost::HostMachine machine);

/// A choice among the variants of a program.
struct VariantChoice {
  const VariantInfo *variant;
  /// Others that might be faster after all, where a run may check that, and the counted cost of a
  /// call of each of them together, in calls of `variant`.
  std::vector<const VariantInfo *> others = {};
  double othersCost = 0;
};

/// The variant that is expected to be the fastest for `calls` calls of `function` ("step" or
/// "grad") on batches like `batch`. Where the request and counted work leave more than one, they
/// are timed on synthetic batches of the same size and growing length (VariantTiming.h). Leaves the
/// parameters as they are. In programs for GPUs constants of a calibration decide, and shipped ones
/// where they are clear or where nothing is measured, as under emulation; variants for which the
/// device has no memory are left out.
VariantChoice chooseVariant(Session &session, const VariantRequest &request,
                            const std::string &function, Batch &batch, int64_t calls);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_VARIANTS_DISPATCH_H
