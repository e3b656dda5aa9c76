import type { UseAgentControllerResult } from "@selvedge/react";
import { type FormEvent, type ReactNode, useState } from "react";
import { useActions } from "../thread/actions.tsx";
import { Button } from "../ui/button.tsx";

const CATEGORIES = ["read", "edit", "execute", "mcp", "other"] as const;
const POLICIES = ["allow", "ask", "deny"] as const;
type Policy = (typeof POLICIES)[number];
type Category = (typeof CATEGORIES)[number];

/** What tools may do in this session: rules, and what was granted on top of them. */
export function Permissions({ live: { session, info } }: { live: UseAgentControllerResult }): ReactNode {
  const { attempt } = useActions();
  if (!info?.rules || !info.grants)
    return <p className="hint">Your token does not allow you to see the rules.</p>;
  const { rules, grants } = info;
  const { permissions } = session;
  const granted = [
    ...grants.categories.map((name) => ({
      name,
      about: "category",
      revoke: () => session.revokeCategory(name as Category),
    })),
    ...grants.tools.map((name) => ({ name, about: "tool", revoke: () => session.revokeTool(name) })),
  ];
  const isOff = info.state?.["yolo"] === true;
  return (
    <>
      <ul className="rules" aria-label="Rules">
        {CATEGORIES.map((category) => (
          <Rule
            key={category}
            name={category}
            label={`Tools of the category ${category}`}
            policy={rules.categories[category] ?? "ask"}
            onChange={(policy) => void attempt(() => permissions.setForCategory({ category, policy }))}
          />
        ))}
        {Object.entries(rules.tools).map(([toolName, policy]) => (
          <Rule
            key={toolName}
            name={toolName}
            isTool
            label={`Rule for ${toolName}`}
            policy={policy}
            onChange={(next) => void attempt(() => permissions.setForTool({ toolName, policy: next }))}
          />
        ))}
      </ul>
      <AddRule onAdd={(toolName, policy) => attempt(() => permissions.setForTool({ toolName, policy }))} />
      {granted.length > 0 && (
        <ul className="grants" aria-label="Grants">
          {granted.map(({ name, about, revoke }) => (
            <li className="row" key={`${about} ${name}`}>
              <span className="small grow truncate">
                always allowed: <span className="mono">{name}</span> <span className="hint">{about}</span>
              </span>
              <Button
                kind="quiet"
                size="small"
                icon="cross"
                label={`Revoke ${name}`}
                onClick={() => void attempt(revoke)}
              />
            </li>
          ))}
        </ul>
      )}
      <label className="check">
        <input
          type="checkbox"
          checked={isOff}
          onChange={(event) => {
            const yolo = event.target.checked;
            void attempt(() => session.state.set({ yolo }));
          }}
        />
        <span>
          Never ask <span className="hint">Runs everything that is not denied.</span>
        </span>
      </label>
    </>
  );
}

function Rule({
  name,
  label,
  policy,
  isTool,
  onChange,
}: {
  name: string;
  label: string;
  policy: string;
  isTool?: boolean;
  onChange(policy: Policy): void;
}): ReactNode {
  return (
    <li className="row">
      <span className={`small grow truncate${isTool ? " mono" : ""}`} title={name}>
        {name}
      </span>
      <PolicySelect label={label} value={policy} onChange={onChange} />
    </li>
  );
}

function PolicySelect({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange(policy: Policy): void;
}): ReactNode {
  return (
    <select
      className="input fit"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value as Policy)}
    >
      {POLICIES.map((policy) => (
        <option key={policy}>{policy}</option>
      ))}
    </select>
  );
}

function AddRule({ onAdd }: { onAdd(toolName: string, policy: Policy): Promise<boolean> }): ReactNode {
  const [name, setName] = useState("");
  const [policy, setPolicy] = useState<Policy>("allow");
  const add = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (name.trim() !== "" && (await onAdd(name.trim(), policy))) setName("");
  };
  return (
    <form className="row add-rule" onSubmit={(event) => void add(event)}>
      <input
        className="input grow"
        aria-label="Tool, or tool(pattern)"
        placeholder="tool(pattern)"
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <PolicySelect label="Policy for the new rule" value={policy} onChange={setPolicy} />
      <Button size="small" icon="plus" label="Add the rule" type="submit" disabled={name.trim() === ""} />
    </form>
  );
}
