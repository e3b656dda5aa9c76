import type { ReactNode } from "react";

const TOOL = "browser_screenshot";

/** The result of a call without its picture, which is shown as one. */
export function withoutPicture(toolName: string, result: unknown): unknown {
  if (toolName !== TOOL || typeof result !== "object" || result === null) return result;
  const { image, ...rest } = result as Record<string, unknown>;
  return typeof image === "string" ? rest : result;
}

/** The picture of a page that a call took. */
export function Screenshot({ toolName, result }: { toolName: string; result: unknown }): ReactNode {
  const { image, url } = Object(result) as { image?: unknown; url?: unknown };
  if (toolName !== TOOL || typeof image !== "string" || image === "") return null;
  // The type is fixed: whatever the result says, it cannot become anything but a picture.
  const alt = typeof url === "string" ? `Screenshot of ${url}` : "Screenshot of the page";
  return (
    <img className="screenshot" src={`data:image/jpeg;base64,${image}`} alt={alt} data-testid="screenshot" />
  );
}
