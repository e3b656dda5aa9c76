import { AgentError } from "@selvedge/core/errors";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge"];
const PLACES: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  linux: ["/usr/bin", "/usr/local/bin", "/snap/bin"].flatMap((folder) =>
    NAMES.map((name) => `${folder}/${name}`),
  ),
  darwin: ["Chromium", "Google Chrome", "Microsoft Edge"].map(
    (name) => `/Applications/${name}.app/Contents/MacOS/${name}`,
  ),
  win32: ["PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"].flatMap((variable) =>
    ["Chromium\\Application\\chrome.exe", "Google\\Chrome\\Application\\chrome.exe"].map((path) =>
      join(process.env[variable] ?? "C:\\", path),
    ),
  ),
};

/** The path of an installed Chromium: the given one, or the first in the usual places. */
export function findChromium(given?: string): string {
  const onPath = (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter(Boolean)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)));
  const candidates = given === undefined ? [...(PLACES[process.platform] ?? []), ...onPath] : [given];
  const found = candidates.find(isExecutable);
  if (found !== undefined) return found;
  throw new AgentError(
    "not-found",
    given === undefined
      ? "No Chromium was found. Install Chromium, Chrome or Edge (on Debian: apt-get install chromium), or pass executablePath."
      : `executablePath ${JSON.stringify(given)} is not an executable file.`,
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
