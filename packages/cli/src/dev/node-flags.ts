/** What Node needs so that it runs a TypeScript project as it is written. */
export function nodeFlags(current: readonly string[], allowed: ReadonlySet<string>): string[] {
  const flags = [...current];
  // Also enums and parameter properties where this Node can; type stripping alone where not.
  const typescript = ["--experimental-transform-types", "--experimental-strip-types"].find((flag) =>
    allowed.has(flag),
  );
  if (typescript) flags.push(typescript, "--disable-warning=ExperimentalWarning");
  if (allowed.has("--env-file-if-exists")) flags.push("--env-file-if-exists=.env");
  return flags;
}
