//===- ExtendSteps.cpp - extends matched steps ----------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "StepMatcher.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace bppsa;

/// Returns the results of `user`, in step 0, and of its counterparts; empty if one is missing.
SmallVector<Value> StepMatcher::findEqualUsers(Operation *user) {
  SmallVector<std::optional<unsigned>> known;
  std::optional<unsigned> own;
  for (Value read : getReads(user)) {
    auto it = atFirstStep.find(read);
    known.push_back(it == atFirstStep.end() ? std::nullopt : std::optional(it->second));
    if (known.back() && tuples[*known.back()].isDependent)
      own = known.back();
  }
  SmallVector<Value> values = {user->getResult(0)};
  for (unsigned step = 1; own && step < numSteps; ++step) {
    auto isEqual = [&](Operation *other) {
      ++work;
      if (other->getBlock() != &block || !areEqualOps(user, other))
        return false;
      return llvm::all_of(llvm::zip_equal(known, getReads(other)), [&](auto pair) {
        auto [number, read] = pair;
        return !number || tuples[*number].values[step] == read;
      });
    };
    auto users = tuples[*own].values[step].getUsers();
    auto found = llvm::find_if(users, isEqual);
    if (found == users.end())
      return {};
    values.push_back(found->getResult(0));
  }
  return own ? values : SmallVector<Value>();
}

void StepMatcher::truncate(size_t size) {
  while (tuples.size() > size) {
    const StepTuple &tuple = tuples.back();
    unsigned number = tuples.size() - 1;
    numbers.erase({tuple.values[0], tuple.values[1]});
    if (auto it = atFirstStep.find(tuple.front()); it != atFirstStep.end() && it->second == number)
      atFirstStep.erase(it);
    tuples.pop_back();
  }
}

/// Tuples from `size` on must be known in all steps. A new state would belong to another
/// recurrence, and no operation may belong to two steps.
bool StepMatcher::isExtension(size_t size, bool readSequences) const {
  auto isStepValue = [&](Value value) { return value && isStepOp(value.getDefiningOp()); };
  return llvm::all_of(llvm::drop_begin(tuples, size), [&](const StepTuple &tuple) {
    return countKnown(tuple) >= numSteps && tuple.kind != StepTuple::State &&
           (readSequences || tuple.kind == StepTuple::Capture || tuple.isDependent) &&
           (!tuple.isDependent || llvm::none_of(tuple.values, isStepValue));
  });
}

void StepMatcher::markStepOps(size_t size) {
  for (const StepTuple &tuple : llvm::drop_begin(tuples, size))
    if (tuple.kind == StepTuple::Op && tuple.isDependent)
      for (unsigned step = 0; step < numSteps; ++step)
        stepOps.insert(tuple.getOp(step));
}

bool StepMatcher::extendTo(Operation *user, bool readSequences) {
  SmallVector<Value> values = findEqualUsers(user);
  if (values.empty())
    return false;
  values.resize(anchors.size());
  size_t size = tuples.size();
  FailureOr<unsigned> added = visit(std::move(values));
  bool isAdded =
      succeeded(added) && tuples[*added].kind == StepTuple::Op && isExtension(size, readSequences);
  if (isAdded)
    markStepOps(size);
  else
    truncate(size);
  return isAdded;
}

void StepMatcher::extend(bool readSequences) {
  auto isWanted = [&](Operation *user) {
    return user->getBlock() == &block && user->getNumResults() == 1 &&
           isa<linalg::GenericOp, tensor::ExtractSliceOp, tensor::ConcatOp>(user) &&
           !isStepOp(user);
  };
  // Readers of an added operation may become extensions.
  for (bool isChanged = true; isChanged;) {
    isChanged = false;
    for (size_t i = 0; i < tuples.size(); ++i)
      if (tuples[i].kind == StepTuple::Op && tuples[i].isDependent)
        for (Operation *user : llvm::to_vector(tuples[i].front().getUsers()))
          isChanged |= isWanted(user) && extendTo(user, readSequences);
  }
}
