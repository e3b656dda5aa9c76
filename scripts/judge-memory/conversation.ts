/** How a fact enters the conversation, and what becomes of it. */
export const FACT_KINDS = [
  "in turn 3",
  "stated once",
  "corrected",
  "withdrawn",
  "dated relatively",
  "tool argument",
  "tool result",
  "other thread",
] as const;
export type FactKind = (typeof FACT_KINDS)[number];

export interface Fact {
  kind: FactKind;
  /** What it is about, such as "badge code of Marta". No two facts share it. */
  thing: string;
  /** What holds at the end; `undefined` if it was withdrawn. */
  value: string | undefined;
  /** The same in the words of the message, which the prompt or `recall` may show as they were said. */
  said?: string;
  /** What held before. */
  old: string | undefined;
  /** The turn from which on the fact, or its last change, is known. */
  knownFrom: number;
  /** The turn that first mentions it. */
  from: number;
}

export interface Turn {
  at: Date;
  thread: "main" | "other";
  user: string;
  /** A call that the assistant makes before it answers. */
  call?: { toolName: "register" | "look_up"; input: Record<string, string>; result: Record<string, string> };
  answer: string;
}

export interface Conversation {
  turns: Turn[];
  facts: Fact[];
}

const NOUNS = [
  "badge code",
  "locker code",
  "seat",
  "parcel number",
  "invoice",
  "ticket",
  "key tag",
  "desk",
  "order",
  "permit",
];
const NAMES = [
  "Marta",
  "Iris",
  "Tomas",
  "Nadia",
  "Olga",
  "Pavel",
  "Quinn",
  "Ravi",
  "Sana",
  "Theo",
  "Uma",
  "Viktor",
  "Wen",
  "Xenia",
  "Yara",
  "Zeno",
  "Anton",
  "Bela",
  "Cleo",
  "Dario",
];
const TOPICS = [
  "gardening",
  "bread",
  "sailing",
  "bridges",
  "birds",
  "chess",
  "maps",
  "clocks",
  "rivers",
  "violins",
];
const WORDS =
  "and then we looked at the plan once more because nobody was quite sure about it while rain fell on the roof of the long grey hall near the old harbour where people sell fish in the morning".split(
    " ",
  );

const SHARES: Record<FactKind, number> = {
  "in turn 3": 0.1,
  "stated once": 0.3,
  corrected: 0.15,
  withdrawn: 0.1,
  "dated relatively": 0.1,
  "tool argument": 0.1,
  "tool result": 0.1,
  "other thread": 0.05,
};

/** A conversation that is the same for the same numbers. */
export function makeConversation(turnCount: number, factCount: number): Conversation {
  const random = seeded(turnCount * 1000 + factCount);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const start = Date.UTC(2026, 0, 5, 9, 0);
  const turns = Array.from({ length: turnCount }, (_, index): Turn => {
    const topic = pick(TOPICS);
    return {
      at: new Date(start + index * 7 * 3_600_000),
      thread: "main",
      user: `Let us talk about ${topic}. ${filler(random, 60)}`,
      answer: `About ${topic}: ${filler(random, 120)}`,
    };
  });
  const say = (turn: number, sentence: string): void => {
    turns[turn]!.user += `\n${sentence}`;
  };
  /** A turn between shares of the conversation, never one with a call. */
  const between = (from: number, to: number): number => {
    for (;;) {
      const turn = Math.floor(turnCount * (from + (to - from) * random()));
      if (turn > 3 && turn < turnCount && !turns[turn]!.call && turns[turn]!.thread === "main") return turn;
    }
  };
  const things = NOUNS.flatMap((noun) => NAMES.map((name) => `${noun} of ${name}`));
  if (factCount > things.length)
    throw new Error(`There are at most ${things.length} facts, got ${factCount}.`);
  const kinds = FACT_KINDS.flatMap((kind) =>
    Array<FactKind>(Math.round(SHARES[kind] * factCount)).fill(kind),
  );
  const facts = kinds.slice(0, factCount).map((kind, index): Fact => {
    const thing = things[(index * 37) % things.length]!;
    const code = (): string =>
      `${String.fromCharCode(65 + Math.floor(random() * 26))}${String.fromCharCode(65 + Math.floor(random() * 26))}-${1000 + Math.floor(random() * 9000)}`;
    const value = code();
    const fact = (from: number, given: Partial<Fact> = {}): Fact => ({
      kind,
      thing,
      value,
      old: undefined,
      from,
      knownFrom: from,
      ...given,
    });
    if (kind === "in turn 3") {
      say(3, `Please note: the ${thing} is ${value}.`);
      return fact(3);
    }
    if (kind === "tool argument" || kind === "tool result") {
      const turn = between(0.01, 0.95);
      const isArgument = kind === "tool argument";
      const told = { subject: thing, code: value };
      turns[turn]!.call = {
        toolName: isArgument ? "register" : "look_up",
        input: isArgument ? told : { subject: thing },
        result: isArgument ? { status: "ok" } : told,
      };
      return fact(turn);
    }
    if (kind === "other thread") {
      let turn = between(0.05, 0.9);
      // What was said there belongs to this thread.
      while (turns[turn]!.user.includes("\n")) turn = between(0.05, 0.9);
      turns[turn]!.thread = "other";
      turns[turn]!.user = `Please note: the ${thing} is ${value}.`;
      return fact(turn);
    }
    if (kind === "dated relatively") {
      const turn = between(0.01, 0.95);
      const days = 1 + Math.floor(random() * 20);
      say(turn, `The ${thing} is due in ${days} days.`);
      return fact(turn, { value: inDays(turns[turn]!.at, days), said: `due in ${days} days` });
    }
    const first = between(0.01, 0.5);
    say(first, `Please note: the ${thing} is ${value}.`);
    if (kind === "stated once") return fact(first);
    const second = between(0.55, 0.95);
    if (kind === "withdrawn") {
      say(second, `Please forget the ${thing}: it is no longer valid.`);
      return fact(first, { value: undefined, old: value, knownFrom: second });
    }
    const next = code();
    say(second, `Correction: the ${thing} is ${next}, no longer ${value}.`);
    return fact(first, { value: next, old: value, knownFrom: second });
  });
  return { turns, facts };
}

export function inDays(from: Date, days: number): string {
  return new Date(from.getTime() + days * 86_400_000).toISOString().slice(0, 10);
}

function filler(random: () => number, words: number): string {
  return `${Array.from({ length: words }, () => WORDS[Math.floor(random() * WORDS.length)]).join(" ")}.`;
}

/** Numbers in [0, 1), the same for the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
