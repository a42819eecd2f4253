//===- Dispatch.h - Choice between compiled variants ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_RUNTIME_DISPATCH_H
#define BPPSA_RUNTIME_DISPATCH_H

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

  bool isAuto() const { return backward == "auto" && scan == "auto" && mapping == "auto"; }
};

/// The seconds that a call takes, measured at some numbers of time steps.
class CostModel {
public:
  void addPoint(int64_t steps, double seconds);
  size_t points() const { return measured.size(); }
  /// A straight line through the two longest points, t = a + b * steps, which takes in that threads
  /// and caches behave differently in short calls; through the origin when there is only one point.
  double predict(int64_t steps) const;

private:
  std::vector<std::pair<int64_t, double>> measured;
};

/// The variants that fit the request for batches of `samples`; throws Error when there are none.
/// Small batches leave out variants whose vectors would be mostly empty, large ones those whose
/// vectors hold one sample.
std::vector<const VariantInfo *> matchingVariants(const Model &model, const VariantRequest &request,
                                                  int64_t samples);

/// The function that computes the graph outputs for batches of `samples` under `mapping`, as in a
/// VariantRequest.
std::string inferFunction(const Model &model, const std::string &mapping, int64_t samples);

/// The variant that is expected to be the fastest for `calls` calls of `function` ("step" or
/// "grad") on batches like `batch`. Where the request leaves more than one, they are timed on
/// synthetic batches of the same size and growing length, for no more than a few percent of the
/// time that all the calls will take. Leaves the parameters as they are. Device programs measure
/// nothing.
const VariantInfo &chooseVariant(Session &session, const VariantRequest &request,
                                 const std::string &function, const Batch &batch, int64_t calls);

} // namespace bppsa::runtime

#endif // BPPSA_RUNTIME_DISPATCH_H
