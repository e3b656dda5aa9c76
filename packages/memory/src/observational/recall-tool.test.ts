import { InMemoryStorage } from "@selvedge/core/storage";
import type { MessagePart, StoredMessage } from "@selvedge/protocol";
import { beforeAll, describe, expect, test } from "vitest";
import { countText } from "./count-tokens.ts";
import { recallPort, type RecallPortOptions } from "./recall-port.ts";
import { recallTool } from "./recall-tool.ts";

interface Answer {
  notes?: string;
  messages?: string;
  threads?: string;
  count?: number;
  page?: number;
  truncated?: boolean;
  hasNextPage?: boolean;
  hasPrevPage?: boolean;
  nextCharOffset?: number;
  text?: string;
  hint?: string;
}

const storage = new InMemoryStorage();
const store = (await storage.getStore("memory"))!;
const LONG = Array.from({ length: 6000 }, (_, index) => `word${index}`).join(" ");

const message = (
  id: string,
  minute: number,
  parts: MessagePart[] | string,
  given: Partial<StoredMessage> = {},
): StoredMessage => ({
  id,
  role: id.startsWith("a") ? "assistant" : "user",
  createdAt: new Date(Date.UTC(2026, 2, 14, 9, minute)),
  threadId: "t1",
  resourceId: "ada",
  content: { format: 2, parts: typeof parts === "string" ? [{ type: "text", text: parts }] : parts },
  ...given,
});

beforeAll(async () => {
  const thread = (id: string, resourceId: string, day: number, title?: string) => {
    const date = new Date(Date.UTC(2026, 2, day));
    return store.saveThread({
      thread: { id, resourceId, createdAt: date, updatedAt: date, ...(title && { title }) },
    });
  };
  const threads = async () => {
    await thread("t1", "ada", 14, "Trip");
    await thread("t2", "ada", 10, "Taxes");
    await thread("t3", "eve", 12, "Secret plans");
  };
  await threads();
  const messages = Array.from({ length: 60 }, (_, index) =>
    message(`m${index}`, index, `line ${index} about the zeppelin`),
  );
  const call: MessagePart = {
    type: "tool-invocation",
    toolInvocation: {
      state: "result",
      toolCallId: "c",
      toolName: "search",
      args: { city: "Turin" },
      result: LONG,
    },
  };
  const signal = (id: string, type: string): StoredMessage => ({
    ...message(id, 62, "reminder text"),
    role: "signal",
    content: { format: 2, parts: [{ type: "text", text: "reminder text" }], metadata: { signal: { type } } },
  });
  await store.saveMessages({
    messages: [
      ...messages,
      message("a60", 60, [
        { type: "text", text: "Found it." },
        call,
        { type: "file", data: "", mimeType: "image/png", filename: "map.png" },
      ]),
      message("a61", 61, LONG),
      signal("s62", "reactive"),
      message("s-sys", 63, "You are a pirate.", { role: "system" }),
      message("x1", 1, "the passport number is 12345", { threadId: "t2" }),
      message("e1", 1, "eve's zeppelin is red", { threadId: "t3", resourceId: "eve" }),
    ],
  });
  // Saving messages changed the times of their threads.
  await threads();
});

function ask(scope: "thread" | "resource" = "resource", findNotes?: RecallPortOptions["findNotes"]) {
  const port = recallPort({
    store,
    threadId: "t1",
    resourceId: "ada",
    scope,
    ...(findNotes && { findNotes }),
  });
  const { execute } = recallTool(port);
  return async (input: object): Promise<Answer> => (await execute({ context: input })) as Answer;
}
const ids = (answer: Answer): string[] =>
  [...(answer.messages ?? "").matchAll(/^(\S+) 2026/gm)].map(([, id]) => id!);

