import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface RecordedRequest {
  method: string;
  path: string;
  /** What its JSON says; empty where there is none. */
  body: Record<string, unknown>;
}

export interface RecordingServer {
  port: number;
  requests: RecordedRequest[];
  close(): Promise<void>;
}

/** Notes what a client really sends and answers what `reply` says; `undefined` is a 404. */
export async function startRecordingServer(
  reply: (request: RecordedRequest) => { status?: number; body: unknown } | undefined,
): Promise<RecordingServer> {
  const requests: RecordedRequest[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString("utf8");
    const recorded = {
      method: request.method ?? "",
      path: request.url ?? "",
      body: (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>,
    };
    requests.push(recorded);
    const { status = 200, body } = reply(recorded) ?? {
      status: 404,
      body: { error: "NotFoundError", message: "none" },
    };
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
