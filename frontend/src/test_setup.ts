/** Test files share one page: what a test shows or stubs, or leaves in address and store, is not there for the next. */
import { afterAll, afterEach, vi } from "vitest";
import { router } from "./state/route.svelte";
import { store } from "./state/store.svelte";
import { close } from "./views/__fixtures__/shown";

afterEach(() => {
  close();
  vi.unstubAllGlobals();
  // The router hears of a new address only later, when the next test may have begun.
  history.replaceState(null, "", location.pathname);
  router.hash = location.hash;
});

afterAll(() => {
  store.watch(null);
  store.me = null;
});
