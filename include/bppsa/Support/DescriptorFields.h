//===- DescriptorFields.h - passes arrays as words --------------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// Arrays are passed as words: the address of the first element, and sizes and strides that are
// dynamic in the type. bppsa-resolve-words resolves casts between arrays and words.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_DESCRIPTORFIELDS_H
#define BPPSA_SUPPORT_DESCRIPTORFIELDS_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/BuiltinOps.h"

namespace bppsa {

/// The last two have one element per dimension.
enum DescriptorField : int64_t { kAllocated, kAligned, kOffset, kSizes, kStrides };

struct ArrayLayout {
  mlir::MemRefType type;
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;

  /// Returns nullopt if `type` is not a strided array.
  static std::optional<ArrayLayout> get(mlir::Type type);
  /// Returns the static value of a field, or nullopt. The offset is zero unless the type specifies
  /// one.
  std::optional<int64_t> getConstant(llvm::ArrayRef<int64_t> position) const;
  /// Returns the fields passed as words, in order, starting with the aligned address.
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>> getWords() const;
};

/// With a static offset, the first word is the aligned address.
bool isArrayAtKnownOffset(mlir::Type type);

bool isCastToWords(mlir::UnrealizedConversionCastOp cast);
bool isCastFromWords(mlir::UnrealizedConversionCastOp cast);

llvm::SmallVector<mlir::Type> getWordTypes(mlir::Type type,
                                           const mlir::LLVMTypeConverter &converter);

llvm::SmallVector<mlir::Value> castToWords(mlir::OpBuilder &builder, mlir::Location loc,
                                           mlir::Value value,
                                           const mlir::LLVMTypeConverter &converter);

mlir::Value castFromWords(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type,
                          mlir::ValueRange words);

} // namespace bppsa

#endif // BPPSA_SUPPORT_DESCRIPTORFIELDS_H
