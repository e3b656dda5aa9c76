// Contract suites. They need vitest, so they are apart from the rest of this package.
export { findBroken } from "./find-broken.ts";
export { testStore, type StoreHarness } from "./test-store.ts";
export { testFilesystem, type FilesystemHarness } from "./test-filesystem.ts";
export { testVector } from "./test-vector.ts";
export type { VectorHarness } from "./vector-test.ts";
export {
  testThreads,
  type DoorHarness,
  type DoorReader,
  type OpenDoor,
  type ThreadDoor,
} from "./test-threads.ts";
