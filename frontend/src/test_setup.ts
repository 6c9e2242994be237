/** Test files share one page: what a test shows or stubs, or leaves in the store, is not there for the next. */
import { afterAll, afterEach, vi } from "vitest";
import { store } from "./state/store.svelte";
import { close } from "./views/__fixtures__/shown";

afterEach(() => {
  close();
  vi.unstubAllGlobals();
});

afterAll(() => {
  store.watch(null);
  store.me = null;
});
