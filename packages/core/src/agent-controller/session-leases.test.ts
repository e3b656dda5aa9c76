import { expect, it } from "vitest";
import { virtualSystem } from "@selvedge/testing";
import { SessionLeases } from "./session-leases.ts";

it("closes a session a while after the last use of it, and not while somebody uses it", async () => {
  const clock = virtualSystem();
  const closed: string[] = [];
  const leases = new SessionLeases(
    () => clock,
    (id) => void closed.push(id),
  );
  const [first, second] = [leases.take("a"), leases.take("a")];
  first();
  first();
  await clock.advance(60_000);
  expect(closed).toEqual([]);
  second();
  await clock.advance(20_000);
  const third = leases.take("a");
  await clock.advance(60_000);
  expect(closed).toEqual([]);
  third();
  await clock.advance(60_000);
  expect(closed).toEqual(["a"]);
});
