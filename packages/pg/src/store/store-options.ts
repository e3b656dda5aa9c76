import { AgentError } from "@selvedge/core/errors";
import { defaultLogger, type OptionNames, warnUnknownOptions } from "@selvedge/core/guards";
import type { System } from "@selvedge/core/storage";
import type { Pool, PoolConfig } from "pg";
import { checkSchemaName } from "../check-schema-name.ts";

/** What a commit survives, apart from the death of the process that made it. */
export type PostgresDurability = "process-safe" | "power-safe";

export interface PostgresStoreOptions {
  id?: string;
  /** `postgresql://user:password@host:5432/database` */
  connectionString?: string;
  host?: string;
  port?: number;
  user?: string;
  password?: PoolConfig["password"];
  database?: string;
  /** Replaces what `connectionString` says about SSL. */
  ssl?: PoolConfig["ssl"];
  /** Your own `pg` pool, instead of an address. You close it. */
  pool?: Pool;
  /** The schema of the tables. Default: `public`. Created if absent. */
  schemaName?: string;
  /** The maximum number of connections, not counting the one that listens. Default: 10. */
  max?: number;
  /** How long a connection may be idle before it is closed. Default: 30,000. */
  idleTimeoutMillis?: number;
  /**
   * `power-safe` waits until the commit is on disk, and on the synchronous standbys, if there are any. `process-safe`
   * does not wait: a server crash can lose the last commits. Default: the server's `synchronous_commit`.
   */
  durability?: PostgresDurability;
  /**
   * Sends a commit in one round trip. Default: true, and an address at which there is a pooler is refused. Set it to false
   * behind a pooler in transaction mode, and to true behind one in session mode.
   */
  pipeline?: boolean;
  /** Uses prepared statements. Default: true. Set it to false behind a pooler that does not support them. */
  prepare?: boolean;
  /** Where to LISTEN, if `connectionString` is the address of a pooler. */
  listenConnectionString?: string;
  /** Polls for changes at this interval, in milliseconds, instead of listening. */
  pollMs?: number;
  system?: System;
}

const NAMES: OptionNames<Required<PostgresStoreOptions>> = {
  id: true,
  connectionString: true,
  host: true,
  port: true,
  user: true,
  password: true,
  database: true,
  ssl: true,
  pool: true,
  schemaName: true,
  max: true,
  idleTimeoutMillis: true,
  durability: true,
  pipeline: true,
  prepare: true,
  listenConnectionString: true,
  pollMs: true,
  system: true,
};
const ADDRESS = ["connectionString", "host", "port", "user", "password", "database", "ssl"] as const;
const OF_A_POOL = [...ADDRESS, "max", "idleTimeoutMillis"] as const;
const RULES: {
  readonly [Name in keyof PostgresStoreOptions]?: readonly [(value: never) => boolean, string];
} = {
  id: [isText, "a text"],
  connectionString: [isUrl, 'an address such as "postgresql://user:password@localhost:5432/app"'],
  listenConnectionString: [isUrl, 'an address such as "postgresql://user:password@localhost:5432/app"'],
  host: [isText, "a host name"],
  port: [(port: number) => isCount(port) && port < 65_536, "a number from 1 to 65535"],
  user: [isText, "a text"],
  ssl: [isSsl, "a boolean, or an object with options of Node's tls.connect"],
  database: [isText, "a text"],
  max: [isCount, "a whole number, 1 or more"],
  idleTimeoutMillis: [(ms: number) => isCount(ms) || ms === 0, "a whole number, 0 or more"],
  durability: [
    (durability: string) => ["process-safe", "power-safe"].includes(durability),
    '"process-safe" or "power-safe"',
  ],
  pipeline: [isBoolean, "a boolean"],
  prepare: [isBoolean, "a boolean"],
  pollMs: [isCount, "a whole number of milliseconds, 1 or more"],
};

/** The checked options. */
export interface StoreSettings {
  /** The pool of the caller, or how to make one. */
  pool: Pool | PoolConfig;
  isOwnPool: boolean;
  schema: string;
  durability: PostgresDurability | undefined;
  pipeline: boolean;
  /** Whether to make sure that there is no pooler. */
  checksForPooler: boolean;
  prepare: boolean;
  /** How to connect for LISTEN. Without it, the store polls. */
  listen: PoolConfig | undefined;
  pollMs: number;
}

const POLL_MS = 1_000;

