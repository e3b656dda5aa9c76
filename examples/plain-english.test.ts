import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { sourceTexts } from "./source-texts.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const PAGES = globSync(["*.md", "docs/*.md", "packages/**/README.md", "{bench,docs-site}/README.md"], {
  cwd: ROOT,
  exclude: ["**/node_modules/**"],
});

/** Whose errors, help texts and pages people read. Tests and the simulator talk to contributors. */
const SOURCES = globSync(["packages/*/{src,app,bin}/**/*.{ts,tsx,js}"], {
  cwd: ROOT,
  exclude: ["**/*.test*", "**/__fixtures__/**", "packages/testing/src/**"],
});

interface Rule {
  /** A space stands for any white space, `CODE` for a piece of inline code. Case does not matter. */
  avoid: string[];
  write: string;
  /** Phrases that the rule has to find. */
  finds: string[];
  /** Phrases that look alike and are fine. */
  allows?: string[];
}

const RULES: Rule[] = [
  {
    avoid: [
      String.raw`CODE answers\b`,
      String.raw`\b(?:it|which|call|function|method|send|server) answers\b`,
      String.raw`\banswers (?:with|at once)\b`,
      String.raw`\b(?:is|are) answered (?:with|like)\b`,
    ],
    write: "returns, responds",
    finds: [
      "`generate()` answers everything at once",
      "A send answers at once",
      "it is answered like the first",
    ],
    allows: [
      "The answers go to stdout",
      "the `error` answer",
      "Piped input is answered line by line",
      "the passages that answer",
    ],
  },
  {
    avoid: [
      String.raw`\b(?:is|are|was|were|be|been|being) told\b(?! apart)`,
      String.raw`\b(?:gets?|got|getting) to know\b`,
    ],
    write: "receives, is notified",
    finds: ["the model is told", "who gets to know", "those are told about it"],
    allows: ["The two forms are told apart by `context`"],
  },
  {
    avoid: [String.raw`\b(?:go|goes|going|gone|went) on\b(?! (?:the|your|their|its|each) )`],
    write: "continue, resume",
    finds: ["the run goes on", "is gone on from by that", "it went on without"],
    allows: ["those settings go on the agent"],
  },
  {
    avoid: [String.raw`\b(?:somebody|nobody|everybody|anybody|who(?:m)?ever|those who|somebody else)\b`],
    write: "the role: the caller, another process, a client, no one",
    finds: [
      "a thread of somebody else",
      "Whoever sees the chunk",
      "tells those who subscribed",
      "by whomever",
    ],
    allows: ["no one is there to approve it", "however many there are"],
  },
  {
    avoid: [
      String.raw`\bof (?:its|their|your|his|her|our|my) own(?=[^\w\s]|$| (?:and|or|with|in|at|on|for|to|that|which|when|where|by|before|after|beside|there|here|waits|is|are|has)\b)`,
    ],
    write: "its own …, a separate …",
    finds: ["a run of its own", "a server of your own"],
    allows: ["the thread has its own run", "only the records of its own resource"],
  },
  {
    avoid: [
      String.raw`\b(?:broken|lost|quiet|cut|dead) lines?\b`,
      String.raw`\blines? (?:(?:that|which) )(?:breaks?|broke|drops?|dropped)\b`,
      String.raw`\b(?:its|the|a) line (?:breaks|broke|drops|dropped|was down|is down)\b`,
      String.raw`\blines cut\b`,
      String.raw`\bover (?:a |the )?lines?\b`,
      String.raw`\b(?:opens?|closes?|keeps?) the line\b`,
    ],
    write: "connection",
    finds: ["a quiet line gets a comment", "lines that break", "a line that breaks", "opens the line again"],
    allows: [
      "The line on the left is the thread",
      "a plain line for every tenth",
      "the log line has it",
      "Line breaks are kept",
    ],
  },
  {
    avoid: [String.raw`\b(?:a|no) double\b(?! click)`, String.raw`\bdoubled\b`],
    write: "a duplicate, duplicated",
    finds: ["no gap and no double", "nothing lost or doubled"],
    allows: ["Delays double and are randomised", "A double click on the title"],
  },
  {
    avoid: [String.raw`\bmend(?:s|ed|ing)?\b`],
    write: "fix, fixed",
    finds: ["both mended", "what it finds is mended"],
    allows: ["recommended", "amended"],
  },
  {
    avoid: [
      String.raw`(?<!\bthere )\b(?:is|are|was|were) (?:none\b|no (?!longer|more|one|different|such)\w)`,
    ],
    write: "is not a …",
    finds: ["this value is none", "what is no date", "is no heading"],
    allows: ["There is no bundler", "it is no longer kept", "There are none", "No one is there"],
  },
  {
    avoid: [
      String.raw`\btakes? (?:CODE(?! (?:ms|milliseconds|seconds)\b)|what\b|anything\b|an? (?:function|object|string|list|array|number|option|scorer|resource|message)\b)`,
    ],
    write: "accepts",
    finds: ["`LibSQLStore` takes `file:<path>`", "takes what the agent takes", "it takes a scorer"],
    allows: ["It takes `batchWindow` milliseconds", "which takes about a minute", "takes over its threads"],
  },
  {
    avoid: [
      String.raw`CODE holds?\b`,
      String.raw`\bholds? (?:what|everything|an entry|the (?:results?|messages?|texts?|weights?|values?|words))\b`,
      String.raw`\b(?:subpath|package|store|table|file) (?:that )?holds\b(?! the (?:file )?lock)`,
    ],
    write: "contains",
    finds: [
      "`model.calls` holds what the model was asked",
      "the packages hold the weights",
      "A store holds threads",
    ],
    allows: [
      "where each guarantee holds",
      "a process holds the file lock",
      "These properties hold for every text",
    ],
  },
  {
    avoid: [String.raw`\bwhat is JSON\b`],
    write: "the JSON-serialisable part",
    finds: ["a later delivery has what is JSON"],
  },
  {
    avoid: [
      String.raw`\b(?:has|have|had) come\b`,
      String.raw`\bcame\b(?! from)`,
      String.raw`\bcomes? (?:in(?! (?:two|three|several|pairs|the order)\b)|next|late|twice|again|by|at once)\b`,
      String.raw`\b(?:as it|who|what|those that|when it) comes?\b(?! from| with| later)`,
    ],
    write: "arrives, arrived",
    finds: [
      "for every 64 KB that has come",
      "when the message comes in",
      "the text as it comes",
      "in which they came",
    ],
    allows: [
      "the object it came from",
      "what it comes with",
      "whether the dead process comes back",
      "Errors come in two kinds",
    ],
  },
  {
    avoid: [String.raw`\bin good time\b`, String.raw`\bat length\b`],
    write: "early, in full",
    finds: ["runs it at length", "ends in good time"],
  },
  {
    avoid: [String.raw`\blook(?:s|ed|ing) at\b`],
    write: "checks, is retried",
    finds: ["The search looks at every entry", "is looked at again"],
    allows: ["Look at them."],
  },
  {
    avoid: [String.raw`\b(?:may|might|can) (?:or may not )?have been done\b`],
    write: "may or may not have executed",
    finds: ["One that may have been done is not", "may or may not have been done"],
  },
  {
    avoid: [
      String.raw`\bwords of (?:an? |the |any |other )?(?:errors?|exceptions?|failures?)\b`,
      String.raw`\b(?:has|have|reads?|sees?|gets?) the words\b`,
      String.raw`'s words\b`,
    ],
    write: "message",
    finds: ["the words of an error", "the log has the words under it", "marked as that server's words"],
    allows: ["the words of the question", "Words are compared by their stems"],
  },
  {
    avoid: [String.raw`\b(?:broke|breaks|broken) off\b`],
    write: "was interrupted",
    finds: ["The stream broke off"],
  },
  {
    avoid: [String.raw`\bunder way\b`],
    write: "active, in progress",
    finds: ["You have 8 runs under way already", "An answer is under way"],
  },
  {
    avoid: [String.raw`\b(?:given|gave|giving) up\b`],
    write: "abandoned, cancelled, stopped",
    finds: ["The reply was given up"],
  },
  {
    avoid: [String.raw`\banew\b`],
    write: "again",
    finds: ["read anew"],
  },
  {
    avoid: [String.raw`\b(?:number|numbers|weights) from (?:\d+|CODE) on\b`],
    write: "1 or more",
    finds: ["must be a whole number from 1 on"],
  },
  {
    avoid: [String.raw`\b(?:must be|is) a text\b(?! (?:search|part))`],
    write: "a string",
    finds: ["toolCallId must be a text"],
    allows: ["must be a text search configuration"],
  },
  {
    avoid: [String.raw`\b(?:does|do) not fit\b`],
    write: "does not match, is not valid",
    finds: ["The answer does not fit the schema"],
  },
  {
    avoid: [
      String.raw`\bcarr(?:y|ies|ied|ying) out (?:at most |one |its |their |a |the )?(?:CODE )?(?:runs?|threads?|jobs?)\b`,
      String.raw`\b(?:runs|threads|jobs) that (?:one|this|a) process carries out\b`,
    ],
    write: "execute, run",
    finds: ["the processes that carry out runs", "runs that one process carries out at once"],
    allows: ["Carry out the plan."],
  },
  {
    avoid: [
      String.raw`\bfrom (?!then\b|now\b|here\b)(?:node |the next |your next )?[\w.,]+(?: entries)? on(?=[.,;:)]|$)`,
      String.raw`\bfrom [\d.,]+(?: entries)? on\b`,
    ],
    write: "N or more, N or later, starting with",
    finds: ["HNSW from 20,000 entries on", "(from Node 22.15 on)", "You can call it from your next step on."],
    allows: [
      "the events from now on",
      "From then on, any reader can decide",
      "from 1 to 3 on each side",
      "a message from ada",
    ],
  },
  {
    avoid: [String.raw`\bbut without effect\b`],
    write: "but no effect, but has no effect",
    finds: ["accepted, but without effect"],
  },
  {
    avoid: [String.raw`\bby the clock\b`],
    write: "on a schedule, at fixed times",
    finds: ["starts a workflow by the clock"],
  },
  {
    avoid: [String.raw`\b(?:takes?|taking|took) (?:it|them|changes|a grant) back\b`],
    write: "reverts, revokes",
    finds: ["`/undo` takes it back", "take a grant back"],
  },
  {
    avoid: [String.raw`\bwhat of an?\b`],
    write: "which parts of a …",
    finds: ["Show what of a project works"],
    allows: ["What is left of a thread"],
  },
  {
    avoid: [String.raw`\bshow(?:s|ed)? (?:that (?:it|they) lives?|(?:no )?signs of life)\b`],
    write: "heartbeat",
    finds: ["when each last showed that it lives", "shows no signs of life"],
  },
  {
    avoid: [String.raw`\bof (?:theirs|ours)\b`],
    write: "their …, our …",
    finds: ["A response of theirs that is too long"],
  },
  {
    avoid: [String.raw`\b(?:gets?|got) the ending\b`, String.raw`\b(?:is|are|was) put back\b`],
    write: "is renamed with the suffix; is restored",
    finds: ["the program gets the ending `.blocked`", "such a link is put back"],
    allows: ["Put the file back, or restart."],
  },
  {
    avoid: [
      String.raw`\bcounts? from now\b`,
      String.raw`\bthe most that is allowed\b`,
      String.raw`\band the like\b`,
    ],
    write: "applies from now; the limit is; such as",
    finds: [
      "A new pattern counts from now",
      "1,000 steps, the most that is allowed",
      "`@daily` and the like",
    ],
  },
  {
    avoid: [String.raw`\bso far\b`, String.raw`\bby then\b`],
    write: "nothing, or the figure and its date",
    finds: ["180,000 so far", "what it had by then"],
  },
];

