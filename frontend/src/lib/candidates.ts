/** The candidates of a search for victims by what the scheduler compares them by. */
import type { PreemptionNode } from "../contract/api.gen";
import type { State } from "../live/state";

/** In the order compared: each decides among those that all before left equal. */
export const CRITERIA = [
  "pdb_violations",
  "highest_priority",
  "sum_of_priorities",
  "number_of_victims",
  "latest_start",
] as const;
export type Criterion = (typeof CRITERIA)[number];

/** The scheduler adds it to each priority, so that a victim more counts even where priorities are negative. */
const OFFSET = 2 ** 31;

type Pods = Pick<State, "uids" | "pods">;

/** What is compared, by criterion; null: not known. Priorities are of the victims as they are there now. */
export function comparedOf(
  { victims, num_pdb_violations }: PreemptionNode,
  live: Pods,
): Record<Criterion, number | null> {
  const priorities = victims.flatMap((key) => {
    const pod = live.pods.get(live.uids.get(key) ?? "");
    return pod ? [pod.priority] : [];
  });
  const isWhole = victims.length > 0 && priorities.length === victims.length;
  return {
    pdb_violations: num_pdb_violations,
    highest_priority: isWhole ? Math.max(...priorities) : null,
    sum_of_priorities: isWhole ? priorities.reduce((sum, one) => sum + one + OFFSET, 0) : null,
    number_of_victims: victims.length,
    latest_start: null, // when a victim started is not kept
  };
}
