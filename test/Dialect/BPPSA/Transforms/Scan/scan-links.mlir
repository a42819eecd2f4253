// RUN: bppsa-opt %s --bppsa-scan-links="algorithm=linear variant=one" | FileCheck %s --check-prefix=LINEAR
// RUN: bppsa-opt %s --bppsa-scan-links=algorithm=blelloch | FileCheck %s --check-prefixes=TREE,BLELLOCH
// RUN: bppsa-opt %s --bppsa-scan-links=algorithm=hybrid:1 | FileCheck %s --check-prefixes=TREE,HYBRID
// RUN: bppsa-opt %s --bppsa-scan-links="algorithm=chunked:2 variant=one" | FileCheck %s --check-prefix=CHUNKED
// RUN: bppsa-opt %s --bppsa-scan-links=algorithm=hybrid:1 --remarks-filter=scan -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: bppsa-opt %s --bppsa-scan-links="algorithm=auto workers=8" --remarks-filter=scan -o /dev/null 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: bppsa-opt %s --bppsa-scan-links="algorithm=auto workers=1" --remarks-filter=scan -o /dev/null 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: bppsa-opt %s --bppsa-scan-links="algorithm=auto workers=8 memory-limit=100" --remarks-filter=scan -o /dev/null 2>&1 | FileCheck %s --check-prefix=LIMIT

!d = !jacobian.matrix<4x4xf32, dense>
!t = tensor<8x4xf32>

// The second and third matrices are composed, and cotangents skip one of them.

// LINEAR-LABEL: func.func @five(
// LINEAR-NOT:     jacobian.compose
// LINEAR-COUNT-5: jacobian.apply
// LINEAR:         return

// TREE-LABEL: func.func @five(
// TREE-SAME:    %[[A:.*]]: !jacobian.matrix<4x4xf32, dense>, %[[B:.*]]: !jacobian.matrix<4x4xf32, dense>, %[[C:.*]]: !jacobian.matrix<4x4xf32, dense>, %[[D:.*]]: !jacobian.matrix<4x4xf32, dense>, %[[E:.*]]: !jacobian.matrix<4x4xf32, dense>, %[[G:.*]]: tensor<8x4xf32>)
// TREE-DAG:     %[[ONE:.*]] = jacobian.apply %[[A]], %[[G]]
// TREE-DAG:     %[[BC:.*]] = jacobian.compose %[[B]], %[[C]]
// TREE-NOT:     jacobian.compose
// TREE-DAG:     %[[TWO:.*]] = jacobian.apply %[[B]], %[[ONE]]
// TREE-DAG:     %[[THREE:.*]] = jacobian.apply %[[BC]], %[[ONE]]
// TREE:         %[[FOUR:.*]] = jacobian.apply %[[D]], %[[THREE]]
// TREE:         %[[FIVE:.*]] = jacobian.apply %[[E]], %[[FOUR]]
// TREE:         return %[[ONE]], %[[TWO]], %[[THREE]], %[[FOUR]], %[[FIVE]]

// Cotangents are applied in the first and last chunk; the chunk between them is composed.

// CHUNKED-LABEL: func.func @five(
// CHUNKED-SAME:    %[[A:.*]]: !jacobian.matrix<4x4xf32, dense>, %[[B:.*]]: !jacobian.matrix<4x4xf32, dense>, %[[C:.*]]: !jacobian.matrix<4x4xf32, dense>, %[[D:.*]]: !jacobian.matrix<4x4xf32, dense>, %[[E:.*]]: !jacobian.matrix<4x4xf32, dense>, %[[G:.*]]: tensor<8x4xf32>)
// CHUNKED:         %[[ONE:.*]] = jacobian.apply %[[A]], %[[G]]
// CHUNKED:         %[[TWO:.*]] = jacobian.apply %[[B]], %[[ONE]]
// CHUNKED:         %[[CD:.*]] = jacobian.compose %[[C]], %[[D]]
// CHUNKED-DAG:     %[[THREE:.*]] = jacobian.apply %[[C]], %[[TWO]]
// CHUNKED-DAG:     %[[FOUR:.*]] = jacobian.apply %[[CD]], %[[TWO]]
// CHUNKED:         %[[FIVE:.*]] = jacobian.apply %[[E]], %[[FOUR]]
// CHUNKED:         return %[[ONE]], %[[TWO]], %[[THREE]], %[[FOUR]], %[[FIVE]]

