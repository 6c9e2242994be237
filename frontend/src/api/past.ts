/**
 * What is asked of the service while a moment in the past is shown, and which routes show it. Those that take `at` are
 * found in the contract: a route that is missing here, or that takes it no longer, does not compile.
 */
import type { paths } from "../contract/api.gen";

type QueryOf<Path extends keyof paths> = paths[Path] extends { get: { parameters: { query?: infer Query } } }
  ? NonNullable<Query>
  : never;
type TakesAt<Path extends keyof paths> = [QueryOf<Path>] extends [never]
  ? never
  : { at?: string } extends Pick<QueryOf<Path>, "at" & keyof QueryOf<Path>>
    ? "at" extends keyof QueryOf<Path>
      ? Path
      : never
    : never;
type WithAt = { [Path in keyof paths]: TakesAt<Path> }[keyof paths];

/** Routes whose query may have `at`, the moment that is shown. */
export const WITH_AT = {
  "/api/clusters/{cluster_id}/cache": true,
  "/api/clusters/{cluster_id}/lists/{what}": true,
  "/api/clusters/{cluster_id}/lists/{what}/export.{form}": true,
  "/api/clusters/{cluster_id}/nodes/{name}": true,
  "/api/clusters/{cluster_id}/objects": true,
  "/api/clusters/{cluster_id}/objects/{kind}/{name}": true,
  "/api/clusters/{cluster_id}/objects/{kind}/{namespace}/{name}": true,
  "/api/clusters/{cluster_id}/pending": true,
  "/api/clusters/{cluster_id}/pending/pods": true,
  "/api/clusters/{cluster_id}/pods/{namespace}/{name}": true,
  "/api/clusters/{cluster_id}/pods/{namespace}/{name}/attempts": true,
  "/api/clusters/{cluster_id}/pods/{namespace}/{name}/fits": true,
  "/api/clusters/{cluster_id}/pods/{namespace}/{name}/history": true,
  "/api/clusters/{cluster_id}/snapshot": true,
  "/api/clusters/{cluster_id}/snapshot/columns": true,
  "/api/clusters/{cluster_id}/summary": true,
  "/api/clusters/{cluster_id}/workloads/{kind}/{namespace}/{name}/fits": true,
} as const satisfies Record<WithAt, true>;

/** The one that says itself which moment it reads: the socket's is the present while the past is still shown. */
const SAYS_ITSELF = "/api/clusters/{cluster_id}/snapshot/columns" satisfies keyof paths;

/**
 * Routes about what is stored, which is the same at any moment, those whose span of time is asked for, and what helps to
 * write a question.
 */
const STORED: readonly (keyof paths)[] = [
  "/api/clusters/{cluster_id}",
  "/api/clusters/{cluster_id}/attempts/{seq}",
  "/api/clusters/{cluster_id}/attempts/{seq}/again",
  "/api/clusters/{cluster_id}/attempts/{seq}/changed",
  "/api/clusters/{cluster_id}/attempts/{seq}/preemption",
  "/api/clusters/{cluster_id}/attempts/{seq}/why",
  "/api/clusters/{cluster_id}/frames",
  "/api/clusters/{cluster_id}/lists/{what}/completion",
  "/api/clusters/{cluster_id}/scheduler-config/versions",
  "/api/clusters/{cluster_id}/scheduler-config/versions/{version}",
  "/api/clusters/{cluster_id}/throughput",
  "/api/clusters/{cluster_id}/timeline",
];

/** What becomes of a request while a moment in the past is shown: it is asked of that moment, as it is, or not at all. */
export function pastOf(method: string, path: string): "at" | "asIs" | "refused" {
  if (!path.includes("{cluster_id}")) return "asIs";
  if (method !== "GET") return "refused";
  if (path === SAYS_ITSELF) return "asIs";
  if (path in WITH_AT) return "at";
  return STORED.some((one) => one === path) ? "asIs" : "refused";
}

let moment: string | null = null; // the position that is shown

/** From now on requests are about the cluster as it was at that position; null: as it is. */
export function askAt(position: string | null): void {
  moment = position;
}

export function isPast(): boolean {
  return moment !== null;
}

/** The request about the moment; undefined: as it is. */
export function ofMoment(request: Request, path: string): Request | "refused" | undefined {
  if (moment === null) return undefined;
  const how = pastOf(request.method, path);
  if (how !== "at") return how === "refused" ? how : undefined;
  const address = new URL(request.url);
  address.searchParams.set("at", moment);
  return new Request(address, request);
}

let last: Promise<unknown> = Promise.resolve();

/** Requests about moments one after the other: so the service reads them, and it refuses those who wait beyond a few. */
export function inTurn<Answer>(request: Request, ask: () => Promise<Answer>): Promise<Answer> {
  if (!new URL(request.url).searchParams.has("at")) return ask();
  const asked = last.then(ask, ask);
  last = asked.catch(() => undefined);
  return asked;
}
