import { readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const PLACES = "{packages/*/src,packages/studio/app,conformance,examples,e2e,docs-site}";
const PROCESS = `${PLACES}/**/*.process.test.ts`;
const BROWSER = `${PLACES}/**/*.browser.test.ts`;

/** In each project, what takes longest starts first, so that no worker is left with it at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const ranks = new Map(await Promise.all(sorted.map(async (file) => [file, await rankOf(file)] as const)));
    const projects = new Set(sorted.map(({ project }) => project));
    return [...projects].flatMap((project) =>
      sorted
        .filter((file) => file.project === project)
        .toSorted((one, other) => ranks.get(one)! - ranks.get(other)!),
    );
  }
}

/** The files in `e2e/kill` take minutes each, and others with long tests up to one. */
async function rankOf({ moduleId }: TestSpecification): Promise<number> {
  if (moduleId.includes("/e2e/kill/")) return 0;
  return (await readFile(moduleId, "utf8")).includes('tags: ["long"]') ? 1 : 2;
}

/**
 * Three tiers, by file name. No test may fail because time passed, so the limits only end tests that hang. The tag `long`
 * marks tests that `npm test` leaves to `npm run test:all`.
 */
export default defineConfig({
  resolve: { conditions: ["selvedge-source"] },
  ssr: { resolve: { conditions: ["selvedge-source"] } },
  test: {
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Processes, not threads: a native module must not be torn down under a worker that is still in it.
    pool: "forks",
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    tags: [{ name: "long", description: "Left to npm run test:all.", timeout: 900_000 }],
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: [`${PLACES}/**/*.test.ts`],
          exclude: [PROCESS, BROWSER, "**/node_modules/**"],
          typecheck: {
            enabled: true,
            include: ["packages/*/src/**/*.test-d.ts"],
            tsconfig: "tsconfig.check.json",
          },
        },
      },
      {
        extends: true,
        test: { name: "process", include: [PROCESS], sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: {
          name: "browser",
          include: [BROWSER],
          sequence: { groupOrder: 1 },
          globalSetup: ["e2e/studio/build-studio.ts"],
        },
      },
    ],
  },
});