describe("recall reads messages", () => {
  const recall = ask();

  test("from the start of the current thread, 20 at a time", async () => {
    const first = await recall({});
    expect(ids(first)).toEqual(Array.from({ length: 20 }, (_, index) => `m${index}`));
    expect(first).toMatchObject({
      page: 1,
      count: 20,
      hasNextPage: true,
      hasPrevPage: false,
      truncated: false,
    });
    expect(first.messages).toMatch(/^m0 2026-03-14 09:00 user\n {2}\[0\] line 0 about the zeppelin\n/);
    expect(ids(await recall({ page: 2 }))[0]).toBe("m20");
  });

  test("from its end", async () => {
    const last = await recall({ anchor: "end", limit: 8 });
    expect(ids(last)).toEqual(["m56", "m57", "m58", "m59", "a60", "a61"]);
    expect(last).toMatchObject({ hasNextPage: false, hasPrevPage: true });
  });

  test("around a cursor, forwards and backwards", async () => {
    expect(ids(await recall({ cursor: "m30", limit: 3 }))).toEqual(["m30", "m31", "m32"]);
    expect(ids(await recall({ cursor: "m30", limit: 3, page: 2 }))).toEqual(["m33", "m34", "m35"]);
    expect(ids(await recall({ cursor: "m30", limit: 3, page: -1 }))).toEqual(["m27", "m28", "m29"]);
    expect(ids(await recall({ cursor: "m30", limit: 3, page: -2 }))).toEqual(["m24", "m25", "m26"]);
    expect(await recall({ cursor: "m0", limit: 3 })).toMatchObject({ hasPrevPage: false, hasNextPage: true });
    expect(await recall({ cursor: "m3", limit: 3, page: -1 })).toMatchObject({
      hasPrevPage: false,
      hasNextPage: true,
    });
  });

  test("of another thread of the resource", async () => {
    expect((await recall({ threadId: "t2" })).messages).toContain("passport number");
    expect((await recall({ cursor: "x1" })).messages).toContain("passport number");
    expect(ids(await recall({ threadId: "current", limit: 1 }))).toEqual(["m0"]);
  });

  test("without reminders and system messages", async () => {
    for (const input of [
      { anchor: "end" },
      { cursor: "s62" },
      { cursor: "s-sys", detail: "high" },
      { mode: "search", query: "pirate reminder" },
    ]) {
      expect(JSON.stringify(await recall(input))).not.toMatch(/pirate"|reminder text|You are/);
    }
  });
});

describe("recall finds", () => {
  test("messages by words, without vectors", async () => {
    expect(ids(await ask()({ mode: "search", query: "what was my passport number?" }))[0]).toBe("x1");
  });

  test("at most 20, the newest first", async () => {
    const found = ids(await ask()({ mode: "search", query: "zeppelin", limit: 500 }));
    expect(found).toHaveLength(20);
    expect(found[0]).toBe("m59");
  });

  test("only in the thread that is named", async () => {
    expect(ids(await ask()({ mode: "search", query: "zeppelin passport", threadId: "t2" }))).toEqual(["x1"]);
  });

  test("notes by meaning, where there is an index", async () => {
    const similar = async () => [
      { text: "- 09:07 about the zeppelin", firstId: "m7", lastId: "m8", threadId: "t1" },
    ];
    const answer = await ask("resource", similar)({ mode: "search", query: "airship" });
    expect(answer.notes).toBe("m7:m8 - 09:07 about the zeppelin");
  });

  test("threads, the last used first", async () => {
    const { threads } = await ask()({ mode: "threads" });
    expect(threads).toMatch(/^t1 \(current\) \S+ \S+ Trip\nt2 2026-03-10 \S+ Taxes$/);
    expect((await ask()({ mode: "threads", before: "2026-03-12" })).threads).toMatch(/^t2 /);
    expect((await ask()({ mode: "threads", limit: 1 })).hasNextPage).toBe(true);
    expect((await ask()({ mode: "threads", limit: 1, page: 2 })).threads).toMatch(/^t2 /);
  });
});

describe("recall finds notes", () => {
  const notes = [
    {
      text: "Date: 2026-03-14\n- 🟡 09:12 A tool was told that the invoice of Uma is QX-1.\n- 🟢 09:13 Small talk about the harbour.",
      firstId: "m1",
      lastId: "m4",
    },
    {
      text: `Date: 2026-03-15\n${Array.from({ length: 30 }, (_, index) => `- 09:${10 + index} the invoice of Uma again, number ${index}`).join("\n")}`,
      firstId: "m5",
      lastId: "m9",
    },
  ];
  const port = recallPort({
    store,
    threadId: "t1",
    resourceId: "ada",
    scope: "resource",
    readNotes: async () => notes,
  });
  const recall = async (input: object) => (await recallTool(port).execute({ context: input })) as Answer;

  test("with the date and the range of messages, the best first", async () => {
    expect((await recall({ mode: "search", query: "invoice Uma told tool" })).notes?.split("\n")[0]).toBe(
      "m1:m4 2026-03-14 - 🟡 09:12 A tool was told that the invoice of Uma is QX-1.",
    );
  });

  test("five at most, and none that share one word of many", async () => {
    expect((await recall({ mode: "search", query: "invoice of uma" })).notes?.split("\n")).toHaveLength(5);
    expect((await recall({ mode: "search", query: "the zeppelin" })).notes).toBeUndefined();
  });

  test("within the same limit", async () => {
    const answer = await recall({ mode: "search", query: "zeppelin invoice uma" });
    expect(countText(`${answer.notes}${answer.messages}`)).toBeLessThanOrEqual(2000);
  });
});

describe("recall shows parts", () => {
  test("with their numbers, in short", async () => {
    const { messages } = await ask()({ cursor: "a60", limit: 1 });
    expect(messages).toContain("[0] Found it.");
    expect(messages).toContain('[1] search({"city":"Turin"}) → word0');
    expect(messages).toContain("[2] (image/png) map.png");
    expect(countText(messages!)).toBeLessThan(300);
  });

  test("of one kind or tool", async () => {
    const shown = async (input: object) =>
      (await ask()({ cursor: "a60", limit: 1, ...input })).messages?.match(/\[\d\]/g);
    expect(await shown({ partType: "text" })).toEqual(["[0]"]);
    expect(await shown({ partType: "tool" })).toEqual(["[1]"]);
    expect(await shown({ partType: "file" })).toEqual(["[2]"]);
    expect(await shown({ toolName: "search" })).toEqual(["[1]"]);
    expect(await shown({ toolName: "other" })).toBeNull();
  });

  test("in full, piece by piece", async () => {
    let text = "";
    let charOffset: number | undefined = 0;
    for (let round = 0; charOffset !== undefined && round < 20; round++) {
      const piece: Answer = await ask()({ cursor: "a61", detail: "high", charOffset });
      expect(countText(piece.text!)).toBeLessThanOrEqual(2100);
      text += piece.text;
      charOffset = piece.nextCharOffset;
      expect(piece.truncated).toBe(charOffset !== undefined);
    }
    expect(text).toBe(LONG);
    expect((await ask()({ cursor: "a60", detail: "high", partIndex: 1 })).text).toMatch(/^search\(/);
  });

  test("and never more than 2,000 tokens at once", async () => {
    const all = Array.from({ length: 20 }, (_, index) =>
      message(`a-big-${index}`, index, LONG, { threadId: "t2" }),
    );
    await store.saveMessages({ messages: all });
    const answer = await ask()({ threadId: "t2" });
    expect(countText(answer.messages!)).toBeLessThanOrEqual(2000);
    expect(answer.truncated).toBe(true);
    const [, next] = /cursor "([^"]+)"/.exec(answer.hint!)!;
    expect(ids(await ask()({ cursor: next, limit: 1 }))).toEqual([next]);
    await store.deleteMessages(all.map(({ id }) => id));
  });
});

