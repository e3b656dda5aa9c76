import type { WorkflowInfo } from "@selvedge/protocol/routes";
import type { ReactNode } from "react";
import { Icon } from "../ui/icon.tsx";
import { Payload } from "../ui/payload.tsx";
import type { OutlineSleep, OutlineStep } from "./outline.ts";
import { stepIcon } from "./step-icon.ts";

/** What a step is, without a run: its description and its schemas. */
export function StepAbout({
  node,
  info,
}: {
  node: OutlineStep | OutlineSleep;
  info: WorkflowInfo["steps"][string] | undefined;
}): ReactNode {
  const description = info?.description ?? (node.kind === "step" ? node.description : undefined);
  return (
    <section className="card panel stack" aria-label={`Step ${node.label}`}>
      <div className="row">
        <Icon name={stepIcon(node)} />
        <h2 className="section-title grow truncate">{node.label}</h2>
        <span className="hint">{node.kind === "sleep" ? "sleep" : node.of}</span>
      </div>
      {description !== undefined && <p className="small muted">{description}</p>}
      {info?.inputSchema && <Payload name="Input schema" value={info.inputSchema} />}
      {info?.outputSchema && <Payload name="Output schema" value={info.outputSchema} />}
      {info?.resumeSchema && <Payload name="Resume schema" value={info.resumeSchema} />}
    </section>
  );
}
