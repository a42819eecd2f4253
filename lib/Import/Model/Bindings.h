//===- Bindings.h - bound inputs and dimensions -----------------*- C++ -*-===//
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

/// Symbolic dimensions and their replacements: another dimension, or a constant.
using Bindings = std::map<std::string, std::variant<std::string, int64_t>>;

/// The bindings requested by `--bind`.
struct GraphBindings {
  llvm::StringMap<mlir::DenseElementsAttr> inputs;
  Bindings dimensions;
};

std::string getDimensionName(const onnx::ValueInfoProto &input, int64_t index);

/// Parses `requests`. Emits an error if a request names neither a graph input nor a dimension, or
/// its values do not fit the input.
mlir::FailureOr<GraphBindings> readBindings(const OnnxFile &file,
                                            llvm::ArrayRef<BindRequest> requests);

} // namespace bppsa

#endif // BPPSA_LIB_IMPORT_MODEL_BINDINGS_H
