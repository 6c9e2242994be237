/** All views that open over the dashboard, and those in its place; the first that an address is of opens. */
import { cacheView } from "./cache/view";
import { configView } from "./config/view";
import { decisionView } from "./decision/view";
import { nodeView } from "./node/view";
import { clusterObjectView } from "./object/view";
import { podView } from "./pod/view";
import { workloadView } from "./workload/view";
import { workloadsView } from "./workloads/view";

export const VIEWS = [podView, nodeView, workloadView, workloadsView, clusterObjectView, configView];
export const PAGES = [decisionView, cacheView];
