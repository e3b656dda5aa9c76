import { countText } from "./count-tokens.ts";
import { joinLines, logLines } from "./log-lines.ts";

/**
 * The part of the log that the observer sees: as many important lines as fit, newest first, then as many others, in log
 * order. `false` means all of it.
 */
export function selectPreviousLog(text: string, maxTokens: number | false): string {
  if (maxTokens === false) return text;
  if (maxTokens === 0) return "";
  const lines = logLines(text);
  const chosen = new Set<number>();
  let left = maxTokens;
  for (const wanted of [true, false]) {
    for (let index = lines.length - 1; index >= 0; index--) {
      const line = lines[index]!;
      if (line.isImportant !== wanted) continue;
      const size = countText(line.text) + 1;
      if (size > left) break;
      left -= size;
      chosen.add(index);
    }
  }
  return joinLines(lines.filter((_, index) => chosen.has(index)));
}
