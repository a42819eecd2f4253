# House rules for every target of the project.

# Warnings are errors for our own code; MLIR's headers are system headers.
set(BPPSA_COMPILE_OPTIONS -Wall -Wextra -Werror -Wno-unused-parameter -fvisibility-inlines-hidden)

# Of everything that is written with MLIR.
set(BPPSA_MLIR_COMPILE_OPTIONS -fno-exceptions
  "SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/StatisticLayout.h")

# Reading MLIR's headers takes most of a build: they are compiled once.
option(BPPSA_PRECOMPILE_HEADERS "Compile MLIR's headers once for all libraries and tools" ON)
set(BPPSA_PRECOMPILED_HEADERS
  <mlir/Dialect/Affine/IR/AffineOps.h>
  <mlir/Dialect/Arith/Utils/Utils.h>
  <mlir/Dialect/Func/IR/FuncOps.h>
  <mlir/Dialect/GPU/IR/GPUDialect.h>
  <mlir/Dialect/Linalg/IR/Linalg.h>
  <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/MemRef/IR/MemRef.h>
  <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/Dialect/Tensor/IR/Tensor.h>
  <mlir/Dialect/Vector/IR/VectorOps.h>
  <mlir/IR/Matchers.h>
  <mlir/Pass/PassManager.h>
  <mlir/Transforms/GreedyPatternRewriteDriver.h>
  <mlir/Transforms/Passes.h>
  )

option(BPPSA_UNITY_BUILD "Compile several sources of a library at a time: all of it in half the time, one of them in more" OFF)

# bppsa_add_precompiled_headers(): the target BPPSAPrecompiledHeaders.
function(bppsa_add_precompiled_headers)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/PrecompiledHeaders.cpp)
  file(GENERATE OUTPUT ${source} CONTENT "")
  add_library(BPPSAPrecompiledHeaders OBJECT ${source})
  # Without a time in it the result can be kept by ccache.
  target_compile_options(BPPSAPrecompiledHeaders PRIVATE
    ${BPPSA_COMPILE_OPTIONS} ${BPPSA_MLIR_COMPILE_OPTIONS}
    "SHELL:-Xclang -fno-pch-timestamp")
  target_precompile_headers(BPPSAPrecompiledHeaders PRIVATE ${BPPSA_PRECOMPILED_HEADERS})
endfunction()

# bppsa_use_compiler_options(<target>): those of everything that is written with MLIR.
function(bppsa_use_compiler_options target)
  target_compile_options(${target} PRIVATE
    ${BPPSA_COMPILE_OPTIONS} ${BPPSA_MLIR_COMPILE_OPTIONS})
  if(BPPSA_PRECOMPILE_HEADERS)
    target_precompile_headers(${target} REUSE_FROM BPPSAPrecompiledHeaders)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${BPPSA_UNITY_BUILD})
endfunction()

# bppsa_install(<target>): the target is a part of the CMake package `bppsa`.
function(bppsa_install target)
  install(TARGETS ${target} EXPORT bppsaTargets
    RUNTIME DESTINATION bin
    ARCHIVE DESTINATION lib
    LIBRARY DESTINATION lib
    INCLUDES DESTINATION include
    )
endfunction()

# bppsa_add_library(<name> sources... [DEPENDS targets...] [LINK_LIBS libs...])
# A compiler library: no exceptions, linked against the MLIR and LLVM shared libraries only.
function(bppsa_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_dependencies(${name} BPPSAIncGen ${ARG_DEPENDS})
  bppsa_use_compiler_options(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS} MLIR LLVM)
  set_property(GLOBAL APPEND PROPERTY BPPSA_COMPILER_LIBRARIES ${name})
  bppsa_install(${name})
endfunction()

# bppsa_add_passes(<name>): the passes of Passes.td in this folder, registered by register<name>Passes().
function(bppsa_add_passes name)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(Passes.h.inc -gen-pass-decls -name ${name})
  add_public_tablegen_target(${name}PassIncGen)
  add_dependencies(BPPSAIncGen ${name}PassIncGen)
endfunction()

# bppsa_add_dialect(<name> <namespace> [ENUMS] [ATTRIBUTES] [TYPES]): the dialect and the operations
# of <name>Ops.td in this folder, and the named kinds of definitions.
function(bppsa_add_dialect name namespace)
  cmake_parse_arguments(ARG "ENUMS;ATTRIBUTES;TYPES" "" "" ${ARGN})
  set(LLVM_TARGET_DEFINITIONS ${name}Ops.td)
  mlir_tablegen(${name}Dialect.h.inc -gen-dialect-decls -dialect=${namespace})
  mlir_tablegen(${name}Dialect.cpp.inc -gen-dialect-defs -dialect=${namespace})
  if(ARG_ENUMS)
    mlir_tablegen(${name}Enums.h.inc -gen-enum-decls)
    mlir_tablegen(${name}Enums.cpp.inc -gen-enum-defs)
  endif()
  if(ARG_ATTRIBUTES)
    mlir_tablegen(${name}Attributes.h.inc -gen-attrdef-decls -attrdefs-dialect=${namespace})
    mlir_tablegen(${name}Attributes.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${namespace})
  endif()
  if(ARG_TYPES)
    mlir_tablegen(${name}Types.h.inc -gen-typedef-decls -typedefs-dialect=${namespace})
    mlir_tablegen(${name}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${namespace})
  endif()
  mlir_tablegen(${name}Ops.h.inc -gen-op-decls)
  mlir_tablegen(${name}Ops.cpp.inc -gen-op-defs)
  add_public_tablegen_target(${name}IRIncGen)
  add_dependencies(BPPSAIncGen ${name}IRIncGen)
endfunction()

# bppsa_add_tool(<name> sources... [LINK_LIBS libs...])
function(bppsa_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  add_dependencies(${name} BPPSAIncGen)
  bppsa_use_compiler_options(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} MLIR LLVM)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  bppsa_install(${name})
endfunction()
