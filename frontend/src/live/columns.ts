/** A snapshot comes column by column, because that is a third of its length in rows. Here it becomes rows again. */
import type {
  AttemptView,
  Column,
  EventView,
  NodeView,
  PodView,
  QueueView,
  Snapshot,
  SnapshotColumns,
} from "../contract/api.gen";

export function snapshotOf(columns: SnapshotColumns): Snapshot {
  return {
    ...columns,
    nodes: rowsOf<NodeView>(columns.nodes),
    pods: rowsOf<PodView>(columns.pods),
    queue: rowsOf<QueueView>(columns.queue),
    events: rowsOf<EventView>(columns.events),
    attempts: rowsOf<AttemptView>(columns.attempts),
  };
}

function rowsOf<Row>(columns: Readonly<Record<string, Column>>): readonly Row[] {
  const found: Record<string, unknown>[] = [];
  for (const [name, { values, rows }] of Object.entries(columns)) {
    const count = (rows ?? values).length;
    for (let row = 0; row < count; row += 1) {
      const own = found[row] ?? {};
      own[name] = rows ? values[rows[row] ?? 0] : values[row];
      found[row] = own;
    }
  }
  return found as Row[];
}
