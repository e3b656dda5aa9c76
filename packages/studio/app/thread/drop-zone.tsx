import { type DragEvent, type ReactNode, useState } from "react";

/** Takes files that are dropped anywhere on it. */
export function DropZone({
  className,
  onDrop,
  children,
}: {
  className: string;
  onDrop(files: File[]): void;
  children: ReactNode;
}): ReactNode {
  const [over, setOver] = useState(false);
  const hasFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer.types.includes("Files");
  return (
    <div
      className={className}
      data-drop={over || undefined}
      onDragOver={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        setOver(false);
        onDrop([...event.dataTransfer.files]);
      }}
    >
      {children}
      {over && <p className="drop-hint">Drop files to attach them</p>}
    </div>
  );
}