// REMARK: [Passed] ScanLinks | Category:scan | Function=five | Remark="hybrid:1 scan of 5 links: 1 compose, 5 apply, depth 4"
func.func @five(%a: !d, %b: !d, %c: !d, %d: !d, %e: !d, %g: !t) -> (!t, !t, !t, !t, !t)
    attributes {bppsa.entry = #bppsa.entry<role = grad, variant = "one">} {
  %1 = jacobian.apply %a, %g : !d, !t -> !t
  %2 = jacobian.apply %b, %1 : !d, !t -> !t
  %3 = jacobian.apply %c, %2 : !d, !t -> !t
  %4 = jacobian.apply %d, %3 : !d, !t -> !t
  %5 = jacobian.apply %e, %4 : !d, !t -> !t
  return %1, %2, %3, %4, %5 : !t, !t, !t, !t, !t
}

// A tree would read the last matrix before the first product, so the list is split.

// TREE-LABEL: func.func @late(
// TREE-NEXT:    jacobian.apply
// TREE-NEXT:    jacobian.apply
// TREE-NEXT:    jacobian.assemble
// TREE-NEXT:    jacobian.apply
// TREE-NEXT:    return

// REMARK: Function=late | Remark="hybrid:1 scan of 2 links
// REMARK: Function=late | Remark="hybrid:1 scan of 1 links
func.func @late(%a: !d, %w: tensor<4x4xf32>, %g: !t) -> !t {
  %1 = jacobian.apply %a, %g : !d, !t -> !t
  %2 = jacobian.apply %a, %1 : !d, !t -> !t
  %b = jacobian.assemble %w : tensor<4x4xf32> -> !d
  %3 = jacobian.apply %b, %2 : !d, !t -> !t
  return %3 : !t
}

!s = !jacobian.matrix<4x4xf32, diagonal, batch = ?>
!u = tensor<?x4xf32>

// The structure of a product follows the product table. A product is per-sample if one of its
// factors is.

// TREE-LABEL: func.func @structures(
// TREE:         jacobian.compose {{.*}} : <3x4xf32, csr(#jacobian.pattern<[[P:.*]]>)>, <3x3xf32, diagonal, batch = ?> -> <3x4xf32, csr(#jacobian.pattern<[[P]]>), batch = ?>
!p = !jacobian.matrix<3x4xf32, csr(#jacobian.pattern<3x4, [[0, 1], [1, 2], [2, 3]], [0 to 2]>)>
!i = !jacobian.matrix<3x3xf32, diagonal, batch = ?>
!v = tensor<?x3xf32>
func.func @structures(%a: !s, %b: !p, %c: !i, %g: !u) -> !v {
  %1 = jacobian.apply %a, %g : !s, !u -> !u
  %2 = jacobian.apply %b, %1 : !p, !u -> !v
  %3 = jacobian.apply %c, %2 : !i, !v -> !v
  %4 = jacobian.apply %c, %3 : !i, !v -> !v
  return %4 : !v
}

// With eight workers, products of diagonals pay off if there is enough memory.

// BLELLOCH-LABEL: func.func @eight(
// BLELLOCH-COUNT-4: jacobian.compose {{.*}} -> <4x4xf32, diagonal, batch = ?>
// BLELLOCH-NOT:   jacobian.compose

// HYBRID-LABEL: func.func @eight(
// HYBRID-COUNT-3: jacobian.compose {{.*}} -> <4x4xf32, diagonal, batch = ?>
// HYBRID-NOT:   jacobian.compose

// AUTO: Function=eight | Remark="hybrid:1 scan of 8 links: 3 compose, 8 apply, depth 5"
// ALONE: Function=eight | Remark="linear scan of 8 links: 0 compose, 8 apply, depth 8"
// LIMIT: Function=eight | Remark="linear scan of 8 links: 0 compose, 8 apply, depth 8"
func.func @eight(%a: !s, %g: !u) -> !u {
  %1 = jacobian.apply %a, %g : !s, !u -> !u
  %2 = jacobian.apply %a, %1 : !s, !u -> !u
  %3 = jacobian.apply %a, %2 : !s, !u -> !u
  %4 = jacobian.apply %a, %3 : !s, !u -> !u
  %5 = jacobian.apply %a, %4 : !s, !u -> !u
  %6 = jacobian.apply %a, %5 : !s, !u -> !u
  %7 = jacobian.apply %a, %6 : !s, !u -> !u
  %8 = jacobian.apply %a, %7 : !s, !u -> !u
  return %8 : !u
}
