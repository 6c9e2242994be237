/** The service's time, told once a second, for countdowns and ages. */
import { store } from "./store.svelte";

class Clock {
  private tick = $state(Date.now());

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.tick = Date.now();
    }, 1000);
  }

  get now(): number {
    return this.tick + store.skew;
  }
}

export const clock = new Clock();
