import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type GraphQuery, GraphRAG, type GraphRAGOptions } from "./graph-rag.ts";
import { knnGraph, normalise } from "./knn-graph.ts";
import { walkShares } from "./random-walk.ts";

/** A chain: each node is near its neighbours and far from the others. */
function chain(length: number, options: GraphRAGOptions = { threshold: 0.9 }): GraphRAG {
  const graph = new GraphRAG(options);
  const angles = Array.from({ length }, (_, index) => index * 0.3);
  graph.createGraph(
    angles.map((_, index) => ({ id: `n${index}`, text: `node ${index}`, metadata: { index } })),
    angles.map((angle) => ({ vector: [Math.cos(angle), Math.sin(angle)] })),
  );
  return graph;
}

function randomVectors(count: number, dimension: number, clusters: number): { vector: number[] }[] {
  let seed = 42;
  const next = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647 - 0.5;
  const centres = Array.from({ length: clusters }, () => Array.from({ length: dimension }, next));
  return Array.from({ length: count }, (_, index) => ({
    vector: centres[index % clusters]!.map((value) => value + 0.4 * next()),
  }));
}

describe("GraphRAG", () => {
  it("joins what is nearer than the threshold, both ways", () => {
    const edges = chain(4).getEdges();
    expect(edges.map(({ source, target }) => `${source}-${target}`)).toEqual([
      "n0-n1",
      "n1-n0",
      "n1-n2",
      "n2-n1",
      "n2-n3",
      "n3-n2",
    ]);
    expect(edges[0]!.weight).toBeCloseTo(Math.cos(0.3));
    expect(chain(4, { threshold: 1 }).getEdges()).toEqual([]);
  });

  it("ranks by similarity, and of equally similar nodes first the one tied to the best hits", () => {
    const graph = new GraphRAG({ threshold: 0.6 });
    const vectors = [
      [1, 0, 0],
      [0.7, 0.714, 0],
      [0.7, 0, 0.714],
      [0.55, 0.835, 0],
    ];
    graph.createGraph(
      ["hit", "tied", "alone", "tied to tied"].map((text) => ({ id: text, text })),
      vectors.map((vector) => ({ vector })),
    );
    const ranked = graph.query({ query: [1, 0, 0] }).map(({ id }) => id);
    expect(ranked[0]).toBe("hit");
    expect(ranked.indexOf("tied")).toBeLessThan(ranked.indexOf("alone"));
  });

  it("gives the same answer to the same question, also from a graph built anew", () => {
    const embeddings = randomVectors(300, 16, 10);
    const chunks = embeddings.map((_, index) => ({ id: String(index), text: String(index) }));
    const answer = (): unknown => {
      const graph = new GraphRAG({ threshold: 0.5 });
      graph.createGraph(chunks, embeddings);
      return graph.query({ query: embeddings[7]!.vector, topK: 20 });
    };
    expect(answer()).toEqual(answer());
    expect(answer()).toHaveLength(20);
  });

  it("answers nothing from nothing, and all there is when asked for more", () => {
    expect(new GraphRAG().query({ query: [1] })).toEqual([]);
    expect(chain(3).query({ query: [1, 0], topK: 10 })).toHaveLength(3);
    expect(chain(3).query({ query: [0, 0] })).toHaveLength(3);
  });

  it("refuses options and questions that make no sense", () => {
    const options: GraphRAGOptions[] = [
      { dimension: 0 },
      { dimension: 1.5 },
      { threshold: -0.1 },
      { threshold: 1.1 },
      { threshold: Number.NaN },
      { neighbours: 0 },
    ];
    for (const bad of options) expect(() => new GraphRAG(bad), JSON.stringify(bad)).toThrow(/GraphRAG/);
    const questions: Partial<GraphQuery>[] = [
      { topK: 0 },
      { topK: 1.5 },
      { randomWalkSteps: 0 },
      { randomWalkSteps: 1e9 },
      { restartProb: 0 },
      { restartProb: 1 },
      { restartProb: Number.NaN },
      { query: [1] },
      { query: [1, Number.NaN] },
      { query: "x" as never },
    ];
    for (const bad of questions) {
      expect(() => chain(3).query({ query: [1, 0], ...bad }), JSON.stringify(bad)).toThrow(
        expect.objectContaining({ code: "invalid-argument" }),
      );
    }
    const mismatch = new GraphRAG(3, 0.5);
    expect(() => mismatch.createGraph([{ text: "a" }], [{ vector: [1, 0] }])).toThrow(/3 numbers, got 2/);
    expect(() => mismatch.createGraph([{ text: "a" }], [])).toThrow(/as many/);
  });
});