export function toSettings(options: PostgresStoreOptions): StoreSettings {
  if (typeof options !== "object" || options === null) throw wrong("options", options, "an object");
  warnUnknownOptions("new PostgresStore()", options, NAMES, defaultLogger);
  for (const name of Object.keys(options) as (keyof PostgresStoreOptions)[]) {
    const rule = RULES[name];
    const value = options[name];
    if (rule && value !== undefined && !rule[0](value as never)) throw wrong(name, value, rule[1]);
  }
  const {
    pool,
    connectionString,
    listenConnectionString,
    pollMs,
    schemaName = "public",
    durability,
  } = options;
  const given = (names: readonly (keyof PostgresStoreOptions)[]): string[] =>
    names.filter((name) => options[name] !== undefined);
  if (pool) {
    const [also] = given(OF_A_POOL);
    if (also !== undefined)
      throw new AgentError(
        "invalid-argument",
        `Pass either pool or ${also}, not both. The pool has its own settings.`,
      );
    if (typeof pool.connect !== "function") throw wrong("pool", typeof pool, "a Pool from the package pg");
  } else if (given(ADDRESS).length === 0) {
    throw new AgentError(
      "invalid-argument",
      'PostgresStore needs a connectionString such as "postgresql://user:password@localhost:5432/app", a host, or a pool',
    );
  } else if (connectionString !== undefined && given(["host", "port", "user", "database"]).length > 0) {
    throw new AgentError(
      "invalid-argument",
      `Pass either connectionString or ${given(["host", "port", "user", "database"])[0]!}, not both`,
    );
  }
  if (listenConnectionString !== undefined && pollMs !== undefined)
    throw new AgentError("invalid-argument", "Pass either listenConnectionString or pollMs, not both");
  const address: PoolConfig = Object.fromEntries(
    ADDRESS.filter((name) => options[name] !== undefined).map((name) => [name, options[name]]),
  );
  if (connectionString !== undefined && options.ssl !== undefined)
    address.connectionString = withoutSsl(connectionString);
  const pipeline = options.pipeline ?? (pool ? pool.options.pipeline === true : true);
  if (pool && pipeline && pool.options.pipeline !== true)
    throw new AgentError(
      "invalid-argument",
      "The pool cannot send commits in one round trip. Create it with `pipeline: true`, or leave out the option here.",
    );
  return {
    pool: pool ?? {
      ...address,
      max: options.max ?? 10,
      idleTimeoutMillis: options.idleTimeoutMillis ?? 30_000,
    },
    isOwnPool: pool === undefined,
    schema: checkSchemaName(schemaName),
    durability,
    pipeline,
    checksForPooler: options.pipeline === undefined,
    prepare: options.prepare ?? true,
    listen: listenConfig(options, pool?.options ?? address),
    pollMs: pollMs ?? POLL_MS,
  };
}

/** A pooler in transaction mode does not pass on notifications, so a store without pipelines polls unless it has an address. */
function listenConfig(
  { listenConnectionString, pollMs, pipeline, ssl }: PostgresStoreOptions,
  address: PoolConfig,
): PoolConfig | undefined {
  if (listenConnectionString !== undefined) {
    const connectionString = ssl === undefined ? listenConnectionString : withoutSsl(listenConnectionString);
    return { ...address, connectionString };
  }
  return pollMs === undefined && pipeline !== false ? address : undefined;
}

/** What an address says about SSL would replace the option, as `?sslmode=require` of a provider replaces a `ca`. */
function withoutSsl(address: string): string {
  const url = new URL(address);
  for (const name of SSL_PARAMETERS) url.searchParams.delete(name);
  return url.href;
}

const SSL_PARAMETERS = [
  "ssl",
  "sslmode",
  "sslcert",
  "sslkey",
  "sslrootcert",
  "sslnegotiation",
  "uselibpqcompat",
] as const;

function wrong(name: string, value: unknown, expected: string): AgentError {
  const got = name.toLowerCase().includes("connectionstring") ? withoutSecrets(value) : value;
  return new AgentError("invalid-argument", `${name} must be ${expected}, got ${shown(got)}`);
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isBoolean(value: unknown): boolean {
  return typeof value === "boolean";
}

function isSsl(value: unknown): boolean {
  return isBoolean(value) || (typeof value === "object" && value !== null);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function isUrl(value: unknown): boolean {
  return typeof value === "string" && /^postgres(ql)?:\/\//.test(value) && URL.canParse(value);
}

/** The beginning of an address, up to where a password may be. */
function withoutSecrets(value: unknown): unknown {
  return typeof value === "string" ? value.replace(/^(\w*:\/\/)?.+$/s, "$1…") : typeof value;
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
