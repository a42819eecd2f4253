//===- InferStructure.cpp - structure of transposed Jacobians -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Analysis/JacobianStructure.h"
#include "bppsa/Analysis/Passes.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/Format.h"

namespace bppsa {
#define GEN_PASS_DEF_INFERSTRUCTURE
#include "bppsa/Analysis/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static constexpr llvm::StringLiteral attributeName = "bppsa.jacobian";

/// "24x6, csr with 36 entries, 75.00 % of it zero, shared by all samples".
static std::string describe(JacobianType type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << type.getRows() << "x" << type.getCols() << ", " << type.getStructure().toString()
         << ", " << llvm::format("%.4f", 100 * type.computePattern().getZeroFraction())
         << " % of it zero, "
         << (type.getBatch() ? "one for each sample" : "shared by all samples");
  return text;
}

namespace {
struct InferStructurePass : public bppsa::impl::InferStructureBase<InferStructurePass> {
  using InferStructureBase::InferStructureBase;

  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (isa<RecurrenceOp, ChainOp, ScanOp>(op))
        annotateLoop(op);
    });
    FunctionOpInterface function = getOperation();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (function.getResultAttr(i, "bppsa.gradient"))
        return;
    if (!function.isExternal())
      annotateGraph(function);
  }

private:
  void report(Operation *op, JacobianType type, StringRef why);
  void annotateLoop(Operation *loop);
  void annotateGraph(FunctionOpInterface function);
  void annotate(Operation &op, SampleAxes &axes);
};
} // namespace

/// Says what was found, or `why` nothing was.
void InferStructurePass::report(Operation *op, JacobianType type, StringRef why) {
  auto options = remark::RemarkOpts::name("InferStructure")
                     .category("structure")
                     .function(getOperation().getName());
  StringRef name = op->getName().getStringRef();
  if (type)
    remark::passed(op->getLoc(), options)
        << remark::add("jacobian of {0}: {1}", name, describe(type));
  else
    remark::missed(op->getLoc(), options)
        << remark::add("no structure of {0} is known: {1}", name, why);
}

void InferStructurePass::annotateLoop(Operation *loop) {
  JacobianType type = inferStepJacobian(loop);
  if (!type)
    return;
  loop->setDiscardableAttr(attributeName, TypeAttr::get(type));
  report(loop, type, "");
}

/// The dimension of samples of the results of a time loop: `[T, B, N]` or
/// `[B, N]`.
static void addLoopAxes(Operation &loop, SampleAxes &axes) {
  for (Value result : loop.getResults())
    axes[result] = cast<RankedTensorType>(result.getType()).getRank() - 2;
}

void InferStructurePass::annotate(Operation &op, SampleAxes &axes) {
  llvm::SetVector<Value> operands(op.operand_begin(), op.operand_end());
  SmallVector<Value> read(op.getOperands());
  for (Region &region : op.getRegions())
    region.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (axes.contains(operand) && operands.insert(operand))
          read.push_back(operand);
    });
  if (llvm::none_of(read, [&](Value operand) { return axes.contains(operand); }))
    return;
  if (isa<RecurrenceOp, ChainOp, ScanOp>(op))
    return addLoopAxes(op, axes);
  for (OpResult result : op.getResults()) {
    std::string why;
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type)
      continue;
    FailureOr<std::optional<int64_t>> axis = inferSampleAxis(result, axes, why);
    if (failed(axis)) {
      report(&op, {}, why);
      continue;
    }
    if (!*axis)
      continue;
    axes[result] = **axis;
    // Integers have no derivative.
    if (!isa<FloatType>(type.getElementType()) || op.getNumResults() != 1)
      continue;
    SmallVector<Attribute> jacobians;
    for (Value operand : read) {
      JacobianType jacobian;
      if (axes.contains(operand) && isa<FloatType>(getElementTypeOrSelf(operand))) {
        jacobian = inferJacobian(result, operand, axes, why);
        report(&op, jacobian, why);
      }
      jacobians.push_back(jacobian ? Attribute(TypeAttr::get(jacobian))
                                   : UnitAttr::get(&getContext()));
    }
    op.setDiscardableAttr(attributeName, ArrayAttr::get(&getContext(), jacobians));
  }
}

void InferStructurePass::annotateGraph(FunctionOpInterface function) {
  SampleAxes axes;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    unsigned index = argument.getArgNumber();
    if (!type || !function.getArgAttr(index, "bppsa.input"))
      continue;
    auto given = function.getArgAttrOfType<IntegerAttr>(index, "bppsa.batch_axis");
    int64_t axis = given ? given.getInt() : int64_t(batchAxis);
    if (axis >= 0 && axis < type.getRank())
      axes[argument] = axis;
  }
  for (Operation &op : function.getFunctionBody().front())
    annotate(op, axes);
}
