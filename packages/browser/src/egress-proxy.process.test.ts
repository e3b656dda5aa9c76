import { createServer, request } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { type AddressRuleOptions, AddressRules } from "./address-rules.ts";
import { EgressProxy } from "./egress-proxy.ts";

/** A proxy in front of a server on loopback. Every address leads there, and is noted. */
async function scene(options: AddressRuleOptions) {
  const server = createServer((req, res) => res.setHeader("x-path", req.url!).end(req.headers.host));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const dialled: string[] = [];
  const proxy = await EgressProxy.start(new AddressRules(options), (address): Socket => {
    dialled.push(address);
    return connect({ host: "127.0.0.1", port });
  });
  onTestFinished(() => {
    proxy.close();
    server.close();
  });
  const via = { host: "127.0.0.1", port: new URL(proxy.url).port };
  return {
    port,
    proxy,
    dialled,
    get: (url: string) =>
      new Promise<{ status: number; body: string }>((resolve, reject) => {
        const host = URL.canParse(url) ? new URL(url).host : "x";
        request({ ...via, path: url, headers: { host } }, async (reply) => {
          let body = "";
          for await (const piece of reply) body += String(piece);
          resolve({ status: reply.statusCode!, body });
        })
          .on("error", reject)
          .end();
      }),
    connect: (authority: string) =>
      new Promise<number>((resolve, reject) => {
        const asked = request({ ...via, method: "CONNECT", path: authority });
        asked.on("connect", (reply, socket) => {
          socket.destroy();
          resolve(reply.statusCode!);
        });
        asked.on("response", (reply) => resolve(reply.statusCode!));
        asked.on("error", reject).end();
      }),
  };
}

const PUBLIC = "93.184.216.34";

describe("the browser's proxy", () => {
  it("connects to the address that it checked, and looks a name up once per connection", async () => {
    const answers = [[PUBLIC], ["127.0.0.1"], [PUBLIC], ["127.0.0.1"]];
    const { get, connect: tunnel, dialled } = await scene({ resolve: async () => answers.shift() ?? [] });
    expect(await get("http://rebound.test/path")).toEqual({ status: 200, body: "rebound.test" });
    expect(await get("http://rebound.test/path")).toMatchObject({ status: 403 });
    expect(await tunnel("rebound.test:443")).toBe(200);
    expect(await tunnel("rebound.test:443")).toBe(403);
    expect(dialled).toEqual([PUBLIC, PUBLIC]);
    expect(answers).toEqual([]);
  });

  it("refuses a name if one of its addresses is private, or it has none", async () => {
    const {
      get,
      connect: tunnel,
      dialled,
      proxy,
    } = await scene({
      resolve: async (name) => (name === "mixed.test" ? [PUBLIC, "10.0.0.1"] : []),
    });
    expect((await get("http://mixed.test/")).body).toContain("private network");
    expect(proxy.refusalOf("http://mixed.test/other")).toContain("private network");
    expect((await get("http://nowhere.test/")).body).toContain("does not resolve");
    expect(await tunnel("[::1]:443")).toBe(403);
    expect(await tunnel("169.254.169.254:80")).toBe(403);
    expect(dialled).toEqual([]);
  });

  it("reaches only the named origins, by port; a named one may be private", async () => {
    const allowedOrigins = ["http://localhost:3000", "https://shop.test"];
    const { get, connect: tunnel } = await scene({ allowedOrigins, resolve: async () => ["127.0.0.1"] });
    expect(await get("http://localhost:3000/x")).toMatchObject({ status: 200 });
    expect(await tunnel("shop.test:443")).toBe(200);
    expect((await get("http://localhost:3001/")).body).toContain("allowedOrigins");
    expect((await get("http://shop.test/")).body).toContain("allowedOrigins");
    expect(await tunnel("other.test:443")).toBe(403);
  });

  it("reaches private addresses if they are allowed, and any public one beside a named one with *", async () => {
    const open = await scene({ allowPrivateNetwork: true });
    expect(await open.get("http://127.0.0.1:1234/")).toMatchObject({ status: 200 });
    const both = await scene({
      allowedOrigins: ["*", "http://localhost:3000"],
      resolve: async () => [PUBLIC],
    });
    expect(await both.get("http://any.test/")).toMatchObject({ status: 200 });
    expect(await both.get("http://127.0.0.1:3000/")).toMatchObject({ status: 403 });
  });

  it("is not a server: it refuses requests that are not for a proxy", async () => {
    const { get } = await scene({});
    expect(await get("/etc/passwd")).toMatchObject({ status: 400 });
    expect(await get("https://example.com/")).toMatchObject({ status: 400 });
  });

  it("refuses origins that are none", () => {
    for (const origin of ["example.com", "https://example.com/path", "file:///", "https://*.example.com/x"])
      expect(() => new AddressRules({ allowedOrigins: [origin] })).toThrow(
        /allowedOrigins must list origins/,
      );
  });
});
