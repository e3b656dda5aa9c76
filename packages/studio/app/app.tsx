import { Component, type ReactNode, useEffect, useRef } from "react";
import { AgentsPage } from "./pages/agents-page.tsx";
import { RunsPage } from "./pages/runs-page.tsx";
import { ThreadPage } from "./pages/thread-page.tsx";
import { ThreadsPage } from "./pages/threads-page.tsx";
import { ToolsPage } from "./pages/tools-page.tsx";
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
        Skip to the page
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
  // A page starts anew for another place and for another person; the tools are one page.
  const place = parts.slice(0, parts[0] === "tools" ? 1 : 3).join("/");
  const key = `${resourceId}/${place}`;
  const last = useRef(key);
  useEffect(() => {
    if (last.current === key) return;
    last.current = key;
    // Who follows a link with the keyboard goes on reading in the page, unless it has put the focus somewhere itself.
    const main = document.querySelector<HTMLElement>("#main");
    if (main && !main.contains(document.activeElement)) main.focus({ preventScroll: true });
  }, [key]);
  return (
    <Boundary key={key}>
      <PageAt />
    </Boundary>
  );
}

function PageAt(): ReactNode {
  const { parts, query } = useRouter();
  const [first, second, third] = parts;
  if (first === undefined || (first === "threads" && second === undefined)) return <ThreadsPage />;
  if (first === "agents" && second === undefined) return <AgentsPage />;
  if (first === "tools") return <ToolsPage toolId={second} />;
  if (first === "threads" && second !== undefined) {
    const agent = query.get("agent") ?? undefined;
    if (third === undefined) return <ThreadPage threadId={second} agentId={agent} />;
    if (third === "runs") return <RunsPage threadId={second} runId={parts[3]} agentId={agent} />;
  }
  return (
    <Empty title="There is no such page">
      <Link href="/">To the threads</Link>
    </Empty>
  );
}

/** One page that fails to draw does not take the others with it. */
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
