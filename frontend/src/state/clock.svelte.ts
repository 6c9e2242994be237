/** The time in the cluster that is shown, told once a second and with what the service says, for countdowns and ages. */
import { timeAt } from "../live/time";
import { store } from "./store.svelte";

class Clock {
  /** This computer's time. */
  wall = $state(Date.now());

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.wall = Date.now();
    }, 1000);
  }

  get now(): number {
    return store.time ? timeAt(store.time, this.wall) : this.wall;
  }
}

export const clock = new Clock();
