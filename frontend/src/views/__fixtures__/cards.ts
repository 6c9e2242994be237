/** Cards that ask the service, for tests: mounted alone, on a service that answers what the test says. */
import { type Component, mount, unmount } from "svelte";
import { afterEach, beforeEach, vi } from "vitest";
import { queries } from "../../data/queries";
import { router } from "../../state/route.svelte";

export const WAIT_MS = 60_000;

/** What was asked (path and query), and what is shown. */
export interface Cards {
  readonly asked: string[];
  show<Props extends Record<string, unknown>>(card: Component<Props>, props: Props, answer: Answer): void;
  text(): string;
  says(part: string): Promise<void>;
  button(part?: string): HTMLButtonElement | undefined;
  hrefs(): readonly string[];
  close(): void;
}

export type Answer = (search: string, path: string) => Response;

export const answered = (body: unknown, status = 200): Response => new Response(JSON.stringify(body), { status });
export const refused = (code: string, message: string, status: number): Response => answered({ code, message }, status);

/** For the tests of a file: nothing is remembered from one to the next, and each begins at this address. */
export function cards(address: string): Cards {
  vi.setConfig({ testTimeout: 90_000 });
  const asked: string[] = [];
  let shown: ReturnType<typeof mount> | null = null;
  const close = () => {
    if (shown) void unmount(shown);
    shown = null;
    document.body.replaceChildren();
  };
  const text = () => document.body.textContent?.replaceAll(/\s+/g, " ") ?? "";

  beforeEach(async () => {
    queries.clear();
    asked.length = 0;
    router.open(address);
    await vi.waitFor(() => expectAt(address));
  });

  afterEach(() => {
    close();
    vi.unstubAllGlobals();
  });

  return {
    asked,
    show(card, props, answer) {
      vi.stubGlobal("fetch", async ({ url }: Request) => {
        const { pathname, search } = new URL(url);
        asked.push(`${pathname}${search}`);
        return answer(search, pathname);
      });
      shown = mount(card, { target: document.body, props });
    },
    text,
    says: (part) =>
      vi.waitFor(() => {
        if (!text().includes(part)) throw new Error(`"${part}" is not in: ${text()}`);
      }, WAIT_MS),
    button: (part = "") => [...document.querySelectorAll("button")].find((one) => one.textContent?.includes(part)),
    hrefs: () => [...document.querySelectorAll("a")].map((one) => one.getAttribute("href") ?? ""),
    close,
  };
}

function expectAt(address: string): void {
  if (router.hash !== address) throw new Error(`at ${router.hash}`);
}
