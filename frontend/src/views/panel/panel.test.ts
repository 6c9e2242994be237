import { createRawSnippet, flushSync, mount, unmount } from "svelte";
import { afterEach, describe, expect, it, vi } from "vitest";
import Panel from "./Panel.svelte";

let made: ReturnType<typeof mount> | null = null;

afterEach(() => {
  if (made) void unmount(made);
  made = null;
  document.body.replaceChildren();
});

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
    const said = vi.spyOn(console, "error").mockImplementation(() => undefined);
    made = mount(Panel, {
      target: document.body,
      props: { label: "Pod a/b", title: "b", subtitle: "a", onclose, children },
    });
    flushSync();
    expect(document.querySelector("[role=alert]")?.textContent).toContain("each_key_duplicate");
    expect(said).toHaveBeenCalled();
    document.querySelector<HTMLButtonElement>("[aria-label=Close]")?.click();
    expect(onclose).toHaveBeenCalled();
    broken = false;
    document.querySelector<HTMLButtonElement>("[role=alert] button")?.click();
    flushSync();
    expect(document.querySelector("[role=alert]")).toBeNull();
    expect(document.body.textContent).toContain("whole again");
  });
});
