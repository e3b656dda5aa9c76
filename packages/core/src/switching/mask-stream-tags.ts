interface MaskOptions {
  /** Called when a tag begins. */
  onStart?: () => void;
  /** Called when a tag ends. */
  onEnd?: () => void;
  /** Called with the text inside. */
  onMask?: (chunk: string) => void;
}

/** Removes `<tag>…</tag>` from a stream of text, even where a tag is split over chunks. */
export async function* maskStreamTags(
  stream: AsyncIterable<string>,
  tag: string,
  { onStart, onEnd, onMask }: MaskOptions = {},
): AsyncGenerator<string, void> {
  const [open, close] = [`<${tag}>`, `</${tag}>`];
  let rest = "";
  let isInside = false;
  for await (const chunk of stream) {
    rest += chunk;
    for (;;) {
      const wanted = isInside ? close : open;
      const at = rest.indexOf(wanted);
      const end = at >= 0 ? at : rest.length - lengthOfBeginning(rest, wanted);
      const text = rest.slice(0, end);
      if (text !== "" && isInside) onMask?.(text);
      else if (text !== "") yield text;
      rest = rest.slice(at >= 0 ? at + wanted.length : end);
      if (at < 0) break;
      isInside = !isInside;
      if (isInside) onStart?.();
      else onEnd?.();
    }
  }
  if (rest !== "" && !isInside) yield rest;
}

/** How many characters at the end of a text may be the beginning of a tag. */
function lengthOfBeginning(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--)
    if (text.endsWith(tag.slice(0, length))) return length;
  return 0;
}
