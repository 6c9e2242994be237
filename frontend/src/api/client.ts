/**
 * All requests to the service: nothing outside this folder speaks HTTP with it. Their types come from the OpenAPI document;
 * what goes wrong is thrown as an ApiError (answers.ts).
 */
import createClient from "openapi-fetch";
import type {
  AgainQuery,
  AgreementQuery,
  CacheQuery,
  ClockChange,
  ClusterChange,
  ClusterCreate,
  ComparisonQuery,
  Cursor,
  FitSuggestion,
  Fork,
  Import,
  ImportOptions,
  ListFilter,
  MatrixQuery,
  MirrorChange,
  MirrorCreate,
  NodeChange,
  NodeRefusalQuery,
  ObjectEventQuery,
  PaceChange,
  PageQuery,
  PendingPodQuery,
  PreemptionQuery,
  paths,
  SearchQuery,
  SlowestQuery,
  ThroughputQuery,
  TimelineQuery,
  TokenCreate,
  WhyQuery,
} from "../contract/api.gen";
import { t } from "../i18n/index.svelte";
import { snapshotOf } from "../live/columns";
import { answerOf, done, unreachable } from "./answers";
import { csrfToken } from "./csrf";
import { ApiError } from "./errors";
import { all, pageAt } from "./pages";
import { inTurn, isPast, ofMoment } from "./past";
import { upload } from "./upload";

export { ApiError, apiError } from "./errors";

export type ListName = paths["/api/clusters/{cluster_id}/lists/{what}"]["get"]["parameters"]["path"]["what"];

const ATTEMPTS = 100;

const client = createClient<paths>({
  baseUrl: location.origin,
  headers: { Accept: "application/json" },
  credentials: "same-origin",
  querySerializer: search,
  fetch: (request) =>
    inTurn(request, () => fetch(request)).catch(() => {
      throw unreachable();
    }),
});
client.use({
  onRequest: ({ request, schemaPath }) => {
    if (request.method !== "GET") request.headers.set("X-CSRFToken", csrfToken());
    const asked = ofMoment(request, schemaPath);
    if (asked === "refused")
      throw new ApiError("not_then", t(request.method === "GET" ? "past.unknown" : "past.readOnly"));
    return asked;
  },
});

