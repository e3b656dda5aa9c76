import type { ScriptedCall } from "@selvedge/testing";

type Prompt = ScriptedCall["prompt"];

/** What the scripted model says and calls in one step. */
export interface DemoStep {
  text: string;
  calls?: readonly { toolName: string; input: unknown }[];
}

interface Place {
  name: string;
  days: number;
  perDay: number;
  train: number;
  see: string;
}

const PLACES: readonly Place[] = [
  { name: "Lisbon", days: 3, perDay: 95, train: 140, see: "the tile museum in the old convent" },
  { name: "Kyoto", days: 5, perDay: 110, train: 620, see: "the weavers' quarter of Nishijin" },
  { name: "Bergen", days: 4, perDay: 130, train: 210, see: "the wooden houses of Bryggen" },
];

/** The tasks of a trip. */
const TASKS = [
  { id: "sights", content: "Find something to see", activeForm: "Finding something to see" },
  { id: "cost", content: "Add up the cost", activeForm: "Adding up the cost" },
  { id: "note", content: "Write the trip down", activeForm: "Writing the trip down" },
] as const;

const WANTED =
  /\bplan (?:a|an|another|my|our|the|one more)?\s*(?:\w+\s+)?(?:trip|journey|weekend|holiday)\b/i;

/**
 * A trip that was asked for and is not planned and carried out yet: a question, a plan, and after its approval tasks, a
 * subagent, a calculation and a note. What comes next is found in the conversation, so any process can continue it.
 */
export function nextOfTrip(
  prompt: Prompt,
  toText: (message: Prompt[number]) => string,
): DemoStep | undefined {
  const isAsked = (message: Prompt[number]): boolean =>
    message.role === "user" && WANTED.test(toText(message));
  const at = prompt.findLastIndex(isAsked);
  if (at < 0) return undefined;
  const since = prompt.slice(at + 1);
  if (since.some(isEnd)) return undefined;
  const trips = prompt.slice(0, at).filter(isAsked).length;
  const results = since.flatMap((message) => (message.role === "tool" ? message.content : []));
  const last = since.findLast(({ role }) => role === "tool" || role === "user");
  const heard = last?.role === "user" ? `You said "${toText(last)}". I'll keep that in mind. ` : "";
  const step = stepAfter(results, trips);
  return { ...step, text: heard + step.text };
}

/** An answer without a call, or an unanswered question. */
function isEnd(message: Prompt[number]): boolean {
  if (message.role === "assistant") return !message.content.some(({ type }) => type === "tool-call");
  if (message.role !== "tool") return false;
  return message.content.some(
    (part) =>
      part.type === "tool-result" &&
      part.output.type !== "json" &&
      (part.toolName === "ask_user" || part.toolName === "submit_plan"),
  );
}

type ToolPart = Extract<Prompt[number], { role: "tool" }>["content"][number];

function stepAfter(parts: readonly ToolPart[], trips: number): DemoStep {
  const results = parts.filter((part) => part.type === "tool-result");
  const resultsOf = (toolName: string): string[] =>
    results.filter((part) => part.toolName === toolName).map(({ output }) => textOf(output));
  // Asked again, it begins with another place.
  const places = PLACES.map((_, index) => PLACES[(index + trips) % PLACES.length]!);
  const [answer] = resultsOf("ask_user");
  if (answer === undefined) return askWhere(places, trips);
  const place = PLACES.find(({ name }) => answer.includes(name)) ?? elsewhere(answer);
  const verdict = resultsOf("submit_plan").at(-1);
  if (verdict === undefined) return submit(place, undefined);
  if (!/approved the plan/.test(verdict)) return submit(place, /Feedback: (.*)/s.exec(verdict)?.[1] ?? "");
  if (resultsOf("task_write").length === 0) return begin(place);
  const sum = resultsOf("calculator").at(0);
  if (sum === undefined) return addUp(place);
  const note = results.find(({ toolName }) => toolName === "write-note");
  if (note === undefined) return writeDown(place);
  const isWritten = note.output.type === "json";
  if (!results.some(({ toolName }, index) => toolName === "task_complete" && index > results.indexOf(note)))
    return {
      text: isWritten ? "I wrote it down." : "Then I won't write it down.",
      calls: [complete("note")],
    };
  return {
    text: `The trip to **${place.name}** is planned: ${place.days} days, ${costOf(place)} €${isWritten ? ", and it is in your notes" : ""}. Ask me to **plan another trip** for a different one.`,
  };
}

