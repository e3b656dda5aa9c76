/** Imports an optional package; `undefined` if it is not installed. Errors inside an installed package propagate. */
export async function importPackage(name: string): Promise<Record<string, unknown> | undefined> {
  try {
    return (await import(/* @vite-ignore */ name)) as Record<string, unknown>;
  } catch (error) {
    if (isNotInstalled(error, name)) return undefined;
    throw error;
  }
}

// Node names the missing package; a missing dependency of an installed package has another name. Vite replaces a
// missing optional peer with a module that throws a plain error with the same text.
function isNotInstalled(error: unknown, name: string): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const text = String(message);
  if (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") return text.includes(`'${name}'`);
  return text.includes(`Could not resolve "${name}"`);
}
