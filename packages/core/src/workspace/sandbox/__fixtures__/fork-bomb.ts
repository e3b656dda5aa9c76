import { LocalSandbox } from "../local-sandbox.ts";

// Counts how many processes a command can have at a time.
const [workingDirectory] = process.argv.slice(2) as [string];
const sandbox = new LocalSandbox({ workingDirectory, limits: { processes: 40 } });
const { isolation } = await sandbox.getInfo();
const { stdout } = await sandbox.executeCommand(
  "i=0; while [ $i -lt 200 ]; do sleep 30 & i=$((i+1)); echo $i; done",
  [],
  { timeout: 20_000 },
);
console.log(JSON.stringify({ isolation, forks: Number(stdout.trim().split("\n").at(-1)) }));
await sandbox.destroy();
