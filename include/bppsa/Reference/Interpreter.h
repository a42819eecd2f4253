//===- Interpreter.h - float64 reference semantics --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A deliberately naive evaluator of tensor IR, the oracle of the test suite: every float is a
// double, and nothing is reordered, batched or reused.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_REFERENCE_INTERPRETER_H
#define BPPSA_REFERENCE_INTERPRETER_H

#include "bppsa/Reference/Array.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/DenseMap.h"
#include <functional>
#include <unordered_map>

namespace bppsa {

class Interpreter;

/// An evaluator sets the op's results, or emits an error on the op.
class EvaluatorTable {
public:
  using Evaluator = std::function<llvm::LogicalResult(mlir::Operation *, Interpreter &)>;

  explicit EvaluatorTable(mlir::MLIRContext *context);

  /// Returns null if the op is unknown.
  const Evaluator *lookup(mlir::Operation *op) const;

  /// `evaluator` is called with `(OpTy, Interpreter &)`.
  template <typename OpTy, typename Fn> void add(Fn evaluator) {
    evaluators[{OpTy::getOperationName(), context}] = [evaluator](mlir::Operation *op,
                                                                  Interpreter &interpreter) {
      return evaluator(mlir::cast<OpTy>(op), interpreter);
    };
  }

  /// Add ops on one, two or three floats, or on two integers.
  template <typename OpTy> void addUnary(double (*function)(double)) {
    addElementwise<OpTy>([function](const double *x) { return function(x[0]); });
  }
  template <typename OpTy> void addBinary(double (*function)(double, double)) {
    addElementwise<OpTy>([function](const double *x) { return function(x[0], x[1]); });
  }
  template <typename OpTy> void addTernary(double (*function)(double, double, double)) {
    addElementwise<OpTy>([function](const double *x) { return function(x[0], x[1], x[2]); });
  }
  template <typename OpTy> void addIntegerBinary(int64_t (*function)(int64_t, int64_t)) {
    evaluators[{OpTy::getOperationName(), context}] = [function](mlir::Operation *op,
                                                                 Interpreter &interpreter) {
      return evaluateIntegers(op, interpreter, function);
    };
  }

private:
  template <typename OpTy> void addElementwise(std::function<double(const double *)> function) {
    evaluators[{OpTy::getOperationName(), context}] = [function](mlir::Operation *op,
                                                                 Interpreter &interpreter) {
      return evaluateReals(op, interpreter, function);
    };
  }
  static llvm::LogicalResult evaluateReals(mlir::Operation *op, Interpreter &interpreter,
                                           llvm::function_ref<double(const double *)> function);
  static llvm::LogicalResult evaluateCellOp(mlir::Operation *op, Interpreter &interpreter);
  static llvm::LogicalResult
  evaluateIntegers(mlir::Operation *op, Interpreter &interpreter,
                   llvm::function_ref<int64_t(int64_t, int64_t)> function);

  mlir::MLIRContext *context;
  llvm::DenseMap<mlir::OperationName, Evaluator> evaluators;
};

/// An operation on all samples counts once.
struct ScanCounts {
  /// Products of two transitions, and of a transition and a cotangent.
  int64_t compositions = 0, applications = 0;
  /// Links applied to matrix columns, and to a single cotangent.
  int64_t linksOnColumns = 0, linksOnOne = 0;
};

class Interpreter {
public:
  explicit Interpreter(mlir::ModuleOp module);

  /// Emits an error if arguments do not match or an op cannot be evaluated.
  llvm::FailureOr<std::vector<Array>> call(llvm::StringRef function, std::vector<Array> arguments);

  /// The reference is valid until the value is set again.
  const Array &get(mlir::Value value) const;
  int64_t getInteger(mlir::Value value) const { return get(value).integers[0]; }
  llvm::SmallVector<int64_t> getIntegers(llvm::ArrayRef<mlir::OpFoldResult> values) const;
  void set(mlir::Value value, Array array);
  /// All reads precede all writes.
  void copy(mlir::ValueRange from, mlir::ValueRange to);

  /// Evaluates all ops but the terminator. Block arguments must be set.
  llvm::LogicalResult run(mlir::Block &block);

  ScanCounts counts;

  /// The iteration of the innermost structured op, for linalg.index.
  llvm::SmallVector<int64_t> iteration;

private:
  llvm::LogicalResult run(mlir::Operation *op);

  mlir::ModuleOp module;
  EvaluatorTable table;
  std::unordered_map<void *, Array> values;
};

/// Wraps `value` to the width of `type`.
int64_t wrapInteger(int64_t value, mlir::Type type);

void addArithEvaluators(EvaluatorTable &table);
void addMathEvaluators(EvaluatorTable &table);
void addControlFlowEvaluators(EvaluatorTable &table);
void addLinalgEvaluators(EvaluatorTable &table);
void addTensorEvaluators(EvaluatorTable &table);
void addVectorEvaluators(EvaluatorTable &table);
void addBPPSAEvaluators(EvaluatorTable &table);
void addLoopEvaluators(EvaluatorTable &table);
void addSumEvaluators(EvaluatorTable &table);
void addLayoutEvaluators(EvaluatorTable &table);
void addJacobianEvaluators(EvaluatorTable &table);
/// Evaluates ops with the semantics of linalg.generic.
llvm::LogicalResult evaluateStructuredOp(mlir::Operation *op, Interpreter &interpreter);

} // namespace bppsa

#endif // BPPSA_REFERENCE_INTERPRETER_H
