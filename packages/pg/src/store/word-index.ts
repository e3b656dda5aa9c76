import { MESSAGE_STEPS, MESSAGES, type Row, type Select, type Table } from "@selvedge/core/storage";
import type { ClientBase } from "pg";
import { codeOf } from "../to-pg-error.ts";
import type { Connections } from "./connections.ts";
import { locked, quote } from "./schema.ts";
import type { Mentions, Statement } from "./sql.ts";

const SHORTEST_TERM = 3;
const MOST_GRAMS = 32;
const SLICE = 200;
/** Null if the tables are absent. */
const USABLE = `SELECT bool_and(has_table_privilege(format('%I.%I', schemaname, tablename), privilege)) AS usable
  FROM pg_catalog.pg_tables, unnest('{SELECT,INSERT,UPDATE,DELETE}'::text[]) AS privilege
  WHERE schemaname = $1 AND tablename = ANY ($2)`;

type Read = (queries: readonly Select[]) => Promise<Row[][]>;

/**
 * Full-text indexes of searched tables: for each row, the triples of characters in its texts. Rows are written often and
 * searched rarely, so a trigger only notes what changed, and a search reads it in. Before the first search there is not
 * even a trigger.
 */
export class WordIndex {
  readonly #schema: string;
  readonly #connections: Connections;
  readonly #read: Read;
  readonly #enabled = new Map<string, Promise<boolean>>();

  constructor(schema: string, connections: Connections, read: Read) {
    this.#schema = schema;
    this.#connections = connections;
    this.#read = read;
  }

