//===- GuessKind.h - infer roles of initializers ----------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Most files do not record which initializers are parameters. Their values, names and uses then
// decide; docs/Reference/CommandLine.md has the rules.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_INITIALIZERS_GUESSKIND_H
#define BPPSA_LIB_IMPORT_INITIALIZERS_GUESSKIND_H

#include "RecordedKinds.h"
#include "mlir/Support/LLVM.h"

namespace bppsa {

/// Infers the roles of the float initializers of one file.
class KindGuesser {
public:
  KindGuesser(const OnnxFile &file, const RecordedKinds &kinds);

  /// Emits an error if the values of `tensor` cannot be read.
  mlir::FailureOr<InitializerKind> guess(const onnx::TensorProto &tensor) const;

private:
  InitializerKind guessParameter(llvm::StringRef name) const;
  void addWeights(const onnx::GraphProto &graph);

  const OnnxFile &file;
  const RecordedKinds &kinds;
  /// Values used as weights by layers, with the operator of the layer.
  llvm::StringMap<std::string> weights;
};

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_INITIALIZERS_GUESSKIND_H
