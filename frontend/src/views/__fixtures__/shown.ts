/** Components on the page of a test, which is cleared after it (src/test_setup.ts). */
import { type Component, flushSync, mount, unmount } from "svelte";

const shown: ReturnType<typeof mount>[] = [];

export function show<Props extends Record<string, unknown>>(component: Component<Props>, props: Props): void {
  shown.push(mount(component, { target: document.body, props }));
  flushSync();
}

/** Take all that is shown from the page. */
export function close(): void {
  for (const one of shown.splice(0)) void unmount(one);
  document.body.replaceChildren();
}

export const oneLine = (element: Element): string => element.textContent?.replaceAll(/\s+/g, " ").trim() ?? "";

/** What the page says, on one line. */
export const said = (): string => oneLine(document.body);

/** What each element says that a selector finds. */
export const texts = (selector: string): readonly string[] => [...document.querySelectorAll(selector)].map(oneLine);

/** Where each link leads that a selector finds. */
export const hrefs = (selector = "a"): readonly (string | null)[] =>
  [...document.querySelectorAll(selector)].map((link) => link.getAttribute("href"));

/** The first element that a selector finds; a test that looks for one that is not there fails. */
export function found<One extends Element = HTMLElement>(selector: string): One {
  const one = document.querySelector<One>(selector);
  if (!one) throw new Error(`nothing is ${selector}`);
  return one;
}

/** The button of that name. */
export function button(name: string): HTMLButtonElement {
  const one = [...document.querySelectorAll("button")].find(
    (each) => (each.getAttribute("aria-label") ?? each.textContent?.trim()) === name,
  );
  if (!one) throw new Error(`no button ${name}`);
  return one;
}

export function press(name: string): void {
  button(name).click();
  flushSync();
}

/** Write into a field as somebody who types. */
export function type(field: HTMLInputElement | HTMLTextAreaElement, value: string): void {
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  flushSync();
}
