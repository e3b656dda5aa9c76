import { writePages } from "../e2e/terminal/recording.ts";

// Records the terminals in the README and in docs/controller.md, from the real chat on a real pseudo-terminal.

await writePages();
