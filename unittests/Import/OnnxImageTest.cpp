//===- OnnxImageTest.cpp - float initializers in a file -------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Import/ImportONNX.h"
#include "mlir/IR/MLIRContext.h"
#include "onnx.pb.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace mlir;
using namespace bppsa;

namespace {
constexpr float values[] = {1.5f, -2.0f, 3.25f};
const llvm::StringRef rawValues(reinterpret_cast<const char *>(values), sizeof(values));

class Image : public testing::Test {
protected:
  Image() {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    // A preceding integer tensor, which is not a parameter.
    bppsa_onnx::TensorProto *shape = model.mutable_graph()->add_initializer();
    shape->set_name("shape");
    shape->set_data_type(bppsa_onnx::TensorProto::INT64);
    shape->add_dims(1);
    shape->add_int64_data(3);
    tensor = model.mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(bppsa_onnx::TensorProto::FLOAT);
    tensor->add_dims(3);
  }

  /// Loads `bytes` and checks that the image holds the values of `w`.
  void check(llvm::StringRef bytes, unsigned stride, bool isOriginal,
             llvm::StringRef path = "model.onnx") {
    FailureOr<OnnxImage> image = loadOnnxImage(llvm::MemoryBufferRef(bytes, path), &context);
    ASSERT_TRUE(succeeded(image));
    ASSERT_EQ(image->parameters.size(), 1u);
    const OnnxImage::Parameter &parameter = image->parameters.front();
    EXPECT_EQ(parameter.name, "w");
    EXPECT_EQ(ArrayRef<int64_t>(parameter.shape), ArrayRef<int64_t>({3}));
    EXPECT_EQ(parameter.stride, stride);
    for (unsigned i = 0; i < 3; ++i) {
      float value;
      ASSERT_LE(parameter.offset + i * stride + 4, image->bytes.size());
      std::memcpy(&value, image->bytes.data() + parameter.offset + i * stride, 4);
      EXPECT_EQ(value, values[i]);
    }
    EXPECT_EQ(bytes == llvm::StringRef(image->bytes.data(), image->bytes.size()), isOriginal);
    bppsa_onnx::ModelProto parsed;
    EXPECT_TRUE(parsed.ParseFromArray(image->bytes.data(), image->bytes.size()));
  }

  MLIRContext context;
  bppsa_onnx::ModelProto model;
  bppsa_onnx::TensorProto *tensor;
};
} // namespace

TEST_F(Image, RawData) {
  tensor->set_raw_data(rawValues.str());
  check(model.SerializeAsString(), 4, /*isOriginal=*/true);
}

TEST_F(Image, PackedFloatData) {
  for (float value : values)
    tensor->add_float_data(value);
  check(model.SerializeAsString(), 4, /*isOriginal=*/true);
}

/// Appends float_data, one tagged element each, to the serialized tensor.
static std::string serializeUnpacked(bppsa_onnx::ModelProto model, bool isSplit) {
  std::string tensor = model.graph().initializer(1).SerializeAsString();
  for (unsigned i = 0; i < 3; ++i) {
    tensor += '\x25';
    tensor += rawValues.substr(4 * i, 4).str();
    // A doc_string between the elements.
    if (isSplit && i == 1)
      tensor += llvm::StringRef("\x62\x01x").str();
  }
  model.mutable_graph()->mutable_initializer()->RemoveLast();
  std::string graph = model.graph().SerializeAsString();
  graph += '\x2a';
  graph += static_cast<char>(tensor.size());
  graph += tensor;
  model.clear_graph();
  std::string bytes = model.SerializePartialAsString();
  bytes += '\x3a';
  bytes += static_cast<char>(graph.size());
  return bytes + graph;
}

TEST_F(Image, UnpackedFloatData) {
  check(serializeUnpacked(model, /*isSplit=*/false), 5, /*isOriginal=*/true);
}

TEST_F(Image, FloatDataInPiecesIsNormalised) {
  check(serializeUnpacked(model, /*isSplit=*/true), 4, /*isOriginal=*/false);
}

TEST_F(Image, ExternalDataIsStoredInside) {
  llvm::SmallString<128> directory, data, path;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("bppsa-import", directory));
  data = path = directory;
  llvm::sys::path::append(data, "weights.bin");
  llvm::sys::path::append(path, "model.onnx");
  {
    std::error_code error;
    llvm::raw_fd_ostream os(data, error);
    os << "padding." << rawValues;
  }
  tensor->set_data_location(bppsa_onnx::TensorProto::EXTERNAL);
  for (auto [key, value] : {std::pair("location", "weights.bin"), std::pair("offset", "8"),
                            std::pair("length", "12")}) {
    bppsa_onnx::StringStringEntryProto *entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  check(model.SerializeAsString(), 4, /*isOriginal=*/false, path);
  llvm::sys::fs::remove_directories(directory);
}

TEST_F(Image, UnknownFieldsSurvive) {
  tensor->set_data_location(bppsa_onnx::TensorProto::DEFAULT);
  std::string bytes = serializeUnpacked(model, /*isSplit=*/true);
  // The producer_version, a field that the parser does not know.
  bytes += llvm::StringRef("\x1a\x03"
                           "9.9")
               .str();
  FailureOr<OnnxImage> image = loadOnnxImage(llvm::MemoryBufferRef(bytes, "m.onnx"), &context);
  ASSERT_TRUE(succeeded(image));
  llvm::StringRef found(image->bytes.data(), image->bytes.size());
  EXPECT_TRUE(found.contains(llvm::StringRef("\x1a\x03"
                                             "9.9")));
}
