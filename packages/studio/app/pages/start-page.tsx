import { type FormEvent, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { threadPath } from "../new-thread.ts";
import { Link, useRouter } from "../router.tsx";
import { startSession } from "../session/start-session.ts";
import { useStudio } from "../studio-context.tsx";
import { Button } from "../ui/button.tsx";
import { Empty, Failure } from "../ui/state.tsx";
import { useAgents } from "../use-agents.ts";
import { useControllers } from "../use-controllers.ts";
import { toError } from "../use-load.ts";
import { workflowPath } from "../workflow/workflow-path.ts";

/** Things that the demo does well. */
const TO_TRY: readonly { text: string; about: string; modeId?: string }[] = [
  { text: "count to 8", about: "Takes a while: steer it, queue a message, or stop it." },
  { text: "note that the cat is called Loom", about: "Asks you before it changes a file." },
  { text: "plan a trip", about: "Asks, plans, and starts when you approve.", modeId: "plan" },
];
/** The controller of `npm start`. */
const DEMO = "demo";
const DEMO_WORKFLOW = "weave-order";

/** Where a visit begins: a message, and who gets it. */
export function StartPage(): ReactNode {
  const { client, resourceId } = useStudio();
  const { go } = useRouter();
  const controllers = useControllers();
  const agents = useAgents();
  const box = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState<string>();
  const [wanted, setWanted] = useState<{ message: string; modeId: string | undefined }>();
  const [error, setError] = useState<Error>();
  useEffect(() => box.current?.focus({ preventScroll: true }), []);

  const talking = agents.value?.filter(({ hasMemory }) => hasMemory) ?? [];
  const receivers = [
    ...(controllers.value ?? []).map((id) => ({
      key: `session ${id}`,
      name: id,
      controllerId: id,
      agentId: "",
    })),
    ...talking.map(({ id, name }) => ({ key: `agent ${id}`, name, controllerId: "", agentId: id })),
  ];
  const receiver = receivers.find(({ key }) => key === chosen) ?? receivers[0];
  const isKnown = ({ value, error: reason }: { value: unknown; error: unknown }): boolean =>
    value !== undefined || reason !== undefined;
  const isLoaded = isKnown(controllers) && isKnown(agents);

  const start = async (message: string, modeId: string | undefined): Promise<string> => {
    const { controllerId, agentId } = receiver!;
    if (controllerId !== "") return startSession(client, { controllerId, resourceId, message, modeId });
    const threadId = crypto.randomUUID();
    await client.getAgent(agentId).sendMessage({ message, threadId, resourceId });
    return threadPath(threadId, agentId);
  };
  // Who writes faster than the page loads need not press Enter again.
  const isReady = wanted !== undefined && isLoaded && receiver !== undefined;
  useEffect(() => {
    if (!isReady) return;
    start(wanted.message, receiver.controllerId === DEMO ? wanted.modeId : undefined).then(
      go,
      (failure: unknown) => {
        setError(toError(failure));
        setWanted(undefined);
      },
    );
    // Once for each message.
  }, [isReady]);
  const send = (message: string, modeId?: string): void => {
    if (wanted !== undefined || message.trim() === "") return;
    setError(undefined);
    setWanted({ message, modeId });
  };
  const noticeKey = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send(text);
  };
  const failure = error ?? controllers.error ?? agents.error;
  return (
    <div className="page start">
      <h1>What should it do?</h1>
      {failure && <Failure error={failure} />}
      {isLoaded && receivers.length === 0 ? (
        <Empty title="No agent to talk to">
          <p>
            Register a controller, or an agent with memory: <code>new Mastra({"{ agents: { … } }"})</code>
          </p>
        </Empty>
      ) : (
        <form
          className="composer"
          onSubmit={(event: FormEvent) => {
            event.preventDefault();
            send(text);
          }}
        >
          <textarea
            ref={box}
            rows={3}
            aria-label="First message"
            placeholder="Write a message …"
            value={text}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={noticeKey}
          />
          <div className="composer-foot">
            {receivers.length > 1 && (
              <select
                className="input fit"
                aria-label="Recipient"
                value={receiver?.key}
                onChange={(event) => setChosen(event.target.value)}
              >
                {receivers.map(({ key, name, controllerId }) => (
                  <option key={key} value={key}>
                    {controllerId === "" ? `${name}, in a thread` : `${name}, in a session`}
                  </option>
                ))}
              </select>
            )}
            <span className="grow" />
            <Button
              kind="primary"
              size="small"
              icon="send"
              type="submit"
              disabled={wanted !== undefined || text.trim() === ""}
            >
              Send
            </Button>
          </div>
        </form>
      )}
      {controllers.value?.includes(DEMO) && (
        <ul className="to-try" aria-label="Things to try">
          {TO_TRY.map(({ text: words, about, modeId }) => (
            <li key={words}>
              <button
                type="button"
                className="card try"
                disabled={wanted !== undefined}
                onClick={() => send(words, modeId)}
              >
                <strong>{words}</strong>
                <span className="hint">{about}</span>
              </button>
            </li>
          ))}
          <li>
            <Link className="card try" href={workflowPath(DEMO_WORKFLOW)}>
              <strong>weave an order</strong>
              <span className="hint">A workflow. Stop the server in the middle: it continues.</span>
            </Link>
          </li>
        </ul>
      )}
      <p className="hint">
        Earlier conversations are under <Link href="/sessions">sessions</Link> and{" "}
        <Link href="/threads">threads</Link>.
      </p>
    </div>
  );
}
