import { describe, expect, it } from "vitest";
import { inlineBytes, MAX_BYTES, readAttachments, toContents, toPicture } from "./attachment.ts";

const file = (name: string, bytes: BlobPart, type = ""): File => new File([bytes], name, { type });

describe("readAttachments", () => {
  it("reads files as base64 with their types, and takes text for text where the browser knows no type", async () => {
    const { added, problems } = await readAttachments(
      [
        file("a.png", new Uint8Array([137, 80]), "image/png"),
        file("b.toml", "key = 1"),
        file("c", new Uint8Array([255, 0])),
      ],
      [],
    );
    expect(problems).toEqual([]);
    expect(added.map(({ name, mediaType, data }) => [name, mediaType, data])).toEqual([
      ["a.png", "image/png", "iVA="],
      ["b.toml", "text/plain", btoa("key = 1")],
      ["c", "application/octet-stream", "/wA="],
    ]);
  });

  it("refuses what is empty and what would not fit into a request, and keeps the rest", async () => {
    const big = file("big.bin", new Uint8Array(MAX_BYTES - 5));
    const first = await readAttachments([big, file("none.txt", "")], []);
    expect(first.added.map(({ name }) => name)).toEqual(["big.bin"]);
    expect(first.problems).toEqual(["none.txt is empty."]);
    const second = await readAttachments([file("six.txt", "123456"), file("five.txt", "12345")], first.added);
    expect(second.added.map(({ name }) => name)).toEqual(["five.txt"]);
    expect(second.problems).toEqual([
      "six.txt is too large (6 B): the files of a message may have 6.0 MB in total.",
    ]);
  });
});

describe("toContents", () => {
  it("is plain text without files, and parts with them", async () => {
    expect(toContents("hello", [])).toBe("hello");
    const { added } = await readAttachments([file("a.txt", "x", "text/plain")], []);
    const part = { type: "file", filename: "a.txt", mediaType: "text/plain", data: "eA==" };
    expect(toContents("look", added)).toEqual([{ type: "text", text: "look" }, part]);
    expect(toContents(" ", added)).toEqual([part]);
  });
});

describe("toPicture", () => {
  it("draws bytes that are here, and never an address elsewhere", () => {
    expect(toPicture("iVA=", "image/png")).toBe("data:image/png;base64,iVA=");
    expect(toPicture("data:image/png;base64,iVA=", "image/png")).toBe("data:image/png;base64,iVA=");
    for (const elsewhere of ["https://example.com/a.png", "//example.com/a", "javascript:alert(1)", "blob:x"])
      expect(toPicture(elsewhere, "image/png")).toBeUndefined();
    expect(toPicture("iVA=", "image/svg+xml")).toBeUndefined();
    expect(inlineBytes("https://example.com/a.png")).toBeUndefined();
  });
});
