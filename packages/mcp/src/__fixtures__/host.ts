import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { MCPServer, StreamableHTTPServerTransportOptions } from "../index.ts";

export interface Host {
  url: URL;
  port: number;
  close(): Promise<void>;
}

type Handler = (req: IncomingMessage, res: ServerResponse) => unknown;

/** A web server on loopback that passes everything on. */
export async function host(handle: Handler, path = "/mcp", port = 0): Promise<Host> {
  const http: Server = createServer((req, res) => void handle(req, res));
  await new Promise<void>((resolve) => http.listen(port, "127.0.0.1", resolve));
  const address = http.address() as { port: number };
  return {
    url: new URL(path, `http://127.0.0.1:${address.port}`),
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

export function hostHttp(
  server: MCPServer,
  options?: StreamableHTTPServerTransportOptions,
  port?: number,
): Promise<Host> {
  const handle: Handler = (req, res) =>
    server.startHTTP({
      url: new URL(req.url ?? "", "http://localhost"),
      httpPath: "/mcp",
      req,
      res,
      ...(options && { options }),
    });
  return host(handle, "/mcp", port);
}

export function hostSse(server: MCPServer, kind: "startSSE" | "startHonoSSE" = "startSSE"): Promise<Host> {
  return host(
    (req, res) =>
      server[kind]({
        url: new URL(req.url ?? "", "http://localhost"),
        ssePath: "/sse",
        messagePath: "/message",
        req,
        res,
      }),
    "/sse",
  );
}
