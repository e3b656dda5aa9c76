import { definePage, type StudioPage } from "./page-table.ts";
import { AgentsPage } from "./pages/agents-page.tsx";
import { RunsPage } from "./pages/runs-page.tsx";
import { SchedulesPage } from "./pages/schedules-page.tsx";
import { SessionPage } from "./pages/session-page.tsx";
import { SessionsPage } from "./pages/sessions-page.tsx";
import { StartPage } from "./pages/start-page.tsx";
import { ThreadPage } from "./pages/thread-page.tsx";
import { ThreadsPage } from "./pages/threads-page.tsx";
import { ToolsPage } from "./pages/tools-page.tsx";
import { WorkersPage } from "./pages/workers-page.tsx";
import { WorkflowPage } from "./pages/workflow-page.tsx";
import { WorkflowRunPage } from "./pages/workflow-run-page.tsx";
import { WorkflowsPage } from "./pages/workflows-page.tsx";
import { WorkspacePage } from "./pages/workspace-page.tsx";

/** Every page of the studio. The router and the sidebar read this table. */
export const PAGES: readonly StudioPage[] = [
  definePage({ path: "/", title: "Start", Page: StartPage }),
  definePage({ path: "/sessions", title: "Sessions", icon: "session", Page: SessionsPage }),
  definePage({ path: "/threads", title: "Threads", icon: "thread", Page: ThreadsPage }),
  definePage({ path: "/agents", title: "Agents", icon: "agent", Page: AgentsPage }),
  definePage({ path: "/workflows", title: "Workflows", icon: "workflow", Page: WorkflowsPage }),
  definePage({ path: "/schedules", title: "Schedules", icon: "calendar", Page: SchedulesPage }),
  definePage({ path: "/tools/:toolId?", title: "Tools", icon: "tool", Page: ToolsPage }),
  definePage({ path: "/workspace/:workspaceId?", title: "Workspace", icon: "folder", Page: WorkspacePage }),
  definePage({ path: "/workers", title: "Workers", icon: "system", Page: WorkersPage }),
  definePage({ path: "/sessions/:controllerId/:sessionId", Page: SessionPage }),
  definePage({ path: "/threads/:threadId", Page: ThreadPage }),
  definePage({ path: "/threads/:threadId/runs/:runId?", title: "Runs", Page: RunsPage }),
  definePage({ path: "/workflows/:workflowId", Page: WorkflowPage }),
  definePage({ path: "/workflows/:workflowId/runs/:runId", Page: WorkflowRunPage }),
];
