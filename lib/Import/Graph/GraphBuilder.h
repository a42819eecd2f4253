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

/// Part of a dimension: its size, and the axis it is, as far as that is known.
struct Factor {
  mlir::AffineExpr size;
  /// An axis of `GraphBuilder::axes`, or -1.
  int origin = -1;
};

/// One dimension. Reshape merges dimensions: the factors say which ones, so that
/// a later Reshape that splits them again finds the axes.
struct Dim {
  mlir::AffineExpr size;
  llvm::SmallVector<Factor, 1> factors;

  bool isOne() const { return getConstant(size) == 1; }
};

struct TensorList;

/// One value of the ONNX graph.
struct Tensor {
  mlir::Type elementType;
  llvm::SmallVector<Dim> dims;
  /// Null as long as only `elements` is known.
  mlir::Value value;
  /// The elements of a small integer or bool tensor of static shape, in
  /// row-major order, if they depend on sizes only.
  std::optional<llvm::SmallVector<mlir::AffineExpr>> elements;
  /// Of a value that is a list of tensors: the list. All other members are empty then.
  std::shared_ptr<const TensorList> list = nullptr;

  int64_t getRank() const { return dims.size(); }
  llvm::SmallVector<mlir::AffineExpr> getSizes() const;
};

/// Makes IR for tensors. Sizes that must be equal and are not make an operation
/// fail: if a symbol can be bound so that they are, `pendingBinding` is set and
/// the import starts again with it, so that no expression ever has to be
/// replaced afterwards.
class GraphBuilder {
public:
  using Body = llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

  GraphBuilder(mlir::OpBuilder &builder) : builder(builder), loc(builder.getUnknownLoc()) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  std::optional<SymbolBinding> pendingBinding;
  /// Names of the symbols, by position.
  std::vector<std::string> symbols;
  /// Which axes are the same by data flow, and what the graph does to them.
  AxisClasses axes;
  /// The least value of each symbol with which the graph means what was built.
  llvm::SmallVector<int64_t> minSizes;
  /// Attributes of the arguments of the function, by number. They are set on it when all are known:
  /// every change there makes a new list of all of them.
  llvm::SmallVector<mlir::NamedAttrList> argumentAttributes;
  /// Numbers of the arguments that are parameters, by name.
  llvm::StringMap<unsigned> parameterNumbers;
  /// The operand of a loop of which an argument of its body holds one step and one row, or all.
  llvm::DenseMap<mlir::Value, mlir::Value> outerValues;
  /// Dropouts made so far; each has a stream of random numbers of its own.
  int64_t numDropouts = 0;
  /// Batch normalizations in training mode made so far.
  int64_t numTrainingModes = 0;
  /// Whether they take the statistics of all ranks.
  bool sharesStatistics = false;
  /// Whether `--untie` has been given.
  bool isUntied = false;
  /// The end of an error on an initializer of two meanings.
  llvm::StringRef offerUntie() const {
    return isUntied ? "; use a separate initializer for each use in the model"
                    : "; --untie gives each use its own";
  }
  /// Whether marks of `Mixed` count: what is made meanwhile is not for training only.
  bool marksMixing = true;

  /// Sizes that are made while this lives are for a region of its own.
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

  /// Whether a >= b for all sizes; false if that is not known.
  bool isAtLeast(mlir::AffineExpr a, mlir::AffineExpr b) const {
    return bppsa::isAtLeast(a, b, minSizes);
  }
  /// Makes a >= b hold: where it does not for all sizes, a symbol gets a larger
  /// least value, which programs demand of every array. Fails if no least value
  /// of one symbol does it.
  mlir::LogicalResult requireAtLeast(mlir::AffineExpr a, mlir::AffineExpr b);

  //===--------------------------------------------------------------------===//
  // Dimensions
  //===--------------------------------------------------------------------===//

  /// A dimension of unknown origin, or of the origin of its symbol.
  Dim getDim(mlir::AffineExpr size) const;
  Dim getDim(int64_t size) const { return getDim(getExpr(size)); }
  llvm::SmallVector<Dim> getDims(llvm::ArrayRef<int64_t> sizes) const;

  /// A dimension of a graph input: one of its own origin, or that of its symbol.
  Dim makeInputDim(mlir::AffineExpr size);
  /// Dimensions of values that differ between positions whatever the inputs are: those of
  /// parameters and constants.
  llvm::SmallVector<Dim> makePinnedDims(llvm::ArrayRef<int64_t> sizes);
  /// The axis of `dim`, or -1 where none is known or several are merged.
  int getOrigin(const Dim &dim) const;
  /// Says that `dim` carries `role`.
  void setRole(const Dim &dim, AxisRole role) { axes.setRole(getOrigin(dim), role); }
  AxisRole getRole(const Dim &dim) const { return axes.getRole(getOrigin(dim)); }
  /// Says what a node does to the axes in `dim`.
  void mark(const Dim &dim, AxisFact fact);
  /// Says that values depend on `size`, and so on all positions of the axes that it measures.
  void markSize(mlir::AffineExpr size);

  /// Says that symbol `position` is dimension `index` of `tensor`.
  void bindSymbol(unsigned position, mlir::Value tensor, int64_t index);

  /// The common dimension of `a` and `b`, which must be equal.
  mlir::FailureOr<Dim> unify(const Dim &a, const Dim &b);
  /// As ONNX broadcasts: a dimension of size 1 fits any other.
  mlir::FailureOr<llvm::SmallVector<Dim>> broadcast(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b);

  /// The size as an attribute or an index value.
  mlir::OpFoldResult getSize(mlir::AffineExpr size);
  mlir::Value getSizeValue(mlir::AffineExpr size);
  mlir::RankedTensorType getType(llvm::ArrayRef<Dim> dims, mlir::Type elementType) const;

