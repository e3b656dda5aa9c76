import type { LocalTools } from "@selvedge/client-js";
import { type RefObject, useInsertionEffect, useMemo, useRef } from "react";

/** The value of the last render, for objects that outlive a render. */
export function useLatest<Value>(value: Value): RefObject<Value> {
  const latest = useRef(value);
  useInsertionEffect(() => {
    latest.current = value;
  });
  return latest;
}

/** Tools that stay the same while their names do, and run the last render's functions. */
export function useStableTools(tools: LocalTools | undefined): LocalTools | undefined {
  const latest = useLatest(tools);
  const names = tools && JSON.stringify(Object.keys(tools));
  return useMemo(() => {
    if (names === undefined) return undefined;
    const entries = Object.entries(latest.current ?? {}).map(([name, tool]) => {
      const { execute } = tool;
      if (!execute) return [name, tool];
      const run: typeof execute = (call, options) => latest.current?.[name]?.execute?.(call, options);
      return [name, { ...tool, execute: run }];
    });
    return Object.fromEntries(entries) as LocalTools;
  }, [names, latest]);
}
