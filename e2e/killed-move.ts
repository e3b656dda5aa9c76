import { LibSQLStore } from "@selvedge/libsql";
import { copyToPostgres } from "@selvedge/pg";

// Copies a file to a schema and is killed when every row is there, before they are compared.

const [url, connectionString, schemaName] = process.argv.slice(2) as [string, string, string];
await copyToPostgres(new LibSQLStore({ url }), { connectionString, schemaName }, ({ doing }) => {
  if (doing === "check") process.kill(process.pid, "SIGKILL");
});
