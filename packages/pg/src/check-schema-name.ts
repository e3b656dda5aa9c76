import { AgentError } from "@selvedge/core/errors";

/** Names are also quoted where they are used; this keeps them readable, and out of PostgreSQL's own. */
export function checkSchemaName(schemaName: unknown): string {
  if (
    typeof schemaName === "string" &&
    /^(?!pg_|information_schema$)[\p{L}_][\p{L}\p{N}_$-]*$/u.test(schemaName) &&
    Buffer.byteLength(schemaName) <= 63
  )
    return schemaName;
  throw new AgentError(
    "invalid-argument",
    `schemaName must be a name of letters, digits and underscores with at most 63 bytes that does not start with "pg_" ` +
      `and is not "information_schema", got ${JSON.stringify(schemaName)}`,
  );
}
