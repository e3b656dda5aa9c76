import type { StoredMessage } from "@selvedge/protocol";
import { messagesToCheck, messageText } from "./message-texts.ts";
import type { ProcessInputArgs } from "./processor.ts";

/** Checks the new messages that have text, in parallel. `check` returns whether a message stays. */
export async function checkMessages(
  args: ProcessInputArgs,
  lastOnly: boolean,
  check: (text: string, message: StoredMessage) => Promise<boolean>,
): Promise<void> {
  const messages = messagesToCheck(args, lastOnly);
  const stays = await Promise.all(
    messages.map(async (message) => {
      const text = messageText(message);
      return text.trim() === "" || (await check(text, message));
    }),
  );
  const gone = messages.filter((_, index) => !stays[index]).map(({ id }) => id);
  if (gone.length > 0) args.messageList.removeByIds(gone);
}
