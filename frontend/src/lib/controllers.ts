/** Groups of simulated controllers whose work may be left to programs outside. */
import type { Cluster } from "../contract/api.gen";

export type ControllerGroup = Cluster["external_controllers"][number];
// A record, so that a group that comes to the service is missed here.
const PLACES: Readonly<Record<ControllerGroup, number>> = {
  kubelet: 0,
  volumes: 1,
  disruption: 2,
  garbage: 3,
  namespaces: 4,
  quotas: 5,
  devices: 6,
  nodes: 7,
  workloads: 8,
};
export const CONTROLLERS = (Object.keys(PLACES) as ControllerGroup[]).sort((a, b) => PLACES[a] - PLACES[b]);

/** The groups with one changed, in the order of CONTROLLERS. */
export function withExternal(
  groups: readonly ControllerGroup[],
  group: ControllerGroup,
  isExternal: boolean,
): readonly ControllerGroup[] {
  return CONTROLLERS.filter((one) => (one === group ? isExternal : groups.includes(one)));
}
