import { memo, type ReactNode } from "react";
import { CopyButton } from "../ui/copy-button.tsx";
// oxlint-disable-next-line no-restricted-imports -- of this package: the terminal uses it, too
import { highlight } from "../../src/highlight.ts";

/** Code with its language, in colours, to be copied. */
export const CodeBlock: (props: { code: string; language: string }) => ReactNode = memo(
  ({ code, language }: { code: string; language: string }) => (
    <figure className="code-block">
      <figcaption className="code-head">
        <span>{language || "text"}</span>
        <CopyButton label="Copy this code" text={() => code} />
      </figcaption>
      <pre tabIndex={0}>
        <code>
          {highlight(code, language).map(({ kind, text }, index) =>
            kind === "plain" ? (
              text
            ) : (
              <span key={index} data-code={kind}>
                {text}
              </span>
            ),
          )}
        </code>
      </pre>
    </figure>
  ),
);
