import { type ReactNode, useState } from "react";
import icon from "./icon.svg";
import { Link, useRouter } from "./router.tsx";
import { useStudio } from "./studio-context.tsx";
import { applyTheme, storedTheme, type Theme } from "./theme.ts";
import { Button } from "./ui/button.tsx";
import { Icon, type IconName } from "./ui/icon.tsx";

const PAGES: { href: string; name: string; icon: IconName }[] = [
  { href: "/threads", name: "Threads", icon: "thread" },
  { href: "/agents", name: "Agents", icon: "agent" },
  { href: "/tools", name: "Tools", icon: "tool" },
];

const NEXT_THEME: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const THEME_NAME: Record<Theme, string> = { system: "System theme", light: "Light", dark: "Dark" };
const THEME_ICON: Record<Theme, IconName> = { system: "system", light: "sun", dark: "moon" };

export function Sidebar(): ReactNode {
  const { parts } = useRouter();
  const current = `/${parts[0] ?? "threads"}`;
  return (
    <header className="sidebar">
      <Link className="brand" href="/">
        <img src={icon} alt="" />
        <span>Selvedge</span>
      </Link>
      <nav aria-label="Pages">
        <ul className="nav">
          {PAGES.map((page) => (
            <li key={page.href}>
              <Link href={page.href} aria-current={page.href === current ? "page" : undefined}>
                <Icon name={page.icon} />
                {page.name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className="sidebar-foot">
        <ResourceField />
        <NameField />
        <ThemeButton />
      </div>
    </header>
  );
}

function ResourceField(): ReactNode {
  const { resourceId, setResourceId } = useStudio();
  const [draft, setDraft] = useState(resourceId);
  return (
    <label className="field" title="On whose behalf the studio reads and sends: the resource of its threads">
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
      title="Sent along with your messages in this tab, so that agents and people can tell you apart"
    >
      <span className="hint">Your name</span>
      <input
        className="input"
        value={name}
        placeholder="nobody in particular"
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
      <span className="theme-name">{THEME_NAME[theme]}</span>
    </Button>
  );
}
