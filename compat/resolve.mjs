// Loaded with --import: under SIDE=ours the probes' imports of @mastra/… load Selvedge's packages, as an alias does.
import { registerHooks } from "node:module";

const root = new URL("../package.json", import.meta.url).href;
const probes = new URL(".", import.meta.url).href;
const isOurs = process.env.SIDE === "ours";

registerHooks({
  resolve(specifier, context, next) {
    if (!context.parentURL?.startsWith(probes) || context.parentURL.includes("/node_modules/"))
      return next(specifier, context);
    const name = isOurs ? specifier.replace(/^@mastra\//, "@selvedge/") : specifier;
    // Selvedge's own packages are those of this repository, also where a probe names them.
    return name.startsWith("@selvedge/")
      ? next(name, { ...context, parentURL: root })
      : next(specifier, context);
  },
});
