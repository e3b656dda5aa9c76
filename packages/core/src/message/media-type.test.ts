import type { LanguageModelV2, LanguageModelV3 } from "@ai-sdk/provider";
import { detectMediaType } from "@ai-sdk/provider-utils";
import { describe, expect, it } from "vitest";
import { adaptModel } from "../model/adapt-model.ts";
import { realSystem } from "../system.ts";
import { type MessagesInput, toStoredMessages } from "./message-input.ts";
import { mediaTypeOf } from "./media-type.ts";
import { MessageList } from "./message-list.ts";

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const bytes = new Uint8Array(Buffer.from(PNG, "base64"));
const prompt = (input: MessagesInput) => new MessageList(realSystem).add(input, "input").toPrompt();
const filesOf = (...content: object[]) => {
  const [message] = prompt({ role: "user", content });
  return message!.content as { mediaType: string; data: unknown }[];
};

describe("the media type of a file", () => {
  it("is the one of its data URL, or of its first bytes", () => {
    const types = filesOf(
      { type: "image", image: `data:image/png;base64,${PNG}` },
      { type: "image", image: new URL(`data:image/webp;base64,${PNG}`) },
      { type: "image", image: PNG },
      { type: "image", image: bytes },
      { type: "image", image: bytes.buffer },
      { type: "file", data: bytes, mediaType: "image/*" },
      { type: "file", data: bytes, mediaType: "image" },
      { type: "file", data: bytes },
      { type: "file", data: `data:text/csv;charset=utf-8;base64,YQ==` },
      { type: "file", data: `data:image/png;base64,${PNG}`, mediaType: "image/jpeg" },
      { type: "file", data: bytes, mediaType: "image/x-own" },
    ).map(({ mediaType }) => mediaType);
    expect(types).toEqual([
      "image/png",
      "image/webp",
      ...Array.from({ length: 6 }, () => "image/png"),
      "text/csv",
      "image/png",
      "image/x-own",
    ]);
  });

  it("is needed where nothing tells it", () => {
    expect(() => filesOf({ type: "file", data: "AAAA" })).toThrow(/needs mediaType/);
    expect(() => filesOf({ type: "file", data: "https://a.example/b" })).toThrow(/needs mediaType/);
    expect(filesOf({ type: "image", image: "https://a.example/b" })[0]!.mediaType).toBe("image/*");
  });

  it("is found for messages that were stored without it", () => {
    const part = { type: "file" as const, data: PNG, mimeType: "image/*" };
    const [message] = toStoredMessages("x", realSystem);
    message!.content.parts = [part, { ...part, data: `data:image/png;base64,${PNG}` }];
    expect(prompt(message!)).toMatchObject([
      { content: [{ mediaType: "image/png" }, { mediaType: "image/png" }] },
    ]);
  });

  it.each(["v2", "v3"] as const)("reaches a model of specification %s", async (specificationVersion) => {
    let seen: any;
    const model = {
      specificationVersion,
      provider: "acme",
      modelId: "m",
      supportedUrls: {},
      doStream: (options: { prompt: unknown }) => {
        seen = options.prompt;
        throw new Error("seen");
      },
    } as unknown as LanguageModelV2 | LanguageModelV3;
    const file = { type: "image", image: bytes };
    await adaptModel(model)
      .doStream({ prompt: prompt({ role: "user", content: [file] }) })
      .then(undefined, () => {});
    expect(seen[0].content[0]).toMatchObject({ mediaType: "image/png", data: PNG });
  });

  const START: Record<string, string> = {
    gif: "474946383961",
    jpeg: "ffd8ffe0",
    webp: "52494646000000005745425056503820",
    bmp: "424d3600000000000000",
    tiff: "49492a00",
    avif: "0000001c6674797061766966",
    heic: "0000001c6674797068656963",
    pdf: "255044462d",
    mp3: "fffb9000",
    wav: "524946460000000057415645",
    ogg: "4f67675300",
    flac: "664c614300",
    webm: "1a45dfa3",
    mp4: "0000001c6674797069736f6d",
    nothing: "00112233",
  };
  it.each(Object.entries(START))("is what the AI SDK finds for %s", (_, hex) => {
    const data = Buffer.from(hex, "hex").toString("base64");
    expect(mediaTypeOf(data, undefined)).toBe(detectMediaType({ data }));
    for (const topLevelType of ["image", "audio", "video", "text"])
      expect(mediaTypeOf(data, `${topLevelType}/*`)).toBe(
        detectMediaType({ data, topLevelType }) ?? `${topLevelType}/*`,
      );
  });
});

describe("the data of a file", () => {
  it("may be a data URL that is not base64", () => {
    const text = (url: string) => {
      const [{ data }] = filesOf({ type: "file", data: url }) as any[];
      return Buffer.from(data.data, "base64").toString();
    };
    expect(text("data:text/plain,a%20b%C3%A9")).toBe("a bé");
    expect(text("data:text/plain;charset=utf-8,né")).toBe("né");
  });
});
