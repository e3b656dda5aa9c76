import { type ReactNode, useState } from "react";
import { useStudio } from "./studio-context.tsx";
import { applyTheme, storedTheme, type Theme } from "./theme.ts";
import { Button } from "./ui/button.tsx";
import type { IconName } from "./ui/icon.tsx";

const NEXT_THEME: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const THEME_NAME: Record<Theme, string> = { system: "System theme", light: "Light", dark: "Dark" };
const THEME_ICON: Record<Theme, IconName> = { system: "system", light: "sun", dark: "moon" };

/** Who you are here, and how it looks. */
export function Settings(): ReactNode {
  const { token, signOut } = useStudio();
  return (
    <>
      {token === undefined && <ResourceField />}
      <NameField />
      <div className="row settings-row">
        <ThemeButton />
        {token !== undefined && (
          <Button kind="quiet" size="small" icon="leave" onClick={signOut}>
            Sign out
          </Button>
        )}
      </div>
    </>
  );
}

function ResourceField(): ReactNode {
  const { resourceId, setResourceId } = useStudio();
  const [draft, setDraft] = useState(resourceId);
  return (
    <label className="field" title="The resource whose threads the studio reads and writes">
      <span className="hint">Acting as</span>
      <input
        className="input mono"
        value={draft}
        spellCheck={false}
        onChange={(event) => setDraft(event.target.value)}
        onBlur={() => {
          setResourceId(draft);
          setDraft(draft.trim() || "local");
        }}
        onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
      />
    </label>
  );
}

function NameField(): ReactNode {
  const { name, setName } = useStudio();
  return (
    <label
      className="field"
      title="Sent with your messages from this tab, so that agents and people know who wrote them"
    >
      <span className="hint">Your name</span>
      <input
        className="input"
        value={name}
        placeholder="optional"
        maxLength={80}
        onChange={(event) => setName(event.target.value)}
      />
    </label>
  );
}

function ThemeButton(): ReactNode {
  const [theme, setTheme] = useState(storedTheme);
  const next = (): void => {
    applyTheme(NEXT_THEME[theme]);
    setTheme(NEXT_THEME[theme]);
  };
  return (
    <Button
      kind="quiet"
      size="small"
      icon={THEME_ICON[theme]}
      title="Change the theme"
      aria-label={`Theme: ${theme}. Change it.`}
      onClick={next}
    >
      <span>{THEME_NAME[theme]}</span>
    </Button>
  );
}
