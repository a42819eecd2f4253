//===- LoopLists.h - lists that a loop carries ------------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// A list of as many elements after a step as before is a state for each element.
// A list to which each step appends is an output of the loop. The elements at its
// ends that the body reads are states.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_SEQUENCES_LOOPLISTS_H
#define BPPSA_LIB_IMPORT_SEQUENCES_LOOPLISTS_H

#include "../Model/Importer.h"
#include "TensorList.h"

namespace bppsa {

class LoopLists {
public:
  /// A state by the name of its input of the body, and its initial value.
  using State = std::pair<std::string, Tensor>;

  /// `states` are all states of a loop, lists among them.
  LoopLists(Node &node, llvm::ArrayRef<State> states);

  bool empty() const { return lists.empty(); }
  size_t getNumLists() const { return lists.size(); }
  /// The states with those that lists need in place of the lists; fails after an error.
  mlir::FailureOr<llvm::SmallVector<State>> getTensorStates();
  /// Defines the lists in the scope of the body, which has the tensors.
  mlir::LogicalResult define(Scope &scope);
  /// The outputs of the body, states first, with tensors in place of lists. Fails without an error
  /// where `needsRetry` is true then.
  mlir::FailureOr<llvm::SmallVector<Tensor>> getTensorOutputs(llvm::ArrayRef<Tensor> outputs);
  /// The reverse for the results of the loop.
  mlir::FailureOr<llvm::SmallVector<Tensor>> getResults(llvm::ArrayRef<Tensor> results);
  /// Whether the body uses a list otherwise than was assumed.
  bool needsRetry() const;
  /// Assumes what the body does.
  void prepareRetry();

  /// The number of elements before the first step of the list that is `name` in the body. Each step
  /// must append one to it.
  MaybeExpr getGrowingLength(llvm::StringRef name);

private:
  /// What each step adds to one end of a list: a tensor, or a stack of several.
  struct Growth {
    bool isAny = false, isStack = false;
  };
  struct List {
    size_t state;
    std::string name;
    std::shared_ptr<const TensorList> initial;
    /// Has as many elements after a step.
    bool isFixed;
    /// Must get one element in each step, at the end.
    bool growsByOne = false;
    llvm::SmallVector<Tensor> elements = {};
    /// What the body has asked for, and what it has.
    std::shared_ptr<ListReads> reads = std::make_shared<ListReads>();
    ListReads known = {};
    /// The known elements in the body.
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
  /// The new values of the states of a list that `output` is after a step; what the step adds goes
  /// to `added`.
  mlir::FailureOr<llvm::SmallVector<Tensor>> getNewStates(List &list, const Tensor &output,
                                                          llvm::SmallVectorImpl<Tensor> &added);
  mlir::FailureOr<llvm::SmallVector<Tensor>> getGrowingStates(List &list, const TensorList &after,
                                                              llvm::SmallVectorImpl<Tensor> &added);
  mlir::LogicalResult addGrowth(List &list, Growth &growth, llvm::ArrayRef<ListPart> parts,
                                llvm::SmallVectorImpl<Tensor> &added);
  /// The part of a list that all steps have added at one end.
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

#endif // BPPSA_LIB_IMPORT_SEQUENCES_LOOPLISTS_H
