/** What the dashboard can show and do, by name: what of the search only the browser knows. */
import { api } from "../../api/client";
import { i18n, LANGUAGES, type Language, t } from "../../i18n/index.svelte";
import { isOnlyRead } from "../../lib/reading";
import { withSettings } from "../../lib/view";
import { preferences } from "../../state/preferences.svelte";
import { clusterHref, router } from "../../state/route.svelte";
import { store } from "../../state/store.svelte";
import { cacheHref } from "../cache/view";
import { configHref } from "../config/view";
import { dashboardView, listHref } from "../dashboard/view";
import { LISTS } from "../lists/rows";
import { workloadsHref } from "../workloads/view";

/** `href`: where a view is; without one `run` does it. Throws ApiError where the service refuses. */
export interface Entry {
  readonly kind: "view" | "action";
  readonly id: string;
  readonly name: string;
  readonly href?: string;
  readonly run?: () => unknown;
  readonly isDialog?: boolean; // another one, that `run` opens
}

/** Dialogs of the top bar; one that the user may not open is left out. */
export type Dialogs = Readonly<Partial<Record<"time" | "import" | "make" | "access" | "tokens", () => void>>>;

export function entries(dialogs: Dialogs): readonly Entry[] {
  const cluster = store.state?.cluster ?? null;
  const found: Entry[] = [];
  const shows = (id: string, name: string, href: string) => found.push({ kind: "view", id, name, href });
  const does = (id: string, name: string, run: () => unknown) => found.push({ kind: "action", id, name, run });
  const asks = (id: keyof Dialogs, name: string) => {
    const run = dialogs[id];
    if (run) found.push({ kind: "action", id, name, run, isDialog: true });
  };
  if (cluster) {
    shows("dashboard", t("search.dashboard"), clusterHref(cluster.id));
    shows("workloads", t("workloads.title"), workloadsHref(cluster.id));
    if (!cluster.is_mirror) shows("cache", t("cache.title"), cacheHref(cluster.id));
    shows("config", t("bar.config"), configHref(cluster.id));
  }
  shows("docs", t("search.apiDocs"), "/api/docs");
  if (store.me?.is_superuser) shows("admin", t("bar.admin"), "/admin/");
  if (cluster) {
    for (const list of LISTS)
      shows(`list ${list}`, t("search.list", { name: t(`lists.${list}`) }), listHref(cluster.id, list));
  }
  asks("time", t("time.title"));
  asks("import", t("bar.import"));
  asks("make", t("make.title"));
  asks("access", t("bar.access"));
  asks("tokens", t("bar.tokens"));
  if (cluster && !isOnlyRead(cluster) && store.may("operator")) {
    for (const pace of ["run", "pause"] as const) {
      does(`pace ${pace}`, t("search.pace", { name: t(`pace.${pace}`) }), () => api.pace(cluster.id, { pace }));
    }
  }
  if (cluster) {
    for (const nodes of ["grid", "list"] as const) {
      does(`nodes ${nodes}`, t(`search.nodes.${nodes}`), () => {
        preferences.setNodes(nodes);
        router.open(withSettings(dashboardView.settings, { nodes }, router.hash));
      });
    }
  }
  for (const theme of ["auto", "light", "dark"] as const) {
    const name = t("search.theme", { name: t(`bar.theme.${theme}`) });
    does(`theme ${theme}`, name, () => preferences.setTheme(theme));
  }
  for (const [language, name] of Object.entries(LANGUAGES)) {
    does(`language ${language}`, t("search.language", { name }), () => i18n.use(language as Language));
  }
  does("logout", t("bar.logout"), api.logout);
  return found;
}
