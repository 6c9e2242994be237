import { createRawSnippet, flushSync } from "svelte";
import { describe, expect, it, vi } from "vitest";
import { found, press, said, show } from "../__fixtures__/shown";
import Panel from "./Panel.svelte";

describe("Panel", () => {
  it("says that its content failed, and can be closed or tried again", () => {
    let broken = true;
    const children = createRawSnippet(() => ({
      render: () => {
        if (broken) throw new Error("each_key_duplicate");
        return "<p>whole again</p>";
      },
    }));
    const onclose = vi.fn();
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
    show(Panel, { label: "Pod a/b", title: "b", subtitle: "a", onclose, children });
    expect(found("[role=alert]").textContent).toContain("each_key_duplicate");
    expect(logged).toHaveBeenCalled();
    press("Close");
    expect(onclose).toHaveBeenCalled();
    broken = false;
    found("[role=alert] button").click();
    flushSync();
    expect(document.querySelector("[role=alert]")).toBeNull();
    expect(said()).toContain("whole again");
  });
});
