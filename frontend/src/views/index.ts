/** All views that open over the dashboard; the first that an address is of opens. */
import { nodeView } from "./node/view";
import { podView } from "./pod/view";

export const VIEWS = [podView, nodeView];
