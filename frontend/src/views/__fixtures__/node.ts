import type { NodeView } from "../../contract/api.gen";

export const NODE: NodeView = {
  name: "n1",
  zone: "a",
  cpu_milli: 1,
  memory_bytes: 1,
  pods: 1,
  extended: {},
  unschedulable: false,
  ready: true,
  taints: [],
  drain: "",
};
