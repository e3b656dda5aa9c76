import { describe, expect, it } from "vitest";
import { TextIndex } from "./text-index.ts";

const idsOf = (scores: [string, number][]): string[] => scores.map(([id]) => id);

describe("TextIndex", () => {
  it("finds words inside names, if asked", () => {
    const index = new TextIndex({ splitNames: true });
    index.set("a", "function getUserName() {}");
    index.set("b", "class HTTPServer {}");
    index.set("c", "load_user_config");
    expect(idsOf(index.score("user"))).toEqual(["a", "c"]);
    expect(idsOf(index.score("http server"))).toEqual(["b"]);
    expect(idsOf(index.score("getUserName"))).toEqual(["a", "c"]);
    const plain = new TextIndex();
    plain.set("a", "function getUserName() {}");
    expect(plain.score("user")).toEqual([]);
  });

  it("scores as if replaced and deleted entries had never been there", () => {
    const changed = new TextIndex();
    const fresh = new TextIndex();
    for (let n = 0; n < 50; n++) changed.set(`t${n}`, `old text ${n} shuttle`);
    for (let n = 0; n < 50; n++) {
      changed.set(`t${n}`, `warp and weft ${n}`);
      if (n % 3 === 0) changed.delete(`t${n}`);
      else fresh.set(`t${n}`, `warp and weft ${n}`);
    }
    expect(changed.score("shuttle")).toEqual([]);
    expect(changed.score("warp 7")).toEqual(fresh.score("warp 7"));
  });
});
