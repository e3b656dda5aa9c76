import { Component, type ReactNode, useEffect, useRef } from "react";
import { matchPage } from "./page-table.ts";
import { usePageTitle } from "./page-title.ts";
import { PAGES } from "./pages.ts";
import { Link, RouterProvider, useRouter } from "./router.tsx";
import { Sidebar } from "./sidebar.tsx";
import { SignIn } from "./sign-in.tsx";
import { StudioProvider, useStudio } from "./studio-context.tsx";
import { Empty, Failure } from "./ui/state.tsx";

export function App(): ReactNode {
  return (
    <StudioProvider>
      <RouterProvider>
        <Shell />
      </RouterProvider>
    </StudioProvider>
  );
}

function Shell(): ReactNode {
  const { locked, token } = useStudio();
  if (locked) return <SignIn />;
  return (
    <div className="shell" key={token}>
      <a className="button skip" href="#main">
        Skip to content
      </a>
      <Sidebar />
      <main className="main" id="main" tabIndex={-1}>
        <Page />
      </main>
    </div>
  );
}

function Page(): ReactNode {
  const { parts } = useRouter();
  const { resourceId } = useStudio();
  const match = matchPage(PAGES, parts);
  // Another place or another resource is a new page.
  const key = `${resourceId}${match?.place}`;
  const last = useRef(key);
  useEffect(() => {
    if (last.current === key) return;
    last.current = key;
    // Keyboard users continue in the new page, unless it has moved the focus itself.
    const main = document.querySelector<HTMLElement>("#main");
    if (main && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  }, [key]);
  if (!match) {
    return (
      <Empty title="This page does not exist">
        <Link href="/">Go to the start</Link>
      </Empty>
    );
  }
  const { title, Page: Contents } = match.page;
  return (
    <Boundary key={key}>
      {title !== undefined && <PageTitle title={title} />}
      <Contents {...match.params} />
    </Boundary>
  );
}

function PageTitle({ title }: { title: string }): ReactNode {
  usePageTitle(title);
  return null;
}

/** A page that throws while it renders does not take down the others. */
class Boundary extends Component<{ children: ReactNode }, { error?: Error }> {
  override state: { error?: Error } = {};

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div className="page">
        <Failure error={error} onRetry={() => this.setState({ error: undefined as never })} />
      </div>
    );
  }
}
