import { expect, it } from "vitest";
import { FairTable } from "./fair-table.ts";

const filled = (limits: { total: number; each: number }) => {
  const gone: string[] = [];
  const table = new FairTable<string>(limits, (_, id) => gone.push(id));
  const add = (...ids: string[]) => ids.forEach((id) => table.set(id, id[0], id));
  return { table, gone, add };
};

it("drives out an owner's own oldest over its share, and nobody else's", () => {
  const { table, gone, add } = filled({ total: 10, each: 3 });
  add("a1", "b1", "b2", "b3", "b4", "b5");
  expect(gone).toEqual(["b1", "b2"]);
  expect(table.get("a1")).toBe("a1");
});

it("drives out the largest owner's oldest when all is full", () => {
  const { table, gone, add } = filled({ total: 4, each: 10 });
  add("b1", "b2", "b3", "b4", "a1", "a2", "c1");
  expect(gone).toEqual(["b1", "b2", "b3"]);
  expect(table.ids()).toEqual(["b4", "a1", "a2", "c1"]);
  expect(table.size).toBe(4);
});

it("forgets what is taken out or replaced", () => {
  const { table, gone, add } = filled({ total: 2, each: 2 });
  add("a1", "a1", "a2");
  expect(table.delete("a1")).toBe(true);
  expect(table.delete("a1")).toBe(false);
  add("a3");
  expect(gone).toEqual([]);
  expect(table.has("a2")).toBe(true);
});

it("keeps those whom nobody tells apart under the limit for all alone", () => {
  const table = new FairTable<number>({ total: 5, each: 1 });
  for (let index = 0; index < 8; index++) table.set(String(index), undefined, index);
  expect(table.ids()).toEqual(["3", "4", "5", "6", "7"]);
});
