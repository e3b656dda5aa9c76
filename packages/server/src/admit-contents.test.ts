import { describe, expect, test } from "vitest";
import { byHeader, frames, readUntil, served } from "./__fixtures__/served.ts";
import { FileHosts } from "./file-hosts.ts";

const params = { agentId: "helper" };
const bare = { agentId: "bare" };
const providerOptions = { openai: { serviceTier: "priority" } };
const text = { type: "text", text: "Hi" } as const;
const file = (data: string) => ({ type: "file", data, mediaType: "image/png" }) as const;

/** Every way by which contents come in, for parts and for what stands beside them. */
const WAYS: Record<string, [name: "generate" | "sendMessage", input: (parts: object[]) => object]> = {
  "of a run": ["generate", (parts) => ({ params, body: { messages: [{ role: "user", content: parts }] } })],
  "of a history": [
    "generate",
    (parts) => ({
      params: bare,
      body: {
        messages: [
          {
            role: "user",
            content: { format: 2, parts: parts.map((part) => ({ ...part, mimeType: "image/png" })) },
          },
        ],
      },
    }),
  ],
  "of a chat without memory": [
    "chat" as never,
    (parts) => ({ params: bare, body: { id: "c", messages: [{ role: "user", parts }] } }),
  ],
  "of a tool's answer": [
    "generate",
    (parts) => ({
      params,
      body: {
        messages: [
          {
            role: "tool",
            content: [
              {
                type: "tool-result",
                toolCallId: "1",
                toolName: "add",
                output: { type: "content", value: parts },
              },
            ],
          },
        ],
      },
    }),
  ],
  "sent into a thread": ["sendMessage", (parts) => ({ params, body: { threadId: "t", message: parts } })],
  "of a queued message": [
    "queueMessage" as never,
    (parts) => ({ params, body: { threadId: "t", message: { contents: parts } } }),
  ],
  "of a signal": [
    "sendSignal" as never,
    (parts) => ({ params, body: { threadId: "t", signal: { type: "user", contents: parts } } }),
  ],
};

describe("options for the provider", () => {
  test.each(Object.entries(WAYS))("in a part %s need the grant for options", async (_, [name, input]) => {
    const { call, model } = served(() => "ok", { authorize: byHeader });
    const parts = [{ ...text, providerOptions }];
    const response = await call(name, input(parts) as never, "ann+signals,inspect,tools");
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ code: "forbidden" });
    expect(model.calls).toHaveLength(0);
    expect((await call(name, input(parts) as never, "ann+run-options")).status).toBe(200);
  });

  test("of a message need it too, and reach the model with it", async () => {
    const { call, model } = served(() => "ok", { authorize: byHeader });
    const body = { messages: [{ role: "user", content: "Hi", providerOptions }] };
    const message = { contents: "Hi", providerOptions };
    const signal = { type: "user", ...message } as const;
    expect((await call("generate", { params, body }, "ann")).status).toBe(403);
    expect((await call("sendMessage", { params, body: { threadId: "t", message } }, "ann")).status).toBe(403);
    expect((await call("sendSignal", { params, body: { threadId: "t", signal } }, "ann")).status).toBe(403);
    expect((await call("generate", { params, body }, "ann+run-options")).status).toBe(200);
    expect(model.calls.at(-1)!.prompt.at(-1)).toMatchObject({ providerOptions });
  });

  test("cannot be put into a message that waits", async () => {
    const { call, json } = served([{ toolCalls: [{ toolName: "pay", input: { amount: 1 } }] }, "ok"], {
      authorize: byHeader,
    });
    const stream = frames(await call("subscribe", { params, body: { threadId: "t" } }, "ann"));
    await call("sendMessage", { params, body: { threadId: "t", message: "Pay." } }, "ann");
    await readUntil(stream, "tool-call-approval");
    await stream.return(undefined);
    await call("queueMessage", { params, body: { threadId: "t", message: "Later." } }, "ann");
    const { messages } = await json("listQueue", { params: { threadId: "t" } }, "ann");
    const edit = (contents: object[]) =>
      call(
        "editQueued",
        { params: { threadId: "t", messageId: messages[0]!.id }, body: { contents } } as never,
        "ann",
      );
    expect((await edit([{ ...text, providerOptions }])).status).toBe(403);
    expect((await edit([file("http://127.0.0.1/")])).status).toBe(403);
    expect((await edit([text])).status).toBe(200);
  });

  test("that a history brings back are left out, and data of tools is as it was", async () => {
    const { call, model } = served(() => "ok", { authorize: byHeader });
    const messages = [
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm", providerMetadata: { openai: { itemId: "rs_of_somebody_else" } } },
          { type: "tool-call", toolCallId: "1", toolName: "add", input: { providerOptions: "mine" } },
        ],
      },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "1", toolName: "add", output: 3 }] },
      {
        role: "assistant",
        parts: [
          {
            type: "tool-add",
            toolCallId: "2",
            state: "output-available",
            input: {},
            output: 3,
            callProviderMetadata: { openai: { itemId: "rs_of_somebody_else" } },
            resultProviderMetadata: { openai: { itemId: "rs_of_somebody_else" } },
          },
          {
            type: "file",
            mediaType: "image/png",
            url: "data:image/png;base64,AAAA",
            providerReference: { openai: "rs_of_somebody_else" },
          },
        ],
      },
      { role: "user", content: "Hi" },
    ];
    expect((await call("generate", { params, body: { messages } }, "ann")).status).toBe(200);
    const prompt = JSON.stringify(model.calls[0]!.prompt);
    expect(prompt).not.toContain("rs_of_somebody_else");
    expect(prompt).toContain('{"providerOptions":"mine"}');
  });
});

