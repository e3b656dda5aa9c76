import type { ReactNode } from "react";
import icon from "./icon.svg";
import { RecentThreads } from "./recent-threads.tsx";
import { Link, useRouter } from "./router.tsx";
import { Settings } from "./settings.tsx";
import { Icon, type IconName } from "./ui/icon.tsx";
import { useMedia } from "./use-media.ts";

const PAGES: { href: string; name: string; icon: IconName }[] = [
  { href: "/threads", name: "Threads", icon: "thread" },
  { href: "/agents", name: "Agents", icon: "agent" },
  { href: "/tools", name: "Tools", icon: "tool" },
];

export function Sidebar(): ReactNode {
  const { parts } = useRouter();
  const narrow = useMedia("(max-width: 50rem)");
  // An open thread is marked among the recent ones.
  const inThread = parts[0] === "threads" && parts[1] !== undefined;
  const current = `/${parts[0] ?? "threads"}`;
  return (
    <header className="sidebar">
      <Link className="brand" href="/" aria-label="Selvedge">
        <img src={icon} alt="" />
        <span>Selvedge</span>
      </Link>
      <nav aria-label="Pages">
        <ul className="nav">
          {PAGES.map((page) => (
            <li key={page.href}>
              <Link
                href={page.href}
                aria-current={page.href === current && (narrow || !inThread) ? "page" : undefined}
              >
                <Icon name={page.icon} />
                {page.name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      {narrow ? (
        <details
          className="menu"
          onBlur={(event) => {
            if (!event.currentTarget.contains(event.relatedTarget)) event.currentTarget.open = false;
          }}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            event.currentTarget.open = false;
            event.currentTarget.querySelector("summary")?.focus();
          }}
        >
          <summary className="button" data-kind="quiet" data-size="small" data-icon="">
            <Icon name="settings" />
            <span className="visually-hidden">Settings</span>
          </summary>
          <div className="card menu-body stack">
            <Settings />
          </div>
        </details>
      ) : (
        <>
          <RecentThreads />
          <div className="sidebar-foot">
            <Settings />
          </div>
        </>
      )}
    </header>
  );
}
