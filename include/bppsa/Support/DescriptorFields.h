//===- DescriptorFields.h - what is handed over of an array -----*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// An array is handed over in words: the address of its first element, and the sizes and strides
// that its type leaves open. Any other value is one word, of the type that it is converted to.
// Casts between arrays and their words are resolved by bppsa-resolve-words.
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_SUPPORT_DESCRIPTORFIELDS_H
#define BPPSA_SUPPORT_DESCRIPTORFIELDS_H

#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/BuiltinOps.h"

namespace bppsa {

/// Fields of the descriptor of an array; the last two have one number for each dimension.
enum DescriptorField : int64_t { kAllocated, kAligned, kOffset, kSizes, kStrides };

/// The layout of an array, as far as its type tells.
struct ArrayLayout {
  mlir::MemRefType type;
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;

  /// Nothing for what is no array, or has a layout that is no strides.
  static std::optional<ArrayLayout> get(mlir::Type type);
  /// The number that field `position` of a descriptor has where the type tells it; the offset of
  /// what is handed over is zero unless its type has another one.
  std::optional<int64_t> getConstant(llvm::ArrayRef<int64_t> position) const;
  /// The positions of the fields that are words, in order: one of the aligned address first.
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>> getWords() const;
};

/// Whether an array of `type` begins at an offset that the type tells, so that its first word is
/// the aligned address of its descriptor.
bool isArrayAtKnownOffset(mlir::Type type);

/// Whether `cast` casts an array to its words, or words to their array.
bool isCastToWords(mlir::UnrealizedConversionCastOp cast);
bool isCastFromWords(mlir::UnrealizedConversionCastOp cast);

/// The types of the words of a value of `type`.
llvm::SmallVector<mlir::Type> getWordTypes(mlir::Type type,
                                           const mlir::LLVMTypeConverter &converter);

/// Casts `value` to its words.
llvm::SmallVector<mlir::Value> castToWords(mlir::OpBuilder &builder, mlir::Location loc,
                                           mlir::Value value,
                                           const mlir::LLVMTypeConverter &converter);

/// Casts `words` to the value of `type` that they are of.
mlir::Value castFromWords(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type,
                          mlir::ValueRange words);

} // namespace bppsa

#endif // BPPSA_SUPPORT_DESCRIPTORFIELDS_H
