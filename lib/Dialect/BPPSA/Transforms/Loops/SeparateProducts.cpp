//===- SeparateProducts.cpp - hoists input projections --------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Hoists input projections to a loop without states, in which several steps share each read of a
// matrix.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/Analysis/BodyPlan.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

namespace bppsa {
#define GEN_PASS_DEF_SEPARATEPRODUCTS
#include "bppsa/Dialect/BPPSA/Transforms/Loops/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

namespace {
class InputProducts {
public:
  explicit InputProducts(RecurrenceOp loop);

  bool empty() const { return products.empty(); }
  size_t size() const { return products.size(); }
  void separate();

private:
  bool isKnown(Value value) const;
  RecurrenceOp createLoop(OpBuilder &builder, ArrayRef<MatVecOp> yielded);
  void eraseUnusedArguments();

  RecurrenceOp loop;
  Block &body;
  size_t numSequences, numStates;
  SetVector<Operation *> products;
};
} // namespace

InputProducts::InputProducts(RecurrenceOp loop)
    : loop(loop), body(loop.getBody().front()), numSequences(loop.getSequences().size()),
      numStates(loop.getInitial().size()) {
  for (MatVecOp product : body.getOps<MatVecOp>()) {
    auto vector = dyn_cast<BlockArgument>(product.getVector());
    bool ofSequence = vector && vector.getArgNumber() < numSequences;
    if (ofSequence && isKnown(product.getMatrix()) &&
        (!product.getAddend() || isKnown(product.getAddend())))
      products.insert(product);
  }
}

bool InputProducts::isKnown(Value value) const {
  if (Operation *op = value.getDefiningOp())
    return products.contains(op);
  unsigned number = cast<BlockArgument>(value).getArgNumber();
  return number < numSequences || number >= numSequences + numStates;
}

RecurrenceOp InputProducts::createLoop(OpBuilder &builder, ArrayRef<MatVecOp> yielded) {
  SmallVector<Type> types;
  for (MatVecOp product : yielded) {
    auto sequence = cast<RankedTensorType>(loop.getSequences().front().getType());
    SmallVector<int64_t> shape(sequence.getShape());
    shape.back() = cast<VectorType>(product.getType()).getDimSize(0);
    types.push_back(RankedTensorType::get(shape, sequence.getElementType()));
  }
  LoopOptions options;
  options.lanes = loop.getLanesAttr();
  auto made = RecurrenceOp::create(builder, loop.getLoc(), TypeRange(), types, loop.getSequences(),
                                   ValueRange(), loop.getCaptures(), options);
  attrs::Mapping::set(made, attrs::Mapping::of(loop));
  Block *inside = &made.getBody().emplaceBlock();
  IRMapping mapping;
  for (auto [number, argument] : llvm::enumerate(body.getArguments()))
    if (number < numSequences || number >= numSequences + numStates)
      mapping.map(argument, inside->addArgument(argument.getType(), argument.getLoc()));
  OpBuilder inBody = OpBuilder::atBlockEnd(inside);
  for (Operation *product : products)
    inBody.clone(*product, mapping);
  SmallVector<Value> results;
  for (MatVecOp product : yielded)
    results.push_back(mapping.lookup(product.getResult()));
  YieldOp::create(inBody, loop.getLoc(), results);
  return made;
}

void InputProducts::separate() {
  SmallVector<MatVecOp> yielded;
  for (Operation *product : products)
    if (!llvm::all_of(product->getUsers(),
                      [&](Operation *user) { return products.contains(user); }))
      yielded.push_back(cast<MatVecOp>(product));
  OpBuilder builder(loop);
  RecurrenceOp made = createLoop(builder, yielded);
  for (auto [product, output] : llvm::zip_equal(yielded, made.getOutputs())) {
    loop.getSequencesMutable().append(output);
    BlockArgument argument =
        body.insertArgument(numSequences++, product.getType(), product.getLoc());
    product.getResult().replaceAllUsesWith(argument);
  }
  for (Operation *product : llvm::reverse(products))
    product->erase();
  eraseUnusedArguments();
}

void InputProducts::eraseUnusedArguments() {
  for (unsigned i = loop.getCaptures().size(); i-- > 0;)
    if (unsigned number = numSequences + numStates + i; body.getArgument(number).use_empty()) {
      body.eraseArgument(number);
      loop.getCapturesMutable().erase(i);
    }
  for (unsigned i = numSequences; i-- > 0;)
    if (body.getArgument(i).use_empty() && loop.getSequences().size() > 1) {
      body.eraseArgument(i);
      loop.getSequencesMutable().erase(i);
    }
}

namespace {
struct SeparateProducts : public bppsa::impl::SeparateProductsBase<SeparateProducts> {
  using SeparateProductsBase::SeparateProductsBase;

  void runOnOperation() override {
    SmallVector<RecurrenceOp> loops;
    getOperation().walk([&](RecurrenceOp loop) {
      if (canSeparate(loop))
        loops.push_back(loop);
    });
    for (RecurrenceOp loop : loops)
      separate(loop);
  }

private:
  static bool canSeparate(RecurrenceOp loop) {
    return isa_and_present<CPUMappingAttr>(attrs::Mapping::of(loop)) && !loop.getLanes() &&
           !loop.getInitial().empty() && !loop.getSequences().empty() &&
           loop.getDestinations().empty() && !loop.isGraphForm();
  }

  /// Returns the bytes of matrices from which on projections are hoisted.
  int64_t getMinBytes(RecurrenceOp loop) const {
    auto mapping = cast<CPUMappingAttr>(attrs::Mapping::of(loop));
    return mapping.holds(LaneContents::Units) ? cache + 1 : ofSamples;
  }

  void separate(RecurrenceOp loop) {
    int64_t bytes = getMatrixBytes(loop.getBody()), least = getMinBytes(loop);
    InputProducts products(loop);
    if (products.empty() || bytes < least)
      return;
    auto options = remark::RemarkOpts::name("SeparateProducts")
                       .category("mapping")
                       .function(getOperation().getSymName());
    remark::passed(loop.getLoc(), options)
        << remark::add("recurrence: {0} products of inputs in a loop of their own, as a step reads "
                       "{1} bytes of matrices, at least {2}",
                       products.size(), bytes, least);
    products.separate();
  }
};
} // namespace
