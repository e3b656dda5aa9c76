import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { sleep, type System } from "@selvedge/core/storage";
import type { Connection } from "./connection.ts";
import type { Hnsw, Usearch } from "./load-usearch.ts";
import { INDEXES, tableOf, type IndexRow } from "./vector-tables.ts";

/** The registry's entry for the file beside the database. A file it does not name is worthless. */
interface Registered {
  file: string;
  size: number;
  sha256: string;
  revision: number;
  key: number;
}

interface ChangedRow {
  key: number;
  revision: number;
  length: number;
  vector: Uint8Array | ArrayBuffer;
}

const METRICS = { cosine: "cos", euclidean: "l2sq", dotproduct: "ip" } as const;
// Adding blocks this thread: this many at a time take some tens of milliseconds.
const CHUNK = 16;
/** Changes that a search adds itself; beyond that, it searches exactly while the rest is added in the background. */
const AT_ONCE = 4 * CHUNK;
const SAVE_AFTER = 2_000;

/**
 * An HNSW graph of one index, as a cache: it only proposes which rows to compare, and rows that changed since are added
 * before it is queried, by their revision. The database is authoritative, and the file beside it may be deleted at any
 * time.
 *
 * build or load ──► add rows after the cursor ──► ready ──► save: file, then its name and hash into the registry
 */
export class HnswCache {
  readonly #connection: Connection;
  readonly #system: System;
  readonly #usearch: Usearch;
  readonly #index: IndexRow;
  #graph: Hnsw;
  /** The last row added, in the order of changes. Every later change comes after it. */
  #cursor = { revision: -1, key: 0 };
  #unsaved = 0;
  #started: Promise<void> | undefined;
  #isLoaded = false;
  /** Off after a graph was discarded: the file would bring it back. */
  #trustsFile = true;
  #closed = false;

  constructor(options: { connection: Connection; system: System; usearch: Usearch; index: IndexRow }) {
    this.#connection = options.connection;
    this.#system = options.system;
    this.#usearch = options.usearch;
    this.#index = options.index;
    this.#graph = this.#empty();
  }

  /**
   * Rows likely to be near, or `undefined` while the graph is being built. For use inside `Connection.read`. Some of
   * the rows may be gone.
   */
  nearest(vector: Float32Array, count: number, index: IndexRow): number[] | undefined {
    if (!this.#isLoaded || this.#closed) {
      void this.prepare();
      return undefined;
    }
    for (let taken = 0; this.#takeChunk(); taken += CHUNK) {
      if (taken < AT_ONCE) continue;
      void this.prepare();
      return undefined;
    }
    const size = this.#graph.size();
    const gone = size - index.count;
    if (gone > Math.max(1_000, index.count / 4)) {
      this.#restart();
      return undefined;
    }
    const { keys } = this.#graph.search(vector, Math.min(size, gone > 0 ? 2 * count : count), 1);
    return Array.from(keys, Number);
  }

  /** Resolves when the graph has everything that was in the database at the time of the call. Never rejects. */
  prepare(): Promise<void> {
    this.#started ??= this.#prepare()
      // Without a cache, searches stay exact.
      .catch(() => {})
      .finally(() => {
        this.#started = undefined;
      });
    return this.#started;
  }

  async close(): Promise<void> {
    const hasNews = this.#isLoaded && this.#unsaved >= SAVE_AFTER / 2;
    this.#closed = true;
    await this.#started;
    if (hasNews) await this.#save().catch(() => {});
  }

  /** Deletes the files of a deleted index. */
  static async deleteFiles(databasePath: string, number: number, except?: string): Promise<void> {
    if (databasePath === ":memory:") return;
    const prefix = `${basename(databasePath)}.vectors-${number}-`;
    const names = await readdir(dirname(databasePath)).catch(() => []);
    for (const name of names) {
      if (!name.startsWith(prefix) || !name.endsWith(".usearch") || name === except) continue;
      await rm(join(dirname(databasePath), name), { force: true }).catch(() => {});
    }
  }

