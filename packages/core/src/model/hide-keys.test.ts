import { describe, expect, it } from "vitest";
import { hideKeys, hiderOf } from "./hide-keys.ts";

describe("hideKeys", () => {
  it.each([
    "Incorrect API key provided: sk-proj-AbCdEfGhIjKlMnOpQrSt.",
    "key gsk_AbCdEfGhIjKlMnOpQrSt refused",
    "GET https://example.test/v1?key=AbCdEfGhIjKlMnOpQrSt&x=1",
    "headers: Authorization: Bearer AbCdEfGhIjKlMnOpQrSt",
    "AIzaAbCdEfGhIjKlMnOpQrStUvWx is not valid",
  ])("takes the key out of: %s", (text) => {
    expect(hideKeys(text)).not.toContain("AbCdEfGhIjKlMnOpQrSt");
    expect(hideKeys(text)).toContain("[hidden]");
  });

  it("takes out a key it was told, whatever it looks like", () => {
    expect(hideKeys("no such key: plain", { hideKey: hiderOf("plain") })).toBe("no such key: [hidden]");
  });

  it("leaves ordinary words alone", () => {
    const text = "The model task-sk-1 is overloaded; try key-value pairs at https://example.test/keys?page=2";
    expect(hideKeys(text)).toBe(text);
  });

  // Far more than it is ever given. Reading it anew from each place would take minutes.
  it("reads long hostile text once", () => {
    const text = `${"sk-".repeat(200_000)} ${"bearer ".repeat(100_000)} ${"?key".repeat(100_000)}`;
    expect(hideKeys(text)).toMatch(/^\[hidden\] bearer \[hidden\]/);
  });
});
