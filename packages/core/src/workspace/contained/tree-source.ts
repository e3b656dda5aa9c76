import { lstatSync } from "node:fs";
import type { ScanSource } from "../scan/scan-source.ts";
import { DirectoryNotFoundError } from "../workspace-errors.ts";
import type { ScanRoots } from "../workspace-filesystem.ts";
import { type Directory, openDirectory } from "./directory.ts";
import { locatePath } from "./parse-path.ts";
import { TreeFolder } from "./tree-folder.ts";
import { codeOf, type Place, toPathError, walk } from "./walk.ts";

/** The files below some roots, for a scan in this thread. Starts are walked to like every other path (`walk.ts`). */
export function treeSource({ roots, refusesHardLinks }: ScanRoots): ScanSource {
  const open = (directory: Directory, path: string): TreeFolder =>
    new TreeFolder(directory, path, refusesHardLinks);
  const at = <Result>(path: string, work: (place: Place) => Result): Result => {
    const place = walk(path, roots, { follow: true });
    try {
      return work(place);
    } catch (error) {
      throw toPathError(error, path);
    } finally {
      place.close();
    }
  };
  return {
    locate: (path) => locatePath(path, roots),
    typeOf: (path) =>
      at(path, ({ name, path: entry }) =>
        name === undefined || lstatSync(entry).isDirectory() ? "directory" : "file",
      ),
    folder: (path) =>
      at(path, ({ name, directory, realPath }) => {
        try {
          return open(name === undefined ? openDirectory(realPath) : directory.child(name), path);
        } catch (error) {
          throw codeOf(error) === "ENOENT" ? new DirectoryNotFoundError(path) : error;
        }
      }),
    file(path) {
      const { directory, name } = walk(path, roots, { follow: true });
      return { folder: open(directory, path), name: name! };
    },
  };
}
