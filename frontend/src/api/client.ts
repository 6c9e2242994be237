/**
 * The only place that speaks HTTP with the service. A refusal is an ApiError with the service's stable code; a service
 * that does not answer is one with the code "unreachable".
 */
import type { SnapshotColumns, Throughput } from "../contract/events.gen";
import { snapshotOf } from "../live/columns";
import type {
  Attempt,
  AttemptDetail,
  ClusterSummary,
  ImportJob,
  Leadership,
  Me,
  NodeDetail,
  NodeRefusals,
  PaceRequest,
  Page,
  Pending,
  PendingPod,
  PodDetail,
  PodHistory,
  PreemptionSearch,
  SchedulerConfig,
  SchedulerConfigVersion,
} from "./types";

const ATTEMPTS = 100;
const CSRF_COOKIE = "ksched_csrf";

export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly extra: Readonly<Record<string, unknown>> = {},
    readonly status = 0,
  ) {
    super(message);
    this.name = "ApiError";
  }

  /** The session is over, or was never there. */
  get needsLogin(): boolean {
    return this.status === 401 || this.code === "not_authenticated" || this.code === "authentication_failed";
  }
}

export const api = {
  me: () => request<Me>("GET", "/api/me"),
  clusterCreate: (wanted: { readonly name: string; readonly seed?: number }) =>
    request<ClusterSummary>("POST", "/api/clusters", wanted),
  clusters: () => all<ClusterSummary>("/api/clusters"),
  snapshot: (id: number) => request<SnapshotColumns>("GET", `/api/clusters/${id}/snapshot/columns`).then(snapshotOf),
  leadership: (id: number) => request<Leadership>("GET", `/api/clusters/${id}/leadership`),
  pace: (id: number, wanted: PaceRequest) => request<unknown>("POST", `/api/clusters/${id}/pace`, wanted),
  pod: (id: number, key: string) => request<PodDetail>("GET", `/api/clusters/${id}/pods/${path(key)}`),
  /** The newest page of attempts, newest first. */
  podAttempts: (id: number, key: string) =>
    request<Page<Attempt>>("GET", `/api/clusters/${id}/pods/${path(key)}/attempts?limit=${ATTEMPTS}`),
  /** The page of a list that another page named as its `next`. */
  following: <T>(next: string) => request<Page<T>>("GET", ownPath(next)),
  /** The newest `limit` entries, oldest first. */
  podHistory: (id: number, key: string, limit: number) =>
    request<PodHistory>("GET", `/api/clusters/${id}/pods/${path(key)}/history?limit=${limit}`),
  /** One attempt with a page of its matrix. */
  attempt: (id: number, seq: number, query: Query) =>
    request<AttemptDetail>("GET", `/api/clusters/${id}/attempts/${seq}${search(query)}`),
  /** The search for victims of an attempt with a page of its nodes. */
  attemptPreemption: (id: number, seq: number, query: Query) =>
    request<PreemptionSearch>("GET", `/api/clusters/${id}/attempts/${seq}/preemption${search(query)}`),
  refusals: (id: number, query: Query) => request<NodeRefusals>("GET", `/api/clusters/${id}/refusals${search(query)}`),
  pending: (id: number) => request<Pending>("GET", `/api/clusters/${id}/pending`),
  pendingPods: (id: number, query: Query) =>
    request<{ pods: readonly PendingPod[] }>("GET", `/api/clusters/${id}/pending/pods${search(query)}`).then(
      (found) => found.pods,
    ),
  slowest: (id: number, query: Query) =>
    request<readonly Attempt[]>("GET", `/api/clusters/${id}/slowest${search(query)}`),
  throughput: (id: number, query: Query) =>
    request<Throughput>("GET", `/api/clusters/${id}/throughput${search(query)}`),
  exportHref: (id: number, what: "attempts" | "preemptions" | "events" | "moves", form: "jsonl" | "csv") =>
    `/api/clusters/${id}/export/${what}.${form}`,
  node: (id: number, name: string) => request<NodeDetail>("GET", `/api/clusters/${id}/nodes/${path(name)}`),
  nodeCordon: (id: number, name: string, unschedulable: boolean) =>
    request<unknown>("PATCH", `/api/clusters/${id}/nodes/${path(name)}`, { unschedulable }),
  schedulerConfig: (id: number) => request<SchedulerConfig>("GET", `/api/clusters/${id}/scheduler-config`),
  schedulerConfigVersion: (id: number, version: number) =>
    request<SchedulerConfig>("GET", `/api/clusters/${id}/scheduler-config/versions/${version}`),
  schedulerConfigVersions: (id: number) => all<SchedulerConfigVersion>(`/api/clusters/${id}/scheduler-config/versions`),
  /** The text as it is, YAML or JSON; an empty one means the defaults. */
  schedulerConfigSet: (id: number, text: string) =>
    request<SchedulerConfig>(
      "PUT",
      `/api/clusters/${id}/scheduler-config`,
      new Blob([text], { type: "application/yaml" }),
    ),
  importJob: (id: number, uuid: string) => request<ImportJob>("GET", `/api/clusters/${id}/imports/${uuid}`),
  importFiles,
  logout,
};

