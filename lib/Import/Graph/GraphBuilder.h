//===- GraphBuilder.h - tensors with symbolic shapes ------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_GRAPH_GRAPHBUILDER_H
#define BPPSA_LIB_IMPORT_GRAPH_GRAPHBUILDER_H

#include "AxisClasses.h"
#include "ShapeExpressions.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <memory>
#include <string>
#include <vector>

namespace bppsa {

struct Factor {
  mlir::AffineExpr size;
  /// Axis in `GraphBuilder::axes`, or -1.
  int origin = -1;
};

/// A dimension; the factors record merged dimensions so that a later Reshape can split them.
struct Dim {
  mlir::AffineExpr size;
  llvm::SmallVector<Factor, 1> factors;

  bool isOne() const { return getConstant(size) == 1; }
};

struct TensorList;

struct Tensor {
  mlir::Type elementType;
  llvm::SmallVector<Dim> dims;
  /// Null while only `elements` is known.
  mlir::Value value;
  /// The elements, in row-major order, of a small integer or bool tensor of static shape if they
  /// depend on sizes only.
  std::optional<llvm::SmallVector<mlir::AffineExpr>> elements;
  /// The list if the value has an ONNX sequence type.
  std::shared_ptr<const TensorList> list = nullptr;

  int64_t getRank() const { return dims.size(); }
  llvm::SmallVector<mlir::AffineExpr> getSizes() const;
};

/// Builds IR for tensors with symbolic shapes. If binding a symbol would make sizes equal that must
/// be, `pendingBinding` is set and the import restarts with it, so expressions are never rewritten.
class GraphBuilder {
public:
  using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

  GraphBuilder(mlir::OpBuilder &builder) : builder(builder), loc(builder.getUnknownLoc()) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  std::optional<SymbolBinding> pendingBinding;
  std::vector<std::string> symbols;
  AxisClasses axes;
  /// The minimum of each symbol for which the built IR is valid.
  llvm::SmallVector<int64_t> minSizes;
  /// Attributes of the function arguments. They are set once at the end because each update
  /// reallocates the list of all argument attributes.
  llvm::SmallVector<mlir::NamedAttrList> argumentAttributes;
  llvm::StringMap<unsigned> parameterNumbers;
  /// Maps an argument of a loop body to the operand of the loop. The argument holds one step and
  /// one row, or all, of the operand.
  llvm::DenseMap<mlir::Value, mlir::Value> outerValues;
  int64_t numDropouts = 0;
  int64_t numTrainingModes = 0;
  bool sharesStatistics = false;
  bool isUntied = false;
  llvm::StringRef getUntieHint() const {
    return isUntied ? "; use a separate initializer for each use in the model"
                    : "; --untie gives each use its own";
  }
  /// False while code that exists only for training is built.
  bool recordsMixing = true;

  /// Caches sizes in a separate map while it is alive, for code in another region.
  class SizeScope {
  public:
    explicit SizeScope(GraphBuilder &graph) : graph(graph), outer(std::move(graph.sizeValues)) {
      graph.sizeValues.clear();
    }
    ~SizeScope() { close(); }
    void close() {
      if (!outer)
        return;
      graph.sizeValues = std::move(*outer);
      outer.reset();
    }

  private:
    GraphBuilder &graph;
    std::optional<llvm::DenseMap<mlir::AffineExpr, mlir::Value>> outer;
  };

  mlir::MLIRContext *getContext() const { return builder.getContext(); }
  mlir::AffineExpr getExpr(int64_t value) const {
    return mlir::getAffineConstantExpr(value, getContext());
  }

  /// Returns whether a >= b for all sizes; false if unknown.
  bool isAtLeast(mlir::AffineExpr a, mlir::AffineExpr b) const {
    return bppsa::isAtLeast(a, b, minSizes);
  }
  /// Ensures a >= b, raising the minimum of one symbol if necessary; programs check the minimum.
  mlir::LogicalResult requireAtLeast(mlir::AffineExpr a, mlir::AffineExpr b);

  Dim getDim(mlir::AffineExpr size) const;
  Dim getDim(int64_t size) const { return getDim(getExpr(size)); }
  llvm::SmallVector<Dim> getDims(llvm::ArrayRef<int64_t> sizes) const;

  Dim makeInputDim(mlir::AffineExpr size);
  /// Creates dimensions of parameters and constants.
  llvm::SmallVector<Dim> makePinnedDims(llvm::ArrayRef<int64_t> sizes);
  /// Returns the axis of `dim`, or -1 if it is unknown or several axes are merged.
  int getOrigin(const Dim &dim) const;
  void setRole(const Dim &dim, AxisRole role) { axes.setRole(getOrigin(dim), role); }
  AxisRole getRole(const Dim &dim) const { return axes.getRole(getOrigin(dim)); }
  void mark(const Dim &dim, AxisFact fact);
  /// Records that values depend on `size`, and so on all positions of axes of this size.
  void markSize(mlir::AffineExpr size);

  void bindSymbol(unsigned position, mlir::Value tensor, int64_t index);

  /// Returns the common dimension of `a` and `b`, which must be equal.
  mlir::FailureOr<Dim> unify(const Dim &a, const Dim &b);
  /// Broadcasts as ONNX does: a dimension of size 1 fits any other.
  mlir::FailureOr<llvm::SmallVector<Dim>> broadcast(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b);

