import { mkdir } from "node:fs/promises";
import { LocalFilesystem, Workspace } from "@selvedge/core/workspace";

const README = `# A scratch folder

The demo agent works here. Ask it to write a poem, look at the change, and undo it.
`;

const SKILL = `---
name: rhyme
description: How to write a poem about weaving.
---
Four short lines. Name one colour. End with the loom.
`;

/** A folder that the demo agent may change, with a file and a skill in it. */
export async function demoWorkspace(folder: string): Promise<Workspace> {
  await mkdir(folder, { recursive: true });
  const filesystem = new LocalFilesystem({ basePath: folder });
  if (!(await filesystem.exists("README.md"))) {
    await filesystem.writeFile("README.md", README);
    await filesystem.writeFile("skills/rhyme/SKILL.md", SKILL);
  }
  return new Workspace({
    id: "scratch",
    name: "Scratch",
    filesystem,
    bm25: true,
    autoIndexPaths: ["."],
    skills: ["skills"],
  });
}
