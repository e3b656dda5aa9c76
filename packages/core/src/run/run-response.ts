import type { StoredMessage } from "@selvedge/protocol";
import type { ModelMessage } from "../message/model-message.ts";
import type { UIMessage } from "../message/to-ui-message.ts";
import type { StepResult } from "../processor/step-result.ts";
import type { Run } from "./run.ts";

/** The answer of a run in three forms, with what the provider said about its last reply. */
export type RunResponse = StepResult["response"] & {
  /** For a model: append them to a conversation that the program keeps. */
  messages: ModelMessage[];
  /** For a UI of the AI SDK. */
  uiMessages: UIMessage[];
  /** As stored. */
  dbMessages: StoredMessage[];
};

/** Each form is made when it is read. */
export function runResponse({ steps, spec }: Run): RunResponse {
  const view = spec.list.get.response;
  return {
    ...steps.at(-1)?.response,
    get messages() {
      return view.model();
    },
    get uiMessages() {
      return view.ui();
    },
    get dbMessages() {
      return view.db();
    },
  };
}
