//===- OnnxFile.h - Saving a trained ONNX model ---------------------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_LIB_RUNTIME_FILES_ONNXFILE_H
#define BPPSA_LIB_RUNTIME_FILES_ONNXFILE_H

#include "bppsa/Runtime/Training/Parameters.h"

namespace bppsa::runtime {

/// Writes the ONNX file the program was compiled from, with the trained values in the place of the
/// old ones and no other byte changed.
void saveOnnx(const std::string &path, const Model &model, const unsigned char *onnx, uint64_t size,
              const Parameters &parameters);

} // namespace bppsa::runtime

#endif // BPPSA_LIB_RUNTIME_FILES_ONNXFILE_H
