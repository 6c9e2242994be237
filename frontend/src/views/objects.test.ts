import { expect, it } from "vitest";
import type { State } from "../live/state";
import { objectHref } from "./objects";

const LIVE = { cluster: { id: 1 }, nodes: new Map([["n1", {}]]) } as unknown as State;

it.each([
  ["Pod", "default/web", "#/clusters/1/pods/default/web"],
  ["Node", "n1", "#/clusters/1/nodes/n1"],
  ["Node", "gone", null],
  ["Deployment", "shop/web", "#/clusters/1/workloads/Deployment/shop/web"],
  ["PersistentVolume", "pv-1", "#/clusters/1/objects/PersistentVolume/pv-1"],
  ["ConfigMap", "shop/settings", null],
  ["Cluster", "mine", null],
])("%s %s is shown at its address", (kind, key, want) => expect(objectHref(LIVE, kind, key)).toBe(want));