const pattern = ({ avoid }: Rule): RegExp =>
  new RegExp(avoid.join("|").replaceAll(" ", String.raw`\s+`), "gi");

/** What a reader reads as sentences: no code, addresses or tags. Lines stay where they are. */
const prose = (text: string): string =>
  text
    .replaceAll(/^```[\s\S]*?^```$/gm, (block) => block.replaceAll(/[^\n]/g, ""))
    .replaceAll(/<!--[\s\S]*?-->|<\/?[a-z][^>]*>/g, (tag) => tag.replaceAll(/[^\n]/g, ""))
    .replaceAll(/`[^`\n]+`/g, "CODE")
    .replaceAll(/\]\([^)\s]+\)/g, "]");

/** Where a text says what should be said otherwise. */
function translated(text: string): string[] {
  const plain = prose(text);
  return RULES.flatMap((rule) =>
    [...plain.matchAll(pattern(rule))].map((match) => {
      const line = plain.slice(0, match.index).split("\n").length;
      return `line ${line}: "${match[0].replaceAll(/\s+/g, " ")}": write ${rule.write}`;
    }),
  );
}

describe("a rule of plain English", () => {
  it.each(RULES.flatMap(({ finds, write }) => finds.map((phrase) => ({ phrase, write }))))(
    "finds $phrase",
    ({ phrase, write }) => {
      expect(translated(phrase)).toContainEqual(expect.stringContaining(`write ${write}`));
    },
  );

  it.each(RULES.flatMap(({ allows = [] }) => allows))("allows %s", (phrase) => {
    expect(translated(phrase)).toEqual([]);
  });

  it("leaves code, comments and addresses alone", () => {
    expect(translated("```ts\n// it goes on\n```\n<!-- nobody -->\n[the run](goes-on.md) `nobody`")).toEqual(
      [],
    );
  });

  it("finds a phrase that is broken over two lines, and says where it starts", () => {
    expect(translated("One.\nThe run goes\non.")).toEqual(['line 2: "goes on": write continue, resume']);
  });
});

describe("a page in plain English", () => {
  it.each(PAGES)("%s has none of the phrases to avoid", (page) => {
    expect(translated(readFileSync(`${ROOT}${page}`, "utf8"))).toEqual([]);
  });
});

describe("a source in plain English", () => {
  it("is read with its strings, templates and elements, and without its names", () => {
    const source = `
      import x from "it goes on";
      throw new AgentError("not-found", \`The run \${id} goes on, \` + "and nobody " + why);
      const page = <p title="So far">Nobody {"came"} <b>here</b></p>;`;
    expect(sourceTexts(source, "page.tsx").map(({ line, text }) => `${line}: ${text}`)).toEqual([
      "3: The run `…` goes on, and nobody `…`",
      "4: Nobody came `…`",
      "4: So far",
    ]);
  });

  it.each(SOURCES)("%s has none of the phrases to avoid", (file) => {
    const texts = sourceTexts(readFileSync(`${ROOT}${file}`, "utf8"), file);
    const problems = texts.flatMap(({ line, text }) =>
      translated(text).map((problem) => `${file}:${line}: ${problem.replace(/^line \d+: /, "")} in: ${text}`),
    );
    expect(problems).toEqual([]);
  });
});
