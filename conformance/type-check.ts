import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";

export interface Diagnostic {
  /** Relative to the checked folder. */
  file: string;
  line: number;
  column: number;
  code: string;
  message: string;
}

/** What a reader of the documents has: plain `strict`, without our house's further flags. */
const COMPILER_OPTIONS = {
  target: "es2024",
  lib: ["es2024", "esnext.disposable", "dom", "dom.iterable", "dom.asynciterable"],
  module: "esnext",
  moduleResolution: "bundler",
  types: ["node"],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
  allowImportingTsExtensions: true,
  customConditions: ["selvedge-source"],
};

/**
 * Type-checks the modules of a folder as one program. Diagnostics of other files, such as our sources, are left to
 * `npm run check`. Modules that do not parse are checked apart: the compiler says nothing else while there are some.
 */
export async function typeCheck(folder: string, files: string[]): Promise<Diagnostic[]> {
  const found = (await compile(folder, files)).filter((diagnostic) => files.includes(diagnostic.file));
  const unparsable = new Set(found.filter(isSyntaxError).map((diagnostic) => diagnostic.file));
  if (unparsable.size === 0) return found;
  const rest = await typeCheck(
    folder,
    files.filter((file) => !unparsable.has(file)),
  );
  return [...found.filter((diagnostic) => unparsable.has(diagnostic.file)), ...rest];
}

export function isSyntaxError(diagnostic: Diagnostic): boolean {
  return /^TS1\d{3}$/.test(diagnostic.code);
}

async function compile(folder: string, files: string[]): Promise<Diagnostic[]> {
  if (files.length === 0) return [];
  await writeFile(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files }, null, 2),
  );
  const compiler = createRequire(import.meta.url)
    .resolve("typescript/package.json")
    .replace("package.json", "bin/tsc");
  const output = await new Promise<string>((resolve, reject) => {
    execFile(
      process.execPath,
      [compiler, "-p", ".", "--pretty", "false"],
      { cwd: folder, maxBuffer: 2 ** 26 },
      (error, stdout, stderr) => {
        // The compiler exits with 1 or 2 when it has something to say; anything else means that it did not work.
        if (error && error.code !== 1 && error.code !== 2)
          reject(new Error(`tsc failed: ${stderr || error.message}`));
        else resolve(stdout);
      },
    );
  });
  return parseDiagnostics(output);
}

/** Reads `file(line,column): error TS1234: message`, with further lines of the message indented below. */
function parseDiagnostics(output: string): Diagnostic[] {
  const diagnostics: Diagnostic[] = [];
  for (const line of output.split(/\r?\n/)) {
    const head = /^(.+?)\((\d+),(\d+)\): error (TS\d+): (.*)$/.exec(line);
    if (head) {
      const [, file = "", row, column, code = "", message = ""] = head;
      diagnostics.push({ file, line: Number(row), column: Number(column), code, message });
    } else if (/^error TS\d+/.test(line)) {
      throw new Error(`tsc could not start: ${line}`);
    } else if (line.startsWith(" ") && diagnostics.length > 0) {
      diagnostics.at(-1)!.message += `\n${line}`;
    }
  }
  return diagnostics;
}
