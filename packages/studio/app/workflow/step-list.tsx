import { memo, type ReactNode, useMemo } from "react";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { moveWithArrows } from "./move-with-arrows.ts";
import { type Outline, type OutlineNode, type OutlineSleep, type OutlineStep, stepsOf } from "./outline.ts";
import { stepIcon } from "./step-icon.ts";
import { stepNote } from "./step-note.ts";
import type { StepState } from "./step-state.ts";
import { stepLook } from "./step-look.ts";
import type { WorkflowView } from "./workflow-view.ts";

/** The steps of a workflow as a list: the same as the graph, for people who read or use the keyboard. */
export function StepList({ view, head }: { view: WorkflowView; head?: ReactNode }): ReactNode {
  const { outline, open, chosen } = view;
  const visible = useMemo(() => [...visibleKeys(outline, open)], [outline, open]);
  // The Tab key stops at the chosen step. The head is chosen with "".
  const stop = chosen === "" || visible.includes(chosen ?? "") ? chosen : visible[0];
  return (
    <nav className="card wf-list" aria-label="Steps" onKeyDown={moveWithArrows}>
      {head}
      <StepRows outline={outline} view={view} stop={stop} />
    </nav>
  );
}

/** The steps that are shown, in order. */
function* visibleKeys(outline: Outline, open: WorkflowView["open"]): Generator<string> {
  for (const node of outline) {
    for (const step of stepsOf(node)) {
      yield step.key;
      if (step.kind === "step" && step.steps && open.has(step.key)) yield* visibleKeys(step.steps, open);
    }
  }
}

interface Rows {
  view: WorkflowView;
  stop: string | undefined;
}

function StepRows({ outline, view, stop }: Rows & { outline: Outline }): ReactNode {
  return (
    <ol>
      {outline.map((node) => (
        <li key={node.key}>
          <NodeRow node={node} view={view} stop={stop} />
        </li>
      ))}
    </ol>
  );
}

function NodeRow({ node, ...rows }: Rows & { node: OutlineNode }): ReactNode {
  switch (node.kind) {
    case "step":
    case "sleep":
      return <StepItem node={node} {...rows} />;
    case "parallel":
    case "branch":
      return (
        <>
          <GroupHead node={node} />
          <ol>
            {node.members.map(({ step, condition }) => (
              <li key={step.key}>
                {condition !== undefined && (
                  <p className="wf-when mono truncate" title={condition}>
                    if {condition}
                  </p>
                )}
                <StepItem node={step} {...rows} />
              </li>
            ))}
          </ol>
        </>
      );
    default:
      return (
        <>
          <GroupHead node={node} />
          <ol>
            <li>
              <StepItem node={node.step} {...rows} />
            </li>
          </ol>
        </>
      );
  }
}

function GroupHead({ node }: { node: OutlineNode }): ReactNode {
  return (
    <p className="wf-group">
      <Icon name={stepIcon(node)} />
      <span className="truncate" title={node.label}>
        {node.label}
      </span>
    </p>
  );
}

function StepItem({ node, view, stop }: Rows & { node: OutlineStep | OutlineSleep }): ReactNode {
  const isNested = node.kind === "step" && node.steps !== undefined;
  const isOpen = isNested && view.open.has(node.key);
  return (
    <>
      <div className="wf-row">
        <StepButton
          node={node}
          state={view.states?.get(node.key)}
          note={stepNote(node, view.steps[node.key], view.progress[node.key])}
          isChosen={view.chosen === node.key}
          isStop={stop === node.key}
          choose={view.choose}
        />
        {isNested && (
          <Button
            kind="quiet"
            size="small"
            icon={isOpen ? "up" : "down"}
            label={`Steps of ${node.label}`}
            aria-expanded={isOpen}
            data-stop=""
            tabIndex={-1}
            onClick={() => view.toggle(node.key)}
          />
        )}
      </div>
      {isOpen && <StepRows outline={node.steps!} view={view} stop={stop} />}
    </>
  );
}

const StepButton = memo(function StepButton({
  node,
  state,
  note,
  isChosen,
  isStop,
  choose,
}: {
  node: OutlineStep | OutlineSleep;
  state: StepState | undefined;
  note: string;
  isChosen: boolean;
  isStop: boolean;
  choose: WorkflowView["choose"];
}): ReactNode {
  const { text, icon, tone } = stepLook(node, state);
  return (
    <button
      type="button"
      className="wf-step"
      data-testid="list-step"
      data-step={node.key}
      data-state={state}
      data-tone={tone}
      data-stop=""
      tabIndex={isStop ? 0 : -1}
      aria-current={isChosen || undefined}
      onClick={() => choose(node.key)}
    >
      <Icon name={icon ?? stepIcon(node)} />
      <span className="grow truncate">{node.label}</span>
      <span className="wf-step-state">
        {text}
        {note && <span className="wf-step-note"> · {note}</span>}
      </span>
    </button>
  );
});
