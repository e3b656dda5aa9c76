import type { ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { type Attachment, formatBytes, toPicture } from "./attachment.ts";

/** The files of a message that is being written. */
export function AttachmentList({
  attachments,
  onRemove,
}: {
  attachments: readonly Attachment[];
  onRemove(id: string): void;
}): ReactNode {
  if (attachments.length === 0) return null;
  return (
    <ul className="row attachments" aria-label="Attached files">
      {attachments.map(({ id, name, mediaType, size, data }) => {
        const picture = toPicture(data, mediaType);
        return (
          <li className="attachment" key={id} data-testid="attachment">
            {picture ? <img src={picture} alt="" /> : <Icon name="file" />}
            <span className="truncate">{name}</span>
            <span className="hint">{formatBytes(size)}</span>
            <Button
              kind="quiet"
              size="small"
              icon="cross"
              label={`Remove ${name}`}
              onClick={() => onRemove(id)}
            />
          </li>
        );
      })}
    </ul>
  );
}