describe("knnGraph", () => {
  it("finds nearly all neighbours where it does not compare every pair", () => {
    const dimension = 256;
    const embeddings = randomVectors(2_500, dimension, 400);
    const vectors = { data: new Float32Array(2_500 * dimension), count: 2_500, dimension };
    embeddings.forEach(({ vector }, index) => vectors.data.set(vector, index * dimension));
    normalise(vectors);
    const graph = knnGraph(vectors, { threshold: 0.5, neighbours: 8 });
    let found = 0;
    let expected = 0;
    for (let node = 0; node < 2_500; node += 25) {
      const near = new Set(graph.neighbours.subarray(graph.offsets[node], graph.offsets[node + 1]));
      // The members of its cluster are all nearer than the threshold.
      for (let other = node % 400; other < 2_500; other += 400) {
        if (other === node) continue;
        expected++;
        if (near.has(other)) found++;
      }
    }
    expect(found / expected).toBeGreaterThan(0.95);
  });
});

describe("a graph of passages that are all alike", () => {
  it("joins each with others and can be walked", () => {
    const count = 4_000;
    const vectors = { data: new Float32Array(count * 256).fill(1 / 16), count, dimension: 256 };
    const graph = knnGraph(vectors, { threshold: 0.5, neighbours: 16 });
    for (let node = 0; node < count; node++)
      expect(graph.offsets[node + 1]).toBeGreaterThan(graph.offsets[node]!);
    const shares = walkShares(graph, new Map([[5, 1]]), { steps: 100, restart: 0.15 });
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 6);
  });
});

describe("walkShares", () => {
  it("is the mean of many walks by lot", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 3, max: 8 }),
        fc.double({ min: 0.05, max: 0.9, noNaN: true }),
        (length, restart) => {
          const vectors = { data: new Float32Array(length * 2), count: length, dimension: 2 };
          for (let node = 0; node < length; node++)
            vectors.data.set([Math.cos(node * 0.3), Math.sin(node * 0.3)], node * 2);
          const graph = knnGraph(vectors, { threshold: 0.9, neighbours: 2 });
          const shares = walkShares(graph, new Map([[0, 1]]), { steps: 50, restart });
          expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 6);
          const drawn = drawWalks(graph, restart, 50, 2_000);
          shares.forEach((share, node) => expect(drawn[node]!).toBeCloseTo(share, 1));
        },
      ),
      { numRuns: 10, seed: 7 },
    );
  });

  it("stays at the seed with one step, or where there is nowhere to go", () => {
    const graph = knnGraph(
      { data: Float32Array.of(1, 0, 0, 1), count: 2, dimension: 2 },
      { threshold: 0.5, neighbours: 2 },
    );
    expect([...walkShares(graph, new Map([[1, 1]]), { steps: 100, restart: 0.15 })]).toEqual([0, 1]);
  });
});

function drawWalks(
  graph: ReturnType<typeof knnGraph>,
  restart: number,
  steps: number,
  walks: number,
): number[] {
  let seed = 5;
  const next = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
  const visits = Array.from({ length: graph.offsets.length - 1 }, () => 0);
  for (let walk = 0; walk < walks; walk++) {
    let node = 0;
    for (let step = 0; step < steps; step++) {
      visits[node]! += 1 / (steps * walks);
      const [from, to] = [graph.offsets[node]!, graph.offsets[node + 1]!];
      if (from === to || next() < restart) node = 0;
      else {
        let left = next();
        let edge = from;
        while (edge < to - 1 && (left -= graph.shares[edge]!) > 0) edge++;
        node = graph.neighbours[edge]!;
      }
    }
  }
  return visits;
}
