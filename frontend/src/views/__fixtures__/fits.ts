/** An answer to what would make a pod fit. */
import type { PodFits } from "../../contract/api.gen";

const NONE = { field: "", old: "", new: "", step: "", pods: [], more: [], of: "" };

export const FITS: PodFits = {
  namespace: "default",
  name: "web",
  uid: "u-web",
  pods: ["default/web"],
  rv: 12,
  nodes: 3,
  node: "",
  places: [],
  is_gated: false,
  preemption: { node: "n2", victims: ["d/x"], violations: 0 },
  suggestions: [
    {
      changes: [{ ...NONE, kind: "uncordon", node: "n1" }],
      node: "n1",
      feasible: 2,
      cost: 20,
      victims: [],
      violations: 0,
      places: [],
    },
    {
      changes: [{ ...NONE, kind: "evict", node: "n2", pods: ["d/x"] }],
      node: "n2",
      feasible: 1,
      cost: 60,
      victims: ["d/x"],
      violations: 0,
      places: [],
    },
  ],
  costs: { uncordon: 20, evict: 40, victim: 20 },
  tried: 9,
};
