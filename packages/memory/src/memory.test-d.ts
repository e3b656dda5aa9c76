import type { StoredMessage, StoredThread } from "@selvedge/protocol";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { Memory, type MemoryConfig } from "./index.ts";

describe("Memory", () => {
  it("takes the documented configuration and refuses misspelt values", () => {
    const config: MemoryConfig = {
      lastMessages: false,
      semanticRecall: { topK: 3, messageRange: { before: 1, after: 2 }, scope: "thread" },
      workingMemory: { enabled: true, schema: z.object({ name: z.string() }), scope: "resource" },
      threads: {
        generateTitle: {
          model: "openai/gpt-4.1-nano",
          instructions: ({ requestContext }) => requestContext.get("tone"),
        },
      },
      readOnly: true,
    };
    expectTypeOf(new Memory({ options: config })).toEqualTypeOf<Memory>();
    // @ts-expect-error lastMessages is a number or false
    new Memory({ options: { lastMessages: "all" } });
    // @ts-expect-error there is no such scope
    new Memory({ options: { semanticRecall: { scope: "world" } } });
  });

  it("types what it answers", () => {
    const memory = new Memory();
    expectTypeOf(memory.getThreadById({ threadId: "t" })).resolves.toEqualTypeOf<StoredThread | null>();
    expectTypeOf(memory.recall({ threadId: "t" }))
      .resolves.toHaveProperty("messages")
      .toEqualTypeOf<StoredMessage[]>();
    expectTypeOf(memory.getWorkingMemory({ threadId: "t" })).resolves.toEqualTypeOf<string | null>();
  });
});