  /** What the index adds to a query, up to date, or `undefined` if it cannot help. */
  async mentions({ table, where }: Select, terms: readonly string[]): Promise<Mentions | undefined> {
    if (table.auto === undefined || (!table.search && table.name !== MESSAGES.name)) return undefined;
    const grams = new Set<number>();
    for (const term of terms) if (term.length >= SHORTEST_TERM) addGrams(grams, term);
    const owner = where?.["resource_id"];
    const few = [...grams].slice(0, MOST_GRAMS);
    // With the owner in it, a search costs what the owner has, not what all have.
    if (typeof owner === "string") few.push(ownerGram(owner));
    if (few.length === 0 || !(await this.#enable(table))) return undefined;
    await this.#catchUp(table);
    return { index: this.#name(table, "search"), column: table.auto, grams: few };
  }

  /** False if this user may not create the index, or not use the one that is there. */
  #enable(table: Table): Promise<boolean> {
    let enabled = this.#enabled.get(table.name);
    if (!enabled) {
      enabled = this.#connections
        .session((client) => this.#create(client, table))
        .catch((error: unknown) => {
          if (!["42501", "25006"].includes(codeOf(error))) throw error;
          return false;
        });
      this.#enabled.set(table.name, enabled);
      // A failed attempt is forgotten, so that a later one can succeed.
      enabled.catch(() => this.#enabled.delete(table.name));
    }
    return enabled;
  }

  /** Whether this user may use it. */
  async #create(client: ClientBase, table: Table): Promise<boolean> {
    const names = [`${table.name}_search`, `${table.name}_search_todo`];
    const usable = async (): Promise<boolean | null> => {
      const { rows } = await client.query<{ usable: boolean | null }>(USABLE, [this.#schema, names]);
      return rows[0]!.usable;
    };
    const before = await usable();
    if (before !== null) return before;
    await locked(client, this.#schema, async () => {
      if ((await usable()) === null) await client.query(this.#createSql(table));
    });
    return (await usable()) === true;
  }

  /**
   * CREATE TRIGGER waits for writers, so a row is either copied here or noted by its trigger. The trigger has the rights of
   * the user who created it: others, who write the rows, need none to what a search creates.
   */
  #createSql(table: Table): string {
    const [search, todo, note] = (["search", "todo", "note"] as const).map((what) => this.#name(table, what));
    const [rows, auto] = [this.#tableName(table), quote(table.auto!)];
    const trigger = (on: Table, columns: readonly string[], number: string, suffix: string): string[] => [
      `CREATE FUNCTION ${note}${suffix}() RETURNS trigger LANGUAGE plpgsql
         SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
         DECLARE one record;
         BEGIN
           IF TG_OP = 'DELETE' THEN one := OLD; ELSE one := NEW; END IF;
           INSERT INTO ${todo} (number) ${number};
           RETURN NULL;
         END $$`,
      `CREATE TRIGGER selvedge_note AFTER INSERT OR DELETE OR UPDATE OF ${columns.map(quote).join(", ")}
         ON ${this.#tableName(on)} FOR EACH ROW EXECUTE FUNCTION ${note}${suffix}()`,
    ];
    const isMessages = table.name === MESSAGES.name;
    return [
      `CREATE TABLE ${search} (number bigint PRIMARY KEY, grams integer[] NOT NULL)`,
      `CREATE INDEX ON ${search} USING gin (grams)`,
      `CREATE TABLE ${todo} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, number bigint NOT NULL)`,
      ...trigger(table, isMessages ? ["content", "resource_id"] : table.search!, `VALUES (one.${auto})`, ""),
      ...(isMessages
        ? trigger(
            MESSAGE_STEPS as unknown as Table,
            ["parts"],
            `SELECT ${auto} FROM ${rows} WHERE id = one.message_id`,
            "_step",
          )
        : []),
      `INSERT INTO ${todo} (number) SELECT ${auto} FROM ${rows}`,
    ].join(";\n");
  }

  /** Indexes the changes noted up to now, in slices. */
  async #catchUp(table: Table): Promise<void> {
    const todo = this.#name(table, "todo");
    // Up to here and no further: others may write as fast as this reads.
    const [end] = await this.#connections.read([{ text: `SELECT max(id) AS last FROM ${todo}`, values: [] }]);
    const { last } = end!.rows[0] as { last: number | null };
    const due = `SELECT id, number FROM ${todo} WHERE id <= $1 ORDER BY id LIMIT ${SLICE}`;
    for (;;) {
      const [found] = await this.#connections.read([{ text: due, values: [last ?? 0] }]);
      const notes = found!.rows as { id: number; number: number }[];
      if (notes.length === 0) return;
      const grams = await this.#gramsOf(table, [...new Set(notes.map(({ number }) => number))]);
      await this.#connections.transaction([
        this.#put(
          table,
          notes.map(({ id }) => id),
          grams,
        ),
      ]);
    }
  }

  /** Only what is still noted is put in: another process may have read a later text. */
  #put(table: Table, notes: readonly number[], grams: ReadonlyMap<number, Set<number>>): Statement {
    const [search, todo] = [this.#name(table, "search"), this.#name(table, "todo")];
    const text = `WITH done AS (DELETE FROM ${todo} WHERE id = ANY ($1::bigint[]) RETURNING number),
      texts AS (SELECT * FROM unnest($2::bigint[], $3::text[]) AS texts (number, grams)),
      gone AS (DELETE FROM ${search} WHERE number IN (SELECT number FROM done) AND number NOT IN (SELECT number FROM texts))
      INSERT INTO ${search} SELECT number, grams::integer[] FROM texts WHERE number IN (SELECT number FROM done)
      ON CONFLICT (number) DO UPDATE SET grams = excluded.grams`;
    const lists = [...grams.values()].map((list) => `{${[...list].join(",")}}`);
    return { text, values: [notes, [...grams.keys()], lists] };
  }

  async #gramsOf(table: Table, numbers: readonly number[]): Promise<Map<number, Set<number>>> {
    const auto = table.auto!;
    const isMessages = table.name === MESSAGES.name;
    const columns = [
      auto,
      ...(isMessages ? ["id", "resource_id", "content"] : [...table.search!, "resource_id"]),
    ];
    const known = columns.filter((column) => column in table.columns);
    const [rows] = await this.#read([{ table, where: { [auto]: { in: numbers } }, columns: known }]);
    const grams = new Map<number, Set<number>>();
    const byId = new Map<string, Set<number>>();
    for (const row of rows!) {
      const own = new Set<number>();
      grams.set(row[auto] as number, own);
      if (typeof row["resource_id"] === "string") own.add(ownerGram(row["resource_id"]));
      if (!isMessages) for (const column of table.search!) addGrams(own, row[column]);
      else {
        byId.set(row["id"] as string, own);
        addParts(own, (row["content"] as { parts?: unknown } | null)?.parts);
      }
    }
    if (byId.size === 0) return grams;
    const where = { message_id: { in: [...byId.keys()] } };
    const [steps] = await this.#read([{ table: MESSAGE_STEPS as unknown as Table, where }]);
    for (const { message_id: id, parts } of steps!) addParts(byId.get(id as string)!, parts);
    return grams;
  }

  #name(table: Table, what: "search" | "todo" | "note"): string {
    return `${quote(this.#schema)}.${table.name}_${what === "search" ? what : `search_${what}`}`;
  }

  #tableName(table: Table): string {
    return `${quote(this.#schema)}.${quote(table.name)}`;
  }
}

function addParts(grams: Set<number>, parts: unknown): void {
  if (!Array.isArray(parts)) return;
  for (const part of parts as ({ type?: unknown; text?: unknown } | null)[])
    if (part?.type === "text") addGrams(grams, part.text);
}

/** Each triple of UTF-16 units in lower case, as a number. Different ones may share it: the caller checks again. */
function addGrams(grams: Set<number>, text: unknown): void {
  if (typeof text !== "string") return;
  const lower = text.toLowerCase();
  for (let at = 0; at + SHORTEST_TERM <= lower.length; at++) {
    const [a, b, c] = [lower.charCodeAt(at), lower.charCodeAt(at + 1), lower.charCodeAt(at + 2)];
    grams.add((Math.imul(a, 0x9e37_79b1) ^ Math.imul(b, 0x85eb_ca6b) ^ Math.imul(c, 0xc2b2_ae35)) | 0);
  }
}

function ownerGram(resourceId: string): number {
  let hash = 0x811c_9dc5;
  for (let at = 0; at < resourceId.length; at++)
    hash = Math.imul(hash ^ resourceId.charCodeAt(at), 0x0100_0193);
  return hash | 0;
}
