import type { StoredMessage } from "@selvedge/protocol";
import { expect, test } from "vitest";
import { temporalMarker, withTemporalMarkers } from "./temporal-markers.ts";

const at = (time: string): Date => new Date(`2026-03-14T${time}Z`);
const said = (role: StoredMessage["role"], time: string): StoredMessage => ({
  id: `${role}-${time}`,
  role,
  createdAt: at(time),
  content: { format: 2, parts: [{ type: "text", text: "…" }] },
});

test.each([
  ["09:09:59", undefined],
  ["09:10:00", "10 minutes passed"],
  ["10:00:00", "1 hour passed"],
  ["14:59:00", "5 hours passed"],
])("a pause until %s gives %s", (time, expected) => {
  const marker = temporalMarker(at("09:00:00"), at(time));
  if (expected === undefined) expect(marker).toBeUndefined();
  else expect(marker).toContain(expected);
});

test("a marker has the absolute time", () => {
  expect(temporalMarker(at("09:00:00"), new Date("2026-03-17T09:30:00Z"), "Europe/Rome")).toBe(
    "3 days passed since the previous message. The next one was sent at 2026-03-17 10:30 (Europe/Rome).",
  );
});

test("a clock that went back gives none", () => {
  expect(temporalMarker(at("10:00:00"), at("09:00:00"))).toBeUndefined();
});

test("only messages of a person get one, and it depends on stored times alone", () => {
  const messages = [
    said("user", "09:00:00"),
    said("assistant", "09:20:00"),
    said("user", "09:40:00"),
    said("user", "09:41:00"),
  ];
  const ids = (previous?: Date) => withTemporalMarkers(messages, { previous }).map(({ id }) => id);
  expect(ids()).toEqual([
    "user-09:00:00",
    "assistant-09:20:00",
    "om-gap-user-09:40:00",
    "user-09:40:00",
    "user-09:41:00",
  ]);
  expect(ids(at("08:00:00"))[0]).toBe("om-gap-user-09:00:00");
});

test("a marker is a reminder, not a message of anyone", () => {
  const [marker] = withTemporalMarkers([said("user", "09:40:00")], { previous: at("09:00:00") });
  expect(marker).toMatchObject({
    role: "signal",
    content: {
      metadata: {
        signal: { type: "reactive", tagName: "system-reminder", attributes: { type: "temporal-gap" } },
      },
    },
  });
});
