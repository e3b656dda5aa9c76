import { type ClientRequest, get, type IncomingMessage } from "node:http";

/** What a reader got, with the least work: it shares the machine with the server it measures. */
export class SseReader {
  readonly ids: number[] = [];
  text = "";
  /** The last frame of a server that let the reader go. */
  end: { code: string; details: { after: number } } | undefined;
  finished = false;
  readonly #url: string;
  readonly #keepText: boolean;
  readonly #later: Buffer[] | undefined;
  #request: ClientRequest | undefined;
  #response: IncomingMessage | undefined;
  #rest = "";
  #onFrame: () => void = () => {};

  constructor(url: string, threadId: string, options: { keepText?: boolean; later?: boolean } = {}) {
    this.#url = `${url}/api/agents/talker/threads/${threadId}/events?resourceId=load`;
    this.#keepText = options.keepText ?? false;
    if (options.later) this.#later = [];
  }

  get last(): number {
    return this.ids.at(-1) ?? 0;
  }

  /** Reads after a number; resolves when the line is open. */
  async connect(after: number, onFrame: () => void = () => {}): Promise<void> {
    this.#onFrame = onFrame;
    this.#rest = "";
    this.#response = await new Promise<IncomingMessage>((resolve, reject) => {
      this.#request = get(this.#url, { headers: { "last-event-id": String(after) }, agent: false }, resolve);
      this.#request.on("error", reject);
    });
    this.#request!.on("error", () => {});
    this.#response.on("error", () => {});
    if (!this.#later) this.#response.setEncoding("utf8");
    this.#response.on("data", (piece: string & Buffer) => this.#take(piece));
  }

  /** Takes nothing more from the line. */
  stall(): void {
    this.#response?.pause();
  }

  /** Goes on taking; resolves when the line ends. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#response!.on("close", resolve);
      this.#response!.resume();
    });
  }

  cut(): void {
    this.#request?.destroy();
  }

  /** Reads what was only kept while it came. */
  settle(): void {
    for (const frame of Buffer.concat(this.#later ?? [])
      .toString()
      .split("\n\n"))
      this.#read(frame);
  }

  #take(piece: string | Buffer): void {
    if (typeof piece !== "string") {
      this.#later!.push(piece);
      this.finished ||= piece.includes('"type":"finish"');
      return this.#onFrame();
    }
    const frames = (this.#rest + piece).split("\n\n");
    this.#rest = frames.pop()!;
    for (const frame of frames) this.#read(frame);
    this.#onFrame();
  }

  #read(frame: string): void {
    const data = frame.indexOf("data: ");
    if (data < 0) return;
    if (frame.startsWith("event: end")) {
      this.end = JSON.parse(frame.slice(data + 6)) as NonNullable<SseReader["end"]>;
      return;
    }
    this.ids.push(Number(frame.slice(4, data - 1)));
    if (frame.includes('"type":"finish"')) this.finished = true;
    if (!this.#keepText || !frame.includes('"type":"text-delta"')) return;
    this.text += (JSON.parse(frame.slice(data + 6)) as { payload: { text: string } }).payload.text;
  }
}

/** Every number once, without a gap. */
export function isWhole(ids: readonly number[]): boolean {
  return ids.every((id, index) => id === index + 1);
}
