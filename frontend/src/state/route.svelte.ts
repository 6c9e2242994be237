/** The address of the page: which cluster, and which view over its dashboard. */
import {
  type Address,
  address,
  followed,
  type Settings,
  type Staying,
  settingsIn,
  whole,
  withSettings,
} from "../lib/view";

const cluster = address("/clusters/:clusterId", { clusterId: whole });

export const clusterHref = (clusterId: number): string => cluster.href({ clusterId });
export const clusterIdOf = (hash: string): number | null => cluster.match(hash)?.clusterId ?? null;

/** What a view shows, as the address says it. */
export interface Shown<Values> {
  readonly values: Values;
  /** Changes the address; no step of the browser's history. */
  readonly set: (changes: Partial<Values>) => void;
}

class Router {
  hash = $state.raw(location.hash);
  readonly clusterId = $derived(clusterIdOf(this.hash));
  /** Views whose settings stay while links are followed within them. */
  views: readonly Staying[] = [];

  constructor() {
    addEventListener("hashchange", () => {
      this.hash = location.hash;
    });
    addEventListener("click", (event) => this.follow(event));
  }

  /** A link that is followed here keeps the settings that stay; one that opens elsewhere is as it is written. */
  private follow(event: MouseEvent): void {
    if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
      return;
    const link = event.target instanceof Element ? event.target.closest("a[href^='#/']") : null;
    const href = link?.getAttribute("href");
    if (!href) return;
    event.preventDefault();
    this.open(href);
  }

  shown<Values extends object>(view: { readonly settings: Settings<Values> }): Shown<Values> {
    const values = $derived(settingsIn(view.settings, this.hash));
    return {
      get values() {
        return values;
      },
      set: (changes) => {
        history.replaceState(history.state, "", withSettings(view.settings, changes, this.hash));
        this.hash = location.hash;
      },
    };
  }

  /** The parameters of a view while it is open, else null. */
  valuesOf<Values>(view: Address<Values>): Values | null {
    return view.match(this.hash);
  }

  open(href: string): void {
    location.hash = followed(this.views, this.hash, href);
  }
}

export const router = new Router();
