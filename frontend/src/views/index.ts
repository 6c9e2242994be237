/** All views that open over the dashboard; the first that an address is of opens. */
import { configView } from "./config/view";
import { nodeView } from "./node/view";
import { podView } from "./pod/view";

export const VIEWS = [podView, nodeView, configView];
