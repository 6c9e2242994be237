/** Test files share one page: what a file left in the store is not there for the next. */
import { afterAll } from "vitest";
import { store } from "./state/store.svelte";

afterAll(() => {
  store.watch(null);
  store.me = null;
});
