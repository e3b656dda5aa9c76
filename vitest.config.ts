import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["selvedge-source"] },
  ssr: { resolve: { conditions: ["selvedge-source"] } },
  test: {
    include: [
      "packages/*/src/**/*.test.ts",
      "packages/studio/app/**/*.test.ts",
      "conformance/**/*.test.ts",
      "examples/**/*.test.ts",
      "e2e/**/*.test.ts",
      "docs-site/*.test.ts",
    ],
    isolate: false,
    // Processes, not threads: a native module must not be torn down under a worker that is still in it.
    pool: "forks",
    testTimeout: 20_000,
    typecheck: {
      enabled: true,
      include: ["packages/*/src/**/*.test-d.ts"],
      tsconfig: "tsconfig.check.json",
    },
  },
});
