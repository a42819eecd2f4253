//===- CopySlots.cpp - a ring that copies fill ahead ----------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "CopySlots.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

using namespace mlir;
using namespace bppsa;

Value CopySlots::getSlot(OpBuilder &builder, Value position) const {
  return arith::AndIOp::create(builder, loc, position, getIndex(builder, loc, count - 1));
}

void CopySlots::endGroup(OpBuilder &builder) {
  auto type = nvgpu::DeviceAsyncTokenType::get(builder.getContext());
  token = nvgpu::DeviceAsyncCreateGroupOp::create(builder, loc, type, ValueRange());
}

void CopySlots::waitForNext(OpBuilder &builder) const { wait(builder, getAhead() - 1); }

void CopySlots::waitForAll(OpBuilder &builder) {
  endGroup(builder);
  wait(builder, 0);
}

void CopySlots::wait(OpBuilder &builder, int64_t groupsUnderWay) const {
  nvgpu::DeviceAsyncWaitOp::create(builder, loc, token, builder.getI32IntegerAttr(groupsUnderWay));
}