describe("recall answers with a hint", () => {
  test.each([
    [{ cursor: "m1:m5" }, '"m1" or "m5"'],
    [{ cursor: "nothing" }, "no message with this id"],
    [{ page: 0 }, "page must be"],
    [{ page: 51 }, "page must be"],
    [{ page: -51 }, "page must be"],
    [{ page: 50 }, "no messages here"],
    [{ mode: "search" }, "Pass the words"],
    [{ mode: "search", query: "!" }, "Nothing was found"],
    [{ mode: "search", query: "submarine" }, "Nothing was found"],
    [{ mode: "threads", before: "soon" }, "must be dates"],
    [{ cursor: "a60", detail: "high", partIndex: 9 }, "the parts 0, 1, 2"],
    [{ threadId: "nothing" }, "no such conversation"],
  ])("to %j", async (input, hint) => {
    expect((await ask()(input)).hint).toContain(hint);
  });
});

describe("recall shows nothing of another resource", () => {
  test.each([
    { threadId: "t3" },
    { cursor: "e1" },
    { cursor: "e1", threadId: "t1" },
    { cursor: "e1", detail: "high" },
    { mode: "search", query: "eve zeppelin red", threadId: "t3" },
    { mode: "search", query: "eve's red" },
    { mode: "threads" },
    { cursor: "e1:e1" },
  ])("for %j", async (input) => {
    expect(JSON.stringify(await ask()(input))).not.toMatch(/eve's zeppelin|Secret plans|t3/);
  });

  test("even if an index finds it", async () => {
    const similar = async () => [
      { text: "eve's zeppelin is red", firstId: "e1", lastId: "e1", threadId: "t3" },
    ];
    expect(
      JSON.stringify(await ask("resource", similar)({ mode: "search", query: "airship" })),
    ).not.toContain("eve");
  });

  test("or of another thread, in thread scope", async () => {
    const recall = ask("thread");
    for (const input of [{ threadId: "t2" }, { cursor: "x1" }, { mode: "search", query: "passport" }]) {
      expect(JSON.stringify(await recall(input))).not.toContain("12345");
    }
    expect((await recall({ mode: "threads" })).threads).toMatch(/^t1 \(current\)[^\n]*$/);
  });
});
