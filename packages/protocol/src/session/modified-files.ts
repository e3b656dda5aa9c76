/** The files that tools changed, by path: how, and in milliseconds when first. */
export type ModifiedFiles = Record<string, { operations: string[]; firstModified: number }>;

/** Files from a stored value. What does not fit is left out. */
export function readFiles(value: unknown): ModifiedFiles {
  return Object.fromEntries(
    Object.entries(Object(value) as ModifiedFiles).filter(
      ([, file]) => Array.isArray(file?.operations) && typeof file.firstModified === "number",
    ),
  );
}
