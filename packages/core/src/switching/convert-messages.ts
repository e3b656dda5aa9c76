import type { StoredMessage } from "@selvedge/protocol";
import type { MessagesInput } from "../message/message-input.ts";
import { MessageList } from "../message/message-list.ts";
import type { ModelMessage } from "../message/model-message.ts";
import type { UIMessage } from "../message/to-ui-message.ts";
import { AgentError, showValue } from "../errors.ts";
import { realSystem } from "../system.ts";

interface Forms {
  "Mastra.V2": StoredMessage[];
  "AIV5.UI": UIMessage[];
  "AIV5.Model": ModelMessage[];
  "AIV6.UI": UIMessage[];
  "AIV6.Model": ModelMessage[];
}

/** Converts messages of any form: `convertMessages(messages).to("AIV5.UI")`. */
export function convertMessages(messages: MessagesInput): {
  to<Form extends keyof Forms>(form: Form): Forms[Form];
} {
  const view = new MessageList(realSystem).add(messages, "memory").get.all;
  const forms: { [Form in keyof Forms]: () => Forms[Form] } = {
    "Mastra.V2": () => view.db(),
    "AIV5.UI": () => view.ui(),
    "AIV5.Model": () => view.model(),
    "AIV6.UI": () => view.ui(),
    "AIV6.Model": () => view.model(),
  };
  return {
    to(form) {
      if (Object.hasOwn(forms, form)) return forms[form]();
      throw new AgentError(
        "invalid-argument",
        `Messages cannot be converted to ${showValue(form)}. Use one of ${Object.keys(forms).join(", ")}.`,
      );
    },
  };
}
