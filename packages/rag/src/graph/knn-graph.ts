import { Nearest } from "./nearest.ts";

/** An undirected weighted graph: the neighbours of node `i` are at `offsets[i]` up to `offsets[i + 1]`. */
export interface Graph {
  offsets: Uint32Array;
  neighbours: Uint32Array;
  weights: Float32Array;
  /** For each edge, the share of walkers at its start that follow it. */
  shares: Float64Array;
}

/** Unit vectors, stored contiguously. */
export interface Vectors {
  data: Float32Array;
  count: number;
  dimension: number;
}

/** Above this many multiplications, pairs are no longer all compared. */
const EXACT_WORK = 400_000_000;
/** Candidates are compared in this many dimensions, and the best of them again in all. */
const SKETCH_DIMENSION = 64;
const SKETCH_SPREAD = 4;
const PROBES = 8;
const CANDIDATES_PER_NEIGHBOUR = 2;
/** A node is compared with at most this many others, even if nearly all are alike and share a cell. */
const MOST_COMPARED = 1_000;

/**
 * Connects each node with its nearest neighbours above the threshold, at most `neighbours` of them. Small sets are
 * compared pair by pair. Larger ones are sorted into about √n cells around nodes chosen by a fixed rule, and a node is
 * compared with those of the nearest cells: far fewer than n² comparisons that find nearly all of the same neighbours.
 * The same vectors always give the same graph.
 */
export function knnGraph(
  vectors: Vectors,
  { threshold, neighbours }: { threshold: number; neighbours: number },
): Graph {
  const { count, dimension } = vectors;
  const lists = Array.from({ length: count }, () => new Nearest(neighbours));
  const offer = (a: number, b: number, weight: number): void => {
    if (!(weight > threshold)) return;
    lists[a]!.offer(b, weight);
    lists[b]!.offer(a, weight);
  };
  if ((count * (count - 1) * dimension) / 2 <= EXACT_WORK) {
    for (let a = 0; a < count; a++) for (let b = a + 1; b < count; b++) offer(a, b, dot(vectors, a, b));
  } else {
    const candidates: Int32Array[] = [];
    for (const [a, found] of candidatesOf(vectors, neighbours * CANDIDATES_PER_NEIGHBOUR)) {
      candidates.push(found.slice());
      // Most pairs find each other; once is enough.
      for (const b of found) if (b > a || !candidates[b]!.includes(a)) offer(a, b, dot(vectors, a, b));
    }
  }
  return toGraph(lists);
}

/** For each node, others that are probably near. The returned array is valid until the next call. */
function* candidatesOf(vectors: Vectors, wanted: number): Generator<[number, Int32Array]> {
  const small = sketch(vectors);
  const { data, dimension } = small;
  const { cells, cellsNear } = toCells(small);
  const near = new Nearest(wanted);
  for (let a = 0; a < vectors.count; a++) {
    near.clear();
    const from = a * dimension;
    let left = MOST_COMPARED;
    for (let probe = 0; probe < cellsNear.width && left > 0; probe++) {
      const cell = cells[cellsNear.ids[a * cellsNear.width + probe]!]!;
      const step = Math.ceil(cell.length / left);
      for (let place = a % (step || 1); place < cell.length; place += step) {
        const b = cell[place]!;
        if (b !== a) near.offer(b, dotAt(data, from, data, b * dimension, dimension));
        left--;
      }
    }
    yield [a, near.ids()];
  }
}

/**
 * Projects the vectors to fewer dimensions, nearly preserving angles: each dimension is added, with a sign, to a few of
 * the new ones, chosen by a fixed sequence of numbers.
 */
function sketch({ data, count, dimension }: Vectors): Vectors {
  if (dimension <= SKETCH_DIMENSION * 2) return { data, count, dimension };
  const next = sequence();
  const targets = Uint8Array.from({ length: dimension * SKETCH_SPREAD }, () => next() % SKETCH_DIMENSION);
  const signs = Int8Array.from({ length: dimension * SKETCH_SPREAD }, () => (next() % 2 === 0 ? 1 : -1));
  const small = new Float32Array(count * SKETCH_DIMENSION);
  for (let node = 0; node < count; node++) {
    const from = node * dimension;
    const to = node * SKETCH_DIMENSION;
    for (let index = 0, spread = 0; index < dimension; index++) {
      const value = data[from + index]!;
      for (let copy = 0; copy < SKETCH_SPREAD; copy++, spread++) {
        small[to + targets[spread]!]! += signs[spread]! * value;
      }
    }
  }
  const vectors = { data: small, count, dimension: SKETCH_DIMENSION };
  normalise(vectors);
  return vectors;
}

