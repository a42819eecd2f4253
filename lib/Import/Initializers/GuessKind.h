//===- GuessKind.h - infer roles of initializers ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Most files do not record which initializers are parameters, so their values, names and uses
// decide.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_INITIALIZERS_GUESSKIND_H
#define BPPSA_LIB_IMPORT_INITIALIZERS_GUESSKIND_H

#include "RecordedKinds.h"
#include "mlir/Support/LLVM.h"

namespace bppsa {

class KindGuesser {
public:
  KindGuesser(const OnnxFile &file, const RecordedKinds &kinds);

  mlir::FailureOr<InitializerKind> guess(const onnx::TensorProto &tensor) const;

private:
  InitializerKind guessParameter(llvm::StringRef name) const;
  void addWeights(const onnx::GraphProto &graph);

  const OnnxFile &file;
  const RecordedKinds &kinds;
  llvm::StringMap<std::string> weights;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INITIALIZERS_GUESSKIND_H