  async #prepare(): Promise<void> {
    if (!this.#isLoaded && this.#trustsFile && this.#graph.size() === 0) {
      await this.#load().catch(() => this.#reset());
    }
    while (!this.#closed && (await this.#connection.read(() => this.#takeChunk()))) {
      await sleep(this.#system, 0);
    }
    if (this.#closed) return;
    this.#isLoaded = true;
    if (this.#unsaved >= SAVE_AFTER) await this.#save();
  }

  /** Adds the next changed rows and returns whether there may be more. */
  #takeChunk(): boolean {
    const { revision, key } = this.#cursor;
    const rows = this.#connection.all<ChangedRow>(
      `SELECT key, revision, length, vector FROM ${tableOf(this.#index)} ` +
        "WHERE revision >= ? AND (revision, key) > (?, ?) ORDER BY revision, key LIMIT ?",
      [revision, revision, key, CHUNK],
    );
    for (const row of rows) {
      if (this.#graph.contains(BigInt(row.key))) this.#graph.remove(BigInt(row.key));
    }
    // A zero vector is near nothing and would break the graph for the others.
    const added = rows.filter(({ length }) => length > 0 || this.#index.metric !== "cosine");
    if (added.length > 0) {
      this.#graph.add(
        added.map((row) => BigInt(row.key)),
        added.map((row) => new Float32Array(new Uint8Array(row.vector).slice().buffer)),
        1,
      );
    }
    const last = rows.at(-1);
    if (last) this.#cursor = { revision: last.revision, key: last.key };
    this.#unsaved += rows.length;
    return rows.length === CHUNK;
  }

  async #load(): Promise<void> {
    const registered = await this.#connection.read(() => this.#registered());
    if (!registered) return;
    const path = join(dirname(this.#connection.path), registered.file);
    const { size } = await stat(path);
    if (size !== registered.size || (await hashOf(path)) !== registered.sha256) return;
    this.#graph.load(path);
    if (this.#graph.dimensions() !== this.#index.dimension) return this.#reset();
    this.#cursor = { revision: registered.revision, key: registered.key };
    this.#unsaved = 0;
  }

  /** First the whole file under a new name, then, in one transaction, the name: a crash leaves the old one valid. */
  async #save(): Promise<void> {
    if (this.#connection.path === ":memory:") return;
    const file = `${basename(this.#connection.path)}.vectors-${this.#index.number}-${this.#system.newId()}.usearch`;
    const path = join(dirname(this.#connection.path), file);
    const cursor = this.#cursor;
    try {
      this.#graph.save(path);
      this.#unsaved = 0;
      const { size } = await stat(path);
      const registered: Registered = { file, size, sha256: await hashOf(path), ...cursor };
      const { changes } = await this.#connection.write(() =>
        this.#connection.run(`UPDATE ${INDEXES} SET cache = ? WHERE number = ?`, [
          JSON.stringify(registered),
          this.#index.number,
        ]),
      );
      await HnswCache.deleteFiles(
        this.#connection.path,
        this.#index.number,
        changes === 0 ? undefined : file,
      );
    } catch (error) {
      await rm(path, { force: true }).catch(() => {});
      throw error;
    }
  }

  #registered(): Registered | undefined {
    const [row] = this.#connection.all<{ cache: string | null }>(
      `SELECT cache FROM ${INDEXES} WHERE number = ?`,
      [this.#index.number],
    );
    const registered = row?.cache ? (JSON.parse(row.cache) as Registered) : undefined;
    // The name is only resolved beside the database.
    return registered && basename(registered.file) === registered.file ? registered : undefined;
  }

  /** Whether too much of the graph belongs to deleted rows. */
  #restart(): void {
    this.#reset();
    this.#trustsFile = false;
    void this.prepare();
  }

  #reset(): void {
    this.#graph = this.#empty();
    this.#cursor = { revision: -1, key: 0 };
    this.#isLoaded = false;
  }

  #empty(): Hnsw {
    return new this.#usearch.Index({
      dimensions: this.#index.dimension,
      metric: METRICS[this.#index.metric],
      quantization: "f32",
      connectivity: 16,
      expansion_add: 64,
      expansion_search: 128,
      multi: false,
    });
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
