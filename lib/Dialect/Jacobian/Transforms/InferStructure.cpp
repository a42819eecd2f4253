//===- InferStructure.cpp - structure of transposed Jacobians -------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/CostModel/ChainExtraction.h"
#include "bppsa/CostModel/LayerGraph.h"
#include "bppsa/Dialect/BPPSA/Analysis/LinearForm.h"
#include "bppsa/Dialect/BPPSA/Analysis/StepJacobian.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/Jacobian/Transforms/Passes.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/Format.h"

namespace bppsa {
#define GEN_PASS_DEF_INFERSTRUCTURE
#include "bppsa/Dialect/Jacobian/Transforms/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

/// For example "24x6, csr with 36 entries, 75.00 % of it zero, shared by all samples".
static std::string describe(jacobian::MatrixType type) {
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
      if (isa<RecurrenceOp, ChainOp>(op))
        annotateLoop(op);
    });
    if (loopsOnly)
      return;
    FunctionOpInterface function = getOperation();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (attrs::Gradient::ofResult(function, i))
        return reportLists();
    if (function.isExternal())
      return;
    annotateGraphStructure(
        function, batchAxis,
        [&](Operation *op, jacobian::MatrixType type, StringRef why) { report(op, type, why); });
    reportLinks();
  }

private:
  void report(Operation *op, jacobian::MatrixType type, StringRef why);
  void annotateChain(ChainOp chain, jacobian::StructureAttr structure);
  void annotateLoop(Operation *loop);
  void reportLinks();
  void reportLists();
  void reportLink(size_t number, size_t count, Operation *op, jacobian::MatrixType type);
};
} // namespace

void InferStructurePass::report(Operation *op, jacobian::MatrixType type, StringRef why) {
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

void InferStructurePass::reportLink(size_t number, size_t count, Operation *op,
                                    jacobian::MatrixType type) {
  auto options = remark::RemarkOpts::name("InferStructure")
                     .category("structure")
                     .function(getOperation().getName());
  remark::passed(op->getLoc(), options)
      << remark::add("link {0} of {1}, {2}: {3}", number, count, getLayerName(op), describe(type));
}

/// Links are reported with the padding that they absorb.
void InferStructurePass::reportLinks() {
  auto ignore = [](Operation *, StringRef) {};
  for (const LayerChain &chain : findLayerChains(getOperation(), ignore))
    for (auto [i, link] : llvm::enumerate(chain.links))
      reportLink(i + 1, chain.links.size(), link.getOp(), link.type);
}

/// Reports chains that are already differentiated.
void InferStructurePass::reportLists() {
  for (ArrayRef<jacobian::LinkOp> list : findLinkLists<jacobian::LinkOp>(getOperation()))
    for (auto [i, link] : llvm::enumerate(list))
      reportLink(i + 1, list.size(), link, jacobian::LinkOp(link).getJacobianType());
}

void InferStructurePass::annotateChain(ChainOp chain, jacobian::StructureAttr structure) {
  chain.setStructureAttr(structure);
  chain.removeTermsAttr();
  if (std::optional<LinearForm> form = LinearForm::get(chain))
    chain.setTermsAttr(
        Builder(chain.getContext())
            .getArrayAttr(SmallVector<Attribute>(form->terms.begin(), form->terms.end())));
}

void InferStructurePass::annotateLoop(Operation *loop) {
  jacobian::MatrixType type = inferStepJacobian(loop);
  if (!type)
    return;
  if (auto chain = dyn_cast<ChainOp>(loop))
    annotateChain(chain, type.getStructure());
  else
    attrs::OperandJacobians::set(loop, jacobian::OperandJacobiansAttr::getOf(&getContext(), type));
  report(loop, type, "");
}
