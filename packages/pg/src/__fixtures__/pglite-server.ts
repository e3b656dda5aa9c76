import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { PGLiteSocketServer } from "@electric-sql/pglite-socket";

export interface TestServer {
  connectionString: string;
  stop(): Promise<void>;
}

/**
 * PostgreSQL in WebAssembly behind the real wire protocol. It has one backend, so it proves nothing about concurrency.
 */
export async function startPglite(): Promise<TestServer> {
  const db = await PGlite.create({ extensions: { vector } });
  const server = new PGLiteSocketServer({ db, host: "127.0.0.1", port: 0, maxConnections: 20 });
  const listening = new Promise<number>((resolve) => {
    server.addEventListener("listening", (event) => {
      resolve((event as CustomEvent<{ port: number }>).detail.port);
    });
  });
  await server.start();
  return {
    connectionString: `postgresql://postgres:postgres@127.0.0.1:${await listening}/postgres?sslmode=disable`,
    stop: async () => {
      await server.stop();
      await db.close();
    },
  };
}
