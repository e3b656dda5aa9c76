import type { ReactNode } from "react";
import { safeHref } from "../markdown/safe-href.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { useActions } from "./actions.tsx";
import { formatBytes, inlineBytes, toPicture } from "./attachment.ts";

/** A file of a message. Only bytes that are here are drawn or saved; an address elsewhere is a link. */
export function FilePart({
  data,
  mimeType,
  filename,
}: {
  data: string;
  mimeType: string;
  filename: string | undefined;
}): ReactNode {
  const name = filename ?? mimeType;
  const picture = toPicture(data, mimeType);
  if (picture) return <img className="picture" src={picture} alt={name} />;
  const bytes = inlineBytes(data);
  const href = bytes === undefined ? safeHref(data) : undefined;
  return (
    <p className="attachment" data-sent="">
      <Icon name="file" />
      {href ? (
        <a className="truncate" href={href} target="_blank" rel="noopener noreferrer">
          {name}
        </a>
      ) : (
        <span className="truncate">{name}</span>
      )}
      <span className="hint">{mimeType}</span>
      {bytes !== undefined && (
        <>
          <span className="hint">{formatBytes(Math.floor((bytes.length * 3) / 4))}</span>
          <SaveButton name={name} bytes={bytes} />
        </>
      )}
    </p>
  );
}

function SaveButton({ name, bytes }: { name: string; bytes: string }): ReactNode {
  const { attempt } = useActions();
  return (
    <Button
      kind="quiet"
      size="small"
      icon="down"
      label={`Save ${name}`}
      onClick={() => void attempt(async () => save(bytes, name))}
    />
  );
}

/** As bytes without a type: whatever they are, the browser saves them and opens nothing. */
function save(base64: string, name: string): void {
  const text = atob(base64.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