describe("a file by URL", () => {
  const INSIDE = [
    "http://127.0.0.1:8080/admin",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://169.254.169.254/latest/meta-data/",
    "https://10.1.2.3/x.png",
    "http://[::1]/",
    "http://[::ffff:192.168.0.1]/",
    "http://[fd00::1]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[fec0::1]/",
    "http://[2001:0:a00:1::]/",
  ];

  test.each(Object.entries(WAYS))("%s does not come from inside", async (_, [name, input]) => {
    const { call, model } = served(() => "ok");
    for (const url of INSIDE)
      expect([url, (await call(name, input([file(url)]) as never)).status]).toEqual([url, 403]);
    for (const url of [
      "file:///etc/passwd",
      "gopher://10.0.0.1/",
      "http://",
      `http://192.0.2.7/${"x".repeat(9000)}`,
    ])
      expect([url, (await call(name, input([file(url)]) as never)).status]).toEqual([url, 400]);
    expect(model.calls).toHaveLength(0);
    // Addresses of documentation, which nobody has.
    for (const data of ["https://192.0.2.7/a.png", "data:image/png;base64,AAAA", "AAAA"])
      expect((await call(name, input([file(data)]) as never)).status).toBe(200);
  });

  test("does not come from inside by the other spellings of clients", async () => {
    const { call } = served(() => "ok");
    const url = "http://10.0.0.1/";
    const ask = async (name: string, input: object) => (await call(name as never, input as never)).status;
    const messages = (...parts: object[]) => [{ role: "user", content: parts }];
    const image = { type: "image_url", image_url: { url } };
    expect(await ask("chatCompletions", { body: { model: "bare", messages: messages(image) } })).toBe(403);
    expect(await ask("responses", { body: { model: "bare", input: messages(image) } })).toBe(403);
    const ui = { role: "user", id: "1", parts: [{ type: "file", url, mediaType: "image/png" }] };
    expect(await ask("chat", { params, body: { id: "c", messages: [ui] } })).toBe(403);
    expect(
      await ask("generate", { params, body: { messages: messages({ type: "image", image: url }) } }),
    ).toBe(403);
    const thought = [{ role: "assistant", parts: [{ type: "reasoning-file", url, mediaType: "image/png" }] }];
    expect(await ask("generate", { params, body: { messages: thought } })).toBe(403);
    const context = messages(file(url));
    expect(await ask("generate", { params, body: { messages: "Hi", context } })).toBe(403);
    const v4 = { type: "file", mediaType: "image/png", data: { type: "url", url } };
    const [, answer] = WAYS["of a tool's answer"]!;
    expect(await ask("generate", answer([v4]))).toBe(403);
    expect(await ask("generate", answer([{ type: "image-url", url }]))).toBe(403);
  });

  test("is not what a tool of the client happens to answer", async () => {
    const { call, model } = served(() => "ok", { authorize: byHeader });
    const page = { type: "image", url: "http://localhost:3000/logo.png", providerOptions: "of the page" };
    for (const output of [page, { type: "json", value: page }]) {
      const content = [{ type: "tool-result", toolCallId: "1", toolName: "look", output }];
      expect(
        (await call("generate", { params, body: { messages: [{ role: "tool", content }] } }, "ann")).status,
      ).toBe(200);
      expect(JSON.stringify(model.calls.at(-1)!.prompt)).toContain('"of the page"');
    }
  });

  test("comes from where the app says", async () => {
    const { call } = served(() => "ok", { allowedFileHosts: ["Files.internal", "10.0.0.1"] });
    const ask = async (url: string) =>
      (await call("generate", { params, body: { messages: [{ role: "user", content: [file(url)] }] } }))
        .status;
    expect(await ask("http://10.0.0.1:9000/x")).toBe(200);
    expect(await ask("http://files.internal/x")).toBe(200);
    expect(await ask("http://10.0.0.2/x")).toBe(403);
  });

  test("is judged by every address of its name, and one without an address like one inside", async () => {
    const names: Record<string, string[]> = {
      "public.example": ["192.0.2.7", "2001:db8::1"],
      "half.example": ["192.0.2.7", "10.0.0.1"],
      "inside.example": ["fd00::1"],
    };
    const hosts = new FileHosts([], async (name) => names[name] ?? []);
    await hosts.check(new Set(["public.example"]));
    const refusals = await Promise.all(
      ["half.example", "inside.example", "nowhere.example"].map((host) =>
        hosts.check(new Set([host])).catch((error: Error) => error.message.replace(host, "…")),
      ),
    );
    expect(new Set(refusals).size).toBe(1);
    expect(refusals[0]).toMatch(/not a public address/);
    const many = new Set(Array.from({ length: 17 }, (_, index) => `${index}.example`));
    await expect(hosts.check(many)).rejects.toMatchObject({ code: "limit-exceeded" });
  });
});
