import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Call, fakeContext } from "./__fixtures__/context";
import { layOut, nodeGrid, spacingOf } from "./node_grid";
import type { Cell } from "./node_marks";

const COUNT = 4_000;
const CELL = { share: 0.5, pods: 3, cordoned: false, draining: false, tainted: false, ready: true };
const cells: readonly Cell[] = Array.from({ length: COUNT }, (_, index) => ({
  ...CELL,
  name: `n${index}`,
  unreachable: false,
  pressure: false,
}));

interface More {
  readonly selected?: string;
  readonly isPast?: boolean;
  readonly label?: string;
  readonly text?: string;
}

// A ring fades, and is not there any more when the machine is late with the frame.
beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** A grid, and what painting it drew last: how many boxes, rings among them, and how many places were cleared. */
function painted() {
  const drawn: Call[] = [];
  const context = fakeContext(drawn);
  const host = document.createElement("div");
  Object.defineProperties(host, { clientWidth: { value: 600 }, clientHeight: { value: 380 } });
  const canvas = document.createElement("canvas");
  canvas.getContext = (() => context) as unknown as typeof canvas.getContext;
  const grid = nodeGrid(host, canvas, { hover: () => undefined, open: () => undefined });
  function after(change: () => void) {
    drawn.length = 0;
    change();
    vi.advanceTimersToNextFrame();
    const count = (name: string) => drawn.filter(([one]) => one === name).length;
    return { boxes: count("roundRect"), rings: count("stroke"), cleared: count("clearRect") };
  }
  function update(cells: readonly Cell[], more: More = {}) {
    const { selected = null, isPast = false, label = "", text = "" } = more;
    return after(() => grid.update({ zones: [{ label, cells }], selected, isPast, podsText: () => text }));
  }
  return { grid, canvas, drawn, after, update };
}

const changed = (index: number, more: Partial<Cell>): readonly Cell[] =>
  cells.with(index, { ...(cells[index] as Cell), ...more });

it("paints only the cells that changed, and those that have a ring or had one", () => {
  const { grid, update } = painted();
  expect(update(cells).boxes).toBe(COUNT);
  expect(update(cells)).toEqual({ boxes: 0, rings: 0, cleared: 0 });
  expect(update(changed(7, { share: 0.7 }))).toEqual({ boxes: 1, rings: 0, cleared: 1 });
  expect(update(cells, { selected: "n9" })).toEqual({ boxes: 3, rings: 1, cleared: 2 });
  expect(update(cells)).toEqual({ boxes: 1, rings: 0, cleared: 1 });
  grid.destroy();
});

it("rings the node to which a pod came", () => {
  const { grid, update } = painted();
  update(cells);
  expect(update(changed(7, { pods: 4 }))).toEqual({ boxes: 2, rings: 1, cleared: 1 });
  grid.destroy();
});

it("rings none in the past, where one moment need not follow the other", () => {
  const { grid, update } = painted();
  update(cells, { isPast: true });
  expect(update(changed(7, { pods: 4 }), { isPast: true }).rings).toBe(0);
  grid.destroy();
});

it("knows nothing of a node that was gone", () => {
  const { grid, update } = painted();
  update(cells);
  update(cells.toSpliced(7, 1));
  expect(update(changed(7, { pods: 4 })).rings).toBe(0);
  grid.destroy();
});

it("paints all when a zone, the language or the colours are others", () => {
  const { grid, update } = painted();
  update(cells);
  expect(update(cells, { label: "zone" }).boxes).toBe(COUNT);
  expect(update(cells, { label: "zone", text: "pods" }).boxes).toBe(COUNT);
  grid.repaint();
  expect(update(cells, { label: "zone", text: "pods" }).boxes).toBe(COUNT);
  grid.destroy();
});

it("paints all when the browser, which had taken its canvas, gives it back empty", () => {
  const { grid, canvas, after, update } = painted();
  update(cells);
  const restored = () => canvas.dispatchEvent(new Event("contextrestored"));
  expect(after(restored).boxes).toBe(COUNT);
  grid.destroy();
  expect(after(restored).boxes).toBe(0);
});

/** In pixels of a screen with so many in one of ours; each is to be a whole one. */
function onScreen(length: number, scale: number): number {
  const whole = Math.round(length * scale);
  expect(Math.abs(length * scale - whole)).toBeLessThan(1e-6);
  return whole;
}

it("leaves a pixel of the screen at least between cells of any size, whatever the page's own size", () => {
  const wrong: unknown[] = [];
  for (let percent = 25; percent <= 260; percent += 1) {
    const scale = percent / 100;
    for (let size = 8; size <= 72; size += 1) {
      const { gap, step } = spacingOf(size, scale);
      const isRoom = gap * scale > 1 - 1e-6 && step - gap > size - 1e-6;
      const isWhole = [gap, step].every((length) => Math.abs(length * scale - Math.round(length * scale)) < 1e-6);
      if (!isRoom || !isWhole) wrong.push({ scale, size, gap, step });
    }
  }
  expect(wrong).toEqual([]);
});

describe.each([0.25, 0.3, 0.5, 0.67, 0.75, 0.9, 1, 1.1, 1.25, 1.5, 2, 2.6])(
  "with %d pixels in one of ours",
  (scale) => {
    it.each([4, 40, 400])("keeps %d cells within the room that it takes", (count) => {
      const { size, height, places } = layOut([{ label: "", cells: cells.slice(0, count) }], 600, 380, scale);
      expect(Math.max(...places.map(({ x }) => x + size))).toBeLessThanOrEqual(600);
      expect(Math.max(...places.map(({ y }) => y + size))).toBeLessThanOrEqual(height);
    });

    it.each([4, 400, COUNT])("clears all first; of %d cells then the one that changes, with its ring", (count) => {
      vi.stubGlobal("devicePixelRatio", scale);
      const { grid, canvas, drawn, update } = painted();
      const some = cells.slice(0, count);
      const rectangles = (name: string) =>
        drawn.filter(([one]) => one === name).map(([, ...given]) => given as number[]);

      update(some);
      const [all] = rectangles("clearRect");
      expect(all?.map((length) => onScreen(length, scale))).toEqual([0, 0, canvas.width, canvas.height]);
      const [[x = 0, y = 0, size = 0] = [], [next = 0] = []] = rectangles("roundRect");

      update(some, { selected: "n0" });
      const ring = rectangles("roundRect")[1]?.[0] ?? x; // the middle of its stroke
      expect(ring).toBeLessThan(x);

      update(some);
      const [[left = 0, top = 0, width = 0, height] = []] = rectangles("clearRect");
      const gap = onScreen(x - left, scale);
      expect([onScreen(y - top, scale), height]).toEqual([gap, width]);
      expect(onScreen(left + width, scale)).toBe(onScreen(next, scale));
      expect(onScreen(width, scale)).toBe(Math.ceil(size * scale) + 2 * gap);
      expect(2 * (x - ring)).toBeLessThanOrEqual(gap / scale + 1e-6);
      grid.destroy();
    });
  },
);
