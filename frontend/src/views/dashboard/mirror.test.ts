import { expect, it, vi } from "vitest";
import type { AgreementSummary } from "../../contract/api.gen";
import { CLUSTER } from "../../live/__fixtures__/cluster";
import { answered, refused } from "../__fixtures__/cards";
import { found, oneLine, show } from "../__fixtures__/shown";
import Mirror from "./Mirror.svelte";

const counts = { agreed: 5, tied: 1, earlier: 2, differed: 1, uncertain: 4, other: 3 };
const told: AgreementSummary = {
  since_ms: 0,
  until_ms: 60_000,
  seconds: 60,
  profiles: [],
  points: [],
  counts,
  rate: 8 / 9,
  causes: {},
  plugins: {},
};

it("counts what was judged, and of that what is equal on an earlier state only", async () => {
  vi.stubGlobal("fetch", async ({ url }: Request) =>
    url.includes("/agreement") ? answered(told) : refused("not_found", "not found", 404),
  );
  show(Mirror, { cluster: { ...CLUSTER, is_mirror: true } });
  const text = await vi.waitFor(() => oneLine(found(".figure")));
  expect(text).toContain("88.8 %");
  expect(text).toContain("9 decisions judged, 2 of them equal on an earlier state only");
});
