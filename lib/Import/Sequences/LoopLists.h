//===- LoopLists.h - lists that a loop carries ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A list of constant length becomes one state per element. A list extended in each step becomes an
// output of the loop.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_SEQUENCES_LOOPLISTS_H
#define BPPSA_LIB_IMPORT_SEQUENCES_LOOPLISTS_H

#include "../Model/Importer.h"
#include "TensorList.h"

namespace bppsa {

class LoopLists {
public:
  /// The name of a state's input in the body, and its initial value.
  using State = std::pair<std::string, Tensor>;

  /// `states` holds all states of a loop, including lists.
  LoopLists(Node &node, llvm::ArrayRef<State> states);

  bool empty() const { return lists.empty(); }
  size_t getNumLists() const { return lists.size(); }
  mlir::FailureOr<llvm::SmallVector<State>> getTensorStates();
  /// Defines the lists in the scope of the body, which already holds the tensors.
  mlir::LogicalResult define(Scope &scope);
  /// Returns the outputs of the body, states first, with lists replaced by tensors. Fails without
  /// an error if the import must be retried (see `needsRetry`).
  mlir::FailureOr<llvm::SmallVector<Tensor>> getTensorOutputs(llvm::ArrayRef<Tensor> outputs);
  mlir::FailureOr<llvm::SmallVector<Tensor>> getResults(llvm::ArrayRef<Tensor> results);
  /// Returns whether the body uses a list in a form that contradicts the assumptions.
  bool needsRetry() const;
  /// Updates the assumptions to the observed uses.
  void prepareRetry();

  /// Returns the length before the first step of the list `name` in the body.
  MaybeExpr getGrowingLength(llvm::StringRef name);

private:
  /// The elements that each step adds to one end of a list: a tensor, or a stack of several.
  struct Growth {
    bool isAny = false, isStack = false;
  };
  struct List {
    size_t state;
    std::string name;
    std::shared_ptr<const TensorList> initial;
    /// The length is the same after a step.
    bool isFixed;
    /// Each step must append exactly one element.
    bool growsByOne = false;
    llvm::SmallVector<Tensor> elements = {};
    std::shared_ptr<ListReads> reads = std::make_shared<ListReads>();
    ListReads known = {};
    llvm::SmallVector<Tensor> first = {}, last = {};
    Growth front = {}, back = {};
  };

  static std::string getStateName(const List &list, size_t index) {
    return list.name + "/list/" + std::to_string(index);
  }
  List *find(size_t state);
  size_t countStates(const List &list) const {
    return list.isFixed ? list.elements.size() : list.known.first + list.known.last;
  }
  mlir::FailureOr<llvm::SmallVector<Tensor>> getInitialStates(const List &list);
  /// Returns the new values of the states of a list; elements that the step adds are appended to
  /// `added`.
  mlir::FailureOr<llvm::SmallVector<Tensor>> getNewStates(List &list, const Tensor &output,
                                                          llvm::SmallVectorImpl<Tensor> &added);
  mlir::FailureOr<llvm::SmallVector<Tensor>> getGrowingStates(List &list, const TensorList &after,
                                                              llvm::SmallVectorImpl<Tensor> &added);
  mlir::LogicalResult addGrowth(List &list, Growth &growth, llvm::ArrayRef<ListPart> parts,
                                llvm::SmallVectorImpl<Tensor> &added);
  mlir::FailureOr<ListPart> getGrown(const List &list, const Growth &growth, const Tensor &array,
                                     bool isFront);
  mlir::InFlightDiagnostic emitListError(const List &list) const;

  Node &node;
  GraphBuilder &graph;
  llvm::SmallVector<State> states;
  std::vector<List> lists;
  bool isChanged = false;
};

} // namespace bppsa

#endif
