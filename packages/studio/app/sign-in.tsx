import { MastraClient } from "@selvedge/client-js";
import { type FormEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { formatError, statusOf } from "./format.ts";
import icon from "./icon.svg";
import { usePageTitle } from "./page-title.ts";
import { useStudio } from "./studio-context.tsx";
import { Button } from "./ui/button.tsx";
import { toError } from "./use-load.ts";

/** A header takes visible characters only. */
const TOKEN = /^[\u0021-\u007e]+$/;

const REFUSED = "The server does not accept this token (401). Check it, or ask for another.";
const NO_LONGER = "The server no longer accepts your token (401). Sign in again.";

/** Stands in for every page while the server lets nobody in. */
export function SignIn(): ReactNode {
  const { locked, signIn } = useStudio();
  const [draft, setDraft] = useState("");
  const [problem, setProblem] = useState<string>();
  const [checking, setChecking] = useState(false);
  const box = useRef<HTMLInputElement>(null);
  const id = useId();
  const shown = problem ?? (locked === "refused" ? NO_LONGER : undefined);
  useEffect(() => box.current?.focus(), [locked]);
  usePageTitle("Sign in");

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const token = draft.trim().replace(/^bearer\s+/i, "");
    setChecking(true);
    const refusal = await refusalOf(token);
    setChecking(false);
    if (refusal === undefined) return signIn(token);
    setProblem(refusal);
    box.current?.focus();
  };

  return (
    <main className="sign-in">
      <form className="card sign-in-card" onSubmit={(event) => void submit(event)}>
        <img src={icon} alt="" />
        <h1>Sign in</h1>
        <p className="small muted">This server requires a token. Paste the one that its operator gave you.</p>
        <div className="field">
          <label className="label" htmlFor={id}>
            Bearer token
          </label>
          <input
            ref={box}
            className="input mono"
            id={id}
            type="password"
            autoComplete="off"
            spellCheck={false}
            required
            value={draft}
            aria-invalid={shown !== undefined}
            aria-describedby={`${id}-about`}
            onChange={(event) => {
              setDraft(event.target.value);
              setProblem(undefined);
            }}
          />
          {shown && (
            <p className="field-error" role="alert">
              {shown}
            </p>
          )}
          <p className="hint" id={`${id}-about`}>
            It stays in this tab until you sign out or close it, and is sent only to this server.
          </p>
        </div>
        <Button kind="primary" type="submit" disabled={checking}>
          {checking ? "Signing in …" : "Sign in"}
        </Button>
      </form>
    </main>
  );
}

/** Why the server does not let somebody with this token in; nothing when it does. */
async function refusalOf(token: string): Promise<string | undefined> {
  if (!TOKEN.test(token)) return "A token has only visible characters, and no spaces.";
  try {
    const headers = { authorization: `Bearer ${token}` };
    await new MastraClient({ baseUrl: location.origin, headers, retries: 0 }).listAgents();
    return undefined;
  } catch (error) {
    if (statusOf(error) === 401) return REFUSED;
    // Known, and not allowed this: what is allowed will be seen inside.
    if (statusOf(error) === 403) return undefined;
    return formatError(toError(error));
  }
}
