import type { IconName } from "../ui/icon.tsx";
import type { OutlineNode } from "./outline.ts";

const OF_STEP = {
  step: "step",
  agent: "agent",
  tool: "tool",
  processor: "signal",
  map: "map",
  workflow: "workflow",
} as const;

const OF_NODE = {
  sleep: "clock",
  parallel: "parallel",
  branch: "branch",
  loop: "repeat",
  foreach: "queue",
} as const;

/** The icon that says what a node is. */
export function stepIcon(node: OutlineNode): IconName {
  return node.kind === "step" ? OF_STEP[node.of] : OF_NODE[node.kind];
}
