import { createElement, type ReactNode } from "react";
import { expect, it } from "vitest";
import { renderHook } from "./__fixtures__/render.ts";
import { withDocument } from "./__fixtures__/with-document.ts";
import { MastraReactProvider, type MastraReactProviderProps, useMastraClient } from "./index.ts";

withDocument();

it("keeps its client while the headers say the same, and makes another for somebody else", async () => {
  let props: MastraReactProviderProps = {};
  const { all, rerender, unmount } = renderHook(useMastraClient, (children: ReactNode) =>
    createElement(MastraReactProvider, { baseUrl: "http://127.0.0.1:1", ...props }, children),
  );
  const renderWith = async (next: MastraReactProviderProps) => {
    const before = all.length;
    props = next;
    rerender();
    await expect.poll(() => all.length).toBeGreaterThan(before);
    return all.at(-1)!;
  };
  const ann = await renderWith({ headers: { authorization: "Bearer ann" } });
  expect(await renderWith({ headers: { authorization: "Bearer ann" } })).toBe(ann);
  expect(await renderWith({ headers: { authorization: "Bearer ben" } })).not.toBe(ann);
  const asking = await renderWith({ headers: () => ({ authorization: "Bearer 1" }) });
  expect(await renderWith({ headers: () => ({ authorization: "Bearer 2" }) })).toBe(asking);
  unmount();
});
