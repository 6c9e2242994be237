/** The address of the page: which cluster, and which view over its dashboard. */
import { type Address, address, whole } from "../lib/view";

const cluster = address("/clusters/:clusterId", { clusterId: whole });

export const clusterHref = (clusterId: number): string => cluster.href({ clusterId });
export const clusterIdOf = (hash: string): number | null => cluster.match(hash)?.clusterId ?? null;

class Router {
  hash = $state.raw(location.hash);
  readonly clusterId = $derived(clusterIdOf(this.hash));

  constructor() {
    addEventListener("hashchange", () => {
      this.hash = location.hash;
    });
  }

  /** The parameters of a view while it is open, else null. */
  valuesOf<Values>(view: Address<Values>): Values | null {
    return view.match(this.hash);
  }

  open(href: string): void {
    location.hash = href;
  }
}

export const router = new Router();
