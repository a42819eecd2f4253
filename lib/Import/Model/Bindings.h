//===- Bindings.h - inputs and dimensions that are bound --------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_IMPORT_MODEL_BINDINGS_H
#define BPPSA_LIB_IMPORT_MODEL_BINDINGS_H

#include "OnnxFile.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <variant>

namespace bppsa {

/// What a symbolic dimension turned out to be: another one, or a number.
using Bindings = std::map<std::string, std::variant<std::string, int64_t>>;

/// What `--bind` asks for.
struct GraphBindings {
  /// Graph inputs that are constants.
  llvm::StringMap<mlir::DenseElementsAttr> inputs;
  /// Symbolic dimensions that are numbers.
  Bindings dimensions;
};

/// The name of dimension `index` of `input`, which has no fixed size.
std::string getDimensionName(const onnx::ValueInfoProto &input, int64_t index);

/// Reads `requests`; fails after an error where one names nothing of the graph, or its values are
/// not those of the input.
mlir::FailureOr<GraphBindings> readBindings(const OnnxFile &file,
                                            llvm::ArrayRef<BindRequest> requests);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_MODEL_BINDINGS_H
