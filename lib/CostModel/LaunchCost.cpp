//===- LaunchCost.cpp - predicted cost of GPU launches --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/LaunchCost.h"
#include "bppsa/CostModel/DeviceCosts.h"
#include "bppsa/CostModel/Machines/DeviceCost.h"
#include "bppsa/CostModel/OperationFlops.h"

#include <algorithm>

using namespace mlir;
using namespace bppsa;

/// FLOPs of a warp instruction: multiply-adds of 32 threads.
static constexpr double kFlopsOfInstruction = 64;
/// Schedulers of a multiprocessor; each issues one instruction per cycle.
static constexpr double kSchedulers = 4;

LaunchCost &LaunchCost::operator+=(const LaunchCost &other) {
  alone += other.alone;
  issue += other.issue;
  memory += other.memory;
  return *this;
}

double LaunchCost::beside(const LaunchCost &other) const {
  return std::max({alone, other.alone, issue + other.issue, memory + other.memory});
}

static double countBytes(Operation *op, int64_t size) {
  double bytes = 0;
  for (Type type : op->getOperandTypes()) {
    auto memory = dyn_cast<MemRefType>(type);
    if (!memory || !memory.getElementType().isIntOrFloat())
      continue;
    double elements = memory.getElementTypeBitWidth() / 8.0;
    for (int64_t extent : memory.getShape())
      elements *= static_cast<double>(ShapedType::isDynamic(extent) ? size : extent);
    bytes += elements;
  }
  return bytes;
}

namespace {
/// Microseconds of dependent operations and of instruction issue in a kernel.
struct KernelWork {
  double latency = 0, issue = 0;
};
} // namespace

static void addChain(ChainOp chain, const cost::DeviceConstants &device, int64_t size,
                     KernelWork &work) {
  auto extent = [&](int64_t axis) {
    int64_t found = cast<ShapedType>(chain.getSaved().front().getType()).getDimSize(axis);
    return static_cast<double>(ShapedType::isDynamic(found) ? size : found);
  };
  cost::Phase phase = {cost::Work::Walk, /*launches=*/1, extent(0), extent(1), /*bytes=*/0};
  std::array<double, 3> units =
      cost::getUnits(phase, getDeviceCost(chain).of(cost::Work::Walk), device.multiprocessors);
  work.latency += units[0] * device.cycle.front() * 1e-3;
  work.issue += units[1] * device.issue.front() * 1e-3;
}

static KernelWork countWork(func::FuncOp kernel, const cost::DeviceConstants &device,
                            int64_t size) {
  KernelWork work;
  double flops = 0;
  kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto chain = dyn_cast<ChainOp>(op);
    if (chain && chain.getPlan().isSequential() && !chain.isGraphForm()) {
      addChain(chain, device, size, work);
      return WalkResult::skip();
    }
    double own = countStepFlops(op, static_cast<double>(size));
    flops += own;
    return own > 0 ? WalkResult::skip() : WalkResult::advance();
  });
  work.issue += flops / kFlopsOfInstruction / (kSchedulers * device.multiprocessors) *
                device.issue.front() * 1e-3;
  return work;
}

LaunchCost bppsa::getLaunchCost(Operation *op, func::FuncOp kernel, int64_t size) {
  cost::DeviceConstants device = cost::shippedH200();
  KernelWork work;
  if (kernel)
    work = countWork(kernel, device, size);
  LaunchCost result;
  result.issue = work.issue;
  result.memory = countBytes(op, size) / device.bandwidth;
  result.alone = device.launch + std::max({work.latency, work.issue, result.memory});
  return result;
}
