import { connect, createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

export interface CuttingProxy {
  readonly url: string;
  /** Connections that were cut. */
  readonly cuts: number;
  /** The port of the server, for new connections. */
  port: number;
  /** How many bytes of answers each connection may carry before it is cut; without end when `undefined`. */
  limit: (() => number) | undefined;
  /** The same for bytes of requests. */
  requestLimit: (() => number) | undefined;
  /** Cuts every connection now. */
  cutAll(): void;
  close(): Promise<void>;
}

/** A line to a server that breaks: it cuts connections, in the middle of whatever they carry. */
export async function cuttingProxy(port: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  let cuts = 0;
  const proxy = createServer((client) => {
    const upstream = connect(self.port, "127.0.0.1");
    const pair = [client, upstream];
    const cut = () => {
      for (const socket of pair) {
        socket.destroy();
        sockets.delete(socket);
      }
    };
    for (const socket of pair) {
      sockets.add(socket);
      socket.on("error", cut).on("close", cut);
    }
    const pass = (from: Socket, to: Socket, limit = Number.POSITIVE_INFINITY): void => {
      let left = limit;
      from.on("data", (data) => {
        const part = data.subarray(0, left);
        left -= part.length;
        if (left > 0) to.write(part);
        else {
          cuts++;
          // The last bytes arrive; then the connection is dead.
          to.write(part, cut);
        }
      });
    };
    pass(client, upstream, self.requestLimit?.());
    pass(upstream, client, self.limit?.());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const self: CuttingProxy = {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    get cuts() {
      return cuts;
    },
    port,
    limit: undefined,
    requestLimit: undefined,
    cutAll: () => {
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    close: async () => {
      self.cutAll();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
  return self;
}
