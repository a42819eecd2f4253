//===- LoopOps.cpp - builders of time loops -------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"

using namespace mlir;
using namespace bppsa;

void RecurrenceOp::build(OpBuilder &builder, OperationState &state, TypeRange trajectories,
                         TypeRange outputs, ValueRange sequences, ValueRange initial,
                         ValueRange captures, const LoopOptions &options) {
  for (ValueRange operands : {sequences, initial, captures})
    state.addOperands(operands);
  if (options.steps)
    state.addOperands(options.steps);
  state.addOperands(options.destinations);
  Properties &properties = state.getOrAddProperties<Properties>();
  llvm::copy(ArrayRef<int32_t>({int32_t(sequences.size()), int32_t(initial.size()),
                                int32_t(captures.size()), options.steps ? 1 : 0,
                                int32_t(options.destinations.size())}),
             properties.operandSegmentSizes.begin());
  llvm::copy(ArrayRef<int32_t>({int32_t(trajectories.size()), int32_t(outputs.size())}),
             properties.resultSegmentSizes.begin());
  if (options.reverse)
    properties.reverse = builder.getUnitAttr();
  properties.lanes = options.lanes;
  state.addRegion();
  state.addTypes(trajectories);
  state.addTypes(outputs);
}

void ChainOp::build(OpBuilder &builder, OperationState &state, TypeRange cotangents,
                    TypeRange emitted, ValueRange saved, ValueRange seeds, ValueRange injected,
                    ArrayRef<int64_t> injectInto, ValueRange captures,
                    const ChainOptions &options) {
  for (ValueRange operands : {saved, seeds, injected, ValueRange(options.factors), captures})
    state.addOperands(operands);
  if (options.steps)
    state.addOperands(options.steps);
  state.addOperands(options.destinations);
  Properties &properties = state.getOrAddProperties<Properties>();
  llvm::copy(
      ArrayRef<int32_t>({int32_t(saved.size()), int32_t(seeds.size()), int32_t(injected.size()),
                         int32_t(options.factors.size()), int32_t(captures.size()),
                         options.steps ? 1 : 0, int32_t(options.destinations.size())}),
      properties.operandSegmentSizes.begin());
  llvm::copy(ArrayRef<int32_t>({int32_t(cotangents.size()), int32_t(emitted.size()),
                                int32_t(options.sums.size())}),
             properties.resultSegmentSizes.begin());
  if (!injectInto.empty())
    properties.injectInto = builder.getDenseI64ArrayAttr(injectInto);
  if (!options.sumWith.empty())
    properties.sumWith = builder.getDenseI64ArrayAttr(options.sumWith);
  if (options.flatSums)
    properties.flatSums = builder.getUnitAttr();
  if (options.reverse)
    properties.reverse = builder.getUnitAttr();
  properties.lanes = options.lanes;
  properties.plan = options.plan;
  if (options.structure)
    properties.structure = options.structure;
  properties.terms = options.terms;
  state.addRegion();
  for (TypeRange types : {cotangents, emitted, TypeRange(options.sums)})
    state.addTypes(types);
}

template <typename LoopOp> static void copyOptions(LoopOp loop, LoopOptions &options) {
  options.reverse = loop.getReverse();
  options.steps = loop.getSteps();
  options.lanes = loop.getLanesAttr();
  llvm::append_range(options.destinations, loop.getDestinations());
}

LoopOptions bppsa::getOptions(RecurrenceOp loop) {
  LoopOptions options;
  copyOptions(loop, options);
  return options;
}

ChainOptions bppsa::getOptions(ChainOp loop) {
  ChainOptions options;
  copyOptions(loop, options);
  options.plan = loop.getPlanAttr();
  options.structure = loop.getStructureAttr();
  options.terms = loop.getTermsAttr();
  llvm::append_range(options.sums, loop.getSums().getTypes());
  llvm::append_range(options.sumWith, loop.getSumWith());
  llvm::append_range(options.factors, loop.getFactors());
  options.flatSums = loop.getFlatSums();
  return options;
}
