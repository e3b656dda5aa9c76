// Lint rules of our own, loaded by .oxlintrc.json.

/** `new Date()` and `Date()` read the clock, `new Date(value)` does not. */
const CLOCK = "This reads the clock. Take the time from `System` (packages/core/src/system.ts).";

/** The rooms of core. A room imports only rooms before it, values and types alike. Files outside the rooms come first. */
const ROOMS = [
  "request-context",
  "schema",
  "storage",
  "message",
  "signal",
  "model",
  "telemetry",
  "tool",
  "vector",
  "processor",
  "memory",
  "scorer",
  "run",
  "stream",
  "schedule",
  "actor",
  "thread",
  "notification",
  "workflow",
  "guard",
  "browser",
  "workspace",
  "agent",
  "mastra",
  "agent-controller",
  "switching",
  "exports",
];

/** The parts of thread/ that only thread/ may use. Others come in through `thread/threads.ts`. */
const INSIDE_THREAD = /^thread\/(admit|hold|journal|log)\//;

/** The parts of workspace/ that reach files only through workspace/contained/. `machine.ts` never gets a model's path. */
const UNCONTAINED = /^workspace\/(?!contained\/|sandbox\/machine\.ts)/;

const SOURCE = "packages/core/src/";

function checkImport(context, node) {
  const file = context.filename.replaceAll("\\", "/");
  const start = file.indexOf(SOURCE);
  const source = node.source?.value;
  if (start < 0 || typeof source !== "string") return;
  const from = file.slice(start + SOURCE.length);
  if (source.startsWith("node:fs") && UNCONTAINED.test(from) && !/\.test\.ts$|__fixtures__/.test(from))
    context.report({
      message: "Only workspace/contained/ may touch files: other code would escape the root.",
      node,
    });
  if (!source.startsWith(".")) return;
  const to = new URL(source, `file:///${from}`).pathname.slice(1);
  const [here, there] = [from, to].map((path) => (path.includes("/") ? path.split("/")[0] : ""));
  if (here === there) return;
  const report = (message) => context.report({ message, node });
  if (ROOMS.indexOf(there) > ROOMS.indexOf(here))
    report(`${here || "A file outside the rooms"} comes before ${there} (ROOMS in scripts/lint-plugin.js).`);
  else if (INSIDE_THREAD.test(to)) report("Use thread/threads.ts: this is the inside of thread/.");
}

export default {
  meta: { name: "selvedge" },
  rules: {
    "no-clock-date": {
      create(context) {
        const check = (node) => {
          if (node.callee.type !== "Identifier" || node.callee.name !== "Date") return;
          if (node.type === "CallExpression" || node.arguments.length === 0) {
            context.report({ message: CLOCK, node });
          }
        };
        return { NewExpression: check, CallExpression: check };
      },
    },
    "room-order": {
      create(context) {
        const check = (node) => checkImport(context, node);
        return {
          ImportDeclaration: check,
          ExportNamedDeclaration: check,
          ExportAllDeclaration: check,
          ImportExpression: check,
        };
      },
    },
  },
};
