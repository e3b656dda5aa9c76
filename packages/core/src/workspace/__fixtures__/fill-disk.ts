import { AgentError } from "../../errors.ts";
import { LocalFilesystem } from "../local-filesystem.ts";

/** Fills a small disk with a workspace, and says what it was told. */
const files = new LocalFilesystem({ basePath: process.argv[2]! });
await files.writeFile("a.txt", "before");
const fails = (work: Promise<unknown>) =>
  work.then(
    () => "done",
    (error: unknown) =>
      AgentError.is(error)
        ? { short: `${error.name} ${error.code}`, message: error.message }
        : { short: String(error), message: "" },
  );
const write = await fails(files.writeFile("a.txt", "x".repeat(100_000)));
const append = await fails(files.appendFile("a.txt", "x".repeat(100_000)));
const content = await files.readFile("a.txt", { encoding: "utf8" });
let directories: unknown = "done";
for (let n = 0; n < 40 && directories === "done"; n++) directories = await fails(files.mkdir(`d/${n}`));
await files.rmdir("d", { recursive: true });
const left = (await files.readdir(".")).map(({ name }) => name);
const short = (outcome: unknown) => (outcome as { short?: string }).short ?? outcome;
console.log(
  JSON.stringify({
    write: `${short(write)} ${(write as { message?: string }).message}`,
    content,
    append: short(append),
    directories: short(directories),
    left,
  }),
);
