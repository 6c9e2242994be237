/** What changes more often than anybody can read it. */
import { untrack } from "svelte";

export interface Paced<T> {
  readonly current: T;
}

/** The value, anew at most once in so many ms: a change after a pause shows at once. For use while a component is made. */
export function paced<T>(value: () => T, everyMs: number): Paced<T> {
  let current = $state.raw(untrack(value));
  let shownAt = Number.NEGATIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const show = (next: T): void => {
    timer = undefined;
    if (next === current) return;
    shownAt = performance.now();
    current = next;
  };
  $effect.pre(() => {
    const next = value();
    const wait = shownAt + everyMs - performance.now();
    if (timer !== undefined) return;
    if (wait <= 0) untrack(() => show(next));
    else timer = setTimeout(() => show(untrack(value)), wait);
  });
  $effect(() => () => clearTimeout(timer));
  return {
    get current() {
      return current;
    },
  };
}
