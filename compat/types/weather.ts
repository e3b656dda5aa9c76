/* The program that a new project begins with: an agent with a tool, a workflow that asks it, and scorers. */
import { Agent } from "@mastra/core/agent";
import { createScorer } from "@mastra/core/evals";
import { Mastra } from "@mastra/core/mastra";
import { createTool } from "@mastra/core/tools";
import { createStep, createWorkflow } from "@mastra/core/workflows";
import { createCompletenessScorer, createToolCallAccuracyScorerCode } from "@mastra/evals/scorers/prebuilt";
import { getAssistantMessageFromRunOutput, getUserMessageFromRunInput } from "@mastra/evals/scorers/utils";
import { LibSQLStore } from "@mastra/libsql";
import { PinoLogger } from "@mastra/loggers";
import { Memory } from "@mastra/memory";
import { MastraStorageExporter, Observability, SensitiveDataFilter } from "@mastra/observability";
import { z } from "zod";

const weatherTool = createTool({
  id: "get-weather",
  description: "The weather of a place.",
  inputSchema: z.object({ location: z.string() }),
  outputSchema: z.object({ temperature: z.number(), location: z.string() }),
  execute: async (inputData) => ({ temperature: 21, location: inputData.location }),
});

const toolScorer = createToolCallAccuracyScorerCode({ expectedTool: "weatherTool", strictMode: false });
const completenessScorer = createCompletenessScorer();
const translationScorer = createScorer({
  id: "translation-scorer",
  name: "Translation",
  description: "Whether places are translated.",
  type: "agent",
  judge: { model: "openai/gpt-5-mini", instructions: "You judge translations." },
})
  .preprocess(({ run }) => ({
    user: getUserMessageFromRunInput(run.input) || "",
    assistant: getAssistantMessageFromRunOutput(run.output) || "",
  }))
  .analyze({
    description: "Finds places.",
    outputSchema: z.object({ translated: z.boolean(), confidence: z.number().default(1) }),
    createPrompt: ({ results }) =>
      `${results.preprocessStepResult.user} → ${results.preprocessStepResult.assistant}`,
  })
  .generateScore(({ results }) => {
    const found = results.analyzeStepResult;
    return found.translated ? 0.7 + 0.3 * (found.confidence ?? 1) : 0;
  })
  .generateReason(({ score }) => `Score ${score}.`);

const weatherAgent = new Agent({
  id: "weather-agent",
  name: "Weather",
  instructions: "You tell the weather.",
  model: "openai/gpt-5-mini",
  tools: { weatherTool },
  scorers: {
    tools: { scorer: toolScorer, sampling: { type: "ratio", rate: 1 } },
    completeness: { scorer: completenessScorer, sampling: { type: "ratio", rate: 1 } },
    translation: { scorer: translationScorer, sampling: { type: "ratio", rate: 0.5 } },
  },
  memory: new Memory(),
});

const forecast = z.object({ date: z.string(), maxTemp: z.number(), location: z.string() });

const fetchWeather = createStep({
  id: "fetch-weather",
  description: "Fetches the forecast.",
  inputSchema: z.object({ city: z.string() }),
  outputSchema: forecast,
  execute: async ({ inputData }) => {
    if (!inputData) throw new Error("No input");
    return { date: new Date().toISOString(), maxTemp: 20, location: inputData.city };
  },
});

const planActivities = createStep({
  id: "plan-activities",
  description: "Suggests activities.",
  inputSchema: forecast,
  outputSchema: z.object({ activities: z.string() }),
  execute: async ({ inputData, mastra }) => {
    const agent = mastra?.getAgent("weatherAgent");
    if (!agent) throw new Error("No agent");
    const response = await agent.stream([{ role: "user", content: JSON.stringify(inputData) }], {
      tracingOptions: { metadata: { step: "plan" } },
    });
    let activities = "";
    for await (const chunk of response.textStream) activities += chunk;
    return { activities };
  },
});

const weatherWorkflow = createWorkflow({
  id: "weather-workflow",
  inputSchema: z.object({ city: z.string() }),
  outputSchema: z.object({ activities: z.string() }),
})
  .then(fetchWeather)
  .then(planActivities);
weatherWorkflow.commit();

export const mastra = new Mastra({
  workflows: { weatherWorkflow },
  agents: { weatherAgent },
  scorers: { toolScorer, completenessScorer, translationScorer },
  storage: new LibSQLStore({ id: "storage", url: "file:./mastra.db" }),
  logger: new PinoLogger({ name: "Mastra", level: "info" }),
  observability: new Observability({
    configs: {
      default: {
        serviceName: "mastra",
        exporters: [new MastraStorageExporter()],
        spanOutputProcessors: [new SensitiveDataFilter()],
      },
    },
  }),
});

export async function main(): Promise<string> {
  const run = await mastra.getWorkflow("weatherWorkflow").createRun();
  const result = await run.start({ inputData: { city: "Rome" } });
  const scored = await translationScorer.run({ output: [], input: undefined as never });
  const score: number | undefined = scored.score;
  return result.status === "success" ? `${result.result.activities} ${score}` : result.status;
}
