import { stripTypeScriptTypes } from "node:module";
import { AgentError } from "@selvedge/core/errors";

/** A TypeScript source as JavaScript. Lines stay where they are, unless it has enums or similar code to transform. */
export function stripTypes(source: string, file: string): string {
  // Node warns that its function is experimental.
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return stripTypeScriptTypes(source, { mode: "strip" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX")
      return stripTypeScriptTypes(source, { mode: "transform" });
    throw new AgentError(
      "invalid-argument",
      `${file} cannot be read as TypeScript: ${(error as Error).message}`,
    );
  } finally {
    process.emitWarning = emitWarning;
  }
}
