import { expect, it } from "vitest";
import { nodeGrid } from "./node_grid";
import type { Cell } from "./node_marks";

const COUNT = 4_000;
const CELL = { share: 0.5, pods: 3, cordoned: false, draining: false, tainted: false, ready: true };
const cells: readonly Cell[] = Array.from({ length: COUNT }, (_, index) => ({
  ...CELL,
  name: `n${index}`,
  unreachable: false,
  pressure: false,
}));

/** A grid, and what painting it drew last: how many boxes, rings among them, and how many places were cleared. */
function painted() {
  const drawn: string[] = [];
  const context = new Proxy({} as CanvasRenderingContext2D, {
    get: (_, name) => (name === "measureText" ? () => ({ width: 0 }) : () => drawn.push(String(name))),
    set: () => true,
  });
  const host = document.createElement("div");
  Object.defineProperties(host, { clientWidth: { value: 600 }, clientHeight: { value: 380 } });
  const canvas = document.createElement("canvas");
  canvas.getContext = (() => context) as unknown as typeof canvas.getContext;
  const grid = nodeGrid(host, canvas, { hover: () => undefined, open: () => undefined });
  async function update(cells: readonly Cell[], more: { selected?: string; label?: string; text?: string } = {}) {
    drawn.length = 0;
    const { selected = null, label = "", text = "" } = more;
    grid.update({ zones: [{ label, cells }], selected, podsText: () => text });
    await new Promise((resolve) => requestAnimationFrame(resolve));
    const count = (name: string) => drawn.filter((one) => one === name).length;
    return { boxes: count("roundRect"), rings: count("stroke"), cleared: count("clearRect") };
  }
  return { grid, update };
}

const changed = (index: number, more: Partial<Cell>): readonly Cell[] =>
  cells.with(index, { ...(cells[index] as Cell), ...more });

it("paints only the cells that changed, and those that have a ring or had one", async () => {
  const { grid, update } = painted();
  expect((await update(cells)).boxes).toBe(COUNT);
  expect(await update(cells)).toEqual({ boxes: 0, rings: 0, cleared: 0 });
  expect(await update(changed(7, { share: 0.7 }))).toEqual({ boxes: 1, rings: 0, cleared: 1 });
  expect(await update(cells, { selected: "n9" })).toEqual({ boxes: 3, rings: 1, cleared: 2 });
  expect(await update(cells)).toEqual({ boxes: 1, rings: 0, cleared: 1 });
  grid.destroy();
});

it("rings the node to which a pod came", async () => {
  const { grid, update } = painted();
  await update(cells);
  expect(await update(changed(7, { pods: 4 }))).toEqual({ boxes: 2, rings: 1, cleared: 1 });
  grid.destroy();
});

it("paints all when a zone, the language or the colours are others", async () => {
  const { grid, update } = painted();
  await update(cells);
  expect((await update(cells, { label: "zone" })).boxes).toBe(COUNT);
  expect((await update(cells, { label: "zone", text: "pods" })).boxes).toBe(COUNT);
  grid.repaint();
  expect((await update(cells, { label: "zone", text: "pods" })).boxes).toBe(COUNT);
  grid.destroy();
});
