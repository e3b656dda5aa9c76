import { parentPort } from "node:worker_threads";

// Dies on the first request.
parentPort!.on("message", () => process.exit(7));
