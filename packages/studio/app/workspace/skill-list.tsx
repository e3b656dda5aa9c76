import { type ReactNode, useState } from "react";
import { Markdown } from "../markdown/markdown.tsx";
import { useStudio } from "../studio-context.tsx";
import { Badge } from "../ui/badge.tsx";
import { Failure, Loading } from "../ui/state.tsx";
import { useLoad } from "../use-load.ts";

/** The skills of a workspace, and the instructions of those that are opened. */
export function SkillList({ workspaceId }: { workspaceId: string }): ReactNode {
  const { client, resourceId } = useStudio();
  const list = useLoad(`skills ${workspaceId}`, (signal) =>
    client.call("listSkills", { params: { workspaceId }, query: { resourceId }, signal }),
  );
  if (list.error) return <Failure error={list.error} onRetry={list.reload} />;
  const skills = list.value?.skills ?? [];
  return (
    <section aria-label="Skills" className="stack">
      <h2>Skills</h2>
      {list.value && skills.length === 0 && <p className="muted">None yet.</p>}
      {skills.map((skill) => (
        <SkillRow key={skill.path} workspaceId={workspaceId} {...skill} />
      ))}
    </section>
  );
}

function SkillRow(skill: {
  workspaceId: string;
  name: string;
  description: string;
  path: string;
  source: string;
}): ReactNode {
  const [open, setOpen] = useState(false);
  return (
    <details className="card skill" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <b className="mono">{skill.name}</b> <span className="muted">{skill.description}</span>{" "}
        <Badge>{skill.source}</Badge>
      </summary>
      {open && <Instructions {...skill} />}
    </details>
  );
}

function Instructions({ workspaceId, name, path }: Parameters<typeof SkillRow>[0]): ReactNode {
  const { client, resourceId } = useStudio();
  const skill = useLoad(`skill ${workspaceId} ${path}`, (signal) =>
    client.call("getSkill", {
      params: { workspaceId, skillName: name },
      query: { resourceId, path },
      signal,
    }),
  );
  if (skill.error) return <Failure error={skill.error} onRetry={skill.reload} />;
  return skill.value ? <Markdown text={skill.value.instructions} /> : <Loading what="the skill" />;
}