/** Sorts nodes into cells, each around a representative node, and finds the nearest cells of each node. */
function toCells(vectors: Vectors): { cells: number[][]; cellsNear: { ids: Int32Array; width: number } } {
  const { count } = vectors;
  const centres = pick(count, Math.max(1, Math.round(Math.sqrt(count))));
  const cells: number[][] = centres.map(() => []);
  const width = Math.min(PROBES, centres.length);
  const ids = new Int32Array(count * width);
  const near = new Nearest(width);
  for (let node = 0; node < count; node++) {
    near.clear();
    for (let cell = 0; cell < centres.length; cell++) near.offer(cell, dot(vectors, node, centres[cell]!));
    ids.set(near.ids(), node * width);
    cells[ids[node * width]!]!.push(node);
  }
  return { cells, cellsNear: { ids, width } };
}

/** Distinct nodes, chosen by a fixed sequence of numbers. */
function pick(count: number, wanted: number): number[] {
  const next = sequence();
  const picked = new Set<number>();
  while (picked.size < wanted) picked.add(next() % count);
  return [...picked];
}

/** The same numbers every time, so that the same vectors give the same graph. */
function sequence(): () => number {
  let state = 0x9e3779b9;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

/** An edge counts in both directions, whichever node found it. */
function toGraph(lists: Nearest[]): Graph {
  const edges = lists.map(() => new Map<number, number>());
  lists.forEach((list, a) => {
    list.ids().forEach((b, index) => {
      const weight = list.weights()[index]!;
      edges[a]!.set(b, weight);
      edges[b]!.set(a, weight);
    });
  });
  const offsets = new Uint32Array(lists.length + 1);
  edges.forEach((map, node) => (offsets[node + 1] = offsets[node]! + map.size));
  const neighbours = new Uint32Array(offsets[lists.length]!);
  const weights = new Float32Array(neighbours.length);
  edges.forEach((map, node) => {
    let place = offsets[node]!;
    for (const [other, weight] of [...map].sort(([a], [b]) => a - b)) {
      neighbours[place] = other;
      weights[place++] = weight;
    }
  });
  return { offsets, neighbours, weights, shares: toShares(offsets, weights) };
}

function toShares(offsets: Uint32Array, weights: Float32Array): Float64Array {
  const shares = new Float64Array(weights.length);
  for (let node = 0; node + 1 < offsets.length; node++) {
    let sum = 0;
    for (let edge = offsets[node]!; edge < offsets[node + 1]!; edge++) sum += weights[edge]!;
    for (let edge = offsets[node]!; edge < offsets[node + 1]!; edge++) shares[edge] = weights[edge]! / sum;
  }
  return shares;
}

/** The cosine, since vectors have length 1. */
function dot({ data, dimension }: Vectors, a: number, b: number): number {
  return dotAt(data, a * dimension, data, b * dimension, dimension);
}

function dotAt(x: Float32Array, fromX: number, y: Float32Array, fromY: number, length: number): number {
  let one = 0;
  let two = 0;
  let three = 0;
  let four = 0;
  let index = 0;
  for (; index + 3 < length; index += 4) {
    one += x[fromX + index]! * y[fromY + index]!;
    two += x[fromX + index + 1]! * y[fromY + index + 1]!;
    three += x[fromX + index + 2]! * y[fromY + index + 2]!;
    four += x[fromX + index + 3]! * y[fromY + index + 3]!;
  }
  for (; index < length; index++) one += x[fromX + index]! * y[fromY + index]!;
  return one + two + three + four;
}

/** Normalises each vector to length 1; a zero vector stays zero. */
export function normalise({ data, count, dimension }: Vectors): void {
  for (let node = 0; node < count; node++) {
    const from = node * dimension;
    const length = Math.sqrt(dotAt(data, from, data, from, dimension));
    if (length === 0) continue;
    for (let index = from; index < from + dimension; index++) data[index]! /= length;
  }
}
