import type { Token, Tokens as Marked } from "marked";
import { memo, type ReactNode, useRef } from "react";
import { CodeBlock } from "./code-block.tsx";
import { safeHref } from "./safe-href.ts";
import { type Tokens, toTokens } from "./tokens.ts";

/** Markdown as elements. HTML in it is shown as text, images as links: nothing is loaded and nothing is run. */
export const Markdown: (props: { text: string }) => ReactNode = memo(({ text }: { text: string }) => {
  const last = useRef<Tokens>(undefined);
  const { tokens } = (last.current = toTokens(text, last.current));
  return (
    <div className="markdown">
      {tokens.map((token, index) => (
        <Block key={index} token={token} />
      ))}
    </div>
  );
});

const Block: (props: { token: Token }) => ReactNode = memo(({ token }: { token: Token }) => block(token));

function block(token: Token): ReactNode {
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "heading": {
      // The page has the first two levels.
      const Heading = `h${Math.min(6, (token as Marked.Heading).depth + 2)}` as "h3";
      return <Heading>{inline(token.tokens)}</Heading>;
    }
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    case "code": {
      const { text, lang } = token as Marked.Code;
      return <CodeBlock code={text} language={/^\S+/.exec(lang ?? "")?.[0] ?? ""} />;
    }
    case "blockquote":
      return <blockquote>{blocks(token.tokens)}</blockquote>;
    case "hr":
      return <hr />;
    case "list":
      return list(token as Marked.List);
    case "table":
      return table(token as Marked.Table);
    case "text":
      return token.tokens ? inline(token.tokens) : plain(token);
    default:
      return <p>{token.raw}</p>;
  }
}

function blocks(tokens: Token[] | undefined): ReactNode {
  return tokens?.map((token, index) => <Block key={index} token={token} />);
}

function list({ ordered, start, items }: Marked.List): ReactNode {
  const entries = items.map((item, index) => (
    <li key={index} data-task={item.task || undefined}>
      {item.task && <input type="checkbox" checked={item.checked === true} readOnly aria-label="Done" />}
      {blocks(item.tokens.filter((token) => token.type !== "checkbox"))}
    </li>
  ));
  return ordered ? <ol start={start === "" ? 1 : start}>{entries}</ol> : <ul>{entries}</ul>;
}

function table({ header, rows }: Marked.Table): ReactNode {
  return (
    <div className="table-scroll" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {header.map((cell, index) => (
              <th key={index} data-align={cell.align ?? undefined}>
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, index) => (
                <td key={index} data-align={cell.align ?? undefined}>
                  {inline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: Token[] | undefined): ReactNode {
  return tokens?.map((token, index) => <Inline key={index} token={token} />);
}

function Inline({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{(token as Marked.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link":
      return link((token as Marked.Link).href, inline(token.tokens), token.raw);
    case "image":
      return link((token as Marked.Image).href, (token as Marked.Image).text || token["href"], token.raw);
    case "escape":
      return (token as Marked.Escape).text;
    case "text":
      return token.tokens ? inline(token.tokens) : plain(token);
    default:
      return token.raw;
  }
}

function link(href: string, children: ReactNode, raw: string): ReactNode {
  const safe = safeHref(href);
  if (safe === undefined) return raw;
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
};

function plain(token: Token): string {
  return String((token as Marked.Text).text).replace(
    /&(amp|lt|gt|quot|apos|nbsp);/g,
    (_, name: string) => ENTITIES[name]!,
  );
}
