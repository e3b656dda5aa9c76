import type { UseAgentControllerResult } from "@selvedge/react";
import type { ReactNode } from "react";
import { useStudio } from "../studio-context.tsx";
import { useActions } from "../thread/actions.tsx";
import { useLoad } from "../use-load.ts";

/** In which mode and with which model the next run works. */
export function SessionControls({
  controllerId,
  live,
}: {
  controllerId: string;
  live: UseAgentControllerResult;
}): ReactNode {
  const { client } = useStudio();
  const { attempt } = useActions();
  const controller = client.getAgentController(controllerId);
  const modes = useLoad(`modes ${controllerId}`, () => controller.listModes());
  const models = useLoad(`models ${controllerId}`, () => controller.listAvailableModels());
  const { session, modeId = "", modelId = "" } = live;
  const offered = models.value ?? [];
  const ready = offered.filter(({ hasApiKey }) => hasApiKey);
  const keyless = offered.filter(({ hasApiKey }) => !hasApiKey);
  const isListed = offered.some(({ id }) => id === modelId);
  return (
    <div className="row session-controls">
      <select
        className="input fit"
        aria-label="Mode"
        title={modes.value?.find(({ id }) => id === modeId)?.description}
        value={modeId}
        onChange={(event) => {
          const next = event.target.value;
          void attempt(() => session.mode.switch({ modeId: next }));
        }}
      >
        {modes.value?.map(({ id, name }) => (
          <option key={id} value={id}>
            {name ?? id}
          </option>
        )) ?? <option value={modeId}>{modeId}</option>}
      </select>
      <select
        className="input fit"
        aria-label="Model"
        value={modelId}
        onChange={(event) => {
          const next = event.target.value;
          void attempt(() => session.model.switch({ modelId: next }));
        }}
      >
        {!isListed && <option value={modelId}>{modelId === "" ? "the agent's model" : modelId}</option>}
        {ready.map(({ id }) => (
          <option key={id}>{id}</option>
        ))}
        {keyless.length > 0 && (
          <optgroup label="No key is set for these">
            {keyless.map(({ id, apiKeyEnvVar }) => (
              <option key={id} title={apiKeyEnvVar && `Set ${apiKeyEnvVar}`}>
                {id}
              </option>
            ))}
          </optgroup>
        )}
      </select>
    </div>
  );
}
