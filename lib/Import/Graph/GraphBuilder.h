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

/// One factor of a dimension: its size, and its axis if known.
struct Factor {
  mlir::AffineExpr size;
  /// Axis in `GraphBuilder::axes`, or -1.
  int origin = -1;
};

/// A tensor dimension. Reshape merges dimensions; the factors record the merged dimensions so that
/// a later Reshape that splits them recovers the axes.
struct Dim {
  mlir::AffineExpr size;
  llvm::SmallVector<Factor, 1> factors;

  bool isOne() const { return getConstant(size) == 1; }
};

struct TensorList;

/// A value of the ONNX graph.
struct Tensor {
  mlir::Type elementType;
  llvm::SmallVector<Dim> dims;
  /// Null while only `elements` is known.
  mlir::Value value;
  /// The elements, in row-major order, of a small integer or bool tensor of static shape if they
  /// depend on sizes only.
  std::optional<llvm::SmallVector<mlir::AffineExpr>> elements;
  /// The list if the value has an ONNX sequence type. All other members are then empty.
  std::shared_ptr<const TensorList> list = nullptr;

  int64_t getRank() const { return dims.size(); }
  llvm::SmallVector<mlir::AffineExpr> getSizes() const;
};

/// Builds IR for tensors with symbolic shapes. An operation fails if sizes that must be equal are
/// not known to be equal. If binding a symbol makes them equal, `pendingBinding` is set and the
/// import restarts with this binding, so existing expressions never need to be rewritten.
class GraphBuilder {
public:
  using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

  GraphBuilder(mlir::OpBuilder &builder) : builder(builder), loc(builder.getUnknownLoc()) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  std::optional<SymbolBinding> pendingBinding;
  /// Names of the symbols, by position.
  std::vector<std::string> symbols;
  /// The axes identified by data flow, and their uses.
  AxisClasses axes;
  /// The minimum of each symbol for which the built IR is valid.
  llvm::SmallVector<int64_t> minSizes;
  /// Attributes of the function arguments, by argument number. They are set on the function once
  /// all are known because each update of a function reallocates the list of all argument
  /// attributes.
  llvm::SmallVector<mlir::NamedAttrList> argumentAttributes;
  /// Argument numbers of the parameters, by name.
  llvm::StringMap<unsigned> parameterNumbers;
  /// Maps an argument of a loop body to the operand of the loop. The argument holds one step and
  /// one row, or all, of the operand.
  llvm::DenseMap<mlir::Value, mlir::Value> outerValues;
  /// Number of Dropout nodes built so far; each has a separate random stream.
  int64_t numDropouts = 0;
  /// Number of batch normalizations in training mode built so far.
  int64_t numTrainingModes = 0;
  /// Batch normalizations use the statistics of all ranks.
  bool sharesStatistics = false;
  /// `--untie` was given.
  bool isUntied = false;
  /// Returns the end of an error about an initializer used in two roles.
  llvm::StringRef offerUntie() const {
    return isUntied ? "; use a separate initializer for each use in the model"
                    : "; --untie gives each use its own";
  }
  /// Whether `Mixed` marks are recorded. False while code that exists only for training is built.
  bool marksMixing = true;

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

  //===--------------------------------------------------------------------===//
  // Order of sizes
  //===--------------------------------------------------------------------===//

  /// Returns whether a >= b for all sizes; false if unknown.
  bool isAtLeast(mlir::AffineExpr a, mlir::AffineExpr b) const {
    return bppsa::isAtLeast(a, b, minSizes);
  }
  /// Ensures a >= b. If this does not hold for all sizes, raises the minimum of a symbol; programs
  /// check it for every array. Fails if raising the minimum of one symbol is not sufficient.
  mlir::LogicalResult requireAtLeast(mlir::AffineExpr a, mlir::AffineExpr b);

  //===--------------------------------------------------------------------===//
  // Dimensions
  //===--------------------------------------------------------------------===//

