/** A cluster for tests, with all settings as they are at first. */
import type { Cluster } from "../../contract/api.gen";

export const CLUSTER: Cluster = {
  id: 1,
  name: "test",
  lifecycle_mode: "frozen",
  pace: "run",
  pace_rate: null,
  seed: 0,
  is_sample: false,
  is_mirror: false,
  is_record: false,
  is_synced: true,
  external_controllers: [],
  config_version: 1,
  description: "",
  scheduler_problem: "",
  profiles: ["default-scheduler"],
  retention_hours: 168,
  retention_mb: 4096,
  clock_mode: "real",
  clock_rate: null,
  clock_until_us: null,
};