export const api = {
  me: () => answerOf(client.GET("/api/me")),
  clusterCreate: (wanted: ClusterCreate) => answerOf(client.POST("/api/clusters", { body: wanted })),
  clusterDetail: (id: number) => answerOf(client.GET("/api/clusters/{cluster_id}", at({ cluster_id: id }))),
  clusterChange: (id: number, changes: ClusterChange) =>
    answerOf(client.PATCH("/api/clusters/{cluster_id}", { ...at({ cluster_id: id }), body: changes })),
  /** One's own, the newest first; those that are over too. */
  tokens: () => all((page) => answerOf(client.GET("/api/tokens", { params: { query: page } }))),
  tokenCreate: (wanted: TokenCreate) => answerOf(client.POST("/api/tokens", { body: wanted })),
  tokenEnd: (id: number) => done(client.DELETE("/api/tokens/{token_id}", at({ token_id: id }))),
  clusters: () => all((page) => answerOf(client.GET("/api/clusters", { params: { query: page } }))),
  fork: (wanted: Fork) => answerOf(client.POST("/api/forks", { body: wanted })),
  mirrorCreate: (wanted: MirrorCreate) => answerOf(client.POST("/api/mirrors", { body: wanted })),
  mirror: (id: number) => answerOf(client.GET("/api/clusters/{cluster_id}/mirror", at({ cluster_id: id }))),
  mirrorChange: (id: number, changes: MirrorChange) =>
    answerOf(client.PATCH("/api/clusters/{cluster_id}/mirror", { ...at({ cluster_id: id }), body: changes })),
  agreement: (id: number, query: AgreementQuery) =>
    answerOf(client.GET("/api/clusters/{cluster_id}/agreement", { params: { path: { cluster_id: id }, query } })),
  comparisons: (id: number, query: ComparisonQuery & PageQuery) =>
    answerOf(client.GET("/api/clusters/{cluster_id}/comparisons", { params: { path: { cluster_id: id }, query } })),
  search: (query: SearchQuery) => answerOf(client.GET("/api/search", { params: { query } })),
  clusterObject: (id: number, kind: string, name: string) =>
    answerOf(client.GET("/api/clusters/{cluster_id}/objects/{kind}/{name}", at({ cluster_id: id, kind, name }))),
  /** As it is; `moment`: as it was at a position, a time or so long ago. */
  snapshot: (id: number, moment = "") =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/snapshot/columns", {
        params: { path: { cluster_id: id }, query: { at: moment } },
      }),
    ).then(snapshotOf),
  /** What happened over a span of its time, in parts. */
  timeline: (id: number, query: TimelineQuery) =>
    answerOf(client.GET("/api/clusters/{cluster_id}/timeline", { params: { path: { cluster_id: id }, query } })),
  /** A frame of each of the next steps. */
  frames: (id: number, [rv, seq]: Cursor, steps: number) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/frames", {
        params: { path: { cluster_id: id }, query: { rv, seq, steps } },
      }),
    ).then((found) => found.frames),
  leadership: (id: number) => answerOf(client.GET("/api/clusters/{cluster_id}/leadership", at({ cluster_id: id }))),
  pace: (id: number, wanted: PaceChange) =>
    answerOf(client.POST("/api/clusters/{cluster_id}/pace", { ...at({ cluster_id: id }), body: wanted })),
  clock: (id: number) => answerOf(client.GET("/api/clusters/{cluster_id}/clock", at({ cluster_id: id }))),
  clockChange: (id: number, wanted: ClockChange) =>
    answerOf(client.POST("/api/clusters/{cluster_id}/clock", { ...at({ cluster_id: id }), body: wanted })),
  pod: (id: number, key: string) =>
    answerOf(client.GET("/api/clusters/{cluster_id}/pods/{namespace}/{name}", at(podAt(id, key)))),
  /** A page of attempts, newest first: the newest ones without a cursor. */
  podAttempts: (id: number, key: string, cursor: string | null = null) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/pods/{namespace}/{name}/attempts", {
        params: { path: podAt(id, key), query: { limit: ATTEMPTS, ...pageAt(cursor) } },
      }),
    ),
  /** The attempt with this number, by itself or with equal ones; null: none is stored. */
  podAttempt: (id: number, key: string, number: number) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/pods/{namespace}/{name}/attempts", {
        params: { path: podAt(id, key), query: { attempt: number, limit: 1 } },
      }),
    ).then((page) => page.results[0] ?? null),
  /** The newest `limit` entries, oldest first. */
  podHistory: (id: number, key: string, limit: number) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/pods/{namespace}/{name}/history", {
        params: { path: podAt(id, key), query: { limit } },
      }),
    ),
  /** What would make it fit. */
  podFits: (id: number, key: string) =>
    answerOf(client.GET("/api/clusters/{cluster_id}/pods/{namespace}/{name}/fits", at(podAt(id, key)))),
  /** Carry out what would make it fit, or only say what would be written. */
  fitApply: (id: number, key: string, uid: string, { changes }: FitSuggestion, dry: boolean) =>
    answerOf(
      client.POST("/api/clusters/{cluster_id}/pods/{namespace}/{name}/fits", {
        ...at(podAt(id, key)),
        body: { changes: changes.map(({ step, ...told }) => told), uid, dry_run: dry },
      }),
    ),
  /** What would make all pods of a workload fit that have no node. */
  workloadFits: (id: number, kind: string, key: string) =>
    answerOf(
      client.GET(
        "/api/clusters/{cluster_id}/workloads/{kind}/{namespace}/{name}/fits",
        at({ kind, ...podAt(id, key) }),
      ),
    ),
  /** The same as `fitApply` for all of them. */
  workloadFitApply: (id: number, kind: string, key: string, { changes }: FitSuggestion, dry: boolean) =>
    answerOf(
      client.POST("/api/clusters/{cluster_id}/workloads/{kind}/{namespace}/{name}/fits", {
        ...at({ kind, ...podAt(id, key) }),
        body: { changes: changes.map(({ step, ...told }) => told), dry_run: dry },
      }),
    ),
  /** Why it has no node: of its record, or of its last attempt made again. */
  podWhy: (id: number, key: string, again: boolean) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/pods/{namespace}/{name}/why", {
        params: { path: podAt(id, key), query: { again } },
      }),
    ),
  /** Why it was evicted: of its record, or of the search for victims made again. */
  podEvicted: (id: number, key: string, again: boolean) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/pods/{namespace}/{name}/evicted", {
        params: { path: podAt(id, key), query: { again } },
      }),
    ),
  /** One attempt with a page of its matrix; in the past without what there is now. */
  attempt: (id: number, seq: number, query: MatrixQuery) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/attempts/{seq}", {
        params: { path: { cluster_id: id, seq }, query: isPast() ? { ...query, now: false } : query },
      }),
    ),
  /** The search for victims of an attempt with a page of its nodes. */
  attemptPreemption: (id: number, seq: number, query: PreemptionQuery) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/attempts/{seq}/preemption", {
        params: { path: { cluster_id: id, seq }, query },
      }),
    ),
  /** Makes it again at its moment. */
  attemptAgain: (id: number, seq: number, query: AgainQuery) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/attempts/{seq}/again", {
        params: { path: { cluster_id: id, seq }, query },
      }),
    ),
  /** Why it chose its node and not another. */
  attemptWhy: (id: number, seq: number, query: WhyQuery) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/attempts/{seq}/why", { params: { path: { cluster_id: id, seq }, query } }),
    ),
  /** Which nodes changed verdict since an earlier attempt at the pod, and by what. */
  attemptChanged: (id: number, seq: number, since: number) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/attempts/{seq}/changed", {
        params: { path: { cluster_id: id, seq }, query: { since } },
      }),
    ),
  refusals: (id: number, query: NodeRefusalQuery) =>
    answerOf(client.GET("/api/clusters/{cluster_id}/refusals", { params: { path: { cluster_id: id }, query } })),
  /** Makes the engine again at the moment that is shown, or where it is now. */
  cache: (id: number, query: CacheQuery) =>
    answerOf(client.GET("/api/clusters/{cluster_id}/cache", { params: { path: { cluster_id: id }, query } })),
  pending: (id: number) => answerOf(client.GET("/api/clusters/{cluster_id}/pending", at({ cluster_id: id }))),
  pendingPods: (id: number, query: PendingPodQuery) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/pending/pods", { params: { path: { cluster_id: id }, query } }),
    ).then((found) => found.pods),
  slowest: (id: number, query: SlowestQuery) =>
    answerOf(client.GET("/api/clusters/{cluster_id}/slowest", { params: { path: { cluster_id: id }, query } })),
  throughput: (id: number, query: ThroughputQuery) =>
    answerOf(client.GET("/api/clusters/{cluster_id}/throughput", { params: { path: { cluster_id: id }, query } })),
  node: (id: number, name: string) =>
    answerOf(client.GET("/api/clusters/{cluster_id}/nodes/{name}", at({ cluster_id: id, name }))),
  nodeChange: (id: number, name: string, changes: NodeChange) =>
    answerOf(
      client.PATCH("/api/clusters/{cluster_id}/nodes/{name}", { ...at({ cluster_id: id, name }), body: changes }),
    ),
  workloads: (id: number) => answerOf(client.GET("/api/clusters/{cluster_id}/workloads", at({ cluster_id: id }))),
  workload: (id: number, kind: string, key: string) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/workloads/{kind}/{namespace}/{name}", at({ ...podAt(id, key), kind })),
    ),
  objectEvents: (id: number, query: ObjectEventQuery) =>
    answerOf(client.GET("/api/clusters/{cluster_id}/object-events", { params: { path: { cluster_id: id }, query } })),
  /** Deletes an object that has no namespace. */
  objectDelete: (id: number, kind: string, name: string) =>
    done(client.DELETE("/api/clusters/{cluster_id}/objects/{kind}/{name}", at({ cluster_id: id, kind, name }))),
  /** Which lists there are, their columns and keys. */
  lists: () => answerOf(client.GET("/api/lists")),
  /** A page of a list: its first rows without a cursor. */
  listed: (id: number, what: ListName, query: ListFilter, cursor: string | null = null) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/lists/{what}", {
        params: { path: { cluster_id: id, what }, query: { ...query, ...pageAt(cursor) } },
      }),
    ),
  /** What can stand at a place of a query, in characters. */
  listCompletion: (id: number, what: ListName, q: string, at: number) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/lists/{what}/completion", {
        params: { path: { cluster_id: id, what }, query: { q, at } },
      }),
    ),
  schedulerConfig: (id: number) =>
    answerOf(client.GET("/api/clusters/{cluster_id}/scheduler-config", at({ cluster_id: id }))),
  schedulerConfigVersion: (id: number, version: number) =>
    answerOf(
      client.GET("/api/clusters/{cluster_id}/scheduler-config/versions/{version}", at({ cluster_id: id, version })),
    ),
  schedulerConfigVersions: (id: number) =>
    all((page) =>
      answerOf(
        client.GET("/api/clusters/{cluster_id}/scheduler-config/versions", {
          params: { path: { cluster_id: id }, query: page },
        }),
      ),
    ),
  /** What a text would be, without using it; an empty one means the defaults. */
  schedulerConfigCheck: (id: number, text: string) =>
    answerOf(
      client.POST("/api/clusters/{cluster_id}/scheduler-config/check", {
        ...at({ cluster_id: id }),
        headers: { "Content-Type": "application/yaml" },
        body: text,
        bodySerializer: (body) => body,
      }),
    ),
  /** The text as it is, YAML or JSON; an empty one means the defaults. */
  schedulerConfigSet: (id: number, text: string) =>
    answerOf(
      client.PUT("/api/clusters/{cluster_id}/scheduler-config", {
        ...at({ cluster_id: id }),
        headers: { "Content-Type": "application/yaml" },
        body: text,
        bodySerializer: (body) => body,
      }),
    ),
  importJob: (id: number, uuid: string) =>
    answerOf(client.GET("/api/clusters/{cluster_id}/imports/{import_id}", at({ cluster_id: id, import_id: uuid }))),
  objectsCreate: (id: number, items: readonly object[]) =>
    answerOf(
      client.POST("/api/clusters/{cluster_id}/objects", {
        ...at({ cluster_id: id }),
        body: { apiVersion: "v1", kind: "List", items },
      }),
    ),
  importFiles,
  logout,
};

/** Sends files as one import; `progress` hears the share that has been sent. */
function importFiles(
  id: number,
  files: readonly File[],
  options: ImportOptions,
  progress: (share: number) => void,
): Promise<Import> {
  const form = new FormData();
  for (const file of files) form.append("file", file, file.name);
  return answerOf(
    client.POST("/api/clusters/{cluster_id}/import", {
      params: { path: { cluster_id: id }, query: options },
      body: {},
      bodySerializer: () => form,
      fetch: (request) => upload(request, form, progress),
    }),
  );
}

async function logout(): Promise<void> {
  await fetch("/logout", { method: "POST", headers: { "X-CSRFToken": csrfToken() } }).catch(() => undefined);
  location.assign("/login");
}

function at<Path>(path: Path): { params: { path: Path } } {
  return { params: { path } };
}

function podAt(id: number, key: string): { cluster_id: number; namespace: string; name: string } {
  const slash = key.indexOf("/");
  return { cluster_id: id, namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/** Query parameters as text; what is empty, null or undefined is left out. */
function search(query: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return String(new URLSearchParams(given.map(([name, value]) => [name, String(value)])));
}
