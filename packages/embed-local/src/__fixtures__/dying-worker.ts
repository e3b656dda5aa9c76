import { parentPort } from "node:worker_threads";

// Dies when it is asked for anything.
parentPort!.on("message", () => process.exit(7));
