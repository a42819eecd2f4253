# House rules for every target of the project.

# Warnings are errors for our own code; MLIR's headers are system headers.
set(BPPSA_COMPILE_OPTIONS -Wall -Wextra -Werror -Wno-unused-parameter -fvisibility-inlines-hidden)

# bppsa_add_library(<name> sources... [DEPENDS targets...] [LINK_LIBS libs...])
# A compiler library: no exceptions, linked against the MLIR and LLVM shared libraries only.
function(bppsa_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_dependencies(${name} BPPSAIncGen ${ARG_DEPENDS})
  target_compile_options(${name} PRIVATE ${BPPSA_COMPILE_OPTIONS} -fno-exceptions)
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS} MLIR LLVM)
endfunction()

# bppsa_add_tool(<name> sources... [LINK_LIBS libs...])
function(bppsa_add_tool name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  add_dependencies(${name} BPPSAIncGen)
  target_compile_options(${name} PRIVATE ${BPPSA_COMPILE_OPTIONS} -fno-exceptions)
  target_link_libraries(${name} PRIVATE ${ARG_LINK_LIBS} MLIR LLVM)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
endfunction()
