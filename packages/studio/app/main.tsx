import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { applyTheme, storedTheme } from "./theme.ts";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/ui.css";
import "./styles/shell.css";
import "./styles/pages.css";
import "./styles/thread.css";
import "./styles/session.css";
import "./styles/workflow.css";
import "./styles/schedule.css";
import "./styles/markdown.css";

applyTheme(storedTheme());

createRoot(document.querySelector("#root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
