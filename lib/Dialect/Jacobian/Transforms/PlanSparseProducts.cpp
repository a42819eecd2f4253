//===- PlanSparseProducts.cpp - storage of Jacobian products --------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Dialect/BPPSA/IR/BPPSA.h"
#include "bppsa/Dialect/Jacobian/Sparsity/SymbolicProduct.h"
#include "bppsa/Dialect/Jacobian/Transforms/Passes.h"
#include "bppsa/Support/Refusal.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace bppsa {
#define GEN_PASS_DEF_PLANSPARSEPRODUCTS
#include "bppsa/Dialect/Jacobian/Transforms/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

static jacobian::MatrixType withStructure(jacobian::MatrixType type,
                                          jacobian::StructureAttr structure) {
  return jacobian::MatrixType::get(type.getContext(), type.getRows(), type.getCols(),
                                   type.getElementType(), structure, type.getBatch());
}

namespace {
struct JacobianMemory {
  /// Bytes of indices and shared values, and of values per sample.
  int64_t sharedBytes = 0, sampleBytes = 0;

  int64_t getBytes(int64_t batch) const { return sharedBytes + batch * sampleBytes; }
};

struct PlanSparseProductsPass : public bppsa::impl::PlanSparseProductsBase<PlanSparseProductsPass> {
  using PlanSparseProductsBase::PlanSparseProductsBase;

  void runOnOperation() override {
    memory = {};
    indexed.clear();
    getOperation().walk([&](jacobian::ComposeOp compose) { plan(compose); });
    getOperation().walk([&](Operation *op) {
      if (auto assemble = dyn_cast<jacobian::AssembleOp>(op))
        count(assemble);
      else if (auto compose = dyn_cast<jacobian::ComposeOp>(op))
        count(compose);
    });
    int64_t bytes = memory.getBytes(batch);
    if (memoryLimit > 0 && bytes > memoryLimit) {
      refuse(getOperation())
          << "@" << getOperation().getName() << " needs " << bytes << " bytes for jacobians ("
          << memory.sharedBytes << " and " << memory.sampleBytes << " for each of "
          << int64_t(batch) << " samples), more than the memory limit of " << int64_t(memoryLimit)
          << "; use a plan with fewer levels, such as linear or hybrid:1, or raise the limit";
      signalPassFailure();
    }
  }

private:
  void plan(jacobian::ComposeOp compose);
  void count(jacobian::AssembleOp assemble);
  void count(jacobian::ComposeOp compose);
  /// Equal patterns share their indices.
  void countIndices(jacobian::MatrixType type);

  JacobianMemory memory;
  DenseSet<Attribute> indexed;
};
} // namespace

void PlanSparseProductsPass::plan(jacobian::ComposeOp compose) {
  auto first = cast<jacobian::MatrixType>(compose.getFirst().getType());
  auto second = cast<jacobian::MatrixType>(compose.getSecond().getType());
  auto type = cast<jacobian::MatrixType>(compose.getType());
  jacobian::StructureAttr structure = jacobian::MatrixType::compose(first, second).getStructure();
  SparsityPattern pattern = structure.computePattern(type.getRows(), type.getCols());
  auto options = remark::RemarkOpts::name("PlanSparseProducts")
                     .category("products")
                     .function(getOperation().getName());
  std::string density = llvm::formatv("{0:P}", pattern.getDensity());
  remark::passed(compose.getLoc(), options) << remark::add(
      "product of {0}x{1} and {2}x{3}: {4} possible nonzeros ({5}), {6} multiply-adds, {7} bytes "
      "of values",
      second.getRows(), second.getCols(), first.getRows(), first.getCols(), pattern.getNumEntries(),
      density, countMultiplyAdds(second.computePattern(), first.computePattern()),
      4 * pattern.getNumEntries());
  // Only products can read a product in another storage format.
  bool isInternal =
      llvm::all_of(compose->getUsers(), llvm::IsaPred<jacobian::ComposeOp, jacobian::ApplyOp>);
  bool fillsIn =
      isInternal && structure.is(jacobian::StructureKind::CSR) && pattern.getDensity() > breakEven;
  if (fillsIn) {
    remark::analysis(compose.getLoc(), options)
        << remark::add("the product is stored dense: {0} of it are possible nonzeros", density);
    structure = jacobian::StructureAttr::get(&getContext(), jacobian::StructureKind::Dense);
  }
  if (isInternal)
    compose.getResult().setType(withStructure(type, structure));
}

void PlanSparseProductsPass::countIndices(jacobian::MatrixType type) {
  SparsityPattern pattern = type.computePattern();
  if (!pattern.isDense() && indexed.insert(type.getStructure()).second)
    memory.sharedBytes += sizeof(int32_t) * (pattern.getNumRows() + 1 + pattern.getNumEntries());
}

void PlanSparseProductsPass::count(jacobian::AssembleOp assemble) {
  auto type = cast<jacobian::MatrixType>(assemble.getResult().getType());
  countIndices(type);
  if (assemble.getPositions())
    memory.sharedBytes += sizeof(int32_t) * assemble.getPositions()->size();
  if (type.getBatch())
    memory.sampleBytes += 4 * cast<ShapedType>(assemble.getSource().getType()).getDimSize(1);
}

void PlanSparseProductsPass::count(jacobian::ComposeOp compose) {
  auto type = cast<jacobian::MatrixType>(compose.getType());
  countIndices(type);
  int64_t bytes = 4 * type.computePattern().getNumEntries();
  (type.getBatch() ? memory.sampleBytes : memory.sharedBytes) += bytes;
}