  /// For diagnostics: "T * 20", "[T, 16, 20]".
  std::string describe(mlir::AffineExpr expr) const;
  std::string describe(llvm::ArrayRef<mlir::AffineExpr> exprs) const;
  std::string describeShape(const Tensor &tensor) const { return describe(tensor.getSizes()); }

  //===--------------------------------------------------------------------===//
  // Tensors
  //===--------------------------------------------------------------------===//

  /// The value of `tensor` in the IR; made here for one that is only known as
  /// expressions.
  mlir::Value getValue(const Tensor &tensor);
  /// A tensor of the value `value`.
  Tensor make(mlir::Value value, llvm::ArrayRef<Dim> dims);
  Tensor makeConstant(mlir::DenseElementsAttr attribute);
  /// A tensor of integers or bools that are known as expressions.
  Tensor makeElements(mlir::Type elementType, llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<mlir::AffineExpr> elements);
  mlir::Value makeEmpty(llvm::ArrayRef<Dim> dims, mlir::Type elementType);
  Tensor makeFilled(llvm::ArrayRef<Dim> dims, mlir::TypedAttr element);
  /// A rank-0 f32 tensor that holds `size`.
  Tensor makeSizeAsFloat(mlir::AffineExpr size);

  /// An all-parallel linalg.generic over the broadcast operands.
  mlir::FailureOr<Tensor> makeElementwise(llvm::ArrayRef<Tensor> operands, mlir::Type elementType,
                                          Body body);
  /// `operand` repeated to `dims`, to which it must broadcast.
  mlir::FailureOr<Tensor> makeBroadcast(const Tensor &operand, llvm::ArrayRef<Dim> dims);
  /// What `body` makes of the elements along `reduced`, which the result lacks, and of the
  /// accumulator, its second argument, from `neutral` on.
  Tensor makeReduction(const Tensor &operand, llvm::ArrayRef<int64_t> reduced,
                       mlir::TypedAttr neutral, Body body);
  /// Sum, or maximum without a derivative, over `axes`, which stay as ones.
  Tensor makeSum(const Tensor &operand, llvm::ArrayRef<int64_t> axes);
  Tensor makeMaximum(const Tensor &operand, llvm::ArrayRef<int64_t> axes);
  /// The sum of products that the maps describe; the last one is that of the
  /// result, of shape `dims`.
  Tensor makeContraction(const Tensor &lhs, const Tensor &rhs, llvm::ArrayRef<Dim> dims,
                         llvm::ArrayRef<mlir::AffineMap> maps);
  /// The same, added to `init`.
  Tensor makeContraction(const Tensor &lhs, const Tensor &rhs, const Tensor &init,
                         llvm::ArrayRef<mlir::AffineMap> maps);
  /// A linalg.generic that starts from `init`; maps are those of the inputs and
  /// that of the result, whose dimensions are the parallel loops.
  Tensor makeGeneric(llvm::ArrayRef<Tensor> inputs, const Tensor &init,
                     llvm::ArrayRef<mlir::AffineMap> maps, Body body);
  Tensor makeTranspose(const Tensor &operand, llvm::ArrayRef<int64_t> permutation);
  /// The same elements with other dimensions; the products of the sizes must be
  /// equal. Origins are those of `dims` where known, else those of `operand`.
  Tensor makeReshape(const Tensor &operand, llvm::ArrayRef<Dim> dims);
  /// Dimension `axis` from `offset`, `size` elements that lie `stride` apart.
  Tensor makeSlice(const Tensor &operand, int64_t axis, mlir::AffineExpr offset,
                   mlir::AffineExpr size, int64_t stride = 1);
  /// `operand` with `before[i]` elements `element` before dimension i and
  /// `after[i]` after it.
  Tensor makePadded(const Tensor &operand, llvm::ArrayRef<int64_t> before,
                    llvm::ArrayRef<int64_t> after, mlir::TypedAttr element);
  /// Operands must agree in all dimensions but `axis`.
  mlir::FailureOr<Tensor> makeConcat(llvm::ArrayRef<Tensor> operands, int64_t axis);
  /// `operand` without the dimensions `axes`, all of size 1.
  Tensor makeSqueeze(const Tensor &operand, llvm::ArrayRef<int64_t> axes);
  Tensor makeUnsqueeze(const Tensor &operand, llvm::ArrayRef<int64_t> axes);

private:
  /// The dimensions of the result of a loop nest; says what it does to those of its operands.
  llvm::SmallVector<Dim> getLoopDims(llvm::ArrayRef<Tensor> inputs, const Tensor &init,
                                     llvm::ArrayRef<mlir::AffineMap> maps);
  mlir::Value collapseOnes(const Tensor &operand, llvm::ArrayRef<bool> collapsed);
  /// A concatenation of tensors of size one along its axis, transposed: one of transposed tensors,
  /// where no element of these moves.
  std::optional<mlir::Value> transposeParts(const Tensor &operand,
                                            llvm::ArrayRef<int64_t> permutation);
  /// `value` with each group of dimensions merged into one; what the value was expanded from where
  /// the groups take away the ones that this added, and parts of a concatenation one by one.
  mlir::Value makeCollapsed(mlir::Value value, mlir::RankedTensorType type,
                            llvm::ArrayRef<mlir::ReassociationIndices> groups);
  Dim mergeOrigins(const Dim &a, const Dim &b);

  llvm::DenseMap<unsigned, int> symbolOrigins;
  llvm::DenseMap<unsigned, std::pair<mlir::Value, int64_t>> symbolSources;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> sizeValues;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_GRAPH_GRAPHBUILDER_H
