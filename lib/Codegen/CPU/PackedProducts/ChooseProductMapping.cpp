//===- ChooseProductMapping.cpp - choose direct or packed products --------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "../VectorizeContractions/Contraction.h"
#include "Product.h"
#include "bppsa/Codegen/CPU/Passes.h"
#include "bppsa/Dialect/BPPSA/IR/DiscardableAttributes.h"
#include "bppsa/Dialect/BPPSA/IR/ProductMapping.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"

namespace bppsa {
#define GEN_PASS_DEF_CHOOSEPRODUCTMAPPING
#include "bppsa/Codegen/CPU/Passes.h.inc"
} // namespace bppsa

using namespace mlir;
using namespace bppsa;

//
// Costs are in cycles of a core with AVX-512, measured on the layers of VGG-11 and LeNet-5 (Zen 4).

static double getCopyCost(int64_t chunk, double alone) {
  return chunk == 1 ? alone : 0.1 + 2.0 / chunk;
}

static double getCopyCost(CopyChunk chunk, double alone) {
  return chunk.terms == 1 ? getCopyCost(chunk.steps, alone) : 0.6;
}

static double getPackedCost(const Product &product, int64_t dynamic) {
  TileShape tile = TileShape::get(/*registers=*/32);
  Blocking blocking = Blocking::get(product, tile);
  double rows = product.getSize(product.rows, dynamic),
         lanes = product.getSize(product.lanes, dynamic);
  double terms = product.getSize(product.terms, dynamic);
  double rowPanels = std::ceil(rows / tile.rows), lanePanels = std::ceil(lanes / tile.lanes);
  double rowBlocks = std::ceil(rows / blocking.rows),
         termBlocks = std::ceil(terms / blocking.terms);
  double laneBlocks = std::ceil(lanes / std::max(blocking.lanes, TileShape::minLanes));

  double vectors = tile.rows * tile.lanes / TileShape::vectorLanes;
  double multiply = 1.1 * rowPanels * lanePanels * terms * vectors;
  // Panels of lanes fill the first-level cache.
  double pack = rows * terms * laneBlocks * getCopyCost(blocking.rowChunk, /*alone=*/1.5) +
                lanes * terms * rowBlocks * getCopyCost(blocking.laneChunk, /*alone=*/3);
  double add = rows * lanes * termBlocks * getCopyCost(blocking.resultChunk, /*alone=*/2.5);
  double calls =
      100 * rowPanels * lanePanels * termBlocks + 600 * lanePanels * rowBlocks * termBlocks;
  return product.getSize(product.batch, dynamic) * (multiply + pack + add + calls);
}

static double getDirectCost(linalg::GenericOp op, bool hasWindows, int64_t dynamic) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  double products = 1;
  for (int64_t &size : sizes) {
    size = ShapedType::isDynamic(size) ? dynamic : size;
    products *= size;
  }
  std::optional<Contraction> contraction = planContraction(op);
  if (!contraction)
    return 2.5 * products;
  double lanes = sizes[contraction->lanes];
  double steps = products / lanes * std::ceil(lanes / TileShape::vectorLanes);
  double rows = contraction->rows ? std::min<double>(sizes[*contraction->rows], 8) : 1;
  // With few accumulators, latency is exposed.
  double step = std::max(contraction->isSummedOverLanes() ? 2.2 : hasWindows ? 1.7 : 1.1, 4 / rows);
  for (unsigned operand = 0; operand < 3; ++operand)
    if (!contraction->hasWholeVectors(operand))
      step += contraction->isSummedOverLanes() ? 24 : 24 / rows;
  return steps * step;
}

static double getCostOfSample(function_ref<double(int64_t batch)> getCost) {
  return (getCost(1) + getCost(16) / 16) / 2;
}

namespace {
struct ChooseProductMapping : bppsa::impl::ChooseProductMappingBase<ChooseProductMapping> {
  using ChooseProductMappingBase::ChooseProductMappingBase;

  void runOnOperation() override {
    getOperation().walk([&](linalg::GenericOp op) {
      std::optional<Product> ofLhs = findProduct(op, 0), ofRhs = findProduct(op, 1);
      if (ofLhs && ofRhs && !attrs::Mapping::of(op))
        choose(op, *ofLhs, *ofRhs);
    });
  }

private:
  void choose(linalg::GenericOp op, const Product &ofLhs, const Product &ofRhs) {
    bool hasWindows = ofRhs.rows.numShared + ofRhs.lanes.numShared > 0;
    auto getPacked = [&](const Product &product) {
      return getCostOfSample([&](int64_t batch) { return getPackedCost(product, batch); });
    };
    double direct =
        getCostOfSample([&](int64_t batch) { return getDirectCost(op, hasWindows, batch); });
    double lhs = getPacked(ofLhs), rhs = getPacked(ofRhs);
    ProductForm form = direct <= std::min(lhs, rhs) ? ProductForm::Direct
                       : lhs < rhs                  ? ProductForm::PackedLhs
                                                    : ProductForm::PackedRhs;
    setProductForm(op, form);

    auto options = remark::RemarkOpts::name("ChooseProductMapping")
                       .category("mapping")
                       .function(getOperation().getSymName());
    remark::passed(op->getLoc(), options) << remark::add(
        "product: {0}, as a sample takes {1:F1} thousand cycles direct, {2:F1} packed_lhs and "
        "{3:F1} packed_rhs",
        stringifyProductForm(form), direct / 1000, lhs / 1000, rhs / 1000);
  }
};
} // namespace
