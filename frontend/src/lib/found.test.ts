import { expect, it } from "vitest";
import { KEPT, type Opened, openedIn, withOpened } from "./found";

const pod = (name: string): Opened => ({
  kind: "pod",
  cluster_id: 1,
  cluster: "c",
  namespace: "default",
  name,
  of: "",
});

it("keeps what was opened last, each thing once and no more than so many", () => {
  let kept = "";
  for (let number = 0; number < KEPT + 3; number += 1) kept = withOpened(kept, pod(`p${number}`));
  kept = withOpened(kept, pod("p5"));
  expect(openedIn(kept).map(({ name }) => name)).toEqual(["p5", "p10", "p9", "p8", "p7", "p6", "p4", "p3"]);
});

it("keeps a pod as one thing, whether it was there or gone", () => {
  const kept = withOpened(withOpened("", pod("p")), { ...pod("p"), kind: "gonepod" });
  expect(openedIn(kept)).toEqual([pod("p")]);
});

it.each(["", "{", "7", '{"kind":"pod"}', '[1,null,{"kind":"pod"}]'])("passes over what is none of ours: %s", (kept) =>
  expect(openedIn(kept)).toEqual([]),
);
