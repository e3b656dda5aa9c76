import { describe, expect, it } from "vitest";
import { createTool } from "../tool/tool.ts";
import type { AgentControllerWorkspace } from "./config.ts";
import { call, controllerWith, Listener } from "./__fixtures__/controller-with.ts";

const open = { id: "s", ownerId: "o" };

function workspaceWith(init: () => void = () => {}): AgentControllerWorkspace & { did: string[] } {
  const did: string[] = [];
  const look = createTool({ id: "look", description: "Looks.", execute: async () => did.push("look") });
  return {
    id: "files",
    name: "Files",
    status: "pending",
    did,
    init: async () => {
      did.push("init");
      init();
    },
    destroy: async () => void did.push("destroy"),
    tools: () => ({ look }),
  };
}

describe("a workspace", () => {
  it("is initialized once for all sessions, told to each, and destroyed with the controller", async () => {
    const workspace = workspaceWith();
    const { controller } = controllerWith([], { workspace });
    expect([controller.hasWorkspace(), controller.isWorkspaceReady()]).toEqual([true, false]);
    await controller.init();
    expect(controller.isWorkspaceReady()).toBe(true);
    const session = await controller.createSession(open);
    await controller.createSession({ ...open, id: "t" });
    // Who comes late hears the last status.
    expect(new Listener(session).events).toEqual([
      { type: "workspace_status_changed", status: "ready" },
      { type: "workspace_ready", workspaceId: "files", workspaceName: "Files" },
    ]);
    await controller.destroy();
    expect(workspace.did).toEqual(["init", "destroy"]);
  });

  it("is made for each session by a function, and never given to another", async () => {
    const made: ReturnType<typeof workspaceWith>[] = [];
    const { controller } = controllerWith([call("look", {}), "Done."], {
      workspace: () => (made.push(workspaceWith()), made.at(-1)!),
      initialState: { yolo: true },
    });
    await controller.init();
    expect(controller.isWorkspaceReady()).toBe(false);
    const session = await controller.createSession(open);
    expect(controller.isWorkspaceReady()).toBe(true);
    expect([session.getWorkspace(), controller.getWorkspace()]).toEqual([made[0], undefined]);
    expect(await controller.resolveWorkspace({ session })).toBe(made[0]);
    const own = await controller.resolveWorkspace({ session: controller.session });
    expect([own, controller.getWorkspace()]).toEqual([made[1], made[1]]);
    await controller.sendMessage({ content: "Look" });
    expect(made.map(({ did }) => did)).toEqual([["init"], ["init", "look"]]);
    await controller.destroy();
    expect(made.map(({ did }) => did.at(-1))).toEqual(["destroy", "destroy"]);
  });

  it("that fails keeps nobody from talking, and is tried again by the next session", async () => {
    let isBroken = true;
    const workspace = workspaceWith(() => {
      if (isBroken) throw new Error("No disk.");
    });
    const { controller } = controllerWith(["Hi."], { workspace });
    const listener = new Listener(controller);
    await controller.init();
    expect(listener.types).toEqual([
      "workspace_status_changed",
      "workspace_status_changed",
      "workspace_error",
    ]);
    expect(controller.isWorkspaceReady()).toBe(false);
    await controller.sendMessage({ content: "Hi" });
    isBroken = false;
    await controller.createSession(open);
    expect(controller.isWorkspaceReady()).toBe(true);
  });

  it("whose function fails does so too, and is asked again by the next run", async () => {
    let isBroken = true;
    const made = workspaceWith();
    const { controller } = controllerWith(["Hi.", call("look", {}), "Done."], {
      workspace: () => {
        if (isBroken) throw new Error("No disk.");
        return made;
      },
      initialState: { yolo: true },
    });
    const session = await controller.createSession(open);
    const error = expect.objectContaining({ message: "No disk." });
    expect(new Listener(session).events).toEqual([
      { type: "workspace_status_changed", status: "error", error },
      { type: "workspace_error", error },
    ]);
    expect([session.getWorkspace(), controller.isWorkspaceReady()]).toEqual([undefined, false]);
    await session.sendMessage({ content: "Hi" });
    expect(await session.thread.listActiveMessages()).toHaveLength(2);
    isBroken = false;
    await session.sendMessage({ content: "Look" });
    expect(made.did).toEqual(["init", "look"]);
  });
});