  /// Returns a dimension with the axis of its symbol, or with an unknown axis.
  Dim getDim(mlir::AffineExpr size) const;
  Dim getDim(int64_t size) const { return getDim(getExpr(size)); }
  llvm::SmallVector<Dim> getDims(llvm::ArrayRef<int64_t> sizes) const;

  /// Creates the dimension of a graph input, with a new axis or the axis of its symbol.
  Dim makeInputDim(mlir::AffineExpr size);
  /// Creates dimensions along which values differ regardless of the inputs: dimensions of
  /// parameters and constants.
  llvm::SmallVector<Dim> makePinnedDims(llvm::ArrayRef<int64_t> sizes);
  /// Returns the axis of `dim`, or -1 if it is unknown or several axes are merged.
  int getOrigin(const Dim &dim) const;
  /// Records the role of `dim`.
  void setRole(const Dim &dim, AxisRole role) { axes.setRole(getOrigin(dim), role); }
  AxisRole getRole(const Dim &dim) const { return axes.getRole(getOrigin(dim)); }
  /// Records a use of the axes in `dim`.
  void mark(const Dim &dim, AxisFact fact);
  /// Records that values depend on `size`, and therefore on all positions of the axes that have
  /// this size.
  void markSize(mlir::AffineExpr size);

  /// Records that symbol `position` is dimension `index` of `tensor`.
  void bindSymbol(unsigned position, mlir::Value tensor, int64_t index);

  /// Returns the common dimension of `a` and `b`, which must be equal.
  mlir::FailureOr<Dim> unify(const Dim &a, const Dim &b);
  /// Broadcasts as ONNX does: a dimension of size 1 fits any other.
  mlir::FailureOr<llvm::SmallVector<Dim>> broadcast(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b);

  mlir::OpFoldResult getSize(mlir::AffineExpr size);
  mlir::Value getSizeValue(mlir::AffineExpr size);
  mlir::RankedTensorType getType(llvm::ArrayRef<Dim> dims, mlir::Type elementType) const;

  /// Formats for diagnostics: "T * 20", "[T, 16, 20]".
  std::string describe(mlir::AffineExpr expr) const;
  std::string describe(llvm::ArrayRef<mlir::AffineExpr> exprs) const;
  std::string describeShape(const Tensor &tensor) const { return describe(tensor.getSizes()); }

  //===--------------------------------------------------------------------===//
  // Tensors
  //===--------------------------------------------------------------------===//

  /// Returns the IR value of `tensor`. Creates a constant if only the elements are known.
  mlir::Value getValue(const Tensor &tensor);
  Tensor make(mlir::Value value, llvm::ArrayRef<Dim> dims);
  Tensor makeConstant(mlir::DenseElementsAttr attribute);
  /// Creates an integer or bool tensor whose elements are known as expressions.
  Tensor makeElements(mlir::Type elementType, llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<mlir::AffineExpr> elements);
  mlir::Value makeEmpty(llvm::ArrayRef<Dim> dims, mlir::Type elementType);
  Tensor makeFilled(llvm::ArrayRef<Dim> dims, mlir::TypedAttr element);
  /// Creates a rank-0 f32 tensor that holds `size`.
  Tensor makeSizeAsFloat(mlir::AffineExpr size);