/** Sends files as one import; `progress` hears the share that has been sent. */
function importFiles(
  id: number,
  files: readonly File[],
  options: Query,
  progress: (share: number) => void,
): Promise<ImportJob> {
  return new Promise((resolve, reject) => {
    // fetch tells nothing of how much of a body has been sent.
    const upload = new XMLHttpRequest();
    upload.open("POST", `/api/clusters/${id}/import${search(options)}`);
    upload.setRequestHeader("X-CSRFToken", csrfToken());
    upload.setRequestHeader("Accept", "application/json");
    upload.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) progress(event.loaded / event.total);
    });
    upload.addEventListener("load", () => {
      const body = parse(upload.responseText);
      if (upload.status >= 200 && upload.status < 300) resolve(body as ImportJob);
      else reject(refusal(upload.status, body));
    });
    upload.addEventListener("error", () => reject(unreachable()));
    const form = new FormData();
    for (const file of files) form.append("file", file, file.name);
    upload.send(form);
  });
}

async function logout(): Promise<void> {
  await send("POST", "/logout").catch(() => undefined);
  location.assign("/login");
}

async function request<T>(method: string, url: string, body?: unknown): Promise<T> {
  const response = await send(method, url, body);
  const answer = parse(await response.text());
  if (!response.ok) throw refusal(response.status, answer);
  return answer as T;
}

/** All of a list, following its pages. */
async function all<T>(url: string): Promise<readonly T[]> {
  const found: T[] = [];
  let next: string | null = url;
  while (next) {
    const page: Page<T> = await request("GET", next);
    found.push(...page.results);
    next = page.next && ownPath(page.next);
  }
  return found;
}

/** Of an address of the service what is not its host, which it may know by another name. */
function ownPath(address: string): string {
  const { pathname, search: query } = new URL(address, location.href);
  return pathname + query;
}

async function send(method: string, url: string, body?: unknown): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRFToken"] = csrfToken();
  if (body !== undefined) headers["Content-Type"] = body instanceof Blob ? body.type : "application/json";
  try {
    return await fetch(url, {
      method,
      headers,
      credentials: "same-origin",
      ...(body === undefined ? {} : { body: body instanceof Blob ? body : JSON.stringify(body) }),
    });
  } catch {
    throw unreachable();
  }
}

function refusal(status: number, body: unknown): ApiError {
  const said = (typeof body === "object" && body !== null ? body : {}) as Record<string, unknown>;
  const code = typeof said.code === "string" ? said.code : `http_${status}`;
  const message = typeof said.message === "string" ? said.message : typeof said.detail === "string" ? said.detail : "";
  const extra = typeof said.extra === "object" && said.extra !== null ? (said.extra as Record<string, unknown>) : {};
  return new ApiError(code, message || `HTTP ${status}`, extra, status);
}

function unreachable(): ApiError {
  return new ApiError("unreachable", "The service does not answer.");
}

function parse(text: string): unknown {
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

/** Query parameters; what is empty, null or undefined is left out. */
type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

function search(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : "";
}

function path(value: string): string {
  return value.split("/").map(encodeURIComponent).join("/");
}

function csrfToken(): string {
  for (const part of document.cookie.split(";")) {
    const [name, value] = part.trim().split("=");
    if (name === CSRF_COOKIE) return decodeURIComponent(value ?? "");
  }
  return "";
}
