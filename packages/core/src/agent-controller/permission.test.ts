import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decidePermission, isDenied, type PermissionRequest, type PermissionRules } from "./permission.ts";

const request = (change: Partial<PermissionRequest> = {}): PermissionRequest => ({
  toolName: "execute_command",
  args: { command: "git status" },
  category: "execute",
  rules: { categories: {}, tools: {} },
  grants: { categories: [], tools: [] },
  yolo: false,
  exempt: false,
  ...change,
});
const tools = (rules: PermissionRules["tools"]): PermissionRules => ({ categories: {}, tools: rules });
const decide = (change: Partial<PermissionRequest>) => decidePermission(request(change)).decision;
const command = (text: string) => ({ args: { command: text } });

describe("decidePermission", () => {
  it("asks where nothing is said", () => {
    expect(decidePermission(request())).toEqual({
      decision: "ask",
      reason: 'no rule for "execute_command"',
    });
  });

  it("goes by the tool, then by grants, then by the category", () => {
    const rules: PermissionRules = { categories: { execute: "allow" }, tools: { execute_command: "ask" } };
    expect(decide({ rules })).toBe("ask");
    expect(decide({ rules: { ...rules, tools: {} } })).toBe("allow");
    expect(decide({ grants: { categories: ["execute"], tools: [] } })).toBe("allow");
    expect(decide({ grants: { categories: [], tools: ["execute_command"] } })).toBe("allow");
    expect(decide({ category: null, grants: { categories: ["execute"], tools: [] } })).toBe("ask");
    const denied: PermissionRules = { categories: { execute: "deny" }, tools: {} };
    expect(decide({ rules: denied })).toBe("deny");
    for (const yolo of [true, false]) {
      expect(decide({ yolo, rules: denied, grants: { categories: ["execute"], tools: [] } })).toBe("allow");
      expect(decide({ yolo, rules: denied, grants: { categories: [], tools: ["execute_command"] } })).toBe(
        "allow",
      );
    }
  });

  it("keeps a denied tool and a denied category denied when nobody is asked", () => {
    expect(decide({ yolo: true })).toBe("allow");
    expect(decide({ yolo: true, rules: tools({ execute_command: "deny" }) })).toBe("deny");
    expect(decide({ yolo: true, rules: { categories: { execute: "deny" }, tools: {} } })).toBe("deny");
    const exempted = { categories: { execute: "deny" }, tools: { execute_command: "allow" } } as const;
    expect(decide({ rules: exempted })).toBe("allow");
  });

  it("lets a pattern decide over the tool's own rule, and says so", () => {
    const rules = tools({ execute_command: "ask", "execute_command(git status*)": "allow" });
    expect(decide({ rules })).toBe("allow");
    expect(decide({ rules, ...command("git push") })).toBe("ask");
    const asking = tools({ execute_command: "allow", "execute_command(git push*)": "ask" });
    expect(decidePermission(request({ rules: asking, ...command("git push -f") })).reason).toBe(
      'rule "execute_command(git push*)"',
    );
  });

  it("never lets a star span a shell operator", () => {
    const rules = tools({ "execute_command(git status*)": "allow" });
    for (const rest of [
      "; rm x",
      " && rm x",
      " | sh",
      " > f",
      " `rm x`",
      " $(rm x)",
      "\nrm x",
      " & rm x",
      " ${IFS}",
    ])
      expect(decide({ rules, ...command(`git status${rest}`) })).toBe("ask");
  });

  it("refuses a call in which one of several commands is denied", () => {
    const rules = tools({ "execute_command(rm *)": "deny" });
    for (const text of ["rm -rf /", "cd x && rm -rf y", "echo $(rm -rf y)", "ls;rm y"])
      expect(decide({ yolo: true, rules, ...command(text) })).toBe("deny");
    expect(decide({ yolo: true, rules, ...command("echo rm") })).toBe("allow");
  });

  it("refuses a denied command however it is written, in whichever argument", () => {
    const rules = tools({ "execute_command(rm *)": "deny", "execute_command(secret/*)": "deny" });
    for (const args of [
      { command: "rm\t-rf /" },
      { command: "'rm' -rf /" },
      { command: "\\rm -rf /" },
      { command: 'r"m" -rf /' },
      { command: "rm${IFS}-rf" },
      { command: "rm$IFS-rf" },
      { command: ["rm", "-rf", "/"] },
      { command: "ls", cmd: "rm -rf /" },
      { script: "rm -rf /", note: "harmless" },
      { steps: [{ run: "ls" }, { run: "rm -rf /" }] },
      { path: "./secret/a" },
      { path: "open/../secret//a" },
    ])
      expect([args, decide({ yolo: true, rules, args })]).toEqual([args, "deny"]);
    for (const args of [{ command: "ls" }, { path: "open/secret" }, {}, null, 5])
      expect(decide({ yolo: true, rules, args })).toBe("allow");
  });

  it("does not let a second argument stand in for the one that the tool uses", () => {
    const rules = tools({ "write_file(src/*)": "allow" });
    const write = (args: object) => decide({ toolName: "write_file", category: "edit", rules, args });
    expect(write({ command: "src/a", path: "/etc/passwd" })).toBe("ask");
    expect(write({ path: "src/a", file: "/etc/passwd" })).toBe("ask");
    expect(write({ path: "src/a", content: "anything; at all" })).toBe("allow");
    expect(write({ path: "src/a", query: "x" })).toBe("allow");
    expect(write({ path: ["src/a", "/etc/passwd"], note: "src/b" })).toBe("ask");
  });

  it("does not let an allowed folder be left", () => {
    const rules = tools({ "write_file(src/*)": "allow" });
    const write = (path: string) =>
      decide({ toolName: "write_file", category: "edit", rules, args: { path } });
    expect(write("src/a.ts")).toBe("allow");
    expect(write("src/../secret")).toBe("ask");
    expect(write("lib/a.ts")).toBe("ask");
  });

  it("does not ask for tools that ask themselves, and still denies them", () => {
    expect(decide({ toolName: "ask_user", category: null, exempt: true })).toBe("allow");
    expect(decide({ toolName: "ask_user", exempt: true, rules: tools({ ask_user: "deny" }) })).toBe("deny");
  });

  it("hides tools that no call of could be allowed", () => {
    const rules: PermissionRules = {
      categories: { execute: "deny" },
      tools: { "b(x*)": "allow", c: "deny" },
    };
    const { grants } = request();
    const hidden = ["a", "b", "c"].map((name) => isDenied(name, "execute", { rules, grants }));
    expect(hidden).toEqual([true, false, true]);
    expect(isDenied("a", "read", { rules, grants })).toBe(false);
    expect(isDenied("a", "execute", { rules, grants: { categories: [], tools: ["a"] } })).toBe(false);
  });

  const policy = fc.constantFrom("allow", "ask", "deny");
  const key = fc.oneof(
    fc.constantFrom("t", "t(*)", "t(a*)", "toString", "__proto__"),
    fc.string().map((text) => `t(${text})`),
  );
  it("never allows what a matching rule denies, whatever the arguments are", () => {
    fc.assert(
      fc.property(fc.dictionary(key, policy), fc.anything(), fc.boolean(), (rules, args, yolo) => {
        const all = tools({ ...(rules as PermissionRules["tools"]), t: "deny" });
        expect(decide({ toolName: "t", args, yolo, exempt: yolo, rules: all })).toBe("deny");
      }),
    );
  });
});
