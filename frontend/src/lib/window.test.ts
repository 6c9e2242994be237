import { flushSync, tick } from "svelte";
import { afterEach, describe, expect, it } from "vitest";
import { ListWindow } from "./window.svelte";

const ROW = 30;

/** A list of `count` rows, 240 pixels high: what a view does with the window, without the view. */
function listOf(count: number) {
  const keys = Array.from({ length: count }, (_, row) => `k${row}`);
  const list = new ListWindow(() => keys, ROW);
  const host = document.createElement("div");
  Object.defineProperty(host, "clientHeight", { value: 240 });
  document.body.append(host);
  const detach = list.attach(host);
  function draw() {
    const kept = new Set(list.shown);
    for (const row of host.querySelectorAll<HTMLElement>("[data-row]"))
      if (!kept.delete(Number(row.dataset.row))) row.remove();
    for (const row of kept) {
      const made = document.createElement("p");
      made.dataset.row = String(row);
      made.innerHTML = `<a href="#${row}">${row}</a>`;
      host.append(made);
    }
  }
  function scroll(top: number) {
    host.scrollTop = top;
    host.dispatchEvent(new Event("scroll"));
    flushSync();
    draw();
  }
  async function press(key: string) {
    document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    draw();
    await tick();
  }
  async function focusOn(row: number) {
    linkOf(host, row)?.focus();
    await tick();
  }
  scroll(0);
  return { list, host, scroll, press, detach, focusOn };
}

function linkOf(host: HTMLElement, row: number) {
  return host.querySelector<HTMLElement>(`[data-row="${row}"] a`);
}

const focusedText = () => document.activeElement?.textContent;

afterEach(() => document.body.replaceChildren());

describe("ListWindow", () => {
  it("draws a screenful of a long list, not all of it", () => {
    const { list, scroll } = listOf(8000);
    scroll(3000);
    expect([list.shown[0], list.shown.at(-1)]).toEqual([96, 112]);
    scroll(7992 * ROW);
    expect([list.shown[0], list.shown.at(-1)]).toEqual([7988, 7999]);
  });

  it("draws nothing of an empty list", () => expect(listOf(0).list.shown).toEqual([]));

  it("has one stop for Tab: the first row in sight, or the row with the focus", async () => {
    const { list, scroll, focusOn } = listOf(100);
    scroll(15 * ROW);
    expect(list.shown.filter((row) => list.tabindex(row) === 0)).toEqual([15]);
    await focusOn(17);
    expect(list.shown.filter((row) => list.tabindex(row) === 0)).toEqual([17]);
  });

  it("moves the focus with the keys, to rows that were not drawn as well", async () => {
    const { focusOn, press } = listOf(500);
    await focusOn(0);
    await press("ArrowDown");
    expect(focusedText()).toBe("1");
    await press("End");
    expect(focusedText()).toBe("499");
    await press("PageUp");
    expect(focusedText()).toBe("492");
    await press("ArrowUp");
    expect(focusedText()).toBe("491");
    await press("Home");
    await press("ArrowUp");
    expect(focusedText()).toBe("0");
  });

  it("keeps the row with the focus when it is scrolled out of sight, above and below", async () => {
    const { list, scroll, focusOn } = listOf(500);
    await focusOn(3);
    scroll(200 * ROW);
    expect(list.shown[0]).toBe(3);
    expect(list.shown[1]).toBe(196);
    expect(focusedText()).toBe("3");
    await focusOn(203);
    scroll(0);
    expect(list.shown.at(-1)).toBe(203);
    expect(focusedText()).toBe("203");
  });
});
