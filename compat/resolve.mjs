// Loaded with --import: under SIDE=ours the probes' imports of @mastra/… load Selvedge's packages, as an alias does.
import { registerHooks } from "node:module";

const root = new URL("../package.json", import.meta.url).href;
const probes = new URL(".", import.meta.url).href;

if (process.env.SIDE === "ours") {
  registerHooks({
    resolve(specifier, context, next) {
      if (!specifier.startsWith("@mastra/") || !context.parentURL?.startsWith(probes))
        return next(specifier, context);
      return next(specifier.replace("@mastra/", "@selvedge/"), { ...context, parentURL: root });
    },
  });
}