function askWhere(places: readonly Place[], trips: number): DemoStep {
  return {
    text: trips === 0 ? "First, I need to know one thing." : "Another trip! One question first.",
    calls: [
      {
        toolName: "ask_user",
        input: {
          question: trips === 0 ? "Where should the trip go?" : "Where should this one go?",
          options: places.map(({ name, days }) => ({ label: name, description: `${days} days` })),
        },
      },
    ],
  };
}

function submit(place: Place, feedback: string | undefined): DemoStep {
  const { name, days, perDay, train } = place;
  const steps = [
    `A scout finds something to see in ${name}.`,
    `Add up the cost: ${days} days at ${perDay} €, and ${train} € to get there.`,
    "Write the trip into your notes. You will be asked first.",
    ...(feedback ? [`As you asked: ${feedback}`] : []),
  ];
  const plan = steps.map((step, index) => `${index + 1}. ${step}`).join("\n");
  return {
    text: feedback === undefined ? "This is what I would do." : "I changed the plan.",
    calls: [{ toolName: "submit_plan", input: { title: `${days} days in ${name}`, plan } }],
  };
}

function begin({ name }: Place): DemoStep {
  const tasks = TASKS.map((task, index) => ({ ...task, status: index === 0 ? "in_progress" : "pending" }));
  return {
    text: "Thank you. I'll start now.",
    calls: [
      { toolName: "task_write", input: { tasks } },
      { toolName: "subagent", input: { agentType: "scout", task: `Find something to see in ${name}.` } },
    ],
  };
}

function addUp({ days, perDay, train }: Place): DemoStep {
  return {
    text: "The scout is back. Now the cost.",
    calls: [
      complete("sights"),
      { toolName: "task_update", input: { id: "cost", status: "in_progress" } },
      { toolName: "calculator", input: { expression: `${days} * ${perDay} + ${train}` } },
    ],
  };
}

function writeDown(place: Place): DemoStep {
  const text = `${place.days} days in ${place.name}, ${costOf(place)} €: see ${place.see}`;
  return {
    text: `That makes ${costOf(place)} €. I'll write it down if you let me.`,
    calls: [
      complete("cost"),
      { toolName: "task_update", input: { id: "note", status: "in_progress" } },
      { toolName: "write-note", input: { text } },
    ],
  };
}

function complete(id: (typeof TASKS)[number]["id"]): { toolName: string; input: unknown } {
  return { toolName: "task_complete", input: { id } };
}

/** What the scout says: first it takes a moment, then it has found something. */
export function nextOfScout(prompt: Prompt, task: string): DemoStep {
  if (prompt.at(-1)?.role !== "tool")
    return { text: "I'll look around.", calls: [{ toolName: "wait", input: { seconds: 1 } }] };
  const place = PLACES.find(({ name }) => task.includes(name));
  return { text: `I found ${place?.see ?? "a good bench and a bakery"}.` };
}

function elsewhere(answer: string): Place {
  const name = answer.replace("The user answered: ", "").slice(0, 40);
  return { name, days: 2, perDay: 80, train: 60, see: "what the people there recommend" };
}

function costOf({ days, perDay, train }: Place): number {
  return days * perDay + train;
}

function textOf(output: { type: string; value?: unknown }): string {
  const { value } = output;
  const { content } = Object(value) as { content?: unknown };
  return typeof content === "string"
    ? content
    : typeof value === "string"
      ? value
      : JSON.stringify(value ?? "");
}
