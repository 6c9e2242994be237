/** Every pair of colours that stand on each other, in both themes, has the contrast that WCAG 2.2 AA asks for. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

import { LAST_LIGHT_STEP } from "./charts/node_grid";

const TEXT = 4.5;
const SIGN = 3; // of shapes that say something: lines, bars, rings

const GROUNDS = ["bg", "surface", "raised", "sunken"];
const HUES = ["good", "warn", "bad", "cool", "quiet", "accent"];
const STEPS = [0, 1, 2, 3, 4, 5, 6, 7];

/** [colour, what it stands on, contrast] */
const PAIRS: readonly (readonly [string, string, number])[] = [
  ...["text", "muted", "faint", ...HUES].flatMap((ink) => GROUNDS.map((ground) => [ink, ground, TEXT] as const)),
  ...HUES.map((hue) => [hue, `${hue}-soft`, TEXT] as const),
  // A row under the mouse or one that is chosen has a soft ground; what is written in it stays readable.
  ...HUES.flatMap((hue) => ["text", "muted", "faint", "accent"].map((ink) => [ink, `${hue}-soft`, TEXT] as const)),
  ["accent-ink", "accent", TEXT],
  ["past-ink", "past", TEXT],
  ["past-line", "surface", SIGN],
  ...STEPS.map((step) => [step <= LAST_LIGHT_STEP ? "util-ink-low" : "util-ink-high", `util-${step}`, TEXT] as const),
  ["util-ink-high", "util-over", TEXT],
  ...["series-attempts", "series-bound", "series-pending"].map((line) => [line, "surface", SIGN] as const),
  ...STEPS.map((plugin) => [`plugin-${plugin}`, "surface", SIGN] as const),
  ["util-5", "sunken", SIGN],
];

function tokens(selector: string): ReadonlyMap<string, string> {
  const css = readFileSync("src/style.css", "utf8");
  const start = css.indexOf(`${selector} {`);
  const block = css.slice(start, css.indexOf("}", start));
  return new Map(
    [...block.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6});/g)].map((found) => [found[1] ?? "", found[2] ?? ""]),
  );
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

describe.each([":root", ':root[data-theme="dark"]'])("contrast in %s", (selector) => {
  const theme = tokens(selector);

  it.each(PAIRS)("--%s on --%s is at least %d", (ink, ground, least) => {
    const [first, second] = [theme.get(ink), theme.get(ground)];
    if (!first || !second) throw new Error(`--${ink} or --${ground} is no colour of this theme`);
    expect(Number(contrast(first, second).toFixed(2)), `${first} on ${second}`).toBeGreaterThanOrEqual(least);
  });
});

it("knows the contrast of black on white, and of a grey that just fails", () => {
  expect(contrast("#000000", "#ffffff")).toBeCloseTo(21);
  expect(contrast("#777777", "#ffffff")).toBeCloseTo(4.48, 2);
});
