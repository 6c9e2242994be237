import { describe, expect, it } from "vitest";
import { pastOf } from "./past";

const CLUSTER = "/api/clusters/{cluster_id}";

describe("a request while the past is shown", () => {
  it.each([
    ["GET", `${CLUSTER}/pending`, "at"],
    ["GET", `${CLUSTER}/cache`, "at"],
    ["GET", `${CLUSTER}/pods/{namespace}/{name}`, "at"],
    ["GET", `${CLUSTER}/snapshot/columns`, "asIs"],
    ["GET", `${CLUSTER}/attempts/{seq}`, "asIs"],
    ["GET", `${CLUSTER}/timeline`, "asIs"],
    ["GET", "/api/me", "asIs"],
    ["POST", "/api/clusters", "asIs"],
    ["GET", `${CLUSTER}/lists/{what}`, "at"],
    ["GET", `${CLUSTER}/lists/{what}/completion`, "asIs"],
    ["GET", `${CLUSTER}/workloads`, "refused"],
    ["POST", `${CLUSTER}/pace`, "refused"],
    ["DELETE", `${CLUSTER}/objects/{kind}/{name}`, "refused"],
  ])("%s %s: %s", (method, path, want) => expect(pastOf(method, path)).toBe(want));
});
