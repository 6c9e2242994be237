import { afterEach, expect, it } from "vitest";
import type { InVain } from "../contract/api.gen";
import { i18n } from "../i18n/index.svelte";
import { inVainText } from "./inVain";

const VOLUMES: InVain = {
  reason: "volume-phase",
  kind: "PersistentVolume",
  count: 4,
  names: ["a", "b", "c"],
  message: "",
};

afterEach(() => i18n.use("en"));

it.each([
  ["en", VOLUMES, /^4 of the kind PersistentVolume \(a, b, c, …\): has no phase\. No controller makes/],
  ["en", { ...VOLUMES, count: 3 }, /^3 of the kind PersistentVolume \(a, b, c\): /],
  ["en", { ...VOLUMES, count: 1, names: ["a"] }, /^PersistentVolume a: has no phase/],
  ["zh-Hans", VOLUMES, /^4 个 PersistentVolume（a, b, c, …）：没有 phase。/],
  ["zh-Hans", { ...VOLUMES, count: 1, names: ["a"] }, /^PersistentVolume a：没有 phase。/],
] as const)("is told with its kind, its names and the reason: %s", async (language, found, want) => {
  await i18n.use(language);
  expect(inVainText(found)).toMatch(want);
});
