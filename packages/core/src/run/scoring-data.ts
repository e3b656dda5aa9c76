import type { StoredMessage } from "@selvedge/protocol";
import type { ScorerRunInputForAgent } from "../scorer/scorer.ts";
import type { RunSpec } from "./run.ts";

/** What the scorers of an agent get of a run. */
export interface ScoringData {
  input: ScorerRunInputForAgent;
  output: StoredMessage[];
}

export function scoringDataOf({ list }: Pick<RunSpec, "list">): ScoringData {
  return {
    input: {
      inputMessages: list.get.input.db(),
      rememberedMessages: list.get.remembered.db(),
      systemMessages: list.getSystemMessages(),
      taggedSystemMessages: {},
    },
    output: list.get.response.db(),
  };
}
