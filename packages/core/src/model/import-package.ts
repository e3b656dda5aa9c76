/** An optional package, or `undefined` when it is not installed. Errors inside an installed package surface. */
export async function importPackage(name: string): Promise<Record<string, unknown> | undefined> {
  try {
    return (await import(/* @vite-ignore */ name)) as Record<string, unknown>;
  } catch (error) {
    if (isNotInstalled(error, name)) return undefined;
    throw error;
  }
}

// Node names the package it looked for; a dependency of an installed package that is missing has another name.
function isNotInstalled(error: unknown, name: string): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return (
    (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") && String(message).includes(`'${name}'`)
  );
}
