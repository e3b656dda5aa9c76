import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { scratch } from "../__fixtures__/scratch.ts";
import { bubblewrapMissing, sandboxIn } from "./__fixtures__/sandbox.ts";
import { LocalSandbox } from "./local-sandbox.ts";

const missing = await bubblewrapMissing();
if (missing) console.warn(`skipped: attacks on Git (scripts/ensure-bubblewrap): ${missing}`);

/** The environment of a person whose own configuration is empty. */
const PERSON = {
  PATH: process.env["PATH"],
  HOME: "/nonexistent",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a@b",
  GIT_COMMITTER_NAME: "a",
  GIT_COMMITTER_EMAIL: "a@b",
};

function git(cwd: string, ...args: string[]): string {
  try {
    return execFileSync("git", args, {
      cwd,
      env: PERSON,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
  } catch {
    return ""; // An attack may leave a broken repository.
  }
}

const template = mkdtempSync(join(tmpdir(), "git-attacks-"));
create(template);
afterAll(() => rmSync(template, { recursive: true }));

function repository(root: string): void {
  cpSync(template, root, { recursive: true, verbatimSymlinks: true });
}

/** A repository with a submodule, an included configuration, hooks, and filters: one behind a link, one not there yet. */
function create(root: string): void {
  git(root, "init", "-q");
  for (const folder of ["src/deep", "tools/hooks", "tools/programs", "library"])
    mkdirSync(join(root, folder), { recursive: true });
  writeFileSync(join(root, "tools/programs/clean"), "#!/bin/sh\ncat\n", { mode: 0o755 });
  symlinkSync("tools/programs", join(root, "linked"));
  writeFileSync(join(root, ".gitattributes"), "*.txt filter=present\n*.md filter=later\n");
  writeFileSync(join(root, "src/deep/a.txt"), "a\n");
  writeFileSync(join(root, "tools/shared.gitconfig"), "[user]\n\tname = someone\n");
  writeFileSync(join(root, "tools/hooks/README"), "Hooks of the project.\n");
  git(join(root, "library"), "init", "-q");
  git(join(root, "library"), "commit", "--allow-empty", "-qm", "first");
  git(root, "config", "include.path", "../tools/shared.gitconfig");
  git(root, "config", "core.hooksPath", "tools/hooks");
  git(root, "config", "extensions.worktreeConfig", "true");
  git(root, "config", "--add", "include.path", "../later.gitconfig");
  git(root, "config", "filter.present.clean", "linked/clean");
  git(root, "config", "filter.later.clean", "tools/later/clean");
  git(root, "add", "-A");
  git(root, "commit", "-qm", "first");
}

/** What a person does later. */
function useGit(root: string): void {
  for (const folder of [root, join(root, "src/deep"), join(root, "library"), join(root, "made")]) {
    if (!existsSync(folder)) continue;
    git(folder, "status");
    git(folder, "add", "-A");
    git(folder, "commit", "--allow-empty", "-qm", "work");
  }
}

/** Commands after which Git runs `RUN`, outside of the sandbox. */
const ATTACKS: Record<string, string> = {
  "another common directory":
    "git init -q --bare e.git; printf '[core]\\nfsmonitor=RUN\\n' >> e.git/config; echo ../e.git > .git/commondir",
  "a configuration for this working tree": "printf '[core]\\nfsmonitor=RUN\\n' > .git/config.worktree",
  "an included configuration": "printf '[core]\\nfsmonitor=RUN\\n' >> tools/shared.gitconfig",
  "an included configuration in a folder that took the place of another":
    "mv tools old; cp -r old tools; printf '[core]\\nfsmonitor=RUN\\n' >> tools/shared.gitconfig",
  "an included configuration that did not exist": "printf '[core]\\nfsmonitor=RUN\\n' > later.gitconfig",
  "a hook in the directory that the configuration names":
    "printf '#!/bin/sh\\nRUN\\n' > tools/hooks/pre-commit; chmod +x tools/hooks/pre-commit",
  "a program behind a link":
    "printf '#!/bin/sh\\nRUN\\ncat\\n' > tools/programs/clean; echo b > src/deep/a.txt",
  "a program behind a link, in a folder that took the place of another":
    "mv tools old; mkdir -p tools/programs; printf '#!/bin/sh\\nRUN\\ncat\\n' > tools/programs/clean; chmod +x tools/programs/clean; echo b > src/deep/a.txt",
  "a link that leads to another program":
    "mkdir mine; printf '#!/bin/sh\\nRUN\\ncat\\n' > mine/clean; chmod +x mine/clean; rm linked; ln -s mine linked; echo b > src/deep/a.txt",
  "a folder in place of a link":
    "rm linked; mkdir linked; printf '#!/bin/sh\\nRUN\\ncat\\n' > linked/clean; chmod +x linked/clean; echo b > src/deep/a.txt",
  "a program that did not exist":
    "mkdir -p tools/later; printf '#!/bin/sh\\nRUN\\ncat\\n' > tools/later/clean; chmod +x tools/later/clean; echo b > b.md",
  "a repository in a folder that a person works in":
    "cd src/deep; git init -q; printf '[core]\\nfsmonitor=RUN\\n' >> .git/config",
  "a repository without .git in such a folder":
    "cd src/deep; git init -q --bare x; mv x/* .; rmdir x; printf '[core]\\nbare=false\\nworktree=.\\nfsmonitor=RUN\\n' >> config",
  "a repository in place of the broken one":
    "git init -q --bare x; mv x/* .; echo garbage > .git/HEAD; printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nworktree=.\\nfsmonitor=RUN\\n' > config",
  "a file .git that leads to a hidden repository":
    "git init -q --bare h; mkdir -p node_modules; mv h node_modules/h; printf '[core]\\nbare=false\\nworktree=/proc/self/cwd\\nfsmonitor=RUN\\n' >> node_modules/h/config; echo 'gitdir: ../../node_modules/h' > src/deep/.git",
  "a link .git":
    "git init -q made; printf '[core]\\nfsmonitor=RUN\\n' >> made/.git/config; ln -s ../../made/.git src/deep/.git",
  "the configuration of a repository inside": "printf '[core]\\nfsmonitor=RUN\\n' >> library/.git/config",
  "the hooks of a repository inside":
    "printf '#!/bin/sh\\nRUN\\n' > library/.git/hooks/pre-commit; chmod +x library/.git/hooks/pre-commit",
  "a new submodule":
    "git init -q made; cd made; git -c user.name=a -c user.email=b commit -q --allow-empty -m x; printf '[core]\\nfsmonitor=RUN\\n' >> .git/config; cd ..; git add made",
  "a setting that a comment hides":
    "git init -q made; printf '[user]\\n# \\\\\\n[core]\\nfsmonitor=RUN\\n' >> made/.git/config",
  "a repository that was prepared under another name, and renamed by a second command":
    "git init -q made; printf '[core]\\nfsmonitor=RUN\\n' >> made/.git/config; mv made/.git made/other\nmv made/other made/.git",
};

function attack(name: string, proof: string): string[] {
  const run = `touch ${proof}`;
  // As the value of a setting, it needs quotes.
  return ATTACKS[name]!.replaceAll("=RUN", `=\\"${run}; false\\"`)
    .replaceAll("RUN", run)
    .replaceAll(String.raw`\"`, '"')
    .split("\n");
}

describe.skipIf(missing)("Git outside, after a command in bubblewrap,", () => {
  it.each(Object.keys(ATTACKS))("runs no program of the command: %s", async (name) => {
    // Without a sandbox, the attack works.
    const open = scratch();
    repository(open.root);
    const proof = join(open.outside, "ran");
    for (const command of attack(name, proof))
      execFileSync("/bin/sh", ["-c", command], { cwd: open.root, env: PERSON, stdio: "ignore" });
    useGit(open.root);
    expect(existsSync(proof)).toBe(true);

    const { sandbox, root, outside } = sandboxIn({ isolation: "bwrap" });
    repository(root);
    for (const command of attack(name, join(outside, "ran"))) await sandbox.executeCommand(command);
    useGit(root);
    expect(existsSync(join(outside, "ran"))).toBe(false);
    await sandbox.destroy();
    git(root, "status");
    expect(existsSync(join(outside, "ran"))).toBe(false);
  });

  it("works as before: the commits of the command are there, and nothing else is in .git", async () => {
    const { sandbox, root } = sandboxIn({ isolation: "bwrap" });
    repository(root);
    const names = readdirSync(join(root, ".git"));
    const identity = "-c user.name=a -c user.email=b";
    const { exitCode, stderr, warning } = await sandbox.executeCommand(
      `echo b > b && git add b && git ${identity} commit -qm second && git checkout -qb topic && git ${identity} commit -q --allow-empty -m third && git checkout -q - && git ${identity} merge -q topic && echo c > b && git stash -q && git gc -q`,
    );
    expect([exitCode, stderr, warning]).toEqual([0, "", undefined]);
    // While the sandbox is open, what it put there has no effect.
    expect(git(root, "log", "--format=%s")).toBe("third\nsecond\nfirst\n");
    expect(git(root, "worktree", "list")).toContain(root);
    await sandbox.destroy();
    const added = readdirSync(join(root, ".git")).filter((name) => !names.includes(name));
    expect(added.toSorted()).toEqual(["ORIG_HEAD", "packed-refs"]);
    expect(git(root, "fsck")).toBe("");
  });

  it("keeps the settings of a person's repositories, and those of a new one without programs", async () => {
    const { sandbox, root } = sandboxIn({ isolation: "bwrap" });
    repository(root);
    git(join(root, "library"), "config", "filter.x.clean", "cat");
    const mine = readFileSync(join(root, "library/.git/config"), "utf8");
    const quiet = await sandbox.executeCommand(
      "git init -q made; git -C made config user.name b; mv library moved; git -C moved status",
    );
    expect(quiet).toMatchObject({ exitCode: 0 });
    expect(quiet.warning).toBeUndefined();
    expect(readFileSync(join(root, "moved/.git/config"), "utf8")).toBe(mine);
    const loud = await sandbox.executeCommand("git -C moved config core.fsmonitor ./evil");
    expect(loud.warning).toContain("moved/.git/config");
    expect(readFileSync(join(root, "moved/.git/config"), "utf8")).toBe(mine);
    expect(readFileSync(join(root, "moved/.git/config.blocked"), "utf8")).toContain("./evil");
  });

  it("is refused a .git whose common directory is elsewhere", async () => {
    const { sandbox, root } = sandboxIn({ isolation: "bwrap" });
    repository(root);
    writeFileSync(join(root, ".git/commondir"), "../other\n");
    await expect(sandbox.executeCommand("true")).rejects.toThrow('commondir leads Git to "../other"');
  });

  it("is not disturbed by two sandboxes in one directory", async () => {
    const { sandbox, root } = sandboxIn({ isolation: "bwrap" });
    repository(root);
    const other = new LocalSandbox({ workingDirectory: root, isolation: "bwrap", logger: false });
    const slow = sandbox.executeCommand("until [ -e go ]; do sleep 0.01; done; echo x > .git/commondir");
    for (let turn = 0; turn < 5; turn++)
      expect(await other.executeCommand("git status")).toMatchObject({ exitCode: 0 });
    await other.destroy();
    writeFileSync(join(root, "go"), "");
    expect((await slow).stderr).toContain("Read-only file system");
    await sandbox.destroy();
    expect(existsSync(join(root, ".git/commondir"))).toBe(false);
  });
});
