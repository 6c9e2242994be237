import { describe, expect, it } from "vitest";
import { type Call, fakeContext } from "./__fixtures__/context";
import { nodeGrid } from "./node_grid";
import type { Cell } from "./node_marks";

const PLAIN: Cell = {
  name: "n1",
  share: 0.5,
  pods: 3,
  cordoned: false,
  draining: false,
  tainted: false,
  ready: true,
  unreachable: false,
  pressure: false,
};

/** Everything that is drawn for the first of `count` nodes in 600 × 380 pixels, without its colours. */
async function shapesOf(cell: Cell, count: number): Promise<string> {
  const drawn: Call[] = [];
  const context = fakeContext(drawn);
  const host = document.createElement("div");
  Object.defineProperties(host, { clientWidth: { value: 600 }, clientHeight: { value: 380 } });
  const canvas = document.createElement("canvas");
  canvas.getContext = (() => context) as unknown as typeof canvas.getContext;
  const grid = nodeGrid(host, canvas, { hover: () => undefined, open: () => undefined });
  const others = Array.from({ length: count - 1 }, (_, index) => ({ ...PLAIN, name: `other-${index}` }));
  grid.update({ zones: [{ label: "", cells: [cell, ...others] }], selected: null, isPast: false, podsText: () => "" });
  await new Promise((resolve) => requestAnimationFrame(resolve));
  grid.destroy();
  return drawn.map(([name, ...given]) => `${name}(${given.join()})`).join(" ");
}

describe.each([
  [8, 4_000],
  [20, 400],
  [72, 4],
])("a cell of %d pixels", (_size, count) => {
  it.each<[string, Partial<Cell>]>([
    ["cordoned", { cordoned: true }],
    ["being drained", { cordoned: true, draining: true }],
    ["tainted", { tainted: true }],
    ["not ready", { ready: false }],
    ["unreachable", { ready: false, unreachable: true }],
    ["under pressure", { pressure: true }],
    ["over-allocated", { share: 1.2 }],
  ])("shows by its shape that its node is %s", async (_name, more) => {
    expect(await shapesOf({ ...PLAIN, ...more }, count)).not.toBe(await shapesOf(PLAIN, count));
  });

  it("tells a node that is being drained from one that is cordoned", async () => {
    const cordoned = await shapesOf({ ...PLAIN, cordoned: true }, count);
    expect(await shapesOf({ ...PLAIN, cordoned: true, draining: true }, count)).not.toBe(cordoned);
  });

  it("tells a node that is not ready from one that is unreachable", async () => {
    const notReady = await shapesOf({ ...PLAIN, ready: false }, count);
    expect(await shapesOf({ ...PLAIN, ready: false, unreachable: true }, count)).not.toBe(notReady);
  });
});
