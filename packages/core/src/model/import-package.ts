/** An optional package, or `undefined` when it is not installed. Errors inside an installed package surface. */
export async function importPackage(name: string): Promise<Record<string, unknown> | undefined> {
  try {
    return (await import(/* @vite-ignore */ name)) as Record<string, unknown>;
  } catch (error) {
    if (isNotInstalled(error, name)) return undefined;
    throw error;
  }
}

// Node names the package it looked for; a dependency of an installed package that is missing has another name. Vite
// puts a module in the place of an optional peer that throws a plain error with the same words.
function isNotInstalled(error: unknown, name: string): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const text = String(message);
  if (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") return text.includes(`'${name}'`);
  return text.includes(`Could not resolve "${name}"`);
}
