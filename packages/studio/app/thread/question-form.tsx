import { type FormEvent, type ReactNode, useId, useState } from "react";
import { Button } from "../ui/button.tsx";

export interface Question {
  question: string;
  options: { label: string; description?: string }[];
  many: boolean;
}

/** What a tool asks, where it asks as `ask_user` does. */
export function toQuestion(payload: unknown): Question | undefined {
  const { question, options, selectionMode } = Object(payload) as Record<string, unknown>;
  if (typeof question !== "string") return undefined;
  return {
    question,
    options: Array.isArray(options) ? (options as Question["options"]) : [],
    many: selectionMode === "multi_select",
  };
}

/** A question with the answers to choose from; without them, a person writes one. */
export function QuestionForm({
  question: { question, options, many },
  sent,
  onAnswer,
}: {
  question: Question;
  sent: boolean;
  onAnswer(answer: string | string[]): void;
}): ReactNode {
  const id = useId();
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [words, setWords] = useState("");
  const isChoice = options.length > 0;
  const isReady = isChoice ? chosen.length > 0 : words.trim() !== "";
  const answer = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady && !sent) onAnswer(!isChoice ? words.trim() : many ? [...chosen] : chosen[0]!);
  };
  const choose = (label: string, isOn: boolean): void =>
    setChosen(many ? (isOn ? [...chosen, label] : chosen.filter((other) => other !== label)) : [label]);
  return (
    <form className="stack" onSubmit={answer} data-testid="question">
      {isChoice ? (
        <fieldset className="choices">
          <legend className="label">{question}</legend>
          {options.map(({ label, description }) => (
            <label className="check" key={label}>
              <input
                type={many ? "checkbox" : "radio"}
                name={id}
                checked={chosen.includes(label)}
                onChange={(event) => choose(label, event.target.checked)}
              />
              <span>
                {label} {description && <span className="hint">{description}</span>}
              </span>
            </label>
          ))}
        </fieldset>
      ) : (
        <div className="field">
          <label className="label" htmlFor={id}>
            {question}
          </label>
          <input className="input" id={id} value={words} onChange={(event) => setWords(event.target.value)} />
        </div>
      )}
      <div>
        <Button kind="primary" size="small" icon="check" type="submit" disabled={sent || !isReady}>
          Answer
        </Button>
      </div>
    </form>
  );
}