  mlir::OpFoldResult getSize(mlir::AffineExpr size);
  mlir::Value getSizeValue(mlir::AffineExpr size);
  mlir::RankedTensorType getType(llvm::ArrayRef<Dim> dims, mlir::Type elementType) const;

  std::string describe(mlir::AffineExpr expr) const;
  std::string describe(llvm::ArrayRef<mlir::AffineExpr> exprs) const;
  std::string describeShape(const Tensor &tensor) const { return describe(tensor.getSizes()); }

  /// Returns the IR value of `tensor`.
  mlir::Value getValue(const Tensor &tensor);
  Tensor make(mlir::Value value, llvm::ArrayRef<Dim> dims);
  Tensor makeConstant(mlir::DenseElementsAttr attribute);
  Tensor makeElements(mlir::Type elementType, llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<mlir::AffineExpr> elements);
  mlir::Value makeEmpty(llvm::ArrayRef<Dim> dims, mlir::Type elementType);
  Tensor makeFilled(llvm::ArrayRef<Dim> dims, mlir::TypedAttr element);
  Tensor makeSizeAsFloat(mlir::AffineExpr size);

  /// Creates an all-parallel linalg.generic over the broadcast operands.
  mlir::FailureOr<Tensor> makeElementwise(llvm::ArrayRef<Tensor> operands, mlir::Type elementType,
                                          Body body);
  mlir::FailureOr<Tensor> makeBroadcast(const Tensor &operand, llvm::ArrayRef<Dim> dims);
  /// Reduces `operand` over the dimensions `reduced`, which the result lacks.
  Tensor makeReduction(const Tensor &operand, llvm::ArrayRef<int64_t> reduced,
                       mlir::TypedAttr neutral, Body body);
  /// Sum, or maximum without a derivative, over `axes`, which are kept with size 1.
  Tensor makeSum(const Tensor &operand, llvm::ArrayRef<int64_t> axes);
  Tensor makeMaximum(const Tensor &operand, llvm::ArrayRef<int64_t> axes);
  /// Creates the sum of products described by `maps`; the last map belongs to the result.
  Tensor makeContraction(const Tensor &lhs, const Tensor &rhs, llvm::ArrayRef<Dim> dims,
                         llvm::ArrayRef<mlir::AffineMap> maps);
  Tensor makeContraction(const Tensor &lhs, const Tensor &rhs, const Tensor &init,
                         llvm::ArrayRef<mlir::AffineMap> maps);
  /// Creates a linalg.generic initialized to `init`. `maps` holds the maps of the inputs, then of
  /// the result, whose dimensions are the parallel loops.
  Tensor makeGeneric(llvm::ArrayRef<Tensor> inputs, const Tensor &init,
                     llvm::ArrayRef<mlir::AffineMap> maps, Body body);
  Tensor makeTranspose(const Tensor &operand, llvm::ArrayRef<int64_t> permutation);
  /// Reshapes `operand` to `dims`; the products of the sizes must be equal. The axes are taken from
  /// `dims` if known, else from `operand`.
  Tensor makeReshape(const Tensor &operand, llvm::ArrayRef<Dim> dims);
  /// Slices dimension `axis` from `offset`: `size` elements at distance `stride`.
  Tensor makeSlice(const Tensor &operand, int64_t axis, mlir::AffineExpr offset,
                   mlir::AffineExpr size, int64_t stride = 1);
  Tensor makePadded(const Tensor &operand, llvm::ArrayRef<int64_t> before,
                    llvm::ArrayRef<int64_t> after, mlir::TypedAttr element);
  /// Concatenates along `axis`.
  mlir::FailureOr<Tensor> makeConcat(llvm::ArrayRef<Tensor> operands, int64_t axis);
  Tensor makeSqueeze(const Tensor &operand, llvm::ArrayRef<int64_t> axes);
  Tensor makeUnsqueeze(const Tensor &operand, llvm::ArrayRef<int64_t> axes);

private:
  /// Returns the dimensions of the result of a loop nest and records the uses of the dimensions of
  /// its operands.
  llvm::SmallVector<Dim> getLoopDims(llvm::ArrayRef<Tensor> inputs, const Tensor &init,
                                     llvm::ArrayRef<mlir::AffineMap> maps);
  mlir::Value collapseOnes(const Tensor &operand, llvm::ArrayRef<bool> collapsed);
  /// Transposes a concatenation by transposing its parts, if this moves no element within a part.
  std::optional<mlir::Value> transposeParts(const Tensor &operand,
                                            llvm::ArrayRef<int64_t> permutation);
  /// Collapses each group of dimensions, separately for the parts of a concatenation.
  mlir::Value makeCollapsed(mlir::Value value, mlir::RankedTensorType type,
                            llvm::ArrayRef<mlir::ReassociationIndices> groups);
  Dim mergeOrigins(const Dim &a, const Dim &b);

  llvm::DenseMap<unsigned, int> symbolOrigins;
  llvm::DenseMap<unsigned, std::pair<mlir::Value, int64_t>> symbolSources;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> sizeValues;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_GRAPHBUILDER_H
