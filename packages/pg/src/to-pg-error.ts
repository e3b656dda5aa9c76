import { AgentError, errorMessage } from "@selvedge/core/errors";

const POOLER =
  "a pooler passes prepared statements to other connections. Pass prepare: false, and pipeline: false if it is in transaction mode";
const CERTIFICATE =
  'the server\'s certificate is not trusted. Pass the one that signed it: ssl: { ca: readFileSync("ca.crt", "utf8") }';

/** What was wrong, and what to do. */
const HINTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing is listening there. Check host and port, and that the server runs",
  ENOTFOUND: "there is no such host. Check the address",
  EAI_AGAIN: "the name of the host could not be resolved. Check the address and the network",
  DEPTH_ZERO_SELF_SIGNED_CERT: CERTIFICATE,
  SELF_SIGNED_CERT_IN_CHAIN: CERTIFICATE,
  UNABLE_TO_GET_ISSUER_CERT: CERTIFICATE,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: CERTIFICATE,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: CERTIFICATE,
  CERT_HAS_EXPIRED: "the server's certificate has expired. Renew it",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "the server's certificate is for another host. Use a host name that the certificate contains",
  ETIMEDOUT: "it did not respond in time. Check the address and the firewall",
  "28P01": "the password was refused. Check user and password",
  "28000": "the user was refused. Check the user, ssl, and the server's pg_hba.conf",
  "3D000": "there is no such database. Create it, or check the name",
  "42501":
    "the user lacks a permission. Grant SELECT, INSERT, UPDATE and DELETE on the tables, and CREATE on the schema, or let a user " +
    "that has it open the store once",
  "25006": "it is read-only, such as a standby. Use the address of the primary",
  "22P05": "the encoding of the database lacks a character. Use a database with ENCODING 'UTF8'",
  "42703": "a table has other columns than expected. Pass an empty schema as schemaName",
  "42809": "something else has the name of a table. Pass an empty schema as schemaName",
  "42P01": "a table is missing. Open the store with a user that may create it",
  "26000": POOLER,
  "42P05": POOLER,
  "53100": "the disk is full. Free some space on the server",
  "53200": "it is out of memory. Raise max_locks_per_transaction if it names locks",
  "53300": "it has too many connections. Lower max, raise max_connections, or use a pooler",
  "55P03":
    "a lock was not available in time, as while a backup runs. Try again later, and raise lock_timeout if it is set",
  "57014": "the statement was cancelled or took too long. Raise statement_timeout if it is set",
  "57P05":
    "the connection was idle for too long. Set idleTimeoutMillis below the server's idle_session_timeout",
  "57P03": "it is starting or stopping. Try again later",
};

/** Errors without a code that says enough, by a part of their message. */
const HINTS_BY_MESSAGE: readonly (readonly [part: string, hint: string])[] = [
  ["password must be a string", "it needs a password. Pass one in connectionString, or as password"],
  ["during recovery", HINTS["25006"]!],
  ["does not support SSL", "it does not support SSL. Turn SSL on in the server, or leave out ssl"],
  ["connection timeout", HINTS["ETIMEDOUT"]!],
  ["timeout expired", HINTS["ETIMEDOUT"]!],
  [
    "timeout exceeded when trying to connect",
    "it did not respond in time, or every connection of the pool was in use. Check the address and the firewall, or raise max",
  ],
  [
    "Connection terminated unexpectedly",
    "the connection was closed. Check that a PostgreSQL server is at this address, and see its log",
  ],
];

/** Converts the driver's error to `storage-failed` with the cause. Our own errors pass unchanged. */
export function toPgError(error: unknown): AgentError {
  if (AgentError.is(error)) return error;
  const message = messageOf(error);
  const hint = HINTS[codeOf(error)] ?? HINTS_BY_MESSAGE.find(([part]) => message.includes(part))?.[1];
  const reason = hint === undefined ? message : `${hint} (${message})`;
  return new AgentError("storage-failed", `PostgreSQL: ${reason}`, { cause: error });
}

/** Conflicts that vanish on retry: serialization, deadlock, a table created concurrently. */
export function isTransient(error: unknown): boolean {
  return ["40001", "40P01", "23505", "42P07"].includes(codeOf(error));
}

export function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : "";
}

/** A host with several addresses fails with one error for each. */
function messageOf(error: unknown): string {
  return error instanceof AggregateError ? error.errors.map(errorMessage).join(", ") : errorMessage(error);
}
