//===- RuntimeCalls.cpp - calls to the run-time library -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Support/RuntimeCalls.h"
#include "bppsa/Support/IndexArithmetic.h"

using namespace mlir;
using namespace bppsa;

func::FuncOp bppsa::declareRuntimeFunction(ModuleOp module, StringRef name, TypeRange inputs,
                                           TypeRange results) {
  if (auto function = module.lookupSymbol<func::FuncOp>(name))
    return function;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto function = func::FuncOp::create(builder, module.getLoc(), name,
                                       builder.getFunctionType(inputs, results));
  function.setPrivate();
  return function;
}

func::CallOp bppsa::emitRuntimeCall(OpBuilder &builder, Location loc, ModuleOp module,
                                    StringRef name, ValueRange arguments, TypeRange results) {
  func::FuncOp function = declareRuntimeFunction(module, name, arguments.getTypes(), results);
  return func::CallOp::create(builder, loc, function, arguments);
}

Value bppsa::emitTaskSize(OpBuilder &builder, Location loc, ModuleOp module, Value count,
                          int64_t most) {
  Value sizes[] = {count, getIndex(builder, loc, 1), getIndex(builder, loc, most)};
  auto call =
      emitRuntimeCall(builder, loc, module, "bppsa_rt_task_size", sizes, builder.getIndexType());
  return call.getResult(0);
}
