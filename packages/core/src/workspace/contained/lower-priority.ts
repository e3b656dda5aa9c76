import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";

/** The thread gives way to the others of its process: about a third of their share where processors are scarce. */
const NICE = 5;

/** Lowers the priority of the calling thread, where the system has priorities for threads. */
export function lowerPriority(): void {
  try {
    // Linux: "<process>/task/<thread>".
    setPriority(Number(readlinkSync("/proc/thread-self").split("/").at(-1)), NICE);
  } catch {
    // Only speed depends on it.
  }
}
