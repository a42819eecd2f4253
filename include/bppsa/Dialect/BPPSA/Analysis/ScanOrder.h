//===- ScanOrder.h - order of the operations of scans -----------*- C++ -*-===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//
//
// The only definition of the order of operations in a scan plan, for any number n of links. An
// emitter represents indices, loops and operations: `ScanSchedule` lists operations for a known n,
// and `bppsa-expand-scan` emits loops.
//
// Element 0 of a scan is the seed, a vector; element k is the matrix of link k. After the scan, the
// vector of element k >= 1 is the cotangent that enters link k.
//
// An emitter has a type `Index` with
//   constant(c)  add(a, b)  sub(a, b)  mul(a, b)  div(a, b)  shl(a, b)  min(a, b)
// and loops over [lower, upper):
//   inParallel(lower, upper, body)      independent iterations; none if upper < lower
//   inOrder(lower, upper, step, body)   sequential iterations
//   inPairs(count, pair, first, others) calls `first(pair(0))` and `others(pair(i))` for the other
//                                       pairs, which are independent; count is at least one
//   beginSweep(sweep)                   begins the next sweep
//
//===----------------------------------------------------------------------===//

#ifndef BPPSA_DIALECT_BPPSA_ANALYSIS_SCANORDER_H
#define BPPSA_DIALECT_BPPSA_ANALYSIS_SCANORDER_H

namespace bppsa {

enum class Sweep { Up, Middle, Down };

/// The last elements of two adjacent blocks of a level and of the following pair, or the last of
/// all elements.
template <typename Index> struct ScanPair {
  Index left, right, next;
};

/// Emits the scan of the BPPSA paper (Wang, Bai, Pekhimenko, MLSys 2020, section 3.2): `levels`
/// levels of the up-sweep, a linear scan over the roots of the blocks of 2^levels elements, and as
/// many levels of the down-sweep. With floor(log2 n) levels this is the modified Blelloch scan,
/// with fewer the hybrid scan.
///
/// Products with the identity are copies. Up-sweep products that end in element n are omitted
/// because nothing reads them.
///
/// Blocks that begin at the seed hold vectors (prefixes) instead of matrices. The prefix that ends
/// at element l enters link k, the last link of the next block or of the chain.
///
/// Operations of the emitter:
///
///   linearize(k)             creates the matrix of link k
///   compose(l, r)            matrix r becomes the product that applies l, then r
///   extend(l, r, k)          prefix r, which enters link k, becomes matrix r applied to prefix l
///   enter(l, k)              vector k becomes prefix l
///   apply(m, to)             vector `to` becomes matrix m applied to vector m
///   pushDown(l, r)           vector l becomes vector r; vector r becomes matrix l applied to it
template <typename Emitter>
void emitTreeScan(Emitter &e, typename Emitter::Index n, typename Emitter::Index levels) {
  using Index = typename Emitter::Index;
  using Pair = ScanPair<Index>;
  Index zero = e.constant(0), one = e.constant(1);
  auto before = [&](Index index) { return e.sub(index, one); };

  e.beginSweep(Sweep::Up);
  e.inParallel(one, n, [&](Index k) { e.linearize(k); });
  e.inOrder(zero, levels, one, [&](Index d) {
    Index half = e.shl(one, d), whole = e.shl(half, one);
    Index left = before(half), right = before(whole);
    auto getPair = [&](Index i) {
      Index base = e.mul(whole, i);
      Index end = e.add(right, base);
      return Pair{e.add(left, base), end, e.min(e.add(end, whole), n)};
    };
    e.inPairs(
        e.div(n, whole), getPair, [&](Pair pair) { e.extend(pair.left, pair.right, pair.next); },
        [&](Pair pair) { e.compose(pair.left, pair.right); });
  });

  e.beginSweep(Sweep::Middle);
  Index block = e.shl(one, levels), root0 = before(block);
  Index root1 = e.add(root0, block);
  e.enter(root0, e.min(root1, n));
  e.inOrder(root1, n, block, [&](Index root) { e.apply(root, e.min(e.add(root, block), n)); });

  e.beginSweep(Sweep::Down);
  e.inOrder(zero, levels, one, [&](Index count) {
    Index half = e.shl(one, before(e.sub(levels, count))), whole = e.shl(half, one);
    Index left = before(half), right = before(whole);
    e.enter(left, e.min(right, n));
    Index numPairs = e.add(e.div(e.sub(n, half), whole), one);
    e.inParallel(one, numPairs, [&](Index i) {
      Index base = e.mul(whole, i);
      e.pushDown(e.add(left, base), e.min(e.add(right, base), n));
    });
  });
}

/// The first chunk, which begins at the seed, is run directly (`Vector`, less work) or aggregated
/// like the others (`Matrix`, every sweep is one loop).
enum class FirstChunk { Vector, Matrix };

/// Emits a chunked scan. Chunks are aggregated into matrices, except the last chunk and, with
/// `FirstChunk::Vector`, the first. One product per chunk carries the cotangent; then all chunks
/// run.
///
/// Operations of the emitter, for chunks numbered from 0:
///
///   run(c)          computes the cotangents that enter each link of chunk c and leave the chunk
///   aggregate(c)    computes the product of the matrices of chunk c
///   carry(c)        computes the entering cotangent of chunk c + 1 from the one of chunk c
template <typename Emitter>
void emitChunkedScan(Emitter &e, typename Emitter::Index numChunks, FirstChunk first) {
  using Index = typename Emitter::Index;
  bool isVector = first == FirstChunk::Vector;
  Index one = e.constant(1), last = e.sub(numChunks, one), begin = isVector ? one : e.constant(0);
  e.beginSweep(Sweep::Up);
  if (isVector)
    e.run(e.constant(0));
  e.inParallel(begin, last, [&](Index chunk) { e.aggregate(chunk); });
  e.beginSweep(Sweep::Middle);
  e.inOrder(begin, last, one, [&](Index chunk) { e.carry(chunk); });
  e.beginSweep(Sweep::Down);
  e.inParallel(begin, numChunks, [&](Index chunk) { e.run(chunk); });
}

} // namespace bppsa

#endif // BPPSA_DIALECT_BPPSA_ANALYSIS_SCANORDER_H
