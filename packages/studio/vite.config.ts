import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL("app", import.meta.url)),
  logLevel: "warn",
  // The packages of this repository are taken from their sources: no build has to come before this one.
  resolve: { conditions: ["selvedge-source", "module", "browser"] },
  build: {
    outDir: fileURLToPath(new URL("site", import.meta.url)),
    emptyOutDir: true,
    target: "es2023",
    // Everything comes from files of the server: its content security policy allows nothing inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
