import { describe, expect, it } from "vitest";
import { runTwoServers } from "./run-two-servers.ts";

const ROUNDS = 4;

describe("a session on two servers", () => {
  it("loses nothing, repeats nothing and asks once when the server of its client is killed", async () => {
    expect(await runTwoServers({ rounds: ROUNDS, seed: 1 })).toEqual({ rounds: ROUNDS, problems: [] });
  });
});