  /// Creates an all-parallel linalg.generic over the broadcast operands.
  mlir::FailureOr<Tensor> makeElementwise(llvm::ArrayRef<Tensor> operands, mlir::Type elementType,
                                          Body body);
  mlir::FailureOr<Tensor> makeBroadcast(const Tensor &operand, llvm::ArrayRef<Dim> dims);
  /// Reduces `operand` over the dimensions `reduced`, which the result lacks. The second argument
  /// of `body` is the accumulator, initialized to `neutral`.
  Tensor makeReduction(const Tensor &operand, llvm::ArrayRef<int64_t> reduced,
                       mlir::TypedAttr neutral, Body body);
  /// Sum, or maximum without a derivative, over `axes`, which are kept with size 1.
  Tensor makeSum(const Tensor &operand, llvm::ArrayRef<int64_t> axes);
  Tensor makeMaximum(const Tensor &operand, llvm::ArrayRef<int64_t> axes);
  /// Creates the sum of products described by `maps`; the last map belongs to the result, which has
  /// the shape `dims`.
  Tensor makeContraction(const Tensor &lhs, const Tensor &rhs, llvm::ArrayRef<Dim> dims,
                         llvm::ArrayRef<mlir::AffineMap> maps);
  /// The same sum of products, added to `init`.
  Tensor makeContraction(const Tensor &lhs, const Tensor &rhs, const Tensor &init,
                         llvm::ArrayRef<mlir::AffineMap> maps);
  /// Creates a linalg.generic whose result is initialized to `init`. `maps` holds the maps of the
  /// inputs, then the map of the result; the dimensions of the result are the parallel loops.
  Tensor makeGeneric(llvm::ArrayRef<Tensor> inputs, const Tensor &init,
                     llvm::ArrayRef<mlir::AffineMap> maps, Body body);
  Tensor makeTranspose(const Tensor &operand, llvm::ArrayRef<int64_t> permutation);
  /// Reshapes `operand` to `dims`; the products of the sizes must be equal. The axes are taken from
  /// `dims` if known, else from `operand`.
  Tensor makeReshape(const Tensor &operand, llvm::ArrayRef<Dim> dims);
  /// Slices dimension `axis` from `offset`: `size` elements at distance `stride`.
  Tensor makeSlice(const Tensor &operand, int64_t axis, mlir::AffineExpr offset,
                   mlir::AffineExpr size, int64_t stride = 1);
  /// Pads `operand` with `element`: `before[i]` elements before dimension i and `after[i]` after
  /// it.
  Tensor makePadded(const Tensor &operand, llvm::ArrayRef<int64_t> before,
                    llvm::ArrayRef<int64_t> after, mlir::TypedAttr element);
  /// Concatenates along `axis`. The operands must agree in all other dimensions.
  mlir::FailureOr<Tensor> makeConcat(llvm::ArrayRef<Tensor> operands, int64_t axis);
  /// Removes the dimensions `axes`, which must have size 1.
  Tensor makeSqueeze(const Tensor &operand, llvm::ArrayRef<int64_t> axes);
  Tensor makeUnsqueeze(const Tensor &operand, llvm::ArrayRef<int64_t> axes);

private:
  /// Returns the dimensions of the result of a loop nest and records the uses of the dimensions of
  /// its operands.
  llvm::SmallVector<Dim> getLoopDims(llvm::ArrayRef<Tensor> inputs, const Tensor &init,
                                     llvm::ArrayRef<mlir::AffineMap> maps);
  mlir::Value collapseOnes(const Tensor &operand, llvm::ArrayRef<bool> collapsed);
  /// Transposes a concatenation of tensors whose size along the concatenated axis is one by
  /// transposing the parts, if this moves no element within a part.
  std::optional<mlir::Value> transposeParts(const Tensor &operand,
                                            llvm::ArrayRef<int64_t> permutation);
  /// Collapses each group of dimensions of `value`. Looks through an expansion whose unit
  /// dimensions the groups collapse again, and collapses the parts of a concatenation separately.
  mlir::Value makeCollapsed(mlir::Value value, mlir::RankedTensorType type,
                            llvm::ArrayRef<mlir::ReassociationIndices> groups);
  Dim mergeOrigins(const Dim &a, const Dim &b);

  llvm::DenseMap<unsigned, int> symbolOrigins;
  llvm::DenseMap<unsigned, std::pair<mlir::Value, int64_t>> symbolSources;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> sizeValues;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_GRAPHBUILDER_H
