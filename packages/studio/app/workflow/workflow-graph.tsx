import { memo, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { type Box, type Edge, type Frame, layOut } from "./layout.ts";
import { moveWithArrows } from "./move-with-arrows.ts";
import { stepIcon } from "./step-icon.ts";
import { stepNote } from "./step-note.ts";
import type { StepState } from "./step-state.ts";
import { stepLook } from "./step-look.ts";
import type { WorkflowView } from "./workflow-view.ts";

const ZOOMS: readonly number[] = [0.25, 0.4, 0.55, 0.75, 1, 1.25];
/** States that draw the eye: the graph scrolls to them. */
const EVENTFUL: ReadonlySet<StepState> = new Set(["running", "suspended", "waiting", "paused", "failed"]);

/** A workflow from left to right, with what a run has done of it. The list beside it says the same. */
export function WorkflowGraph({ view, name }: { view: WorkflowView; name: string }): ReactNode {
  const { outline, open, states, chosen } = view;
  const layout = useMemo(() => layOut(outline, open), [outline, open]);
  const [scale, setScale] = useState(1);
  const scroller = useRef<HTMLDivElement>(null);
  const current = layout.boxes.find(({ node }) => EVENTFUL.has(states?.get(node.key) ?? "idle"));
  const currentKey = current?.node.key;
  useEffect(() => {
    if (current && scroller.current) scrollTo(scroller.current, current, scale);
    // When another step is the current one, not whenever it changes.
  }, [currentKey]);
  useEffect(() => {
    const box = layout.boxes.find(({ node }) => node.key === chosen);
    if (box && scroller.current && !isInView(scroller.current, box, scale))
      scrollTo(scroller.current, box, scale);
    // When another step is chosen, in the list or by the address.
  }, [chosen]);
  const stop = layout.boxes.some(({ node }) => node.key === chosen) ? chosen : layout.boxes[0]?.node.key;
  return (
    <section className="card wf-graph" aria-label={`Graph of ${name}`}>
      <div className="wf-scroll" ref={scroller} onKeyDown={moveWithArrows}>
        <div className="wf-canvas" style={{ width: layout.width, height: layout.height, zoom: scale }}>
          {layout.frames.map((frame) => (
            <FrameView key={frame.node.key} frame={frame} view={view} />
          ))}
          <svg className="wf-edges" width={layout.width} height={layout.height} aria-hidden="true">
            {layout.edges.map((edge) => (
              <path
                key={edge.path}
                d={edge.path}
                data-taken={isTaken(edge, states) || undefined}
                data-back={edge.back}
              />
            ))}
          </svg>
          {layout.conditions.map(({ key, text, x, y, width, height }) => (
            <span
              className="wf-condition mono truncate"
              key={key}
              title={text}
              style={{ left: x, top: y, width, height }}
            >
              {text}
            </span>
          ))}
          {layout.boxes.map((box) => {
            const { key } = box.node;
            return (
              <BoxView
                key={key}
                box={box}
                state={states?.get(key)}
                note={stepNote(box.node, view.steps[key], view.progress[key])}
                isChosen={key === chosen}
                isStop={key === stop}
                choose={view.choose}
                toggle={view.toggle}
              />
            );
          })}
        </div>
      </div>
      <Zoom
        scale={scale}
        onChange={setScale}
        onFit={() => setScale(fitting(layout.width, scroller.current!.clientWidth))}
      />
    </section>
  );
}

function Zoom({
  scale,
  onChange,
  onFit,
}: {
  scale: number;
  onChange(scale: number): void;
  onFit(): void;
}): ReactNode {
  const smaller = ZOOMS.findLast((each) => each < scale);
  const larger = ZOOMS.find((each) => each > scale);
  return (
    <div className="wf-zoom" role="group" aria-label="Zoom">
      <span className="hint grow wide-only">Arrow keys move between steps</span>
      <Button kind="quiet" size="small" onClick={onFit}>
        Fit
      </Button>
      <Button
        kind="quiet"
        size="small"
        icon="minus"
        label="Smaller"
        disabled={smaller === undefined}
        onClick={() => onChange(smaller!)}
      />
      <Button
        kind="quiet"
        size="small"
        icon="plus"
        label="Larger"
        disabled={larger === undefined}
        onClick={() => onChange(larger!)}
      />
    </div>
  );
}

function scrollTo(view: HTMLElement, { x, y, width, height }: Box, scale: number): void {
  view.scrollTo({
    left: (x + width / 2) * scale - view.clientWidth / 2,
    top: (y + height / 2) * scale - view.clientHeight / 2,
  });
}

function isInView(view: HTMLElement, { x, y, width, height }: Box, scale: number): boolean {
  const { scrollLeft, scrollTop, clientWidth, clientHeight } = view;
  const isAcross = x * scale >= scrollLeft && (x + width) * scale <= scrollLeft + clientWidth;
  return isAcross && y * scale >= scrollTop && (y + height) * scale <= scrollTop + clientHeight;
}

/** The scale at which a width fits, as far as it can be read. */
function fitting(width: number, room: number): number {
  return Math.min(1, Math.max(ZOOMS[0]!, room / width));
}

function isTaken({ keys, when }: Edge, states: WorkflowView["states"]): boolean {
  return keys.some((key) => {
    const state = states?.get(key);
    if (when === "done") return state === "success";
    return state !== undefined && state !== "idle" && state !== "unused" && state !== "skipped";
  });
}

/** One step. Drawn again only when something about it changes. */
const BoxView = memo(function BoxView({
  box: { node, x, y, width, height },
  state,
  note,
  isChosen,
  isStop,
  choose,
  toggle,
}: {
  box: Box;
  state: StepState | undefined;
  note: string;
  isChosen: boolean;
  isStop: boolean;
  choose: WorkflowView["choose"];
  toggle: WorkflowView["toggle"];
}): ReactNode {
  const { text, icon, tone } = stepLook(node, state);
  const isNested = node.kind === "step" && node.steps !== undefined;
  const isSmall = node.kind === "sleep" || node.of === "map";
  return (
    <div
      className="wf-box"
      data-testid="graph-step"
      data-step={node.key}
      data-state={state}
      data-tone={tone}
      data-kind={node.kind === "step" ? node.of : node.kind}
      data-small={isSmall || undefined}
      style={{ left: x, top: y, width, height }}
    >
      <button
        type="button"
        className="wf-box-main"
        data-stop=""
        tabIndex={isStop ? 0 : -1}
        aria-pressed={isChosen}
        aria-label={[node.label, text, note].filter(Boolean).join(", ")}
        title={node.label}
        onClick={() => choose(node.key)}
      >
        <Icon name={stepIcon(node)} />
        <span className="wf-box-text">
          <span className="truncate wf-box-label">{node.label}</span>
          {!isSmall && (
            <span className="wf-box-state truncate">
              {icon && <Icon name={icon} />}
              {text}
              {note && ` · ${note}`}
            </span>
          )}
        </span>
        {isSmall && icon && <Icon name={icon} />}
      </button>
      {isNested && (
        <Button
          kind="quiet"
          size="small"
          icon="plus"
          label={`Show the steps of ${node.label}`}
          data-stop=""
          tabIndex={-1}
          onClick={() => toggle(node.key)}
        />
      )}
    </div>
  );
});

function FrameView({ frame, view }: { frame: Frame; view: WorkflowView }): ReactNode {
  const { node, depth, x, y, width, height } = frame;
  const isWorkflow = node.kind === "step";
  const state = isWorkflow ? view.states?.get(node.key) : undefined;
  const look = isWorkflow ? stepLook(node, state) : undefined;
  return (
    <div
      className="wf-frame"
      data-kind={node.kind}
      data-odd={depth % 2 === 1 || undefined}
      data-tone={look?.tone}
      data-testid="graph-frame"
      data-step={node.key}
      style={{ left: x, top: y, width, height }}
    >
      <div className="wf-frame-head">
        <Icon name={stepIcon(node)} />
        {isWorkflow ? (
          <>
            <button
              type="button"
              className="wf-frame-name truncate"
              data-stop=""
              tabIndex={-1}
              aria-pressed={view.chosen === node.key}
              aria-label={`${node.label}, ${look!.text}`}
              onClick={() => view.choose(node.key)}
            >
              {node.label}
            </button>
            <span className="wf-box-state">
              {look!.icon && <Icon name={look!.icon} />}
              {look!.text}
            </span>
            <Button
              kind="quiet"
              size="small"
              icon="minus"
              label={`Hide the steps of ${node.label}`}
              data-stop=""
              tabIndex={-1}
              onClick={() => view.toggle(node.key)}
            />
          </>
        ) : (
          <span className="truncate" title={node.label}>
            {node.label}
          </span>
        )}
      </div>
    </div>
  );
}
