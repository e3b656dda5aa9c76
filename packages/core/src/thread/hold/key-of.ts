import type { ThreadAddress } from "../threads.ts";

export function keyOf({ threadId, resourceId }: ThreadAddress): string {
  return `${resourceId}\u0000${threadId}`;
}
