import type { ReactNode } from "react";
import icon from "./icon.svg";
import { hrefOf, matchPage, type StudioPage } from "./page-table.ts";
import { PAGES } from "./pages.ts";
import { RecentThreads } from "./recent-threads.tsx";
import { Link, useRouter } from "./router.tsx";
import { Settings } from "./settings.tsx";
import { Icon } from "./ui/icon.tsx";
import { useMedia } from "./use-media.ts";

export function Sidebar(): ReactNode {
  const { parts } = useRouter();
  const narrow = useMedia("(max-width: 50rem)");
  const current = matchPage(PAGES, parts)?.page;
  // The list of recent threads marks an open thread, if there is room for that list.
  const isMarked = !narrow && current?.path.startsWith("/threads/");
  const isCurrent = (page: StudioPage): boolean =>
    page === current || (!isMarked && current !== undefined && current.path.startsWith(`${page.path}/`));
  return (
    <header className="sidebar">
      <Link className="brand" href="/" aria-label="Selvedge">
        <img src={icon} alt="" />
        <span>Selvedge</span>
      </Link>
      <nav aria-label="Pages">
        <ul className="nav">
          {PAGES.map(
            (page) =>
              page.icon && (
                <li key={page.path}>
                  <Link href={hrefOf(page)} aria-current={isCurrent(page) ? "page" : undefined}>
                    <Icon name={page.icon} />
                    {page.title}
                  </Link>
                </li>
              ),
          )}
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
