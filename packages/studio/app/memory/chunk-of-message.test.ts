import { describe, expect, it } from "vitest";
import { chunkOfMessage } from "./chunk-of-message.ts";

const messages = ["3", "4", "5", "6", "7"].map((id) => ({ id }));
const chunk = (id: string, lastMessageId: string, threadId = "t") => ({ id, lastMessageId, threadId });

describe("chunkOfMessage", () => {
  it("finds the chunk of each loaded message, also if the chunk begins before them", () => {
    const found = chunkOfMessage(messages, [chunk("a", "1"), chunk("b", "4"), chunk("c", "6")], "t");
    expect(Object.fromEntries(found)).toEqual({ 3: "b", 4: "b", 5: "c", 6: "c" });
  });

  it("leaves out chunks of other threads of the resource", () => {
    expect(chunkOfMessage(messages, [chunk("a", "4", "other")], "t").size).toBe(0);
  });
});
